#include "analyzer/cluster/scenario_run.h"

#include <algorithm>

#include "analyzer/cluster/ending.h"
#include "analyzer/cluster/scheduler.h"

namespace tmemlint::cluster {

namespace {

WarpState first_state(const Scene& scene, const WarpId& id, size_t warps, warp::Machine& machine) {
  WarpState w;
  w.id = id;
  w.index = id.rank * scene.warps_per_cta + id.number;
  w.knowledge = WarpKnowledge(w.index, warps);
  w.rounds.assign(scene.code.graph->loops.size(), 0);
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

void set_up(Scene& scene) {
  const kernel::Launch& launch = scene.code.launch;
  scene.warps_per_cta = launch.warps();
  // CTAs that never reach each other are all the same.
  scene.ranks = scene.facts.uses_cluster ? std::max(1u, launch.ctas()) : 1;
  const size_t warps = size_t{scene.ranks} * scene.warps_per_cta;
  scene.state.tensor_memory = TensorMemory(scene.ranks, warps);
  scene.state.decisions.went.assign(scene.code.graph->blocks.size(), 0);
  scene.state.warps.reserve(warps);
  for (uint32_t rank = 0; rank < scene.ranks; ++rank) {
    for (uint32_t number = 0; number < scene.warps_per_cta; ++number) {
      scene.machines.push_back(std::make_unique<warp::Machine>(scene.program, scene.terms, launch, rank, number,
                                                               std::vector<const warp::SharedWrites*>{}));
      scene.machines.back()->facts.unlimited = true;
      scene.state.warps.push_back(first_state(scene, {rank, number}, warps, *scene.machines.back()));
    }
  }
}

// Where warps go by words of memory that may be one and the same count, guessed to be two, one of them comes to where
// the other one never does: which of their events are ordered means nothing from there on.
void mark_contradictions(RunState& state) {
  const size_t contradiction = state.globals.first_contradiction();
  if (contradiction == SIZE_MAX) return;
  state.guesses_contradict = true;
  state.log.mark_doubtful_after(contradiction);
}

Scenario describe(const Scene& scene, const Scheduler& scheduler, bool excused) {
  RunState& state = scene.state;
  Scenario out;
  out.usual = scene.policy.usual();
  out.idle = state.tensor_memory.operations().empty();
  out.contradictory = state.guesses_contradict;
  out.complete = scheduler.complete();
  out.stopped = !out.complete && !state.decisions.nothing_new && !excused;
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

ScenarioResult run_scenario(const KernelFacts& facts, const ScenarioSetting& setting, Footprints& footprints) {
  RunState state(*facts.code.terms);
  state.log = ObservationLog(setting.log);
  Scene scene(facts, setting.policy, state, footprints);
  set_up(scene);
  Scheduler scheduler(scene, setting.budget);
  scheduler.run();
  Ending ending(scene);
  if (scheduler.stuck()) ending.note_hang();
  ending.note_end(scheduler.complete());
  mark_contradictions(state);
  const Hang* hang = hang_of(state.log);
  ScenarioResult out;
  out.short_of_warps = hang != nullptr && may_lack_warps(*hang);
  out.scenario = describe(scene, scheduler, hang != nullptr && is_excused(*hang));
  out.observed = std::move(state.log.observed());
  out.uncertain = std::move(state.log.uncertain());
  out.lines = std::move(state.log.lines());
  out.choices = std::move(state.decisions.choices);
  out.other_trips = std::move(state.decisions.other_trips);
  out.selections = std::move(state.decisions.selections);
  out.nothing_new = state.decisions.nothing_new;
  out.over_budget = scheduler.over_budget();
  out.asked = state.log.asked();
  out.decided = state.log.decided();
  out.steps = state.steps;
  out.cost = scheduler.cost();
  return out;
}

}  // namespace tmemlint::cluster
