// tmem-use-unallocated: Tensor Memory is touched though nothing is allocated (ISA 9.7.16.7).
#include "rules/sightings.h"

namespace tmemlint::rules {

namespace {

using cluster::Fault;
using cluster::Sighting;

void check_use_unallocated(Context& context) {
  for_each(context, {Fault::kUnallocated}, [&](const Sighting& s) {
    return draft(s, report::Level::kError,
                 name(context, s.at) + " touches column " + std::to_string(s.first) +
                     ", but this CTA holds no allocation: Tensor Memory must be allocated with tcgen05.alloc first");
  });
}

}  // namespace

extern const Rule kUseUnallocated;
const Rule kUseUnallocated = {
    "tmem-use-unallocated",
    report::Level::kError,
    "Tensor Memory is accessed in a CTA that has allocated none.",
    "Allocate the columns with tcgen05.alloc before the first access.",
    check_use_unallocated,
};

}  // namespace tmemlint::rules
