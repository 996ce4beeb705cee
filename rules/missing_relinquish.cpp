// tmem-missing-relinquish: a kernel that allocates and never relinquishes.
#include "rules/between_warps.h"

namespace tmemlint::rules {

namespace {

void check_missing_relinquish(Context& context) {
  for_each(context, {ProblemKind::kPermitKept}, [&](const Problem& p) {
    return draft(p, report::Level::kNote,
                 "no tcgen05.relinquish_alloc_permit follows: while this CTA may still allocate, another one on the "
                 "same SM cannot");
  });
}

}  // namespace

extern const Rule kMissingRelinquish;
const Rule kMissingRelinquish = {
    "tmem-missing-relinquish",
    report::Level::kNote,
    "A kernel allocates and never gives up the permit to allocate.",
    "Execute tcgen05.relinquish_alloc_permit after the last alloc.",
    check_missing_relinquish,
};

}  // namespace tmemlint::rules
