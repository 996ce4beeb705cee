// What rules over the joint run share: findings from what its scenarios showed.
#pragma once

#include <functional>
#include <initializer_list>
#include <optional>
#include <string>

#include "analyzer/cluster/joint.h"
#include "rules/facts.h"

namespace tmemlint::rules {

// Reports what `say` makes of each sighting of these faults, if anything.
void for_each(Context& context, std::initializer_list<cluster::Fault> faults,
              const std::function<std::optional<Draft>(const cluster::Sighting&)>& say);

// A finding at the sighting's place, with its warp and the decisions of its scenario.
Draft draft(const cluster::Sighting& s, report::Level level, std::string message);

// Whether a decision of the scenario was that a loop goes round once more, or no more, though nothing says so.
bool chose_rounds(const Context& context, const cluster::Sighting& s);

std::string name(const Context& context, uint32_t instruction);
// " of warp 3", " of warp 3 of the other CTA"; with another lead-in where a sentence needs it.
std::string warp_text(const cluster::Sighting& s, std::string_view lead = " of warp ");
// "62-65"
std::string columns_text(int64_t first, int64_t count);

}  // namespace tmemlint::rules
