// Steps the warps of one scenario, one after the other until they wait, and wakes them. Nothing depends on real time:
// what is asynchronous comes as late as it can.
#pragma once

#include <cstdint>
#include <memory>

#include "analyzer/cluster/barrier_operations.h"
#include "analyzer/cluster/decisions.h"
#include "analyzer/cluster/memory_operations.h"
#include "analyzer/cluster/scene.h"
#include "analyzer/cluster/tmem_operations.h"

namespace tmemlint::cluster {

// How far a scenario has come.
struct Progress {
  bool complete = false;     // every warp came to its end
  bool stuck = false;        // the warps that are left wait for what never comes
  bool over_budget = false;  // it can go on with a larger budget
  bool open = false;         // it cannot be followed further: something is not known, or it would show nothing new
  bool over() const { return complete || stuck || open; }
};

class Scheduler {
public:
  // `budget`: of RunState::cost. `scene` and its state outlive it.
  Scheduler(Scene& scene, uint64_t budget);

  // Until no warp can go on, the budget ends, or the scenario cannot be followed further.
  Progress run();

private:
  bool take_turns();
  bool advance(WarpState& w);
  void run_block(WarpState& w, warp::Machine& machine, bool* progress);
  bool run_step(WarpState& w, warp::Machine& machine);
  Outcome execute(Execution& e);
  Outcome execute_event(Execution& e);
  Outcome execute_tcgen05(Execution& e);
  void use_loads(const WarpState& w, warp::Machine& machine, const program::Step& step);
  bool settle(WarpState& w, const Outcome& outcome);
  void stop(const Unknown& open);

  void leave(WarpState& w, warp::Machine& machine);
  uint32_t only_way(warp::Machine& machine, uint32_t block) const;
  bool branch(WarpState& w, warp::Machine& machine, uint32_t block, uint32_t lanes, std::vector<LaneGroup>& rest);
  bool branch_by_index(WarpState& w, warp::Machine& machine, uint32_t block, uint32_t lanes,
                       std::vector<LaneGroup>& rest);
  void exit_lanes(WarpState& w, warp::Machine& machine, uint32_t lanes, uint32_t instruction);

  bool let_other_lanes_go_on();
  bool release_polls();
  void wake();
  bool can_go_on(WarpState& w, const Wait& wait);

  Scene& scene_;
  RunState& state_;
  Decisions decisions_;
  MemoryOperations memory_;
  AllocationOperations allocation_;
  AccessOperations access_;
  MbarrierOperations mbarriers_;
  BarrierOperations barriers_;
  CopyOperations copies_;
  const uint64_t budget_;
  bool stopped_ = false;
  Progress progress_;
};

}  // namespace tmemlint::cluster
