#include "analyzer/warp/evaluate.h"

#include <algorithm>
#include <array>
#include <bit>
#include <iterator>
#include <map>
#include <set>

#include "analyzer/warp/lanes.h"
#include "analyzer/warp/machine.h"

namespace tmemlint::warp {

using program::Action;
using program::Arg;
using program::Code;
using program::contains;
using program::Mbarrier;
using program::Meaning;
using program::next_begin;
using program::next_count;
using program::Program;
using program::Step;
using value::Fact;
using value::Facts;
using value::FactsFilter;
using value::Interval;
using value::kAllLanes;
using value::Op;
using value::Operation;
using value::sign_extend;
using value::Term;
using value::TermKind;
using value::Terms;
using value::truncate;
using value::Uniformity;
using value::Value;

using kernel::Block;
using kernel::Ending;

namespace {

// States of one block that are kept apart before the block counts as too complex.
constexpr size_t kMaxStates = 48;
constexpr size_t kMaxApart = 16;
constexpr size_t kMaxCounted = 6;
// Times round a loop before its joins stop listing their values, and before it is given up.
constexpr unsigned kListRounds = 40;
constexpr unsigned kMaxRounds = 64;
// Values a join may list.
constexpr size_t kMaxListed = 9;
constexpr unsigned kMaxLoopDepth = 200;
// Times round, and steps, that a loop is followed one by one while it certainly goes on.
constexpr unsigned kMaxUnrolled = 80;
constexpr uint64_t kMaxUnrolledSteps = 100'000;
// Paths that are followed side by side meanwhile.
constexpr size_t kMaxUnrolledStates = 4;

// The loops that have no bit of their own.
constexpr uint64_t kSharedLoops = uint64_t{1} << 62;
// The part of a loop's head that is how often it has been gone round.
constexpr uint64_t kRoundsPart = uint64_t{0x726f756e6473};
// Joins of what is left of others on a path, by node.
constexpr uint64_t kNarrowedSite = uint64_t{1} << 63;

// Parts of what a warp has pending.
constexpr unsigned kPendingLoads = 1;
constexpr unsigned kPendingStores = 2;
constexpr size_t kPictures = 4;  // one for each choice of parts
// Of those, what the pictures of one warp may hold in all.
constexpr size_t kMostPictured = size_t{1} << 19;

// The state of the protocol as it was last kept with some parts, if it has not changed since: in WarpGraph::protocols.
struct Pictures {
  std::array<uint32_t, kPictures> of = {kNone, kNone, kNone, kNone};
};

struct State {
  std::vector<Waiting> waiting;                 // in running order; the first runs next
  const std::vector<uint32_t>* live = nullptr;  // the registers that the waiting lanes still need, ascending
  std::vector<Value> registers;                 // their values
  Memory memory;
  Facts facts;
  Protocol protocol;
  Pictures pictures;  // of `protocol`
  uint32_t node = kNone;
  uint64_t later = 0;  // set of loops that it has gone round, with Setting::by_rounds
};

class Evaluator {
public:
  explicit Evaluator(const Setting& setting)
      : setting_(setting),
        program_(*setting.program),
        graph_(*program_.graph),
        terms_(*setting.terms),
        machine_(program_, terms_, setting_.launch, setting.rank, setting.warp, setting.others) {
    machine_.generation = setting.exchange;
    machine_.replays = setting.replays;
    out_.graph.rank = setting.rank;
    out_.graph.warp = setting.warp;
    out_.graph.lanes = machine_.existing();
    out_.graph.reached.assign(program_.steps.size(), false);
    states_.resize(graph_.blocks.size());
    events_.resize(graph_.blocks.size());
    rounds_.assign(graph_.blocks.size(), 0);
    changed_.assign(graph_.blocks.size(), false);
    name_loops();
    find_straight();
    find_traps();
  }

  Evaluation run() {
    if (machine_.existing() != 0) {
      State start;
      start.waiting.push_back({0, machine_.existing(), false});
      fetch_live(start);
      deliver(std::move(start), kNone, -1);
      run_range(0, static_cast<uint32_t>(graph_.blocks.size()), kNone, 0);
    }
    for (std::vector<Event>& list : events_) {
      out_.graph.events.insert(out_.graph.events.end(), list.begin(), list.end());
    }
    out_.writes = std::move(machine_.writes);
    out_.reads = std::move(machine_.shared_reads);
    return std::move(out_);
  }

private:
  struct Leaving {
    State state;
    uint32_t node = kNone;
    int8_t decision = -1;
  };

  // --- loops ---

  // Loops as bits of a set: the larger ones get a bit each, the small ones (mostly spin loops, whose only value of
  // their own is a predicate) share the rest.
  void name_loops() {
    std::vector<uint32_t> order(graph_.loops.size());
    for (uint32_t n = 0; n < order.size(); ++n) order[n] = n;
    std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
      return graph_.loops[a].end - graph_.loops[a].head > graph_.loops[b].end - graph_.loops[b].head;
    });
    loop_bit_.assign(graph_.loops.size(), 0);
    for (size_t n = 0; n < order.size(); ++n) loop_bit_[order[n]] = n < 62 ? uint64_t{1} << n : kSharedLoops;
    loop_set_.assign(graph_.loops.size(), 0);
    for (uint32_t n = 0; n < graph_.loops.size(); ++n) {
      const uint32_t parent = graph_.loops[n].parent;
      loop_set_[n] = loop_bit_[n] | (parent == kNone ? 0 : loop_set_[parent]);
    }
  }

  uint64_t loops_of(uint32_t block) const {
    const uint32_t loop = graph_.blocks[block].loop;
    return loop == kNone ? 0 : loop_set_[loop];
  }

  uint32_t headed(uint32_t block) const { return warp::headed(graph_, block); }

  void run_range(uint32_t begin, uint32_t end, uint32_t inside, unsigned depth) {
    for (uint32_t b = begin; b < end && !stopped_;) {
      const uint32_t loop = headed(b);
      if (loop != kNone && loop != inside) {
        run_loop(loop, depth + 1);
        b = graph_.loops[loop].end;
      } else {
        run_block(b);
        ++b;
      }
    }
  }

  void run_loop(uint32_t loop, unsigned depth) {
    const kernel::Loop& l = graph_.loops[loop];
    if (depth > kMaxLoopDepth) {
      uncertain(l.head, "loops are nested too deeply to be followed");
      return;
    }
    if (states_[l.head].empty() && !l.irreducible) return;
    std::vector<Event> earlier;
    if (!l.irreducible && unroll(loop, depth, earlier)) return;
    rounds_[l.head] = 0;
    do {
      changed_[l.head] = false;
      if (!l.irreducible) {
        for (uint32_t b = l.head + 1; b < l.end; ++b) {
          states_[b].clear();
          events_[b].clear();
        }
      }
      run_block(l.head);
      run_range(l.head + 1, l.end, loop, depth);
      if (++rounds_[l.head] >= kMaxRounds && changed_[l.head]) {
        uncertain(l.head, "this loop's values did not settle within the budget");
        break;
      }
    } while (changed_[l.head] && !stopped_);
    prepend(l, std::move(earlier));
  }

