// Arithmetic on numbers: what PTX integer instructions compute (PTX ISA 9.7.1, 9.7.3 to 9.7.6, 9.7.8).
#include <algorithm>
#include <bit>

#include "analyzer/value/operation.h"

namespace tmemlint::value {

namespace {

__extension__ using Wide = __int128;
__extension__ using UnsignedWide = unsigned __int128;

uint64_t multiply_high(uint64_t a, uint64_t b, unsigned width, bool is_signed) {
  if (is_signed) {
    const auto product = static_cast<Wide>(sign_extend(a, width)) * sign_extend(b, width);
    return static_cast<uint64_t>(product >> width);
  }
  const auto product = static_cast<UnsignedWide>(truncate(a, width)) * truncate(b, width);
  return static_cast<uint64_t>(product >> width);
}

// Shift amounts beyond the width give 0 (or the sign); they are unsigned 32-bit numbers.
uint64_t shift_right(uint64_t a, uint64_t amount, unsigned width, bool is_signed) {
  amount = truncate(amount, 32);
  if (is_signed) {
    const int64_t value = sign_extend(a, width);
    return static_cast<uint64_t>(value >> (amount >= width ? width - 1 : amount));
  }
  return amount >= width ? 0 : truncate(a, width) >> amount;
}

uint64_t divide(uint64_t a, uint64_t b, unsigned width, bool is_signed, bool remainder) {
  if (truncate(b, width) == 0) return truncate(~uint64_t{0}, width);  // what the hardware gives; undefined by the ISA
  if (is_signed) {
    const Wide x = sign_extend(a, width);
    const Wide y = sign_extend(b, width);
    return static_cast<uint64_t>(remainder ? x % y : x / y);
  }
  const uint64_t x = truncate(a, width);
  const uint64_t y = truncate(b, width);
  return remainder ? x % y : x / y;
}

uint64_t extract(uint64_t a, uint64_t position, uint64_t length, unsigned width, bool is_signed) {
  position &= 0xff;
  length &= 0xff;
  if (length == 0) return 0;
  const uint64_t shifted = shift_right(a, position, width, is_signed);
  if (position + length >= width) return shifted;
  return is_signed ? static_cast<uint64_t>(sign_extend(shifted, static_cast<unsigned>(length)))
                   : truncate(shifted, static_cast<unsigned>(length));
}

uint64_t insert(uint64_t field, uint64_t into, uint64_t position, uint64_t length, unsigned width) {
  position &= 0xff;
  length &= 0xff;
  if (position >= width || length == 0) return into;
  const uint64_t mask = truncate(~uint64_t{0}, static_cast<unsigned>(length > 63 ? 64 : length)) << position;
  return (into & ~mask) | ((field << position) & mask);
}

uint64_t permute(uint64_t a, uint64_t b, uint64_t selector) {
  const uint64_t bytes = truncate(a, 32) | (truncate(b, 32) << 32);
  uint64_t out = 0;
  for (unsigned n = 0; n < 4; ++n) {
    const uint64_t nibble = (selector >> (4 * n)) & 0xf;
    uint64_t byte = (bytes >> (8 * (nibble & 7))) & 0xff;
    if ((nibble & 8) != 0) byte = (byte & 0x80) != 0 ? 0xff : 0;
    out |= byte << (8 * n);
  }
  return out;
}

uint64_t logic3(uint64_t a, uint64_t b, uint64_t c, uint64_t table) {
  uint64_t out = 0;
  for (unsigned row = 0; row < 8; ++row) {
    if (((table >> row) & 1) == 0) continue;
    out |= ((row & 4) != 0 ? a : ~a) & ((row & 2) != 0 ? b : ~b) & ((row & 1) != 0 ? c : ~c);
  }
  return out;
}

uint64_t reverse(uint64_t a, unsigned width) {
  uint64_t out = 0;
  for (unsigned n = 0; n < width; ++n) out |= ((a >> n) & 1) << (width - 1 - n);
  return out;
}

uint64_t find_first(uint64_t a, unsigned width, bool is_signed, bool shift_amount) {
  a = truncate(a, width);
  if (is_signed && sign_extend(a, width) < 0) a = truncate(~a, width);
  if (a == 0) return 0xffffffffu;
  const unsigned top = 63 - static_cast<unsigned>(std::countl_zero(a));
  return shift_amount ? width - 1 - top : top;
}

uint64_t find_nth_set(uint64_t mask, uint64_t base, int64_t offset) {
  mask = truncate(mask, 32);
  auto at = static_cast<int64_t>(truncate(base, 32));
  if (offset == 0) return at < 32 && ((mask >> at) & 1) != 0 ? static_cast<uint64_t>(at) : 0xffffffffu;
  const int64_t step = offset > 0 ? 1 : -1;
  int64_t left = offset > 0 ? offset : -offset;
  for (; at >= 0 && at < 32; at += step) {
    if (((mask >> at) & 1) != 0 && --left == 0) return static_cast<uint64_t>(at);
  }
  return 0xffffffffu;
}

uint64_t funnel(uint64_t low, uint64_t high, uint64_t amount, uint32_t mode) {
  const bool clamp = mode >= 2;
  amount = truncate(amount, 32);
  amount = clamp ? (amount > 32 ? 32 : amount) : amount & 31;
  const uint64_t both = truncate(low, 32) | (truncate(high, 32) << 32);
  if ((mode & 1) == 0) return amount == 0 ? high : both >> (32 - amount);
  return amount == 64 ? 0 : both >> amount;
}

}  // namespace

// Long because it is one plain switch: a line or two for each operation.
uint64_t fold(Operation o, const uint64_t* a, unsigned /*count*/) {
  const unsigned w = o.width;
  uint64_t r = 0;
  switch (o.op) {
    case Op::kMov:
      r = a[0];
      break;
    case Op::kAdd:
      r = a[0] + a[1];
      break;
    case Op::kSub:
      r = a[0] - a[1];
      break;
    case Op::kMul:
      r = a[0] * a[1];
      break;
    case Op::kMulHi:
      r = multiply_high(a[0], a[1], w, o.is_signed);
      break;
    case Op::kShl:
      r = truncate(a[1], 32) >= w ? 0 : a[0] << truncate(a[1], 32);
      break;
    case Op::kShr:
      r = shift_right(a[0], a[1], w, o.is_signed);
      break;
    case Op::kAnd:
      r = a[0] & a[1];
      break;
    case Op::kOr:
      r = a[0] | a[1];
      break;
    case Op::kXor:
      r = a[0] ^ a[1];
      break;
    case Op::kNot:
      r = ~a[0];
      break;
    case Op::kNeg:
      r = ~a[0] + 1;
      break;
    case Op::kAbs:
      r = sign_extend(a[0], w) < 0 ? ~a[0] + 1 : a[0];
      break;
    case Op::kMin:
    case Op::kMax: {
      const bool less =
          o.is_signed ? sign_extend(a[0], w) < sign_extend(a[1], w) : truncate(a[0], w) < truncate(a[1], w);
      r = less == (o.op == Op::kMin) ? a[0] : a[1];
      break;
    }
    case Op::kDiv:
      r = divide(a[0], a[1], w, o.is_signed, false);
      break;
    case Op::kRem:
      r = divide(a[0], a[1], w, o.is_signed, true);
      break;
    case Op::kSelect:
      r = (a[0] & 1) != 0 ? a[1] : a[2];
      break;
    case Op::kEq:
      return truncate(a[0], w) == truncate(a[1], w) ? 1 : 0;
    case Op::kLt:
      return (o.is_signed ? sign_extend(a[0], w) < sign_extend(a[1], w) : truncate(a[0], w) < truncate(a[1], w)) ? 1
                                                                                                                 : 0;
    case Op::kBfe:
      r = extract(a[0], a[1], a[2], w, o.is_signed);
      break;
    case Op::kBfi:
      r = insert(a[0], a[1], a[2], a[3], w);
      break;
    case Op::kPrmt:
      r = permute(a[0], a[1], a[2]);
      break;
    case Op::kLop3:
      r = logic3(a[0], a[1], a[2], o.aux);
      break;
    case Op::kClz:
      return w - static_cast<unsigned>(std::bit_width(truncate(a[0], w)));
    case Op::kBrev:
      r = reverse(a[0], w);
      break;
    case Op::kBfind:
      return find_first(a[0], w, o.is_signed, o.aux != 0);
    case Op::kPopc:
      return static_cast<uint64_t>(std::popcount(truncate(a[0], w)));
    case Op::kFns:
      r = find_nth_set(a[0], a[1], sign_extend(a[2], 32));
      break;
    case Op::kSext:
      r = static_cast<uint64_t>(sign_extend(truncate(a[0], o.aux), o.aux));
      break;
    case Op::kZext:
      r = truncate(a[0], o.aux);
      break;
    case Op::kButterfly:
      r = a[0];  // of what is the same in both lanes
      break;
    case Op::kFunnel:
      r = funnel(a[0], a[1], a[2], o.aux);
      break;
    case Op::kGeneric:
      break;  // not modelled: never asked for
  }
  return truncate(r, w);
}

namespace {

// One operation in all lanes: the loop is inside the choice of the operation, so that compilers make vectors of it.
template <typename F>
void each_lane(Lanes& out, unsigned width, F&& f) {
  const uint64_t mask = truncate(~uint64_t{0}, width);
  for (unsigned l = 0; l < kLanes; ++l) out[l] = f(l) & mask;
}

}  // namespace

void fold_lanes(Operation o, const Lanes* a, unsigned count, Lanes& out) {
  const unsigned w = o.width;
  switch (o.op) {
    case Op::kMov:
      return each_lane(out, w, [&](unsigned l) { return a[0][l]; });
    case Op::kAdd:
      return each_lane(out, w, [&](unsigned l) { return a[0][l] + a[1][l]; });
    case Op::kSub:
      return each_lane(out, w, [&](unsigned l) { return a[0][l] - a[1][l]; });
    case Op::kMul:
      return each_lane(out, w, [&](unsigned l) { return a[0][l] * a[1][l]; });
    case Op::kAnd:
      return each_lane(out, w, [&](unsigned l) { return a[0][l] & a[1][l]; });
    case Op::kOr:
      return each_lane(out, w, [&](unsigned l) { return a[0][l] | a[1][l]; });
    case Op::kXor:
      return each_lane(out, w, [&](unsigned l) { return a[0][l] ^ a[1][l]; });
    case Op::kNot:
      return each_lane(out, w, [&](unsigned l) { return ~a[0][l]; });
    case Op::kZext:
      return each_lane(out, std::min<unsigned>(w, o.aux), [&](unsigned l) { return a[0][l]; });
    case Op::kSelect:
      return each_lane(out, w, [&](unsigned l) { return (a[0][l] & 1) != 0 ? a[1][l] : a[2][l]; });
    case Op::kShl:
    case Op::kShr: {
      // By the same amount in all lanes, as nearly always.
      const uint64_t amount = truncate(a[1][0], 32);
      bool same = amount < w && !o.is_signed;
      for (unsigned l = 1; l < kLanes; ++l) same = same && a[1][l] == a[1][0];
      if (!same) break;
      if (o.op == Op::kShl) return each_lane(out, w, [&](unsigned l) { return a[0][l] << amount; });
      const uint64_t mask = truncate(~uint64_t{0}, w);
      return each_lane(out, w, [&](unsigned l) { return (a[0][l] & mask) >> amount; });
    }
    case Op::kMulHi:
    case Op::kNeg:
    case Op::kAbs:
    case Op::kMin:
    case Op::kMax:
    case Op::kDiv:
    case Op::kRem:
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
    case Op::kFunnel:
    case Op::kButterfly:
    case Op::kGeneric:
      break;
  }
  // All others, and shifts by amounts that differ.
  for (unsigned l = 0; l < kLanes; ++l) {
    uint64_t numbers[4];
    for (unsigned n = 0; n < count; ++n) numbers[n] = a[n][l];
    out[l] = fold(o, numbers, count);
  }
}

}  // namespace tmemlint::value
