// tmem-pair-mask: a constant multicast mask that leaves out the issuing pair.
#include "rules/sightings.h"

namespace tmemlint::rules {

namespace {

using cluster::Fault;
using cluster::Sighting;

void check_pair_mask(Context& context) {
  for_each(context, {Fault::kPairMask}, [&](const Sighting& s) {
    return draft(s, report::Level::kWarning,
                 "for the CTA of rank " + std::to_string(s.second) + " the mask " + std::to_string(s.first) +
                     " does not name both CTAs of its own pair: they never learn of the completion");
  });
}

}  // namespace

extern const Rule kPairMask;
const Rule kPairMask = {
    "tmem-pair-mask",
    report::Level::kWarning,
    "The multicast mask of a pair's commit leaves out the pair that issues it.",
    "Shift the mask by the rank of the pair, or name all CTAs.",
    check_pair_mask,
    /*source_only=*/false,
    /*stands_alone=*/true,
};

}  // namespace tmemlint::rules