  // Follows a loop time by time as long as each time certainly goes round again: no path leaves it, and one state comes
  // back. True when the loop ended that way; else the head's states are where joining has to start, and `events` are
  // those of the times before.
  bool unroll(uint32_t loop, unsigned depth, std::vector<Event>& events) {
    const kernel::Loop& l = graph_.loops[loop];
    const uint64_t first_step = out_.graph.steps;
    for (unsigned time = 0; states_[l.head].size() <= kMaxUnrolledStates && !states_[l.head].empty(); ++time) {
      if (time >= kMaxUnrolled || out_.graph.steps - first_step > kMaxUnrolledSteps || stopped_) break;
      const uint32_t lanes = states_[l.head].front().waiting[0].lanes;
      caught_.push_back({loop, {}, {}});
      for (uint32_t b = l.head + 1; b < l.end; ++b) {
        states_[b].clear();
        events_[b].clear();
      }
      run_block(l.head);
      run_range(l.head + 1, l.end, loop, depth);
      Caught caught = std::move(caught_.back());
      caught_.pop_back();
      if (caught.again.empty()) {  // it ends here
        prepend(l, std::move(events));
        for (Leaving& out : caught.left) deliver(std::move(out.state), out.node, out.decision);
        return true;
      }
      std::vector<State> next;
      if (!caught.left.empty() || !go_round(std::move(caught.again), l.head, lanes, next)) {
        break;  // this time was not certain: joining starts with the states it started from
      }
      for (uint32_t b = l.head; b < l.end; ++b) {
        events.insert(events.end(), events_[b].begin(), events_[b].end());
        events_[b].clear();
      }
      states_[l.head] = std::move(next);
    }
    return false;
  }

  // What comes back to a loop's head, as the states that the next time round starts from: paths stay apart that differ
  // in what the protocol tells apart; others must not differ in any value. False when that is not so.
  bool go_round(std::vector<Leaving> again, uint32_t head, uint32_t lanes, std::vector<State>& out) {
    for (Leaving& a : again) {
      State& s = a.state;
      if (s.waiting.size() > 1 || s.waiting[0].lanes != lanes) return false;
      s.waiting.front().again = false;
      State* existing = partner(out, s);
      if (existing != nullptr) {
        if (existing->registers != s.registers || !(existing->memory.cells() == s.memory.cells())) return false;
        existing->facts.join(s.facts);
        if (merge_protocol(existing->protocol, s.protocol)) existing->pictures = {};
        continue;
      }
      uint32_t start = a.node;
      while (out_.graph.nodes[start].block != head) start = out_.graph.nodes[start].from;
      Node node = out_.graph.nodes[start];
      node.from = start;
      s.node = static_cast<uint32_t>(out_.graph.nodes.size());
      out_.graph.nodes.push_back(node);
      out.push_back(std::move(s));
    }
    return out.size() <= kMaxUnrolledStates;
  }

  void prepend(const kernel::Loop& l, std::vector<Event> events) {
    if (events.empty()) return;
    std::vector<Event>& list = events_[l.head];
    events.insert(events.end(), list.begin(), list.end());
    list = std::move(events);
  }

  // --- states ---

  void wait(std::vector<Waiting>& list, uint32_t from, uint32_t block, uint32_t lanes) const {
    add_waiting(graph_, list, from, block, lanes);
  }

  // The registers that any waiting lanes still need.
  const std::vector<uint32_t>* live_of(const std::vector<Waiting>& waiting) {
    if (waiting.size() == 1) return &program_.code[waiting[0].block].live_in;
    std::vector<uint32_t> blocks;
    blocks.reserve(waiting.size());
    for (const Waiting& w : waiting) blocks.push_back(w.block);
    std::vector<uint32_t>& live = live_[blocks];  // a map: its elements stay where they are
    if (live.empty()) {
      std::vector<uint32_t> more;
      for (uint32_t b : blocks) {
        const std::vector<uint32_t>& in = program_.code[b].live_in;
        more.clear();
        std::set_union(live.begin(), live.end(), in.begin(), in.end(), std::back_inserter(more));
        live.swap(more);
      }
    }
    return &live;
  }

  void fetch_live(State& s) {
    s.live = live_of(s.waiting);
    const size_t count = s.live->size();
    s.registers.resize(count);
    for (size_t n = 0; n < count; ++n) s.registers[n] = machine_.registers[(*s.live)[n]];
  }

  static bool same_kind(const State& a, const State& b) {
    const Protocol& p = a.protocol;
    const Protocol& q = b.protocol;
    return a.waiting == b.waiting && a.later == b.later && p.held == q.held && p.smallest == q.smallest &&
           p.relinquished == q.relinquished && p.exited == q.exited && p.loads.empty() == q.loads.empty() &&
           p.stores.empty() == q.stores.empty() && p.unknown_dealloc == q.unknown_dealloc;
  }

  // Whether two states come from different decisions about what is the same in all rounds of all loops.
  bool differs_for_good(const State& a, const State& b) const {
    return std::any_of(a.facts.list().begin(), a.facts.list().end(), [&](const Fact& f) {
      if (f.per_lane || terms_[f.term].width != 1 || terms_[f.term].loops != 0 || f.interval.low != f.interval.high)
        return false;
      const Fact* other = b.facts.find(f.term);
      return other != nullptr && other->interval.low == other->interval.high && other->interval != f.interval;
    });
  }

  // The state that another one is merged with, if any: the one that decided the most alike.
  State* partner(std::vector<State>& states, const State& s) const {
    State* found = nullptr;
    size_t least = SIZE_MAX;
    size_t alike = 0;  // as far as the protocol goes
    for (State& existing : states) {
      if (!same_kind(existing, s)) continue;
      ++alike;
      // Counters that begin from different numbers, as those of what an unrolled loop leaves do, are counted by the
      // rounds as long as they are kept apart.
      if (!setting_.apart && (!setting_.by_rounds || !differs_for_good(existing, s))) return &existing;
      const size_t differences = existing.facts.differences(s.facts);
      if (differences >= least) continue;
      // While there is room for more, only one that decided the same.
      if (setting_.apart && differences != 0 && states.size() < kMaxApart) continue;
      found = &existing;
      least = differences;
    }
    return !setting_.apart && alike < kMaxCounted ? nullptr : found;
  }

  uint64_t kind_hash(const State& s) const {
    uint64_t h = setting_.by_rounds ? 0x7654321 : 0x1234567;
    auto mix = [&](uint64_t n) { h = (h ^ n) * 0x9e3779b97f4a7c15u + (h >> 29); };
    mix(s.later);
    for (const Waiting& w : s.waiting) mix((uint64_t{w.block} << 33) | (uint64_t{w.again} << 32) | w.lanes);
    for (const Held& held : s.protocol.held) mix((uint64_t{held.term} << 8) | held.live);
    mix(static_cast<uint64_t>(s.protocol.smallest));
    mix(s.protocol.relinquished);
    mix(s.protocol.exited);
    mix((s.protocol.loads.empty() ? 0 : 1) + (s.protocol.stores.empty() ? 0 : 2) +
        (s.protocol.unknown_dealloc ? 4 : 0));
    return h;
  }

  void deliver(State&& s, uint32_t from_node, int8_t decision) {
    const uint32_t b = s.waiting.front().block;
    const uint32_t head = headed(b);
    if (!caught_.empty() && !graph_.in_loop(b, caught_.back().loop)) {
      caught_.back().left.push_back({std::move(s), from_node, decision});
      return;
    }
    if (!caught_.empty() && caught_.back().loop == head && s.waiting.front().again) {
      std::vector<Leaving>& again = caught_.back().again;
      if (again.size() <= kMaxUnrolledStates) again.push_back({std::move(s), from_node, decision});
      return;
    }
    bool is_second = false;
    if (setting_.by_rounds) {
      s.later &= loops_of(b);
      is_second = head != kNone && (s.later & loop_bit_[head]) == 0;
      // The small loops share a bit.
      if (head != kNone && loop_bit_[head] != kSharedLoops) {
        s.later = s.waiting.front().again ? s.later | loop_bit_[head] : s.later & ~loop_bit_[head];
      }
    }
    const uint64_t kind = kind_hash(s);
    current_join_block_ = b;
    listing_changed_ = false;
    if (head != kNone) {
      const bool again = s.waiting.front().again;
      s.waiting.front().again = false;
      rename(s, b, loop_bit_[head], kind, again, is_second);
    }
    if (State* existing = partner(states_[b], s)) {
      const bool changed = merge(*existing, std::move(s), b, head != kNone, kind);
      if (changed) changed_[b] = true;
      return;
    }
    if (states_[b].size() >= kMaxStates) {
      uncertain(b, "too many different states reach this point");
      return;
    }
    Node node;
    node.block = b;
    node.lanes = s.waiting.front().lanes;
    node.from = from_node;
    node.decision = decision;
    s.node = static_cast<uint32_t>(out_.graph.nodes.size());
    out_.graph.nodes.push_back(node);
    changed_[b] = true;
    states_[b].push_back(std::move(s));
  }

