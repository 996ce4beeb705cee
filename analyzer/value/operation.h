// The pure operations, and what they make of numbers.
#pragma once

#include <cstdint>

#include "analyzer/value/warp_value.h"

namespace tmemlint::value {

// Operands are a, b, c, d, in this order. The width (bits) and signedness belong to the operation, not to the values.
enum class Op : uint8_t {
  kMov,
  kAdd,
  kSub,
  kMul,    // the lower half of the product
  kMulHi,  // the upper half
  kShl,
  kShr,
  kAnd,
  kOr,
  kXor,
  kNot,
  kNeg,
  kAbs,
  kMin,
  kMax,
  kDiv,
  kRem,
  kSelect,  // a ? b : c, a is a predicate
  kEq,      // a predicate, as kLt is; the other comparisons are made of these
  kLt,
  kBfe,   // the c bits of a from bit b
  kBfi,   // a put into b, as d bits from bit c
  kPrmt,  // bytes of b:a, by the selector c
  kLop3,  // of a, b and c by the table in aux
  kClz,
  kBrev,
  kBfind,  // aux 1: as the amount of a shift
  kPopc,
  kFns,
  kSext,       // from `aux` bits
  kZext,       // from `aux` bits
  kFunnel,     // shf: aux 0 left wrap, 1 right wrap, 2 left clamp, 3 right clamp
  kButterfly,  // the value of lane l ^ aux
  kGeneric,    // an operation that is not modelled: aux numbers the opcode; equal arguments give equal results
};

struct Operation {
  Op op = Op::kMov;
  uint8_t width = 32;  // in bits: 1, 8, 16, 32, 64; of a comparison, that of what is compared
  bool is_signed = false;
  uint32_t aux = 0;
  bool operator==(const Operation&) const = default;
};

// What is said of an operation in one word each.
struct OpTraits {
  const char* name;
  // a op b is b op a. That of sums is known anyway, and a comparison has one form.
  bool commutes = false;
  // Of a choice between two values that lanes differ in, it is worked out for both sides (by_choice).
  bool of_both_sides = false;
};

constexpr OpTraits traits(Op op) {
  switch (op) {
    case Op::kMov:
      return {"mov"};
    case Op::kAdd:
      return {"add"};
    case Op::kSub:
      return {"sub"};
    case Op::kMul:
      return {"mul", true};
    case Op::kMulHi:
      return {"mulhi"};
    case Op::kShl:
      return {"shl"};
    case Op::kShr:
      return {"shr", false, true};
    case Op::kAnd:
      return {"and", true, true};
    case Op::kOr:
      return {"or", true, true};
    case Op::kXor:
      return {"xor", true, true};
    case Op::kNot:
      return {"not"};
    case Op::kNeg:
      return {"neg"};
    case Op::kAbs:
      return {"abs"};
    case Op::kMin:
      return {"min", true, true};
    case Op::kMax:
      return {"max", true, true};
    case Op::kDiv:
      return {"div"};
    case Op::kRem:
      return {"rem"};
    case Op::kSelect:
      return {"select"};
    case Op::kEq:
      return {"eq", false, true};
    case Op::kLt:
      return {"lt", false, true};
    case Op::kBfe:
      return {"bfe"};
    case Op::kBfi:
      return {"bfi"};
    case Op::kPrmt:
      return {"prmt"};
    case Op::kLop3:
      return {"lop3"};
    case Op::kClz:
      return {"clz"};
    case Op::kBrev:
      return {"brev"};
    case Op::kBfind:
      return {"bfind"};
    case Op::kPopc:
      return {"popc"};
    case Op::kFns:
      return {"fns"};
    case Op::kSext:
      return {"sext", false, true};
    case Op::kZext:
      return {"zext", false, true};
    case Op::kFunnel:
      return {"funnel"};
    case Op::kButterfly:
      return {"butterfly"};
    case Op::kGeneric:
      return {"generic"};
  }
  return {""};  // no operation
}

constexpr Operation operation(Op op, unsigned width, bool is_signed = false, uint32_t aux = 0) {
  return {op, static_cast<uint8_t>(width), is_signed, aux};
}

// Whether the result is a predicate, whatever the width of the operands.
constexpr bool is_comparison(Op op) {
  return op == Op::kEq || op == Op::kLt;
}

// The arithmetic on numbers alone, of one lane and of all.
uint64_t fold(Operation operation, const uint64_t* args, unsigned count);
void fold_lanes(Operation operation, const Lanes* args, unsigned count, Lanes& out);

}  // namespace tmemlint::value
