// tmem-handoff-race: columns pass from one warp to another with nothing that orders the two.
#include "rules/between_warps.h"

namespace tmemlint::rules {

namespace {

void check_handoff_race(Context& context) {
  for_each(context, {ProblemKind::kUnordered}, [&](const Problem& p) {
    Draft d = draft(p, report::Level::kError,
                    name(context, p.at) + " is not ordered with a " + name(context, p.other) + " of the same columns" +
                        other_warp_text(p) +
                        ": no barrier or mbarrier lies between them, so it may come first; let this warp wait until "
                        "the other one is done");
    d.related.emplace_back(p.other, "the other access");
    return d;
  });
}

}  // namespace

extern const Rule kHandoffRace;
const Rule kHandoffRace = {
    "tmem-handoff-race",
    report::Level::kError,
    "Columns pass from one warp to another with nothing that orders the two accesses.",
    "Join the two warps (mbarrier, named barrier, cluster barrier) between the two accesses.",
    check_handoff_race,
};

}  // namespace tmemlint::rules
