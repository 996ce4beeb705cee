#include "rules/waits.h"

namespace tmemlint::rules {

Footprint footprint(const Context& context, const value::Value& address, uint32_t executing, const ptx::Form& form) {
  Footprint out;
  const TmemAddress a = context.tmem_address(address, executing);
  if (!a.known) return out;
  out.allocation = a.allocation;
  out.lane = a.lane;
  out.column = a.column;
  switch (form.op) {
    case ptx::Tcgen05::kLd:
    case ptx::Tcgen05::kLdRed:
    case ptx::Tcgen05::kSt:
      out.lanes = form.lanes;
      out.columns = form.columns;
      break;
    default:
      // How far the others reach depends on descriptors; their first column is certain.
      out.lanes = 128;
      out.lane = 0;
      out.columns = 1;
  }
  return out;
}

bool overlap(const Footprint& a, const Footprint& b) {
  if (a.columns == 0 || b.columns == 0 || a.allocation != b.allocation) return false;
  return a.lane < b.lane + b.lanes && b.lane < a.lane + a.lanes && a.column < b.column + b.columns &&
         b.column < a.column + a.columns;
}

}  // namespace tmemlint::rules
