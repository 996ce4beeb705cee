// How a path leaves a block: where its lanes go, and what is known from then on.
#include <algorithm>
#include <bit>

#include "analyzer/warp/evaluator.h"

namespace tmemlint::warp {

using kernel::Block;
using kernel::Ending;
using program::next_begin;
using program::next_count;
using value::Facts;
using value::FactsFilter;
using value::Interval;
using value::Op;
using value::sign_extend;
using value::Uniformity;

namespace {

bool has_common_base(const Terms& terms, const Value& v) {
  return v.without_base == 0 && (v.base == 0 || terms[v.base].uniformity == Uniformity::kCta);
}

// Whether a comparison holds numbers by lane, which count up, against a number that is the same in all threads and that
// may be one at which no warp parts: the two differ by a multiple of 32 where it turns over.
bool compares_with_a_bound(const Terms& terms, const value::Term& comparison) {
  const Value& a = comparison.args[0];
  const Value& b = comparison.args[1];
  if (!has_common_base(terms, a) || !has_common_base(terms, b) || (a.table == 0) == (b.table == 0)) return false;
  const bool lanes_first = a.table != 0;  // lane < bound; else bound < lane
  const Value& lanes = lanes_first ? a : b;
  const Value& bound = lanes_first ? b : a;
  for (unsigned l = 1; l < value::kLanes; ++l) {
    if (terms.offsets(lanes)[l] != terms.offsets(lanes)[l - 1] + 1) return true;  // counts in another way
  }
  uint64_t steps = value::kLanes;  // the bound and the first lane differ by multiples of this
  for (const Value& v : {lanes, bound}) {
    const uint64_t zeros = v.base == 0 ? ~uint64_t{0} : terms[v.base].zero_bits;
    steps = std::min(steps, uint64_t{1} << std::min(5, std::countr_one(zeros)));
  }
  return (bound.number - terms.number_in(lanes, 0) + (lanes_first ? 0 : 1)) % steps == 0;
}

// Whether a condition that differs between lanes does so only for some of the numbers that are the same in all threads.
bool parts_at_a_bound(const Terms& terms, const Value& condition) {
  if (condition.base == 0) return condition.same_in_lanes();
  if (condition.table != 0 || condition.without_base != 0) return false;
  const Terms::Parts parts = terms.parts(condition.base);
  return std::all_of(parts.begin(), parts.end(), [&](const value::Summand& part) {
    const value::Term& t = terms[part.term];
    if (t.uniformity != Uniformity::kLane) return true;
    if (t.kind != value::TermKind::kPure || t.args.size() != 2) return false;
    if (t.operation.op == Op::kLt) return compares_with_a_bound(terms, t);
    return (t.operation.op == Op::kAnd || t.operation.op == Op::kOr) && t.width == 1 &&
           parts_at_a_bound(terms, t.args[0]) && parts_at_a_bound(terms, t.args[1]);
  });
}

}  // namespace

// Whether the lanes in front go straight on from block `b`.
bool Evaluator::goes_on(uint32_t b, const std::vector<Waiting>& waiting) const {
  const Waiting& front = waiting.front();
  if (!flow_.has_one_way_in(front.block)) return false;
  const uint32_t* next = next_begin(program_, b);
  const uint32_t* end = next + next_count(program_, b);
  if (std::find(next, end, front.block) == end) return false;
  return loop_rounds_.empty() || graph_.in_loop(front.block, loop_rounds_.back().loop);
}

// The lanes have one way to go, or none if no lanes are left: true when they go straight on, with `waiting` as the
// machine's lanes.
bool Evaluator::leave_straight(uint32_t b, std::vector<Waiting>& waiting, std::vector<Waiting> others) {
  if (goes_on(b, others)) {
    waiting = std::move(others);
    return true;
  }
  go(std::move(others), -1, true);
  return false;
}

// Sends the states on that leave a block. True when there is one, and it is in the machine, with `waiting` as its
// lanes.
bool Evaluator::leave(uint32_t b, std::vector<Waiting>& waiting) {
  const Block& block = graph_.blocks[b];
  const uint32_t lanes = machine_.active;
  std::vector<Waiting> others(waiting.begin() + 1, waiting.end());
  if (program_.code[b].skip_to != kNone) {
    wait(others, b, program_.code[b].skip_to, lanes);
    return leave_straight(b, waiting, std::move(others));
  }
  switch (block.ending) {
    case Ending::kTrap:
      return false;
    case Ending::kExit:
      steps_.leave(block.ender, lanes);
      if (!others.empty()) go(std::move(others), -1, true);
      return false;
    case Ending::kJump:
      if (block.successors.empty()) return false;
      wait(others, b, block.successors[0], lanes);
      break;
    case Ending::kBranch:
      if (branch(b, others, lanes)) return false;
      break;
    case Ending::kIndexed:
      branch_by_index(b, others, lanes);
      return false;
  }
  return leave_straight(b, waiting, std::move(others));
}

// The last to leave a block takes the machine's state along: the next run_state sets it anew.
void Evaluator::go(std::vector<Waiting> waiting, int8_t decision, bool is_last) {
  PathState next;
  next.waiting = std::move(waiting);
  next.gone_round = gone_round_;
  next.protocol = steps_.state;
  if (is_last) {
    next.memory = std::move(machine_.memory);
    next.facts = std::move(machine_.facts);
  } else {
    next.memory = machine_.memory;
    next.facts = machine_.facts;
  }
  fetch_live(next);
  deliver(std::move(next), steps_.node, decision);
}

void Evaluator::split(uint32_t b, const std::vector<Waiting>& others, uint32_t yes, uint32_t no, int8_t decision,
                      bool is_last) {
  const Block& block = graph_.blocks[b];
  std::vector<Waiting> waiting = others;
  wait(waiting, b, block.successors[0], yes);
  wait(waiting, b, block.successors[1], no);
  go(std::move(waiting), decision, is_last);
}

// False when the branch is decided: `others` then has its lanes too. Else states have been sent both ways.
bool Evaluator::branch(uint32_t b, std::vector<Waiting>& others, uint32_t lanes) {
  const Block& block = graph_.blocks[b];
  Value p = machine_.read_register(program_.code[b].condition);
  if (block.condition_negated) p = terms_.apply({Op::kNot, 1, false, 0}, p);
  const Truth t = machine_.truth_of(p, lanes);
  if (t.unknown == 0 || block.successors[0] == block.successors[1]) {
    wait(others, b, block.successors[0], t.yes | t.unknown);
    wait(others, b, block.successors[1], t.no);
    return false;
  }
  const bool is_one = t.term != 0 && (terms_[t.term].uniformity != Uniformity::kLane || std::has_single_bit(t.unknown));
  if (flow_.only_traps(block.successors[0]) != flow_.only_traps(block.successors[1])) {
    return avoid_trap(b, others, lanes, t, is_one);
  }
  if (is_one) {
    go_both_ways(b, others, t);
  } else {
    if (parts_at_a_bound(terms_, p)) out_.graph.nodes[steps_.node].parts_at_a_bound = true;
    split_lanes(b, others, t);
  }
  return true;
}

// A trap of any lane ends the grid: what happens behind a check happens where no lane failed it. True when some lane
// certainly fails it.
bool Evaluator::avoid_trap(uint32_t b, std::vector<Waiting>& others, uint32_t lanes, const Truth& condition,
                           bool is_one) {
  const Block& block = graph_.blocks[b];
  const bool first_traps = flow_.only_traps(block.successors[0]);
  if ((first_traps ? condition.yes : condition.no) != 0) return true;
  const bool truth = first_traps == condition.inverted;
  if (is_one) {
    if (!assume_undecided(terms_, machine_.facts, condition.term, truth)) return true;
  } else if (condition.term != 0) {
    machine_.facts.set_lanes(condition.term, truth ? kAllLanes : 0);
  }
  wait(others, b, block.successors[first_traps ? 1 : 0], lanes);
  return false;
}

// One unknown decides for all lanes that are not decided: each way is a path, on which it is known.
void Evaluator::go_both_ways(uint32_t b, const std::vector<Waiting>& others, const Truth& condition) {
  Facts facts = machine_.facts;
  const auto go_one_way = [&](bool truth) {
    if (!assume_undecided(terms_, machine_.facts, condition.term, truth)) return;
    const bool taken = truth != condition.inverted;
    split(b, others, condition.yes | (taken ? condition.unknown : 0), condition.no | (taken ? 0 : condition.unknown),
          taken ? 1 : 0, !truth);
  };
  go_one_way(true);
  machine_.facts = std::move(facts);
  go_one_way(false);
}

// Differs between lanes in a way that is not known. Assumption: half of the lanes go here, the others there.
void Evaluator::split_lanes(uint32_t b, const std::vector<Waiting>& others, const Truth& condition) {
  uint32_t half = 0;
  unsigned left = static_cast<unsigned>(std::popcount(condition.unknown)) / 2;
  for (uint32_t rest = condition.unknown; rest != 0 && left != 0; rest &= rest - 1, --left) {
    half |= rest & (~rest + 1);
  }
  if (condition.term != 0) machine_.facts.set_lanes(condition.term, condition.inverted ? ~half : half);
  split(b, others, condition.yes | half, condition.no | (condition.unknown & ~half), 1, true);
}

// brx.idx: another target per number.
void Evaluator::branch_by_index(uint32_t b, const std::vector<Waiting>& others, uint32_t lanes) {
  const Block& block = graph_.blocks[b];
  const Value index = machine_.read_register(program_.code[b].condition);
  const auto first = static_cast<unsigned>(std::countr_zero(lanes));
  const bool same = terms_.uniform(index, lanes);
  std::optional<std::vector<uint64_t>> numbers;
  if (same) numbers = terms_.enumerate(terms_.lane(index, first), first, 32, FactsFilter(terms_, machine_.facts));
  if (!same && index.known()) return split_by_index(b, others, lanes, index);
  const Facts facts = machine_.facts;
  for (uint32_t n = 0; n < block.successors.size(); ++n) {
    if (numbers && std::find(numbers->begin(), numbers->end(), n) == numbers->end()) continue;
    machine_.facts = facts;
    if (same && index.base != 0) {
      const Interval have = interval_of(terms_, facts, index, 32);
      if (static_cast<int64_t>(n) < have.low || static_cast<int64_t>(n) > have.high) continue;
      const int64_t number = static_cast<int64_t>(n) - sign_extend(index.number, 32);
      machine_.facts.set(index.base, {number, number});
    }
    std::vector<Waiting> waiting = others;
    wait(waiting, b, block.successors[n], lanes);
    go(std::move(waiting), 1);
  }
}

// Another target per lane, all known.
void Evaluator::split_by_index(uint32_t b, std::vector<Waiting> others, uint32_t lanes, const Value& index) {
  const Block& block = graph_.blocks[b];
  for (uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
    const uint64_t n = terms_.number_in(index, static_cast<unsigned>(std::countr_zero(rest)));
    if (n < block.successors.size()) wait(others, b, block.successors[n], rest & (~rest + 1));
  }
  if (!others.empty()) go(std::move(others), -1);
}

}  // namespace tmemlint::warp
