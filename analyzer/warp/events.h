// What evaluation of one warp yields: the events that matter to the protocol, with their operand values, the lanes
// that execute them, and what the warp had pending and allocated just before.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/program/program.h"
#include "analyzer/value/value.h"
#include "analyzer/warp/memory.h"
#include "analyzer/warp/protocol.h"

namespace tmemlint::warp {

using ptx::kNone;
using value::kAllLanes;
using value::Value;

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
  Protocol before;  // the whole state just before it: WarpGraph::holdings_before, loads_before, stores_before
  Value address;    // of the bracketed operand; dealloc: taddr
};

// A block as reached on one kind of path.
struct Node {
  uint32_t block = 0;
  uint32_t lanes = 0;
  uint32_t from = kNone;  // a node that leads here (the first one found)
  int8_t decision = -1;   // 1/0: what the unknown condition of `from` was taken to be; -1: it was not unknown
  // Lanes part at its end where their numbers are held against one that is the same in all threads: there are numbers
  // with which no warp parts, such as multiples of 32.
  bool parts_at_a_bound = false;
};

struct Uncertain {
  uint32_t instruction = kNone;
  std::string reason;
  bool operator==(const Uncertain&) const = default;
};

// Once for each place and reason.
inline void add_once(std::vector<Uncertain>& to, Uncertain place) {
  if (std::find(to.begin(), to.end(), place) == to.end()) to.push_back(std::move(place));
}

struct WarpGraph {
  uint32_t rank = 0;           // of the CTA in its cluster
  uint32_t warp = 0;           // in the CTA
  uint32_t lanes = kAllLanes;  // that exist
  std::vector<Node> nodes;
  std::vector<Event> events;  // by block order; of one node in execution order
  std::vector<Value> operands;
  ProtocolTable protocols;
  std::vector<Uncertain> uncertain;
  std::vector<bool> reached;  // Program::steps
  uint64_t steps = 0;         // warp-instructions evaluated
  SharedWrites writes;        // what it was seen to write to shared memory

  std::span<const Value> operands_of(const Event& e) const {
    return std::span(operands).subspan(e.operands, e.operand_count);
  }

  // What the warp held, and what it had not waited for, just before an event. Nothing is left out of it.
  const Holdings& holdings_before(const Event& e) const { return protocols.holdings(e.before); }
  PendingLoads loads_before(const Event& e) const { return protocols.loads[e.before.loads]; }
  PendingStores stores_before(const Event& e) const { return protocols.stores[e.before.stores]; }
};

}  // namespace tmemlint::warp
