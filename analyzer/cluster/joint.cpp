#include "analyzer/cluster/joint.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "analyzer/cluster/run.h"

namespace tmemlint::cluster {

namespace {

// Branches that are decided the other way, one scenario each.
constexpr size_t kMaxFlips = 16;

class Driver {
public:
  Driver(const Analysis& analysis, const JointSetting& setting) : setting_(setting), ground_(analysis) {}

  Joint run() {
    const Outcome first = scenario({});
    left_ = first.other_trips.size() + std::min(first.choices.size() + first.selections.size(), kMaxFlips);
    // A policy that would not have gone another way anywhere is the same scenario again.
    std::map<uint32_t, unsigned> after_one = first.other_trips;
    for (uint32_t trips : kOtherTrips) {
      const auto occasions = first.other_trips.find(trips);
      if (occasions == first.other_trips.end() || (trips == 0 && !after_one.contains(0))) continue;
      Policy p;
      p.trips = trips;
      p.occasions = occasions->second;
      const Outcome outcome = scenario(p);
      if (trips == 1) after_one = outcome.other_trips;
    }
    size_t flips = 0;
    size_t untried = first.choices.size();
    for (const auto& [block, occasions] : first.choices) {
      if (flips == kMaxFlips) break;
      Policy p;
      p.flipped = {block};
      p.occasions = occasions;
      --untried;
      if (!scenario(p).nothing_new) ++flips;
    }
    for (const auto& [term, holds] : first.selections) {
      if (flips == kMaxFlips) break;
      Policy p;
      p.wish = {term, !holds};
      p.occasions = 1;
      if (!scenario(p).nothing_new) ++flips;
    }
    // A commit that nobody ever waits for.
    for (const auto& [commit, all] : committed_) {
      if (stopped_ || !all.untold ||
          std::any_of(all.targets.begin(), all.targets.end(), [&](uint32_t t) { return waited_.contains(t); }))
        continue;
      Sighting s;
      s.fault = Fault::kCommitUnwaited;
      s.at = commit;
      s.warp = all.warp;
      add(std::move(s));
    }
    for (const auto& [alloc, scenarios] : left_live_) {
      if (freed_.contains(alloc)) continue;
      Sighting s;
      s.fault = Fault::kNeverFreed;
      s.at = alloc;
      s.first = scenarios;
      add(std::move(s));
    }
    std::vector<std::string> reasons;
    if (unfinished_) reasons.push_back("the budget of " + std::to_string(setting_.step_budget) + " steps was used up");
    if (cut_short_ != 0 && !unfinished_) {
      reasons.push_back(std::to_string(cut_short_) + (cut_short_ == 1 ? " of them was" : " of them were") +
                        " cut short for the others");
    }
    if (untried != 0) {
      reasons.push_back("of " + std::to_string(first.choices.size()) + " unknown conditions " +
                        std::to_string(untried) + " were taken one way");
    }
    if (!reasons.empty()) {
      std::string reason = "warps were stepped together in " + std::to_string(out_.scenarios) +
                           (out_.scenarios == 1 ? " scenario" : " scenarios") + " only: ";
      for (size_t n = 0; n < reasons.size(); ++n) reason += (n == 0 ? "" : ", and ") + reasons[n];
      note(ground_.analysis->tcgen05.front(), std::move(reason));
    }
    for (const auto& [key, at] : doubtful_) {
      if (!sighting_.contains(key))
        note(at, "what happens here in a scenario rests on guesses of words of memory that may contradict each other");
    }
    one_finding_each();
    return std::move(out_);
  }

private:
  struct Outcome {
    std::map<uint32_t, unsigned> choices;
    std::map<uint32_t, unsigned> other_trips;
    std::map<uint32_t, bool> selections;
    bool nothing_new = false;
  };