  // At a loop's head, what the last time round computed becomes "the value at the head".
  void rename(State& s, uint32_t head, uint64_t bit, uint64_t kind, bool again, bool is_second) {
    const bool counts = setting_.by_rounds && again && (s.later & bit) != 0;
    // The state before the first time round.
    const State* first = nullptr;
    for (const State& other : states_[head]) {
      if (!counts || (other.later & bit) != 0 || other.live != s.live || differs_for_good(other, s)) continue;
      if (first != nullptr) {  // there are several
        first = nullptr;
        break;
      }
      first = &other;
    }
    auto renamed = [&](const Value& v, uint64_t part, unsigned width, const Value* before) {
      if ((terms_.loops(v) & bit) == 0) return counts ? by_rounds(v, head, part, width, before) : v;
      // One round more has been gone than when it was computed.
      const uint64_t step = counts && !not_counters_.contains({head, part}) ? growth(v, head, bit) : 0;
      if (step != 0) return minus(v, Value::of(step), width);
      return joined(head, part, kind, width, {}, v, s.facts, bit);
    };
    for (size_t n = 0; n < s.registers.size(); ++n) {
      Value& v = s.registers[n];
      if ((terms_.loops(v) & bit) == 0 && !counts) continue;
      const uint32_t r = (*s.live)[n];
      v = renamed(v, r, program_.register_width[r], first == nullptr ? nullptr : &first->registers[n]);
    }
    bool any = counts;
    for (const Cell& c : s.memory.cells()) any = any || (terms_.loops(c.value) & bit) != 0;
    if (any) {
      std::vector<Cell> cells = s.memory.cells();
      for (Cell& c : cells) {
        const Cell* before = nullptr;
        if (first != nullptr) {
          const std::vector<Cell>& all = first->memory.cells();
          const auto at = std::lower_bound(all.begin(), all.end(), c.address,
                                           [](const Cell& other, uint64_t a) { return other.address < a; });
          if (at != all.end() && at->address == c.address && at->bytes == c.bytes) before = &*at;
        }
        c.value = renamed(c.value, kMemoryPart | c.address, c.bytes * 8u, before == nullptr ? nullptr : &before->value);
      }
      s.memory.replace(std::move(cells));
    }
    const Facts before = s.facts;
    s.facts.forget(terms_, bit);
    if (counts) {
      keep_facts(s.facts, before, head, bit);
      // Its second time round, or a later one.
      s.facts.set(rounds_of(head).base, is_second ? Interval{0, 0} : Interval{1, kMostRounds});
    }
    auto forget = [&](auto& pending) {
      if ((terms_.loops(pending.address) & bit) == 0) return;
      pending.address = somewhere(pending.step, bit);
      s.pictures = {};
    };
    std::for_each(s.protocol.loads.begin(), s.protocol.loads.end(), forget);
    std::for_each(s.protocol.stores.begin(), s.protocol.stores.end(), forget);
  }

  Value somewhere(uint32_t step, uint64_t bit) {
    return terms_.opaque((uint64_t{5} << 60) | step, setting_.warp, Uniformity::kWarp, bit, 32);
  }

  static constexpr uint64_t kMemoryPart = uint64_t{1} << 62;
  static constexpr int64_t kMostRounds = 0x7fffff;  // nothing goes round more often than 8 million times

  // What tells the joins of one warp of one CTA from those of another.
  [[nodiscard]] uint64_t owner() const { return (uint64_t{setting_.warp} << 48) ^ (uint64_t{setting_.rank} << 56); }

  // A place at a block that holds `a` (when given) or `b`. What differs from lane to lane in the same way in both stays
  // apart from what the paths differ in.
  Value joined(uint32_t block, uint64_t part, uint64_t kind, unsigned width, const std::optional<Value>& a,
               const Value& b, const Facts& facts, uint64_t bit) {
    const auto has_uniform_rest = [&](const Value& v) {
      return v.plain == 0 && v.table == b.table && terms_[v.base].uniformity != Uniformity::kLane;
    };
    if (b.table == 0 || !has_uniform_rest(b) || (a && !has_uniform_rest(*a))) {
      return joined_of(block, part, kind, width, a, b, facts, bit);
    }
    const Value lanes = terms_.from_lanes(terms_.offsets(b), width);
    std::optional<Value> a_rest = a;
    if (a) a_rest->table = 0;
    Value b_rest = b;
    b_rest.table = 0;
    // Another table is another question at this place.
    const uint64_t name = kind ^ (uint64_t{b.table} * 0x9e3779b97f4a7c15u);
    return plus(joined_of(block, part, name, width, a_rest, b_rest, facts, bit), lanes, width);
  }

  // The join term of a place at a block, with `a` (when given) and `b` among its values.
  Value joined_of(uint32_t block, uint64_t part, uint64_t kind, unsigned width, const std::optional<Value>& a,
                  const Value& b, const Facts& facts, uint64_t bit) {
    // What a join is called by: the block, the kind of path, and what is certain about it.
    Uniformity u = Uniformity::kWarp;
    constexpr unsigned kMostLowZeros = 16;
    uint64_t ones = uint64_t{1} << kMostLowZeros;
    uint64_t reach = 0;  // the bits that one of the values may have
    uint64_t site = (uint64_t{block} << 32) ^ kind;
    const uint64_t place = ((part << 8) ^ owner()) << 8;
    bool small = width == 32;
    const auto is_small = [&](const Value& v, uint64_t own) {
      if ((own & ~kCounterBits) == 0 || (bit != 0 && counts_up(v, site ^ kCounterSite, place, bit))) return true;
      return bit != 0 && a && v != *a && is_step(minus(v, *a, width), bit);
    };
    auto look_at = [&](const Value& v) {
      if (terms_.uniformity(v) == Uniformity::kLane) u = Uniformity::kLane;
      uint64_t own = v.table != 0 ? ~uint64_t{0} : ~terms_.zero_bits(v, based_lane(v));
      if (v.plain != 0) own |= v.number;
      ones |= own;
      reach |= (own & ~kStageBits) == 0 ? own : bits_of_all(v, own, facts, bit, width);
      small = small && is_small(v, own);
    };
    if (a) look_at(*a);
    look_at(b);
    const auto low_zeros = static_cast<unsigned>(std::countr_zero(ones));
    // Indexes of stages and offsets in columns stay what they are when they are added to an address: they do not reach
    // its lanes.
    const unsigned size = (reach & ~kStageBits) == 0 ? 0 : (reach & ~kColumnBits) == 0 ? 1 : 2;
    const bool counter = small && size == 2;
    const uint64_t above = size == 0 ? ~kStageBits : size == 1 ? ~kColumnBits : counter ? ~kCounterBits : 0;
    if (counter) site ^= kCounterSite;
    const uint64_t certain = low_zeros + uint64_t{size} * (kMostLowZeros + 1);
    const uint64_t name = place ^ (static_cast<uint64_t>(u) << 6) ^ certain;
    const uint32_t join = terms_.join(site, name, loops_of(block) | bit, width);
    Term& term = terms_.mutable_term(join);
    if (term.generation == 0) {
      term.generation = 1;
      term.uniformity = u;
      term.listed = u != Uniformity::kLane;
      term.zero_bits = truncate(~uint64_t{0}, low_zeros) | above | ~truncate(~uint64_t{0}, width);
    }
    // What was taken to go by the number of rounds is something else after all: from now on it is listed.
    const bool counts = bit != 0 && setting_.by_rounds;
    const bool a_grows = counts && a && growth(*a, block, bit) != 0;
    const bool b_grows = counts && growth(b, block, bit) != 0;
    if (a_grows || b_grows) {
      not_counters_.insert({block, part});
      listing_changed_ = true;
    }
    if (a && !a_grows) add(join, *a, facts, bit, width);
    if (!b_grows) add(join, b, facts, bit, width);
    Value v;
    v.base = join;
    return v;
  }

