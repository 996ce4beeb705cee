// tmem-pair-mask: a constant multicast mask that leaves out the issuing pair.
#include "rules/between_warps.h"

namespace tmemlint::rules {

namespace {

void check_pair_mask(Context& context) {
  for_each(context, {ProblemKind::kMaskWithoutPair}, [&](const Problem& p) {
    const auto& m = p.as<cluster::CommitMask>();
    return draft(p, report::Level::kWarning,
                 "for the CTA of rank " + std::to_string(m.commit.warp.rank) + " the mask " + std::to_string(m.mask) +
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
