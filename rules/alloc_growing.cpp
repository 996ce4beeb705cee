// tmem-alloc-growing: the sizes of a CTA's allocations must not grow in execution order (ISA 9.7.16.7.1).
#include <algorithm>
#include <set>

#include "rules/between_warps.h"
#include "rules/ordering.h"

namespace tmemlint::rules {

namespace {

void check_alloc_growing(Context& context) {
  std::set<uint32_t> said;  // allocs
  for (const warp::WarpGraph& w : context.warps()) {
    for (const warp::Event& e : w.events) {
      if (e.kind != warp::Event::Kind::kTcgen05 || context.form(e).op != ptx::Tcgen05::kAlloc) continue;
      const warp::Holdings& before = w.holdings_before(e);
      if (before.smallest_step == kNone) continue;
      const std::vector<int64_t> sizes = warp::columns_of(context.terms(), context.columns_of(w, e), e.lanes);
      if (sizes.empty() || !may_grow(before.smallest, sizes.back(), /*ordered=*/true)) continue;
      const uint32_t earlier = context.instruction_of(before.smallest_step);
      const bool exact = std::any_of(w.events.begin(), w.events.end(), [&](const warp::Event& other) {
        return other.instruction == earlier &&
               warp::columns_of(context.terms(), context.columns_of(w, other), other.lanes).size() == 1;
      });
      const std::string asked = (exact ? "" : "at most ") + std::to_string(before.smallest);
      Draft d;
      d.at = e.instruction;
      d.message = "this alloc asks for " + std::to_string(sizes.back()) +
                  " columns after an earlier alloc of the CTA asked for " + asked +
                  ": sizes must not grow, or CTAs that share an SM can wait for each other forever; allocate the "
                  "larger one first";
      d.related.emplace_back(earlier, "the earlier alloc, of " + asked + " columns");
      d.warp = &w;
      d.node = e.node;
      said.insert(e.instruction);
      context.report(std::move(d));
    }
  }
  // Allocs of different warps, where a join orders them, and sizes that a condition selects.
  for_each(context, {ProblemKind::kAllocGrowing}, [&](const Problem& p) -> std::optional<Draft> {
    if (p.other_warp == p.warp && said.contains(p.at)) return std::nullopt;
    const auto& pair = p.as<cluster::AllocPair>();
    const auto [smaller, larger] = std::minmax(pair.earlier_columns, pair.later_columns);
    const std::string whose = p.other_warp == p.warp ? "" : " of " + warp_text(p.other_warp);
    Draft d = draft(p, report::Level::kError,
                    "this alloc asks for " + std::to_string(larger) + " columns after an earlier alloc" + whose +
                        " asked for " + std::to_string(smaller) +
                        ": sizes must not grow, or CTAs that share an SM can wait for each other forever; allocate the "
                        "larger one first");
    d.related.emplace_back(p.other, "the earlier alloc, of " + std::to_string(smaller) + " columns");
    return d;
  });
}

}  // namespace

extern const Rule kAllocGrowing;
const Rule kAllocGrowing = {
    "tmem-alloc-growing",
    report::Level::kError,
    "An alloc asks for more columns than an earlier alloc of the CTA.",
    "Order the allocations of a kernel from the largest to the smallest.",
    check_alloc_growing,
    /*source_only=*/false,
    /*stands_alone=*/true,
};

}  // namespace tmemlint::rules
