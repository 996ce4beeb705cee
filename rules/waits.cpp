#include "rules/waits.h"

#include "analyzer/ptx/effects.h"

namespace tmemlint::rules {

Footprint footprint(const Context& context, const value::Value& address, uint32_t executing, const ptx::Form& form) {
  Footprint out;
  const TmemAddress a = context.tmem_address(address, executing);
  if (!a.known) return out;
  out.allocation = a.allocation;
  out.lane = a.lane;
  out.column = a.column;
  const ptx::Effects& effects = ptx::effects_of(form);
  if (effects.is_load() || effects.is_store()) {
    out.lanes = form.lanes;
    out.columns = form.columns;
  } else {
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

namespace {

// The lanes by which the address of a pending access is judged: those of a load are its own.
uint32_t lanes_of(const warp::PendingLoad& p, uint32_t /*executing*/) {
  return p.lanes;
}
uint32_t lanes_of(const warp::PendingStore&, uint32_t executing) {
  return executing;
}

}  // namespace

template <typename Access>
Footprint PendingTouches<Access>::footprint_of(const Access& pending, uint32_t executing) const {
  return footprint(context_, pending.address, lanes_of(pending, executing),
                   context_.form(context_.instruction_of(pending.step)));
}

template <typename Access>
auto PendingTouches<Access>::outline_of(uint32_t part, uint32_t executing) -> const Outline& {
  const auto [at, fresh] = outlines_.try_emplace((uint64_t{executing} << 32) | part);
  Outline& out = at->second;  // stays where it is while others are added
  if (!fresh) return out;
  const warp::SharedSets& sets = all_.sets();
  if (!sets.is_group(part)) {
    out = outline_of(sets.first_part(part), executing);
    const Outline& second = outline_of(sets.second_part(part), executing);
    out.columns |= second.columns;
    out.addresses |= second.addresses;
    out.allocations |= second.allocations;
    return out;
  }
  for (uint32_t element : sets.group(part)) {
    const Access& access = all_.access(element);
    const TmemAddress start = context_.tmem_address(access.address, lanes_of(access, executing));
    if (start.known) out.allocations.set(start.allocation % out.allocations.size());
    const Footprint touched = footprint_of(access, executing);
    if (touched.columns == 0) out.addresses.set(bit_of(access.address));
    for (uint32_t c = 0; c < touched.columns; ++c) out.columns.set((touched.column + c) % out.columns.size());
  }
  return out;
}

template <typename Access>
const Access* PendingTouches<Access>::first(const Set& pending, const value::Value& address, const Footprint& touched,
                                            uint32_t executing) {
  const auto touches = [&](const Access& p) {
    return same_start(address, p.address) || overlap(touched, footprint_of(p, executing));
  };
  if (pending.size() <= kFew) return pending.first([](uint32_t) { return true; }, touches);
  const size_t address_bit = bit_of(address);
  const auto may_touch = [&](uint32_t part) {
    const Outline& outline = outline_of(part, executing);
    if (outline.addresses.test(address_bit)) return true;
    for (uint32_t c = 0; c < touched.columns; ++c) {
      if (outline.columns.test((touched.column + c) % outline.columns.size())) return true;
    }
    return false;
  };
  return pending.first(may_touch, touches);
}

template <typename Access>
const Access* PendingTouches<Access>::first_in(const Set& pending, uint32_t allocation, uint32_t executing) {
  const auto lies_in = [&](const Access& p) {
    const TmemAddress start = context_.tmem_address(p.address, lanes_of(p, executing));
    return start.known && start.allocation == allocation;
  };
  if (pending.size() <= kFew) return pending.first([](uint32_t) { return true; }, lies_in);
  return pending.first([&](uint32_t part) { return outline_of(part, executing).allocations.test(allocation % 64); },
                       lies_in);
}

template class PendingTouches<warp::PendingLoad>;
template class PendingTouches<warp::PendingStore>;

}  // namespace tmemlint::rules
