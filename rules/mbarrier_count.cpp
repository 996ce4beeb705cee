// tmem-mbarrier-count: arrivals of a round that are not as many as the mbarrier expects.
#include "rules/sightings.h"

namespace tmemlint::rules {

namespace {

using cta::Fault;
using cta::Sighting;

void check_mbarrier_count(Context& context) {
  for_each(context, {Fault::kArrivalCount}, [&](const Sighting& s) {
    const bool never = name(context, s.at).find("init") != std::string::npos;
    Draft d = draft(s, report::Level::kWarning,
                    never ? "this mbarrier expects " + std::to_string(s.first) + " arrivals, but only " + std::to_string(s.second) +
                                " come in a round: its phase never completes"
                          : "this arrives although the arrivals of the last round were not waited for: more threads arrive in a round than "
                            "the " + std::to_string(s.first) + " that the mbarrier was initialised for, so its phases drift");
    if (s.other != kNone) d.related.emplace_back(s.other, never ? "waits for it" : "initialised here");
    return d;
  });
}

}  // namespace

extern const Rule kMbarrierCount;
const Rule kMbarrierCount = {
    "tmem-mbarrier-count",
    report::Level::kWarning,
    "The arrivals of a round differ from the count that the mbarrier was initialised with.",
    "Initialise the mbarrier with the number of arrivals of one round.",
    check_mbarrier_count,
};

}  // namespace tmemlint::rules
