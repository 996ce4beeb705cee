#include "analyzer/cluster/aim.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "analyzer/assumptions/assumptions.h"
#include "analyzer/cluster/model.h"

namespace tmemlint::cluster {

using value::Op;
using value::Term;
using value::TermKind;
using value::Value;

namespace {

__extension__ using Wide = __int128;

constexpr unsigned kDeepest = assumptions::kDepthOfAnAim;

int64_t divide_down(int64_t a, int64_t b) {
  return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
}
int64_t divide_up(int64_t a, int64_t b) {
  return -divide_down(-a, b);
}

// The number of a range with the most zeros at its end: sizes are mostly multiples of a tile.
int64_t roundest(int64_t low, int64_t high) {
  for (int64_t step = int64_t{1} << 40; step > 1; step /= 2) {
    const int64_t n = divide_up(low, step) * step;
    if (n != 0 && n <= high) return n;
  }
  return low;
}

}  // namespace

Value Aim::value_of(uint32_t term) {
  Value out;
  out.base = term;
  return out;
}

uint32_t Aim::choice(uint32_t ways) {
  return std::exchange(plan_, plan_ / ways) % ways;
}

int64_t Aim::number(const Value& value, unsigned width, bool is_signed) const {
  const uint64_t n = model_.number(value);
  return is_signed ? value::sign_extend(n, width) : static_cast<int64_t>(value::truncate(n, width));
}

// --- conditions ---

bool Aim::at_truth(const Value& value, bool truth) {
  const bool here = (model_.number(value) & 1) != 0;
  if (value.base == 0 || here == truth) return here == truth;
  const Term& t = model_.terms()[value.base];
  const bool inverse = (value.number & 1) != 0;
  const bool wanted = truth != inverse;
  if (model_.is_leaf(value.base)) return at_unknown(value.base, {wanted ? 1 : 0, wanted ? 1 : 0});
  if (t.kind == TermKind::kSum) return t.args.size() == 1 && at_truth(value_of(t.args[0].base), wanted);  // a negation
  switch (t.operation.op) {
    case Op::kEq:
      return at_equal(t, wanted);
    case Op::kLt:
      return at_less(t, wanted);
    case Op::kNot:
      return at_truth(t.args[0], !wanted);
    case Op::kAnd:
    case Op::kOr:
      // Both have to be so, or either is enough.
      if ((t.operation.op == Op::kAnd) == wanted) return at_truth(t.args[0], wanted) && at_truth(t.args[1], wanted);
      return at_truth(t.args[choice(2)], wanted);
    case Op::kXor:
      return at_truth(t.args[choice(2)], (model_.number(t.args[0]) & 1) == 0);
    case Op::kSelect: {
      const bool first = (model_.number(t.args[0]) & 1) != 0;
      const bool other = choice(2) != 0;
      return (!other || at_truth(t.args[0], !first)) && at_truth(t.args[first != other ? 1 : 2], wanted);
    }
    case Op::kMov:
    case Op::kAdd:
    case Op::kSub:
    case Op::kMul:
    case Op::kMulHi:
    case Op::kShl:
    case Op::kShr:
    case Op::kNeg:
    case Op::kAbs:
    case Op::kMin:
    case Op::kMax:
    case Op::kDiv:
    case Op::kRem:
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
      return false;
  }
  return false;
}

bool Aim::at_equal(const Term& comparison, bool truth) {
  const unsigned width = comparison.operation.width;
  const size_t side = choice(2);
  const Value& moved = comparison.args[side];
  const int64_t still = number(comparison.args[1 - side], width, true);
  if (still >= kAny || still <= -kAny) return false;
  if (truth) return at(moved, width, {still, still});
  return choice(2) == 0 ? at(moved, width, {still + 1, kAny}) : at(moved, width, {0, still - 1});
}

bool Aim::at_less(const Term& comparison, bool truth) {
  const unsigned width = comparison.operation.width;
  const int64_t left = number(comparison.args[0], width, comparison.operation.is_signed);
  const int64_t right = number(comparison.args[1], width, comparison.operation.is_signed);
  if (std::max(left, right) >= kAny || std::min(left, right) <= -kAny) return false;
  // Larger sizes first.
  const bool grow = choice(2) == 0;
  if (truth) {
    return grow ? at(comparison.args[1], width, {left + 1, kAny})
                : at(comparison.args[0], width, {std::min<int64_t>(0, right - 1), right - 1});
  }
  return grow ? at(comparison.args[0], width, {right, kAny})
              : at(comparison.args[1], width, {std::min<int64_t>(0, left), left});
}

// --- numbers ---

bool Aim::at(const Value& value, unsigned width, Range want) {
  if (want.empty()) return false;
  const int64_t added = value::sign_extend(value.number, width);
  if (value.base == 0) return want.has(added);
  if (added > kAny || added < -kAny) return false;
  const int64_t high = want.high >= kAny ? kAny : std::min(want.high - added, kAny);
  return at_term(value.base, {std::max(want.low - added, -kAny), high});
}

bool Aim::at_term(uint32_t term, Range want) {
  const Term& t = model_.terms()[term];
  if (want.has(number(value_of(term), t.width, true))) return true;
  if (want.empty() || depth_ == kDeepest) return false;
  if (model_.is_leaf(term)) return at_unknown(term, want);
  ++depth_;
  const bool found = t.kind == TermKind::kSum ? at_sum(term, want) : at_operation(term, want);
  --depth_;
  return found;
}

// Gives an unknown the number of a range that sizes most likely have.
bool Aim::at_unknown(uint32_t leaf, Range want) {
  const Term& t = model_.terms()[leaf];
  const int64_t here =
      t.width == 1 ? static_cast<int64_t>(model_.number(value_of(leaf)) & 1) : number(value_of(leaf), t.width, true);
  if (want.has(here)) return true;
  if (t.kind == TermKind::kAllocation || std::find(given_.begin(), given_.end(), leaf) != given_.end()) return false;
  int64_t n = want.high;
  if (here < want.low) {
    const auto power = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(std::max<int64_t>(1, want.low))));
    n = want.high / 2 >= want.low ? power : roundest(want.low, want.high);
    if (want.low <= 0 || n < want.low || choice(2) != 0) n = want.low;
  }
  const int64_t step = int64_t{1} << std::min(40, std::countr_one(t.zero_bits));
  if (n % step != 0) n = here < want.low ? divide_up(n, step) * step : divide_down(n, step) * step;
  const uint64_t bits = value::truncate(static_cast<uint64_t>(n), t.width);
  if (!want.has(n) || (bits & t.zero_bits) != 0 || !model_.is_plausible(leaf, bits)) return false;
  model_.set(leaf, bits);
  given_.push_back(leaf);
  return true;
}

