// What straight runs of steps were seen to compute: warps, rounds of loops and scenarios execute the same code on the
// same values again and again.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "analyzer/value/value.h"

namespace tmemlint::warp {

using value::ContentIndex;
using value::Growing;
using value::Kept;
using value::Value;

class Replays {
public:
  // The values that a straight run writes when it starts from these; nothing when that is not known. `version`: of what
  // is known of terms (Terms::version).
  const Value* find(uint32_t straight, const std::vector<Value>& from, uint64_t version) {
    hash_ = straight;
    for (const Value& v : from) hash_ = hash_with(hash_, v);
    found_ = index_.find(hash_, [&](uint32_t n) {
      const Entry& e = entries_[n];
      return e.straight == straight && std::equal(from.begin(), from.end(), e.values);
    });
    if (found_ == 0 || entries_[found_].version != version) return nullptr;
    return entries_[found_].values + from.size();
  }
  // What the last `find` did not find. `from` and `to` are as many as in each other run of the same steps.
  void add(uint32_t straight, const std::vector<Value>& from, const std::vector<Value>& to, uint64_t version) {
    if (kept_ + from.size() + to.size() > kMostValues) return;
    kept_ += from.size() + to.size();
    if (found_ == 0) {
      if (entries_.size() == 0) entries_.emplace_back();
      found_ = static_cast<uint32_t>(entries_.size());
      index_.add(hash_);
      entries_.emplace_back();
    }
    both_ = from;
    both_.insert(both_.end(), to.begin(), to.end());
    entries_[found_] = {values_.keep(both_.data(), both_.size()), version, straight};
  }

private:
  // Values that are remembered, of 24 bytes each; what comes behind is executed each time. It changes no result.
  static constexpr size_t kMostValues = 1 << 15;
  struct Entry {
    const Value* values = nullptr;  // what it starts from, then what it writes
    uint64_t version = 0;
    uint32_t straight = 0;
  };

  Growing<Entry> entries_;  // by number in the index, from 1
  Kept<Value> values_;
  size_t kept_ = 0;
  ContentIndex index_;
  uint32_t found_ = 0;
  uint64_t hash_ = 0;
  std::vector<Value> both_;
};

}  // namespace tmemlint::warp
