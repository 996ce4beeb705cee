// tmem-alloc-capacity: an alloc that can never return (ISA 9.7.16.7).
#include "rules/between_warps.h"

namespace tmemlint::rules {

namespace {

void check_alloc_capacity(Context& context) {
  for_each(context, {ProblemKind::kNoRoom}, [&](const Problem& p) {
    const auto& blocked = p.as<cluster::BlockedAlloc>();
    // With .exclusive a CTA may hold more than an alloc without it can have.
    const std::string capacity =
        blocked.live > blocked.capacity ? " columns" : " of the " + std::to_string(blocked.capacity);
    return draft(p, report::Level::kError,
                 "this alloc asks for " + std::to_string(blocked.asked) + " columns while the CTA itself holds " +
                     std::to_string(blocked.live) + capacity + ", and nothing frees them: it waits forever");
  });
}

}  // namespace

extern const Rule kAllocCapacity;
const Rule kAllocCapacity = {
    "tmem-alloc-capacity",
    report::Level::kError,
    "An alloc asks for more columns than the live allocations of the CTA leave, so it can never return.",
    "Free columns before allocating more, or allocate less.",
    check_alloc_capacity,
};

}  // namespace tmemlint::rules