  static constexpr uint64_t kStageBits = 0x3f;     // of the index of a stage
  static constexpr uint64_t kColumnBits = 0xffff;  // of a column in an address of Tensor Memory (ISA 9.7.16.1)

  // What starts in these bits and goes up by a number in them each time round a loop is taken to stay in them: nothing
  // counts further than that.
  static constexpr uint64_t kCounterBits = 0x3fffffff;
  static constexpr uint64_t kLargestStep = 0xffff;            // that is a number
  static constexpr uint64_t kCounterSite = 0x636f756e746572;  // of the joins of such values

  // Whether a value is that of a place the last time round, the join of that site, and a step.
  bool counts_up(const Value& value, uint64_t site, uint64_t place, uint64_t bit) const {
    for (const Terms::Part part : terms_.parts(value.base)) {
      const Term& term = terms_[part.term];
      if (term.kind != TermKind::kJoin || term.site != site || ((term.part ^ place) >> 8) != 0) continue;
      return part.coefficient == 1 && is_step(value, bit, part.term);
    }
    return false;
  }

  // Whether a value, apart from one of its terms, is what a counter may go up by.
  bool is_step(const Value& value, uint64_t bit, uint32_t apart = 0) const {
    if (value.number > kLargestStep || value.table != 0 || value.plain != 0) return false;
    uint64_t most = value.number;
    for (const Terms::Part part : terms_.parts(value.base)) {
      const Term& term = terms_[part.term];
      if (part.term == apart) continue;
      uint64_t step = 0;
      if ((term.loops & bit) != 0 || __builtin_mul_overflow(~term.zero_bits, part.coefficient, &step) ||
          __builtin_add_overflow(most, step, &most) || most > kCounterBits) {
        return false;
      }
    }
    return true;
  }

  // A lane in which a value is more than a number, if there is one.
  static unsigned based_lane(const Value& v) {
    return v.plain == kAllLanes ? 0 : static_cast<unsigned>(std::countr_zero(~v.plain));
  }

  // The bits that any of the numbers of a value has, which may have `own` as far as its form tells. What comes from the
  // round before and cannot be listed may be anything.
  uint64_t bits_of_all(const Value& value, uint64_t own, const Facts& facts, uint64_t bit, unsigned width) const {
    if (value.base == 0 || value.table != 0) return own;
    if (const auto numbers = terms_.enumerate(value, based_lane(value), width, FactsFilter(terms_, facts))) {
      uint64_t bits = value.plain != 0 ? value.number : 0;
      for (uint64_t n : *numbers) bits |= n;
      return bits & own;
    }
    return (terms_.loops(value) & bit) != 0 ? ~uint64_t{0} : own;
  }

  // How often the loop of a head has been gone round after its second time.
  Value rounds_of(uint32_t head) {
    const uint32_t rounds = terms_.join((uint64_t{head} << 32) ^ owner(), kRoundsPart, loops_of(head), 32);
    Term& term = terms_.mutable_term(rounds);
    term.uniformity = Uniformity::kWarp;
    term.zero_bits = ~static_cast<uint64_t>(kMostRounds);
    return terms_.with_base({}, rounds);
  }

  // By how much a value grows with each round, where that is all that makes it one of this loop's values; else 0.
  uint64_t growth(const Value& value, uint32_t head, uint64_t bit) {
    if (value.plain != 0) return 0;
    const uint32_t rounds = rounds_of(head).base;
    uint64_t out = 0;
    for (const Terms::Part part : terms_.parts(value.base)) {
      if (part.term == rounds) {
        out = part.coefficient;
      } else if ((terms_[part.term].loops & bit) != 0) {
        return 0;
      }
    }
    return out;
  }

  Value times(const Value& value, uint64_t factor, unsigned width) {
    return terms_.apply({Op::kMul, static_cast<uint8_t>(width), false, 0}, value, Value::of(factor));
  }
  Value plus(const Value& a, const Value& b, unsigned width) {
    return terms_.apply({Op::kAdd, static_cast<uint8_t>(width), false, 0}, a, b);
  }
  Value minus(const Value& a, const Value& b, unsigned width) {
    return terms_.apply({Op::kSub, static_cast<uint8_t>(width), false, 0}, a, b);
  }

  // What was known of counters in the round that is over, said in rounds as they are counted now.
  void keep_facts(Facts& facts, const Facts& before, uint32_t head, uint64_t bit) {
    for (const Fact& fact : before.list()) {
      const Term& term = terms_[fact.term];
      if ((term.loops & bit) == 0 || fact.per_lane || fact.interval.low != fact.interval.high) continue;
      const Operation o = term.operation;
      if (term.kind != TermKind::kPure || (o.op != Op::kLt && o.op != Op::kEq)) continue;
      Value args[2];
      bool counter = false;
      bool known = true;
      for (size_t n = 0; n < 2; ++n) {
        const Value arg = term.args[n];
        const uint64_t step = arg.table != 0 ? 0 : growth(arg, head, bit);
        counter = counter || step != 0;
        known = known && (step != 0 || (terms_.loops(arg) & bit) == 0);
        args[n] = step != 0 ? minus(arg, Value::of(step), o.width) : arg;
      }
      if (!counter || !known) continue;
      const Value now = terms_.apply(o, args, 2);
      const Terms::Parts parts = terms_.parts(now.base);
      if (parts.size() != 1 || now.table != 0 || now.plain != 0) continue;
      const bool inverse = parts[0].coefficient != 1;
      assume(terms_, facts, parts[0].term, (fact.interval.low != 0) != inverse);
    }
  }

  // What a value at a loop's head, come back from the first time round, will be after so many rounds more: if it is a
  // step away from what it was before.
  Value by_rounds(const Value& value, uint32_t head, uint64_t part, unsigned width, const Value* first) {
    if (first == nullptr || *first == value || not_counters_.contains({head, part})) return value;
    const Value step = minus(value, *first, width);
    if (!step.constant() || step.number == 0) return value;
    return plus(value, times(rounds_of(head), step.number, width), width);
  }

  // Adds what a value may be to a join's list, or gives up listing.
  void add(uint32_t join, const Value& value, const Facts& facts, uint64_t bit, unsigned width) {
    Term& term = terms_.mutable_term(join);
    if (!term.listed) return;
    if (value.base == join && value.number == 0) return;
    auto give_up = [&] {
      term.listed = false;
      term.set.clear();
      terms_.list_changed();
      listing_changed_ = true;
    };
    if (rounds_[current_join_block_] > kListRounds) return give_up();
    if (terms_.uniformity(value) == Uniformity::kLane) return give_up();
    std::vector<Value> values;
    const bool own = mentions(value, join);
    if ((terms_.loops(value) & bit) == 0 && !own && terms_[value.base].depth < 8) {
      values.push_back(value);
    } else if (value.base == join && value.number != 0) {
      // A counter: worth listing only when the facts bound it.
      const Interval i = interval_of(terms_, facts, terms_.with_base(Value{}, join), width);
      const int64_t step = sign_extend(value.number, width);
      if (i.low == INT64_MIN || i.high == INT64_MAX || (i.high - i.low) / (step < 0 ? -step : step) > 16)
        return give_up();
      std::optional<std::vector<uint64_t>> numbers = terms_.enumerate(value, 0, width, FactsFilter(terms_, facts));
      if (!numbers) return give_up();
      for (uint64_t n : *numbers) values.push_back(Value::of(n));
    } else {
      std::optional<std::vector<uint64_t>> numbers = terms_.enumerate(value, 0, width, FactsFilter(terms_, facts));
      if (!numbers) return give_up();
      for (uint64_t n : *numbers) values.push_back(Value::of(n));
    }
    for (const Value& v : values) {
      if (std::find(term.set.begin(), term.set.end(), v) != term.set.end()) continue;
      term.set.push_back(v);
      terms_.list_changed();
      listing_changed_ = true;
      if (term.set.size() > kMaxListed) return give_up();
    }
  }

