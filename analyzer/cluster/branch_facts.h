// What the branches of a kernel decide, as far as a scenario goes by it: where loops end, which ways lead to more of
// the protocol, which branches guard the loops that write Tensor Memory. The same for all scenarios of a kernel.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "analyzer/cluster/value_origins.h"
#include "analyzer/kernel/control.h"
#include "analyzer/program/program.h"

namespace tmemlint::cluster {

using ptx::kNone;

class BranchFacts {
public:
  explicit BranchFacts(const program::Program& program);

  const kernel::Control& control() const { return control_; }
  // How much of the protocol only the first, and only the second way of a block's branch leads through. An access of
  // Tensor Memory counts as much as many barriers: it says more about which way is the usual one.
  std::array<uint32_t, 2> protocol_ahead(uint32_t block) const;
  // The blocks that only the one way of a block's branch leads through, and those that only the other one does, before
  // both meet.
  std::array<std::vector<bool>, 2> ahead_of(uint32_t block) const;
  // Where a loop is asked how often it goes round: at its top, else at its bottom, else where it is left first. Its
  // other exits are breaks.
  struct LoopEnd {
    uint32_t block = kNone;
    bool at_top = false;
  };
  const LoopEnd& loop_end(uint32_t loop) const { return loop_ends_[loop]; }
  // Whether a block's branch decides if a loop that writes Tensor Memory is entered.
  bool guards_writes(uint32_t block) const { return guards_writes_[block]; }
  // Whether a way of a block's branch lets a loop that writes Tensor Memory run no time, by a condition on what decides
  // how often that runs.
  bool runs_no_time(uint32_t block, uint8_t way) const;
  // Whether a block's branch decides if some loop is entered, by a condition on what decides how often that runs.
  bool guards_a_loop(uint32_t block) const;
  // The loops around a block, and those whose rounds go by the same as theirs.
  std::vector<uint32_t> loops_with(uint32_t block) const;
  // Branches that end a poll of mbarriers for another reason than that a phase is over: the block, and the way.
  const std::map<uint32_t, uint8_t>& give_ups() const { return give_ups_; }
  // Whether one way of a block's branch leads out of a loop before its rounds are over.
  bool breaks_a_loop(uint32_t block) const;
  // By loop that writes Tensor Memory: the instructions that do.
  const std::vector<std::vector<uint32_t>>& loop_writers() const { return loop_writers_; }

private:
  // What the branch of a block goes by; nothing where it has no condition.
  std::set<uint64_t> asked_by(uint32_t block) const;
  void count_protocol();
  void find_loop_writers();
  void find_give_ups();
  void find_loop_ends();
  void find_loop_end(uint32_t loop);
  bool leads_straight_to_head(uint32_t block, uint32_t loop) const;
  bool leaves(uint32_t block, uint32_t loop) const;
  uint32_t end_of_chain(uint32_t block, uint32_t loop) const;
  void find_guards() const;
  void note_guard(uint32_t block) const;
  bool leads_to(uint32_t from, uint32_t without, uint32_t end, const std::vector<bool>& blocks) const;

  const program::Program& program_;
  const kernel::Graph& graph_;
  kernel::Control control_;
  std::vector<uint32_t> protocol_in_;  // by block, weighted
  std::vector<bool> writes_;           // by block: Tensor Memory
  std::vector<bool> guards_writes_;    // by block
  std::vector<LoopEnd> loop_ends_;     // by loop
  std::vector<std::vector<uint32_t>> loop_writers_;
  std::map<uint32_t, uint8_t> give_ups_;
  mutable std::map<uint32_t, std::array<uint32_t, 2>> ahead_;
  mutable std::optional<ValueOrigins> origins_;  // made when something asks for it
  mutable std::vector<uint8_t> runs_no_time_;    // by block: the way that does; made when something asks for it
};

}  // namespace tmemlint::cluster
