// tmem-missing-relinquish: a kernel that allocates and never relinquishes.
#include "rules/sightings.h"

namespace tmemlint::rules {

namespace {

using cluster::Fault;
using cluster::Sighting;

void check_missing_relinquish(Context& context) {
  for_each(context, {Fault::kNoRelinquish}, [&](const Sighting& s) {
    return draft(s, report::Level::kNote,
                 "no tcgen05.relinquish_alloc_permit follows: while this CTA may still allocate, another one on the "
                 "same SM cannot");
  });
}

}  // namespace

extern const Rule kMissingRelinquish;
const Rule kMissingRelinquish = {
    "tmem-missing-relinquish",
    report::Level::kNote,
    "A kernel allocates and never gives up the permit to allocate.",
    "Execute tcgen05.relinquish_alloc_permit after the last alloc.",
    check_missing_relinquish,
};

}  // namespace tmemlint::rules
