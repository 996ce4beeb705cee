// tmem-dealloc-race: columns are freed while another warp may use them.
#include "rules/sightings.h"

namespace tmemlint::rules {

namespace {

using cluster::Fault;
using cluster::Sighting;

void check_dealloc_race(Context& context) {
  for_each(context, {Fault::kFreeRace}, [&](const Sighting& s) {
    Draft d = draft(s, report::Level::kError,
                    "this dealloc may free the columns before" + warp_text(s, " warp ") +
                        " is done with them: nothing that this warp waits for "
                        "comes after that access; join the users of the columns before freeing them");
    d.related.emplace_back(s.other, "may come after the dealloc");
    return d;
  });
}

}  // namespace

extern const Rule kDeallocRace;
const Rule kDeallocRace = {
    "tmem-dealloc-race",
    report::Level::kError,
    "A warp frees columns that another warp may still be accessing.",
    "Join the warps that use the columns before the dealloc.",
    check_dealloc_race,
};

}  // namespace tmemlint::rules
