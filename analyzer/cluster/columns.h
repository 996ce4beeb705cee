// The columns of Tensor Memory of one CTA, with the accesses that were made to each.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <limits>
#include <vector>

#include "analyzer/cluster/handles.h"
#include "analyzer/ptx/effects.h"

namespace tmemlint::cluster {

// Who touched a column: which accesses, in which half windows of 16 lanes (bit n: lanes 16n to 16n + 15).
struct Touch {
  uint32_t access = 0;
  uint8_t halves = 0;
};

// Accesses by half window.
struct HalfWindows {
  static constexpr size_t kCount = std::numeric_limits<uint8_t>::digits;  // bits of a mask
  HalfWindows() { access.fill(kNoAccess); }
  std::array<uint32_t, kCount> access;
  // Calls `f` for each of those that a mask names.
  template <typename F>
  void each(uint8_t halves, F&& f) const {
    for (size_t h = 0; h < kCount; ++h) {
      if (((halves >> h) & 1) != 0) f(access[h], static_cast<uint8_t>(1u << h));
    }
  }
};

struct Column {
  std::vector<Touch> touches;
  uint8_t written = 0;  // half windows
  // The last write of each half window, and the last one before it that a commit or wait lies behind.
  HalfWindows last_write, older_write;
};

// The columns of one CTA, adjacent ones that were always touched together as one: few, since kernels access whole
// tiles.
class Columns {
public:
  Columns() : runs_(ptx::kMostTmemColumns) { starts_[0] = 1; }

  // Calls `f` for the runs of columns that make up [begin, end); runs are split at the ends.
  template <typename F>
  void each(uint32_t begin, uint32_t end, F&& f) {
    end = std::min(end, ptx::kMostTmemColumns);
    if (begin >= end) return;
    split(begin);
    split(end);
    each_start(begin, end, [&](uint32_t at) { f(runs_[at]); });
  }
  // All runs, with their first columns.
  template <typename F>
  void each_run(F&& f) const {
    for (uint32_t at = 0; at < ptx::kMostTmemColumns; ++at) {
      if (((starts_[at / 64] >> (at % 64)) & 1) != 0) f(at, runs_[at]);
    }
  }
  void clear(uint32_t begin, uint32_t end) {
    each(begin, end, [](Column& c) { c = Column{}; });
    // All alike now: one run again.
    each_start(begin + 1, end, [&](uint32_t at) { starts_[at / 64] &= ~(uint64_t{1} << (at % 64)); });
  }

private:
  void split(uint32_t at) {
    if (at >= ptx::kMostTmemColumns) return;
    uint32_t word = at / 64;
    uint64_t up_to_here = starts_[word] & (~uint64_t{0} >> (63 - at % 64));
    while (up_to_here == 0) up_to_here = starts_[--word];  // column 0 is always one
    const uint32_t run = word * 64 + 63 - static_cast<uint32_t>(std::countl_zero(up_to_here));
    if (run == at) return;
    runs_[at] = runs_[run];
    starts_[at / 64] |= uint64_t{1} << (at % 64);
  }
  template <typename F>
  void each_start(uint32_t begin, uint32_t end, F&& f) {
    for (uint32_t from = begin; from < std::min(end, ptx::kMostTmemColumns); from = (from / 64 + 1) * 64) {
      uint64_t rest = starts_[from / 64] & (~uint64_t{0} << (from % 64));
      for (; rest != 0; rest &= rest - 1) {
        const uint32_t at = from / 64 * 64 + static_cast<uint32_t>(std::countr_zero(rest));
        if (at >= end) return;
        f(at);
      }
    }
  }
  std::vector<Column> runs_;                                   // by first column; of others what was there before
  std::array<uint64_t, ptx::kMostTmemColumns / 64> starts_{};  // a bit for each column that a run starts with
};

}  // namespace tmemlint::cluster
