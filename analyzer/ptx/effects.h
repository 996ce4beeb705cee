// What the tcgen05 instructions do: which Tensor Memory and shared memory they touch, what completes them, what they
// change for their warp and CTA. One row per instruction (effects.cpp); everything that asks "is it one of those
// instructions that …" asks the row, so that a new instruction is a new row and nothing else.
//
// The row is of the instruction; how far an access reaches depends on its Form (shape, number) and, for an mma, on its
// instruction descriptor: `columns_of` and `half_windows_of`. Sections are those of PTX ISA 9.1.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "analyzer/ptx/descriptor.h"
#include "analyzer/ptx/module.h"
#include "analyzer/ptx/tcgen05.h"

namespace tmemlint::ptx {

// --- addresses of Tensor Memory (9.7.16.1) ---

constexpr uint32_t kTmemLanes = 128;
constexpr uint32_t kAllocationUnit = 32;    // columns (9.7.16.1.2)
constexpr uint32_t kMostTmemColumns = 576;  // that any target has; of one target and alloc: column_capacity

// A cell as an address names it: the lane in bits 31 to 16, the column in bits 15 to 0. Both fields are wider than the
// memory, and the ISA does not say what a lane of 128 or more means. `lane` and `column` are the fields as they are
// written: that is what a rule judges, and what two addresses are compared by. Published kernels of CTA pairs add 128
// times the rank to the lane and rely on the lane modulo 128, so where a cell is looked up, `lane_in_memory` is it.
struct TmemCell {
  uint32_t lane = 0, column = 0;
  uint32_t lane_in_memory() const { return lane % kTmemLanes; }
  bool operator==(const TmemCell&) const = default;
};
constexpr TmemCell decode_tmem_address(uint32_t address) {
  return {address >> 16, address & 0xffff};
}

// --- what an instruction touches ---

// The operand that something is about: `roles.*role` is its index, kNone where the instruction has none.
using OperandRole = uint32_t OperandRoles::*;

// What an access to Tensor Memory is to its instruction.
enum class TmemRole : uint8_t {
  kData,         // what ld, st, cp and shift move
  kAccumulator,  // D of an mma
  kOperandA,     // A of an mma
  kScale,        // scale factors of A or B
  kMetadata,     // of a sparse A
};

enum class TmemReads : uint8_t {
  kNo,
  kYes,
  kIfAccumulating,  // D of an mma: where enable-input-d is true (9.7.16.10.9); otherwise it is overwritten
};

// By what the number of columns is told.
enum class ColumnExtent : uint8_t {
  kLoadStore,    // shape and number of ld and st (9.7.16.2.3)
  kCopy,         // shape of cp (9.7.16.2.2)
  kShift,        // .31x256b: 8 columns, of which only the first is taken for certain
  kAccumulator,  // M, N and the layout that follows (9.7.16.10.5)
  kOperandA,     // K and the type (9.7.16.10.5)
  kFirst,        // how many there are is only in the ISA's figures: the first one is certain
};

// By what the lanes are told.
enum class LaneExtent : uint8_t {
  kWarpWindow,  // the 32 lanes of the warp's place in its warpgroup, or 16 of them (9.7.16.8.1)
  kAll,
  kDatapath,  // all, or 16 of every 32 in the layouts of an mma that use half the data path (9.7.16.10.5)
};

// One access to Tensor Memory. With .cta_group::2, cp, shift and mma do the same in both CTAs of the pair.
struct TmemAccess {
  TmemRole role;
  OperandRole address;  // names the first column and the lane
  ColumnExtent columns;
  LaneExtent lanes;
  TmemReads reads = TmemReads::kNo;
  bool writes = false;
  OperandRole offset = nullptr;   // an operand with a number of columns that is added to the address
  bool only_in_brackets = false;  // A of an mma: without brackets it is a descriptor, and this access is not there
};

// A matrix in shared memory that is read through the async proxy (9.7.16.6.5), by its shared-memory descriptor.
struct SharedRead {
  OperandRole descriptor;
  bool unless_in_brackets = false;  // A of an mma
  bool is_b = false;                // B of an mma
};

enum class Blocks : uint8_t {
  kNo,
  kForOwnOperations,  // until what the warp itself has issued is complete: it comes to an end by itself
  kForColumns,        // alloc: until there are free columns (9.7.16.7.1)
  kForPeer,           // dealloc: with .cta_group::2 until the peer frees too (9.7.16.5)
};

// The instructions that the rules of issue order are about (9.7.16.6.2).
enum class Pipeline : uint8_t { kNone, kMma, kCopy, kShift };

struct Effects {
  Issue issue = Issue::kEachThread;
  Completion completion = Completion::kSynchronous;
  Blocks blocks = Blocks::kNo;
  Pipeline pipeline = Pipeline::kNone;
  std::span<const TmemAccess> accesses = {};       // in the order in which they are judged: reads before the writes
  std::span<const SharedRead> shared_reads = {};   // in the order of the operands
  std::span<const OperandRole> destinations = {};  // operands whose registers it writes, when it completes

