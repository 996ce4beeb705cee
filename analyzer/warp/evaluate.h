// Follows one warp of a kernel along all its paths (design: "Paths of one warp").
//
// A path is at a point with a PathState: the values of the registers that are still needed, memory, what was decided
// about unknowns, and the state of the protocol. Lanes that branched apart are kept as a list of (block, lanes); the
// one whose block comes first in the graph's order runs next, so that lanes meet again where the order brings them
// together. States that reach a block with the same lanes and the same kind of protocol state are merged; loops are
// iterated until the states at their heads no longer change. An unknown condition that is the same in all lanes is
// followed both ways and remembered; one that differs between lanes is followed with half of the lanes each way.
#pragma once

#include <vector>

#include "analyzer/assumptions/assumptions.h"
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
  uint64_t exchange = 0;                    // how often the warps have exchanged what they write
  // Warp-instructions that may be followed; then the rest of the kernel is an incomplete place.
  uint64_t step_budget = assumptions::kStepsOfAWarp;
  // Paths that have decided different things are not merged, as long as they are few: so what several conditions guard
  // together is not taken for what none of them guards.
  bool decisions_apart = false;
  // The state of a loop's first round is not merged with those of later rounds, and what is stepped by the same number
  // each time is that number times the number of rounds (rounds.h): so a path does not seem to come from two different
  // rounds. It costs about twice as much.
  bool by_rounds = false;
};

struct Evaluation {
  WarpGraph graph;
  SharedWrites writes;        // to shared memory, by this warp
  std::vector<Extent> reads;  // of shared memory
};

Evaluation evaluate(const Setting& setting);

// The columns an alloc or dealloc asks for: every value its operand may have; empty when they are not known.
std::vector<int64_t> columns_of(const Terms& terms, const Value& operand, uint32_t lanes);

}  // namespace tmemlint::warp