  bool mentions(const Value& value, uint32_t join) const {
    return std::ranges::any_of(terms_.parts(value.base), [join](Terms::Part part) { return part.term == join; });
  }

  // What holds on both paths. One may know as numbers what the other one knows as a comparison.
  void join_facts(Facts& facts, const Facts& other) {
    if (!setting_.by_rounds) return facts.join(other);
    std::vector<std::pair<uint32_t, Interval>> implied;
    auto follow = [&](const Facts& from, const Facts& in) {
      for (const Fact& f : from.list()) {
        const Term& term = terms_[f.term];
        if (f.per_lane || in.find(f.term) != nullptr) continue;
        if (term.width == 1 && term.kind == TermKind::kPure) {
          const std::optional<bool> known = decide(terms_, in, f.term);
          const int64_t truth = known && *known ? 1 : 0;
          if (known && f.interval == Interval{truth, truth}) implied.emplace_back(f.term, f.interval);
          continue;
        }
        const Interval other_one = interval_of(terms_, in, terms_.with_base({}, f.term), term.width);
        const Interval both{std::min(f.interval.low, other_one.low), std::max(f.interval.high, other_one.high)};
        if (both != Interval{}) implied.emplace_back(f.term, both);
      }
    };
    follow(facts, other);
    follow(other, facts);
    facts.join(other);
    for (const auto& [term, interval] : implied) facts.set(term, interval);
  }

  // `existing` becomes what holds of both; true when that changed it.
  bool merge(State& existing, State&& s, uint32_t block, bool head, uint64_t kind) {
    bool changed = false;
    const uint64_t bit = head ? loop_bit_[headed(block)] : 0;
    const uint32_t truth = head ? 0 : existing.facts.opposite(s.facts);
    const bool in_existing = truth != 0 && existing.facts.find(truth)->interval.low != 0;
    auto combine = [&](const Value& a, const Value& b, uint64_t part, unsigned width) -> Value {
      if (truth != 0 && terms_[a.base].depth < 6 && terms_[b.base].depth < 6) {
        Value condition;
        condition.base = truth;
        const Value args[3] = {condition, in_existing ? a : b, in_existing ? b : a};
        return terms_.apply({Op::kSelect, static_cast<uint8_t>(width), false, 0}, args, 3);
      }
      return joined(block, part, kind, width, a, b, s.facts, bit);
    };
    for (size_t n = 0; n < existing.registers.size(); ++n) {
      Value& a = existing.registers[n];
      const Value& b = s.registers[n];
      if (a == b) continue;
      const uint32_t r = (*existing.live)[n];
      const Value v = combine(a, b, r, program_.register_width[r]);
      changed = changed || v != a;
      a = v;
    }
    if (!existing.memory.same(s.memory)) changed = merge_memory(existing, s, combine) || changed;
    const Facts before = existing.facts;
    join_facts(existing.facts, s.facts);
    changed = changed || !(before == existing.facts);
    if (merge_protocol(existing.protocol, s.protocol)) {
      existing.pictures = {};
      changed = true;
    }
    return changed || listing_changed_;
  }

  template <typename F>
  bool merge_memory(State& existing, const State& s, F&& combine) {
    std::vector<Cell> out;
    const std::vector<Cell>& a = existing.memory.cells();
    const std::vector<Cell>& b = s.memory.cells();
    bool changed = false;
    size_t m = 0;
    for (const Cell& c : a) {
      while (m < b.size() && b[m].address < c.address) ++m;
      if (m == b.size() || b[m].address != c.address || b[m].bytes != c.bytes) {
        changed = true;  // written on one path only: not known
        continue;
      }
      Cell both = c;
      both.lanes |= b[m].lanes;
      if (c.value != b[m].value) both.value = combine(c.value, b[m].value, kMemoryPart | c.address, c.bytes * 8u);
      changed = changed || both.value != c.value;
      out.push_back(both);
    }
    if (changed) existing.memory.replace(std::move(out));
    return changed;
  }

  // The first pending load that is not before `load`.
  static std::vector<PendingLoad>::iterator pending_from(std::vector<PendingLoad>& loads, uint32_t load) {
    return std::lower_bound(loads.begin(), loads.end(), load,
                            [](const PendingLoad& p, uint32_t l) { return p.load < l; });
  }

  static bool merge_protocol(Protocol& a, const Protocol& b) {
    bool changed = false;
    for (const PendingLoad& p : b.loads) {
      auto at = pending_from(a.loads, p.load);
      if (at == a.loads.end() || at->load != p.load) {
        a.loads.insert(at, p);
        changed = true;
        continue;
      }
      const uint32_t used = at->used & p.used;
      changed = changed || used != at->used;
      at->used = used;
    }
    for (const PendingStore& p : b.stores) {
      if (a.stores.size() < 256) changed = add_store(a.stores, p) || changed;
    }
    return changed;
  }

  static bool add_store(std::vector<PendingStore>& stores, const PendingStore& p) {
    const auto [first, last] = std::equal_range(
        stores.begin(), stores.end(), p, [](const PendingStore& x, const PendingStore& y) { return x.step < y.step; });
    if (std::any_of(first, last, [&](const PendingStore& q) { return q.address == p.address; })) return false;
    stores.insert(last, p);
    return true;
  }

  // --- running a block ---

  void run_block(uint32_t b) {
    if (!straight_[b]) events_[b].clear();
    // States that arrive at the block while it runs (a loop of one block) are seen in the next round.
    const size_t count = states_[b].size();
    for (size_t n = 0; n < count && !stopped_; ++n) {
      run_state(b, states_[b][n]);
    }
  }

  void run_state(uint32_t b, const State& s) {
    // Copied, since what is delivered may move the block's states.
    std::vector<Waiting> waiting = s.waiting;
    for (size_t n = 0; n < s.registers.size(); ++n) machine_.registers[(*s.live)[n]] = s.registers[n];
    machine_.memory = s.memory;
    machine_.facts = s.facts;
    machine_.active = waiting.front().lanes;
    machine_.loops = loops_of(b);
    protocol_ = s.protocol;
    node_ = s.node;
    later_ = s.later;
    block_ = b;
    pictures_ = s.pictures;
    for (;;) {
      const Code& code = program_.code[b];
      for (uint32_t n = code.first; n < code.last;) {
        if (const uint32_t straight = program_.steps[n].straight; straight != kNone) {
          machine_.run(program_.straights[straight]);
          n = program_.straights[straight].last;
        } else {
          run_step(n++);
        }
      }
      out_.graph.steps += code.last - code.first + 1;
      if (out_.graph.steps > setting_.step_budget) {
        stopped_ = true;
        uncertain(b, "the kernel takes more steps to follow than are left of the budget");
        return;
      }
      if (!leave(b, waiting)) return;
      // The one block that follows has no other way in: nothing can meet this state there.
      b = waiting.front().block;
      machine_.active = waiting.front().lanes;
      machine_.loops = loops_of(b);
      Node node;
      node.block = b;
      node.lanes = machine_.active;
      node.from = node_;
      node_ = static_cast<uint32_t>(out_.graph.nodes.size());
      out_.graph.nodes.push_back(node);
      block_ = b;
    }
  }

  // Whether the lanes in front go straight on from block `b`.
  bool goes_on(uint32_t b, const std::vector<Waiting>& waiting) const {
    const Waiting& front = waiting.front();
    if (!straight_[front.block]) return false;
    const uint32_t* next = next_begin(program_, b);
    if (std::find(next, next + next_count(program_, b), front.block) == next + next_count(program_, b)) return false;
    return caught_.empty() || graph_.in_loop(front.block, caught_.back().loop);
  }

