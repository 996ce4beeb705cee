// tmem-missing-wait-ld: a load's columns or registers are given up while the load may still be under way
// (ISA 9.7.16.6.3 and 9.7.16.8.3; the register dependency of a load's results orders nothing else).
#include <bit>
#include <set>

#include "analyzer/ptx/effects.h"
#include "rules/between_warps.h"
#include "rules/waits.h"

namespace tmemlint::rules {

namespace {

using report::Level;
using warp::Event;
using warp::PendingLoad;
using warp::PendingLoads;

// A load that is pending counts by how many of its lanes have used its results.
Level level_of(const PendingLoad& p) {
  if (p.used == 0) return Level::kError;
  return (p.used & p.lanes) == p.lanes ? Level::kNote : Level::kWarning;
}

std::string state_of(const PendingLoad& p) {
  if (p.used == 0) return "may still be under way";
  if ((p.used & p.lanes) == p.lanes) return "was never waited for, though its results have been used";
  return "may still be under way in " + lanes_text(p.lanes & ~p.used);
}

// The same load as far as some lanes go: a register is another one in each lane.
PendingLoad in_lanes(PendingLoad p, uint32_t lanes) {
  p.lanes &= lanes;
  p.used &= lanes;
  return p;
}

class LoadChecker {
public:
  LoadChecker(Context& context, const warp::WarpGraph& w)
      : context_(context), warp_(w), touches_(context, w.protocols.loads) {}

  void run() {
    for (const Event& e : warp_.events) {
      const PendingLoads before = warp_.loads_before(e);
      if (before.empty()) continue;
      switch (e.kind) {
        case Event::Kind::kTcgen05:
          access(e, before);
          break;
        case Event::Kind::kOverwrite:
          overwrite(e, before);
          break;
        case Event::Kind::kExit:
          leave(e, before);
          break;
        case Event::Kind::kMbarrier:
        case Event::Kind::kBarrier:
        case Event::Kind::kClusterBarrier:
        case Event::Kind::kProxyFence:
        case Event::Kind::kAsyncCopy:
        case Event::Kind::kGridDependency:
          break;
      }
    }
  }

private:
  void access(const Event& e, const PendingLoads& before) {
    const ptx::Form& form = context_.form(e);
    const ptx::Effects& effects = ptx::effects_of(form);
    if (effects.writes_tmem()) {
      const Footprint written = footprint(context_, e.address, e.lanes, form);
      const PendingLoad* load = touches_.first(before, e.address, written, kByOwnLanes);
      if (load == nullptr) return;
      say(e, *load,
          std::string(context_.name(e.instruction)) +
              " overwrites columns that an earlier tcgen05.ld reads, but the load " + state_of(*load) +
              "; put tcgen05.wait::ld between them");
    } else if (effects.frees) {
      const TmemAddress freed = context_.tmem_address(e.address, e.lanes);
      if (!freed.known) return;
      const PendingLoad* load = touches_.first_in(before, freed.allocation, kByOwnLanes);
      if (load == nullptr) return;
      say(e, *load,
          "tcgen05.dealloc frees columns that an earlier tcgen05.ld reads, but the load " + state_of(*load) +
              "; put tcgen05.wait::ld before the dealloc");
    } else if (effects.is_load()) {
      issue_again(e, before);
    } else if (effects.drains_loads) {
      wait(e, before);
    }
  }

  // A load in a loop that is still pending from the round before.
  void issue_again(const Event& e, const PendingLoads& before) {
    const PendingLoad* pending = before.find(context_.program().steps[e.step].loads);
    if (pending == nullptr) return;
    const PendingLoad p = in_lanes(*pending, e.lanes);
    if (p.step != e.step || p.lanes == 0) return;
    say(e, p,
        "tcgen05.ld writes its registers again while the load of the previous iteration " + state_of(p) +
            "; put tcgen05.wait::ld into the loop");
  }

  void wait(const Event& e, const PendingLoads& before) {
    for (const PendingLoad& p : before) {
      if (p.used == 0) continue;
      Draft d;
      d.level = Level::kNote;
      d.at = context_.instruction_of(p.step);
      d.message = "results of this load are used before the tcgen05.wait::ld that follows";
      d.related.emplace_back(e.instruction, "the wait");
      report(std::move(d), e);
    }
  }

