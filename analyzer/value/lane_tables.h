// Numbers that differ from lane to lane, kept once each: a Value names them by the number of their table.
#pragma once

#include <utility>
#include <vector>

#include "analyzer/value/containers.h"
#include "analyzer/value/interval.h"
#include "analyzer/value/warp_value.h"

namespace tmemlint::value {

// A table holds what each lane has more than lane 0, modulo 2^64. Table 0 is all zeros.
class LaneTables {
public:
  LaneTables();

  // The number of a lane apart from the base. Modulo 2^64: where the register is narrower, bits above its width may be
  // set.
  uint64_t number_in(const Value& value, unsigned lane) const {
    return value.table == 0 ? value.number : value.number + tables_[value.table][lane];
  }
  // Of all lanes.
  Lanes numbers_of(const Value& value) const {
    Lanes out = tables_[value.table];
    for (uint64_t& n : out) n += value.number;
    return out;
  }
  const Lanes& operator[](uint32_t table) const { return tables_[table]; }
  // The value with these numbers, of which the lowest `width` bits count.
  Value from_lanes(const Lanes& numbers, unsigned width);
  // The smallest and the largest number of the lanes of the mask, without the base.
  std::pair<uint64_t, uint64_t> span_of(const Value& value, uint32_t mask) const;
  // Whether number + table is a number of this width in every lane. Then the same table serves after truncating.
  bool fits(uint64_t number, uint32_t table, unsigned width) const;

private:
  uint32_t table_of(const Lanes& offsets);

  std::vector<Lanes> tables_;
  std::vector<Interval> spreads_;  // by table: its smallest and largest offset
  ContentIndex index_;
};

}  // namespace tmemlint::value