  bool allocates = false;           // columns, and writes their address to shared memory
  bool frees = false;               // the columns that begin at its address
  bool relinquishes = false;        // gives up the CTA's permit to allocate
  bool drains_loads = false;        // completes the loads of the executing threads (wait::ld)
  bool drains_stores = false;       // and their stores (wait::st)
  bool signals_completion = false;  // commit: arrives on an mbarrier when what its thread has issued is complete. The
                                    // arrival is ordered as if a fence::before_thread_sync preceded it (9.7.16.6.4.2)
  bool fence_before = false;        // fence::before_thread_sync
  bool fence_after = false;         // fence::after_thread_sync

  // Whether `address` is one of shared memory (alloc: where the address goes; commit: the mbarrier).
  bool address_is_shared() const { return allocates || signals_completion; }
  bool touches_tmem() const { return !accesses.empty(); }
  bool reads_tmem() const;  // also if only perhaps
  bool writes_tmem() const;
  bool is_load() const { return completion == Completion::kWaitLd; }
  bool is_store() const { return completion == Completion::kWaitSt; }
  bool by_commit() const { return completion == Completion::kCommit; }
};

// Of kNone and kUnknown: nothing at all.
const Effects& effects_of(Tcgen05 op);
inline const Effects& effects_of(const Form& form) {
  return effects_of(form.op);
}

// How many columns an access touches, from the one that its address names on. `shape` is that of an mma; one that is
// empty, as of a descriptor that is not known, gives one column that is not all.
struct ColumnCount {
  uint32_t columns = 1;
  bool certain = true;  // false: only the first one is; it may be fewer or reach further
};
ColumnCount columns_of(const TmemAccess& access, const Form& form, const MmaShape& shape = {});

// The lanes that an access touches as half windows of 16 lanes, the smallest part that any instruction touches: bit n
// is lanes 16n to 16n + 15. `lane` is the address's, `warp` the number of the executing warp in its CTA.
constexpr uint8_t kAllHalfWindows = 0xff;
uint8_t half_windows_of(const TmemAccess& access, const Form& form, const MmaShape& shape, uint32_t lane,
                        uint32_t warp);

// --- what executes in issue order (9.7.16.6.2) ---

enum class IssueOrder : uint8_t {
  kNone,               // the second must wait for the completion of the first
  kAlways,             // the second executes after the first
  kIfSameAccumulator,  // two mma: if D is the same and `same_mma_shape` holds
};

// Whether the later of two operations that one thread issues, or two threads that are ordered, executes after the
// earlier one, as far as these accesses of theirs go.
IssueOrder issue_order(const Form& first, TmemRole first_role, const Form& second, TmemRole second_role);

// Whether the kind, M and N of two mma are the same; a descriptor that is not known is taken to say so.
bool same_mma_shape(const Form& a, std::optional<uint32_t> a_idesc, const Form& b, std::optional<uint32_t> b_idesc);

}  // namespace tmemlint::ptx
