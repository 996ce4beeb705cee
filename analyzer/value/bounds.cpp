// Between which numbers a value lies.
#include "analyzer/value/facts.h"

#include <algorithm>

namespace tmemlint::value {

namespace {

// What a fact about a term, which is about its value as a number of the term's own width, says of it as one of `width`
// bits: nothing where a sign would be read differently.
Interval as_read(const Term& term, const Interval& interval, unsigned width) {
  const bool same = term.width == width || (interval.low >= 0 && interval.high <= of_width(width).high);
  return same ? interval : Interval{};
}

// What is left of a number that is not negative when its lowest bits are masked or shifted away.
Interval without_low_bits(const Terms& terms, const Facts& facts, const Term& term) {
  const Operation& o = term.operation;
  if (term.kind != TermKind::kPure || term.args.size() != 2 || !term.args[1].constant()) return {};
  const uint64_t by = term.args[1].number;
  const bool shifts = o.op == Op::kShr && by < 63;
  if (!shifts && (o.op != Op::kAnd || by == 0)) return {};
  Interval from = interval_of(terms, facts, term.args[0], o.width);
  if (from.low < 0 || from.high == INT64_MAX) return {};
  from.high = std::min(from.high, of_width(std::min<unsigned>(o.width, 63)).high);  // a sum that does not wrap around
  if (shifts) return {from.low >> by, from.high >> by};
  const uint64_t low_bits = (by & (~by + 1)) - 1;
  const uint64_t reached =
      truncate(~uint64_t{0}, static_cast<unsigned>(std::bit_width(static_cast<uint64_t>(from.high))));
  if ((reached & ~by & ~low_bits) != 0) return {};  // others are masked as well
  const auto rounded = [low_bits](int64_t n) { return static_cast<int64_t>(static_cast<uint64_t>(n) & ~low_bits); };
  return {rounded(from.low), rounded(from.high)};
}

Interval of_term(const Terms& terms, const Facts& facts, uint32_t base, unsigned width) {
  const Term& term = terms[base];
  Interval out = as_read(term, without_low_bits(terms, facts, term), width);
  const uint64_t ones = ~term.zero_bits;
  if (ones <= static_cast<uint64_t>(of_width(width).high)) out = intersect(out, {0, static_cast<int64_t>(ones)});
  if (const Fact* fact = facts.find(base)) out = intersect(out, as_read(term, fact->interval, width));
  if (term.kind == TermKind::kJoin && term.listed && !term.set.empty()) {
    if (auto numbers = terms.enumerate(Value::of_term(base), 0, width)) {
      Interval listed = {INT64_MAX, INT64_MIN};
      for (uint64_t n : *numbers) {
        listed.low = std::min(listed.low, sign_extend(n, width));
        listed.high = std::max(listed.high, sign_extend(n, width));
      }
      out = intersect(out, listed);
    }
  }
  return out;
}

}  // namespace

Interval interval_of(const Terms& terms, const Facts& facts, const Value& value, unsigned width) {
  if (value.base == 0) {
    const int64_t n = sign_extend(value.number, width);
    return {n, n};
  }
  if (const Term& sum = terms[value.base]; sum.kind == TermKind::kSum) {
    Interval out{0, 0};
    for (size_t n = 0; n < sum.args.size() && out != Interval{}; ++n) {
      const Interval part = scaled(of_term(terms, facts, sum.args[n].base, width), sum.coefficients[n], width);
      const Interval limit = of_width(std::min(width, 63u));
      out = part == Interval{} ? part : Interval{out.low + part.low, out.high + part.high};
      if (out.low < limit.low || out.high > limit.high) out = {};
    }
    if (const Fact* fact = facts.find(value.base)) out = intersect(out, as_read(sum, fact->interval, width));
    return shift(out, sign_extend(value.number, width));
  }
  return shift(of_term(terms, facts, value.base, width), sign_extend(value.number, width));
}

bool never_is(const Terms& terms, const Facts& facts, const Value& value, uint64_t number, unsigned width) {
  if (!value.same_in_lanes() || width > 32) return false;
  Interval all{sign_extend(value.number, width), sign_extend(value.number, width)};
  for (const Summand part : terms.parts(value.base)) {
    const Interval of = of_term(terms, facts, part.term, width);
    Interval times;
    if (!multiply(of, sign_extend(part.coefficient, width), times)) return false;
    if (__builtin_add_overflow(all.low, times.low, &all.low) || __builtin_add_overflow(all.high, times.high, &all.high))
      return false;
  }
  const uint64_t up = truncate(number - static_cast<uint64_t>(all.low), width);  // to the first such number
  return static_cast<uint64_t>(all.high) - static_cast<uint64_t>(all.low) < up;
}

}  // namespace tmemlint::value