  // Sends the states on that leave a block. True when there is one, and it is in the machine, with `waiting` as its
  // lanes.
  bool leave(uint32_t b, std::vector<Waiting>& waiting) {
    const Block& block = graph_.blocks[b];
    const uint32_t lanes = machine_.active;
    std::vector<Waiting> others(waiting.begin() + 1, waiting.end());
    if (program_.code[b].skip_to != kNone) {
      wait(others, b, program_.code[b].skip_to, lanes);
      if (goes_on(b, others)) {
        waiting = std::move(others);
        return true;
      }
      go(std::move(others), -1, true);
      return false;
    }
    switch (block.ending) {
      case Ending::kTrap:
        return false;
      case Ending::kExit: {
        Event& e = event(Event::Kind::kExit, kNone, lanes, picture(kPendingLoads));
        e.instruction = block.ender;
        change().exited |= lanes;
        if (!others.empty()) go(std::move(others), -1, true);
        return false;
      }
      case Ending::kJump:
        if (block.successors.empty()) return false;
        wait(others, b, block.successors[0], lanes);
        break;
      case Ending::kBranch:
        if (branch(b, block, others, lanes)) return false;
        break;
      case Ending::kIndexed:
        indexed(b, block, others, lanes);
        return false;
    }
    if (goes_on(b, others)) {
      waiting = std::move(others);
      return true;
    }
    go(std::move(others), -1, true);
    return false;
  }

  // The last to leave a block takes the machine's state along: the next run_state sets it anew.
  void go(std::vector<Waiting> waiting, int8_t decision, bool is_last = false) {
    State next;
    next.waiting = std::move(waiting);
    next.pictures = pictures_;
    next.later = later_;
    if (is_last) {
      next.memory = std::move(machine_.memory);
      next.facts = std::move(machine_.facts);
      next.protocol = std::move(protocol_);
    } else {
      next.memory = machine_.memory;
      next.facts = machine_.facts;
      next.protocol = protocol_;
    }
    fetch_live(next);
    deliver(std::move(next), node_, decision);
  }

  // Blocks from which every path ends in a trap.
  void find_traps() {
    traps_.assign(graph_.blocks.size(), false);
    bool changed = true;
    while (changed) {
      changed = false;
      for (size_t b = graph_.blocks.size(); b-- > 0;) {
        const Block& block = graph_.blocks[b];
        if (traps_[b]) continue;
        const bool ends = block.ending == Ending::kTrap;
        if (!ends && (block.successors.empty() || !std::all_of(block.successors.begin(), block.successors.end(),
                                                               [&](uint32_t s) { return traps_[s]; })))
          continue;
        traps_[b] = changed = true;
      }
    }
  }

  // Blocks with one way in, outside loops that have several entries.
  void find_straight() {
    std::vector<uint8_t> ways(graph_.blocks.size(), 0);
    ways[0] = 2;  // the kernel's entry
    for (uint32_t b = 0; b < graph_.blocks.size(); ++b) {
      const uint32_t* next = next_begin(program_, b);
      for (size_t n = 0; n < next_count(program_, b); ++n)
        ways[next[n]] = static_cast<uint8_t>(std::min(2, ways[next[n]] + 1));
    }
    straight_.assign(graph_.blocks.size(), false);
    for (uint32_t b = 0; b < graph_.blocks.size(); ++b) {
      bool inside_irreducible = false;
      for (uint32_t l = graph_.blocks[b].loop; l != kNone; l = graph_.loops[l].parent) {
        inside_irreducible = inside_irreducible || graph_.loops[l].irreducible;
      }
      straight_[b] = ways[b] == 1 && headed(b) == kNone && !inside_irreducible;
    }
  }

  void split(uint32_t b, const Block& block, const std::vector<Waiting>& others, uint32_t yes, uint32_t no,
             int8_t decision, bool is_last) {
    std::vector<Waiting> waiting = others;
    wait(waiting, b, block.successors[0], yes);
    wait(waiting, b, block.successors[1], no);
    go(std::move(waiting), decision, is_last);
  }

  // False when the branch is decided: `others` then has its lanes too.
  bool branch(uint32_t b, const Block& block, std::vector<Waiting>& others, uint32_t lanes) {
    Value p = machine_.read_register(program_.code[b].condition);
    if (block.condition_negated) p = terms_.apply({Op::kNot, 1, false, 0}, p);
    const Truth t = machine_.truth_of(p, lanes);
    if (t.unknown == 0 || block.successors[0] == block.successors[1]) {
      wait(others, b, block.successors[0], t.yes | t.unknown);
      wait(others, b, block.successors[1], t.no);
      return false;
    }
    const bool one = t.term != 0 && (terms_[t.term].uniformity != Uniformity::kLane || std::has_single_bit(t.unknown));
    if (traps_[block.successors[0]] != traps_[block.successors[1]]) {
      // A trap of any lane ends the grid: what happens behind a check happens where no lane failed it.
      const bool first_traps = traps_[block.successors[0]];
      if ((first_traps ? t.yes : t.no) != 0) return true;
      if (one) {
        if (!assume_undecided(terms_, machine_.facts, t.term, first_traps == t.inverted)) return true;
      } else if (t.term != 0) {
        machine_.facts.set_lanes(t.term, first_traps == t.inverted ? kAllLanes : 0);
      }
      wait(others, b, block.successors[first_traps ? 1 : 0], lanes);
      return false;
    }
    if (one) {
      Facts facts = machine_.facts;
      const auto go_one_way = [&](bool truth) {
        if (!assume_undecided(terms_, machine_.facts, t.term, truth)) return;
        const bool taken = truth != t.inverted;
        split(b, block, others, t.yes | (taken ? t.unknown : 0), t.no | (taken ? 0 : t.unknown), taken ? 1 : 0, !truth);
      };
      go_one_way(true);
      machine_.facts = std::move(facts);
      go_one_way(false);
      return true;
    }
    // Differs between lanes in a way that is not known: some go here, some go there.
    uint32_t half = 0;
    unsigned left = static_cast<unsigned>(std::popcount(t.unknown)) / 2;
    for (uint32_t rest = t.unknown; rest != 0 && left != 0; rest &= rest - 1, --left) half |= rest & (~rest + 1);
    if (t.term != 0) {
      machine_.facts.set_lanes(t.term, t.inverted ? ~half : half);
    }
    split(b, block, others, t.yes | half, t.no | (t.unknown & ~half), 1, true);
    return true;
  }