  void overwrite(const Event& e, const PendingLoads& before) {
    const std::vector<uint32_t>& set = context_.program().load_sets[context_.program().steps[e.step].loads];
    for_pending_of(before, set, [&](const PendingLoad& pending) {
      const PendingLoad p = in_lanes(pending, e.lanes);
      if (p.lanes == 0) return false;
      if (context_.instruction_of(p.step) == e.instruction) return false;  // judged by the load itself
      say(e, p,
          "a register that a tcgen05.ld is to write is overwritten while the load " + state_of(p) +
              "; put tcgen05.wait::ld before this instruction");
      return true;
    });
  }

  void leave(const Event& e, const PendingLoads& before) {
    // One finding for all the loads that a missing wait leaves over: at the first of them.
    const PendingLoad* first = nullptr;
    for (const PendingLoad& p : before) {
      if (p.used != 0 && (first == nullptr || context_.instruction_of(p.step) < context_.instruction_of(first->step)))
        first = &p;
    }
    if (first == nullptr || !left_.insert(first->step).second) return;
    Draft d;
    d.level = Level::kWarning;
    d.at = context_.instruction_of(first->step);
    d.message =
        "results of this load are used, but on a path to the end of the kernel the warp that loads never executes "
        "tcgen05.wait::ld; wait before using the results";
    d.related.emplace_back(e.instruction, "the warp leaves the kernel here without having waited");
    report(std::move(d), e);
  }

  void say(const Event& e, const PendingLoad& p, std::string message) {
    Draft d;
    d.level = level_of(p);
    d.at = e.instruction;
    d.message = std::move(message);
    d.related.emplace_back(context_.instruction_of(p.step), "the load");
    report(std::move(d), e);
  }

  void report(Draft d, const Event& e) {
    d.warp = &warp_;
    d.node = e.node;
    context_.report(std::move(d));
  }

  // A load's address is judged by the lanes that issued it, whatever it is held against.
  static constexpr uint32_t kByOwnLanes = 0;

  Context& context_;
  const warp::WarpGraph& warp_;
  PendingTouches<PendingLoad> touches_;
  std::set<uint32_t> left_;
};

void check_missing_wait_ld(Context& context) {
  for (const warp::WarpGraph& w : context.warps()) LoadChecker(context, w).run();
  // What a barrier or an arrive of the warp hands on to others.
  for_each(context, {ProblemKind::kLoadNotWaited}, [&](const Problem& p) -> std::optional<Draft> {
    // Of the warp's own accesses, its paths say this better.
    if (p.other_warp.number == p.warp.number) return std::nullopt;
    const auto* pair = p.if_shown_by<cluster::AccessPair>();
    const cluster::LoadRelease& release = pair != nullptr ? pair->release : p.as<cluster::FreePair>().release;
    const uint32_t conflicting =
        pair != nullptr ? pair->later.site.instruction : p.as<cluster::FreePair>().free.instruction;
    PendingLoad load;
    load.lanes = release.lanes;
    load.used = release.used;
    Draft d = draft(p, level_of(load),
                    "this lets " + warp_text(p.other_warp) +
                        (conflicting == p.at ? "" : " go on to the " + name(context, conflicting) + " of") +
                        " columns that a tcgen05.ld of this warp reads, but the load " + state_of(load) +
                        "; put tcgen05.wait::ld before it");
    d.related.emplace_back(p.other, "the load");
    if (conflicting != p.at) d.related.emplace_back(conflicting, "the conflicting access");
    return d;
  });
}

}  // namespace

extern const Rule kMissingWaitLd;
const Rule kMissingWaitLd = {
    "tmem-missing-wait-ld",
    report::Level::kError,
    "Columns or registers of a tcgen05.ld are given up before tcgen05.wait::ld.",
    "Execute tcgen05.wait::ld in the warp that loads, before it arrives, overwrites or frees the columns.",
    check_missing_wait_ld,
};

}  // namespace tmemlint::rules
