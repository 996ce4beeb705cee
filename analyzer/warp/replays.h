// What straight runs of steps were seen to compute: warps, rounds of loops and scenarios execute the same code on the
// same values again and again.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "analyzer/warp/value.h"

namespace tmemlint::warp {

class Replays {
public:
  // The values that a straight run writes when it starts from these; nothing when that is not known. `version`: of what
  // is known of terms (Terms::version).
  const Value* find(uint32_t straight, const std::vector<Value>& from, uint64_t version) {
    const uint64_t hash = hash_of(straight, from);
    const uint32_t number = index_.find(hash, [&](uint32_t n) {
      const Entry& e = entries_[n];
      return e.straight == straight && std::equal(from.begin(), from.end(), values_.begin() + e.first);
    });
    found_ = number;
    hash_ = hash;
    if (number == 0 || entries_[number].version != version) return nullptr;
    return values_.data() + entries_[number].first + from.size();
  }
  // What the last `find` did not find. `from` and `to` are as many as in each other run of the same steps.
  void add(uint32_t straight, const std::vector<Value>& from, const std::vector<Value>& to, uint64_t version) {
    if (found_ != 0) {
      std::copy(to.begin(), to.end(), values_.data() + entries_[found_].first + from.size());
      entries_[found_].version = version;
      return;
    }
    if (values_.size() + from.size() + to.size() > kMostValues) return;
    index_.add(hash_);
    entries_.push_back({straight, static_cast<uint32_t>(values_.size()), version});
    values_.insert(values_.end(), from.begin(), from.end());
    values_.insert(values_.end(), to.begin(), to.end());
  }

private:
  static constexpr size_t kMostValues = 1 << 15;  // 24 bytes each
  struct Entry {
    uint32_t straight = 0;
    uint32_t first = 0;  // in values_: what it starts from, then what it writes
    uint64_t version = 0;
  };
  static uint64_t hash_of(uint32_t straight, const std::vector<Value>& from) {
    uint64_t h = straight;
    for (const Value& v : from) {
      h = (h ^ v.number ^ (uint64_t{v.base} << 36) ^ (uint64_t{v.table} << 20) ^ v.plain) * 0x9e3779b97f4a7c15u;
      h ^= h >> 31;
    }
    return h;
  }

  std::vector<Entry> entries_ = std::vector<Entry>(1);  // by number in the index, from 1
  std::vector<Value> values_;
  ContentIndex index_;
  uint32_t found_ = 0;
  uint64_t hash_ = 0;
};

}  // namespace tmemlint::warp
