#include "analyzer/cluster/followed_warps.h"

#include <algorithm>

#include "analyzer/assumptions/assumptions.h"
#include "analyzer/ptx/effects.h"

namespace tmemlint::cluster {

namespace {

// Times that the warps are followed again because another one was seen to write something else to shared memory.
constexpr uint32_t kMostExchanges = assumptions::kExchanges;
// Steps that following all warps of a kernel may take.
constexpr uint64_t kMostSteps = assumptions::kStepsOfAllWarps;

const ptx::Effects& effects_of(const CompiledKernel& k, uint32_t instruction) {
  return ptx::effects_of(k.meaning_of(instruction).form);
}

// Whether a warp that frees columns was also seen to leave without having freed what it allocated: on a path that may
// come from putting others together.
bool seems_to_leak(const CompiledKernel& k, const warp::WarpGraph& graph) {
  bool frees = false;
  bool leaves = false;
  for (const warp::Event& e : graph.events) {
    if (e.kind == warp::Event::Kind::kExit) {
      leaves = leaves || graph.holdings_before(e).live_allocations() != 0;
    } else if (e.kind == warp::Event::Kind::kTcgen05) {
      frees = frees || effects_of(k, e.instruction).frees;
    }
  }
  return frees && leaves;
}

warp::Setting setting_for(const CompiledKernel& k, const kernel::Launch& launch, uint32_t rank, uint32_t warp,
                          uint32_t exchange) {
  warp::Setting setting;
  setting.program = k.program.get();
  setting.terms = k.terms.get();
  setting.replays = k.replays.get();
  setting.launch = launch;
  setting.rank = rank;
  setting.warp = warp;
  setting.exchange = exchange;
  return setting;
}

// Follows a warp that seems to leak with its paths kept apart; returns the steps that it took.
uint64_t follow_apart(const CompiledKernel& k, warp::WarpGraph& graph, warp::Setting setting) {
  if (!seems_to_leak(k, graph)) return 0;
  setting.decisions_apart = true;
  warp::Evaluation apart = warp::evaluate(setting);
  const uint64_t steps = apart.graph.steps;
  if (apart.graph.uncertain.size() <= graph.uncertain.size()) graph = std::move(apart.graph);
  return steps;
}

// Follows the warps of one CTA. Each sees what the others were seen to write so far; one that read a place before
// another value was found to be written to it is followed again.
class CtaFollower {
public:
  CtaFollower(const CompiledKernel& kernel, const kernel::Launch& launch, uint32_t rank, uint64_t* spent)
      : kernel_(kernel),
        launch_(launch),
        rank_(rank),
        spent_(*spent),
        evaluations_(launch.warps()),
        due_(launch.warps(), true) {}

  void run(FollowedWarps& out) {
    for (uint32_t exchange = 0; exchange < kMostExchanges; ++exchange) {
      for (uint32_t w = 0; w < evaluations_.size(); ++w) {
        if (due_[w]) follow(w, exchange);
      }
      if (std::find(due_.begin(), due_.end(), true) == due_.end()) break;
    }
    for (uint32_t w = 0; w < evaluations_.size(); ++w) {
      spent_ += follow_apart(kernel_, evaluations_[w].graph, setting_of(w, kMostExchanges));
    }
    note_what_was_left_out();
    for (warp::Evaluation& e : evaluations_) {
      e.graph.writes = std::move(e.writes);
      out.add(std::move(e.graph));
    }
  }

private:
  // A warp that has not seen what others write in the end may have gone by what is not so.
  void note_what_was_left_out() {
    assumptions::Uses& uses = kernel_.terms->uses();
    if (spent_ > kMostSteps) uses.count(assumptions::Id::kStepsOfAllWarps);
    const auto due = std::find(due_.begin(), due_.end(), true);
    if (due == due_.end()) return;
    uses.count(assumptions::Id::kExchanges);
    evaluations_[static_cast<size_t>(due - due_.begin())].graph.uncertain.push_back(
        {kernel_.tcgen05.front(), "what warps tell each other through shared memory still changes after " +
                                      std::to_string(kMostExchanges) + " exchanges"});
  }

