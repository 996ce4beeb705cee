// tmem-mma-completion: results or operands of an asynchronous operation are touched before it is known to be complete
// (ISA 9.7.16.6).
#include "rules/between_warps.h"

namespace tmemlint::rules {

namespace {

void check_mma_completion(Context& context) {
  for_each(context, {ProblemKind::kNotComplete}, [&](const Problem& p) {
    const bool frees = ptx::effects_of(context.form(p.at)).frees;
    Draft d = draft(
        p, report::Level::kError,
        name(context, p.at) + (frees ? " frees" : " touches") + " columns that an earlier " + name(context, p.other) +
            other_warp_text(p) +
            " may still be working on: no wait of this warp has observed a tcgen05.commit that follows it; wait for "
            "the mbarrier of that commit first");
    d.related.emplace_back(p.other, "the operation that may be in flight");
    return d;
  });
}

}  // namespace

extern const Rule kMmaCompletion;
const Rule kMmaCompletion = {
    "tmem-mma-completion",
    report::Level::kError,
    "Columns of an mma, cp or shift are accessed or freed before its completion was observed.",
    "Commit the operation to an mbarrier and wait for that phase before touching the columns.",
    check_mma_completion,
};

}  // namespace tmemlint::rules
