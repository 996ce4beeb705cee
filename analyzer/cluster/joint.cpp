#include "analyzer/cluster/joint.h"

#include <algorithm>
#include <map>
#include <string>

#include "analyzer/assumptions/assumptions.h"
#include "analyzer/cluster/global_words.h"
#include "analyzer/cluster/scenario_run.h"

namespace tmemlint::cluster {

namespace {

// Branches and selections that are decided the other way, one scenario each.
constexpr size_t kMostFlips = assumptions::kFlips;
// What a further scenario may cost: so many times what the usual one took, and so many steps more.
constexpr uint64_t kTimesUsual = assumptions::kTimesTheUsualCost;
constexpr uint64_t kMoreThanUsual = assumptions::kStepsBesidesTheUsualCost;

// Runs the scenarios of a kernel: the usual one, then those that decide one thing another way.
class Scenarios {
public:
  Scenarios(const KernelFacts& facts, const JointSetting& setting, uint32_t first_instruction)
      : facts_(facts), setting_(setting), first_instruction_(first_instruction), uses_(facts.kernel.terms->uses()) {}

  Joint run() {
    const ScenarioResult usual = run_one({});
    left_ = usual.chosen_loops.size() + usual.other_trips.size() +
            std::min(usual.choices.size() + usual.selections.size(), kMostFlips);
    run_endless(usual);
    run_other_trips(usual);
    const Untried untried = run_flips(usual);
    note_what_was_left_out(usual, untried);
    return std::move(out_);
  }

private:
  // Scenarios with other numbers of rounds. One that would decide nothing another way is left out.
  void run_other_trips(const ScenarioResult& usual) {
    std::map<uint32_t, unsigned> after_one = usual.other_trips;
    for (uint32_t trips : kOtherTrips) {
      const auto occasions = usual.other_trips.find(trips);
      if (occasions == usual.other_trips.end() || (trips == 0 && !after_one.contains(0))) continue;
      // Where the state of all warps comes back, every number of rounds was seen.
      if (trips > Policy{}.trips && covers_all_rounds()) continue;
      Policy p;
      p.trips = trips;
      uses_.count(assumptions::Id::kOtherRounds);
      p.occasions = occasions->second;
      ScenarioResult result = run_one(p);
      if (trips == 1) after_one = std::move(result.other_trips);
    }
  }

  // Lets loops go round until the state of all warps comes back: those together whose ends the same unknowns decide. A
  // loop that another one is part of ends before: it goes round as often as usual while the outer one is looked at.
  void run_endless(const ScenarioResult& usual) {
    for (const auto& [loop, chosen] : usual.chosen_loops) out_.loops[loop].rounds = chosen.rounds;
    std::set<uint32_t> left;
    for (const auto& [loop, chosen] : usual.chosen_loops) left.insert(loop);
    while (!left.empty()) {
      Policy p;
      p.endless = together(usual, left);
      const ScenarioResult result = run_one(p);
      for (uint32_t loop : result.covered) {
        out_.loops[loop].returns_after = result.returned_after;
        left.erase(loop);
      }
      if (!result.covered.empty()) continue;
      for (uint32_t loop : p.endless) left.erase(loop);
    }
  }

  bool covers_all_rounds() const {
    return std::all_of(out_.loops.begin(), out_.loops.end(), [](const auto& l) { return l.second.returns_after != 0; });
  }

  // The first one of some loops, and those of them that end by unknowns that it ends by too.
  static std::set<uint32_t> together(const ScenarioResult& usual, const std::set<uint32_t>& loops) {
    const std::set<uint32_t>& unknowns = usual.chosen_loops.at(*loops.begin()).unknowns;
    std::set<uint32_t> out;
    for (uint32_t loop : loops) {
      const std::set<uint32_t>& others = usual.chosen_loops.at(loop).unknowns;
      const bool shared = std::any_of(others.begin(), others.end(), [&](uint32_t u) { return unknowns.contains(u); });
      if (shared || loop == *loops.begin()) out.insert(loop);
    }
    return out;
  }

  // What was not tried the other way.
  struct Untried {
    size_t branches = 0, selections = 0;
  };
  Untried run_flips(const ScenarioResult& usual) {
    size_t flips = 0;
    Untried untried{usual.choices.size(), usual.selections.size()};
    for (const auto& [block, occasions] : usual.choices) {
      if (flips == kMostFlips) break;
      Policy p;
      p.flipped = {block};
      p.occasions = occasions;
      --untried.branches;
      if (!run_one(p).nothing_new) ++flips;
    }
    for (const auto& [term, holds] : usual.selections) {
      if (flips == kMostFlips) break;
      Policy p;
      p.selection = {term, !holds};
      --untried.selections;
      p.occasions = 1;
      if (!run_one(p).nothing_new) ++flips;
    }
    return untried;
  }

  // What the next scenario may cost: it must not use up the budget of all.
  uint64_t budget_of_next(uint64_t rest) const {
    if (usual_cost_ == 0) return rest;
    return std::min(rest, std::max(kTimesUsual * usual_cost_ + kMoreThanUsual, rest / std::max<size_t>(1, left_)));
  }