// The range of numbers that come into another one by being multiplied by a factor.
Aim::Range Aim::over(Range want, int64_t factor) {
  if (factor < 0) return over({-want.high, -want.low}, -factor);
  const int64_t high = want.high >= kAny ? kAny : divide_down(want.high, factor);
  return {divide_up(want.low, factor), high};
}

bool Aim::at_sum(uint32_t term, Range want) {
  const Term& t = model_.terms()[term];
  const int64_t sum = number(value_of(term), t.width, true);
  const auto n = choice(static_cast<uint32_t>(t.args.size()));
  const int64_t factor = value::sign_extend(t.coefficients[n], t.width);
  if (factor == 0) return false;
  const uint32_t arg = t.args[n].base;
  const Wide rest = static_cast<Wide>(sum) - static_cast<Wide>(factor) * number(value_of(arg), t.width, true);
  if (rest > kAny || rest < -kAny) return false;
  const int64_t high = want.high >= kAny ? kAny : want.high - static_cast<int64_t>(rest);
  return at_term(arg, over({want.low - static_cast<int64_t>(rest), high}, factor));
}

bool Aim::at_operation(uint32_t term, Range want) {
  const Term& t = model_.terms()[term];
  const unsigned width = t.operation.width;
  const auto amount = [&](const Value& v) -> int64_t { return v.base == 0 ? static_cast<int64_t>(v.number) : -1; };
  switch (t.operation.op) {
    case Op::kMul:
      return at_product(t, want);
    case Op::kMulHi:
      return at_upper_half(t, want);
    case Op::kDiv:
      return at_quotient(t, want);
    case Op::kRem:
      return at(t.args[0], width, want);
    case Op::kShl: {
      const int64_t by = amount(t.args[1]);
      return by >= 0 && by < 60 && at(t.args[0], width, over(want, int64_t{1} << by));
    }
    case Op::kShr: {
      const int64_t by = amount(t.args[1]);
      if (by < 0 || by >= 60 || want.low < -kAny || want.low > kAny >> by) return false;
      const int64_t high = want.high >= kAny >> by ? kAny : ((want.high + 1) << by) - 1;
      return at(t.args[0], width, {want.low << by, high});
    }
    case Op::kMin:
      return at_smallest(t, want, true);
    case Op::kMax:
      return at_smallest(t, want, false);
    case Op::kSelect:
      return at_choice(t, want);
    case Op::kSext:
    case Op::kZext:
    case Op::kMov:
      return at(t.args[0], t.operation.op == Op::kMov ? width : t.operation.aux, want);
    case Op::kAnd:
    case Op::kBfe:
      return at_bits(t, want);
    case Op::kOr:
      // None of the bits are there.
      if (want.low == 0 && want.high == 0) return at(t.args[0], width, want) && at(t.args[1], width, want);
      return at(t.args[choice(2)], width, want);
    case Op::kXor: {
      const int64_t mask = amount(t.args[1]);
      return mask >= 0 && want.low == want.high && at(t.args[0], width, {want.low ^ mask, want.low ^ mask});
    }
    case Op::kNot:
      return at(t.args[0], width, {want.high >= kAny ? -kAny : ~want.high, ~want.low});
    case Op::kNeg:
      return at(t.args[0], width, over(want, -1));
    case Op::kAbs:
      return at(t.args[0], width, {std::max<int64_t>(0, want.low), want.high});
    case Op::kEq:
    case Op::kLt:
      return want.low == want.high && at_truth(value_of(term), want.low != 0);
    case Op::kAdd:
    case Op::kSub:
    case Op::kBfi:
    case Op::kPrmt:
    case Op::kLop3:
    case Op::kClz:
    case Op::kBrev:
    case Op::kBfind:
    case Op::kPopc:
    case Op::kFns:
    case Op::kFunnel:
    case Op::kButterfly:
    case Op::kGeneric:
      return false;
  }
  return false;
}

