// tmem-pair-alloc: what both CTAs of a pair have to execute, executed by one of them (ISA 9.7.16.7.1).
#include "rules/between_warps.h"

namespace tmemlint::rules {

namespace {

std::string consequence(const Context& context, const Problem& p) {
  const ptx::Effects& effects = ptx::effects_of(context.form(p.at));
  if (effects.allocates) return "the alloc may wait for the peer for ever, and the peer has no address to use";
  if (effects.frees) return "the dealloc may wait for the peer for ever, and the peer's columns stay allocated";
  return "the peer keeps the permit of the pair";
}

void check_pair_alloc(Context& context) {
  for_each(context, {ProblemKind::kWithoutPeer}, [&](const Problem& p) {
    const auto& shown = p.as<cluster::OneSidedPair>();
    const report::Level level = shown.cluster_is_guess ? report::Level::kWarning : report::Level::kError;
    return draft(p, level,
                 name(context, p.at) + " with cta_group::2 is executed in the " +
                     (shown.peer % 2 == 0 ? "odd" : "even") +
                     " CTA of the pair only: one warp of each CTA has to execute it; " + consequence(context, p));
  });
}

}  // namespace

extern const Rule kPairAlloc;
const Rule kPairAlloc = {
    "tmem-pair-alloc",
    report::Level::kError,
    "An alloc, dealloc or relinquish of a CTA pair is executed by one of its CTAs only.",
    "Let one warp of each CTA of the pair execute it: it must not be guarded by the rank.",
    check_pair_alloc,
};

}  // namespace tmemlint::rules
