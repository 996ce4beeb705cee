// Lanes of a warp that branched apart: where each group goes, which one runs, and where they meet again.
#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/cluster/scene.h"

namespace tmemlint::cluster {

class LaneGroups {
public:
  // Of a warp whose first group's registers are in the machine.
  LaneGroups(Scene& scene, WarpState& w) : scene_(scene), w_(w), machine_(scene.machine_of(w)) {}

  // Lanes whose registers are in the machine go to a block, and join the group that waits there.
  void go_to(std::vector<LaneGroup>& groups, uint32_t from, uint32_t block, uint32_t lanes);
  // These groups are the warp's from now on; the first one runs.
  void follow(std::vector<LaneGroup> groups);
  // The first group, whose registers are in the machine, comes to its block.
  void begin_block();
  // The first group waits, and another one can go on, which has not waited for the same before: it comes first. False
  // where there is none. `now`: what has changed so far, in counts.
  bool switch_group(uint64_t now);
  // Where a whole warp must come together, at step `n`: lanes that wait there join. False while others are elsewhere.
  bool converge(uint32_t n);

private:
  void resume(LaneGroup group);
  void keep_registers(LaneGroup& group);
  void blend_into(LaneGroup& group, uint32_t lanes);

  Scene& scene_;
  WarpState& w_;
  warp::Machine& machine_;
};

}  // namespace tmemlint::cluster
