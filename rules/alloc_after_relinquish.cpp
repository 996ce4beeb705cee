// tmem-alloc-after-relinquish: the permit to allocate never comes back (ISA 9.7.16.7.1).
#include "rules/between_warps.h"

namespace tmemlint::rules {

namespace {

void check_alloc_after_relinquish(Context& context) {
  for (const warp::WarpGraph& w : context.warps()) {
    for (const warp::Event& e : w.events) {
      if (e.kind != warp::Event::Kind::kTcgen05 || context.form(e).op != ptx::Tcgen05::kAlloc) continue;
      const warp::Holdings& before = w.holdings_before(e);
      if (before.relinquished == kNone) continue;
      Draft d;
      d.at = e.instruction;
      d.message =
          "tcgen05.alloc after the CTA gave up its permit to allocate: the permit never comes back, and the alloc "
          "traps; "
          "relinquish after the last alloc";
      d.related.emplace_back(context.instruction_of(before.relinquished), "the permit is given up here");
      d.warp = &w;
      d.node = e.node;
      context.report(std::move(d));
    }
  }
  // Another warp of the CTA gave the permit up.
  for_each(context, {ProblemKind::kAllocAfterRelinquish}, [&](const Problem& p) {
    Draft d = draft(p, report::Level::kError,
                    "tcgen05.alloc after " + warp_text(p.other_warp) +
                        " gave up the CTA's permit to allocate: the permit never comes back, and the alloc traps; "
                        "relinquish after the last alloc");
    d.related.emplace_back(p.other, "the permit is given up here");
    return d;
  });
}

}  // namespace

extern const Rule kAllocAfterRelinquish;
const Rule kAllocAfterRelinquish = {
    "tmem-alloc-after-relinquish",
    report::Level::kError,
    "An alloc is reachable after the CTA executed relinquish_alloc_permit.",
    "Move relinquish_alloc_permit behind the last alloc of the kernel, out of any loop that allocates.",
    check_alloc_after_relinquish,
    /*source_only=*/false,
    /*stands_alone=*/true,
};

}  // namespace tmemlint::rules
