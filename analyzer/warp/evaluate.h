// Follows one warp of a kernel along all its paths (design: "all paths of one warp").
//
// The state of a path is the values of the registers that are still needed, memory, what was decided about unknowns,
// and the state of the protocol. Lanes that branched apart are kept as a list of (block, lanes); the one whose block
// comes first in the graph's order runs next, so that lanes meet again where the order brings them together. States
// that reach a block with the same lanes and the same protocol state are merged; loops are iterated until their head's
// states no longer change. An unknown condition that is the same in all lanes is followed both ways and remembered; one
// that differs between lanes is followed with half of the lanes each way.
#pragma once

#include <vector>

#include "analyzer/kernel/launch.h"
#include "analyzer/program/program.h"
#include "analyzer/warp/events.h"
#include "analyzer/warp/memory.h"
#include "analyzer/warp/replays.h"

namespace tmemlint::warp {

using program::Program;
using value::Terms;
using value::Value;

struct Setting {
  const Program* program = nullptr;
  Terms* terms = nullptr;
  Replays* replays = nullptr;
  kernel::Launch launch;
  uint32_t rank = 0;                        // of the CTA in its cluster
  uint32_t warp = 0;                        // in the CTA
  std::vector<const SharedWrites*> others;  // of the other warps of the CTA
  uint64_t exchange = 0;                    // how often the warps have told each other what they write
  uint64_t step_budget = 200'000;
  // Paths stay apart that have decided different things, as long as they are few: what several conditions guard
  // together is then told apart from what none of them guards.
  bool decisions_apart = false;
  // The first time round a loop stays apart from the others, and what is stepped by the same number each time is told
  // by how many times that was: which of the times a path takes is then known. It costs about twice as much.
  bool by_rounds = false;
};

struct Evaluation {
  WarpGraph graph;
  SharedWrites writes;        // to shared memory, by this warp
  std::vector<Extent> reads;  // of shared memory
};

Evaluation evaluate(const Setting& setting);

// The columns an alloc or dealloc asks for: every value its operand may have; empty when they cannot be told.
std::vector<int64_t> columns_of(const Terms& terms, const Value& operand, uint32_t lanes);

}  // namespace tmemlint::warp
