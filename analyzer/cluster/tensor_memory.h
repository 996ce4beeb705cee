// Tensor Memory of the CTAs of a cluster as a joint run keeps it: what is allocated, and who last touched what.
//
// An access is held against the earlier accesses of the same columns; what is not in order in every respect is written
// down as an observation. Columns are counted from the first column of the CTA's Tensor Memory, lanes in half windows
// of 16 (bit n of a mask: lanes 16n to 16n + 15), the smallest part that an instruction touches.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "analyzer/cluster/columns.h"
#include "analyzer/cluster/handles.h"
#include "analyzer/cluster/observation_log.h"
#include "analyzer/cluster/warp_state.h"
#include "analyzer/ptx/effects.h"

namespace tmemlint::cluster {

// One execution of a tcgen05 instruction that touches Tensor Memory.
struct Operation {
  uint32_t warp = 0;   // of the cluster
  WarpId id;           // of the same warp
  uint32_t event = 0;  // of the warp's clock: its issue
  uint32_t instruction = kNone;
  uint32_t first_of_run = kNone;  // instruction of the first operation of its run over the same columns
  uint8_t lane = 0;               // that issued it (mma, cp, shift)
  ptx::Form form;
  std::optional<uint32_t> idesc;  // of an mma, when known
  uint32_t d_column = kNone;      // of an mma's accumulator
  uint32_t lanes = 0;             // of an ld: executing
  uint32_t used = 0;              // of an ld: lanes that have used its results
  uint32_t last_use = kNone;      // of an ld: how `used` grew last, in TensorMemory::uses_
  uint32_t waited = 0;            // of an ld or st: the event of the warp's wait; 0: none
  CommitNumber commit;            // of mma, cp, shift: the first commit of the same thread after it

  const ptx::Effects& effects() const { return ptx::effects_of(form); }
  bool by_commit() const { return form.completion == ptx::Completion::kCommit; }
  bool complete(const Clock& clock) const {
    if (by_commit()) return commit.number != 0 && clock.knows_commit(commit);
    return waited != 0 && clock.knows(warp, waited);
  }
  bool issued(const Clock& clock) const { return clock.knows(warp, event); }
};

// Whether the later of two operations of one thread, or of threads that are ordered, executes after the earlier one
// without waiting for it, as far as these accesses of theirs go (ISA 9.7.16.6.2).
bool executes_in_order(const Operation& first, ptx::TmemRole first_role, const Operation& second,
                       ptx::TmemRole second_role);

// What an operation does to a rectangle of one CTA's Tensor Memory.
struct Access {
  uint32_t operation = 0;
  ptx::TmemRole role = ptx::TmemRole::kData;
  bool reads = false, writes = false;
  uint8_t halves = 0;          // half windows that it touches
  bool saw_a_write = false;    // of a read: a write of these columns was known to be complete
  uint8_t saw_halves = 0;      // and the half windows of such writes
  bool write_follows = false;  // of a read of what nothing has written: a write that is not ordered with it comes later
  uint32_t held_against = UINT32_MAX;  // the access that it was last held against
};

struct Allocation {
  uint32_t rank = 0;
  uint32_t base = 0, columns = 0;
  bool exclusive = false;
  Site alloc;
  WarpEvent made;
  uint32_t slot = 0;  // shared address that the alloc wrote its address to
  bool live = true;
  Site free;  // the dealloc that freed it
  WarpEvent freed;
  bool holds(uint32_t column) const { return column >= base && column < base + columns; }
};

// Where an address of Tensor Memory leads.
struct TmemPlace {
  bool known = false;
  bool based = false;  // on the address that an alloc returned
  uint32_t allocation = kNoAllocation;
  uint32_t column = 0;
  uint32_t lane = 0;
  int64_t offset = 0;  // columns from the allocation's first one; of a literal address the column
};

// A rectangle that an operation touches.
struct Rectangle {
  TmemPlace at;
  uint32_t columns = 1;
  bool certain = true;  // false: the first column is, how far it reaches is not
  uint8_t half_windows = ptx::kAllHalfWindows;
  uint32_t rank = 0;  // whose Tensor Memory
};

class TensorMemory {
public:
  TensorMemory() = default;
  TensorMemory(uint32_t ranks, size_t warps) : columns_(ranks), arrivals_(warps) {}

