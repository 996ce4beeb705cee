// tmem-pair-dealloc-join: a pair frees Tensor Memory that the other CTA may still use (ISA 9.7.16.5).
#include "rules/between_warps.h"

namespace tmemlint::rules {

namespace {

void check_pair_dealloc_join(Context& context) {
  for_each(context, {ProblemKind::kPeerInFlight, ProblemKind::kPeerLoadOrStore, ProblemKind::kPeerFreesLater},
           [&](const Problem& p) {
             if (p.kind == ProblemKind::kPeerFreesLater) {
               Draft d = draft(
                   p, report::Level::kError,
                   "one CTA of the pair frees before the cluster barrier, the other after it: dealloc may wait for "
                   "the peer, so this can "
                   "hang; put the barrier before the dealloc in both");
               d.related.emplace_back(p.other, "the peer's dealloc");
               return d;
             }
             const bool loads = p.kind == ProblemKind::kPeerLoadOrStore;
             Draft d = draft(p, loads ? report::Level::kNote : report::Level::kError,
                             loads ? "the peer's own loads and stores are not ordered before this dealloc of the pair"
                                   : "the peer may still be using the columns that this dealloc frees: nothing joins "
                                     "the two CTAs before it");
             if (p.other != kNone)
               d.related.emplace_back(p.other, loads ? "the peer's access" : "not ordered before the dealloc");
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
