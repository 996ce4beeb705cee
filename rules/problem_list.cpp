// The problems of a whole run: those of its scenarios, filtered and merged.
#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "analyzer/cluster/analysis.h"
#include "rules/precedence.h"
#include "rules/problems.h"

namespace tmemlint::rules {

namespace {

using cluster::Observed;
using cluster::Scenario;

// What several observations of one thing have in common.
using Key = std::array<uint32_t, 3>;
Key key_of(const Problem& p) {
  // One hand-over without fences says it for all, and so does one mbarrier of those that are initialised together.
  const bool once =
      p.kind == ProblemKind::kNoFences || p.kind == ProblemKind::kInitUnjoined || p.kind == ProblemKind::kInitUnfenced;
  if (once) return {static_cast<uint32_t>(p.kind), 0, 0};
  return {static_cast<uint32_t>(p.kind), p.at, p.other};
}

// Whether an arrival only seems to come before its round, because the run does not know when that round is over.
bool cannot_tell_rounds(const Problem& p) {
  if (p.kind != ProblemKind::kTooManyArrivals) return false;
  const auto& a = p.as<cluster::Arrival>();
  if (a.knows_last_round) return false;
  // How many bytes each copy brings is not known: a round is over here when those of its own CTA are there. One that
  // also waits for what another CTA copies comes after what that CTA had waited for.
  if (a.barrier_rank != a.arrival.warp.rank && a.own_cta_waits_for_copies_from_afar) return true;
  // A barrier that nobody waits on has no rounds.
  return a.arrival.instruction != a.init && !a.barrier_is_waited_for;
}

class Collector {
public:
  Collector(const cluster::Joint& joint, const KernelView& view) : joint_(joint), view_(view) {}

  Problems run() && {
    for (size_t begin = 0; begin < joint_.observed.size();) {
      const uint32_t scenario = joint_.observed[begin].scenario;
      size_t end = begin;
      while (end < joint_.observed.size() && joint_.observed[end].scenario == scenario) ++end;
      add_scenario(scenario, begin, end);
      begin = end;
    }
    add_unwaited_commits();
    add_never_freed();
    add_doubtful();
    drop_consequences(out_.all, view_.mixes_groups);
    return std::move(out_);
  }

private:
  void add_scenario(uint32_t number, size_t begin, size_t end) {
    const Scenario& scenario = joint_.scenarios[number];
    std::vector<Problem> found = problems_in(scenario, begin, end);
    const bool contradicts = scenario.contradictory || std::any_of(found.begin(), found.end(), is_doubtful);
    if (contradicts) contradicting_.insert(number);
    // A CTA that is let do nothing: kernels are launched with no more CTAs than there is work for.
    const bool idle = is_let_idle(scenario);
    for (Problem& p : found) {
      if (is_doubtful(p)) {
        doubtful_.try_emplace(key_of(p), p.at == kNone ? p.other : p.at);
        continue;
      }
      if (idle && !traits_of(p.kind).about_allocation) {
        out_.uses.count(assumptions::Id::kIdleCta);
        continue;
      }
      if (contradicts && p.kind == ProblemKind::kLeftAllocated) continue;
      add(p);
    }
  }

  // What one scenario shows, each thing once in the CTAs of each half of the pairs.
  std::vector<Problem> problems_in(const Scenario& scenario, size_t begin, size_t end) {
    std::vector<Problem> out;
    out.reserve(end - begin);
    cluster::KeySet seen;                          // keys of problems, and the rank's parity
    std::set<std::pair<uint32_t, uint32_t>> grew;  // allocs, and the rank's parity
    for (size_t n = begin; n < end; ++n) {
      const Observed& o = joint_.observed[n];
      Shown& shown = shown_;
      shown.problems.clear();
      shown.open.clear();
      add_problems_of(o, view_, shown);
      out_.asked += shown.open.size();
      for (warp::Uncertain& u : shown.open) ask(std::move(u));
      for (Problem& p : shown.problems) {
        // An alloc that asks for more than several ones before it is one problem.
        if (p.kind == ProblemKind::kAllocGrowing) {
          const cluster::Site& later = p.as<cluster::AllocPair>().later;
          if (!grew.emplace(later.instruction, later.warp.rank & 1).second) continue;
        }
        const Key key = key_of(p);
        if (!seen.add({key[0], key[1], key[2], p.warp.rank & 1})) continue;
        if (cannot_tell_rounds(p)) {
          out_.uses.count(assumptions::Id::kExcusedArrival);
          continue;
        }
        p.decisions = scenario.decisions_before(o);
        out.push_back(p);
      }
    }
    return out;
  }

  void ask(warp::Uncertain question) {
    const bool known = std::any_of(out_.open.begin(), out_.open.end(), [&](const warp::Uncertain& u) {
      return u.instruction == question.instruction && u.reason == question.reason;
    });
    if (!known) out_.open.push_back(std::move(question));
  }

  static bool is_let_idle(const Scenario& scenario) { return scenario.idle && !scenario.usual; }
  static bool is_doubtful(const Problem& p) { return p.shown_by->doubtful && !traits_of(p.kind).of_one_warp; }

