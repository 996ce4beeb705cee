// tmem-exit-in-flight: the CTA ends with an asynchronous operation in flight.
#include "rules/between_warps.h"

namespace tmemlint::rules {

namespace {

void check_exit_in_flight(Context& context) {
  for_each(context, {ProblemKind::kExitInFlight}, [&](const Problem& p) {
    Draft d = draft(p, report::Level::kWarning,
                    "the CTA exits here while a " + name(context, p.other) +
                        " may still be in flight: no warp has observed a commit that follows it");
    d.related.emplace_back(p.other, "the operation");
    return d;
  });
}

}  // namespace

extern const Rule kExitInFlight;
const Rule kExitInFlight = {
    "tmem-exit-in-flight",
    report::Level::kWarning,
    "The CTA exits while an mma, cp or shift is not known to be complete.",
    "Commit the operation and wait for it before the last warp exits.",
    check_exit_in_flight,
};

}  // namespace tmemlint::rules
