// tmem-alloc-capacity: an alloc that can never return (ISA 9.7.16.7).
#include "rules/sightings.h"

namespace tmemlint::rules {

namespace {

using cluster::Fault;
using cluster::Sighting;

void check_alloc_capacity(Context& context) {
  for_each(context, {Fault::kOverCapacity}, [&](const Sighting& s) {
    return draft(s, report::Level::kError,
                 "this alloc asks for " + std::to_string(s.second) + " columns while the CTA itself holds " +
                     std::to_string(s.first) + " of the 512, and nothing frees them: it waits forever");
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
