// Shared by the two rules on tcgen05.wait: which columns an access touches, and which pending accesses touch them too.
#pragma once

#include <bitset>
#include <unordered_map>

#include "rules/facts.h"

namespace tmemlint::rules {

// What an access of one warp touches, from its address on. Empty (columns == 0) when it cannot be told.
struct Footprint {
  uint32_t allocation = 0;
  uint32_t lane = 0, lanes = 0;
  uint32_t column = 0, columns = 0;
};
Footprint footprint(const Context& context, const value::Value& address, uint32_t executing, const ptx::Form& form);
bool overlap(const Footprint& a, const Footprint& b);
// Whether two accesses on one path start at the same address, whichever that is.
inline bool same_start(const value::Value& a, const value::Value& b) {
  return a.base != 0 && a == b;
}

// Answers which of the pending accesses of a warp touch certain columns. Most often few are pending, and each is looked
// at. Where there are many it remembers an outline of each part of their set, so that thousands of stores that nobody
// waits for, each followed by a load, take no time that grows with their square.
template <typename Access>
class PendingTouches {
public:
  using Set = typename warp::PendingSets<Access>::Set;
  PendingTouches(const Context& context, const warp::PendingSets<Access>& all) : context_(context), all_(all) {}

  // The first one that starts at the same address as an access by some lanes, or touches what it touches.
  const Access* first(const Set& pending, const value::Value& address, const Footprint& touched, uint32_t executing);
  // The first one that lies in an allocation.
  const Access* first_in(const Set& pending, uint32_t allocation, uint32_t executing);
  // Of a pending access; `executing`: the lanes of the access that it is held against.
  Footprint footprint_of(const Access& pending, uint32_t executing) const;

private:
  // Sets up to this size are looked through one by one.
  static constexpr size_t kFew = 256;
  // What a part of a set touches, or may touch: numbers are taken modulo the sizes of the sets.
  struct Outline {
    std::bitset<512> columns;
    std::bitset<512> addresses;  // of those that touch columns which cannot be told
    std::bitset<64> allocations;
  };
  static size_t bit_of(const value::Value& address) { return value::hash_with(0, address) % 512; }
  const Outline& outline_of(uint32_t part, uint32_t executing);

  const Context& context_;
  const warp::PendingSets<Access>& all_;
  std::unordered_map<uint64_t, Outline> outlines_;  // by part and executing lanes
};

extern template class PendingTouches<warp::PendingLoad>;
extern template class PendingTouches<warp::PendingStore>;

}  // namespace tmemlint::rules
