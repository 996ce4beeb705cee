#include "analyzer/cluster/tensor_memory.h"

namespace tmemlint::cluster {

namespace {

bool same_shape(const Operation& a, const Operation& b) {
  if (a.d_column != b.d_column || a.form.kind != b.form.kind) return false;
  if (!a.idesc_known || !b.idesc_known) return true;
  const ptx::MmaShape x = ptx::mma_shape(a.idesc, a.form);
  const ptx::MmaShape y = ptx::mma_shape(b.idesc, b.form);
  return x.m == y.m && x.n == y.n;
}

}  // namespace

bool pipelined(const Operation& first, Role first_role, const Operation& second, Role second_role) {
  using ptx::Tcgen05;
  if (!first.by_commit() || !second.by_commit() || first.form.cta_group != second.form.cta_group) return false;
  const Tcgen05 a = first.form.op;
  const Tcgen05 b = second.form.op;
  if (first.is_mma() && second.is_mma()) {
    if (first_role == Role::kAccumulator && second_role == Role::kAccumulator) return same_shape(first, second);
    // Reads before a write are issued, and executed, in order; what one writes and the next reads as an operand is not.
    return first_role != Role::kAccumulator;
  }
  if (a == Tcgen05::kCp && (second.is_mma() || b == Tcgen05::kCp)) return true;
  if (a == Tcgen05::kShift) {
    return second.is_mma() || (b == Tcgen05::kCp && second.form.cp_shape == ptx::CpShape::k4x256b);
  }
  return first.is_mma() && b == Tcgen05::kShift;
}

uint32_t cp_columns(ptx::CpShape shape) {
  switch (shape) {
    case ptx::CpShape::k128x256b:
    case ptx::CpShape::k4x256b:
      return 8;
    case ptx::CpShape::k128x128b:
    case ptx::CpShape::k64x128b:
    case ptx::CpShape::k32x128b:
      return 4;
    default:
      return 1;
  }
}

}  // namespace tmemlint::cluster
