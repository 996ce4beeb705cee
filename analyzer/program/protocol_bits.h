// Which bits of each register the protocol of a kernel depends on: what instructions of the protocol name and when they
// run. A counter that only the end of its loop is decided by, and coordinates and addresses of data, have none.
#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/program/program.h"

namespace tmemlint::program {

// By register. Branches of `free_blocks` (by block) decide nothing here: whether a loop goes round once more.
// Conservative: a bit that is not set does not matter; one that is set may matter.
std::vector<uint64_t> protocol_bits(const Program& program, const std::vector<bool>& free_blocks);

}  // namespace tmemlint::program
