#include "analyzer/cluster/scenario_run.h"

#include <algorithm>

#include "analyzer/assumptions/assumptions.h"
#include "analyzer/cluster/decisions.h"
#include "analyzer/cluster/ending.h"
#include "analyzer/cluster/scheduler.h"

namespace tmemlint::cluster {

namespace {

WarpState first_state(const Scene& scene, const WarpId& id, size_t warps, warp::Machine& machine) {
  WarpState w;
  w.id = id;
  w.index = id.rank * scene.warps_per_cta + id.number;
  w.knowledge = WarpKnowledge(w.index, warps);
  w.rounds.assign(scene.kernel.graph.loops.size(), 0);
  w.loads = PendingLoads(scene.program.loads.size());
  w.step = scene.program.code[0].first;
  std::swap(w.registers, machine.registers);
  std::swap(w.memory, machine.memory);
  if (machine.existing() == 0) {
    w.over = true;
    return w;
  }
  LaneGroup all;
  all.at = {0, machine.existing(), false};
  all.in_machine = true;
  w.groups.push_back(std::move(all));
  return w;
}

void make_machines(Scene& scene) {
  const kernel::Launch& launch = scene.launch;
  scene.warps_per_cta = launch.warps();
  // CTAs that never reach each other all do the same: one stands for all.
  scene.ranks = scene.facts.uses_cluster ? std::max(1u, launch.ctas()) : 1;
  for (uint32_t rank = 0; rank < scene.ranks; ++rank) {
    for (uint32_t number = 0; number < scene.warps_per_cta; ++number) {
      scene.machines.push_back(std::make_unique<warp::Machine>(scene.program, scene.terms, launch, rank, number,
                                                               std::vector<const warp::SharedWrites*>{}));
      scene.machines.back()->facts.unlimited = true;
    }
  }
}

void set_first_state(Scene& scene) {
  const size_t warps = scene.machines.size();
  scene.state.tensor_memory = TensorMemory(scene.ranks, warps);
  scene.state.decisions.went.assign(scene.kernel.graph.blocks.size(), 0);
  scene.state.warps.reserve(warps);
  for (uint32_t rank = 0; rank < scene.ranks; ++rank) {
    for (uint32_t number = 0; number < scene.warps_per_cta; ++number) {
      warp::Machine& machine = *scene.machines[scene.state.warps.size()];
      scene.state.warps.push_back(first_state(scene, {rank, number}, warps, machine));
    }
  }
}

// Where warps go by words of memory that may be one and the same count, guessed to be two, one of them comes to where
// the other one never does: which of their events are ordered means nothing from there on.
bool mark_contradictions(RunState& state) {
  const size_t contradiction = state.globals.first_contradiction();
  if (contradiction == SIZE_MAX) return false;
  state.guesses_contradict = true;
  state.log.mark_doubtful_after(contradiction);
  return true;
}

Scenario describe(const Scene& scene, const Progress& progress, bool made_by_policy) {
  RunState& state = scene.state;
  Scenario out;
  out.usual = scene.policy.usual();
  out.idle = state.tensor_memory.operations().empty();
  out.contradictory = state.guesses_contradict;
  out.gives_up = scene.policy.gives_up != UINT32_MAX;
  out.complete = progress.complete;
  out.stopped = !out.complete && !state.decisions.nothing_new && !made_by_policy;
  out.decisions = std::move(scene.log.decisions());
  out.freed = std::move(state.freed);
  for (const Allocation& a : state.tensor_memory.allocations()) {
    if (a.live && !out.complete) continue;  // it may still be freed
    (a.live ? out.left_live : out.freed).insert(a.alloc.instruction);
  }
  if (out.complete) out.commits = std::move(state.commits);
  out.waited = std::move(state.waited);
  return out;
}

// The hang that a scenario ended with, if it did.
const Hang* hang_of(ObservationLog& log) {
  for (const Observed& o : log.observed()) {
    if (const auto* hang = std::get_if<Hang>(&o.what)) return hang;
  }
  return nullptr;
}

}  // namespace

ScenarioUnderWay::ScenarioUnderWay(const KernelFacts& facts, Policy policy, bool log, Footprints& footprints)
    : policy_(std::move(policy)), state_(*facts.kernel.terms), scene_(facts, policy_, state_, footprints) {
  state_.log = ObservationLog(log);
  make_machines(scene_);
  set_first_state(scene_);
}

ScenarioUnderWay::ScenarioUnderWay(const ScenarioUnderWay& other)
    : policy_(other.policy_),
      state_(other.state_),
      scene_(other.scene_.facts, policy_, state_, other.scene_.footprints),
      progress_(other.progress_) {
  make_machines(scene_);
}

void ScenarioUnderWay::go_on(uint64_t budget) {
  if (progress_.over()) return;
  if (state_.steps == 0 && !Decisions(scene_).decide_ahead()) {
    state_.decisions.nothing_new = true;
    progress_.open = true;
    return;
  }
  progress_ = Scheduler(scene_, budget).run();
}

ScenarioResult ScenarioUnderWay::finish() {
  ScenarioEnding ending(scene_);
  if (progress_.stuck) ending.note_hang();
  ending.note_end(progress_.complete);
  if (mark_contradictions(state_)) scene_.terms.uses().count(assumptions::Id::kContradictingGuesses);
  const Hang* hang = hang_of(state_.log);
  ScenarioResult out;
  out.short_of_warps = hang != nullptr && may_lack_warps(*hang);
  const bool made_by_policy = hang != nullptr && policy_alone_causes(*hang);
  if (made_by_policy) scene_.terms.uses().count(assumptions::Id::kExcusedHang);
  out.scenario = describe(scene_, progress_, made_by_policy);
  out.observed = std::move(state_.log.observed());
  out.keys = std::move(state_.log.keys());
  out.uncertain = std::move(state_.log.uncertain());
  out.lines = std::move(state_.log.lines());
  out.choices = std::move(state_.decisions.choices);
  out.other_trips = std::move(state_.decisions.other_trips);
  out.selections = std::move(state_.decisions.selections);
  out.on_data = std::move(state_.decisions.on_data);
  out.same_question = std::move(state_.decisions.same_question);
  for (const DecisionState::Way& w : state_.decisions.ways) {
    if (w.of_parameters && scene_.facts.branches.runs_no_time(w.block, w.way)) out.skips.push_back(w);
  }
  out.nothing_new = state_.decisions.nothing_new;
  out.overrun = state_.decisions.overrun;
  out.over_budget = progress_.over_budget;
  out.asked = state_.log.asked();
  out.decided = state_.log.decided();
  out.steps = state_.steps;
  out.cost = state_.cost();
  return out;
}

}  // namespace tmemlint::cluster
