// The order in which an Evaluator runs blocks: loops are followed time by time while they certainly go on, else
// iterated until the states at their heads no longer change.
#include "analyzer/assumptions/assumptions.h"
#include "analyzer/warp/evaluator.h"

namespace tmemlint::warp {

namespace {

// Times round a loop before it is given up: its values do not settle.
constexpr unsigned kMostTimes = assumptions::kTimesMerged;
// Loops nested in each other.
constexpr unsigned kMostLoopDepth = assumptions::kLoopDepth;
// Times round, and steps, that a loop is followed time by time; then it is iterated.
constexpr unsigned kMostUnrolled = assumptions::kTimesFollowed;
constexpr uint64_t kMostUnrolledSteps = assumptions::kStepsFollowed;
// Paths that are followed side by side meanwhile.
constexpr size_t kMostUnrolledStates = assumptions::kStatesComingBack;

}  // namespace

void Evaluator::run_range(uint32_t begin, uint32_t end, uint32_t inside, unsigned depth) {
  for (uint32_t b = begin; b < end && !stopped_;) {
    const uint32_t loop = flow_.headed(b);
    if (loop != kNone && loop != inside) {
      run_loop(loop, depth + 1);
      b = graph_.loops[loop].end;
    } else {
      run_block(b);
      ++b;
    }
  }
}

void Evaluator::clear_inside(const kernel::Loop& loop) {
  for (uint32_t b = loop.head + 1; b < loop.end; ++b) {
    states_[b].clear();
    steps_.events(b).clear();
  }
}

void Evaluator::run_loop(uint32_t loop, unsigned depth) {
  const kernel::Loop& l = graph_.loops[loop];
  if (depth > kMostLoopDepth) {
    terms_.uses().count(assumptions::Id::kLoopDepth);
    uncertain(l.head, "loops are nested too deeply to be followed");
    return;
  }
  if (states_[l.head].empty() && !l.irreducible) return;
  std::vector<Event> earlier;
  if (!l.irreducible && unroll(loop, depth, earlier)) return;
  times_[l.head] = 0;
  do {
    changed_[l.head] = false;
    if (!l.irreducible) clear_inside(l);
    run_block(l.head);
    run_range(l.head + 1, l.end, loop, depth);
    if (++times_[l.head] >= kMostTimes && changed_[l.head]) {
      terms_.uses().count(assumptions::Id::kTimesMerged);
      uncertain(l.head, "this loop's values did not settle within the budget");
      break;
    }
  } while (changed_[l.head] && !stopped_);
  prepend(l, std::move(earlier));
}

// Follows a loop time by time as long as each time certainly goes round again: no path leaves it, and what comes back
// is one state, or a few of different kinds. True when the loop ended that way; else the head's states are where
// joining has to start, and `events` are those of the times before.
bool Evaluator::unroll(uint32_t loop, unsigned depth, std::vector<Event>& events) {
  const kernel::Loop& l = graph_.loops[loop];
  const uint64_t first_step = out_.graph.steps;
  for (unsigned time = 0; states_[l.head].size() <= kMostUnrolledStates && !states_[l.head].empty(); ++time) {
    const bool too_many_steps = out_.graph.steps - first_step > kMostUnrolledSteps;
    if (time >= kMostUnrolled || too_many_steps || stopped_) {
      if (!stopped_)
        terms_.uses().count(too_many_steps ? assumptions::Id::kStepsFollowed : assumptions::Id::kTimesFollowed);
      break;
    }
    const uint32_t lanes = states_[l.head].front().waiting[0].lanes;
    loop_rounds_.push_back({loop, {}, {}});
    clear_inside(l);
    run_block(l.head);
    run_range(l.head + 1, l.end, loop, depth);
    LoopRound round = std::move(loop_rounds_.back());
    loop_rounds_.pop_back();
    if (round.again.empty()) {  // it ends here
      prepend(l, std::move(events));
      for (Arrival& out : round.left) deliver(std::move(out.state), out.from_node, out.decision);
      return true;
    }
    std::vector<PathState> next;
    if (!round.left.empty() || !go_round(std::move(round.again), l.head, lanes, next)) {
      break;  // this time was not certain: joining starts with the states it started from
    }
    for (uint32_t b = l.head; b < l.end; ++b) {
      std::vector<Event>& of_block = steps_.events(b);
      events.insert(events.end(), of_block.begin(), of_block.end());
      of_block.clear();
    }
    states_[l.head] = std::move(next);
  }
  return false;
}

// What comes back to a loop's head, as the states that the next time round starts from: paths stay apart that differ
// in what the protocol tells apart; others must not differ in any value. False when that is not so.
bool Evaluator::go_round(std::vector<Arrival> again, uint32_t head, uint32_t lanes, std::vector<PathState>& out) {
  for (Arrival& a : again) {
    PathState& s = a.state;
    if (s.waiting.size() > 1 || s.waiting[0].lanes != lanes) return false;
    s.waiting.front().again = false;
    PathState* existing = meeting_.partner(out, s);
    if (existing != nullptr) {
      if (existing->registers != s.registers || !(existing->memory.cells() == s.memory.cells())) return false;
      existing->facts.join(s.facts);
      meeting_.merge_protocol(*existing, s);
      continue;
    }
    uint32_t start = a.from_node;
    while (out_.graph.nodes[start].block != head) start = out_.graph.nodes[start].from;
    Node node = out_.graph.nodes[start];
    node.from = start;
    s.node = add_node(node);
    out.push_back(std::move(s));
  }
  return out.size() <= kMostUnrolledStates;
}

void Evaluator::prepend(const kernel::Loop& loop, std::vector<Event> events) {
  if (events.empty()) return;
  std::vector<Event>& list = steps_.events(loop.head);
  events.insert(events.end(), list.begin(), list.end());
  list = std::move(events);
}

}  // namespace tmemlint::warp
