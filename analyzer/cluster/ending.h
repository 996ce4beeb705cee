// What the end of a scenario shows: warps that wait for ever, operations in flight, columns that nobody freed.
#pragma once

#include "analyzer/cluster/scene.h"

namespace tmemlint::cluster {

class ScenarioEnding {
public:
  explicit ScenarioEnding(Scene& scene) : scene_(scene), state_(scene.state) {}

  // No warp can go on, and some have not come to their end.
  void note_hang();
  // The scenario is over. `complete`: every warp came to its end.
  void note_end(bool complete);

private:
  void note_hang_of(Hang hang, const std::vector<uint32_t>& addresses);
  void note_unwritten_reads();
  void note_arrivals();
  void note_bytes();
  void note_in_flight();
  void note_late_reaches();
  void note_allocations();
  void note_one_sided_pairs();

  Scene& scene_;
  RunState& state_;
};

}  // namespace tmemlint::cluster
