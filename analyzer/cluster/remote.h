// Signals and accesses that reach another CTA of the cluster.
#pragma once

#include <cstdint>
#include <variant>

#include "analyzer/cluster/scene.h"

namespace tmemlint::cluster {

// What reaches another CTA by a shared address there: it is written down, with whether that CTA was known to be ready.
// Gives its number among RunState::signals, kNone for the own CTA. Unknown where the CTA is not one of the cluster as
// it was assumed.
std::variant<uint32_t, Unknown> reach(Scene& scene, const Execution& e, uint32_t address,
                                      const CommitNumber& commit = {});

}  // namespace tmemlint::cluster
