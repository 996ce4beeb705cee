#include "analyzer/value/arithmetic.h"

#include <algorithm>

#include "analyzer/value/by_lane.h"
#include "analyzer/value/derive.h"
#include "analyzer/value/simplify.h"

namespace tmemlint::value {

namespace {

// Linear forms stay linear: the arithmetic is modulo 2^width.
std::optional<Value> linear(Arithmetic& terms, Operation o, const Value* args) {
  const unsigned w = o.width;
  switch (o.op) {
    case Op::kAdd:
      return terms.sum(args[0], args[1], 1, w);
    case Op::kSub:
      return terms.sum(args[0], args[1], ~uint64_t{0}, w);
    case Op::kNeg:
      return terms.scale(args[0], ~uint64_t{0}, w);
    case Op::kNot:
      return w == 1 ? terms.negation(args[0]) : terms.sum(Value::of(~uint64_t{0}), args[0], ~uint64_t{0}, w);
    case Op::kMul:
      if (args[1].constant()) return terms.scale(args[0], args[1].number, w);
      if (args[0].constant()) return terms.scale(args[1], args[0].number, w);
      return std::nullopt;
    case Op::kShl:
      if (!args[1].constant()) return std::nullopt;
      return args[1].number >= w ? Value::of(0) : terms.scale(args[0], uint64_t{1} << args[1].number, w);
    case Op::kMov:
    case Op::kMulHi:
    case Op::kShr:
    case Op::kAnd:
    case Op::kOr:
    case Op::kXor:
    case Op::kAbs:
    case Op::kMin:
    case Op::kMax:
    case Op::kDiv:
    case Op::kRem:
    case Op::kSelect:
    case Op::kEq:
    case Op::kLt:
    case Op::kBfe:
    case Op::kBfi:
    case Op::kPrmt:
    case Op::kLop3:
    case Op::kClz:
    case Op::kBrev:
    case Op::kBfind:
    case Op::kPopc:
    case Op::kFns:
    case Op::kSext:
    case Op::kZext:
    case Op::kFunnel:
    case Op::kButterfly:
    case Op::kGeneric:
      return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

Value Arithmetic::apply(Operation o, const Value* args, unsigned count) {
  bool constant = true;
  for (unsigned n = 0; n < count; ++n) constant = constant && args[n].constant();
  if (constant && o.op != Op::kGeneric) {
    uint64_t numbers[4];
    for (unsigned n = 0; n < count; ++n) numbers[n] = args[n].number;
    return Value::of(fold(o, numbers, count));
  }
  if (count > 3) return apply_anew(o, args, count);
  // Warps, rounds of loops and scenarios ask the same again and again.
  constexpr size_t kRemembered = 512;
  if (applied_.empty()) applied_.resize(kRemembered);
  uint64_t h =
      static_cast<uint64_t>(o.op) ^ (uint64_t{o.width} << 8) ^ (uint64_t{o.is_signed} << 16) ^ (uint64_t{o.aux} << 20);
  for (unsigned n = 0; n < count; ++n) h = hash_with(h, args[n]);
  const size_t place = h % kRemembered;
  if (const Applied& known = applied_[place]; known.as_of == store_.zero_bits_version() && known.operation == o &&
                                              std::equal(args, args + count, known.args.begin())) {
    return known.result;
  }
  const Value result = apply_anew(o, args, count);
  Applied& known = applied_[place];
  known.operation = o;
  known.as_of = store_.zero_bits_version();
  std::copy(args, args + count, known.args.begin());
  known.result = result;
  return result;
}

Value Arithmetic::apply_anew(Operation o, const Value* args, unsigned count) {
  if (o.op == Op::kGeneric) return make_operation(o, args, count);
  bool known = true;
  bool mixed = false;
  bool lanes = false;
  for (unsigned n = 0; n < count; ++n) {
    known = known && args[n].known();
    mixed = mixed || args[n].without_base != 0;
    lanes = lanes || args[n].table != 0;
  }
  if (known) return apply_by_lane(store_.tables(), o, args, count);
  if (o.op == Op::kMov) return args[0];
  if (mixed) return by_groups(*this, o, args, count);
  if (std::optional<Value> form = linear(*this, o, args)) return *form;
  if (!lanes) {
    if (std::optional<Value> simple = simplify(*this, o, args, count)) return *simple;
  } else {
    if (std::optional<Value> apart = beside_base(*this, o, args)) return *apart;
  }
  if (std::optional<Value> chosen = by_choice(*this, o, args, count)) return *chosen;
  return lanes ? by_groups(*this, o, args, count) : make_operation(o, args, count);
}

Value Arithmetic::make_operation(Operation o, const Value* args, unsigned count) {
  const unsigned width = is_comparison(o.op) ? 1 : o.width;
  const uint32_t base = store_.intern({TermKind::kPure, width, o, 0, 0, args, count},
                                      [this](Term& term) { derive_operation(store_, term); });
  if (traits(o.op).commutes) note_commutative(store_, base, args[0], args[1]);
  return Value::of_term(base);
}

// The base of a + b * factor.
uint32_t Arithmetic::base_of_sum(uint32_t a, uint32_t b, uint64_t factor, unsigned width) {
  const Summands first = store_.summands(a);
  const Summands second = store_.summands(b);
  std::vector<Summand>& merged = merged_;
  merged.clear();
  auto add = [&](uint32_t term, uint64_t coefficient) {
    coefficient = truncate(coefficient, width);
    if (coefficient != 0) merged.push_back({term, coefficient});
  };
  size_t n = 0;
  size_t m = 0;
  while (n < first.size() || m < second.size()) {
    const Summand x = n < first.size() ? first[n] : Summand{UINT32_MAX, 0};
    const Summand y = m < second.size() ? second[m] : Summand{UINT32_MAX, 0};
    if (x.term < y.term) {
      add(x.term, x.coefficient);
      ++n;
    } else if (y.term < x.term) {
      add(y.term, y.coefficient * factor);
      ++m;
    } else {
      add(x.term, x.coefficient + y.coefficient * factor);
      ++n;
      ++m;
    }
  }
  if (merged.empty()) return 0;
  if (merged.size() == 1 && merged[0].coefficient == 1) return merged[0].term;
  std::vector<Value>& args = merged_args_;
  std::vector<uint64_t>& coefficients = merged_coefficients_;
  args.assign(merged.size(), Value{});
  coefficients.resize(merged.size());
  for (size_t k = 0; k < merged.size(); ++k) {
    args[k].base = merged[k].term;
    coefficients[k] = merged[k].coefficient;
  }
  return store_.intern({TermKind::kSum, width, {}, 0, 0, args.data(), args.size(), coefficients.data()},
                       [this](Term& term) { derive_sum(store_, term); });
}

Value Arithmetic::sum(const Value& a, const Value& b, uint64_t factor, unsigned width) {
  if (a.table == 0 && b.table == 0) {
    // Only a number is added: the base stays.
    const Value* based = b.base == 0 ? &a : a.base == 0 && factor == 1 ? &b : nullptr;
    if (based != nullptr &&
        (based->base == 0 || store_[based->base].kind != TermKind::kSum || store_[based->base].width == width)) {
      Value out = *based;
      out.number = truncate(a.number + b.number * factor, width);
      return out;
    }
  }
  Value out;
  out.base = base_of_sum(a.base, b.base, factor, width);
  if (factor == 1 && a.base != 0 && b.base != 0 && out.base != 0) {
    note_commutative(store_, out.base, Value::of_term(a.base), Value::of_term(b.base));
  }
  out.without_base = out.base == 0 ? 0 : (a.base != 0 ? a.without_base : b.without_base);
  if (a.table == 0 && b.table == 0) {
    out.number = truncate(a.number + b.number * factor, width);
    return out;
  }
  if (a.table == 0 ? factor == 1 : b.table == 0) {
    // A number is added in all lanes.
    out.table = a.table != 0 ? a.table : b.table;
    out.number = truncate(a.number + b.number * factor, width);
    if (store_.tables().fits(out.number, out.table, width)) return out;
  }
  Lanes numbers = store_.tables().numbers_of(a);
  const Lanes others = store_.tables().numbers_of(b);
  for (unsigned l = 0; l < kLanes; ++l) numbers[l] += others[l] * factor;
  const Value lanes = store_.tables().from_lanes(numbers, width);
  out.number = lanes.number;
  out.table = lanes.table;
  return out;
}

Value Arithmetic::scale(const Value& a, uint64_t factor, unsigned width) {
  Value zero;
  Value out = sum(zero, a, factor, width);
  out.without_base = out.base == 0 ? 0 : a.without_base;
  return out;
}

}  // namespace tmemlint::value
