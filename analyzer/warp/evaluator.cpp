#include "analyzer/warp/evaluator.h"

#include "analyzer/assumptions/assumptions.h"

#include <iterator>

namespace tmemlint::warp {

namespace {

// States of one block that are kept apart before the block counts as too complex.
constexpr size_t kMostStates = assumptions::kStatesAtABlock;

// Goes through registers by a list of their numbers: a vector is made of them without being filled with zeros first,
// which is a good part of what it costs to send a state on.
struct Picked {
  using iterator_category = std::forward_iterator_tag;
  using value_type = Value;
  using difference_type = ptrdiff_t;
  using pointer = const Value*;
  using reference = const Value&;
  const Value* registers = nullptr;
  const uint32_t* number = nullptr;

  const Value& operator*() const { return registers[*number]; }
  Picked& operator++() {
    ++number;
    return *this;
  }
  Picked operator++(int) { return {registers, number++}; }
  Picked operator+(ptrdiff_t count) const { return {registers, number + count}; }
  bool operator==(const Picked& other) const { return number == other.number; }
};

}  // namespace

Evaluator::Evaluator(const Setting& setting)
    : setting_(setting),
      program_(*setting.program),
      graph_(*program_.graph),
      terms_(*setting.terms),
      flow_(program_),
      machine_(program_, terms_, setting.launch, setting.rank, setting.warp, setting.others),
      steps_(setting_, machine_, out_.graph),
      meeting_(setting_, flow_, out_.graph.protocols) {
  machine_.generation = setting.exchange;
  machine_.replays = setting.replays;
  out_.graph.rank = setting.rank;
  out_.graph.warp = setting.warp;
  out_.graph.lanes = machine_.existing();
  out_.graph.reached.assign(program_.steps.size(), false);
  states_.resize(graph_.blocks.size());
  times_.assign(graph_.blocks.size(), 0);
  changed_.assign(graph_.blocks.size(), false);
}

Evaluation Evaluator::run() {
  if (machine_.existing() != 0) {
    PathState start;
    start.waiting.push_back({0, machine_.existing(), false});
    fetch_live(start);
    deliver(std::move(start), kNone, -1);
    run_range(0, static_cast<uint32_t>(graph_.blocks.size()), kNone, 0);
  }
  out_.graph.events = steps_.take_events();
  out_.writes = std::move(machine_.writes);
  out_.reads = std::move(machine_.shared_reads);
  return std::move(out_);
}

// Takes the registers that are still needed from the machine to a new state.
void Evaluator::fetch_live(PathState& s) {
  s.live = &flow_.needed_by(s.waiting);
  const Picked begin{machine_.registers.data(), s.live->data()};
  s.registers.assign(begin, begin + static_cast<ptrdiff_t>(s.live->size()));
}

uint32_t Evaluator::add_node(const Node& node) {
  out_.graph.nodes.push_back(node);
  return static_cast<uint32_t>(out_.graph.nodes.size() - 1);
}

// A state reaches the block that its first lanes wait at: it is merged with another one there, or stays apart.
void Evaluator::deliver(PathState&& s, uint32_t from_node, int8_t decision) {
  const uint32_t b = s.waiting.front().block;
  const uint32_t head = flow_.headed(b);
  const bool again = s.waiting.front().again;
  if (!loop_rounds_.empty()) {
    LoopRound& round = loop_rounds_.back();
    if (!graph_.in_loop(b, round.loop)) {
      round.left.push_back({std::move(s), from_node, decision});
      return;
    }
    if (round.loop == head && again) {
      round.again.push_back({std::move(s), from_node, decision});
      return;
    }
  }
  bool is_second = false;
  if (setting_.by_rounds) {
    s.gone_round &= flow_.loops_of(b);
    is_second = head != kNone && (s.gone_round & flow_.bit_of(head)) == 0;
    if (head != kNone && flow_.has_own_bit(head)) {
      s.gone_round = again ? s.gone_round | flow_.bit_of(head) : s.gone_round & ~flow_.bit_of(head);
    }
  }
  const uint64_t kind = meeting_.kind_of(s);
  meeting_.begin(times_[b]);
  if (head != kNone) {
    s.waiting.front().again = false;
    meeting_.restate_at_head(s, states_[b], b, kind, again, is_second);
  }
  if (PathState* existing = meeting_.partner(states_[b], s)) {
    if (meeting_.merge(*existing, s, b, head != kNone, kind)) changed_[b] = true;
    return;
  }
  if (states_[b].size() >= kMostStates) {
    terms_.uses().count(assumptions::Id::kStatesAtABlock);
    uncertain(b, "too many different states reach this point");
    return;
  }
  s.node = add_node({b, s.waiting.front().lanes, from_node, decision});
  changed_[b] = true;
  states_[b].push_back(std::move(s));
}

void Evaluator::run_block(uint32_t b) {
  if (!flow_.has_one_way_in(b)) steps_.events(b).clear();
  // States that arrive at the block while it runs (a loop of one block) are seen in the next round.
  const size_t count = states_[b].size();
  for (size_t n = 0; n < count && !stopped_; ++n) run_state(b, states_[b][n]);
}

void Evaluator::run_state(uint32_t b, const PathState& s) {
  // Copied, since what is delivered may move the block's states.
  std::vector<Waiting> waiting = s.waiting;
  for (size_t n = 0; n < s.registers.size(); ++n) machine_.registers[(*s.live)[n]] = s.registers[n];
  machine_.memory = s.memory;
  machine_.facts = s.facts;
  machine_.active = waiting.front().lanes;
  machine_.loops = flow_.loops_of(b);
  steps_.state = s.protocol;
  steps_.node = s.node;
  steps_.block = b;
  gone_round_ = s.gone_round;
  for (;;) {
    const program::Code& code = program_.code[b];
    for (uint32_t n = code.first; n < code.last;) {
      if (const uint32_t straight = program_.steps[n].straight; straight != kNone) {
        machine_.run(program_.straights[straight]);
        n = program_.straights[straight].last;
      } else {
        steps_.run(n++);
      }
    }
    out_.graph.steps += code.last - code.first + 1;
    if (out_.graph.steps > setting_.step_budget) {
      stopped_ = true;
      terms_.uses().count(assumptions::Id::kStepsOfAWarp);
      uncertain(b, "the kernel takes more steps to follow than are left of the budget");
      return;
    }
    if (!leave(b, waiting)) return;
    // The one block that follows has no other way in: nothing can meet this state there.
    b = waiting.front().block;
    machine_.active = waiting.front().lanes;
    machine_.loops = flow_.loops_of(b);
    steps_.node = add_node({b, machine_.active, steps_.node, -1});
    steps_.block = b;
  }
}

// A place at which what follows is not known.
void Evaluator::uncertain(uint32_t block, std::string reason) {
  const kernel::Block& b = graph_.blocks[block];
  uint32_t instruction = b.first < b.last ? b.first : b.ender;
  if (instruction == kNone && b.first < graph_.module->instructions.size()) instruction = b.first;
  add_once(out_.graph.uncertain, {instruction, std::move(reason)});
}

Evaluation evaluate(const Setting& setting) {
  return Evaluator(setting).run();
}

}  // namespace tmemlint::warp
