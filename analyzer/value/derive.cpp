#include "analyzer/value/derive.h"

#include <algorithm>
#include <bit>

namespace tmemlint::value {

namespace {

// d == 1 ? x : mulhi(x, m) >> s, as quotients by a divisor that is only known at run time are computed.
void note_divisor(TermStore& terms, const Term& selection) {
  const Term& condition = terms[selection.args[0].base];
  if (condition.kind != TermKind::kPure || condition.operation.op != Op::kEq) return;
  if (condition.args[1] != Value::of(1) || condition.args[0] != Value::of_term(condition.args[0].base)) return;
  const Term* quotient = &terms[selection.args[2].base];
  while (quotient->kind == TermKind::kPure &&
         (quotient->operation.op == Op::kShr || quotient->operation.op == Op::kZext)) {
    quotient = &terms[quotient->args[0].base];
  }
  if (quotient->kind != TermKind::kPure || quotient->operation.op != Op::kMulHi) return;
  if (quotient->args[0].base != 0 && quotient->args[1].base != 0)
    terms.mutable_term(condition.args[0].base).divisor = true;
}

// Bits that are 0 in whatever an operation gives.
uint64_t zero_bits_of(const TermStore& terms, const Term& term) {
  const Operation& o = term.operation;
  uint64_t zero = ~truncate(~uint64_t{0}, term.width);
  auto possible_ones = [&](unsigned n) {
    return term.args[n].table != 0 ? ~uint64_t{0} : ~terms.zero_bits(term.args[n], 0);
  };
  switch (o.op) {
    case Op::kAnd:
      zero |= ~(possible_ones(0) & possible_ones(1));
      break;
    case Op::kOr:
    case Op::kXor:
    case Op::kMin:
    case Op::kMax:
      zero |= ~(possible_ones(0) | possible_ones(1));
      break;
    case Op::kZext:
      zero |= ~truncate(possible_ones(0), o.aux);
      break;
    case Op::kSext:
      // Above there are copies of the highest bit.
      zero |= truncate(~possible_ones(0), o.aux);
      break;
    case Op::kShr:
      if (!o.is_signed && term.args[1].constant() && term.args[1].number < 64) {
        zero |= ~(truncate(possible_ones(0), o.width) >> term.args[1].number);
      }
      break;
    case Op::kBfe:
      if (!o.is_signed && term.args[2].constant()) {
        zero |= ~truncate(~uint64_t{0}, static_cast<unsigned>(std::clamp<uint64_t>(term.args[2].number & 0xff, 1, 64)));
      }
      break;
    case Op::kSelect:
      zero |= ~(possible_ones(1) | possible_ones(2));
      break;
    case Op::kClz:
    case Op::kPopc:
      zero |= ~uint64_t{0x7f};
      break;
    case Op::kMov:
    case Op::kAdd:
    case Op::kSub:
    case Op::kMul:
    case Op::kMulHi:
    case Op::kShl:
    case Op::kNot:
    case Op::kNeg:
    case Op::kAbs:
    case Op::kDiv:
    case Op::kRem:
    case Op::kEq:
    case Op::kLt:
    case Op::kBfi:
    case Op::kPrmt:
    case Op::kLop3:
    case Op::kBrev:
    case Op::kBfind:
    case Op::kFns:
    case Op::kFunnel:
    case Op::kButterfly:
    case Op::kGeneric:
      break;
  }
  return zero;
}

}  // namespace

void derive_operation(TermStore& terms, Term& term) {
  for (const Value& v : term.args) {
    term.uniformity = std::max(term.uniformity, terms.uniformity(v));
    if (v.base == 0) continue;
    term.loops |= terms[v.base].loops;
    term.depth = std::max(term.depth, terms[v.base].depth + 1);
  }
  uint8_t same = kLanes - 1;
  for (const Value& v : term.args) same &= terms.symmetric(v);
  if (term.uniformity == Uniformity::kLane) TermStore::add_symmetric(term, same);
  if (term.operation.op == Op::kSelect) note_divisor(terms, term);
  term.zero_bits = zero_bits_of(terms, term);
}

void derive_sum(const TermStore& terms, Term& sum) {
  const unsigned width = sum.width;
  unsigned low_zeros = 63;
  uint64_t largest = 0;
  bool bounded = true;
  for (size_t n = 0; n < sum.args.size(); ++n) {
    const Term& t = terms[sum.args[n].base];
    const uint64_t coefficient = sum.coefficients[n];
    sum.uniformity = std::max(sum.uniformity, t.uniformity);
    sum.loops |= t.loops;
    sum.depth = std::max(sum.depth, t.depth + 1);
    const auto zeros = static_cast<unsigned>(std::countr_one(t.zero_bits) + std::countr_zero(coefficient));
    low_zeros = std::min(low_zeros, zeros);
    // No carry gets beyond the largest sum that the parts can make.
    uint64_t most = 0;
    bounded = bounded && !__builtin_mul_overflow(~t.zero_bits, coefficient, &most) &&
              !__builtin_add_overflow(largest, most, &largest);
  }
  if (sum.uniformity == Uniformity::kLane) {
    uint8_t same = kLanes - 1;
    for (const Value& v : sum.args) same &= terms.symmetric(v);
    TermStore::add_symmetric(sum, same);
  }
  sum.zero_bits = truncate(~uint64_t{0}, low_zeros) | ~truncate(~uint64_t{0}, width);
  if (low_zeros == 0) sum.zero_bits &= ~uint64_t{1};
  if (bounded && largest <= truncate(~uint64_t{0}, width)) {
    sum.zero_bits |= ~truncate(~uint64_t{0}, static_cast<unsigned>(std::bit_width(largest)));
  }
}

void note_commutative(TermStore& terms, uint32_t term, const Value& a, const Value& b) {
  auto exchanged = [&](const Value& of, const Value& other) -> uint8_t {
    const Term& t = terms[other.base];
    if (t.kind != TermKind::kPure || t.operation.op != Op::kButterfly) return 0;
    const bool same = t.args[0].base == of.base && other.number == of.number && of.table == 0 && other.table == 0 &&
                      of.without_base == 0 && other.without_base == 0;
    return same ? static_cast<uint8_t>(t.operation.aux) : 0;
  };
  if (terms[term].uniformity != Uniformity::kLane) return;
  TermStore::add_symmetric(terms.mutable_term(term), static_cast<uint8_t>((terms.symmetric(a) & terms.symmetric(b)) |
                                                                          exchanged(a, b) | exchanged(b, a)));
}

}  // namespace tmemlint::value
