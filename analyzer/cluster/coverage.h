// Where warps came, over all scenarios of a kernel.
#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/program/program.h"
#include "analyzer/value/value.h"

namespace tmemlint::cluster {

struct Coverage {
  // Has to be called before the first scenario.
  void prepare(const program::Program& program) {
    executed.resize(program.steps.size(), false);
    branches.resize(program.code.size());
  }

  // What a branch was seen to do.
  struct Branch {
    uint64_t ways = 0;               // that some warp went, as bits (Block::successors); those beyond 63 share one
    uint32_t scenario = ptx::kNone;  // in which a warp first came here
    value::Value condition;          // as it was last, where it was no number
  };
  void note_way(uint32_t block, size_t way) {
    const uint64_t bit = uint64_t{1} << (way < 63 ? way : 63);
    Branch& branch = branches[block];
    if ((branch.ways & bit) != 0) return;
    if (branch.ways == 0) branch.scenario = scenario;
    branch.ways |= bit;
  }
  bool went(uint32_t block, size_t way) const { return (branches[block].ways >> (way < 63 ? way : 63) & 1) != 0; }
  bool came_to(uint32_t block) const { return branches[block].ways != 0; }

  std::vector<bool> executed;    // by step: instructions of the protocol
  std::vector<Branch> branches;  // by block
  uint32_t scenario = 0;         // the one under way
};

}  // namespace tmemlint::cluster