  // --- allocations ---
  const std::vector<Allocation>& allocations() const { return allocations_; }
  Allocation& allocation(uint32_t n) { return allocations_[n]; }
  const Allocation& allocation(uint32_t n) const { return allocations_[n]; }
  uint32_t live_columns(uint32_t rank) const;
  // The first column of the lowest range that is free, in steps of the allocation unit.
  std::optional<uint32_t> find_room(uint32_t rank, uint32_t columns, uint32_t capacity) const;
  // `term`: the address that the alloc returned.
  uint32_t add(const Allocation& allocation, uint32_t term);
  // The allocation whose address is a term; kNoAllocation for other terms.
  uint32_t allocation_of(uint32_t term) const;
  // The live allocation of a CTA that a column lies in.
  uint32_t live_at(uint32_t rank, uint32_t column) const;
  // The last alloc of a CTA, as an instruction.
  uint32_t last_alloc(uint32_t rank) const;

  // --- operations ---
  uint32_t start(const Operation& operation) {
    operations_.push_back(operation);
    return static_cast<uint32_t>(operations_.size() - 1);
  }
  Operation& operation(uint32_t n) { return operations_[n]; }
  const std::vector<Operation>& operations() const { return operations_; }
  const std::vector<Access>& accesses() const { return accesses_; }
  const std::vector<Columns>& columns() const { return columns_; }  // by rank

  // Some lanes use the results of an ld.
  void use_load(uint32_t operation, uint32_t lanes);

  // --- accesses ---
  struct Kind {
    ptx::TmemRole role = ptx::TmemRole::kData;
    bool reads = false, writes = false;
  };
  // What a scenario decided before an access, for what it reads unwritten.
  struct Decided {
    size_t ways = 0;          // branches on what is not known that were gone
    bool zero_trips = false;  // loops of unknown length run no time
  };
  void touch(const WarpState& w, uint32_t operation, const Kind& kind, const Rectangle& where, const Decided& decided,
             ObservationLog& log);
  // A dealloc of `w` frees these columns, in its own CTA or in its peer's.
  void free_columns(const WarpState& w, const Allocation& freed, uint32_t rank, const Site& free, uint8_t cta_group,
                    ObservationLog& log);

  // An arrival of a warp, which may let others go on to what its loads still read.
  void note_arrival(const WarpState& w, uint32_t instruction);

  // --- the end ---
  // A read of columns that nothing had written.
  struct UnwrittenAccess {
    uint32_t access;
    uint32_t alloc;  // instruction
    uint32_t columns;
    int64_t offset;  // from the allocation's first column
    Decided decided;
  };
  // Those that no write follows which is not ordered with them.
  template <typename F>
  void each_unwritten(F&& f) const {
    for (const UnwrittenAccess& u : unwritten_) {
      const Access& access = accesses_[u.access];
      if (!access.write_follows) f(u, operations_[access.operation]);
    }
  }
  // Whether some instruction of a list has written Tensor Memory of its own CTA.
  bool has_written(const std::vector<uint32_t>& instructions) const;

private:
  bool judge_place(const WarpState& w, uint32_t here, const Rectangle& where, bool* outside, ObservationLog& log);
  // `id`, `earlier`: accesses, as indices.
  bool hold_against_earlier(const WarpState& w, uint32_t id, const Rectangle& where, ObservationLog& log);
  void leave_trace(const WarpState& w, uint32_t id, const Rectangle& where);
  void note_write(Column& column, uint32_t id);
  bool outlived(const WarpState& w, uint32_t earlier, uint32_t id) const;
  void hold_against(const WarpState& w, uint32_t earlier_id, uint32_t id, uint32_t rank, bool knows_older,
                    ObservationLog& log);
  Order order_of(const WarpState& w, const Operation& earlier) const;
  LoadRelease release_of(const WarpState& w, uint32_t operation) const;
  TmemUse use_of(const Access& access) const;

  std::vector<Columns> columns_;  // by rank
  std::vector<Allocation> allocations_;
  std::vector<std::pair<uint32_t, uint32_t>> allocation_of_;  // by term, ascending: allocation
  std::vector<Operation> operations_;
  std::vector<Access> accesses_;
  std::vector<UnwrittenAccess> unwritten_;
  std::vector<uint32_t> written_by_;  // instructions that wrote Tensor Memory, ascending
  struct Arrival {
    uint32_t event = 0;
    uint32_t instruction = kNone;
  };
  std::vector<std::vector<Arrival>> arrivals_;  // by warp of the cluster
  // How the lanes grew that have used a load's results: those from then on, and how many arrivals of the load's warp
  // there had been.
  struct Use {
    uint32_t arrivals = 0;
    uint32_t used = 0;
    uint32_t previous = kNone;  // of the same load
  };
  std::vector<Use> uses_;
  bool said_unfenced_ = false;  // one pair that only lacks tcgen05.fence is written down for a whole run
};

}  // namespace tmemlint::cluster
