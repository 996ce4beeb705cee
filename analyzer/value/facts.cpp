#include "analyzer/value/facts.h"

#include <algorithm>

namespace tmemlint::value {

namespace {

constexpr size_t kMaxFacts = 96;

auto position(std::vector<Fact>& list, uint32_t term) {
  return std::lower_bound(list.begin(), list.end(), term, [](const Fact& f, uint32_t t) { return f.term < t; });
}

Interval intersect(Interval a, Interval b) {
  return {std::max(a.low, b.low), std::min(a.high, b.high)};
}

// Interval arithmetic that gives up on overflow.
Interval shift(Interval i, int64_t by) {
  Interval out;
  if (i.low != INT64_MIN && __builtin_add_overflow(i.low, by, &out.low)) return {};
  if (i.high != INT64_MAX && __builtin_add_overflow(i.high, by, &out.high)) return {};
  return out;
}

Interval of_width(unsigned width) {
  if (width >= 64) return {};
  return {-(int64_t{1} << (width - 1)), (int64_t{1} << (width - 1)) - 1};
}

// Times a number, where that does not leave the width.
Interval scaled(Interval i, uint64_t by, unsigned width) {
  const int64_t factor = sign_extend(by, width);
  const Interval limit = of_width(std::min(width, 63u));
  Interval out;
  if (i.low == INT64_MIN || i.high == INT64_MAX || __builtin_mul_overflow(i.low, factor, &out.low) ||
      __builtin_mul_overflow(i.high, factor, &out.high)) {
    return {};
  }
  if (out.low > out.high) std::swap(out.low, out.high);
  return out.low < limit.low || out.high > limit.high ? Interval{} : out;
}

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
    Value v;
    v.base = base;
    if (auto numbers = terms.enumerate(v, 0, width)) {
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

const Fact* Facts::find(uint32_t term) const {
  auto at = position(const_cast<std::vector<Fact>&>(list_), term);
  return at != list_.end() && at->term == term ? &*at : nullptr;
}

void Facts::set(uint32_t term, Interval interval) {
  auto at = position(list_, term);
  if (at != list_.end() && at->term == term) {
    at->interval = intersect(at->interval, interval);
    return;
  }
  // Full: the oldest unknown is the least likely to be asked about again.
  if (!unlimited && list_.size() >= kMaxFacts) {
    list_.erase(list_.begin());
    at = position(list_, term);
  }
  Fact fact;
  fact.term = term;
  fact.interval = interval;
  list_.insert(at, fact);
}

void Facts::set_lanes(uint32_t term, uint32_t lanes) {
  auto at = position(list_, term);
  if (at == list_.end() || at->term != term) {
    Fact fact;
    fact.term = term;
    at = list_.insert(at, fact);
  }
  at->lanes = lanes;
  at->per_lane = true;
}

void Facts::forget(const Terms& terms, uint64_t loops) {
  std::erase_if(list_, [&](const Fact& f) { return (terms[f.term].loops & loops) != 0; });
}

void Facts::join(const Facts& other) {
  std::vector<Fact> out;
  for (const Fact& f : list_) {
    const Fact* g = other.find(f.term);
    if (g == nullptr) continue;
    Fact both = f;
    both.interval = {std::min(f.interval.low, g->interval.low), std::max(f.interval.high, g->interval.high)};
    if (f.per_lane != g->per_lane || f.lanes != g->lanes) both.per_lane = false;
    if (both.interval == Interval{} && !both.per_lane) continue;
    out.push_back(both);
  }
  list_ = std::move(out);
}

size_t Facts::differences(const Facts& other) const {
  size_t same = 0;
  for (const Fact& f : list_) {
    const Fact* g = other.find(f.term);
    if (g != nullptr && *g == f) ++same;
  }
  return list_.size() + other.list_.size() - 2 * same;
}

uint32_t Facts::opposite(const Facts& other) const {
  for (const Fact& f : list_) {
    if (f.per_lane || f.interval.low != f.interval.high || f.interval.low < 0 || f.interval.low > 1) continue;
    const Fact* g = other.find(f.term);
    if (g == nullptr || g->interval.low != g->interval.high) continue;
    if (f.interval.low + g->interval.low == 1 && f.interval.low * g->interval.low == 0) return f.term;
  }
  return 0;
}

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

namespace {

// Whether a sum cannot be a number modulo 2^width, however far it goes: from what its parts can be.
bool never_is(const Terms& terms, const Facts& facts, const Value& value, uint64_t number, unsigned width) {
  if (value.table != 0 || value.plain != 0 || width > 32) return false;
  Interval all{sign_extend(value.number, width), sign_extend(value.number, width)};
  for (const Terms::Part part : terms.parts(value.base)) {
    const Interval of = of_term(terms, facts, part.term, width);
    const int64_t factor = sign_extend(part.coefficient, width);
    Interval times;
    if (of.low == INT64_MIN || of.high == INT64_MAX || __builtin_mul_overflow(of.low, factor, &times.low) ||
        __builtin_mul_overflow(of.high, factor, &times.high)) {
      return false;
    }
    if (times.low > times.high) std::swap(times.low, times.high);
    if (__builtin_add_overflow(all.low, times.low, &all.low) || __builtin_add_overflow(all.high, times.high, &all.high))
      return false;
  }
  const uint64_t up = truncate(number - static_cast<uint64_t>(all.low), width);  // to the first such number
  return static_cast<uint64_t>(all.high) - static_cast<uint64_t>(all.low) < up;
}

}  // namespace

bool FactsFilter::admits(uint32_t join, uint64_t number) const {
  const Fact* fact = facts_.find(join);
  if (fact == nullptr) return true;
  const unsigned width = terms_[join].width;
  const int64_t n = width == 1 ? static_cast<int64_t>(number) : sign_extend(number, width);
  return n >= fact->interval.low && n <= fact->interval.high;
}

namespace {

// The difference of two values: what it is made of, and its number.
struct Difference {
  std::vector<Terms::Part> parts;
  uint64_t number = 0;
};

std::optional<Difference> difference(const Terms& terms, const Value& a, const Value& b, unsigned width) {
  if (a.table != 0 || a.plain != 0 || b.table != 0 || b.plain != 0) return std::nullopt;
  const Terms::Parts p = terms.parts(a.base);
  const Terms::Parts q = terms.parts(b.base);
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
  const Interval interval = interval_of(terms, facts, terms.with_base({}, base), w);
  const int64_t n = sign_extend(number, w);
  if (n < interval.low || n > interval.high) return true;
  return std::any_of(facts.list().begin(), facts.list().end(), [&](const Fact& fact) {
    const Term& t = terms[fact.term];
    if (fact.per_lane || fact.interval.low != fact.interval.high || t.kind != TermKind::kPure) return false;
    if (t.operation.width != w) return false;
    const bool holds = fact.interval.low != 0;
    if (t.operation.op == Op::kEq && !holds && t.args[1].constant() && t.args[0].base == base) {
      return t.args[0].table == 0 && t.args[0].plain == 0 &&
             truncate(t.args[1].number - t.args[0].number, w) == truncate(number, w);
    }
    // Unsigned: more than a number, so none up to it.
    const bool more = t.operation.op == Op::kLt && !t.operation.is_signed && holds && t.args[0].constant();
    return more && t.args[1].base == base && t.args[1].table == 0 && t.args[1].plain == 0 &&
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
    if (fact.per_lane || fact.interval.low != fact.interval.high || known.kind != TermKind::kPure) continue;
    const Operation& o = known.operation;
    if ((o.op != Op::kLt && o.op != Op::kEq) || o.width != w) continue;
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

}  // namespace

std::optional<bool> decide(const Terms& terms, const Facts& facts, uint32_t base) {
  if (const Fact* fact = facts.find(base)) {
    if (fact->interval.low == fact->interval.high && !fact->per_lane) return fact->interval.low != 0;
  }
  const Term& term = terms[base];
  if (term.kind == TermKind::kPure) {
    const Operation& o = term.operation;
    if (o.op == Op::kEq || o.op == Op::kLt) {
      const unsigned w = o.width;
      Interval a = interval_of(terms, facts, term.args[0], w);
      Interval b = interval_of(terms, facts, term.args[1], w);
      const bool comparable = o.op == Op::kEq || o.is_signed || (a.low >= 0 && b.low >= 0);
      if (comparable && o.op == Op::kEq && (a.high < b.low || b.high < a.low)) return false;
      if (comparable && o.op == Op::kEq && a.low == a.high && b.low == b.high) return a.low == b.low;
      if (o.op == Op::kEq && term.args[1].constant() && never_is(terms, facts, term.args[0], term.args[1].number, w))
        return false;
      if (comparable && o.op == Op::kLt) {
        if (a.high < b.low) return true;
        if (a.low >= b.high) return false;
      }
    } else if (o.width == 1 && (o.op == Op::kAnd || o.op == Op::kOr)) {
      // An argument is t or 1 - t; both in plain form.
      const bool absorbing = o.op == Op::kOr;
      bool all = true;
      for (const Value& v : term.args) {
        const Terms::Parts parts = terms.parts(v.base);
        if (parts.size() != 1 || v.table != 0 || v.plain != 0) return std::nullopt;
        std::optional<bool> t = decide(terms, facts, parts[0].term);
        if (!t) {
          all = false;
          continue;
        }
        const bool value = parts[0].coefficient == 1 ? *t : !*t;
        if (value == absorbing) return absorbing;
      }
      if (all) return !absorbing;
    }
  }
  // Where there are thousands of facts, numbers that satisfy all of them answer this.
  const bool comparison =
      term.kind == TermKind::kPure && (term.operation.op == Op::kEq || term.operation.op == Op::kLt);
  if (comparison && !facts.unlimited) {
    if (const std::optional<bool> known = by_comparisons(terms, facts, term)) return known;
    const unsigned w = term.operation.width;
    const Value& a = term.args[0];
    const Value& b = term.args[1];
    if (term.operation.op == Op::kEq && b.constant() && a.table == 0 && a.plain == 0) {
      if (is_not(terms, facts, a.base, b.number - a.number, w)) return false;
    }
    // More than a small number is what is none of those up to it.
    constexpr uint64_t kSmall = 2;
    if (term.operation.op == Op::kLt && !term.operation.is_signed && a.constant() && b.table == 0 && b.plain == 0 &&
        truncate(a.number, w) <= kSmall) {
      bool none = true;
      for (uint64_t n = 0; n <= truncate(a.number, w) && none; ++n)
        none = is_not(terms, facts, b.base, n - b.number, w);
      if (none) return true;
    }
  }
  Value v;
  v.base = base;
  if (auto numbers = terms.enumerate(v, 0, 1, FactsFilter(terms, facts), 1)) {
    if (numbers->size() == 1) return numbers->front() != 0;
  }
  return std::nullopt;
}

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
      const Terms::Parts parts = terms.parts(v.base);
      if (parts.size() != 1 || v.table != 0 || v.plain != 0 || terms[parts[0].term].uniformity == Uniformity::kLane) {
        all = false;
        break;
      }
      const bool wanted = parts[0].coefficient == 1;
      mentions = mentions || parts[0].term == base;
      const std::optional<bool> known = decide(terms, facts, parts[0].term);
      if (!known) {
        ++open;
        last = {parts[0].term, !wanted};
      } else if (*known != wanted) {
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

}  // namespace

bool assume(const Terms& terms, Facts& facts, uint32_t base, bool truth) {
  if (std::optional<bool> known = decide(terms, facts, base)) {
    if (*known != truth) return false;
  }
  return assume_undecided(terms, facts, base, truth);
}

bool assume_undecided(const Terms& terms, Facts& facts, uint32_t base, bool truth) {
  facts.set(base, {truth ? 1 : 0, truth ? 1 : 0});
  if (!follow_conjunctions(terms, facts, base)) return false;
  const Term& term = terms[base];
  if (term.kind != TermKind::kPure) return true;
  const Operation& o = term.operation;
  const unsigned w = o.width;
  // What a comparison with a number says about the other side, unless the sum it stands in may wrap around.
  auto bound = [&](const Value& v, Interval interval) {
    if (v.base == 0 || v.table != 0 || v.plain != 0) return;
    Interval moved = shift(interval, -sign_extend(v.number, w));
    if (terms[v.base].width != w) {
      // The value is not negative, and the same in both widths, or nothing is known.
      if (~terms[v.base].zero_bits > static_cast<uint64_t>(of_width(w).high)) return;
      moved.low = std::max<int64_t>(moved.low, 0);
    }
    facts.set(v.base, moved);
  };
  if (o.op == Op::kEq && term.args[1].constant() && truth) {
    const int64_t n = sign_extend(term.args[1].number, w);
    bound(term.args[0], {n, n});
  } else if (o.op == Op::kEq && term.args[1].constant()) {
    // Not the end of its interval: the interval is smaller.
    const int64_t n = sign_extend(term.args[1].number, w);
    const Interval have = interval_of(terms, facts, term.args[0], w);
    if (have.low == n && have.high > n) {
      bound(term.args[0], {n + 1, have.high});
    } else if (have.high == n && have.low < n) {
      bound(term.args[0], {have.low, n - 1});
    }
  } else if (o.op == Op::kLt) {
    const Interval a = interval_of(terms, facts, term.args[0], w);
    const Interval b = interval_of(terms, facts, term.args[1], w);
    if (o.is_signed) {
      if (truth) {
        if (b.high != INT64_MAX) bound(term.args[0], {of_width(w).low, b.high - 1});
        if (a.low != INT64_MIN) bound(term.args[1], {a.low + 1, of_width(w).high});
      } else {
        if (b.low != INT64_MIN) bound(term.args[0], {b.low, of_width(w).high});
        if (a.high != INT64_MAX) bound(term.args[1], {of_width(w).low, a.high});
      }
    } else if (truth && term.args[1].constant() && sign_extend(term.args[1].number, w) > 0) {
      bound(term.args[0], {0, sign_extend(term.args[1].number, w) - 1});
    } else if (!truth && term.args[1].constant() && a.low >= 0 && sign_extend(term.args[1].number, w) > 0) {
      bound(term.args[0], {sign_extend(term.args[1].number, w), of_width(w).high});
    }
  } else if (w == 1 && ((o.op == Op::kAnd && truth) || (o.op == Op::kOr && !truth))) {
    for (const Value& v : term.args) {
      const Terms::Parts parts = terms.parts(v.base);
      if (parts.size() != 1 || v.table != 0 || v.plain != 0) continue;
      if (terms[parts[0].term].uniformity == Uniformity::kLane) continue;
      const bool value = parts[0].coefficient == 1 ? truth : !truth;
      if (!assume(terms, facts, parts[0].term, value)) return false;
    }
  }
  return true;
}

Value resolve(Terms& terms, const Facts& facts, const Value& value) {
  Value v = value;
  for (int depth = 0; depth < 16 && v.base != 0; ++depth) {
    const Term& term = terms[v.base];
    if (term.kind != TermKind::kPure || term.operation.op != Op::kSelect) break;
    const Value& p = term.args[0];
    if (p.base == 0 || p.table != 0 || p.plain != 0 || p.number != 0) break;
    const Fact* fact = facts.find(p.base);
    if (fact == nullptr || fact->per_lane || fact->interval.low != fact->interval.high) break;
    const Value arm = fact->interval.low != 0 ? term.args[1] : term.args[2];
    if (v.plain != 0 || arm.plain != 0) break;
    Value rest = v;
    rest.base = 0;
    v = terms.apply({Op::kAdd, term.width, false, 0}, arm, rest);
  }
  return v;
}

}  // namespace tmemlint::value
