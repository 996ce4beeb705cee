// tmem-mbarrier-count: arrivals of a round that are not as many as the mbarrier expects.
#include "rules/sightings.h"

namespace tmemlint::rules {

namespace {

using cluster::Fault;
using cluster::Sighting;

void check_mbarrier_count(Context& context) {
  for_each(context, {Fault::kArrivalCount}, [&](const Sighting& s) {
    Draft d = draft(s, report::Level::kWarning,
                    "this arrives although the arrivals of the last round were not waited for: more threads arrive in "
                    "a round than the " +
                        std::to_string(s.first) + " that the mbarrier was initialised for, so its phases drift");
    if (s.other != kNone) d.related.emplace_back(s.other, "initialised here");
    return d;
  });
  for_each(context, {Fault::kStuck}, [&](const Sighting& s) {
    std::string message =
        s.passed ? "more arrivals than the " + std::to_string(s.first) +
                       " that this mbarrier expects come in a round: another round is over before warp " +
                       std::to_string(s.warp) + " has waited for the one before"
        : s.bytes ? "bytes are announced on this mbarrier, but no copy completes on it in the round that warp " +
                        std::to_string(s.warp) + " waits for"
        : s.second == 0
            ? "nothing arrives on this mbarrier in the round that warp " + std::to_string(s.warp) + " waits for"
            : "this mbarrier expects " + std::to_string(s.first) + " arrivals, but only " + std::to_string(s.second) +
                  " come in the round that warp " + std::to_string(s.warp) + " waits for";
    Draft d = draft(s, report::Level::kWarning, message + ": the wait never ends, and no other warp can go on either");
    d.related.emplace_back(s.other, "waits here");
    if (s.third != kNone) d.related.emplace_back(s.third, s.bytes ? "announced here" : "the last arrival");
    for (uint32_t wait : s.waits) d.related.emplace_back(wait, "another warp waits here");
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
