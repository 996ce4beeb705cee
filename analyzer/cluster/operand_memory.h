// What shared memory that mma and cp read is to a joint run: the asynchronous copies that bring its bytes, and the
// operations that may still read them. Who wrote a block last is in last_stores.h.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "analyzer/assumptions/assumptions.h"
#include "analyzer/cluster/clock.h"
#include "analyzer/cluster/observations.h"
#include "analyzer/ptx/module.h"

namespace tmemlint::cluster {

// Bytes that one asynchronous copy writes in one CTA: a bulk or tensor copy, or the cp.async of one warp that are in
// one group.
struct OperandCopy {
  Site site;
  uint32_t begin = 0;  // shared address of its first byte
  // Whether it can be told when it is complete: not where its mbarrier waits for what other CTAs copy as well, nor
  // where the lanes of a warp have groups of their own.
  bool traced = true;
  // Waits that it was complete for: the first one of each warp. Who knows of one of them knows that it is complete.
  std::vector<WarpEvent> observers;
};

class OperandCopies {
public:
  uint32_t add(OperandCopy copy) {
    all_.push_back(std::move(copy));
    return static_cast<uint32_t>(all_.size() - 1);
  }
  OperandCopy& operator[](uint32_t n) { return all_[n]; }
  const OperandCopy& operator[](uint32_t n) const { return all_[n]; }
  // A wait shows that a copy is complete.
  void observe(uint32_t n, const WarpEvent& wait) {
    for (const WarpEvent& o : all_[n].observers) {
      if (o.warp == wait.warp) return;
    }
    all_[n].observers.push_back(wait);
  }

  // A copy whose size is in a tensor map was asked for after these events of the warps. The last one from each address
  // is kept.
  void note_unsized(uint32_t begin, std::vector<uint32_t> events) { unsized_[begin] = std::move(events); }
  // Whether one that begins in [begin, end] came after an event.
  bool any_unsized(uint32_t begin, uint32_t end, const WarpEvent& after) const;

private:
  std::vector<OperandCopy> all_;
  std::map<uint32_t, std::vector<uint32_t>> unsized_;  // by shared address
};

// By the first bytes of a matrix in shared memory: the operations that read it last, one of each thread.
class OperandReads {
public:
  static constexpr uint32_t kBytes = assumptions::kBytesOfAStoredBlock;

  struct Read {
    uint32_t operation = 0;    // of TensorMemory
    bool saw_a_write = false;  // somebody had written there before
  };

  // `same_thread`: whether another operation was issued by the same thread, which completes first then.
  template <typename F>
  void add(uint32_t address, const Read& read, F&& same_thread) {
    std::vector<Read>& reads = reads_[address / kBytes];
    std::erase_if(reads, [&](const Read& r) { return same_thread(r.operation); });
    reads.push_back(read);
  }
  bool any_in(uint32_t begin, uint32_t end) const {
    const auto at = reads_.lower_bound(begin / kBytes);
    return at != reads_.end() && at->first * kBytes < end;
  }
  // Those of matrices that begin in a range are written over: `f` looks at each, and they are forgotten.
  template <typename F>
  void overwrite(uint32_t begin, uint32_t end, F&& f) {
    auto at = reads_.lower_bound(begin / kBytes);
    while (at != reads_.end() && at->first * kBytes < end) {
      for (const Read& read : at->second) f(read);
      at = reads_.erase(at);
    }
  }
  const std::map<uint32_t, std::vector<Read>>& all() const { return reads_; }  // by block

private:
  std::map<uint32_t, std::vector<Read>> reads_;
};

}  // namespace tmemlint::cluster
