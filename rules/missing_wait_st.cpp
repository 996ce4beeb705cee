// tmem-missing-wait-st: columns that a store writes are read or given on while the store may still be under way
// (ISA 9.7.16.6.3 and 9.7.16.8.3).
#include <set>

#include "rules/sightings.h"
#include "rules/waits.h"

namespace tmemlint::rules {

namespace {

using warp::Event;
using warp::PendingStore;

class StoreChecker {
public:
  StoreChecker(Context& context, const warp::WarpGraph& w) : context_(context), warp_(w) {}

  void run() {
    for (const Event& e : warp_.events) {
      const warp::Protocol& before = warp_.protocols[e.before];
      if (before.stores.empty()) continue;
      if (e.kind == Event::Kind::kTcgen05) {
        access(e, before);
      }
    }
  }

private:
  void access(const Event& e, const warp::Protocol& before) {
    const ptx::Form& form = context_.form(e);
    const std::string name(context_.name(e.instruction));
    switch (form.op) {
      case ptx::Tcgen05::kLd:
      case ptx::Tcgen05::kLdRed:
      case ptx::Tcgen05::kMma:
      case ptx::Tcgen05::kMmaWs:
      case ptx::Tcgen05::kCp:
      case ptx::Tcgen05::kShift: {
        const Footprint touched = footprint(context_, e.address, e.lanes, form);
        for (const PendingStore& p : before.stores) {
          const ptx::Form& store = context_.form(context_.instruction_of(p.step));
          if (!same_start(e.address, p.address) && !overlap(touched, footprint(context_, p.address, e.lanes, store)))
            continue;
          say(e, p, name + " of the same columns");
          return;
        }
        return;
      }
      case ptx::Tcgen05::kDealloc: {
        const TmemAddress freed = context_.tmem_address(e.address, e.lanes);
        for (const PendingStore& p : before.stores) {
          const TmemAddress written = context_.tmem_address(p.address, e.lanes);
          if (!freed.known || !written.known || freed.allocation != written.allocation) continue;
          say(e, p, "the dealloc of the columns");
          return;
        }
        return;
      }
      default:
        return;
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
  std::set<uint32_t> said_;  // steps of stores
};

void check_missing_wait_st(Context& context) {
  for (const warp::WarpGraph& w : context.warps()) StoreChecker(context, w).run();
  for_each(context, {cluster::Fault::kStoreNotWaited}, [&](const cluster::Sighting& s) -> std::optional<Draft> {
    if (s.other_warp == s.warp && s.other_rank == s.rank) return std::nullopt;
    Draft d =
        draft(s, report::Level::kError,
              "tcgen05.st is not waited for before the columns are used: it may still be under way at the " +
                  name(context, s.third == kNone ? s.other : s.third) + " of warp " + std::to_string(s.other_warp) +
                  ", which a barrier or mbarrier lets go on; put tcgen05.wait::st behind the stores");
    d.related.emplace_back(s.other, "the access");
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
