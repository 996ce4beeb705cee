#include "analyzer/warp/joins.h"

#include "analyzer/assumptions/assumptions.h"

#include <algorithm>
#include <bit>

namespace tmemlint::warp {

using value::Fact;
using value::Facts;
using value::FactsFilter;
using value::Interval;
using value::sign_extend;
using value::site_of;
using value::Term;
using value::TermKind;
using value::truncate;
using value::Uniformity;
using value::UnknownKind;

namespace {

// Times that a loop is followed before its joins stop listing their values.
constexpr unsigned kListedTimes = assumptions::kTimesListed;
// Values that a join lists.
constexpr size_t kMostListed = assumptions::kValuesOfAMerge;
// Operations nested in a value that a join lists as it is; deeper ones are listed as numbers or not at all.
constexpr uint32_t kMostListedDepth = assumptions::kDepthOfListedValues;
// Steps that a counter may take within its bounds for its numbers to be listed.
constexpr int64_t kMostCountedSteps = assumptions::kCountedSteps;

// Low bits of which a join's name tells how many are zero in all its values.
constexpr unsigned kMostLowZeros = assumptions::kLowZerosOfAMerge;
// Indexes of stages and offsets in columns stay what they are when they are added to an address: they do not reach its
// lanes.
constexpr uint64_t kStageBits = (uint64_t{1} << assumptions::kBitsOfAStageIndex) - 1;  // of the index of a stage
constexpr uint64_t kColumnBits = 0xffff;  // of a column in an address of Tensor Memory (ISA 9.7.16.1)

// Assumption: what starts in these bits and goes up by a number in them each time round a loop stays in them: nothing
// counts further than that.
constexpr uint64_t kCounterBits = (uint64_t{1} << assumptions::kBitsOfACounter) - 1;
constexpr uint64_t kLargestStep = assumptions::kLargestStepOfACounter;  // that is a number

// A lane in which a value is more than a number, if there is one.
unsigned based_lane(const Value& v) {
  return v.plain == value::kAllLanes ? 0 : static_cast<unsigned>(std::countr_zero(~v.plain));
}

}  // namespace

Value Joins::joined(const MeetingPlace& at, const std::optional<Value>& a, const Value& b, const Facts& facts) {
  const auto has_uniform_rest = [&](const Value& v) {
    return v.plain == 0 && v.table == b.table && terms_[v.base].uniformity != Uniformity::kLane;
  };
  if (b.table == 0 || !has_uniform_rest(b) || (a && !has_uniform_rest(*a))) return joined_base(at, a, b, facts);
  const Value lanes = terms_.from_lanes(terms_.offsets(b), at.width);
  std::optional<Value> a_rest = a;
  if (a) a_rest->table = 0;
  Value b_rest = b;
  b_rest.table = 0;
  // Another table is another question at this place.
  MeetingPlace rest = at;
  rest.kind ^= uint64_t{b.table} * 0x9e3779b97f4a7c15u;
  return plus(terms_, joined_base(rest, a_rest, b_rest, facts), lanes, at.width);
}

// The join term of a place, with `a` (when given) and `b` among its values.
Value Joins::joined_base(const MeetingPlace& at, const std::optional<Value>& a, const Value& b, const Facts& facts) {
  const uint64_t which = (uint64_t{at.block} << 32) ^ at.kind ^ (at.kind >> value::kSiteNumberBits);
  const uint64_t place = ((at.part << 8) ^ owner_of(setting_)) << 8;
  const uint32_t join = term_of(at, shape_of(at, a, b, facts, which, place), which, place);
  // What was taken to go by the number of rounds is something else after all: from now on it is listed.
  const bool counts = at.loop_bit != 0 && setting_.by_rounds;
  const bool a_grows = counts && a && rounds_.growth(*a, at.block, at.loop_bit) != 0;
  const bool b_grows = counts && rounds_.growth(b, at.block, at.loop_bit) != 0;
  if (a_grows || b_grows) {
    rounds_.is_no_counter(at.block, at.part);
    listing_changed_ = true;
  }
  if (a && !a_grows) list(join, *a, facts, at);
  if (!b_grows) list(join, b, facts, at);
  Value v;
  v.base = join;
  return v;
}

Joins::Shape Joins::shape_of(const MeetingPlace& at, const std::optional<Value>& a, const Value& b, const Facts& facts,
                             uint64_t which, uint64_t place) const {
  Shape out;
  uint64_t ones = uint64_t{1} << kMostLowZeros;
  uint64_t reach = 0;  // the bits that one of the values may have
  bool small = at.width == 32;
  const uint64_t bit = at.loop_bit;
  const uint64_t counters = site_of(UnknownKind::kMetCounters, which);
  const auto is_small = [&](const Value& v, uint64_t own) {
    if ((own & ~kCounterBits) == 0 || (bit != 0 && counts_up(v, counters, place, bit))) return true;
    return bit != 0 && a && v != *a && is_step(minus(terms_, v, *a, at.width), bit);
  };
  const auto look_at = [&](const Value& v) {
    if (terms_.uniformity(v) == Uniformity::kLane) out.uniformity = Uniformity::kLane;
    uint64_t own = v.table != 0 ? ~uint64_t{0} : ~terms_.zero_bits(v, based_lane(v));
    if (v.plain != 0) own |= v.number;
    ones |= own;
    reach |= (own & ~kStageBits) == 0 ? own : bits_of_all(v, own, facts, at);
    small = small && is_small(v, own);
  };
  if (a) look_at(*a);
  look_at(b);
  out.low_zeros = static_cast<unsigned>(std::countr_zero(ones));
  out.size = (reach & ~kStageBits) == 0    ? Shape::Size::kStage
             : (reach & ~kColumnBits) == 0 ? Shape::Size::kColumn
                                           : Shape::Size::kAny;
  out.counter = small && out.size == Shape::Size::kAny;
  return out;
}

uint32_t Joins::term_of(const MeetingPlace& at, const Shape& shape, uint64_t which, uint64_t place) {
  const uint64_t certain = shape.low_zeros + static_cast<uint64_t>(shape.size) * (kMostLowZeros + 1);
  const uint64_t name = place ^ (static_cast<uint64_t>(shape.uniformity) << 6) ^ certain;
  const uint64_t loops = flow_.loops_of(at.block) | at.loop_bit;
  const uint64_t site = site_of(shape.counter ? UnknownKind::kMetCounters : UnknownKind::kMetPaths, which);
  const uint32_t join = terms_.join(site, name, loops, at.width);
  Term& term = terms_.mutable_term(join);
  if (term.generation == 0) {
    if (shape.counter) terms_.uses().count(assumptions::Id::kBitsOfACounter);
    const uint64_t above = shape.size == Shape::Size::kStage    ? ~kStageBits
                           : shape.size == Shape::Size::kColumn ? ~kColumnBits
                           : shape.counter                      ? ~kCounterBits
                                                                : 0;
    term.generation = 1;
    term.uniformity = shape.uniformity;
    term.listed = shape.uniformity != Uniformity::kLane;
    term.zero_bits = truncate(~uint64_t{0}, shape.low_zeros) | above | ~truncate(~uint64_t{0}, at.width);
  }
  return join;
}

// Whether a value is that of a place the last time round, the join of that site, and a step.
bool Joins::counts_up(const Value& value, uint64_t site, uint64_t place, uint64_t bit) const {
  for (const Terms::Part part : terms_.parts(value.base)) {
    const Term& term = terms_[part.term];
    if (term.kind != TermKind::kJoin || term.site != site || ((term.part ^ place) >> 8) != 0) continue;
    return part.coefficient == 1 && is_step(value, bit, part.term);
  }
  return false;
}

// Whether a value, but for one of its terms, is what a counter may go up by.
bool Joins::is_step(const Value& value, uint64_t bit, uint32_t except) const {
  if (value.number > kLargestStep || value.table != 0 || value.plain != 0) return false;
  uint64_t most = value.number;
  for (const Terms::Part part : terms_.parts(value.base)) {
    const Term& term = terms_[part.term];
    if (part.term == except) continue;
    uint64_t step = 0;
    if ((term.loops & bit) != 0 || __builtin_mul_overflow(~term.zero_bits, part.coefficient, &step) ||
        __builtin_add_overflow(most, step, &most) || most > kCounterBits) {
      return false;
    }
  }
  return true;
}

// The bits that any of the numbers of a value has, which may have `own` as far as its form tells. What comes from the
// round before and cannot be listed may be anything.
uint64_t Joins::bits_of_all(const Value& value, uint64_t own, const Facts& facts, const MeetingPlace& at) const {
  if (value.base == 0 || value.table != 0) return own;
  if (const auto numbers = terms_.enumerate(value, based_lane(value), at.width, FactsFilter(terms_, facts))) {
    uint64_t bits = value.plain != 0 ? value.number : 0;
    for (uint64_t n : *numbers) bits |= n;
    return bits & own;
  }
  return (terms_.loops(value) & at.loop_bit) != 0 ? ~uint64_t{0} : own;
}

void Joins::stop_listing(uint32_t join) {
  Term& term = terms_.mutable_term(join);
  term.listed = false;
  term.set.clear();
  terms_.list_changed();
  listing_changed_ = true;
}

// Adds what a value may be to a join's list, or gives up listing.
void Joins::list(uint32_t join, const Value& value, const Facts& facts, const MeetingPlace& at) {
  Term& term = terms_.mutable_term(join);
  if (!term.listed) return;
  if (value.base == join && value.number == 0) return;
  if (times_ > kListedTimes) {
    terms_.uses().count(assumptions::Id::kTimesListed);
    return stop_listing(join);
  }
  if (terms_.uniformity(value) == Uniformity::kLane) return stop_listing(join);
  const std::optional<std::vector<Value>> values = values_to_list(join, value, facts, at);
  if (!values) return stop_listing(join);
  for (const Value& v : *values) {
    if (std::find(term.set.begin(), term.set.end(), v) != term.set.end()) continue;
    term.set.push_back(v);
    terms_.list_changed();
    listing_changed_ = true;
    if (term.set.size() > kMostListed) {
      terms_.uses().count(assumptions::Id::kValuesOfAMerge);
      return stop_listing(join);
    }
  }
}

std::optional<std::vector<Value>> Joins::values_to_list(uint32_t join, const Value& value, const Facts& facts,
                                                        const MeetingPlace& at) const {
  const auto parts = terms_.parts(value.base);
  const bool own = std::ranges::any_of(parts, [join](Terms::Part part) { return part.term == join; });
  if ((terms_.loops(value) & at.loop_bit) == 0 && !own && terms_[value.base].depth < kMostListedDepth) {
    return std::vector<Value>{value};
  }
  if (value.base == join) {
    // A counter: worth listing only when the facts bound it.
    const Interval i = interval_of(terms_, facts, terms_.with_base(Value{}, join), at.width);
    const int64_t step = sign_extend(value.number, at.width);
    if (i.low == INT64_MIN || i.high == INT64_MAX || (i.high - i.low) / (step < 0 ? -step : step) > kMostCountedSteps) {
      return std::nullopt;
    }
  }
  const auto numbers = terms_.enumerate(value, 0, at.width, FactsFilter(terms_, facts));
  if (!numbers) return std::nullopt;
  std::vector<Value> out;
  for (uint64_t n : *numbers) out.push_back(Value::of(n));
  return out;
}

void Joins::join_facts(Facts& facts, const Facts& other) {
  if (!setting_.by_rounds) return facts.join(other);
  std::vector<std::pair<uint32_t, Interval>> implied;
  const auto follow = [&](const Facts& from, const Facts& in) {
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

}  // namespace tmemlint::warp
