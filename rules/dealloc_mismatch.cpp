// tmem-dealloc-mismatch: a dealloc that does not describe an allocation (ISA 9.7.16.7.2).
#include "rules/sightings.h"

namespace tmemlint::rules {

namespace {

using cluster::Fault;
using cluster::Sighting;

void check_dealloc_mismatch(Context& context) {
  for_each(context, {Fault::kDeallocAddress, Fault::kDeallocSize}, [&](const Sighting& s) {
    if (s.fault == Fault::kDeallocSize) {
      Draft d = draft(s, report::Level::kError,
                      "this dealloc frees " + std::to_string(s.first) + " columns of an allocation of " +
                          std::to_string(s.second) + ": both must be the same");
      d.related.emplace_back(s.other, "the alloc");
      return d;
    }
    Draft d =
        draft(s, report::Level::kError,
              s.other == kNone
                  ? "this dealloc's address (" + std::to_string(s.first) +
                        ") is not one that an alloc returned: is it the address of the slot instead of its content?"
                  : "this dealloc's address is " + std::to_string(s.first) +
                        " columns into an allocation: it must be the address that the alloc returned");
    if (s.other != kNone) d.related.emplace_back(s.other, "the alloc");
    return d;
  });
}

}  // namespace

extern const Rule kDeallocMismatch;
const Rule kDeallocMismatch = {
    "tmem-dealloc-mismatch",
    report::Level::kError,
    "A dealloc names an address or a size that no live allocation of the CTA has.",
    "Pass the address that the alloc wrote, unchanged, and the size it was given.",
    check_dealloc_mismatch,
};

}  // namespace tmemlint::rules
