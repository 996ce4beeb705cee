// Who knows that an mbarrier is there: warps of its own CTA, and other CTAs.
#pragma once

#include "analyzer/cluster/scene.h"

namespace tmemlint::cluster {

// Writes down where the warp does not know that an mbarrier of its CTA is there: what uses it is behind a join with the
// init.
void check_init(Scene& scene, const Execution& e, const Mbarrier& b);

// Whether a warp of another CTA knows of something that released to it that the mbarrier is there.
bool knows_release(const WarpState& w, const Mbarrier& b);

// An arrival that other CTAs may wait for releases to them what its warp knows to be initialised, unless it is relaxed.
void release_inits_by_arrival(Scene& scene, const Execution& e);
// So does a fence; that of the mbarriers alone speaks for those that its own thread has initialised.
void release_inits_by_fence(Scene& scene, const Execution& e);

}  // namespace tmemlint::cluster
