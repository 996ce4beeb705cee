// Shared memory of the cluster as a joint run knows it: words at known addresses with who wrote them, and ranges that
// asynchronous copies wrote. An address has the CTA's rank above the offset (kernel/layout.h).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "analyzer/assumptions/assumptions.h"
#include "analyzer/cluster/clock.h"
#include "analyzer/cluster/handles.h"
#include "analyzer/cluster/observations.h"
#include "analyzer/kernel/layout.h"
#include "analyzer/value/value.h"

namespace tmemlint::cluster {

inline uint32_t rank_of(uint32_t address) {
  return address >> kernel::kRankShift;
}
// The same offset in another CTA.
inline uint32_t in_rank(uint32_t address, uint32_t rank) {
  return (address & ((1u << kernel::kRankShift) - 1)) | (rank << kernel::kRankShift);
}
// And in each CTA of a mask, ascending.
inline std::vector<uint32_t> in_ranks(uint32_t address, uint64_t mask, uint32_t ranks) {
  std::vector<uint32_t> out;
  for (uint32_t r = 0; r < ranks; ++r) {
    if (((mask >> r) & 1) != 0) out.push_back(in_rank(address, r));
  }
  return out;
}

struct SharedWord {
  uint32_t bytes = 4;
  value::Value value;
  bool known = false;  // `value` is what it holds
  WarpEvent writer;
  uint32_t instruction = kNone;                // that wrote it
  uint32_t allocation = kNoAllocation;         // of TensorMemory: whose address alloc wrote here
  uint32_t overwrote = kNoAllocation;          // the allocation whose address was here before
  bool atomic = false;                         // changed by atomics to what is not known
  std::shared_ptr<const Knowledge> knowledge;  // of those who wrote it, for a reader that polls
  std::vector<WarpEvent> readers;              // of an allocation's address
};

class SharedWords {
public:
  // The words that overlap [address, address + bytes), ascending.
  template <typename F>
  void each(uint32_t address, uint32_t bytes, F&& f) {
    for (auto at = first(address); at != words_.end() && at->first < address + bytes; ++at) {
      if (at->first + at->second.bytes > address) f(at->first, at->second);
    }
  }
  // Whether any word begins in the range, or shortly before it.
  bool any_near(uint32_t begin, uint32_t end) const {
    const auto at = words_.lower_bound(begin >= kMostBytes ? begin - kMostBytes : 0);
    return at != words_.end() && at->first < end;
  }
  SharedWord* find(uint32_t address) {
    const auto at = words_.find(address);
    return at == words_.end() ? nullptr : &at->second;
  }
  const std::map<uint32_t, SharedWord>& all() const { return words_; }  // by address
  SharedWord& operator[](uint32_t address) { return words_[address]; }
  // The word replaces all that overlap it.
  void put(uint32_t address, SharedWord word) {
    erase(address, address + word.bytes);
    words_[address] = std::move(word);
  }
  void erase(uint32_t begin, uint32_t end);

  // An asynchronous copy wrote a range; `serial` tells one copy from another.
  void put_copied(uint32_t begin, uint32_t end, uint64_t serial) {
    erase(begin, end);
    copied_[begin] = {end, serial};
  }
  struct Copied {
    uint32_t begin = 0;
    uint64_t serial = 0;
  };
  // Of a range that one copy wrote as a whole; else serial 0.
  Copied copied(uint32_t address, uint32_t bytes) const;

  // A read of a place that nobody had written. The first one of each place is kept, for an alloc that writes there
  // later.
  struct EarlyRead {
    WarpEvent reader;
    Site site;
  };
  void note_early_read(uint32_t address, const EarlyRead& read) { early_reads_.try_emplace(address, read); }
  const EarlyRead* early_read(uint32_t address) const {
    const auto at = early_reads_.find(address);
    return at == early_reads_.end() ? nullptr : &at->second;
  }

private:
  static constexpr uint32_t kMostBytes = assumptions::kBytesOfASharedWord;  // of a word
  std::map<uint32_t, SharedWord>::iterator first(uint32_t address) {
    return words_.lower_bound(address >= kMostBytes ? address - kMostBytes : 0);
  }
  struct Region {
    uint32_t end = 0;
    uint64_t serial = 0;
  };
  std::map<uint32_t, SharedWord> words_;  // by address
  std::map<uint32_t, Region> copied_;     // by begin
  std::map<uint32_t, EarlyRead> early_reads_;
};

}  // namespace tmemlint::cluster
