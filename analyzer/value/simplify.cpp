#include "analyzer/value/simplify.h"

#include <bit>

namespace tmemlint::value {

namespace {

// By a power of two, of something that is not negative.
std::optional<Value> simplify_division(Arithmetic& terms, Operation o, const Value* a) {
  const unsigned w = o.width;
  if (!a[1].constant() || !std::has_single_bit(a[1].number)) return std::nullopt;
  const uint64_t sign = uint64_t{1} << (w - 1);
  if (o.is_signed && (~terms.store().zero_bits(a[0], 0) & sign) != 0) return std::nullopt;
  if (o.op == Op::kRem) return terms.apply(operation(Op::kAnd, w), a[0], Value::of(a[1].number - 1));
  return terms.apply(operation(Op::kShr, w), a[0], Value::of(static_cast<uint64_t>(std::countr_zero(a[1].number))));
}

// Operands in one order, so that equal operations are equal terms.
std::optional<Value> in_order(Arithmetic& terms, Operation o, const Value* a) {
  if (a[0].base <= a[1].base) return std::nullopt;
  const Value ordered[2] = {a[1], a[0]};
  return terms.make_operation(o, ordered, 2);
}

}  // namespace

std::optional<Value> simplify(Arithmetic& terms, Operation o, const Value* args, unsigned count) {
  if (std::optional<Value> simple = simplify_of_truth(terms, o, args, count)) return simple;
  switch (o.op) {
    case Op::kAnd:
    case Op::kOr:
    case Op::kXor:
      return simplify_logic(terms, o, args);
    case Op::kShr:
      return simplify_shift_right(terms, o, args);
    case Op::kBfe:
      return simplify_extract(terms, o, args);
    case Op::kBfi:
      return simplify_insert(terms, o, args);
    case Op::kPrmt:
      return simplify_permute(terms, args);
    case Op::kLop3:
      return simplify_lop3(terms, o, args);
    case Op::kZext:
    case Op::kSext:
      return simplify_extension(terms, o, args);
    case Op::kSelect:
      return simplify_select(terms, o, args);
    case Op::kEq:
      return simplify_equal(terms, o, args);
    case Op::kLt:
      return simplify_less(terms, o, args);
    case Op::kMin:
    case Op::kMax:
      if (args[0] == args[1]) return args[0];
      return std::nullopt;
    case Op::kMul:
      return in_order(terms, o, args);
    case Op::kRem:
    case Op::kDiv:
      return simplify_division(terms, o, args);
    case Op::kMov:
    case Op::kAdd:
    case Op::kSub:
    case Op::kMulHi:
    case Op::kShl:
    case Op::kNot:
    case Op::kNeg:
    case Op::kAbs:
    case Op::kClz:
    case Op::kBrev:
    case Op::kBfind:
    case Op::kPopc:
    case Op::kFns:
    case Op::kFunnel:
    case Op::kButterfly:
    case Op::kGeneric:
      return std::nullopt;  // as simple as it is; sums and shifts to the left are linear forms
  }
  return std::nullopt;
}

}  // namespace tmemlint::value