  Outcome scenario(const Policy& policy) {
    if (spent_ >= setting_.step_budget || (setting_.usual_only && out_.scenarios != 0)) {
      unfinished_ = true;
      return {};
    }
    // One scenario among others must not use up what is for all of them.
    const uint64_t rest = setting_.step_budget - spent_ + 1;
    uint64_t most = rest;
    if (usual_ != 0) most = std::min(rest, std::max(4 * usual_ + 4000, rest / std::max<size_t>(1, left_)));
    if (left_ != 0) --left_;
    Run run(ground_, policy, setting_.log && out_.scenarios == 0, most, out_);
    run.go();
    if (out_.scenarios == 0) out_.short_of_warps = run.short_of_warps;
    ++out_.scenarios;
    out_.steps += run.steps;
    spent_ += run.cost();
    if (usual_ == 0) usual_ = run.cost();
    if (run.over_budget && most == rest) unfinished_ = true;
    if (run.over_budget && most != rest) ++cut_short_;
    out_.asked += run.asked;
    out_.decided += run.decided;
    if (setting_.log && !run.log.empty()) out_.log = std::move(run.log);
    // A CTA that is let do nothing: kernels are launched with no more CTAs than there is work for.
    const bool idle = run.idle() && (!policy.flipped.empty() || policy.wish || policy.trips != Policy{}.trips);
    const bool contradicts = !run.doubtful.empty() || run.guesses_contradict();
    const auto decisions = std::make_shared<const std::vector<Decision>>(std::move(run.decisions));
    for (Sighting& s : run.sightings) {
      // What is allocated and freed matters to others whatever the CTA did with it.
      if (s.fault == Fault::kLeak && contradicts) continue;
      if (idle && s.fault != Fault::kLeak && s.fault != Fault::kDeallocSize && s.fault != Fault::kGrowing &&
          s.fault != Fault::kAllocSize)
        continue;
      s.scenario = decisions;
      add(std::move(s));
    }
    for (const Sighting& s : run.doubtful) doubtful_.try_emplace(key_of(s), s.at == kNone ? s.other : s.at);
    for (const warp::Uncertain& u : run.uncertain) {
      note(u.instruction, u.reason);
      ++out_.asked;
    }
    freed_.insert(run.allocs_freed.begin(), run.allocs_freed.end());
    // What is never known to be so in a scenario that is not to be believed is not known to be so.
    for (uint32_t alloc : run.allocs_left) {
      if (!idle && !contradicts) ++left_live_[alloc];
    }
    stopped_ = stopped_ || (!run.complete && !run.nothing_new && !run.excused);
    if (run.complete) note_commits(run);
    waited_.insert(run.waited.begin(), run.waited.end());
    odd_.insert(run.odd_allocs.begin(), run.odd_allocs.end());
    return {std::move(run.choices), std::move(run.other_trips), std::move(run.selections), run.nothing_new};
  }

  // A commit that is waited for tells of all that its thread issued before it, and needs none of the earlier commits:
  // the "stage empty" ones of stages that are filled once. Where a stage is filled again, somebody should have waited.
  void note_commits(const Run& run) {
    std::map<uint32_t, unsigned> times;  // that a commit arrives, by shared address
    for (const Run::Commit& c : run.commits) {
      for (uint32_t t : c.targets) ++times[t];
    }
    std::set<std::pair<uint32_t, uint32_t>> told;  // threads, as warp and lane, with a later one that is waited for
    for (size_t n = run.commits.size(); n-- > 0;) {
      const Run::Commit& c = run.commits[n];
      if (c.covers) {
        Committed& all = committed_[c.instruction];
        all.warp = run.number_of(c.warp);
        all.targets.insert(c.targets.begin(), c.targets.end());
        const bool again = std::any_of(c.targets.begin(), c.targets.end(), [&](uint32_t t) { return times[t] > 1; });
        all.untold = all.untold || again || !told.contains({c.warp, c.lane});
      }
      if (std::any_of(c.targets.begin(), c.targets.end(), [&](uint32_t t) { return run.waited.contains(t); }))
        told.insert({c.warp, c.lane});
    }
  }

  static std::array<uint32_t, 3> key_of(const Sighting& s) {
    // One hand-over without fences says it for all.
    if (s.fault == Fault::kNoFence) return {static_cast<uint32_t>(s.fault), 0, 0};
    return {static_cast<uint32_t>(s.fault), s.at, s.other};
  }

  void add(Sighting s) {
    const auto [known, fresh] = sighting_.try_emplace(key_of(s), out_.sightings.size());
    if (fresh) {
      out_.sightings.push_back(std::move(s));
      return;
    }
    if (s.fault == Fault::kNoFence) return;
    // The scenario that is the easier to believe.
    Sighting& other = out_.sightings[known->second];
    const bool sure = other.sure || s.sure;
    if (other.zero_trips && !s.zero_trips) other = std::move(s);
    other.sure = sure;
  }

