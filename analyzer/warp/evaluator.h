// Drives one warp along all its paths: which state runs next, loop by loop, and where each goes on. What a step
// computes is Machine's part, what it does to the protocol is that of ProtocolSteps, and what becomes of states that
// meet that of Meeting.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/warp/evaluate.h"
#include "analyzer/warp/flow.h"
#include "analyzer/warp/machine.h"
#include "analyzer/warp/meeting.h"
#include "analyzer/warp/path_state.h"
#include "analyzer/warp/protocol_steps.h"

namespace tmemlint::warp {

class Evaluator {
public:
  explicit Evaluator(const Setting& setting);
  Evaluation run();

private:
  // loops.cpp
  void run_range(uint32_t begin, uint32_t end, uint32_t inside, unsigned depth);
  void run_loop(uint32_t loop, unsigned depth);
  bool unroll(uint32_t loop, unsigned depth, std::vector<Event>& events);
  bool go_round(std::vector<Arrival> again, uint32_t head, uint32_t lanes, std::vector<PathState>& out);
  void clear_inside(const kernel::Loop& loop);
  void prepend(const kernel::Loop& loop, std::vector<Event> events);

  // evaluator.cpp
  void deliver(PathState&& s, uint32_t from_node, int8_t decision);
  uint32_t add_node(const Node& node);
  void fetch_live(PathState& s);
  void run_block(uint32_t b);
  void run_state(uint32_t b, const PathState& s);
  void uncertain(uint32_t block, std::string reason);

  // branches.cpp
  bool goes_on(uint32_t b, const std::vector<Waiting>& waiting) const;
  bool leave(uint32_t b, std::vector<Waiting>& waiting);
  bool leave_straight(uint32_t b, std::vector<Waiting>& waiting, std::vector<Waiting> others);
  void go(std::vector<Waiting> waiting, int8_t decision, bool is_last = false);
  void wait(std::vector<Waiting>& list, uint32_t from, uint32_t block, uint32_t lanes) const {
    add_waiting(graph_, list, from, block, lanes);
  }
  bool branch(uint32_t b, std::vector<Waiting>& others, uint32_t lanes);
  bool avoid_trap(uint32_t b, std::vector<Waiting>& others, uint32_t lanes, const Truth& condition, bool is_one);
  void go_both_ways(uint32_t b, const std::vector<Waiting>& others, const Truth& condition);
  void split_lanes(uint32_t b, const std::vector<Waiting>& others, const Truth& condition);
  void split(uint32_t b, const std::vector<Waiting>& others, uint32_t yes, uint32_t no, int8_t decision, bool is_last);
  void branch_by_index(uint32_t b, const std::vector<Waiting>& others, uint32_t lanes);
  void split_by_index(uint32_t b, std::vector<Waiting> others, uint32_t lanes, const Value& index);

  // One time round a loop that is followed time by time: what came back to its head, and what left it.
  struct LoopRound {
    uint32_t loop = kNone;
    std::vector<Arrival> again;
    std::vector<Arrival> left;
  };

  const Setting setting_;
  const Program& program_;
  const kernel::Graph& graph_;
  Terms& terms_;
  Evaluation out_;
  Flow flow_;
  Machine machine_;      // of the path that is being followed, like the two below
  ProtocolSteps steps_;  // its protocol, block and node
  uint64_t gone_round_ = 0;
  Meeting meeting_;
  std::vector<std::vector<PathState>> states_;  // by block
  std::vector<unsigned> times_;                 // by head: how often the loop was followed
  std::vector<bool> changed_;                   // by block: its states changed since it ran
  std::vector<LoopRound> loop_rounds_;          // of the loops that are followed time by time, the innermost last
  bool stopped_ = false;                        // the budget is spent
};

}  // namespace tmemlint::warp
