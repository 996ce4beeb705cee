// Signed intervals, with arithmetic that gives up on overflow: the interval of all numbers is "nothing is known".
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "analyzer/value/warp_value.h"

namespace tmemlint::value {

// Both ends belong to it. An end of INT64_MIN or INT64_MAX is not known.
struct Interval {
  int64_t low = INT64_MIN;
  int64_t high = INT64_MAX;
  bool one_number() const { return low == high; }
  bool operator==(const Interval&) const = default;
};

inline Interval intersect(Interval a, Interval b) {
  return {std::max(a.low, b.low), std::min(a.high, b.high)};
}

inline Interval shift(Interval i, int64_t by) {
  Interval out;
  if (i.low != INT64_MIN && __builtin_add_overflow(i.low, by, &out.low)) return {};
  if (i.high != INT64_MAX && __builtin_add_overflow(i.high, by, &out.high)) return {};
  return out;
}

// The signed numbers of so many bits.
inline Interval of_width(unsigned width) {
  if (width >= 64) return {};
  return {-(int64_t{1} << (width - 1)), (int64_t{1} << (width - 1)) - 1};
}

// Times a factor, as a number without a width; false where an end is not known or overflows.
inline bool multiply(Interval i, int64_t factor, Interval& out) {
  if (i.low == INT64_MIN || i.high == INT64_MAX || __builtin_mul_overflow(i.low, factor, &out.low) ||
      __builtin_mul_overflow(i.high, factor, &out.high)) {
    return false;
  }
  if (out.low > out.high) std::swap(out.low, out.high);
  return true;
}

// Times a number of this width, where that does not leave the width.
inline Interval scaled(Interval i, uint64_t by, unsigned width) {
  const Interval limit = of_width(std::min(width, 63u));
  Interval out;
  if (!multiply(i, sign_extend(by, width), out)) return {};
  return out.low < limit.low || out.high > limit.high ? Interval{} : out;
}

}  // namespace tmemlint::value
