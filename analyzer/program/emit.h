// The steps of the slice: each kept instruction with its operands resolved to registers, numbers and addresses.
#pragma once

#include "analyzer/program/load_uses.h"
#include "analyzer/program/slice.h"

namespace tmemlint::program {

// Fills in the steps, their arguments and the code of each block. Registers are still those of the graph.
void emit_steps(const Operands& operands, const Slice& slice, const Writers& writers, const LoadUses& loads,
                RoleTable& roles, Program& program);

}  // namespace tmemlint::program