  void follow(uint32_t w, uint32_t exchange) {
    due_[w] = false;
    warp::Evaluation next = warp::evaluate(setting_of(w, exchange));
    spent_ += next.graph.steps;
    const std::vector<warp::Extent> changed = next.writes.difference(evaluations_[w].writes);
    evaluations_[w] = std::move(next);
    if (changed.empty()) return;
    for (uint32_t other = 0; other < evaluations_.size(); ++other) {
      if (other != w && !due_[other]) due_[other] = warp::overlap(evaluations_[other].reads, changed);
    }
  }

  warp::Setting setting_of(uint32_t w, uint32_t exchange) const {
    warp::Setting setting = setting_for(kernel_, launch_, rank_, w, exchange);
    setting.step_budget = std::min(setting.step_budget, kMostSteps - std::min(kMostSteps, spent_) + 1);
    for (uint32_t other = 0; other < evaluations_.size(); ++other) {
      if (other != w) setting.others.push_back(&evaluations_[other].writes);
    }
    return setting;
  }

  const CompiledKernel& kernel_;
  const kernel::Launch& launch_;
  const uint32_t rank_;
  uint64_t& spent_;                            // steps, of all CTAs
  std::vector<warp::Evaluation> evaluations_;  // by warp
  std::vector<bool> due_;                      // by warp: it is to be followed (again)
};

// Whether an instruction changes what its warp has allocated or has pending, or ends what it has pending.
bool changes_protocol(const ptx::Effects& e) {
  return e.allocates || e.frees || e.relinquishes || e.is_load() || e.is_store() || e.drains_loads || e.drains_stores;
}

// Whether some loop does: only then does it matter which of its times round it is.
bool has_loop_of_protocol(const CompiledKernel& k) {
  return std::any_of(k.tcgen05.begin(), k.tcgen05.end(), [&](uint32_t i) {
    return changes_protocol(effects_of(k, i)) &&
           std::any_of(k.graph.blocks.begin(), k.graph.blocks.end(),
                       [&](const kernel::Block& b) { return b.loop != ptx::kNone && i >= b.first && i < b.last; });
  });
}

}  // namespace

FollowedWarps follow_warps(const CompiledKernel& kernel, const kernel::Launch& launch) {
  FollowedWarps out;
  uint64_t spent = 0;
  const uint32_t ranks = launch.ctas() > 1 ? assumptions::kCtasFollowed : 1;
  for (uint32_t rank = 0; rank < ranks; ++rank) CtaFollower(kernel, launch, rank, &spent).run(out);
  return out;
}

FollowedWarps follow_closer(const CompiledKernel& kernel, const kernel::Launch& launch, const FollowedWarps& warps,
                            const std::set<size_t>& which, bool* changed) {
  FollowedWarps out = warps;
  *changed = false;
  if (!has_loop_of_protocol(kernel)) return out;
  for (size_t n : which) {
    const warp::WarpGraph& before = warps[n];
    warp::Setting setting = setting_for(kernel, launch, before.rank, before.warp, kMostExchanges + 1);
    setting.by_rounds = true;
    for (const warp::WarpGraph& other : warps) {
      if (other.rank == before.rank && other.warp != before.warp) setting.others.push_back(&other.writes);
    }
    warp::WarpGraph graph = warp::evaluate(setting).graph;
    follow_apart(kernel, graph, setting);
    if (graph.uncertain.size() > before.uncertain.size()) continue;
    graph.writes = before.writes;
    out.replace(n, std::move(graph));
    *changed = true;
  }
  return out;
}

size_t count_unreached_protocol(const CompiledKernel& kernel, const FollowedWarps& warps, size_t first_warps) {
  const program::Program& program = *kernel.program;
  const size_t considered = std::min(first_warps, warps.size());
  size_t count = 0;
  for (size_t s = 0; s < program.steps.size(); ++s) {
    const program::Step& step = program.steps[s];
    if (step.kind != program::Step::Kind::kInstruction) continue;
    if (!program::is_protocol(kernel.meaning_of(step.instruction).action)) continue;
    bool reached = false;
    for (size_t w = 0; w < considered && !reached; ++w) reached = s < warps[w].reached.size() && warps[w].reached[s];
    if (!reached) ++count;
  }
  return count;
}

}  // namespace tmemlint::cluster
