// tmem-missing-wait-ld: a load's columns or registers are given up while the load may still be under way
// (ISA 9.7.16.6.3 and 9.7.16.8.3; the register dependency of a load's results orders nothing else).
#include <bit>
#include <set>

#include "rules/sightings.h"
#include "rules/waits.h"

namespace tmemlint::rules {

namespace {

using report::Level;
using warp::Event;
using warp::PendingLoad;

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
  LoadChecker(Context& context, const warp::WarpGraph& w) : context_(context), warp_(w) {}

  void run() {
    for (const Event& e : warp_.events) {
      const warp::Protocol& before = warp_.protocols[e.before];
      if (before.loads.empty()) continue;
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
        default:
          break;
      }
    }
  }

private:
  void access(const Event& e, const warp::Protocol& before) {
    const ptx::Form& form = context_.form(e);
    switch (form.op) {
      case ptx::Tcgen05::kSt:
      case ptx::Tcgen05::kMma:
      case ptx::Tcgen05::kMmaWs:
      case ptx::Tcgen05::kCp:
      case ptx::Tcgen05::kShift: {
        const Footprint written = footprint(context_, e.address, e.lanes, form);
        for (const PendingLoad& p : before.loads) {
          if (!same_start(e.address, p.address) && !overlap(written, of_load(p))) continue;
          say(e, p,
              std::string(context_.name(e.instruction)) +
                  " overwrites columns that an earlier tcgen05.ld reads, but the load " + state_of(p) +
                  "; put tcgen05.wait::ld between them");
          return;
        }
        return;
      }
      case ptx::Tcgen05::kDealloc: {
        const TmemAddress freed = context_.tmem_address(e.address, e.lanes);
        for (const PendingLoad& p : before.loads) {
          const TmemAddress read = context_.tmem_address(p.address, p.lanes);
          if (!freed.known || !read.known || freed.allocation != read.allocation) continue;
          say(e, p,
              "tcgen05.dealloc frees columns that an earlier tcgen05.ld reads, but the load " + state_of(p) +
                  "; put tcgen05.wait::ld before the dealloc");
          return;
        }
        return;
      }
      case ptx::Tcgen05::kLd:
      case ptx::Tcgen05::kLdRed:
        for (const PendingLoad& pending : before.loads) {
          const PendingLoad p = in_lanes(pending, e.lanes);
          if (p.step != e.step || p.lanes == 0) continue;
          say(e, p,
              "tcgen05.ld writes its registers again while the load of the previous iteration " + state_of(p) +
                  "; put tcgen05.wait::ld into the loop");
        }
        return;
      case ptx::Tcgen05::kWaitLd:
        for (const PendingLoad& p : before.loads) {
          if (p.used == 0) continue;
          Draft d;
          d.level = Level::kNote;
          d.at = context_.instruction_of(p.step);
          d.message = "results of this load are used before the tcgen05.wait::ld that follows";
          d.related.emplace_back(e.instruction, "the wait");
          report(std::move(d), e);
        }
        return;
      default:
        return;
    }
  }

  void overwrite(const Event& e, const warp::Protocol& before) {
    const std::vector<uint32_t>& set = context_.program().load_sets[context_.program().steps[e.step].loads];
    for (const PendingLoad& pending : before.loads) {
      const PendingLoad p = in_lanes(pending, e.lanes);
      if (p.lanes == 0 || !std::binary_search(set.begin(), set.end(), p.load)) continue;
      if (context_.instruction_of(p.step) == e.instruction) continue;  // judged by the load itself
      say(e, p,
          "a register that a tcgen05.ld is to write is overwritten while the load " + state_of(p) +
              "; put tcgen05.wait::ld before this instruction");
      return;
    }
  }

  void leave(const Event& e, const warp::Protocol& before) {
    // One finding for all the loads that a missing wait leaves over: at the first of them.
    const PendingLoad* first = nullptr;
    for (const PendingLoad& p : before.loads) {
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

  Footprint of_load(const PendingLoad& p) const {
    const ptx::Form& form = context_.form(context_.instruction_of(p.step));
    return footprint(context_, p.address, p.lanes, form);
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

  Context& context_;
  const warp::WarpGraph& warp_;
  std::set<uint32_t> left_;
};

void check_missing_wait_ld(Context& context) {
  for (const warp::WarpGraph& w : context.warps()) LoadChecker(context, w).run();
  // What a barrier or an arrive of the warp hands on to others.
  for_each(context, {cluster::Fault::kLoadNotWaited}, [&](const cluster::Sighting& s) -> std::optional<Draft> {
    if (s.other_warp == s.warp && s.other_rank == s.rank) return std::nullopt;
    PendingLoad p;
    p.lanes = s.lanes;
    p.used = s.used;
    Draft d = draft(s, level_of(p),
                    "this lets warp " + std::to_string(s.other_warp) +
                        (s.third == kNone || s.third == s.at ? "" : " go on to the " + name(context, s.third) + " of") +
                        " columns that a tcgen05.ld of this warp reads, but the load " + state_of(p) +
                        "; put tcgen05.wait::ld before it");
    d.related.emplace_back(s.other, "the load");
    if (s.third != kNone && s.third != s.at) d.related.emplace_back(s.third, "the conflicting access");
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
