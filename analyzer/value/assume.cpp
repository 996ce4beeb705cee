// Adds to the facts what follows from a decision.
#include "analyzer/assumptions/assumptions.h"
#include "analyzer/value/facts.h"

#include <algorithm>

namespace tmemlint::value {

namespace {

// What follows from conjunctions that are known not to hold, now that one of their conditions is: if it is the last but
// one, the last one does not hold. False when all of them hold.
bool follow_conjunctions(const Terms& terms, Facts& facts, uint32_t base) {
  std::vector<std::pair<uint32_t, bool>> follows;
  for (const Fact& fact : facts.list()) {
    if (fact.interval != Interval{0, 0} || fact.per_lane) continue;
    const Term& term = terms[fact.term];
    if (term.kind != TermKind::kPure || term.operation.op != Op::kAnd || term.operation.width != 1) continue;
    bool mentions = false;
    unsigned open = 0;
    bool all = true;
    std::pair<uint32_t, bool> last;
    for (const Value& v : term.args) {
      const std::optional<Literal> condition = terms.literal_of(v);
      all = condition && terms[condition->term].uniformity != Uniformity::kLane;
      if (!all) break;
      mentions = mentions || condition->term == base;
      const std::optional<bool> known = decide(terms, facts, condition->term);
      if (!known) {
        ++open;
        last = {condition->term, !condition->positive};
      } else if (!condition->holds(*known)) {
        all = false;
        break;
      }
    }
    if (!mentions || !all) continue;
    if (open == 0) return false;
    if (open == 1) follows.push_back(last);
  }
  return std::all_of(follows.begin(), follows.end(),
                     [&](const auto& f) { return assume(terms, facts, f.first, f.second); });
}

// Adds that a value of `width` bits lies in an interval, as a fact about its base. The number that is added to the base
// is taken not to make it wrap around.
void bound(const Terms& terms, Facts& facts, const Value& v, Interval interval, unsigned width) {
  if (v.base == 0 || !v.same_in_lanes()) return;
  Interval moved = shift(interval, -sign_extend(v.number, width));
  if (terms[v.base].width != width) {
    // The value is not negative, and the same in both widths, or nothing is known.
    if (~terms[v.base].zero_bits > static_cast<uint64_t>(of_width(width).high)) return;
    moved.low = std::max<int64_t>(moved.low, 0);
  }
  if (facts.set(v.base, moved)) terms.uses().count(assumptions::Id::kFactsOfAPath);
}

// What a == n says of a.
void bound_equal(const Terms& terms, Facts& facts, const Term& equal, bool truth) {
  const unsigned w = equal.operation.width;
  const Value& a = equal.args[0];
  if (!equal.args[1].constant()) return;
  const int64_t n = sign_extend(equal.args[1].number, w);
  if (truth) return bound(terms, facts, a, {n, n}, w);
  // Not the end of its interval: the interval is smaller.
  const Interval have = interval_of(terms, facts, a, w);
  if (have.low == n && have.high > n) {
    bound(terms, facts, a, {n + 1, have.high}, w);
  } else if (have.high == n && have.low < n) {
    bound(terms, facts, a, {have.low, n - 1}, w);
  }
}

// What a < b says of a and b.
void bound_less(const Terms& terms, Facts& facts, const Term& less, bool truth) {
  const unsigned w = less.operation.width;
  const Value& a = less.args[0];
  const Value& b = less.args[1];
  const Interval of_a = interval_of(terms, facts, a, w);
  const Interval of_b = interval_of(terms, facts, b, w);
  const Interval all = of_width(w);
  if (less.operation.is_signed) {
    if (truth) {
      if (of_b.high != INT64_MAX) bound(terms, facts, a, {all.low, of_b.high - 1}, w);
      if (of_a.low != INT64_MIN) bound(terms, facts, b, {of_a.low + 1, all.high}, w);
    } else {
      if (of_b.low != INT64_MIN) bound(terms, facts, a, {of_b.low, all.high}, w);
      if (of_a.high != INT64_MAX) bound(terms, facts, b, {all.low, of_a.high}, w);
    }
    return;
  }
  const int64_t n = sign_extend(b.number, w);
  if (!b.constant() || n <= 0) return;
  if (truth) {
    bound(terms, facts, a, {0, n - 1}, w);
  } else if (of_a.low >= 0) {
    bound(terms, facts, a, {n, all.high}, w);
  }
}

}  // namespace

bool assume(const Terms& terms, Facts& facts, uint32_t base, bool truth) {
  if (std::optional<bool> known = decide(terms, facts, base)) {
    if (*known != truth) return false;
  }
  return assume_undecided(terms, facts, base, truth);
}

bool assume_undecided(const Terms& terms, Facts& facts, uint32_t base, bool truth) {
  if (facts.set(base, {truth ? 1 : 0, truth ? 1 : 0})) terms.uses().count(assumptions::Id::kFactsOfAPath);
  if (!follow_conjunctions(terms, facts, base)) return false;
  const Term& term = terms[base];
  if (term.kind != TermKind::kPure) return true;
  const Operation& o = term.operation;
  if (o.op == Op::kEq) {
    bound_equal(terms, facts, term, truth);
  } else if (o.op == Op::kLt) {
    bound_less(terms, facts, term, truth);
  } else if (o.width == 1 && ((o.op == Op::kAnd && truth) || (o.op == Op::kOr && !truth))) {
    // Both sides are decided.
    for (const Value& v : term.args) {
      const std::optional<Literal> side = terms.literal_of(v);
      if (!side || terms[side->term].uniformity == Uniformity::kLane) continue;
      if (!assume(terms, facts, side->term, side->holds(truth))) return false;
    }
  }
  return true;
}

Value resolve(Terms& terms, const Facts& facts, const Value& value) {
  Value v = value;
  constexpr unsigned kDeepest = assumptions::kSelectionsResolved;
  for (unsigned depth = 0; depth < kDeepest && v.base != 0; ++depth) {
    const Term& term = terms[v.base];
    if (!terms.is_selection(v.base)) break;
    const Value& p = term.args[0];
    if (p.base == 0 || !p.same_in_lanes() || p.number != 0) break;
    const Fact* fact = facts.find(p.base);
    if (fact == nullptr || !fact->decided()) break;
    const Value arm = fact->interval.low != 0 ? term.args[1] : term.args[2];
    if (v.plain != 0 || arm.plain != 0) break;
    Value rest = v;
    rest.base = 0;
    v = terms.apply({Op::kAdd, term.width, false, 0}, arm, rest);
  }
  return v;
}

}  // namespace tmemlint::value
