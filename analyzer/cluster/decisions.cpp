#include "analyzer/cluster/decisions.h"

#include "analyzer/assumptions/assumptions.h"

#include <algorithm>
#include <bit>

namespace tmemlint::cluster {

using value::Op;
using value::TermKind;
using value::Uniformity;
using value::Value;
using warp::Truth;

namespace {

// Times that a policy's wish is refused before it is not followed any more.
constexpr unsigned kMostRefusals = assumptions::kRefusals;
// Rounds beyond those that the policy asks for, after which a break of a loop is taken: it would never end otherwise.
constexpr uint32_t kRoundsBeforeBreak = assumptions::kRoundsBeforeABreak;
constexpr uint32_t kFewestTrips = assumptions::kFewestRoundsBeforeABreak;

bool has_run_long(uint32_t rounds, uint32_t trips) {
  return rounds > std::max(trips, kFewestTrips) + kRoundsBeforeBreak;
}

}  // namespace

// --- numbers ---

std::optional<uint64_t> Decisions::number(warp::Machine& machine, const Value& value, uint32_t lanes, unsigned width,
                                          Pick pick) {
  value::Terms& terms = scene_.terms;
  const auto lane = static_cast<unsigned>(std::countr_zero(lanes));
  Value one = terms.lane(value, lane);
  if (one.base == 0) return value::truncate(one.number, width);
  auto numbers = terms.enumerate(one, lane, width, value::FactsFilter(terms, machine.facts));
  if (!numbers) return pick_number(machine, one, width, pick);
  if (numbers->size() > 1) {
    one = resolved(machine, one);
    numbers = terms.enumerate(one, lane, width, value::FactsFilter(terms, machine.facts));
  }
  if (numbers && numbers->size() == 1) return numbers->front();
  return pick_number(machine, one, width, pick);
}

Value Decisions::resolved(warp::Machine& machine, const Value& value) {
  walked_.assign(scene_.terms.size(), false);
  decide_conditions(machine, value.base);
  return resolve(scene_.terms, machine.facts, value);
}

Truth Decisions::truth_by_parts(warp::Machine& machine, const Value& condition, uint32_t lanes) {
  walked_.assign(scene_.terms.size(), false);
  for (const Value& part : scene_.terms[condition.base].args) decide_conditions(machine, part.base);
  return machine.truth_of(resolve(scene_.terms, machine.facts, condition), lanes);
}

Truth Decisions::truth_by_parameters(warp::Machine& machine, const Value& condition, uint32_t lanes) {
  Truth t = machine.truth_of(condition, lanes);
  if (t.unknown == 0 || !state_.model.of_parameters(condition.base)) return t;
  return machine.truth_of(resolved(machine, condition), lanes);
}

std::optional<uint64_t> Decisions::pick_number(warp::Machine& machine, const Value& value, unsigned width, Pick pick) {
  if (pick == Pick::kNothing) return std::nullopt;
  const bool of_parameters = state_.model.of_parameters(value.base);
  if (!of_parameters && (pick == Pick::kParameters || !state_.model.of_words(value.base))) return std::nullopt;
  value::Terms& terms = scene_.terms;
  const uint64_t n = value::truncate(state_.model.number(value), width);
  const Value same = terms.apply({Op::kEq, static_cast<uint8_t>(width), false, 0}, value, Value::of(n));
  if (same.base != 0) {
    const Truth t = machine.truth_of(same, 1);
    if (t.term != 0) {
      state_.model.decide(t.term, !t.inverted);
      assume(terms, machine.facts, t.term, !t.inverted);
      if (!of_parameters) note_guess(t.term);
    }
  }
  return n;
}

// Walks over what a term is computed from, and decides each condition that is met. One that differs from lane to lane
// stays open.
void Decisions::decide_conditions(warp::Machine& machine, uint32_t term) {
  if (term == 0 || walked_[term]) return;
  walked_[term] = true;
  const value::Terms& terms = scene_.terms;
  const value::Term& t = terms[term];
  if (t.width == 1 && t.kind != TermKind::kSum) {
    if (t.uniformity != Uniformity::kLane) decide_condition(machine, term);
    return;
  }
  // By index: deciding may make terms.
  for (size_t n = 0; n < terms[term].args.size(); ++n) decide_conditions(machine, terms[term].args[n].base);
}

void Decisions::decide_condition(warp::Machine& machine, uint32_t term) {
  // An answer that follows from other facts becomes a fact of its own: a selection that goes by the condition looks
  // only for that.
  const std::optional<bool> known = decide(scene_.terms, machine.facts, term);
  bool holds = known ? *known : state_.model.holds(term);
  if (!known) {
    const std::optional<std::pair<uint32_t, bool>>& selection = scene_.policy.selection;
    const bool chosen = selection && selection->first == term;
    const bool granted = state_.model.decide(term, chosen ? selection->second : holds);
    if (chosen && granted) holds = selection->second;
    if (!granted) state_.model.decide(term, holds);
    const bool of_parameters = state_.model.of_parameters(term);
    if (of_parameters) state_.selections.try_emplace(term, holds);
    if (chosen) note_outcome(true, granted);
    if (!of_parameters) note_guess(term);
  }
  assume(scene_.terms, machine.facts, term, holds);
}

// A decision about a term (0: about several) was a guess: it is about more than parameters.
void Decisions::note_guess(uint32_t term) {
  state_.guessed_data = true;
  scene_.terms.uses().count(assumptions::Id::kGuessedData);
  if (term == 0) return;
  scene_.state.globals.guess(state_.model, term);
  scene_.log.set_guesses(static_cast<uint32_t>(scene_.state.globals.guessed()));
}

// What the policy preferred was decided so (`granted`), or the model ruled it out. A policy that differs from the usual
// one in nothing that is possible need not be followed to the end.
void Decisions::note_outcome(bool unusual, bool granted) {
  if (!unusual || state_.differs) return;
  if (granted) {
    state_.differs = true;
  } else if (++state_.refused >= std::min(kMostRefusals, scene_.policy.occasions)) {
    state_.nothing_new = true;
    scene_.terms.uses().count(assumptions::Id::kRefusals);
  }
}

// --- branches ---

bool Decisions::decide_branch(WarpState& w, warp::Machine& machine, uint32_t block, Truth& t) {
  bool unusual = false;
  bool preferred = choose(w, block, t, &unusual);
  if (const auto& toward = scene_.policy.toward; toward && toward->block == block && !state_.differs) {
    preferred = toward->way == 0;
    unusual = true;
  }
  bool first = preferred;
  if (t.term != 0 && (scene_.terms[t.term].uniformity != Uniformity::kLane || std::has_single_bit(t.unknown))) {
    first = take(machine, block, t, preferred);
  } else if (t.term != 0) {
    machine.facts.set_lanes(t.term, first != t.inverted ? value::kAllLanes : 0);
  }
  note_outcome(unusual, first == preferred);
  if (state_.nothing_new) return false;
  if (t.term == 0 || !state_.model.of_parameters(t.term)) {
    note_guess(t.term);
    state_.on_data.insert(block);
    if (t.term != 0) state_.decided_at.emplace(t.term, block);
  }
  scene_.log.add_decision(scene_.kernel.graph.blocks[block].ender, first);
  (first ? t.yes : t.no) |= t.unknown;
  return true;
}

bool Decisions::decide_ahead() {
  if (!scene_.policy.toward || !scene_.policy.toward->condition) return true;
  const auto [term, truth] = *scene_.policy.toward->condition;
  if (!state_.model.decide(term, truth)) return false;
  assume(scene_.terms, state_.facts, term, truth);
  return true;
}

// Decides the condition of a branch such that it goes its first way, or its second one: the other one where no numbers
// are found for that. Gives which it is.
bool Decisions::take(warp::Machine& machine, uint32_t block, const Truth& t, bool first) {
  const bool holds = state_.model.holds(t.term) == (first != t.inverted);
  Backoff& backoff = state_.backoff[{block, first}];
  const bool tries = holds || backoff.tries();
  if (!tries) scene_.terms.uses().count(assumptions::Id::kRefusalsBeforeAPause);
  const bool granted = tries && state_.model.decide(t.term, first != t.inverted);
  if (tries && !holds) backoff.note(granted);
  if (!granted) {
    first = !first;
    state_.model.decide(t.term, first != t.inverted);
  }
  assume_undecided(scene_.terms, machine.facts, t.term, first != t.inverted);
  return first;
}

// Which other numbers of trips would have gone another way; `way` gives the way for a number.
template <typename F>
void Decisions::note_other_trips(F&& way) {
  for (uint32_t trips : kOtherTrips) {
    if (way(trips) != way(scene_.policy.trips)) ++state_.other_trips[trips];
  }
}

// The way of a branch that leaves a loop on one of its ways; nothing for other branches.
std::optional<bool> Decisions::choose_loop_way(const WarpState& w, uint32_t b, bool* unusual) {
  const kernel::Graph& graph = scene_.kernel.graph;
  const kernel::Control& control = scene_.facts.branches.control();
  const kernel::Block& block = graph.blocks[b];
  const uint32_t s0 = block.successors[0];
  const uint32_t s1 = block.successors[1];
  for (uint32_t loop = block.loop; loop != kNone; loop = graph.loops[loop].parent) {
    const bool in0 = graph.in_loop(s0, loop);
    const bool in1 = graph.in_loop(s1, loop);
    if (in0 && in1) break;
    if (in0 == in1) continue;
    // A way that only leads into a trap is not the loop's end.
    if (!control.can_exit[in0 ? s1 : s0] && control.can_exit[in0 ? s0 : s1]) return in0;
    const BranchFacts::LoopEnd& end = scene_.facts.branches.loop_end(loop);
    if (end.block != b) {
      // A break: not taken, unless the loop would never end otherwise.
      ++state_.choices[b];
      const bool flips = scene_.policy.flipped.contains(b);
      if (flips) *unusual = true;
      const bool breaks = has_run_long(w.rounds[loop], scene_.policy.trips_of(loop));
      if (breaks) scene_.terms.uses().count(assumptions::Id::kRoundsBeforeABreak);
      return in0 != (flips || breaks);
    }
    state_.chose_trips = true;
    scene_.terms.uses().count(assumptions::Id::kRounds);
    const uint32_t done = w.rounds[loop] + (end.at_top ? 0 : 1);
    const uint32_t room = scene_.policy.room_of(loop);
    const auto goes_on = [&](uint32_t trips) { return done < std::min(trips, room); };
    const bool again = goes_on(scene_.policy.trips_of(loop));
    *unusual = again != goes_on(Policy{}.trips);
    note_other_trips(goes_on);
    return in0 == again;
  }
  return std::nullopt;
}

// Whether a branch that is not known goes its first way. `unusual`: the usual policy would go the other way.
bool Decisions::choose(const WarpState& w, uint32_t b, const Truth& t, bool* unusual) {
  if (const std::optional<bool> way = choose_loop_way(w, b, unusual)) return *way;
  // What memory holds is not the number that the kernel itself takes for "none yet".
  if (const int8_t none_yet = scene_.program.code[b].none_yet; none_yet >= 0) {
    scene_.terms.uses().count(assumptions::Id::kNoneYet);
    return none_yet == 1;
  }
  const kernel::Block& block = scene_.kernel.graph.blocks[b];
  const BranchFacts& branches = scene_.facts.branches;
  const std::array<uint32_t, 2> ahead = branches.protocol_ahead(b);
  const bool exit_first = branches.control().can_exit[block.successors[0]];
  if (exit_first != branches.control().can_exit[block.successors[1]] && ahead[exit_first ? 1 : 0] == 0)
    return exit_first;
  scene_.terms.uses().count(assumptions::Id::kWeightOfTensorMemory);
  // Where none has more of the protocol, the numbers at hand say which.
  const bool by_numbers = ahead[0] == ahead[1] && t.term != 0 && scene_.terms[t.term].uniformity != Uniformity::kLane;
  bool first = by_numbers ? state_.model.holds(t.term) != t.inverted : ahead[0] > ahead[1];
  if (branches.guards_writes(b)) {
    state_.chose_trips = true;
    note_other_trips([](uint32_t trips) { return trips == 0; });
    if (scene_.policy.trips == 0) {
      first = !first;
      *unusual = true;
    }
    return first;
  }
  ++state_.choices[b];
  if (scene_.policy.flips(b, block.loop, block.loop == kNone ? 0 : w.rounds[block.loop])) {
    first = !first;
    *unusual = true;
  }
  // In a loop that has gone round often enough the other way is taken: it may lead out of the loop.
  auto long_enough = [&](uint32_t trips) { return block.loop != kNone && has_run_long(w.rounds[block.loop], trips); };
  note_other_trips(long_enough);
  return first != long_enough(block.loop == kNone ? scene_.policy.trips : scene_.policy.trips_of(block.loop));
}

void Decisions::note_ways(const WarpState& w, uint32_t block, const Value& condition, const Truth& t) {
  const kernel::Graph& graph = scene_.kernel.graph;
  const auto ways = static_cast<uint8_t>((t.yes != 0 ? 1 : 0) | (t.no != 0 ? 2 : 0));
  if ((ways & ~state_.went[block]) == 0) return;
  const std::vector<uint32_t>& next = graph.blocks[block].successors;
  for (uint32_t l = graph.blocks[block].loop; l != kNone; l = graph.loops[l].parent) {
    if (!graph.in_loop(next[0], l) || !graph.in_loop(next[1], l)) state_.open_loops.insert(l);
  }
  const uint32_t loop = warp::headed(graph, block);
  const bool asks_at_top = loop != kNone && graph.in_loop(next[0], loop) != graph.in_loop(next[1], loop);
  if (asks_at_top && w.rounds[loop] != 0) return;
  const bool of_parameters = state_.model.of_parameters(condition.base);
  if (const auto literal = scene_.terms.literal_of(condition)) {
    const auto asked = state_.decided_at.find(literal->term);
    if (asked != state_.decided_at.end() && asked->second != block) state_.same_question.emplace(block, asked->second);
  }
  const auto decided = static_cast<uint32_t>(scene_.log.decisions().size());
  for (uint8_t way = 0; way < 2; ++way) {
    if (((ways & ~state_.went[block]) >> way & 1) != 0) state_.ways.push_back({block, way, of_parameters, decided});
  }
  state_.went[block] |= ways;
}

}  // namespace tmemlint::cluster
