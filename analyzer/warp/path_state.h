// What is known at a point of a path of one warp.
#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/value/facts.h"
#include "analyzer/value/value.h"
#include "analyzer/warp/lanes.h"
#include "analyzer/warp/memory.h"
#include "analyzer/warp/protocol.h"

namespace tmemlint::warp {

struct PathState {
  std::vector<Waiting> waiting;                 // in running order; the first runs next
  const std::vector<uint32_t>* live = nullptr;  // the registers that the waiting lanes still need, ascending
  std::vector<Value> registers;                 // their values
  Memory memory;
  value::Facts facts;
  Protocol protocol;
  uint32_t node = kNone;
  uint64_t gone_round = 0;  // set of loops that it has gone round, with Setting::by_rounds
};

// A state on its way to the block that its first lanes wait at.
struct Arrival {
  PathState state;
  uint32_t from_node = kNone;
  int8_t decision = -1;  // Node::decision
};

// The names of what a block's joins are about: a register by its number, a cell of memory by this and its address.
constexpr uint64_t kMemoryPart = uint64_t{1} << 62;

// A place where paths meet, and what is asked for there.
struct MeetingPlace {
  uint32_t block = 0;
  uint64_t kind = 0;      // of path: what tells paths apart that are not merged
  uint64_t loop_bit = 0;  // of the loop whose head the block is; else 0
  uint64_t part = 0;      // a register or a cell
  unsigned width = 32;    // of it, in bits
};

}  // namespace tmemlint::warp
