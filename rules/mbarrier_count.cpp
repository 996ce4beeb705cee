// tmem-mbarrier-count: arrivals of a round that are not as many as the mbarrier expects.
#include <set>

#include "rules/between_warps.h"

namespace tmemlint::rules {

namespace {

std::string never_ends(const cluster::Hang& hang, const std::string& warp) {
  const std::string count = std::to_string(hang.count);
  if (hang.overtaken) {
    return "more arrivals than the " + count +
           " that this mbarrier expects come in a round: another round is over before " + warp +
           " has waited for the one before";
  }
  if (hang.all_arrived) {
    return "bytes are announced on this mbarrier, but no copy completes on it in the round that " + warp + " waits for";
  }
  if (hang.arrivals == 0) return "nothing arrives on this mbarrier in the round that " + warp + " waits for";
  return "this mbarrier expects " + count + " arrivals, but only " + std::to_string(hang.arrivals) +
         " come in the round that " + warp + " waits for";
}

void check_mbarrier_count(Context& context) {
  for_each(context, {ProblemKind::kTooManyArrivals}, [&](const Problem& p) {
    Draft d = draft(p, report::Level::kWarning,
                    "this arrives although the arrivals of the last round were not waited for: more threads arrive in "
                    "a round than the " +
                        std::to_string(p.as<cluster::Arrival>().count) +
                        " that the mbarrier was initialised for, so its phases drift");
    if (p.other != kNone) d.related.emplace_back(p.other, "initialised here");
    return d;
  });
  for_each(context, {ProblemKind::kWaitNeverEnds}, [&](const Problem& p) {
    const auto& hang = p.as<cluster::Hang>();
    Draft d = draft(p, report::Level::kWarning,
                    never_ends(hang, warp_text(p.warp)) + ": the wait never ends, and no other warp can go on either");
    if (hang.flip_decides && hang.flipped != kNone) {
      d.message += std::string(", where the branch that is shown ") + (hang.flipped_taken ? "is" : "is not") + " taken";
      d.related.emplace_back(hang.flipped, "this branch");
    }
    d.related.emplace_back(p.other, "waits here");
    const uint32_t last = hang.all_arrived ? hang.announced : hang.last_arrival;
    if (last != kNone) d.related.emplace_back(last, hang.all_arrived ? "announced here" : "the last arrival");
    std::set<uint32_t> said = {p.other};
    for (const cluster::Hang::Blocked& other : hang.blocked) {
      if (said.insert(other.site.instruction).second)
        d.related.emplace_back(other.site.instruction, "another warp waits here");
    }
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