  void add(const Problem& p) {
    const auto [known, fresh] = by_key_.try_emplace(key_of(p), out_.all.size());
    if (fresh) {
      out_.all.push_back(p);
      return;
    }
    if (p.kind == ProblemKind::kNoFences) return;
    // The scenario that is the easier to believe.
    Problem& first = out_.all[known->second];
    const bool certain = first.certain || p.certain;
    if (first.zero_trips && !p.zero_trips) first = p;
    first.certain = certain;
  }

  // A commit that nobody ever waits for. One that is waited for speaks for all that its thread issued before it, so
  // that none of the earlier commits is needed: the "stage empty" ones of stages that are filled once. Where a stage is
  // filled again, somebody should have waited.
  void add_unwaited_commits() {
    struct Committed {
      cluster::WarpId warp;        // one that executes it
      std::set<uint32_t> targets;  // shared addresses
      bool is_needed = false;      // at some time no later commit of its thread speaks for it
    };
    std::map<uint32_t, Committed> committed;  // by instruction
    std::set<uint32_t> waited;
    bool stopped = false;
    for (const Scenario& scenario : joint_.scenarios) {
      waited.insert(scenario.waited.begin(), scenario.waited.end());
      stopped = stopped || scenario.stopped;
      if (!scenario.complete) continue;
      std::map<uint32_t, unsigned> arrivals;  // of commits, by shared address
      for (const cluster::CommitIssue& c : scenario.commits) {
        for (uint32_t t : c.targets) ++arrivals[t];
      }
      std::set<std::array<uint32_t, 3>> spoken_for;  // threads with a later commit that is waited for
      for (auto c = scenario.commits.rbegin(); c != scenario.commits.rend(); ++c) {
        const std::array<uint32_t, 3> thread = {c->commit.warp.rank, c->commit.warp.number, c->lane};
        const auto any_target = [&](auto&& holds) { return std::any_of(c->targets.begin(), c->targets.end(), holds); };
        if (c->covers) {
          Committed& all = committed[c->commit.instruction];
          all.warp = c->commit.warp;
          all.targets.insert(c->targets.begin(), c->targets.end());
          const bool again = any_target([&](uint32_t t) { return arrivals[t] > 1; });
          all.is_needed = all.is_needed || again || !spoken_for.contains(thread);
        }
        if (any_target([&](uint32_t t) { return scenario.waited.contains(t); })) spoken_for.insert(thread);
      }
    }
    if (stopped) return;
    for (const auto& [commit, all] : committed) {
      if (!all.is_needed ||
          std::any_of(all.targets.begin(), all.targets.end(), [&](uint32_t t) { return waited.contains(t); }))
        continue;
      Problem p;
      p.kind = ProblemKind::kCommitUnwaited;
      p.at = commit;
      p.warp = all.warp;
      add(p);
    }
  }

  void add_never_freed() {
    std::set<uint32_t> freed;
    std::map<uint32_t, unsigned> left_live;  // allocs: in how many scenarios
    for (uint32_t n = 0; n < joint_.scenarios.size(); ++n) {
      const Scenario& scenario = joint_.scenarios[n];
      freed.insert(scenario.freed.begin(), scenario.freed.end());
      // An alloc that is left live only in an unreliable scenario is no evidence of a leak.
      if (is_let_idle(scenario) || scenario.contradictory || contradicting_.contains(n)) continue;
      for (uint32_t alloc : scenario.left_live) ++left_live[alloc];
    }
    for (const auto& [alloc, scenarios] : left_live) {
      if (freed.contains(alloc)) continue;
      Problem p;
      p.kind = ProblemKind::kNeverFreed;
      p.at = alloc;
      p.scenarios = scenarios;
      add(p);
    }
  }

  // What only doubtful observations show is a question.
  void add_doubtful() {
    for (const auto& [key, at] : doubtful_) {
      if (by_key_.contains(key)) continue;
      ask({at, "what happens here in a scenario rests on guesses of words of memory that may contradict each other"});
    }
  }

  const cluster::Joint& joint_;
  const KernelView& view_;
  Problems out_;
  Shown shown_;                       // of the observation at hand
  std::map<Key, size_t> by_key_;      // in out_.all
  std::map<Key, uint32_t> doubtful_;  // what doubtful observations show: its instruction
  std::set<uint32_t> contradicting_;  // scenarios with guesses that may contradict each other
};

}  // namespace

Problems find_problems(const cluster::Joint& joint, const KernelView& view) {
  return Collector(joint, view).run();
}

KernelView view_of(const cluster::Analysis& analysis) {
  KernelView view;
  const auto form_of = [&analysis](uint32_t instruction) -> const ptx::Form& {
    return analysis.kernel->meaning_of(instruction).form;
  };
  view.is_legal = [&analysis, form_of](const cluster::AllocRequest& r) {
    return ptx::legal_columns(analysis.kernel->module->target, form_of(r.alloc.instruction).exclusive, r.columns);
  };
  bool seen[3] = {};
  for (uint32_t i : analysis.kernel->tcgen05) seen[form_of(i).cta_group % 3] = true;
  view.mixes_groups = seen[1] && seen[2];
  view.threads = analysis.launch.threads();
  return view;
}

Problems find_problems(const cluster::Analysis& analysis) {
  if (analysis.joint == nullptr) return {};
  return find_problems(*analysis.joint, view_of(analysis));
}

}  // namespace tmemlint::rules
