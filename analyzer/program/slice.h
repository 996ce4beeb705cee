// The slice: which registers, branches and stores the protocol of a kernel depends on. Everything else is dropped.
//
// It starts from the events (tcgen05, barriers, copies, polls of shared memory) and the exits, and follows backwards
// what their operands are computed from, what decides whether they run, and what is stored where they load from.
#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/kernel/control.h"
#include "analyzer/program/load_uses.h"
#include "analyzer/program/memory_reads.h"
#include "analyzer/program/operands.h"
#include "analyzer/program/writers.h"

namespace tmemlint::program {

// How much of a register the protocol needs. What is only stored to shared memory is needed as data: an operation that
// is not modelled (floating-point arithmetic) may then yield an unknown, and what it is computed from is not needed.
enum class Need : uint8_t { kNothing, kAsData, kExact };

struct Slice {
  std::vector<Need> needed;   // by register
  std::vector<bool> decided;  // by block: which way its branch goes matters
  kernel::Control control;
  MemoryReads memory;
};

Slice find_slice(const Operands& operands, const Writers& writers, const LoadUses& loads, RoleTable& roles);

}  // namespace tmemlint::program
