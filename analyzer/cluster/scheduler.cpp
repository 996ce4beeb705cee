#include "analyzer/cluster/scheduler.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "analyzer/assumptions/assumptions.h"
#include "analyzer/cluster/lane_groups.h"
#include "analyzer/cluster/mbarrier_life.h"
#include "analyzer/ptx/effects.h"

namespace tmemlint::cluster {

using kernel::Block;
using kernel::Ending;
using program::Action;
using program::Step;
using value::Op;
using value::Value;
using warp::Truth;

namespace {

// Steps that a warp takes before the others have their turn.
constexpr uint64_t kQuantum = assumptions::kStepsOfATurn;

bool is_of_protocol(Action action) {
  return program::is_protocol(action) || action == Action::kProxyFence || action == Action::kReleaseFence;
}

// Whether an instruction only computes, loads and stores: most do.
bool is_plain(const program::Meaning& m) {
  if (is_of_protocol(m.action) || m.action == Action::kGridDependency) return false;
  return m.action == Action::kLoad ? !m.fresh : m.atomic == program::Atomic::kNone;
}

// Lends a warp's registers and memory, and what all warps have decided, to its machine.
class Loan {
public:
  Loan(WarpState& w, DecisionState& decisions, warp::Machine& machine)
      : w_(w), decisions_(decisions), machine_(machine) {
    exchange();
  }
  ~Loan() { exchange(); }
  Loan(const Loan&) = delete;
  Loan& operator=(const Loan&) = delete;

private:
  void exchange() {
    std::swap(machine_.registers, w_.registers);
    std::swap(machine_.memory, w_.memory);
    std::swap(machine_.present, w_.present);
    std::swap(machine_.facts, decisions_.facts);
  }
  WarpState& w_;
  DecisionState& decisions_;
  warp::Machine& machine_;
};

}  // namespace

Scheduler::Scheduler(Scene& scene, uint64_t budget)
    : scene_(scene),
      state_(scene.state),
      decisions_(scene),
      memory_(scene),
      allocation_(scene, decisions_),
      access_(scene, decisions_),
      mbarriers_(scene, decisions_),
      barriers_(scene, decisions_),
      copies_(scene, decisions_),
      budget_(budget) {
  for (const std::unique_ptr<warp::Machine>& machine : scene.machines) {
    machine->common = &memory_;
    machine->serial = &state_.serial;
    machine->replays = scene.kernel.replays.get();
  }
}

Progress Scheduler::run() {
  while (!stopped_) {
    if (!take_turns()) break;
    if (std::exchange(state_.turn.any_progress, false)) continue;
    if (std::all_of(state_.warps.begin(), state_.warps.end(), [](const WarpState& w) { return w.over; })) {
      progress_.complete = true;
      break;
    }
    if (copies_.deliver()) {
      wake();
      continue;
    }
    if (let_other_lanes_go_on() || release_polls()) continue;
    progress_.stuck = true;
    break;
  }
  // What was still under way comes in the end.
  while (progress_.complete && copies_.deliver()) {
  }
  progress_.open = stopped_ && !progress_.over_budget;
  return progress_;
}

// Each warp has its turn, from the one on whose turn it is. False where the scenario stops: it may go on from there.
bool Scheduler::take_turns() {
  Turn& turn = state_.turn;
  for (; turn.warp < state_.warps.size(); ++turn.warp) {
    if (turn.until <= state_.steps) turn.until = state_.steps + kQuantum;
    turn.any_progress = advance(state_.warps[turn.warp]) || turn.any_progress;
    if (stopped_) return false;
    turn.until = 0;
  }
  turn.warp = 0;
  return true;
}

void Scheduler::stop(const Unknown& open) {
  if (!open.reason.empty()) scene_.log.add_uncertain(open.instruction, open.reason);
  stopped_ = true;
}

bool Scheduler::advance(WarpState& w) {
  if (!w.ready()) return false;
  memory_.set_current(w);
  warp::Machine& machine = scene_.machine_of(w);
  const Loan loan(w, state_.decisions, machine);
  bool progress = false;
  while (!stopped_ && w.ready() && state_.steps < state_.turn.until) {
    const program::Code& code = scene_.program.code[w.groups.front().at.block];
    run_block(w, machine, &progress);
    if (stopped_ || !w.ready() || w.step < code.last) break;
    ++state_.steps;
    progress = true;
    const uint64_t tried = state_.decisions.model.attempts;
    leave(w, machine);
    state_.work += state_.decisions.model.attempts - tried;
    if (state_.cost() > budget_) {
      progress_.over_budget = true;
      stopped_ = true;
    }
  }
  if (state_.steps >= state_.turn.until) scene_.terms.uses().count(assumptions::Id::kStepsOfATurn);
  return progress;
}

// Executes the rest of the block that the warp's first group is in, until the warp waits or the block ends.
void Scheduler::run_block(WarpState& w, warp::Machine& machine, bool* progress) {
  const warp::Waiting& at = w.groups.front().at;
  machine.active = at.lanes;
  const uint32_t last = scene_.program.code[at.block].last;
  while (w.step < last && !stopped_) {
    if (const uint32_t straight = scene_.program.steps[w.step].straight; straight != kNone) {
      const program::Straight& s = scene_.program.straights[straight];
      if (machine.run(s)) state_.spared += s.last - s.first - 1;
      w.step = s.last;
      state_.steps += s.last - s.first;
    } else {
      if (!run_step(w, machine)) return;
      ++w.step;
      ++state_.steps;
    }
    *progress = true;
  }
}

// False where the warp waits, or the scenario ends.
bool Scheduler::run_step(WarpState& w, warp::Machine& machine) {
  const Step& step = scene_.program.steps[w.step];
  switch (step.kind) {
    case Step::Kind::kUse:
      use_loads(w, machine, step);
      return true;
    case Step::Kind::kOverwrite:
      return true;
    case Step::Kind::kCopyIn:
      machine.execute(step, w.step);
      return settle(w, Done{});
    case Step::Kind::kInstruction:
      break;
  }
  const program::Meaning& meaning = machine.meaning(step);
  if (meaning.joins_lanes && (machine.active | w.exited) == machine.existing())
    w.knowledge.lanes().join(w.knowledge.now());
  if (is_plain(meaning)) {
    machine.execute(step, w.step);
    if (state_.decisions.overrun) stopped_ = true;
    if (state_.changes.word) wake();
    return true;
  }
  Execution e{w, machine, w.step, step, meaning, machine.active};
  const Outcome outcome = execute(e);
  return settle(w, outcome);
}

// Does what a step's outcome asks for: lets the warp wait, or ends the scenario. Wakes warps that waited for what the
// step changed, perhaps this one too. True where the warp goes on to the next step.
bool Scheduler::settle(WarpState& w, const Outcome& outcome) {
  const uint32_t step = w.step;
  if (const auto* open = std::get_if<Unknown>(&outcome)) {
    stop(*open);
  } else if (const auto* wait = std::get_if<Wait>(&outcome)) {
    w.wait = *wait;
    if (std::holds_alternative<WaitForWord>(*wait)) ++state_.polling;
  }
  if (state_.decisions.nothing_new || state_.decisions.overrun) stopped_ = true;
  if (state_.changes.any()) wake();
  if (w.step != step) --w.step;  // it was woken behind its barrier: the caller goes on to the next step
  return std::holds_alternative<Done>(outcome) || (w.ready() && std::holds_alternative<Wait>(outcome));
}

// A step that uses results of pending loads: the lanes that execute it are noted with the loads.
void Scheduler::use_loads(const WarpState& w, warp::Machine& machine, const Step& step) {
  if (w.loads.empty()) return;
  uint32_t lanes = machine.active;
  if (step.guard != kNone) {
    const Truth guard = machine.guard_of(step);
    lanes = guard.yes | guard.unknown;
  }
  w.loads.each_of(scene_.program.load_sets[step.loads],
                  [&](uint32_t operation) { state_.tensor_memory.use_load(operation, lanes); });
}

// Executes an instruction that more belongs to than the warp's own registers and memory.
Outcome Scheduler::execute(Execution& e) {
  if (is_of_protocol(e.meaning.action)) return execute_event(e);
  if (e.meaning.action == Action::kGridDependency) return Done{};
  if (e.meaning.atomic != program::Atomic::kNone) return memory_.atomic(e);
  Outcome outcome = memory_.poll(e);
  if (std::holds_alternative<Done>(outcome)) e.machine.execute(e.step, e.number);
  return outcome;
}

Outcome Scheduler::execute_event(Execution& e) {
  if (e.warp.groups.size() > 1 && e.meaning.aligned && !LaneGroups(scene_, e.warp).converge(e.number))
    return WaitForLanes{};
  const Truth guard = e.machine.guard_of(e.step);
  e.lanes = guard.yes | guard.unknown;
  if (e.lanes == 0) return Done{};
  scene_.footprints.coverage.executed[e.number] = true;
  const bool asks =
      e.meaning.action == Action::kMbarrier && (e.meaning.mbarrier == program::MbarrierAction::kTestWait ||
                                                e.meaning.mbarrier == program::MbarrierAction::kTryWait);
  if (e.meaning.action != Action::kTcgen05 && !asks) ++state_.progress;
  switch (e.meaning.action) {
    case Action::kTcgen05:
      return execute_tcgen05(e);
    case Action::kMbarrier:
      return mbarriers_.execute(e);
    case Action::kBarrier:
      return barriers_.named(e);
    case Action::kClusterBarrier:
      return barriers_.cluster(e);
    case Action::kProxyFence:
      return copies_.proxy_fence(e);
    case Action::kReleaseFence:
      release_inits_by_fence(scene_, e);
      return Done{};
    case Action::kAsyncCopy:
      return copies_.copy(e);
    case Action::kGridDependency:
    case Action::kLoad:
    case Action::kNothing:
    case Action::kPure:
    case Action::kCompare:
    case Action::kMulAdd:
    case Action::kMove:
    case Action::kConvert:
    case Action::kToShared:
    case Action::kFromShared:
    case Action::kMapRank:
    case Action::kShuffle:
    case Action::kVote:
    case Action::kElect:
    case Action::kReduce:
    case Action::kActiveMask:
    case Action::kStore:
    case Action::kGeneric:
    case Action::kFresh:
      break;
  }
  return Done{};
}

Outcome Scheduler::execute_tcgen05(Execution& e) {
  const ptx::Effects& effects = ptx::effects_of(e.meaning.form);
  if (effects.allocates) return allocation_.alloc(e);
  if (effects.frees) return allocation_.dealloc(e);
  if (effects.relinquishes) return allocation_.relinquish(e);
  if (effects.is_load() || effects.is_store()) return access_.load_or_store(e);
  if (effects.drains_loads) return access_.wait_for_loads(e);
  if (effects.drains_stores) return access_.wait_for_stores(e);
  if (effects.by_commit()) return access_.single_thread(e);
  if (effects.signals_completion) return access_.commit(e);
  if (effects.fence_before) e.warp.knowledge.fence_before_sync();
  if (effects.fence_after) e.warp.knowledge.fence_after_sync();
  return Done{};
}

// --- waking ---

// Whether what a warp waits for has come. It executes its step again then, but for a named barrier, at which it has
// arrived already.
bool Scheduler::can_go_on(WarpState& w, const Wait& wait) {
  struct Visitor {
    Scheduler& scheduler;
    WarpState& w;
    bool operator()(const WaitForPhase&) const {
      const Mbarriers& all = scheduler.state_.mbarriers;
      const std::vector<uint32_t>& over = scheduler.state_.changes.phases;
      return std::any_of(w.failed.begin(), w.failed.end(), [&](const AskedPhase& f) {
        return std::find(over.begin(), over.end(), f.address) != over.end() && all.is_over(f.address, f.phase);
      });
    }
    bool operator()(const WaitForInit& i) const {
      return scheduler.state_.changes.init && scheduler.state_.mbarriers.find(i.address) != nullptr;
    }
    bool operator()(const WaitForNamedBarrier& n) const {
      const NamedBarrier& b = scheduler.state_.named.at(w.id.rank, n.barrier);
      if (b.generation == n.generation) return false;
      w.knowledge.learn(b.done);
      ++w.step;
      return true;
    }
    bool operator()(const WaitForClusterBarrier&) const { return w.cluster_phase <= scheduler.state_.cluster.phase; }
    bool operator()(const WaitForColumns&) const { return scheduler.state_.changes.freed; }
    bool operator()(const WaitForWord&) const { return scheduler.state_.changes.word; }
    bool operator()(const WaitForLanes&) const { return false; }
  };
  return std::visit(Visitor{*this, w}, wait);
}

void Scheduler::wake() {
  const bool matters = !state_.changes.phases.empty() || state_.changes.init || state_.changes.named ||
                       state_.changes.cluster || state_.changes.freed || state_.polling != 0;
  if (matters) {
    for (WarpState& w : state_.warps) {
      if (w.wait && can_go_on(w, *w.wait)) w.wait.reset();
    }
  }
  if (state_.changes.word) state_.polling = 0;
  state_.changes.clear();
}

// Lanes that branched apart each make progress: while some wait, the others of their warp can go on (independent thread
// scheduling). Returns false when all that is left waits for something that has not changed.
bool Scheduler::let_other_lanes_go_on() {
  const uint64_t now = state_.progress + state_.writes;
  for (WarpState& w : state_.warps) {
    if (!w.wait || std::holds_alternative<WaitForColumns>(*w.wait) || w.groups.size() < 2) continue;
    const Loan loan(w, state_.decisions, scene_.machine_of(w));
    if (LaneGroups(scene_, w).switch_group(now)) return true;
  }
  return false;
}

// Polls see what they wait for as late as they can.
bool Scheduler::release_polls() {
  const auto polls = [](const WarpState& w) { return w.wait && std::holds_alternative<WaitForWord>(*w.wait); };
  if (std::none_of(state_.warps.begin(), state_.warps.end(), polls)) return false;
  if (++state_.polls_released >= kMostPolls) {
    scene_.terms.uses().count(assumptions::Id::kPolls);
    return false;
  }
  for (WarpState& w : state_.warps) {
    if (!polls(w)) continue;
    w.wait.reset();
    w.poll_released = true;
  }
  return true;
}

// --- the end of a block ---

// The block that all of a warp's lanes go to, where nothing has to be decided for that.
uint32_t Scheduler::only_way(warp::Machine& machine, uint32_t b) const {
  const Block& block = scene_.kernel.graph.blocks[b];
  const program::Code& code = scene_.program.code[b];
  if (code.skip_to != kNone) return code.skip_to;
  if (block.ending == Ending::kJump && !block.successors.empty()) return block.successors[0];
  if (block.ending != Ending::kBranch) return kNone;
  const Value p = machine.read_register(code.condition);
  if (!p.constant()) return kNone;
  return block.successors[((p.number & 1) != 0) != block.condition_negated ? 0 : 1];
}

void Scheduler::leave(WarpState& w, warp::Machine& machine) {
  const uint32_t b = w.groups.front().at.block;
  const Block& block = scene_.kernel.graph.blocks[b];
  if (!scene_.facts.global_orders.empty()) {
    const Outcome outcome = memory_.order_globally(w, scene_.facts.global_orders[b]);
    if (!settle(w, outcome)) return;
  }
  const uint32_t lanes = machine.active;
  LaneGroups groups(scene_, w);
  const bool gives_up = b == scene_.policy.gives_up;
  if (const uint32_t to = w.groups.size() == 1 && !gives_up ? only_way(machine, b) : kNone; to != kNone) {
    if (block.successors.size() > 1) scene_.footprints.coverage.note_way(b, block.successors[0] == to ? 0 : 1);
    w.groups.front().at = warp::waiting_at(scene_.kernel.graph, b, to, lanes);
    groups.begin_block();
    return;
  }
  std::vector<LaneGroup> rest(std::make_move_iterator(w.groups.begin() + 1), std::make_move_iterator(w.groups.end()));
  if (scene_.program.code[b].skip_to != kNone) {
    groups.go_to(rest, b, scene_.program.code[b].skip_to, lanes);
    groups.follow(std::move(rest));
    return;
  }
  switch (block.ending) {
    case Ending::kTrap:
      stopped_ = true;
      return;
    case Ending::kExit:
      exit_lanes(w, machine, lanes, block.ender);
      break;
    case Ending::kJump:
      if (block.successors.empty()) {
        exit_lanes(w, machine, lanes, block.ender);
      } else {
        groups.go_to(rest, b, block.successors[0], lanes);
      }
      break;
    case Ending::kBranch:
      if (gives_up) {
        groups.go_to(rest, b, block.successors[scene_.facts.branches.give_ups().at(b)], lanes);
        break;
      }
      if (!branch(w, machine, b, lanes, rest)) return;
      break;
    case Ending::kIndexed:
      if (!branch_by_index(w, machine, b, lanes, rest)) return;
      break;
  }
  groups.follow(std::move(rest));
  if (state_.changes.any()) wake();
}

// False where the scenario ends.
bool Scheduler::branch(WarpState& w, warp::Machine& machine, uint32_t b, uint32_t lanes, std::vector<LaneGroup>& rest) {
  const Block& block = scene_.kernel.graph.blocks[b];
  Value p = machine.read_register(scene_.program.code[b].condition);
  if (block.condition_negated) p = scene_.terms.apply({Op::kNot, 1, false, 0}, p);
  Truth t = machine.truth_of(p, lanes);
  // The condition is made of several unknowns: they are decided one by one.
  if (t.unknown != 0 && t.term == 0 && p.base != 0) t = decisions_.truth_by_parts(machine, p, lanes);
  if (t.unknown != 0 && !decisions_.decide_branch(w, machine, b, t)) {
    stopped_ = true;
    return false;
  }
  if (p.base != 0) decisions_.note_ways(w, b, p, t);
  Coverage& coverage = scene_.footprints.coverage;
  if (t.yes != 0) coverage.note_way(b, 0);
  if (t.no != 0) coverage.note_way(b, 1);
  if (p.base != 0) coverage.branches[b].condition = p;
  LaneGroups groups(scene_, w);
  groups.go_to(rest, b, block.successors[0], t.yes);
  groups.go_to(rest, b, block.successors[1], t.no);
  return true;
}

bool Scheduler::branch_by_index(WarpState& w, warp::Machine& machine, uint32_t b, uint32_t lanes,
                                std::vector<LaneGroup>& rest) {
  const Block& block = scene_.kernel.graph.blocks[b];
  const Value index = machine.read_register(scene_.program.code[b].condition);
  LaneGroups groups(scene_, w);
  uint32_t left = lanes;
  for (uint32_t each = lanes; each != 0; each &= each - 1) {
    const auto l = static_cast<unsigned>(std::countr_zero(each));
    const Value one = scene_.terms.lane(index, l);
    if (one.base != 0) continue;
    const uint64_t n = value::truncate(one.number, 32);
    if (n < block.successors.size()) {
      groups.go_to(rest, b, block.successors[n], 1u << l);
      scene_.footprints.coverage.note_way(b, n);
    }
    left &= ~(1u << l);
  }
  if (left == 0) return true;
  stop({block.ender, "which way this indexed branch goes is not known"});
  return false;
}

void Scheduler::exit_lanes(WarpState& w, warp::Machine& machine, uint32_t lanes, uint32_t instruction) {
  w.exited |= lanes;
  w.last_exit = instruction;
  if ((w.exited & machine.existing()) != machine.existing()) return;
  w.over = true;
  barriers_.note_exit(w);
}

}  // namespace tmemlint::cluster
