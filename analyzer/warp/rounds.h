// Values that go by how often a loop has been gone round (Setting::by_rounds): first + step * rounds, with one unknown
// number of rounds per loop head. Counters that are stepped together keep what they have to do with each other that
// way.
#pragma once

#include <cstdint>
#include <set>
#include <utility>

#include "analyzer/value/facts.h"
#include "analyzer/warp/evaluate.h"
#include "analyzer/warp/flow.h"
#include "analyzer/warp/path_state.h"

namespace tmemlint::warp {

// Sums of values of a width.
inline Value plus(Terms& terms, const Value& a, const Value& b, unsigned width) {
  return terms.apply({value::Op::kAdd, static_cast<uint8_t>(width), false, 0}, a, b);
}
inline Value minus(Terms& terms, const Value& a, const Value& b, unsigned width) {
  return terms.apply({value::Op::kSub, static_cast<uint8_t>(width), false, 0}, a, b);
}
inline Value times(Terms& terms, const Value& value, uint64_t factor, unsigned width) {
  return terms.apply({value::Op::kMul, static_cast<uint8_t>(width), false, 0}, value, Value::of(factor));
}

// What tells the joins of one warp of one CTA from those of another.
inline uint64_t owner_of(const Setting& setting) {
  return (uint64_t{setting.warp} << 48) ^ (uint64_t{setting.rank} << 56);
}

class Rounds {
public:
  Rounds(const Setting& setting, const Flow& flow) : setting_(setting), flow_(flow), terms_(*setting.terms) {}

  // How often the loop of a head has been gone round after its second time.
  Value count(uint32_t head);
  // What is known of the count: when a state comes round for the second time, and later.
  void set_count(value::Facts& facts, uint32_t head, bool is_second);

  // By how much a value grows with each round, where that is all that makes it one of this loop's values; else 0.
  uint64_t growth(const Value& value, uint32_t head, uint64_t bit);

  // What a value at a loop's head, come back from the first time round, will be after so many rounds more: if it is a
  // step away from what it was before.
  Value extrapolated(const Value& value, const MeetingPlace& at, const Value* before);

  // The values of a place at a head are not stepped by one number each time.
  void is_no_counter(uint32_t head, uint64_t part) { no_counters_.insert({head, part}); }
  bool may_be_counter(uint32_t head, uint64_t part) const { return !no_counters_.contains({head, part}); }

  // Adds to facts what was known of counters in the round that is over, said in rounds as they are counted now.
  void keep_facts(value::Facts& facts, const value::Facts& before, uint32_t head, uint64_t bit);

private:
  const Setting& setting_;
  const Flow& flow_;
  Terms& terms_;
  std::set<std::pair<uint32_t, uint64_t>> no_counters_;  // by head and part
};

}  // namespace tmemlint::warp
