// Tensor Memory of the CTAs of a cluster as the joint run keeps it: what is allocated, and who last touched what.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "analyzer/cluster/clock.h"
#include "analyzer/ptx/descriptor.h"
#include "analyzer/ptx/tcgen05.h"

namespace tmemlint::cluster {

constexpr uint32_t kColumns = 576;  // the most that any target has

// One execution of a tcgen05 instruction that touches Tensor Memory.
struct Operation {
  uint32_t warp = 0;  // of the cluster
  uint32_t rank = 0;
  uint32_t event = 0;  // of the warp's clock: its issue
  uint32_t instruction = UINT32_MAX;
  uint32_t batch = UINT32_MAX;  // instruction of the first operation of its run over the same columns
  uint8_t lane = 0;             // that issued it (mma, cp, shift)
  ptx::Form form;
  uint32_t idesc = 0;  // of an mma
  bool idesc_known = false;
  uint32_t d_column = 0;  // of an mma's accumulator
  uint32_t lanes = 0;     // of an ld: executing
  uint32_t used = 0;      // of an ld: lanes that have used its results
  uint32_t waited = 0;    // of an ld or st: the event of the warp's wait; 0: none
  uint32_t commit = 0;    // of mma, cp, shift: number of the first commit after it; 0: none

  bool is_mma() const { return form.op == ptx::Tcgen05::kMma || form.op == ptx::Tcgen05::kMmaWs; }
  bool is_load() const { return form.is_load(); }
  bool is_store() const { return form.op == ptx::Tcgen05::kSt; }
  bool by_commit() const { return form.completion == ptx::Completion::kCommit; }
  bool complete(const Clock& clock) const {
    if (by_commit()) return commit != 0 && clock.knows_commit(warp, commit);
    return waited != 0 && clock.knows(warp, waited);
  }
  bool issued(const Clock& clock) const { return clock.knows(warp, event); }
};

enum class Role : uint8_t { kData, kAccumulator, kOperandA, kScale, kMetadata };

// What an operation does to a rectangle of one CTA's Tensor Memory.
struct Access {
  uint32_t operation = 0;
  Role role = Role::kData;
  bool reads = false, writes = false;
  bool fed = false;      // of a read: a write of these columns was known to be complete
  bool excused = false;  // of a read of what nothing has written: a write that is not ordered with it comes later
};

struct Allocation {
  uint32_t rank = 0;
  uint32_t base = 0, columns = 0;
  uint32_t instruction = UINT32_MAX;
  uint32_t warp = 0;   // of the cluster
  uint32_t event = 0;  // of the warp's clock
  uint32_t slot = 0;   // shared address it was written to
  bool live = true;
  uint32_t freed_by = UINT32_MAX;  // instruction
  uint32_t freed_warp = 0, freed_event = 0;
};

// Who touched a column: which accesses, in which half windows of 16 lanes (bit n: lanes 16n to 16n + 15).
struct Touch {
  uint32_t access = 0;
  uint8_t halves = 0;
};

struct Column {
  std::vector<Touch> touches;
  uint8_t written = 0;  // half windows
  // The last write, and the last one before it that a commit or wait told apart from it: accesses.
  uint32_t last_write = UINT32_MAX, older_write = UINT32_MAX;
};

// Whether the later of two operations of one thread (or of threads that are ordered) may follow without waiting: the
// pairs that execute in issue order (ISA 9.7.16.6.2).
bool pipelined(const Operation& first, Role first_role, const Operation& second, Role second_role);

// The columns of one CTA, adjacent ones that were always touched together as one: few, since kernels access whole
// tiles.
class Columns {
public:
  Columns() : runs_(kColumns) { starts_[0] = 1; }

  // Calls `f` for the runs of columns that make up [begin, end); runs are split at the ends.
  template <typename F>
  void each(uint32_t begin, uint32_t end, F&& f) {
    end = std::min(end, kColumns);
    if (begin >= end) return;
    split(begin);
    split(end);
    each_start(begin, end, [&](uint32_t at) { f(runs_[at]); });
  }
  void clear(uint32_t begin, uint32_t end) {
    each(begin, end, [](Column& c) { c = Column{}; });
    // All alike now: one run again.
    each_start(begin + 1, end, [&](uint32_t at) { starts_[at / 64] &= ~(uint64_t{1} << (at % 64)); });
  }

private:
  void split(uint32_t at) {
    if (at >= kColumns) return;
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
    for (uint32_t from = begin; from < std::min(end, kColumns); from = (from / 64 + 1) * 64) {
      uint64_t rest = starts_[from / 64] & (~uint64_t{0} << (from % 64));
      for (; rest != 0; rest &= rest - 1) {
        const uint32_t at = from / 64 * 64 + static_cast<uint32_t>(std::countr_zero(rest));
        if (at >= end) return;
        f(at);
      }
    }
  }
  std::vector<Column> runs_;                      // by first column; of others what was there before
  std::array<uint64_t, kColumns / 64> starts_{};  // a bit for each column that a run starts with
};

// Columns that a cp writes (ISA 9.7.16.9).
uint32_t cp_columns(ptx::CpShape shape);

}  // namespace tmemlint::cluster
