// What the evaluation of a warp asks of a kernel's control flow again and again: worked out once per evaluation.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "analyzer/assumptions/assumptions.h"
#include "analyzer/program/program.h"
#include "analyzer/warp/lanes.h"

namespace tmemlint::warp {

class Flow {
public:
  explicit Flow(const program::Program& program);

  // Loops as bits of a set: the larger ones get a bit each, the small ones (mostly spin loops, whose only value of
  // their own is a predicate) share the rest.
  uint64_t bit_of(uint32_t loop) const { return bit_[loop]; }
  bool has_own_bit(uint32_t loop) const { return bit_[loop] != kSharedBit; }
  // The loops around a block.
  uint64_t loops_of(uint32_t block) const {
    const uint32_t loop = graph_.blocks[block].loop;
    return loop == ptx::kNone ? 0 : set_[loop];
  }
  // The loop that a block is the head of, kNone for others.
  uint32_t headed(uint32_t block) const { return warp::headed(graph_, block); }

  // Whether a block has one way in, and lies in no loop that has several entries.
  bool has_one_way_in(uint32_t block) const { return one_way_in_[block]; }
  // Whether every path from a block ends in a trap.
  bool only_traps(uint32_t block) const { return only_traps_[block]; }

  // The registers that any waiting lanes still need, ascending. It stays where it is.
  const std::vector<uint32_t>& needed_by(const std::vector<Waiting>& waiting);

private:
  // Loops beyond that number share one bit: a join that forgets one of them forgets all of them.
  static constexpr size_t kMostOwnBits = assumptions::kLoopsWithOwnBit;
  static constexpr uint64_t kSharedBit = uint64_t{1} << kMostOwnBits;

  void name_loops();
  void find_ways_in();

  const program::Program& program_;
  const kernel::Graph& graph_;
  std::vector<uint64_t> bit_, set_;                                // by loop
  std::vector<bool> one_way_in_;                                   // by block
  std::vector<bool> only_traps_;                                   // by block
  std::map<std::vector<uint32_t>, std::vector<uint32_t>> needed_;  // by the blocks that lanes wait at
};

}  // namespace tmemlint::warp
