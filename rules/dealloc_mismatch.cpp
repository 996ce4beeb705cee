// tmem-dealloc-mismatch: a dealloc that does not describe an allocation (ISA 9.7.16.7.2).
#include "rules/between_warps.h"

namespace tmemlint::rules {

namespace {

std::string message(const Problem& p) {
  const auto& free = p.as<cluster::Free>();
  if (p.kind == ProblemKind::kDeallocSize) {
    return "this dealloc frees " + std::to_string(free.columns) + " columns of an allocation of " +
           std::to_string(free.alloc_columns) + ": both must be the same";
  }
  if (p.kind == ProblemKind::kDeallocExclusive) {
    return free.exclusive ? "this dealloc has .exclusive, and the alloc has not: both have it or neither"
                          : "the alloc has .exclusive, and this dealloc has not: both have it or neither";
  }
  if (free.alloc == kNone) {
    return "this dealloc's address (" + std::to_string(free.column) +
           ") is not one that an alloc returned: is it the address of the slot instead of its content?";
  }
  return "this dealloc's address is " + std::to_string(free.column) +
         " columns into an allocation: it must be the address that the alloc returned";
}

void check_dealloc_mismatch(Context& context) {
  for_each(context, {ProblemKind::kDeallocSize, ProblemKind::kDeallocExclusive, ProblemKind::kDeallocAddress},
           [&](const Problem& p) {
             Draft d = draft(p, report::Level::kError, message(p));
             if (p.other != kNone) d.related.emplace_back(p.other, "the alloc");
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
