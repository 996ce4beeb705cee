#include "analyzer/cluster/joint.h"

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/assumptions/assumptions.h"
#include "analyzer/cluster/global_words.h"
#include "analyzer/cluster/handles.h"
#include "analyzer/cluster/scenario_run.h"

namespace tmemlint::cluster {

namespace {

// Branches and selections that are decided the other way, one scenario each.
constexpr size_t kMostFlips = assumptions::kFlips;
constexpr size_t kMostAimed = assumptions::kScenariosAimed;
// What a further scenario may cost: so many times what the usual one took, and so many steps more.
constexpr uint64_t kTimesUsual = assumptions::kTimesTheUsualCost;
constexpr uint64_t kMoreThanUsual = assumptions::kStepsBesidesTheUsualCost;
// What all together may cost where the usual one costs much.
constexpr uint64_t kTimesUsualOfAll = assumptions::kTimesTheUsualCostOfAll;
constexpr uint64_t kMostOfAll = assumptions::kMostStepsOfAllScenarios;

// Runs the scenarios of a kernel: the usual one, then those that decide one thing another way.
class Scenarios {
public:
  Scenarios(const KernelFacts& facts, const FollowedWarps& followed, const JointSetting& setting,
            uint32_t first_instruction)
      : facts_(facts),
        followed_(followed),
        setting_(setting),
        first_instruction_(first_instruction),
        uses_(facts.kernel.terms->uses()),
        budget_(setting.step_budget) {}

  Joint run() {
    const ScenarioResult usual = run_one({});
    left_ = usual.other_trips.size() + std::min(usual.choices.size() + usual.selections.size(), kMostFlips) +
            facts_.branches.give_ups().size();
    run_other_trips(usual);
    const Untried untried = run_flips(usual);
    finish_postponed();
    aim_at_unreached();
    run_rounds(usual);
    run_give_ups();
    finish_postponed();
    finish_hangs();
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
      Policy p;
      p.trips = trips;
      uses_.count(assumptions::Id::kOtherRounds);
      p.occasions = occasions->second;
      ScenarioResult result = run_one(p);
      if (trips == 1) after_one = std::move(result.other_trips);
    }
  }

  // Lets the loops that a flipped branch is in run so often that each stage of a ring comes back whose mbarrier it
  // decides the arrivals of.
  void run_rounds_of_ring(Policy& p, uint32_t block) const {
    size_t stages = 0;
    const kernel::Graph& graph = facts_.kernel.graph;
    if (graph.blocks[block].loop == kNone) return;
    const std::array<std::vector<bool>, 2> ahead = facts_.branches.ahead_of(block);
    for (const auto& [instruction, addresses] : out_.footprints.arrivals) {
      for (uint32_t b = 0; b < graph.blocks.size(); ++b) {
        if ((!ahead[0][b] && !ahead[1][b]) || instruction < graph.blocks[b].first ||
            instruction >= graph.blocks[b].last)
          continue;
        std::map<uint32_t, size_t> by_rank;
        for (uint32_t address : addresses) stages = std::max(stages, ++by_rank[rank_of(address)]);
      }
    }
    if (stages + 1 <= p.trips) return;
    uses_.count(assumptions::Id::kRoundsOfARing);
    for (uint32_t loop : facts_.branches.loops_with(block))
      p.least[loop] = std::min<uint32_t>(static_cast<uint32_t>(stages) + 1, assumptions::kRoundsOfARing);
  }

  // The blocks that ask the same as one does: warps that go by the same word.
  static std::set<uint32_t> asking_with(const ScenarioResult& usual, uint32_t block) {
    std::set<uint32_t> out{block};
    for (bool grows = true; grows;) {
      grows = false;
      for (const auto& [second, first] : usual.same_question) {
        if (out.contains(first) || out.contains(second)) {
          const size_t before = out.size();
          out.insert({first, second});
          grows = grows || out.size() != before;
        }
      }
    }
    return out;
  }

