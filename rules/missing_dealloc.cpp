// tmem-missing-dealloc: what a kernel allocates it must free before it exits (ISA 9.7.16.7.1).
#include <set>

#include "rules/between_warps.h"
#include "rules/context.h"

namespace tmemlint::rules {

namespace {

// What the deallocs of some warps may free.
struct Frees {
  std::set<uint32_t> terms;  // allocations named by their address
  bool by_number = false;    // an address that is a number: some allocation's
  bool unknown = false;      // an address that could not be followed
  uint32_t where = kNone;    // the dealloc of the unknown address
};

Frees frees_of(Context& context, const warp::WarpGraph& w) {
  Frees out;
  for (const warp::Event& e : w.events) {
    if (e.kind != warp::Event::Kind::kTcgen05 || context.form(e).op != ptx::Tcgen05::kDealloc) continue;
    const TmemAddress a = context.tmem_address(e.address, e.lanes);
    if (a.known && a.allocation != 0) {
      out.terms.insert(a.allocation);
    } else if (a.known) {
      out.by_number = true;
    } else {
      out.unknown = true;
      out.where = e.instruction;
    }
  }
  return out;
}

// Of all warps but one.
Frees frees_of_others(const std::vector<Frees>& by_warp, size_t except) {
  Frees out;
  for (size_t n = 0; n < by_warp.size(); ++n) {
    if (n == except) continue;
    const Frees& one = by_warp[n];
    out.terms.insert(one.terms.begin(), one.terms.end());
    out.by_number = out.by_number || one.by_number;
    if (one.unknown) out.where = one.where;
    out.unknown = out.unknown || one.unknown;
  }
  return out;
}

// Allocs of a pair, by the rank of their CTA, that are not freed because the dealloc is executed in the other CTA only:
// that is said at the dealloc.
std::set<std::pair<uint32_t, uint32_t>> said_at_dealloc(const Context& context) {
  std::set<std::pair<uint32_t, uint32_t>> out;
  for (const Problem& p : context.problems().all) {
    if (p.kind == ProblemKind::kWithoutPeer && ptx::effects_of(context.form(p.at)).frees)
      out.emplace(p.other, p.other_warp.rank);
  }
  return out;
}

void check_missing_dealloc(Context& context) {
  const std::set<std::pair<uint32_t, uint32_t>> told = said_at_dealloc(context);
  std::set<uint32_t> said;  // allocs
  std::vector<Frees> by_warp;
  for (const warp::WarpGraph& w : context.warps()) by_warp.push_back(frees_of(context, w));
  for (size_t n = 0; n < by_warp.size(); ++n) {
    const warp::WarpGraph& w = context.warps()[n];
    const Frees others = frees_of_others(by_warp, n);
    for (const warp::Event& e : w.events) {
      if (e.kind != warp::Event::Kind::kExit) continue;
      const warp::Holdings& before = w.holdings_before(e);
      // The warp leaves with its last lanes.
      if (((before.exited | e.lanes) & w.lanes) != w.lanes) continue;
      for (const warp::Held& held : before.held) {
        if (held.live == 0 || held.step == kNone) continue;
        if (others.terms.count(held.term) != 0 || others.by_number) continue;
        const uint32_t alloc = context.instruction_of(held.step);
        if (told.contains({alloc, w.rank})) continue;
        if (before.unknown_dealloc || others.unknown) {
          context.incomplete(others.unknown ? others.where : alloc,
                             "whether the alloc is freed: the address that a dealloc frees could not be followed");
          continue;
        }
        Draft d;
        d.at = alloc;
        d.message =
            "allocated columns are not freed on a path to the end of the kernel: every allocation must be deallocated "
            "before exit, or later kernels on this SM wait for the columns forever";
        d.related.emplace_back(e.instruction, "the warp leaves the kernel here with the columns still allocated");
        d.warp = &w;
        d.node = e.node;
        said.insert(alloc);
        context.report(std::move(d));
      }
    }
  }
  // One that another warp frees, on some paths.
  for_each(context, {ProblemKind::kLeftAllocated}, [&](const Problem& p) -> std::optional<Draft> {
    if (!said.insert(p.at).second) return std::nullopt;
    return draft(
        p, report::Level::kError,
        "allocated columns are not freed on a path to the end of the kernel: the warp that frees them elsewhere "
        "does not come to its dealloc; every allocation must be deallocated before exit, or later kernels on "
        "this SM wait for the columns forever");
  });
  // A dealloc that is there, but that no warp comes to: the one that should be the last is never the last.
  for_each(context, {ProblemKind::kNeverFreed}, [&](const Problem& p) -> std::optional<Draft> {
    if (said.contains(p.at)) return std::nullopt;
    const std::string scenarios =
        p.scenarios == 1 ? "the one scenario" : "all " + std::to_string(p.scenarios) + " scenarios";
    return draft(p, report::Level::kWarning,
                 "these columns are still allocated at the end of " + scenarios +
                     " in which the warps were followed together: no warp was seen to come to a dealloc that frees "
                     "them");
  });
}

}  // namespace

extern const Rule kMissingDealloc;
const Rule kMissingDealloc = {
    "tmem-missing-dealloc",
    report::Level::kError,
    "Some path from an alloc reaches the end of the kernel with the allocation live.",
    "Free the columns with tcgen05.dealloc on every path that leaves the kernel, early returns included.",
    check_missing_dealloc,
};

}  // namespace tmemlint::rules
