// States of a run in a form in which equal ones go on alike, whatever came before. Unequal ones may do so too.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "analyzer/cluster/run_state.h"
#include "analyzer/program/program.h"
#include "analyzer/program/protocol_bits.h"

namespace tmemlint::cluster {

// Events and commits are told by their order among those that anything in the state still refers to, operations by
// where they are referred to, phases by their parity and by how far waits are behind. Left out is what only the past
// has: how many steps were taken, what was observed, how the scenario has decided.
using CanonicalState = std::vector<uint64_t>;

// What of registers and loops is a part of the state.
struct WhatCounts {
  // Which bits of the values of registers. Null: all, of the registers that are needed where each warp's block begins.
  std::shared_ptr<program::ProtocolBits> bits;
  value::Terms* terms = nullptr;  // with bits: those of the run
  // By loop: whether it does not matter how often it has gone round although the policy decides when it ends.
  std::vector<bool> free_loops;
};
CanonicalState canonical_state(const RunState& state, const program::Program& program, const WhatCounts& counts = {});

}  // namespace tmemlint::cluster
