// tmem-mbarrier-phase: waits for a phase of an mbarrier that another one may be taken for.
#include "rules/between_warps.h"

namespace tmemlint::rules {

namespace {

std::string overtaken(const Problem& p) {
  const std::string warp = warp_text(p.warp);
  if (p.as<cluster::OvertakenWait>().stale) {
    return warp +
           " waits here for a phase that is over already, although the next one may be over meanwhile: the wait " +
           "passes at once before that, and waits for a later phase of the same parity after it; begin with parity 0 "
           "where phase 0 is waited for, and flip the parity with each round";
  }
  return "the next phase of this mbarrier may be over before " + warp +
         " has seen the one that it waits for here: nothing that completes it comes after this wait, which then lasts "
         "until a later phase of the same parity, or for good";
}

void check_mbarrier_phase(Context& context) {
  for_each(context, {ProblemKind::kParity}, [&](const Problem& p) {
    return draft(p, report::Level::kError,
                 "the parity of this wait is neither 0 nor 1 in some round, and a phase has no other; wait for the "
                 "lowest bit of the count");
  });
  for_each(context, {ProblemKind::kWaitOvertaken}, [&](const Problem& p) {
    Draft d = draft(p, report::Level::kWarning, overtaken(p));
    if (p.other != kNone) d.related.emplace_back(p.other, "the last arrival of the next phase");
    const uint32_t init = p.as<cluster::OvertakenWait>().init;
    if (init != kNone) d.related.emplace_back(init, "initialised here");
    return d;
  });
}

}  // namespace

extern const Rule kMbarrierPhase;
const Rule kMbarrierPhase = {
    "tmem-mbarrier-phase",
    report::Level::kError,
    "A wait names a parity that is none, or one that another phase of the mbarrier has too when it comes.",
    "Flip the parity with each round, and let the next phase be completed only after all waits for this one.",
    check_mbarrier_phase,
};

}  // namespace tmemlint::rules
