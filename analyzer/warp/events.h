// What evaluation of one warp yields: the events that matter to the protocol, with their operand values, the lanes
// that execute them, and what the warp had pending and allocated just before.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "analyzer/program/program.h"
#include "analyzer/value/value.h"
#include "analyzer/warp/memory.h"

namespace tmemlint::warp {

using ptx::kNone;
using value::kAllLanes;
using value::Value;

// An allocation as one warp sees it along a path.
struct Held {
  uint32_t term = 0;      // base term of the address (TermKind::kAllocation)
  uint32_t step = kNone;  // the alloc, when this warp made it
  uint8_t live = 0;       // allocations of that site not yet freed, up to 2
  bool foreign = false;   // allocated by another warp, freed by this one
  bool operator==(const Held&) const = default;
};

struct PendingLoad {
  uint32_t load = kNone;  // Program::loads
  uint32_t step = kNone;
  uint32_t lanes = 0;  // that issued it
  uint32_t used = 0;   // lanes in which one of its registers was read by more than a move, on every path here
  Value address;
};

struct PendingStore {
  uint32_t step = kNone;
  Value address;
};

// The state of the protocol of one warp at a point of a path.
struct Protocol {
  std::vector<Held> held;        // ordered by term
  int64_t smallest = INT64_MAX;  // columns that the smallest alloc so far asks for at most
  uint32_t smallest_step = kNone;
  uint32_t relinquished = kNone;     // step of the relinquish_alloc_permit that ran
  bool unknown_dealloc = false;      // something was freed that could not be told
  uint32_t exited = 0;               // lanes
  std::vector<PendingLoad> loads;    // ordered by load
  std::vector<PendingStore> stores;  // ordered by step

  uint32_t live_allocations() const;
};

struct Event {
  enum class Kind : uint8_t {
    kTcgen05,
    kMbarrier,
    kBarrier,
    kClusterBarrier,
    kProxyFence,
    kAsyncCopy,
    kGridDependency,
    kOverwrite,  // a register that a pending load writes is written by something else
    kExit,       // lanes leave the kernel
  };
  Kind kind = Kind::kTcgen05;
  uint8_t operand_count = 0;
  uint32_t operands = 0;  // WarpGraph::operands: alloc, dealloc, mma, cp, shift, commit: of each, as ptx::roles numbers
                          // them; a vector is 0
  uint32_t block = 0;
  uint32_t step = kNone;         // Program::steps; kNone for kExit
  uint32_t instruction = kNone;  // Module::instructions; kNone when a body ends without ret
  uint32_t lanes = 0;            // executing
  uint32_t node = kNone;
  uint32_t before = kNone;  // WarpGraph::protocols; of pending loads and stores only those that it is held against
  Value address;            // of the bracketed operand; dealloc: taddr
};

// A block as reached on one kind of path.
struct Node {
  uint32_t block = 0;
  uint32_t lanes = 0;
  uint32_t from = kNone;  // a node that leads here (the first one found)
  int8_t decision = -1;   // 1/0: what the unknown condition of `from` was taken to be; -1: it was not unknown
};

struct Uncertain {
  uint32_t instruction = kNone;
  std::string reason;
};

struct WarpGraph {
  uint32_t rank = 0;           // of the CTA in its cluster
  uint32_t warp = 0;           // in the CTA
  uint32_t lanes = kAllLanes;  // that exist
  std::vector<Node> nodes;
  std::vector<Event> events;  // by block order; of one node in execution order
  std::vector<Value> operands;
  std::vector<Protocol> protocols;
  std::vector<Uncertain> uncertain;
  std::vector<bool> reached;  // Program::steps
  uint64_t steps = 0;         // warp-instructions evaluated
  SharedWrites writes;        // what it was seen to write to shared memory

  std::span<const Value> operands_of(const Event& e) const {
    return std::span(operands).subspan(e.operands, e.operand_count);
  }
};

}  // namespace tmemlint::warp