  // What follows from another sighting is not one more defect.
  void one_finding_each() {
    std::vector<Sighting>& all = out_.sightings;
    std::set<uint32_t> miscounted;  // inits of mbarriers that too many arrive on
    std::set<uint32_t> doubled;     // operations that both CTAs of a pair issue
    std::set<uint32_t> foreign;     // allocs that another warp frees
    std::set<uint32_t> shared;      // allocs and deallocs that several warps execute
    std::set<std::pair<uint32_t, uint32_t>> incomplete;
    for (const Sighting& s : all) {
      if (s.fault == Fault::kArrivalCount) miscounted.insert(s.other);
      if (s.fault == Fault::kPairLeader) doubled.insert(s.at);
      if (s.fault == Fault::kSharedAlloc) shared.insert(s.at);
      if (s.fault == Fault::kForeignDealloc) foreign.insert(s.other);
      if (s.fault == Fault::kNotComplete && s.sure) incomplete.insert({s.at, s.other});
    }
    const bool mixed = mixes_groups();
    std::erase_if(all, [&](const Sighting& s) {
      if (s.fault == Fault::kStuck && miscounted.contains(s.at)) return true;
      if (s.fault == Fault::kLeak && (!foreign.contains(s.at) || shared.contains(s.at)))
        return true;                                                          // each warp is followed by itself
      if (s.fault == Fault::kFreeRace && shared.contains(s.at)) return true;  // one of them comes too early
      if (mixed && is_about_pairs(s.fault)) return true;
      if (odd_.contains(s.other) && (s.fault == Fault::kOutOfBounds || s.fault == Fault::kDeallocSize)) return true;
      if (s.fault == Fault::kHandoff && (incomplete.contains({s.other, s.at}) || incomplete.contains({s.at, s.other})))
        return true;
      return s.fault != Fault::kPairLeader && (doubled.contains(s.at) || doubled.contains(s.other));
    });
  }

  // One .cta_group for all of a kernel: where that is broken, nothing about pairs means anything.
  bool mixes_groups() const {
    bool seen[3] = {};
    const Analysis& a = *ground_.analysis;
    for (uint32_t i : a.tcgen05) seen[a.program->meanings[a.module->instructions[i].opcode].form.cta_group % 3] = true;
    return seen[1] && seen[2];
  }

  static bool is_about_pairs(Fault fault) {
    switch (fault) {
      case Fault::kPairFree:
      case Fault::kPairFreeLoads:
      case Fault::kPairFreeOrder:
      case Fault::kPairStart:
      case Fault::kPairLeader:
      case Fault::kPairMask:
      case Fault::kClusterExit:
        return true;
      default:
        return false;
    }
  }

  void note(uint32_t instruction, std::string reason) {
    for (const warp::Uncertain& u : out_.uncertain) {
      if (u.instruction == instruction && u.reason == reason) return;
    }
    out_.uncertain.push_back({instruction, std::move(reason)});
  }

  const JointSetting setting_;
  const Ground ground_;
  Joint out_;
  std::map<std::array<uint32_t, 3>, size_t> sighting_;    // by fault, at and other: index into out_.sightings
  std::map<std::array<uint32_t, 3>, uint32_t> doubtful_;  // what only a doubtful scenario shows: its instruction
  struct Committed {
    uint32_t warp = 0;           // of its CTA: one that executes it
    std::set<uint32_t> targets;  // shared addresses
    bool untold = false;         // at some time no later commit of its thread speaks for it
  };
  std::map<uint32_t, Committed> committed_;  // by instruction
  std::set<uint32_t> waited_;
  std::set<uint32_t> freed_;               // allocs that some scenario frees
  std::map<uint32_t, int64_t> left_live_;  // and those that some leave live: how many do
  std::set<uint32_t> odd_;                 // allocs whose size is not a legal one
  bool stopped_ = false;
  bool unfinished_ = false;  // the budget ended before the scenarios did
  size_t left_ = 0;          // scenarios to come
  unsigned cut_short_ = 0;   // scenarios that took more than their share
  uint64_t spent_ = 0;       // of the budget
  uint64_t usual_ = 0;       // of the budget, by the first scenario
};

}  // namespace

Joint run_jointly(const Analysis& analysis, const JointSetting& setting) {
  if (analysis.launch.ctas() > kMaxRanks && Ground(analysis).uses_cluster) {
    Joint out;
    out.uncertain.push_back({analysis.tcgen05.empty() ? kNone : analysis.tcgen05.front(),
                             "clusters of more than " + std::to_string(kMaxRanks) + " CTAs are not stepped together"});
    return out;
  }
  return Driver(analysis, setting).run();
}

}  // namespace tmemlint::cluster
