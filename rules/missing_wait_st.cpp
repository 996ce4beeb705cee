// tmem-missing-wait-st: columns that a store writes are read or given on while the store may still be under way
// (ISA 9.7.16.6.3 and 9.7.16.8.3).
#include <set>

#include "analyzer/ptx/effects.h"
#include "rules/between_warps.h"
#include "rules/waits.h"

namespace tmemlint::rules {

namespace {

using warp::Event;
using warp::PendingStore;
using warp::PendingStores;

class StoreChecker {
public:
  StoreChecker(Context& context, const warp::WarpGraph& w)
      : context_(context), warp_(w), touches_(context, w.protocols.stores) {}

  void run() {
    for (const Event& e : warp_.events) {
      if (e.kind != Event::Kind::kTcgen05) continue;
      const PendingStores before = warp_.stores_before(e);
      if (!before.empty()) access(e, before);
    }
  }

private:
  void access(const Event& e, const PendingStores& before) {
    const ptx::Form& form = context_.form(e);
    const ptx::Effects& effects = ptx::effects_of(form);
    // Another store is no use of the columns.
    if (effects.touches_tmem() && !effects.is_store()) {
      const Footprint touched = footprint(context_, e.address, e.lanes, form);
      const PendingStore* store = touches_.first(before, e.address, touched, e.lanes);
      if (store != nullptr) say(e, *store, std::string(context_.name(e.instruction)) + " of the same columns");
    }
    if (effects.frees) {
      const TmemAddress freed = context_.tmem_address(e.address, e.lanes);
      if (!freed.known) return;
      const PendingStore* store = touches_.first_in(before, freed.allocation, e.lanes);
      if (store != nullptr) say(e, *store, "the dealloc of the columns");
    }
  }

  // Reported at the store, which is where the wait is missing; once, whatever comes first.
  void say(const Event& e, const PendingStore& p, std::string what) {
    if (!said_.insert(p.step).second) return;
    Draft d;
    d.at = context_.instruction_of(p.step);
    d.message = "tcgen05.st is not waited for before the columns are used: it may still be under way at " + what +
                "; put tcgen05.wait::st behind the stores";
    d.related.emplace_back(e.instruction, std::move(what));
    d.warp = &warp_;
    d.node = e.node;
    context_.report(std::move(d));
  }

  Context& context_;
  const warp::WarpGraph& warp_;
  PendingTouches<PendingStore> touches_;
  std::set<uint32_t> said_;  // steps of stores
};

void check_missing_wait_st(Context& context) {
  for (const warp::WarpGraph& w : context.warps()) StoreChecker(context, w).run();
  for_each(context, {ProblemKind::kStoreNotWaited}, [&](const Problem& p) -> std::optional<Draft> {
    // Of the warp's own accesses, its paths say this better.
    if (p.other_warp.number == p.warp.number) return std::nullopt;
    Draft d = draft(p, report::Level::kError,
                    "tcgen05.st is not waited for before the columns are used: it may still be under way at the " +
                        name(context, p.other) + " of " + warp_text(p.other_warp) +
                        ", which a barrier or mbarrier lets go on; put tcgen05.wait::st behind the stores");
    d.related.emplace_back(p.other, "the access");
    return d;
  });
}

}  // namespace

extern const Rule kMissingWaitSt;
const Rule kMissingWaitSt = {
    "tmem-missing-wait-st",
    report::Level::kError,
    "Columns that a tcgen05.st writes are read, handed on or freed before tcgen05.wait::st.",
    "Execute tcgen05.wait::st in the warp that stores, before anything reads the columns or is told that it may.",
    check_missing_wait_st,
};

}  // namespace tmemlint::rules
