// Constant expressions, evaluated while they are parsed: 64-bit integers, signed unless a U or a cast says otherwise.
#include <array>
#include <bit>
#include <cstdint>

#include "analyzer/ptx/parser.h"

namespace tmemlint::ptx {

namespace {

enum BinaryOperator : uint8_t {
  kNoOperator,
  kOrElse,
  kAndAlso,
  kOr,
  kXor,
  kAnd,
  kEqual,
  kNotEqual,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
  kShiftLeft,
  kShiftRight,
  kAdd,
  kSubtract,
  kMultiply,
  kDivide,
  kRemainder
};

struct Spelling {
  char first, second;  // second: '\0' when one character
  BinaryOperator op;
  int precedence;
};

// Longer spellings first.
constexpr std::array kOperators = {
    Spelling{'|', '|', kOrElse, 1},     Spelling{'&', '&', kAndAlso, 2},      Spelling{'=', '=', kEqual, 6},
    Spelling{'!', '=', kNotEqual, 6},   Spelling{'<', '<', kShiftLeft, 8},    Spelling{'>', '>', kShiftRight, 8},
    Spelling{'<', '=', kLessEqual, 7},  Spelling{'>', '=', kGreaterEqual, 7}, Spelling{'|', '\0', kOr, 3},
    Spelling{'^', '\0', kXor, 4},       Spelling{'&', '\0', kAnd, 5},         Spelling{'<', '\0', kLess, 7},
    Spelling{'>', '\0', kGreater, 7},   Spelling{'+', '\0', kAdd, 9},         Spelling{'-', '\0', kSubtract, 9},
    Spelling{'*', '\0', kMultiply, 10}, Spelling{'/', '\0', kDivide, 10},     Spelling{'%', '\0', kRemainder, 10}};

double as_double(uint64_t bits) {
  return std::bit_cast<double>(bits);
}

uint64_t combine_floats(int op, double a, double b) {
  switch (op) {
    case kAdd:
      return std::bit_cast<uint64_t>(a + b);
    case kSubtract:
      return std::bit_cast<uint64_t>(a - b);
    case kMultiply:
      return std::bit_cast<uint64_t>(a * b);
    default:
      return std::bit_cast<uint64_t>(a / b);
  }
}

uint64_t divide(uint64_t a, uint64_t b, bool is_unsigned, bool wants_remainder) {
  if (is_unsigned) return wants_remainder ? a % b : a / b;
  // The one quotient that does not fit wraps around.
  if (b == ~uint64_t{0}) return wants_remainder ? 0 : 0 - a;
  auto x = static_cast<int64_t>(a);
  auto y = static_cast<int64_t>(b);
  return static_cast<uint64_t>(wants_remainder ? x % y : x / y);
}

bool is_less(uint64_t a, uint64_t b, bool is_unsigned) {
  return is_unsigned ? a < b : static_cast<int64_t>(a) < static_cast<int64_t>(b);
}

uint64_t shift(uint64_t a, uint64_t b, bool left, bool is_unsigned) {
  if (b > 63) return left || is_unsigned || static_cast<int64_t>(a) >= 0 ? 0 : ~uint64_t{0};
  if (left) return a << b;
  return is_unsigned ? a >> b : static_cast<uint64_t>(static_cast<int64_t>(a) >> b);
}

// Everything but division.
uint64_t combine_integers(int op, uint64_t a, uint64_t b, bool is_unsigned, bool left_is_unsigned) {
  switch (op) {
    case kOrElse:
      return a != 0 || b != 0;
    case kAndAlso:
      return a != 0 && b != 0;
    case kOr:
      return a | b;
    case kXor:
      return a ^ b;
    case kAnd:
      return a & b;
    case kEqual:
      return a == b;
    case kNotEqual:
      return a != b;
    case kLess:
      return is_less(a, b, is_unsigned);
    case kLessEqual:
      return !is_less(b, a, is_unsigned);
    case kGreater:
      return is_less(b, a, is_unsigned);
    case kGreaterEqual:
      return !is_less(a, b, is_unsigned);
    case kShiftLeft:
      return shift(a, b, true, left_is_unsigned);
    case kShiftRight:
      return shift(a, b, false, left_is_unsigned);
    case kAdd:
      return a + b;
    case kSubtract:
      return a - b;
    default:
      return a * b;
  }
}

}  // namespace

// The binary operator that the current token begins: kNoOperator when there is none.
int ConstantParser::binary_operator(int& precedence, int& length) const {
  char first = token().punctuation;
  if (first == '\0') return kNoOperator;
  for (const Spelling& spelling : kOperators) {
    if (spelling.first != first) continue;
    if (spelling.second != '\0' && spelling.second != lexer_.following()) continue;
    precedence = spelling.precedence;
    length = spelling.second == '\0' ? 1 : 2;
    return spelling.op;
  }
  return kNoOperator;
}

bool ConstantParser::parse_expression(Constant& result, int depth) {
  if (too_deep(depth)) return false;
  if (!parse_unary(result, depth) || !parse_binary(result, 1, depth)) return false;
  if (!token().is('?')) return true;
  next();
  Constant if_true, if_false;
  if (!parse_expression(if_true, depth + 1)) return false;
  if (!expect(':', "':'") || !parse_expression(if_false, depth + 1)) return false;
  result = result.bits != 0 ? if_true : if_false;
  return true;
}

bool ConstantParser::parse_binary(Constant& left, int minimum, int depth) {
  for (;;) {
    int precedence = 0, length = 0;
    int op = binary_operator(precedence, length);
    if (op == kNoOperator || precedence < minimum) return true;
    Span span = token().span();
    next();
    if (length == 2) next();
    Constant right;
    if (!parse_unary(right, depth) || !parse_binary(right, precedence + 1, depth)) return false;
    if (!combine(left, op, right, span)) return false;
  }
}

bool ConstantParser::combine(Constant& left, int op, const Constant& right, Span span) {
  if (left.is_float && right.is_float && op >= kAdd && op <= kDivide) {
    left.bits = combine_floats(op, as_double(left.bits), as_double(right.bits));
    return true;
  }
  bool is_unsigned = left.is_unsigned || right.is_unsigned;
  if (op == kDivide || op == kRemainder) {
    if (right.bits == 0) {
      error(span, "division by zero in a constant expression");
      return false;
    }
    left.bits = divide(left.bits, right.bits, is_unsigned, op == kRemainder);
    left.is_unsigned = is_unsigned;
    return true;
  }
  bool is_shift = op == kShiftLeft || op == kShiftRight;
  left.bits = combine_integers(op, left.bits, right.bits, is_unsigned, left.is_unsigned);
  if (op < kShiftLeft && op != kOr && op != kXor && op != kAnd) {
    left.is_unsigned = false;  // truth values
  } else if (!is_shift) {
    left.is_unsigned = is_unsigned;
  }
  left.is_float = false;
  return true;
}

bool ConstantParser::parse_unary(Constant& result, int depth) {
  char op = token().punctuation;
  if (op != '-' && op != '+' && op != '~' && op != '!') return parse_primary(result, depth);
  if (too_deep(depth)) return false;
  next();
  if (!parse_unary(result, depth + 1)) return false;
  if (op == '-' && result.is_float) {
    result.bits = std::bit_cast<uint64_t>(-as_double(result.bits));
  } else if (op == '-') {
    result.bits = 0 - result.bits;
  } else if (op == '~') {
    result.bits = ~result.bits;
  } else if (op == '!') {
    result = {result.bits == 0, false, false};
  }
  return true;
}

bool ConstantParser::parse_primary(Constant& result, int depth) {
  constexpr uint64_t kWarpSize = 32;
  if (token().is('(')) return parse_cast_or_parentheses(result, depth);
  if (token().kind == Token::Kind::kInteger || token().kind == Token::Kind::kFloat) {
    result = {token().value, token().is_unsigned, token().kind == Token::Kind::kFloat};
    // A decimal literal beyond the signed range is unsigned.
    if (token().kind == Token::Kind::kInteger && token().value >> 63 != 0) result.is_unsigned = true;
  } else if (is_word() && text() == "WARP_SZ") {
    result = {kWarpSize, false, false};
  } else {
    return expected("an operand");
  }
  next();
  return true;
}

bool ConstantParser::parse_cast_or_parentheses(Constant& result, int depth) {
  if (too_deep(depth)) return false;
  next();
  if (!is_directive()) return parse_expression(result, depth + 1) && expect(')', "')'");
  bool is_unsigned = text().starts_with(".u") || text().starts_with(".b");
  next();
  if (!expect(')', "')'") || !parse_unary(result, depth + 1)) return false;
  result.is_unsigned = is_unsigned;
  return true;
}

}  // namespace tmemlint::ptx
