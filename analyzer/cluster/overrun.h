// Where a scenario lets a loop run more often than the kernel has room for.
#pragma once

#include "analyzer/cluster/scene.h"

namespace tmemlint::cluster {

// A warp is about to destroy what another part of the kernel keeps in shared memory: it initialises an mbarrier that
// another instruction made, or stores over the slot of an allocation. If it came there by going round a loop whose end
// was only decided, the loop counts through an array, and the number of rounds is one that the array has no room for.
// No launch has it: the scenario is not believed from there on, and ends. True where that is so.
bool ends_by_overrun(Scene& scene, const WarpState& w);

}  // namespace tmemlint::cluster
