// What a register of one warp holds: a number per lane, or a symbolic term plus a number per lane. Read this first.
//
//   lane l holds  (without_base has bit l ? 0 : base) + number + offset of lane l      modulo 2^width of the register
//
// The width, in bits, is the register's or the operation's; a value does not know it. Nor does it know whether it is
// signed: `number` is the lowest `width` bits, the bits above are 0. A predicate is a value that is 0 or 1.
#pragma once

#include <array>
#include <cstdint>

namespace tmemlint::value {

constexpr unsigned kLanes = 32;
constexpr uint32_t kAllLanes = 0xffffffffu;  // masks of lanes: bit l is lane l
using Lanes = std::array<uint64_t, kLanes>;  // a number per lane

// Values are normalised: equal contents have equal fields, so comparison is memberwise.
struct Value {
  uint32_t base = 0;   // an unknown: a term of Terms; 0: none. Terms are hash-consed, so equal bases are equal unknowns
  uint32_t table = 0;  // offsets by lane, relative to lane 0 (LaneTables); 0: every lane the same
  // Lanes in which the base does not count, as a mask: those that wrote a number to a register whose other lanes hold
  // an unknown.
  uint32_t without_base = 0;
  uint64_t number = 0;  // of lane 0, apart from the base

  static Value of(uint64_t number) {
    Value v;
    v.number = number;
    return v;
  }
  // What this term is, in all lanes.
  static Value of_term(uint32_t term) {
    Value v;
    v.base = term;
    return v;
  }
  bool known() const { return base == 0; }                            // a number in each lane
  bool constant() const { return base == 0 && table == 0; }           // one number in all lanes
  bool same_in_lanes() const { return (table | without_base) == 0; }  // whatever differs between lanes is in the base
  bool operator==(const Value&) const = default;
};

inline Value with_base(Value value, uint32_t base) {
  value.base = base;
  return value;
}

// A hash of what was hashed so far and a value.
inline uint64_t hash_with(uint64_t hash, const Value& v) {
  hash =
      (hash ^ v.number ^ (uint64_t{v.base} << 36) ^ (uint64_t{v.table} << 20) ^ v.without_base) * 0x9e3779b97f4a7c15u;
  return hash ^ (hash >> 31);
}

// The lowest `width` bits.
inline uint64_t truncate(uint64_t number, unsigned width) {
  return width >= 64 ? number : number & ((uint64_t{1} << width) - 1);
}
// The lowest `width` bits, read as a signed number.
inline int64_t sign_extend(uint64_t number, unsigned width) {
  if (width >= 64) return static_cast<int64_t>(number);
  const unsigned shift = 64 - width;
  return static_cast<int64_t>(number << shift) >> shift;
}

}  // namespace tmemlint::value
