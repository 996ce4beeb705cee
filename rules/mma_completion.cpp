// tmem-mma-completion: results or operands of an asynchronous operation are touched before it is known to be complete
// (ISA 9.7.16.6).
#include "rules/sightings.h"

namespace tmemlint::rules {

namespace {

using cluster::Fault;
using cluster::Sighting;

void check_mma_completion(Context& context) {
  for_each(context, {Fault::kNotComplete}, [&](const Sighting& s) {
    const bool frees = name(context, s.at).find("dealloc") != std::string::npos;
    Draft d = draft(
        s, report::Level::kError,
        name(context, s.at) + (frees ? " frees" : " touches") + " columns that an earlier " + name(context, s.other) +
            warp_text(s) +
            " may still be working on: no wait of this warp has observed a tcgen05.commit that follows it; wait for "
            "the mbarrier of that commit first");
    d.related.emplace_back(s.other, "the operation that may be in flight");
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
