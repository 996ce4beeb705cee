// tmem-handoff-race: columns pass from one warp to another with nothing that orders the two.
#include "rules/sightings.h"

namespace tmemlint::rules {

namespace {

using cluster::Fault;
using cluster::Sighting;

void check_handoff_race(Context& context) {
  for_each(context, {Fault::kHandoff}, [&](const Sighting& s) {
    Draft d = draft(s, report::Level::kError,
                    name(context, s.at) + " is not ordered with a " + name(context, s.other) + " of the same columns" +
                        warp_text(s) +
                        ": no barrier or mbarrier lies between them, so it may come first; let this warp wait until "
                        "the other one is done");
    d.related.emplace_back(s.other, "the other access");
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