  // Branches on words that each round loads: they need not go the same way in all rounds.
  void run_rounds(const ScenarioResult& usual) {
    const BranchFacts& branches = facts_.branches;
    std::set<uint32_t> seen;
    size_t tried = 0;
    for (const uint32_t first : usual.on_data) {
      if (seen.contains(first)) continue;
      Policy p;
      p.flipped = asking_with(usual, first);
      seen.insert(p.flipped.begin(), p.flipped.end());
      unsigned times = 0;
      bool matters = false;
      for (const uint32_t block : p.flipped) {
        const auto choice = usual.choices.find(block);
        if (choice != usual.choices.end()) times += choice->second;
        const std::array<uint32_t, 2> ahead = branches.protocol_ahead(block);
        matters = matters || (ahead[0] != ahead[1] && facts_.kernel.graph.blocks[block].loop != kNone &&
                              !branches.breaks_a_loop(block));
        run_rounds_of_ring(p, block);
      }
      if (times < 2 || !matters) continue;
      if (tried++ == assumptions::kBranchesByRound) {
        uses_.count(assumptions::Id::kBranchesByRound);
        return;
      }
      for (const uint32_t block : p.flipped) {
        for (uint32_t loop : branches.loops_with(block)) {
          uint32_t& rounds = p.least[loop];
          rounds = std::max(rounds, static_cast<uint32_t>(assumptions::kRoundsWithOneOther));
        }
      }
      p.occasions = 1;
      for (const Policy::In in : {Policy::In::kFirstRound, Policy::In::kOddRounds, Policy::In::kLastRound}) {
        p.flipped_in = in;
        run_one(p);
      }
    }
  }

