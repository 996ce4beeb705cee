// tmem-pair-dealloc-join: a pair frees Tensor Memory that the other CTA may still use (ISA 9.7.16.5).
#include "rules/sightings.h"

namespace tmemlint::rules {

namespace {

using cluster::Fault;
using cluster::Sighting;

void check_pair_dealloc_join(Context& context) {
  for_each(context, {Fault::kPairFree, Fault::kPairFreeLoads, Fault::kPairFreeOrder}, [&](const Sighting& s) {
    if (s.fault == Fault::kPairFreeOrder) {
      Draft d = draft(s, report::Level::kError,
                      "one CTA of the pair frees before the cluster barrier, the other after it: dealloc may wait for "
                      "the peer, so this can "
                      "hang; put the barrier before the dealloc in both");
      d.related.emplace_back(s.other, "the peer's dealloc");
      return d;
    }
    const bool loads = s.fault == Fault::kPairFreeLoads;
    Draft d = draft(
        s, loads ? report::Level::kNote : report::Level::kError,
        loads
            ? "the peer's own loads and stores are not ordered before this dealloc of the pair"
            : "the peer may still be using the columns that this dealloc frees: nothing joins the two CTAs before it");
    if (s.other != kNone)
      d.related.emplace_back(s.other, loads ? "the peer's access" : "not ordered before the dealloc");
    return d;
  });
}

}  // namespace

extern const Rule kPairDeallocJoin;
const Rule kPairDeallocJoin = {
    "tmem-pair-dealloc-join",
    report::Level::kError,
    "A CTA of a pair frees Tensor Memory without having joined its peer.",
    "Join the pair (cluster barrier, or an mbarrier that the peer arrives on) before the dealloc, in both CTAs.",
    check_pair_dealloc_join,
};

}  // namespace tmemlint::rules
