// States of a run in a form in which equal ones go on alike, whatever came before. Unequal ones may do so too.
#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/cluster/run_state.h"
#include "analyzer/program/program.h"

namespace tmemlint::cluster {

// Events and commits are told by their order among those that anything in the state still refers to, operations by
// where they are referred to, phases by their parity and by how far waits are behind. Left out is what only the past
// has: how many steps were taken, what was observed, how the scenario has decided, rounds of loops.
//
// `counts`: by register, whether its value is a part of the state; empty: those of all registers that are still needed
// are. A counter that only the end of a loop and addresses of data are computed from need not be.
using CanonicalState = std::vector<uint64_t>;
CanonicalState canonical_state(const RunState& state, const program::Program& program,
                               const std::vector<bool>& counts = {});

}  // namespace tmemlint::cluster
