// tmem-one-warp: one alloc or dealloc executed by several warps.
#include "rules/sightings.h"

namespace tmemlint::rules {

namespace {

using cluster::Fault;
using cluster::Sighting;

void check_one_warp(Context& context) {
  for_each(context, {Fault::kSharedAlloc}, [&](const Sighting& s) {
    const std::string warps = "(warps " + std::to_string(std::min(s.warp, s.other_warp)) + " and " +
                              std::to_string(std::max(s.warp, s.other_warp)) + ")";
    if (context.form(s.at).op == ptx::Tcgen05::kDealloc) {
      return draft(
          s, report::Level::kError,
          "several warps execute this dealloc " + warps +
              " of one allocation: the first one frees it, perhaps while others still use it, and each one after "
              "it traps or frees what another CTA owns by now; guard it so that one warp executes it");
    }
    return draft(
        s, report::Level::kError,
        "several warps execute this alloc " + warps +
            " into one slot: each allocates, and only one address is kept; guard it so that one warp executes it");
  });
}

}  // namespace

extern const Rule kOneWarp;
const Rule kOneWarp = {
    "tmem-one-warp",
    report::Level::kError,
    "One alloc or dealloc is executed by several warps of the CTA.",
    "Let one warp allocate: guard the alloc by the warp number.",
    check_one_warp,
    /*source_only=*/false,
    /*stands_alone=*/true,
};

}  // namespace tmemlint::rules