// One factor, with the other one as it is, or 1.
bool Aim::at_product(const Term& product, Range want) {
  const unsigned width = product.operation.width;
  const uint32_t way = choice(product.args[0].base == 0 || product.args[1].base == 0 ? 2 : 4);
  const Value& moved = product.args[way % 2];
  const Value& other = product.args[1 - way % 2];
  int64_t factor = number(other, width, true);
  if (factor == 0 || way >= 2 || over(want, factor).empty()) {
    if (!at(other, width, {1, 1})) return false;
    factor = number(other, width, true);
  }
  return factor != 0 && at(moved, width, over(want, factor));
}

bool Aim::at_quotient(const Term& quotient, Range want) {
  const unsigned width = quotient.operation.width;
  int64_t divisor = number(quotient.args[1], width, true);
  if (divisor <= 0 || choice(2) != 0) {
    if (!at(quotient.args[1], width, {1, 1})) return false;
    divisor = number(quotient.args[1], width, true);
  }
  if (divisor <= 0 || want.low < 0 || want.low > kAny / divisor) return false;
  const int64_t high = want.high >= kAny / divisor ? kAny : (want.high + 1) * divisor - 1;
  return at(quotient.args[0], width, {want.low * divisor, high});
}

// Of a division by a number that is made a multiplication.
bool Aim::at_upper_half(const Term& product, Range want) {
  const unsigned width = product.operation.width;
  const size_t constant = product.args[1].base == 0 ? 1 : 0;
  const Value& multiplier = product.args[constant];
  if (multiplier.base != 0 || width > 32 || want.low < 0 || want.low > kAny >> 8) return false;
  const auto by = static_cast<Wide>(value::truncate(multiplier.number, width));
  if (by == 0) return false;
  auto least = [&](int64_t n) { return static_cast<int64_t>(((static_cast<Wide>(n) << width) + by - 1) / by); };
  const int64_t high = want.high >= kAny >> 8 ? kAny : least(want.high + 1) - 1;
  return at(product.args[1 - constant], width, {least(want.low), high});
}

// Of a minimum, one of the two has to be within the range and the other one not below it.
bool Aim::at_smallest(const Term& minimum, Range want, bool smallest) {
  const unsigned width = minimum.operation.width;
  const uint32_t first = choice(2);
  const Range beyond = smallest ? Range{want.low, kAny} : Range{std::min<int64_t>(0, want.high), want.high};
  return at(minimum.args[first], width, want) && at(minimum.args[1 - first], width, beyond);
}

bool Aim::at_choice(const Term& selection, Range want) {
  const unsigned width = selection.operation.width;
  const bool first = (model_.number(selection.args[0]) & 1) != 0;
  const bool other = choice(2) != 0;
  return (!other || at_truth(selection.args[0], !first)) && at(selection.args[first != other ? 1 : 2], width, want);
}

// Some bits of a number: the others stay as they are.
bool Aim::at_bits(const Term& masked, Range want) {
  const unsigned width = masked.operation.width;
  uint64_t mask = 0;
  unsigned shift = 0;
  const Value* of = &masked.args[0];
  if (masked.operation.op == Op::kBfe) {
    if (masked.args[1].base != 0 || masked.args[2].base != 0) return false;
    shift = static_cast<unsigned>(masked.args[1].number & 0xff);
    const auto length = static_cast<unsigned>(masked.args[2].number & 0xff);
    if (length == 0 || length >= 64 || shift >= 32) return false;
    mask = value::truncate(~uint64_t{0}, length) << shift;
  } else {
    const size_t constant = masked.args[1].base == 0 ? 1 : 0;
    if (masked.args[constant].base != 0) return false;
    mask = value::truncate(masked.args[constant].number, width);
    of = &masked.args[1 - constant];
  }
  if (want.low < -kAny || want.low > kAny >> shift) return false;
  const auto low = static_cast<uint64_t>(want.low) << shift;
  // Where only upper bits are kept, the next number that has none of the lower ones.
  const uint64_t below = mask == 0 ? 0 : (uint64_t{1} << std::countr_zero(mask)) - 1;
  const uint64_t bits = (low + below) & ~below & value::truncate(~uint64_t{0}, width);
  if (mask == 0 || (bits & ~mask) != 0) return false;
  const uint64_t all = (model_.number(*of) & ~mask & ~below) | bits;
  const auto n = static_cast<int64_t>(value::truncate(all, width));
  return at(*of, width, {n, n + static_cast<int64_t>(below)});
}

}  // namespace tmemlint::cluster