  ScenarioResult run_one(const Policy& policy) {
    if (spent_ >= setting_.step_budget || (setting_.usual_only && !out_.scenarios.empty())) {
      unfinished_ = true;
      return {};
    }
    const uint64_t rest = setting_.step_budget - spent_ + 1;
    const uint64_t most = budget_of_next(rest);
    if (left_ != 0) --left_;
    ScenarioResult result =
        run_scenario(facts_, {policy, setting_.log && out_.scenarios.empty(), most}, out_.footprints);
    if (out_.scenarios.empty()) {
      out_.short_of_warps = result.short_of_warps;
      out_.log = std::move(result.lines);
    }
    for (const auto& [loop, chosen] : result.chosen_loops) {
      LoopCoverage& loop_coverage = out_.loops[loop];
      loop_coverage.rounds = std::max(loop_coverage.rounds, chosen.rounds);
    }
    out_.steps += result.steps;
    spent_ += result.cost;
    if (usual_cost_ == 0) usual_cost_ = result.cost;
    if (result.over_budget && most == rest) unfinished_ = true;
    // That a loop was not followed until the state came back is said by how many rounds were tried.
    if (result.over_budget && most != rest && policy.endless.empty()) {
      ++cut_short_;
      uses_.count(assumptions::Id::kStepsBesidesTheUsualCost);
    }
    out_.asked += result.asked + result.uncertain.size();
    out_.decided += result.decided;
    for (warp::Uncertain& u : result.uncertain) note(u.instruction, std::move(u.reason));
    const auto number = static_cast<uint32_t>(out_.scenarios.size());
    for (size_t n = 0; n < result.observed.size(); ++n) {
      Observed& o = result.observed[n];
      if (!is_new(o, result.keys[n], result.scenario)) continue;
      o.scenario = number;
      out_.observed.push_back(std::move(o));
    }
    out_.scenarios.push_back(std::move(result.scenario));
    return result;
  }

  // Whether no earlier scenario that is as reliable has observed the same. `key`: of the observation.
  bool is_new(const Observed& o, ObservationKey key, const Scenario& scenario) {
    // Of a hang no fields are told apart. And of an access beside an operation that may be in flight, what a scenario
    // shows first says how certain it is: it must not be missing in a later one.
    if (std::holds_alternative<Hang>(o.what)) return true;
    const auto* pair = std::get_if<AccessPair>(&o.what);
    if (pair != nullptr && (pair->earlier.by_commit() || pair->later.by_commit()) && !pair->order.complete) return true;
    const auto* free = std::get_if<FreePair>(&o.what);
    if (free != nullptr && free->access.by_commit()) return true;
    unsigned reliability = (o.doubtful ? 1u : 0u) | (scenario.idle ? 2u : 0u) | (scenario.contradictory ? 4u : 0u);
    if (const auto* arrival = std::get_if<Arrival>(&o.what)) {
      reliability |=
          (arrival->barrier_is_waited_for ? 8u : 0u) | (arrival->own_cta_waits_for_copies_from_afar ? 16u : 0u);
    }
    key[0] |= reliability << 8;
    return observed_.add(key);
  }

  void note_what_was_left_out(const ScenarioResult& usual, const Untried& untried) {
    std::vector<std::string> reasons;
    if (unfinished_) uses_.count(assumptions::Id::kStepsOfAllScenarios);
    if (unfinished_) reasons.push_back("the budget of " + std::to_string(setting_.step_budget) + " steps was used up");
    if (cut_short_ != 0 && !unfinished_) {
      reasons.push_back(std::to_string(cut_short_) + (cut_short_ == 1 ? " of them was" : " of them were") +
                        " cut short for the others");
    }
    uses_.count(assumptions::Id::kFlips, untried.branches + untried.selections);
    if (untried.branches != 0) {
      reasons.push_back("of " + std::to_string(usual.choices.size()) + " unknown conditions " +
                        std::to_string(untried.branches) + " were taken one way");
    }
    if (untried.selections != 0) {
      reasons.push_back("of " + std::to_string(usual.selections.size()) + " unknown conditions that select a number " +
                        std::to_string(untried.selections) + " were taken one way");
    }
    if (reasons.empty()) return;
    std::string reason = "warps were stepped together in " + std::to_string(out_.scenarios.size()) +
                         (out_.scenarios.size() == 1 ? " scenario" : " scenarios") + " only: ";
    for (size_t n = 0; n < reasons.size(); ++n) reason += (n == 0 ? "" : ", and ") + reasons[n];
    note(first_instruction_, std::move(reason));
  }

  void note(uint32_t instruction, std::string reason) { add_once(out_.uncertain, {instruction, std::move(reason)}); }

  const KernelFacts& facts_;
  const JointSetting setting_;
  const uint32_t first_instruction_;  // of those of tcgen05
  assumptions::Uses& uses_;
  Joint out_;
  bool unfinished_ = false;  // the budget ended before the scenarios did
  size_t left_ = 0;          // scenarios to come
  unsigned cut_short_ = 0;   // scenarios that took more than their share
  uint64_t spent_ = 0;       // of the budget
  KeySet observed_;
  uint64_t usual_cost_ = 0;  // of the budget, by the usual scenario
};

}  // namespace

Joint run_jointly(const CompiledKernel& kernel, const kernel::Launch& launch, const JointSetting& setting) {
  const KernelFacts facts(kernel, launch);
  const uint32_t first = kernel.tcgen05.empty() ? kNone : kernel.tcgen05.front();
  if (launch.ctas() > kMaxRanks && facts.uses_cluster) {
    kernel.terms->uses().count(assumptions::Id::kCtasSteppedTogether);
    Joint out;
    out.uncertain.push_back(
        {first, "clusters of more than " + std::to_string(kMaxRanks) + " CTAs are not stepped together"});
    return out;
  }
  return Scenarios(facts, setting, first).run();
}

}  // namespace tmemlint::cluster
