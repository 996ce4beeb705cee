#include "analyzer/cluster/overrun.h"

#include "analyzer/assumptions/assumptions.h"

namespace tmemlint::cluster {

bool ends_by_overrun(Scene& scene, const WarpState& w) {
  DecisionState& decisions = scene.state.decisions;
  const kernel::Graph& graph = scene.kernel.graph;
  // The first round is there whatever the array's length is. Of a loop that is over, the last round is taken back.
  const auto goes_too_far = [&](uint32_t loop) {
    return w.rounds[loop] != 0 && scene.facts.address_counts_in(w.step, loop);
  };
  const auto enough = [&](uint32_t loop) {
    decisions.overrun = {scene.instruction_of(w.step), loop, w.rounds[loop]};
    scene.terms.uses().count(assumptions::Id::kRoomOfAnArray);
    return true;
  };
  const uint32_t here = w.groups.front().at.block;
  for (uint32_t loop = graph.blocks[here].loop; loop != kNone; loop = graph.loops[loop].parent) {
    if (decisions.open_loops.contains(loop) && goes_too_far(loop)) return enough(loop);
  }
  // A loop over what the unrolled one before it left over.
  for (const uint32_t loop : decisions.open_loops) {
    if (graph.loops[loop].end <= here && goes_too_far(loop)) return enough(loop);
  }
  return false;
}

}  // namespace tmemlint::cluster
