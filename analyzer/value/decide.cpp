// Whether a truth value follows from what is known.
#include "analyzer/assumptions/assumptions.h"
#include "analyzer/value/facts.h"

#include <algorithm>

namespace tmemlint::value {

namespace {

// The difference of two values: what it is made of, and its number.
struct Difference {
  std::vector<Summand> parts;
  uint64_t number = 0;
};

std::optional<Difference> difference(const Terms& terms, const Value& a, const Value& b, unsigned width) {
  if (!a.same_in_lanes() || !b.same_in_lanes()) return std::nullopt;
  const Summands p = terms.parts(a.base);
  const Summands q = terms.parts(b.base);
  Difference out;
  out.number = truncate(a.number - b.number, width);
  size_t n = 0;
  size_t m = 0;
  while (n < p.size() || m < q.size()) {
    const bool first = m == q.size() || (n < p.size() && p[n].term <= q[m].term);
    const bool second = n == p.size() || (m < q.size() && q[m].term <= p[n].term);
    const uint32_t term = first ? p[n].term : q[m].term;
    uint64_t coefficient = 0;
    if (first) coefficient += p[n++].coefficient;
    if (second) coefficient -= q[m++].coefficient;
    coefficient = truncate(coefficient, width);
    if (coefficient != 0) out.parts.push_back({term, coefficient});
  }
  return out;
}

// By how much the second difference is more than the first one, if they are made of the same; with `factor` -1: than
// the first one the other way round.
std::optional<uint64_t> apart(const Difference& a, const Difference& b, uint64_t factor, unsigned width) {
  if (a.parts.size() != b.parts.size()) return std::nullopt;
  for (size_t n = 0; n < a.parts.size(); ++n) {
    if (a.parts[n].term != b.parts[n].term) return std::nullopt;
    if (truncate(a.parts[n].coefficient * factor, width) != b.parts[n].coefficient) return std::nullopt;
  }
  return truncate(b.number - a.number * factor, width);
}

// Whether it is known that an unknown is not this number.
bool is_not(const Terms& terms, const Facts& facts, uint32_t base, uint64_t number, unsigned w) {
  const Interval interval = interval_of(terms, facts, Value::of_term(base), w);
  const int64_t n = sign_extend(number, w);
  if (n < interval.low || n > interval.high) return true;
  return std::any_of(facts.list().begin(), facts.list().end(), [&](const Fact& fact) {
    const Term& t = terms[fact.term];
    if (!fact.decided() || t.kind != TermKind::kPure) return false;
    if (t.operation.width != w) return false;
    const bool holds = fact.interval.low != 0;
    if (t.operation.op == Op::kEq && !holds && t.args[1].constant() && t.args[0].base == base) {
      return t.args[0].same_in_lanes() && truncate(t.args[1].number - t.args[0].number, w) == truncate(number, w);
    }
    // Unsigned: more than a number, so none up to it.
    const bool more = t.operation.op == Op::kLt && !t.operation.is_signed && holds && t.args[0].constant();
    return more && t.args[1].base == base && t.args[1].same_in_lanes() &&
           truncate(number + t.args[1].number, w) <= truncate(t.args[0].number, w);
  });
}

// What is known of how two unknowns compare decides another comparison of the two:
//   x < y says that x is not y;  x is y says that x is not less;  x < y and not x + 1 < y say that x + 1 is y;
//   x < y and not x + 1 is y say that x + 1 < y (none of these wraps around: there is a larger number, y).
std::optional<bool> by_comparisons(const Terms& terms, const Facts& facts, const Term& term) {
  const unsigned w = term.operation.width;
  const bool asks_equal = term.operation.op == Op::kEq;
  const std::optional<Difference> asked = difference(terms, term.args[0], term.args[1], w);
  if (!asked || asked->parts.size() < 2) return std::nullopt;
  bool above = false;      // x < y, where x + 1 = y is asked
  bool not_above = false;  // not x + 1 < y
  bool below = false;      // x - 1 < y, where x < y is asked
  bool not_equal = false;  // not x = y
  for (const Fact& fact : facts.list()) {
    const Term& known = terms[fact.term];
    if (!fact.decided() || known.kind != TermKind::kPure) continue;
    const Operation& o = known.operation;
    if (!is_comparison(o.op) || o.width != w) continue;
    const std::optional<Difference> d = difference(terms, known.args[0], known.args[1], w);
    if (!d) continue;
    const bool holds = fact.interval.low != 0;
    const uint64_t minus_one = truncate(~uint64_t{0}, w);
    const std::optional<uint64_t> same = apart(*d, *asked, 1, w);
    const std::optional<uint64_t> turned = apart(*d, *asked, minus_one, w);
    if (asks_equal && o.op == Op::kLt) {
      if (holds && (same == 0 || turned == 0)) return false;
      if (o.is_signed && holds && (same == 1 || turned == minus_one)) above = true;
      if (o.is_signed && !holds && (same == 0 || turned == 0)) not_above = true;
    } else if (!asks_equal && o.op == Op::kEq) {
      if (holds && (same == 0 || turned == 0)) return false;
      if (!holds && (same == 0 || turned == 0)) not_equal = true;
    } else if (!asks_equal && term.operation.is_signed && o.is_signed && holds && same == 1) {
      below = true;
    }
  }
  if (asks_equal && above && not_above) return true;
  if (!asks_equal && below && not_equal) return true;
  return std::nullopt;
}

// A comparison, from between which numbers its sides lie.
std::optional<bool> by_intervals(const Terms& terms, const Facts& facts, const Term& term) {
  const Operation& o = term.operation;
  const Interval a = interval_of(terms, facts, term.args[0], o.width);
  const Interval b = interval_of(terms, facts, term.args[1], o.width);
  if (o.op == Op::kEq) {
    if (a.high < b.low || b.high < a.low) return false;
    if (a.one_number() && b.one_number()) return a.low == b.low;
    const bool never = term.args[1].constant() && never_is(terms, facts, term.args[0], term.args[1].number, o.width);
    return never ? std::optional<bool>(false) : std::nullopt;
  }
  if (!o.is_signed && (a.low < 0 || b.low < 0)) return std::nullopt;
  if (a.high < b.low) return true;
  if (a.low >= b.high) return false;
  return std::nullopt;
}

// A truth value, from the numbers that it may be.
std::optional<bool> by_numbers(const Terms& terms, const Facts& facts, uint32_t base) {
  const auto numbers = terms.enumerate(Value::of_term(base), 0, 1, FactsFilter(terms, facts), 1);
  return numbers && numbers->size() == 1 ? std::optional<bool>(numbers->front() != 0) : std::nullopt;
}

// A conjunction or disjunction, from its sides.
std::optional<bool> by_sides(const Terms& terms, const Facts& facts, uint32_t base) {
  const Term& term = terms[base];
  const bool absorbing = term.operation.op == Op::kOr;
  bool all = true;
  for (const Value& v : term.args) {
    const std::optional<Literal> side = terms.literal_of(v);
    if (!side) return std::nullopt;
    const std::optional<bool> truth = decide(terms, facts, side->term);
    if (!truth) {
      all = false;
    } else if (side->holds(*truth) == absorbing) {
      return absorbing;
    }
  }
  return all ? std::optional<bool>(!absorbing) : by_numbers(terms, facts, base);
}

// A comparison, from other comparisons that are known.
std::optional<bool> by_other_facts(const Terms& terms, const Facts& facts, const Term& term) {
  if (const std::optional<bool> known = by_comparisons(terms, facts, term)) return known;
  const Operation& o = term.operation;
  const unsigned w = o.width;
  const Value& a = term.args[0];
  const Value& b = term.args[1];
  if (o.op == Op::kEq && b.constant() && a.same_in_lanes()) {
    if (is_not(terms, facts, a.base, b.number - a.number, w)) return false;
  }
  // More than a small number is what is none of those up to it.
  constexpr uint64_t kSmall = assumptions::kSmallNumbersTried;
  if (o.op == Op::kLt && !o.is_signed && a.constant() && b.same_in_lanes() && truncate(a.number, w) <= kSmall) {
    bool none = true;
    for (uint64_t n = 0; n <= truncate(a.number, w) && none; ++n) none = is_not(terms, facts, b.base, n - b.number, w);
    if (none) return true;
  }
  return std::nullopt;
}

}  // namespace

std::optional<bool> decide(const Terms& terms, const Facts& facts, uint32_t base) {
  if (const Fact* fact = facts.find(base); fact != nullptr && fact->decided()) return fact->interval.low != 0;
  const Term& term = terms[base];
  if (term.kind == TermKind::kPure) {
    const Operation& o = term.operation;
    if (is_comparison(o.op)) {
      if (const std::optional<bool> known = by_intervals(terms, facts, term)) return known;
      // Where there are thousands of facts, numbers that satisfy all of them answer this.
      if (!facts.unlimited) {
        if (const std::optional<bool> known = by_other_facts(terms, facts, term)) return known;
      }
    } else if (o.width == 1 && (o.op == Op::kAnd || o.op == Op::kOr)) {
      return by_sides(terms, facts, base);
    }
  }
  return by_numbers(terms, facts, base);
}

}  // namespace tmemlint::value
