// Whether what writes the operands of mma and cp in shared memory, and what reads them, are in order.
#pragma once

#include <cstdint>

#include "analyzer/cluster/scene.h"
#include "analyzer/ptx/descriptor.h"

namespace tmemlint::cluster {

// A warp writes a range of shared memory, or asks a copy to: the operations that read what begins there have to be
// complete by what it knows.
struct OperandWriter {
  const WarpState& warp;
  uint32_t instruction = kNone;
  bool is_copy = false;
};
void overwrite_operands(Scene& scene, const OperandWriter& writer, uint32_t begin, uint32_t end);

// A thread issues an operation that reads a matrix which begins at `address`, and has these rows.
void read_operand(Scene& scene, const Execution& e, uint32_t operation, uint32_t address, const ptx::MatrixRows& rows);

}  // namespace tmemlint::cluster
