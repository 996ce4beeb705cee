// tmem-mbarrier-lifetime: mbarriers initialised, used and invalidated at the wrong time.
#include "rules/between_warps.h"

namespace tmemlint::rules {

namespace {

void check_mbarrier_lifetime(Context& context) {
  for_each(context, {ProblemKind::kInitAgain}, [&](const Problem& p) {
    Draft d = draft(p, report::Level::kError,
                    "this initialises an mbarrier that exists already" +
                        (p.warp == p.other_warp ? std::string() : other_warp_text(p, ", by warp ")) +
                        ": others may still wait for one of its phases or arrive on it; mbarrier.inval comes first");
    d.related.emplace_back(p.other, "initialised here before");
    return d;
  });
  for_each(context, {ProblemKind::kInitUnjoined}, [&](const Problem& p) {
    Draft d = draft(p, report::Level::kError,
                    "this mbarrier may be used" + other_warp_text(p, " by warp ") +
                        " before it is initialised: no barrier lies between; let all its users join behind the init");
    d.related.emplace_back(p.other, "used here");
    return d;
  });
  for_each(context, {ProblemKind::kInitUnfenced}, [&](const Problem& p) {
    Draft d = draft(p, report::Level::kWarning,
                    "another CTA uses this mbarrier, but its initialisation is not released to other CTAs: the barrier "
                    "of the cluster is relaxed, and no fence.mbarrier_init by the thread that initialises it lies "
                    "between");
    d.related.emplace_back(p.other, "used here");
    return d;
  });
  for_each(context, {ProblemKind::kInvalInUse}, [&](const Problem& p) {
    Draft d = draft(p, report::Level::kError,
                    "this invalidates an mbarrier that is still in use" + other_warp_text(p, " by warp ") +
                        ": an arrival may be under way, or a wait for its phase; wait for its last phase and join "
                        "before");
    d.related.emplace_back(p.other, "still uses it");
    return d;
  });
}

}  // namespace

extern const Rule kMbarrierLifetime;
const Rule kMbarrierLifetime = {
    "tmem-mbarrier-lifetime",
    report::Level::kError,
    "An mbarrier is initialised while it exists, used before it is, or invalidated while it is in use.",
    "Initialise it once, join all its users behind that, and invalidate it when no arrival or wait is to come.",
    check_mbarrier_lifetime,
};

}  // namespace tmemlint::rules
