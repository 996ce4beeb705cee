// Which registers may hold an address of local memory, or what was computed from one. Most kernels take no such
// address, or only to print something: what goes through other generic addresses then never meets local memory.
#pragma once

#include <vector>

#include "analyzer/program/operands.h"

namespace tmemlint::program {

std::vector<bool> find_local_pointers(const Operands& operands);  // by register

}  // namespace tmemlint::program
