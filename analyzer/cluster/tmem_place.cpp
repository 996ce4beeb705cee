#include <bit>

#include "analyzer/cluster/tmem_operations.h"

namespace tmemlint::cluster {

using value::Value;

namespace {

// The term of an allocation's address among the terms that a base is made of; 0 where there is none.
uint32_t allocation_term(const Scene& scene, uint32_t base, bool* has_rest) {
  uint32_t found = 0;
  for (const value::Terms::Part part : scene.terms.parts(base)) {
    const bool is_address =
        part.coefficient == 1 && found == 0 && scene.state.tensor_memory.allocation_of(part.term) != kNoAllocation;
    if (is_address) {
      found = part.term;
    } else {
      *has_rest = true;
    }
  }
  return found;
}

}  // namespace

TmemPlace place_of(Scene& scene, Decisions& decisions, const Execution& e, const Value& address) {
  TmemPlace out;
  const unsigned lane = static_cast<unsigned>(std::countr_zero(e.lanes));
  const Value one = scene.terms.lane(address, lane);
  const auto set_cell = [&](uint64_t number) {
    const ptx::TmemCell cell = ptx::decode_tmem_address(static_cast<uint32_t>(number));
    out.lane = cell.lane_in_memory();
    out.offset = cell.column;
  };
  set_cell(one.number);
  if (one.base == 0) {
    out.known = true;
    out.column = static_cast<uint32_t>(out.offset);
    out.allocation = scene.state.tensor_memory.live_at(e.warp.id.rank, out.column);
    return out;
  }
  bool rest = false;
  const uint32_t term = allocation_term(scene, one.base, &rest);
  if (term == 0) {
    // The address is selected by a condition that is not known, such as which stage it is: decided now.
    const Value now = decisions.resolved(e.machine, one);
    return now == one ? out : place_of(scene, decisions, e, now);
  }
  if (rest) {
    const Value base = scene.terms.with_base({}, term);
    const auto n =
        decisions.number(e.machine, scene.terms.apply({value::Op::kSub, 32, false, 0}, one, base), e.lanes, 32);
    if (!n) return out;
    set_cell(*n);
  }
  out.known = true;
  out.based = true;
  out.allocation = scene.state.tensor_memory.allocation_of(term);
  out.column = scene.state.tensor_memory.allocation(out.allocation).base + static_cast<uint32_t>(out.offset);
  return out;
}

}  // namespace tmemlint::cluster
