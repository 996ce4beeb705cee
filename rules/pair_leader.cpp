// tmem-pair-leader: a pair's operation issued by both of its CTAs.
#include "rules/sightings.h"

namespace tmemlint::rules {

namespace {

using cluster::Fault;
using cluster::Sighting;

void check_pair_leader(Context& context) {
  for_each(context, {Fault::kPairLeader}, [&](const Sighting& s) {
    return draft(s, report::Level::kWarning,
                 name(context, s.at) +
                     " with cta_group::2 is issued by both CTAs of the pair: the work of the pair is done twice; let "
                     "one CTA issue it");
  });
}

}  // namespace

extern const Rule kPairLeader;
const Rule kPairLeader = {
    "tmem-pair-leader",
    report::Level::kWarning,
    "One operation of a CTA pair is issued by both of its CTAs.",
    "Let one CTA of the pair issue it: test the rank.",
    check_pair_leader,
};

}  // namespace tmemlint::rules
