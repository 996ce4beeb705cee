#include "analyzer/value/lane_tables.h"

#include <algorithm>
#include <bit>

namespace tmemlint::value {

LaneTables::LaneTables() {
  tables_.emplace_back();
  spreads_.push_back({0, 0});
}

uint32_t LaneTables::table_of(const Lanes& offsets) {
  uint64_t any = 0;
  uint64_t total = 0;
  for (uint64_t n : offsets) {
    any |= n;
    total += n;
  }
  if (any == 0) return 0;
  // Numbers of lanes mostly follow from the bits of the lane.
  uint64_t h = total;
  for (unsigned l : {1u, 2u, 4u, 8u, 16u, 31u}) h = (h ^ offsets[l]) * 0x9e3779b97f4a7c15u + (h >> 29);
  h ^= h >> 32;
  const uint32_t known = index_.find(h, [&](uint32_t found) { return tables_[found] == offsets; });
  if (known != 0) return known;
  index_.add(h);
  const auto fresh = static_cast<uint32_t>(tables_.size());
  tables_.push_back(offsets);
  Interval spread{0, 0};
  for (uint64_t n : offsets) {
    spread.low = std::min(spread.low, static_cast<int64_t>(n));
    spread.high = std::max(spread.high, static_cast<int64_t>(n));
  }
  spreads_.push_back(spread);
  return fresh;
}

bool LaneTables::fits(uint64_t number, uint32_t table, unsigned width) const {
  if (width >= 64) return true;
  const uint64_t limit = truncate(~uint64_t{0}, width);
  const Interval& spread = spreads_[table];
  if (number > limit || spread.low < -static_cast<int64_t>(limit) || spread.high > static_cast<int64_t>(limit)) {
    return false;
  }
  const auto n = static_cast<int64_t>(number);
  return width < 63 && n + spread.low >= 0 && n + spread.high <= static_cast<int64_t>(limit);
}

std::pair<uint64_t, uint64_t> LaneTables::span_of(const Value& value, uint32_t mask) const {
  const Interval& spread = spreads_[value.table];
  const auto number = static_cast<int64_t>(value.number);
  if (mask == kAllLanes && number >= 0 && number + spread.low >= 0) {
    return {static_cast<uint64_t>(number + spread.low), static_cast<uint64_t>(number + spread.high)};
  }
  uint64_t low = ~uint64_t{0};
  uint64_t high = 0;
  for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
    const uint64_t n = number_in(value, static_cast<unsigned>(std::countr_zero(rest)));
    low = std::min(low, n);
    high = std::max(high, n);
  }
  return {low, high};
}

Value LaneTables::from_lanes(const Lanes& numbers, unsigned width) {
  Value v;
  const uint64_t mask = truncate(~uint64_t{0}, width);
  v.number = numbers[0] & mask;
  Lanes offsets;
  for (unsigned l = 0; l < kLanes; ++l) offsets[l] = (numbers[l] & mask) - v.number;
  v.table = table_of(offsets);
  return v;
}

}  // namespace tmemlint::value
