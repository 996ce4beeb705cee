// tmem-pair-alloc-join: the peer is reached before it is ready.
#include "rules/sightings.h"

namespace tmemlint::rules {

namespace {

using cluster::Fault;
using cluster::Sighting;

void check_pair_alloc_join(Context& context) {
  for_each(context, {Fault::kPairStart}, [&](const Sighting& s) {
    Draft d = draft(s, report::Level::kWarning,
                    name(context, s.at) +
                        " reaches the other CTA, but nothing orders that CTA's alloc or mbarrier init before it: put a "
                        "cluster barrier between");
    if (s.other != kNone) d.related.emplace_back(s.other, "not ordered before it in the other CTA");
    return d;
  });
}

}  // namespace

extern const Rule kPairAllocJoin;
const Rule kPairAllocJoin = {
    "tmem-pair-alloc-join",
    report::Level::kWarning,
    "Something reaches the peer CTA before a join that orders the peer's alloc and mbarrier inits.",
    "Put a cluster barrier between the allocs and mbarrier inits and the first access that reaches the peer.",
    check_pair_alloc_join,
};

}  // namespace tmemlint::rules
