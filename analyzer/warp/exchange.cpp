// What lanes learn from each other: shuffles, votes, reductions, elections.
#include <array>
#include <bit>

#include "analyzer/warp/execution.h"

namespace tmemlint::warp {

using value::kLanes;
using value::Lanes;
using value::Op;

// The lane whose word a lane gets, of a shuffle by a number.
unsigned Exchange::source_of(unsigned lane, unsigned by, unsigned limit) const {
  switch (meaning_.shuffle) {
    case Meaning::Shuffle::kIdx:
      return by <= limit ? by : lane;
    case Meaning::Shuffle::kUp:
      return lane >= by + limit && lane >= by ? lane - by : lane;
    case Meaning::Shuffle::kDown:
      return lane + by <= limit ? lane + by : lane;
    case Meaning::Shuffle::kBfly:
      return (lane ^ by) <= limit ? lane ^ by : lane;
  }
  return lane;
}

void Exchange::shuffle() {
  const unsigned d = step_.destinations;
  if (step_.argument_count < d + 3u) return;
  const Value a = read(arg(d));
  const Value b = read(arg(d + 1));
  const Value c = read(arg(d + 2));
  const unsigned w = width_of(arg(0));
  const bool whole = c.constant() && ((c.number >> 8) & 0x1f) == 0;  // not in segments
  const bool one = meaning_.shuffle == Meaning::Shuffle::kIdx;
  Value v;
  Value in_range = Value::of(1);
  if (terms_.uniform(a, existing())) {
    v = a;
  } else if (whole && one && !b.constant() && terms_.uniform(b, machine_.active)) {
    // Every lane gets the word of one lane, whichever it is.
    v = unknown(0, Uniformity::kWarp, w);
    in_range = unknown(1, Uniformity::kWarp, 1);
  } else if (!b.constant() || !whole) {
    v = unknown(0, Uniformity::kLane, w);
    in_range = unknown(1, Uniformity::kLane, 1);
  } else {
    const auto limit = static_cast<unsigned>(c.number & 0x1f);
    const auto by = static_cast<unsigned>(b.number & 0x1f);
    const bool butterfly = meaning_.shuffle == Meaning::Shuffle::kBfly;
    if (a.base == 0) {
      Lanes n;
      for (unsigned l = 0; l < kLanes; ++l) n[l] = terms_.number_in(a, source_of(l, by, limit));
      v = terms_.from_lanes(n, w);
    } else if (one) {
      v = machine_.of_lane(a, source_of(0, by, limit), w);
    } else {
      std::optional<Value> exchanged;
      const bool everywhere = limit == kLanes - 1 && (guard_.yes & existing()) == kAllLanes;
      if (butterfly && everywhere) exchanged = terms_.butterfly(a, by);
      v = exchanged ? *exchanged : unknown(0, Uniformity::kLane, w);
    }
    const bool always = butterfly && limit == kLanes - 1;
    if (!one && !always) in_range = unknown(1, Uniformity::kLane, 1);
  }
  result(0, v);
  if (d > 1) result(1, in_range);
}

// The outcome of a vote in which each lane's predicate is known.
Value Exchange::voted(const Truth& t) const {
  switch (meaning_.vote) {
    case Meaning::Vote::kAny:
      return Value::of(t.yes != 0 ? 1 : 0);
    case Meaning::Vote::kAll:
      return Value::of(t.no == 0 ? 1 : 0);
    case Meaning::Vote::kUni:
      return Value::of(t.yes == 0 || t.no == 0 ? 1 : 0);
    case Meaning::Vote::kBallot:
      return Value::of(t.yes);
  }
  return {};
}

void Exchange::vote() {
  const unsigned d = step_.destinations;
  if (step_.argument_count < d + 1u) return;
  const Truth t = machine_.truth_of(read(arg(d)), lanes());
  const bool one_unknown = t.unknown == lanes() && t.term != 0 && terms_[t.term].uniformity != Uniformity::kLane;
  Value condition;
  condition.base = t.term;
  if (t.inverted) condition = apply(operation(Op::kNot, 1), condition);
  const bool any = meaning_.vote == Meaning::Vote::kAny;
  const bool all = meaning_.vote == Meaning::Vote::kAll;
  const bool ballot = meaning_.vote == Meaning::Vote::kBallot;
  Value v;
  if (t.unknown == 0) {
    v = voted(t);
  } else if (one_unknown && ballot) {
    const Value choices[3] = {condition, Value::of(lanes()), Value::of(0)};
    v = terms_.apply(operation(Op::kSelect, 32), choices, 3);
  } else if (one_unknown) {
    v = meaning_.vote == Meaning::Vote::kUni ? Value::of(1) : condition;
  } else if ((any && t.yes != 0) || (all && t.no != 0)) {
    v = Value::of(any ? 1 : 0);
  } else {
    v = unknown(0, Uniformity::kWarp, ballot ? 32 : 1);
  }
  result(0, v);
}

void Exchange::reduce() {
  if (step_.argument_count < 3) return;
  const Value a = read(arg(1));
  const Value mask = read(arg(2));
  const uint32_t lanes = guard_.yes;
  Value v = unknown(0, Uniformity::kWarp, meaning_.operation.width);
  // All of them together, or the groups of the mask are not known.
  const bool together = guard_.unknown == 0 && mask.constant() && (mask.number & lanes) == lanes;
  if (together && a.base == 0) {
    uint64_t all = terms_.number_in(a, first_lane(lanes));
    for (uint32_t rest = lanes & (lanes - 1); rest != 0; rest &= rest - 1) {
      const std::array<uint64_t, 2> both = {all, terms_.number_in(a, first_lane(rest))};
      all = fold(meaning_.operation, both.data(), 2);
    }
    v = Value::of(all);
  } else if (together && terms_.uniform(a, lanes)) {
    const Value one = terms_.lane(a, first_lane(lanes));
    const auto count = static_cast<uint64_t>(std::popcount(lanes));
    // The others (and, or, min, max) of a word with itself are that word.
    if (meaning_.operation.op == Op::kAdd) {
      v = apply(operation(Op::kMul, meaning_.operation.width), one, Value::of(count));
    } else if (meaning_.operation.op == Op::kXor) {
      v = count % 2 != 0 ? one : Value::of(0);
    } else {
      v = one;
    }
  }
  result(0, v);
}

void Exchange::elect() {
  // One lane of the mask, the same each time; which one is the implementation's choice.
  uint32_t candidates = lanes();
  if (step_.argument_count > step_.destinations) {
    const Value mask = read(arg(step_.destinations));
    if (mask.constant() && (mask.number & candidates) != 0) candidates &= static_cast<uint32_t>(mask.number);
  }
  const unsigned leader = first_lane(candidates);
  Lanes p{};
  p[leader] = 1;
  const Value elected = terms_.from_lanes(p, 1);
  if (step_.destinations > 1) {
    result(0, Value::of(leader));
    result(1, elected);
  } else {
    result(0, elected);
  }
}

}  // namespace tmemlint::warp