  // Polls that give up, and what comes then.
  void run_give_ups() {
    for (const auto& [block, way] : facts_.branches.give_ups()) {
      Policy p;
      p.gives_up = block;
      p.occasions = 1;
      uses_.count(assumptions::Id::kGivesUp);
      run_one(p);
    }
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
      run_rounds_of_ring(p, block);
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

  // Scenarios that go where no other one came, each to one region: as the scenario that came to the branch before it,
  // but for that branch.
  void aim_at_unreached() {
    if (setting_.usual_only) return;
    const std::vector<bool> can_be_reached = reached_alone();
    find_unreached_for_others(can_be_reached);
    std::set<std::pair<uint32_t, size_t>> tried;
    for (size_t aimed = 0;; ++aimed) {
      out_.unreached = unreached_regions(facts_.kernel, facts_.branches, out_.footprints.coverage, can_be_reached);
      const auto next = std::find_if(out_.unreached.begin(), out_.unreached.end(), [&](const UnreachedRegion& r) {
        return !tried.contains({r.block, r.way});
      });
      if (next == out_.unreached.end() || unfinished_) return;
      if (aimed == kMostAimed) {
        uses_.count(assumptions::Id::kScenariosAimed);
        return;
      }
      tried.insert({next->block, next->way});
      left_ = std::max<size_t>(left_, 1);
      run_one(policy_toward(*next));
    }
  }

  void find_unreached_for_others(std::vector<bool> reached) {
    reached.flip();
    out_.for_others = unreached_regions(facts_.kernel, facts_.branches, out_.footprints.coverage, reached, true);
  }

  // By step, what some warp by itself came to.
  std::vector<bool> reached_alone() const {
    std::vector<bool> out(facts_.kernel.program->steps.size(), false);
    for (const warp::WarpGraph& w : followed_) {
      for (size_t s = 0; s < w.reached.size(); ++s) out[s] = out[s] || w.reached[s];
    }
    return out;
  }

  Policy policy_toward(const UnreachedRegion& region) const {
    const Coverage::Branch& branch = out_.footprints.coverage.branches[region.block];
    Policy p = policies_[branch.scenario];
    p.occasions = Policy{}.occasions;
    p.toward = {region.block, region.way, {}};
    const value::Terms& terms = *facts_.kernel.terms;
    const std::optional<value::Literal> condition = terms.literal_of(branch.condition);
    if (condition && condition->term != 0 && Model(terms).of_parameters(condition->term))
      p.toward->condition = {condition->term, condition->holds(region.way == 0)};
    return p;
  }

  // What the next scenario may cost: it must not use up the budget of all.
  uint64_t budget_of_next(uint64_t rest) const {
    if (usual_cost_ == 0) return rest;
    return std::min(rest, std::max(kTimesUsual * usual_cost_ + kMoreThanUsual, rest / std::max<size_t>(1, left_)));
  }

  ScenarioResult run_one(Policy policy) {
    if (spent_ >= budget_ || (setting_.usual_only && !out_.scenarios.empty())) {
      unfinished_ = true;
      return {};
    }
    if (left_ != 0) --left_;
    for (;;) {
      const uint64_t rest = budget_ - std::min(budget_, spent_) + 1;
      const uint64_t most = budget_of_next(rest);
      policy.room = room_;
      const Coverage before = out_.footprints.coverage;
      out_.footprints.coverage.scenario = static_cast<uint32_t>(policies_.size());
      auto scenario =
          std::make_unique<ScenarioUnderWay>(facts_, policy, setting_.log && out_.scenarios.empty(), out_.footprints);
      scenario->go_on(most);
      const uint64_t cost = scenario->state().cost();
      spent_ += cost;
      if (const auto& overrun = scenario->state().decisions.overrun; overrun && leaves_less_room(*overrun)) {
        out_.footprints.coverage = before;
        out_.steps += scenario->state().steps;
        continue;
      }
      policies_.push_back(policy);
      if (usual_cost_ == 0) set_usual_cost(cost, scenario->over_budget());
      if (scenario->over_budget() && most == rest) unfinished_ = true;
      if (!scenario->over_budget() || most == rest) return take_in(scenario->finish(), policy);
      ScenarioResult so_far;
      so_far.other_trips = scenario->state().decisions.other_trips;
      postponed_.emplace_back(policy, std::move(scenario));
      uses_.count(assumptions::Id::kStepsBesidesTheUsualCost);
      return so_far;
    }
  }

  // Notes how many rounds of a loop a kernel proves to have room for. What a scenario showed with more of them does not
  // count: it is run again. False where that helps nothing.
  bool leaves_less_room(const Overrun& overrun) {
    const auto [room, fresh] = room_.try_emplace(overrun.loop, overrun.rounds);
    if (!fresh && room->second <= overrun.rounds) return false;
    room->second = overrun.rounds;
    return true;
  }

  // A kernel of which one scenario costs much gets more for all of them.
  void set_usual_cost(uint64_t cost, bool over_budget) {
    usual_cost_ = cost;
    if (!over_budget) budget_ = std::max(budget_, std::min(kTimesUsualOfAll * cost, kMostOfAll));
  }

  // Scenarios that took more than their share go on when all others have had theirs.
  void finish_postponed() {
    for (auto& [policy, scenario] : postponed_) {
      const uint64_t before = scenario->state().cost();
      if (spent_ < budget_) scenario->go_on(before + budget_ - spent_);
      spent_ += scenario->state().cost() - before;
      if (scenario->over_budget()) ++cut_short_;
      take_in(scenario->finish(), policy);
    }
    postponed_.clear();
  }

  ScenarioResult take_in(ScenarioResult result, const Policy& policy) {
    note_zero_trips(result);
    if (result.overrun) {
      note(result.overrun->instruction,
           "a scenario is not followed here, in which a loop goes round more often than shared memory has room for");
    }
    out_.short_of_warps = out_.short_of_warps || result.short_of_warps;
    if (out_.scenarios.empty()) out_.log = std::move(result.lines);
    out_.steps += result.steps;
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
    taken_in_.push_back(policy);
    return result;
  }

  // Where a scenario lets a loop run no time that the usual one lets run.
  void note_zero_trips(ScenarioResult& result) {
    if (out_.scenarios.empty()) {
      for (const DecisionState::Way& w : result.skips) usual_skips_.emplace(w.block, w.way);
      return;
    }
    for (const DecisionState::Way& w : result.skips) {
      if (!usual_skips_.contains({w.block, w.way}))
        result.scenario.zero_trips_from = std::min(result.scenario.zero_trips_from, w.decided);
    }
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
    unsigned reliability = (o.doubtful ? 1u : 0u) | (scenario.gives_up ? 64u : 0u) | (scenario.idle ? 2u : 0u) |
                           (scenario.contradictory ? 4u : 0u) | (o.decided >= scenario.zero_trips_from ? 32u : 0u);
    if (const auto* arrival = std::get_if<Arrival>(&o.what)) {
      reliability |=
          (arrival->barrier_is_waited_for ? 8u : 0u) | (arrival->own_cta_waits_for_copies_from_afar ? 16u : 0u);
    }
    key[0] |= reliability << 8;
    return observed_.add(key);
  }

  // Instructions that arrive on an mbarrier in some scenario.
  std::vector<uint32_t> arriving_on(uint32_t address) const {
    std::vector<uint32_t> out;
    for (const auto& [instruction, addresses] : out_.footprints.arrivals) {
      if (addresses.contains(address)) out.push_back(instruction);
    }
    return out;
  }

  // Whether each instruction that can arrive on an mbarrier did so somewhere: what none of them arrives on gets no
  // arrival at all then.
  bool all_arrived_somewhere() const {
    return std::all_of(facts_.arriving.begin(), facts_.arriving.end(),
                       [&](uint32_t i) { return out_.footprints.arrivals.contains(i); });
  }

  // Whether a branch decides if some of these instructions is executed. Not one that only decides how often a loop
  // runs.
  bool decides(uint32_t block, const std::vector<uint32_t>& instructions) const {
    const BranchFacts& branches = facts_.branches;
    const kernel::Graph& graph = facts_.kernel.graph;
    const std::array<std::vector<bool>, 2> ahead = branches.ahead_of(block);
    const bool any = std::any_of(instructions.begin(), instructions.end(), [&](uint32_t i) {
      for (uint32_t b = 0; b < graph.blocks.size(); ++b) {
        if ((ahead[0][b] || ahead[1][b]) && i >= graph.blocks[b].first && i < graph.blocks[b].last) return true;
      }
      return false;
    });
    return any && !branches.breaks_a_loop(block) && !branches.guards_a_loop(block);
  }

  // Whether a branch that the policy decides another way decides if some of these arrivals on an mbarrier come.
  void note_what_decides(uint32_t scenario, const std::vector<uint32_t>& arriving, Hang& hang,
                         LackingBarrier& b) const {
    for (const uint32_t block : taken_in_[scenario].flipped) {
      if (!decides(block, arriving)) continue;
      b.flip_decides = true;
      hang.flipped = facts_.kernel.graph.blocks[block].ender;
      for (const Decision& d : out_.scenarios[scenario].decisions) {
        if (d.instruction == hang.flipped) hang.flipped_taken = d.taken;
      }
      return;
    }
  }

  // Adds to each hang what only all scenarios together show, and lets it name the mbarrier that says the most then.
  void finish_hangs() {
    const bool all_arrived = all_arrived_somewhere();
    for (Observed& o : out_.observed) {
      auto* hang = std::get_if<Hang>(&o.what);
      if (hang == nullptr) continue;
      hang->zero_trips = out_.scenarios[o.scenario].zero_trips_from != kNone;
      for (LackingBarrier& b : hang->lacking) {
        const std::vector<uint32_t> arriving = arriving_on(b.address);
        b.never_arrives = all_arrived && arriving.empty() && b.arrivals == 0;
        if (!b.all_arrived) note_what_decides(o.scenario, arriving, *hang, b);
        if (!b.never_arrives && !b.flip_decides) continue;
        static_cast<LackingBarrier&>(*hang) = b;
        break;
      }
    }
  }

  void note_what_was_left_out(const ScenarioResult& usual, const Untried& untried) {
    std::vector<std::string> reasons;
    if (unfinished_) uses_.count(assumptions::Id::kStepsOfAllScenarios);
    if (unfinished_) reasons.push_back("the budget of " + std::to_string(budget_) + " steps was used up");
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
  const FollowedWarps& followed_;
  const JointSetting setting_;
  const uint32_t first_instruction_;  // of those of tcgen05
  assumptions::Uses& uses_;
  Joint out_;
  std::vector<Policy> policies_;       // by scenario, in the order in which they began
  std::vector<Policy> taken_in_;       // those of Joint::scenarios
  std::map<uint32_t, uint32_t> room_;  // rounds of loops that count through arrays: Policy::room
  bool unfinished_ = false;            // the budget ended before the scenarios did
  size_t left_ = 0;                    // scenarios to come
  unsigned cut_short_ = 0;             // scenarios that took more than their share
  uint64_t budget_;                    // of all scenarios
  uint64_t spent_ = 0;                 // of it
  std::vector<std::pair<Policy, std::unique_ptr<ScenarioUnderWay>>> postponed_;
  KeySet observed_;
  std::set<std::pair<uint32_t, uint8_t>> usual_skips_;  // ways by which the usual scenario lets loops run no time
  uint64_t usual_cost_ = 0;                             // of the budget, by the usual scenario
};

}  // namespace

Joint run_jointly(const CompiledKernel& kernel, const kernel::Launch& launch, const FollowedWarps& followed,
                  const JointSetting& setting) {
  const KernelFacts facts(kernel, launch);
  const uint32_t first = kernel.tcgen05.empty() ? kNone : kernel.tcgen05.front();
  if (launch.ctas() > kMaxRanks && facts.uses_cluster) {
    kernel.terms->uses().count(assumptions::Id::kCtasSteppedTogether);
    Joint out;
    out.uncertain.push_back(
        {first, "clusters of more than " + std::to_string(kMaxRanks) + " CTAs are not stepped together"});
    return out;
  }
  return Scenarios(facts, followed, setting, first).run();
}

}  // namespace tmemlint::cluster
