// tmem-exit-in-flight: the CTA ends with an asynchronous operation in flight.
#include "rules/sightings.h"

namespace tmemlint::rules {

namespace {

using cluster::Fault;
using cluster::Sighting;

void check_exit_in_flight(Context& context) {
  for_each(context, {Fault::kExitInFlight}, [&](const Sighting& s) {
    Draft d = draft(s, report::Level::kWarning,
                    "the CTA exits here while a " + name(context, s.other) +
                        " may still be in flight: no warp has observed a commit that follows it");
    d.related.emplace_back(s.other, "the operation");
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