  void indexed(uint32_t b, const Block& block, const std::vector<Waiting>& others, uint32_t lanes) {
    const Value index = machine_.read_register(program_.code[b].condition);
    const auto first = static_cast<unsigned>(std::countr_zero(lanes));
    const bool same = terms_.uniform(index, lanes);
    std::optional<std::vector<uint64_t>> numbers;
    if (same) numbers = terms_.enumerate(terms_.lane(index, first), first, 32, FactsFilter(terms_, machine_.facts));
    const Facts facts = machine_.facts;
    if (!same && index.known()) {  // another target per lane, all known
      std::vector<Waiting> waiting = others;
      for (uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
        const uint64_t n = terms_.number_in(index, static_cast<unsigned>(std::countr_zero(rest)));
        if (n < block.successors.size()) wait(waiting, b, block.successors[n], rest & (~rest + 1));
      }
      if (!waiting.empty()) go(std::move(waiting), -1);
      return;
    }
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

  // --- steps and events ---

  // `before`: a picture of the state.
  Event& event(Event::Kind kind, uint32_t step, uint32_t lanes, uint32_t before) {
    Event e;
    e.kind = kind;
    e.block = block_;
    e.step = step;
    e.instruction = step == kNone ? kNone : program_.steps[step].instruction;
    e.lanes = lanes;
    e.node = node_;
    e.before = before;
    events_[block_].push_back(e);
    return events_[block_].back();
  }

  // The state as it is, with only those parts of what is pending that are of interest: hundreds of loads and stores in
  // a row would keep a square of it. Events share a picture until what it shows changes.
  uint32_t picture(unsigned of) {
    if (protocol_.loads.empty()) of &= ~kPendingLoads;
    if (protocol_.stores.empty()) of &= ~kPendingStores;
    uint32_t& known = pictures_.of[of];
    if (known != kNone) return known;
    std::vector<PendingLoad> loads;
    std::vector<PendingStore> stores;
    if ((of & kPendingLoads) == 0) loads.swap(protocol_.loads);
    if ((of & kPendingStores) == 0) stores.swap(protocol_.stores);
    const uint32_t number = keep_picture(protocol_);
    if ((of & kPendingLoads) == 0) loads.swap(protocol_.loads);
    if ((of & kPendingStores) == 0) stores.swap(protocol_.stores);
    return known = number;
  }

  // The same with some of the loads.
  template <typename F>
  uint32_t picture_with(unsigned of, F&& wants_load) {
    std::vector<PendingLoad> loads;
    std::copy_if(protocol_.loads.begin(), protocol_.loads.end(), std::back_inserter(loads), wants_load);
    if (loads.empty()) return picture(of);
    std::vector<PendingStore> stores;
    if ((of & kPendingStores) == 0) stores.swap(protocol_.stores);
    loads.swap(protocol_.loads);
    const uint32_t number = keep_picture(protocol_);
    loads.swap(protocol_.loads);
    if ((of & kPendingStores) == 0) stores.swap(protocol_.stores);
    return number;
  }

  uint32_t keep_picture(const Protocol& protocol) {
    const auto number = static_cast<uint32_t>(out_.graph.protocols.size());
    const size_t pending = protocol.loads.size() + protocol.stores.size();
    if (pending > pictured_left_) {
      uncertain(block_, "more loads and stores are pending here than waits can be followed for");
      Protocol& without = out_.graph.protocols.emplace_back();
      without.held = protocol.held;
      without.smallest = protocol.smallest;
      without.smallest_step = protocol.smallest_step;
      without.relinquished = protocol.relinquished;
      without.unknown_dealloc = protocol.unknown_dealloc;
      without.exited = protocol.exited;
      return number;
    }
    pictured_left_ -= pending;
    out_.graph.protocols.push_back(protocol);
    return number;
  }

  // What an instruction of Tensor Memory is held against.
  uint32_t picture_for(uint32_t step, const ptx::Form& form) {
    switch (form.op) {
      case ptx::Tcgen05::kLd:
      case ptx::Tcgen05::kLdRed:
        return picture_with(kPendingStores, [step](const PendingLoad& p) { return p.step == step; });
      case ptx::Tcgen05::kSt:
      case ptx::Tcgen05::kWaitLd:
        return picture(kPendingLoads);
      case ptx::Tcgen05::kMma:
      case ptx::Tcgen05::kMmaWs:
      case ptx::Tcgen05::kCp:
      case ptx::Tcgen05::kShift:
      case ptx::Tcgen05::kDealloc:
        return picture(kPendingLoads | kPendingStores);
      default:
        return picture(0);
    }
  }

  // The state of the protocol is about to change: the next event needs a picture of its own.
  Protocol& change() {
    pictures_ = {};
    return protocol_;
  }
  std::vector<PendingLoad>& change_loads() {
    for (unsigned of = 0; of < kPictures; ++of) {
      if ((of & kPendingLoads) != 0) pictures_.of[of] = kNone;
    }
    return protocol_.loads;
  }
  std::vector<PendingStore>& change_stores() {
    for (unsigned of = 0; of < kPictures; ++of) {
      if ((of & kPendingStores) != 0) pictures_.of[of] = kNone;
    }
    return protocol_.stores;
  }

  const Arg* arg(const Step& step, uint32_t n) const {
    return n < step.argument_count ? &program_.args[step.first_arg + n] : nullptr;
  }

  void run_step(uint32_t n) {
    const Step& step = program_.steps[n];
    if (step.kind == Step::Kind::kUse || step.kind == Step::Kind::kOverwrite) {
      marker(n, step);
      return;
    }
    if (step.kind == Step::Kind::kCopyIn) {
      machine_.execute(step, n);
      return;
    }
    const Meaning& m = machine_.meaning(step);
    switch (m.action) {
      case Action::kTcgen05:
      case Action::kMbarrier:
      case Action::kBarrier:
      case Action::kClusterBarrier:
      case Action::kProxyFence:
      case Action::kAsyncCopy:
      case Action::kGridDependency:
        break;
      default:
        machine_.execute(step, n);
        return;
    }
    const Truth guard = machine_.guard_of(step);
    const uint32_t lanes = guard.yes | guard.unknown;
    out_.graph.reached[n] = true;
    if (lanes == 0) return;
    switch (m.action) {
      case Action::kTcgen05:
        tcgen05(n, step, m, lanes);
        break;
      case Action::kMbarrier:
        mbarrier(n, step, m, lanes);
        break;
      case Action::kBarrier:
        barrier(n, step, lanes);
        break;
      case Action::kClusterBarrier:
        event(Event::Kind::kClusterBarrier, n, lanes, picture(0));
        break;
      case Action::kProxyFence:
        event(Event::Kind::kProxyFence, n, lanes, picture(0));
        break;
      case Action::kAsyncCopy:
        event(Event::Kind::kAsyncCopy, n, lanes, picture(0));
        break;
      default:
        event(Event::Kind::kGridDependency, n, lanes, picture(0));
        break;
    }
  }

  void marker(uint32_t n, const Step& step) {
    if (protocol_.loads.empty()) return;
    uint32_t lanes = machine_.active;
    if (step.guard != kNone) {
      const Truth guard = machine_.guard_of(step);
      lanes = guard.yes | guard.unknown;
    }
    if (lanes == 0) return;
    const std::vector<uint32_t>& set = program_.load_sets[step.loads];
    // Both are in order: what lies outside the other's range need not be looked at.
    auto at = pending_from(protocol_.loads, set.front());
    for (auto k = static_cast<size_t>(at - protocol_.loads.begin()); k < protocol_.loads.size(); ++k) {
      if (protocol_.loads[k].load > set.back()) break;
      if (!contains(set, protocol_.loads[k].load)) continue;
      if (step.kind == Step::Kind::kOverwrite) {
        if (program_.loads[protocol_.loads[k].load].instruction == step.instruction) continue;
        event(Event::Kind::kOverwrite, n, lanes,
              picture_with(0, [&](const PendingLoad& p) { return contains(set, p.load); }));
        return;
      }
      if ((protocol_.loads[k].used & lanes) == lanes) continue;
      change_loads()[k].used |= lanes;
    }
  }

  void mbarrier(uint32_t n, const Step& step, const Meaning& m, uint32_t lanes) {
    Event& e = event(Event::Kind::kMbarrier, n, lanes, picture(0));
    for (unsigned k = 0; k < step.argument_count; ++k) {
      const Arg& a = program_.args[step.first_arg + k];
      if (a.address) {
        e.address = machine_.shared_address(a);
        break;
      }
    }
    const bool waits = m.mbarrier == Mbarrier::kTestWait || m.mbarrier == Mbarrier::kTryWait;
    // Whether a phase is complete is not asked lane by lane: kernels test it in all lanes and go on together.
    machine_.write_unknowns(step, lanes, waits ? Uniformity::kWarp : Uniformity::kLane, n);
  }

  void barrier(uint32_t n, const Step& step, uint32_t lanes) {
    event(Event::Kind::kBarrier, n, lanes, picture(0));
    machine_.write_unknowns(step, lanes, Uniformity::kWarp, n);
  }

  // A value without what the path rules out of the joins that it is made of: events outlive the facts of their path.
  Value narrowed(const Value& value) {
    Value out = value;
    const FactsFilter filter(terms_, machine_.facts);
    for (const Terms::Part part : terms_.parts(value.base)) {
      const Term& join = terms_[part.term];
      if (join.kind != TermKind::kJoin || !join.listed || !filter.concerns(part.term)) continue;
      std::vector<Value> rest;
      for (const Value& v : join.set) {
        if (!v.constant() || filter.admits(part.term, v.number)) rest.push_back(v);
      }
      if (rest.empty() || rest.size() == join.set.size()) continue;
      const uint32_t smaller = terms_.join(kNarrowedSite | node_, part.term, join.loops, join.width);
      terms_.mutable_term(smaller).uniformity = join.uniformity;
      terms_.mutable_term(smaller).zero_bits = join.zero_bits;
      terms_.set_list(smaller, std::move(rest), true);
      const Value difference = minus(terms_.with_base({}, smaller), terms_.with_base({}, part.term), 32);
      out = plus(out, times(difference, part.coefficient, 32), 32);
    }
    return out;
  }

  void tcgen05(uint32_t n, const Step& step, const Meaning& m, uint32_t lanes) {
    const ptx::OperandRoles& roles = program_.roles[step.roles];
    Event& e = event(Event::Kind::kTcgen05, n, lanes, picture_for(n, m.form));
    if (const Arg* a = arg(step, roles.address)) {
      const bool shared = m.form.op == ptx::Tcgen05::kAlloc || m.form.op == ptx::Tcgen05::kCommit;
      e.address = shared ? machine_.shared_address(*a) : narrowed(machine_.read(*a));
    }
    if (m.form.issue == ptx::Issue::kSingleThread || roles.columns != kNone) {
      std::vector<Value>& operands = out_.graph.operands;
      e.operands = static_cast<uint32_t>(operands.size());
      e.operand_count = step.argument_count;
      for (uint32_t k = 0; k < step.argument_count; ++k) operands.push_back(machine_.read(*arg(step, k)));
    }
    const Value address = e.address;
    const Value columns = roles.columns < e.operand_count ? out_.graph.operands[e.operands + roles.columns] : Value{};
    switch (m.form.op) {
      case ptx::Tcgen05::kAlloc:
        alloc(n, address, columns, lanes);
        break;
      case ptx::Tcgen05::kDealloc:
        dealloc(n, address);
        break;
      case ptx::Tcgen05::kRelinquish:
        change().relinquished = n;
        break;
      case ptx::Tcgen05::kLd:
      case ptx::Tcgen05::kLdRed:
        issue_load(n, step, address, lanes);
        machine_.write_unknowns(step, lanes, Uniformity::kLane, n);
        break;
      case ptx::Tcgen05::kSt: {
        PendingStore p;
        p.step = n;
        p.address = address;
        add_store(change_stores(), p);
        break;
      }
      case ptx::Tcgen05::kWaitLd:
        if (!protocol_.loads.empty()) change_loads().clear();
        break;
      case ptx::Tcgen05::kWaitSt:
        if (!protocol_.stores.empty()) change_stores().clear();
        break;
      default:
        break;
    }
  }

  void issue_load(uint32_t n, const Step& step, const Value& address, uint32_t lanes) {
    PendingLoad p;
    p.load = step.loads;
    p.step = n;
    p.lanes = lanes;
    p.address = address;
    std::vector<PendingLoad>& loads = change_loads();
    auto at = pending_from(loads, p.load);
    if (at != loads.end() && at->load == p.load) {
      *at = p;
    } else {
      loads.insert(at, p);
    }
  }

  static Held& held_of(std::vector<Held>& held, uint32_t term) {
    auto at = std::lower_bound(held.begin(), held.end(), term, [](const Held& h, uint32_t t) { return h.term < t; });
    if (at == held.end() || at->term != term) {
      Held fresh;
      fresh.term = term;
      at = held.insert(at, fresh);
    }
    return *at;
  }

  void alloc(uint32_t n, const Value& slot, const Value& columns, uint32_t lanes) {
    const std::vector<int64_t> sizes = columns_of(terms_, columns, lanes);
    const Value address =
        terms_.allocation(n, setting_.warp | (uint64_t{setting_.rank} << 32),
                          sizes.empty() ? 0 : static_cast<uint64_t>(std::max<int64_t>(0, sizes.front())));
    Protocol& p = change();
    Held& held = held_of(p.held, address.base);
    held.step = n;
    held.live = static_cast<uint8_t>(std::min(2, held.live + 1));
    // Of several sizes that it may have, the largest: it asks for no more than that, whichever it is.
    if (!sizes.empty() && sizes.back() < p.smallest) {
      p.smallest = sizes.back();
      p.smallest_step = n;
    }
    const Value generic = terms_.apply({Op::kAdd, 64, false, 0}, slot, Value::of(kernel::kSharedWindow));
    machine_.store(generic, 4, address, lanes, n);
  }

  void dealloc(uint32_t, const Value& address) {
    Protocol& p = change();
    if (address.base != 0 && terms_[address.base].kind == TermKind::kAllocation && address.plain == 0) {
      Held& held = held_of(p.held, address.base);
      if (held.step == kNone) {
        held.foreign = true;
      } else if (held.live > 0) {
        --held.live;
      }
      return;
    }
    if (address.base == 0) {
      // A literal base: the only allocation that is live.
      Held* only = nullptr;
      unsigned live = 0;
      for (Held& held : p.held) {
        if (held.live == 0) continue;
        ++live;
        only = &held;
      }
      if (live == 1) {
        --only->live;
        return;
      }
    }
    p.unknown_dealloc = true;
  }

  void uncertain(uint32_t block, std::string reason) {
    const Block& b = graph_.blocks[block];
    uint32_t instruction = b.first < b.last ? b.first : b.ender;
    if (instruction == kNone && b.first < graph_.module->instructions.size()) instruction = b.first;
    for (const Uncertain& u : out_.graph.uncertain) {
      if (u.instruction == instruction && u.reason == reason) return;
    }
    out_.graph.uncertain.push_back({instruction, std::move(reason)});
  }

  Setting setting_;
  const Program& program_;
  const kernel::Graph& graph_;
  Terms& terms_;
  Machine machine_;
  Evaluation out_;
  std::vector<std::vector<State>> states_;  // by block
  std::vector<std::vector<Event>> events_;  // by block, of the last time it ran
  std::vector<unsigned> rounds_;            // by head
  std::vector<bool> changed_;               // by head
  std::vector<bool> straight_;              // by block: it has one way in
  std::vector<uint64_t> loop_bit_, loop_set_;
  std::map<std::vector<uint32_t>, std::vector<uint32_t>> live_;  // by the blocks that lanes wait at
  // Loops that are being followed time by time: what came back to their heads, and what left them.
  struct Caught {
    uint32_t loop = kNone;
    std::vector<Leaving> again;
    std::vector<Leaving> left;
  };
  std::vector<Caught> caught_;
  std::set<std::pair<uint32_t, uint64_t>> not_counters_;  // by head and place: not stepped by one number each time
  uint64_t later_ = 0;
  Protocol protocol_;
  uint32_t node_ = kNone;
  uint32_t block_ = 0;
  std::vector<bool> traps_;  // by block
  Pictures pictures_;
  size_t pictured_left_ = kMostPictured;  // pending loads and stores that pictures may still hold
  uint32_t current_join_block_ = 0;       // where states are being merged
  bool listing_changed_ = false;          // a join lists other values than before
  bool stopped_ = false;
};

}  // namespace

uint32_t Protocol::live_allocations() const {
  uint32_t n = 0;
  for (const Held& h : held) n += h.live;
  return n;
}

std::vector<int64_t> columns_of(const Terms& terms, const Value& operand, uint32_t lanes) {
  std::vector<int64_t> out;
  if (lanes == 0) return out;
  if (auto numbers = terms.enumerate(operand, static_cast<unsigned>(std::countr_zero(lanes)), 32)) {
    for (uint64_t n : *numbers) out.push_back(sign_extend(n, 32));
  }
  return out;
}

Evaluation evaluate(const Setting& setting) {
  return Evaluator(setting).run();
}

}  // namespace tmemlint::warp
