// Simplification of what is true or false: comparisons, choices, and operations on them.
#include "analyzer/value/simplify.h"

namespace tmemlint::value {

namespace {

// A value with two possible numbers: which of them it is, is a truth value.
struct Either {
  uint32_t truth = 0;  // a term; 0: the value is not like that
  uint64_t if_false = 0;
  uint64_t if_true = 0;
};

Either either_of(const Arithmetic& terms, uint32_t base) {
  const Term& term = terms[base];
  if (is_truth(term)) return {base, 0, 1};
  if (term.kind == TermKind::kSum && term.args.size() == 1 && is_truth(terms[term.args[0].base])) {
    return {term.args[0].base, 0, term.coefficients[0]};
  }
  if (term.kind == TermKind::kPure && term.operation.op == Op::kSelect && term.args[1].constant() &&
      term.args[2].constant() && is_truth(terms[term.args[0].base]) && term.args[0].number == 0) {
    return {term.args[0].base, term.args[2].number, term.args[1].number};
  }
  return {};
}

}  // namespace

std::optional<Value> simplify_of_truth(Arithmetic& terms, Operation o, const Value* a, unsigned count) {
  unsigned based = 0;
  unsigned which = 0;
  for (unsigned n = 0; n < count; ++n) {
    if (a[n].base == 0) continue;
    ++based;
    which = n;
  }
  if (based != 1 || o.op == Op::kSelect) return std::nullopt;
  const Either either = either_of(terms, a[which].base);
  if (either.truth == 0) return std::nullopt;
  uint64_t result[2];  // [0]: if false
  for (unsigned t = 0; t < 2; ++t) {
    uint64_t numbers[4];
    for (unsigned n = 0; n < count; ++n) numbers[n] = a[n].number;
    numbers[which] += t != 0 ? either.if_true : either.if_false;
    result[t] = fold(o, numbers, count);
  }
  if (result[0] == result[1]) return Value::of(result[0]);
  const Value truth = Value::of_term(either.truth);
  if (result[0] == 0 && result[1] == 1) return truth;
  if (result[0] == 1 && result[1] == 0) return terms.negation(truth);
  const Value arms[3] = {truth, Value::of(result[1]), Value::of(result[0])};
  return terms.apply(operation(Op::kSelect, o.width), arms, 3);
}

std::optional<Value> simplify_select(Arithmetic& terms, Operation o, const Value* a) {
  const unsigned w = o.width;
  const Value& p = a[0];
  if (p.base == 0) return (p.number & 1) != 0 ? a[1] : a[2];
  if (a[1] == a[2]) return a[1];
  const Term& term = terms[p.base];
  if (term.kind == TermKind::kSum && term.args.size() == 1 && p.number == 1 &&
      term.coefficients[0] == ~uint64_t{0}) {  // 1 - t
    const Value swapped[3] = {Value::of_term(term.args[0].base), a[2], a[1]};
    return terms.apply(o, swapped, 3);
  }
  if (p.number == 0 && a[1].constant() && a[2].constant()) {
    if (a[1].number == 1 && a[2].number == 0) return p;
    if (a[1].number == 0 && a[2].number == 1) return terms.negation(p);
  }
  // The larger or the smaller of two values per lane, which is the same whichever of them comes first.
  if (term.kind == TermKind::kPure && term.operation.op == Op::kLt && term.operation.width == w && p.number == 0 &&
      term.uniformity == Uniformity::kLane) {
    const Operation smaller = operation(Op::kMin, w, term.operation.is_signed);
    const Operation larger = operation(Op::kMax, w, term.operation.is_signed);
    if (term.args[0] == a[1] && term.args[1] == a[2]) return terms.apply(smaller, a[1], a[2]);
    if (term.args[0] == a[2] && term.args[1] == a[1]) return terms.apply(larger, a[2], a[1]);
  }
  // A choice between a condition and a constant is a conjunction or a disjunction.
  auto is_condition = [&](const Value& v) {
    const Summands of = terms.store().summands(v.base);
    if (of.size() != 1 || !is_truth(terms[of[0].term])) return false;
    return of[0].coefficient == 1 ? v.number == 0 : of[0].coefficient == ~uint64_t{0} && v.number == 1;
  };
  if (p.number == 0 && (is_condition(a[1]) || is_condition(a[2])) && (a[1].constant() || a[2].constant())) {
    const bool first = a[1].constant();
    const uint64_t n = first ? a[1].number : a[2].number;
    const Value& condition = first ? a[2] : a[1];
    if (n == 0)
      return terms.apply(operation(Op::kAnd, 1), first ? terms.apply(operation(Op::kNot, 1), p) : p, condition);
    if (n == 1)
      return terms.apply(operation(Op::kOr, 1), first ? p : terms.apply(operation(Op::kNot, 1), p), condition);
  }
  return std::nullopt;
}

// Bits of two numbers of which none is there, or flags of any width: two conditions.
std::optional<Value> simplify_equal_of_bits(Arithmetic& terms, Operation o, const Value& left, uint64_t right) {
  const Term& t = terms[left.base];
  if (left.number != 0 || t.kind != TermKind::kPure || t.operation.width != o.width) return std::nullopt;
  if (t.operation.op != Op::kOr && t.operation.op != Op::kAnd && t.operation.op != Op::kXor) return std::nullopt;
  const Value sides[2] = {t.args[0], t.args[1]};
  const auto is = [&](const Value& v, uint64_t n) { return terms.apply(o, v, Value::of(n)); };
  const auto is_flag = [&](const Value& v) {
    return v.same_in_lanes() && terms.store().zero_bits(v, 0) == ~uint64_t{1};
  };
  const Operation both = operation(Op::kAnd, 1);
  if (t.operation.op == Op::kOr && right == 0) return terms.apply(both, is(sides[0], 0), is(sides[1], 0));
  if (!is_flag(sides[0]) || !is_flag(sides[1])) return std::nullopt;
  if (t.operation.op == Op::kXor && right == 0) return terms.apply(o, sides[0], sides[1]);
  if (t.operation.op != Op::kAnd || right > 1) return std::nullopt;
  const Value all = terms.apply(both, is(sides[0], 1), is(sides[1], 1));
  return right == 1 ? all : terms.apply(operation(Op::kNot, 1), all);
}

std::optional<Value> simplify_equal(Arithmetic& terms, Operation o, const Value* a) {
  const unsigned w = o.width;
  const uint64_t all = truncate(~uint64_t{0}, w);
  // One form for a == b: the linear form of the difference against a number.
  const Value difference = terms.sum(a[0], a[1], ~uint64_t{0}, w);
  if (difference.base == 0) return Value::of(truncate(difference.number, w) == 0 ? 1 : 0);
  Value left = Value::of_term(difference.base);
  uint64_t right = truncate(~difference.number + 1, w);
  const Summands list = terms.store().summands(difference.base);
  if (list.size() != 0 && (list[0].coefficient >> (w - 1)) != 0) {
    left = terms.scale(left, ~uint64_t{0}, w);
    right = truncate(~right + 1, w);
  }
  if (const std::optional<Value> of_bits = simplify_equal_of_bits(terms, o, left, right)) return of_bits;
  if (a[1] == Value::of(right) && a[0] == left) {
    const uint64_t ones = ~terms[left.base].zero_bits;
    if ((right & ~ones) != 0 && (terms[left.base].kind != TermKind::kSum || w >= 32)) {
      if ((right & ~ones & all) != 0) return Value::of(0);  // asks for a bit that is never set
    }
    return std::nullopt;
  }
  const Value normal[2] = {left, Value::of(right)};
  return terms.apply(o, normal, 2);
}

std::optional<Value> simplify_less(Arithmetic& terms, Operation o, const Value* a) {
  const unsigned w = o.width;
  const uint64_t all = truncate(~uint64_t{0}, w);
  if (a[0] == a[1]) return Value::of(0);
  if (a[0].base == a[1].base && o.is_signed) {
    return Value::of(sign_extend(a[0].number, w) < sign_extend(a[1].number, w) ? 1 : 0);
  }
  if (!o.is_signed && a[1].constant()) {
    if (a[1].number == 0) return Value::of(0);
    if (a[1].number == 1) return terms.apply(operation(Op::kEq, w), a[0], Value::of(0));
    const uint64_t ones = truncate(~terms[a[0].base].zero_bits, w);
    if (ones + a[0].number >= ones && ones + a[0].number < a[1].number) return Value::of(1);
  }
  if (!o.is_signed && a[0].constant()) {
    if (a[0].number == all) return Value::of(0);
    if (a[0].number == 0) {
      return terms.apply(operation(Op::kNot, 1), terms.apply(operation(Op::kEq, w), a[1], Value::of(0)));
    }
    const uint64_t ones = truncate(~terms[a[1].base].zero_bits, w);
    if (ones + a[1].number >= ones && ones + a[1].number <= a[0].number) return Value::of(0);
  }
  return std::nullopt;
}

}  // namespace tmemlint::value
