#include "analyzer/ptx/effects.h"

#include <algorithm>

namespace tmemlint::ptx {
namespace {

using Roles = OperandRoles;

// --- accesses ---

// The second row is the second half of .16x32bx2, which alone has such an operand (9.7.16.8.2).
constexpr TmemAccess kLoads[] = {
    {.role = TmemRole::kData,
     .address = &Roles::address,
     .columns = ColumnExtent::kLoadStore,
     .lanes = LaneExtent::kWarpWindow,
     .reads = TmemReads::kYes},
    {.role = TmemRole::kData,
     .address = &Roles::address,
     .columns = ColumnExtent::kLoadStore,
     .lanes = LaneExtent::kWarpWindow,
     .reads = TmemReads::kYes,
     .offset = &Roles::half_offset},
};
constexpr TmemAccess kStores[] = {
    {.role = TmemRole::kData,
     .address = &Roles::address,
     .columns = ColumnExtent::kLoadStore,
     .lanes = LaneExtent::kWarpWindow,
     .writes = true},
    {.role = TmemRole::kData,
     .address = &Roles::address,
     .columns = ColumnExtent::kLoadStore,
     .lanes = LaneExtent::kWarpWindow,
     .writes = true,
     .offset = &Roles::half_offset},
};
constexpr TmemAccess kCopies[] = {
    {.role = TmemRole::kData,
     .address = &Roles::address,
     .columns = ColumnExtent::kCopy,
     .lanes = LaneExtent::kAll,
     .writes = true},
};
// It reads the rows that it moves, too. It counts as a write: that conflicts with whatever a read conflicts with.
constexpr TmemAccess kShifts[] = {
    {.role = TmemRole::kData,
     .address = &Roles::address,
     .columns = ColumnExtent::kShift,
     .lanes = LaneExtent::kAll,
     .writes = true},
};
constexpr TmemAccess kMatrices[] = {
    {.role = TmemRole::kOperandA,
     .address = &Roles::a,
     .columns = ColumnExtent::kOperandA,
     .lanes = LaneExtent::kDatapath,
     .reads = TmemReads::kYes,
     .only_in_brackets = true},
    {.role = TmemRole::kScale,
     .address = &Roles::scale_a,
     .columns = ColumnExtent::kFirst,
     .lanes = LaneExtent::kAll,
     .reads = TmemReads::kYes},
    {.role = TmemRole::kScale,
     .address = &Roles::scale_b,
     .columns = ColumnExtent::kFirst,
     .lanes = LaneExtent::kAll,
     .reads = TmemReads::kYes},
    {.role = TmemRole::kMetadata,
     .address = &Roles::metadata,
     .columns = ColumnExtent::kFirst,
     .lanes = LaneExtent::kAll,
     .reads = TmemReads::kYes},
    {.role = TmemRole::kAccumulator,
     .address = &Roles::address,
     .columns = ColumnExtent::kAccumulator,
     .lanes = LaneExtent::kDatapath,
     .reads = TmemReads::kIfAccumulating,
     .writes = true},
};

// --- shared memory ---

constexpr SharedRead kCopySource[] = {{&Roles::descriptor}};
constexpr SharedRead kMatrixSources[] = {{&Roles::a, /*unless_in_brackets=*/true}, {&Roles::b, false, /*is_b=*/true}};

// --- registers ---

constexpr OperandRole kLoaded[] = {&Roles::compressed_metadata, &Roles::vector, &Roles::reduction};

// --- the instructions ---
// Issuer and class (asynchronous or not): the tables of 9.7.16.3 and 9.7.16.6.1.

constexpr Effects kNothing = {};

// 9.7.16.7.1: waits for the columns, then writes their address to shared memory.
constexpr Effects kAlloc = {.issue = Issue::kWarp, .blocks = Blocks::kForColumns, .allocates = true};

// 9.7.16.7.1: potentially blocking; with .cta_group::2 it may wait for the peer's (9.7.16.5, table of inter-CTA
// synchronisation).
constexpr Effects kDealloc = {.issue = Issue::kWarp, .blocks = Blocks::kForPeer, .frees = true};

constexpr Effects kRelinquish = {.issue = Issue::kWarp, .relinquishes = true};

constexpr Effects kLoad = {
    .issue = Issue::kWarp, .completion = Completion::kWaitLd, .accesses = kLoads, .destinations = kLoaded};

constexpr Effects kStore = {.issue = Issue::kWarp, .completion = Completion::kWaitSt, .accesses = kStores};

// 9.7.16.8.5: until the loads, or stores, of the executing threads are complete.
constexpr Effects kWaitForLoads = {.issue = Issue::kWarp, .blocks = Blocks::kForOwnOperations, .drains_loads = true};
constexpr Effects kWaitForStores = {.issue = Issue::kWarp, .blocks = Blocks::kForOwnOperations, .drains_stores = true};

constexpr Effects kCopy = {.issue = Issue::kSingleThread,
                           .completion = Completion::kCommit,
                           .pipeline = Pipeline::kCopy,
                           .accesses = kCopies,
                           .shared_reads = kCopySource};

constexpr Effects kShift = {.issue = Issue::kSingleThread,
                            .completion = Completion::kCommit,
                            .pipeline = Pipeline::kShift,
                            .accesses = kShifts};

constexpr Effects kMatrixMultiply = {.issue = Issue::kSingleThread,
                                     .completion = Completion::kCommit,
                                     .pipeline = Pipeline::kMma,
                                     .accesses = kMatrices,
                                     .shared_reads = kMatrixSources};

// 9.7.16.12.1. Its own completion is the arrival on the mbarrier; nothing waits for the instruction as such.
constexpr Effects kCommit = {.issue = Issue::kSingleThread, .signals_completion = true};

// 9.7.16.6.4.1
constexpr Effects kFenceBefore = {.fence_before = true};
constexpr Effects kFenceAfter = {.fence_after = true};

}  // namespace

const Effects& effects_of(Tcgen05 op) {
  switch (op) {
    case Tcgen05::kNone:
    case Tcgen05::kUnknown:
      return kNothing;
    case Tcgen05::kAlloc:
      return kAlloc;
    case Tcgen05::kDealloc:
      return kDealloc;
    case Tcgen05::kRelinquish:
      return kRelinquish;
    case Tcgen05::kLd:
    case Tcgen05::kLdRed:
      return kLoad;
    case Tcgen05::kSt:
      return kStore;
    case Tcgen05::kWaitLd:
      return kWaitForLoads;
    case Tcgen05::kWaitSt:
      return kWaitForStores;
    case Tcgen05::kCp:
      return kCopy;
    case Tcgen05::kShift:
      return kShift;
    case Tcgen05::kMma:
    case Tcgen05::kMmaWs:
      return kMatrixMultiply;
    case Tcgen05::kCommit:
      return kCommit;
    case Tcgen05::kFenceBefore:
      return kFenceBefore;
    case Tcgen05::kFenceAfter:
      return kFenceAfter;
  }
  return kNothing;
}

bool Effects::reads_tmem() const {
  return std::ranges::any_of(accesses, [](const TmemAccess& a) { return a.reads != TmemReads::kNo; });
}

bool Effects::writes_tmem() const {
  return std::ranges::any_of(accesses, [](const TmemAccess& a) { return a.writes; });
}

namespace {

// 9.7.16.9: rows of 256, 128 bits in columns of 32.
uint32_t copied_columns(CpShape shape) {
  switch (shape) {
    case CpShape::k128x256b:
    case CpShape::k4x256b:
      return 8;
    case CpShape::k128x128b:
    case CpShape::k64x128b:
    case CpShape::k32x128b:
      return 4;
    case CpShape::kNone:
      return 1;  // misspelt
  }
  return 1;
}

ColumnCount by_descriptor(unsigned columns) {
  return {std::max(1u, columns), columns != 0};
}

}  // namespace

ColumnCount columns_of(const TmemAccess& access, const Form& form, const MmaShape& shape) {
  switch (access.columns) {
    case ColumnExtent::kLoadStore:
      return {form.columns, true};
    case ColumnExtent::kCopy:
      return {copied_columns(form.cp_shape), true};
    case ColumnExtent::kShift:
      return {8, false};
    case ColumnExtent::kAccumulator:
      return by_descriptor(shape.d_columns);
    case ColumnExtent::kOperandA:
      return by_descriptor(shape.a_columns);
    case ColumnExtent::kFirst:
      return {1, true};
  }
  return {};
}

uint8_t half_windows_of(const TmemAccess& access, const Form& form, const MmaShape& shape, uint32_t lane,
                        uint32_t warp) {
  switch (access.lanes) {
    case LaneExtent::kWarpWindow: {
      // A warp reaches the 32 lanes of its place in the warpgroup, whatever else the address says.
      const uint32_t first = warp % 4 * 2;
      if (form.lanes == 16) return static_cast<uint8_t>(1u << (first + lane % 32 / 16));
      return static_cast<uint8_t>(3u << first);
    }
    case LaneExtent::kAll:
      return kAllHalfWindows;
    case LaneExtent::kDatapath:
      if (!shape.half_lanes) return kAllHalfWindows;
      return lane % 32 >= 16 ? 0xaa : 0x55;
  }
  return kAllHalfWindows;
}

namespace {

constexpr uint8_t bit(TmemRole role) {
  return static_cast<uint8_t>(1u << static_cast<unsigned>(role));
}
constexpr uint8_t kAnyRole = 0xff;
constexpr uint8_t kD = bit(TmemRole::kAccumulator);

struct IssueOrderRow {
  Pipeline first;
  uint8_t first_roles;
  Pipeline second;
  uint8_t second_roles;
  IssueOrder order;
  CpShape second_shape = CpShape::kNone;  // of a cp: this one only
};

// ISA 9.7.16.6.2, all of the same .cta_group. What is in no row is not ordered: D of one mma that is A of the next, an
// mma before the cp that overwrites its scale factors.
constexpr IssueOrderRow kIssueOrder[] = {
    {Pipeline::kMma, kD, Pipeline::kMma, kD, IssueOrder::kIfSameAccumulator},
    // An mma that reads before another writes: the ISA's text has only the row above, but the two are executed in
    // order.
    {Pipeline::kMma, static_cast<uint8_t>(~kD), Pipeline::kMma, kAnyRole, IssueOrder::kAlways},
    {Pipeline::kCopy, kAnyRole, Pipeline::kMma, kAnyRole, IssueOrder::kAlways},
    // Not in the ISA's text: kernels rely on it.
    {Pipeline::kCopy, kAnyRole, Pipeline::kCopy, kAnyRole, IssueOrder::kAlways},
    {Pipeline::kShift, kAnyRole, Pipeline::kMma, kAnyRole, IssueOrder::kAlways},
    {Pipeline::kShift, kAnyRole, Pipeline::kCopy, kAnyRole, IssueOrder::kAlways, CpShape::k4x256b},
    {Pipeline::kMma, kAnyRole, Pipeline::kShift, kAnyRole, IssueOrder::kAlways},
};

}  // namespace

IssueOrder issue_order(const Form& first, TmemRole first_role, const Form& second, TmemRole second_role) {
  if (first.cta_group != second.cta_group) return IssueOrder::kNone;
  const Pipeline a = effects_of(first).pipeline;
  const Pipeline b = effects_of(second).pipeline;
  if (a == Pipeline::kNone || b == Pipeline::kNone) return IssueOrder::kNone;
  for (const IssueOrderRow& row : kIssueOrder) {
    if (row.first != a || row.second != b) continue;
    if ((row.first_roles & bit(first_role)) == 0 || (row.second_roles & bit(second_role)) == 0) continue;
    if (row.second_shape != CpShape::kNone && row.second_shape != second.cp_shape) continue;
    return row.order;
  }
  return IssueOrder::kNone;
}

bool same_mma_shape(const Form& a, std::optional<uint32_t> a_idesc, const Form& b, std::optional<uint32_t> b_idesc) {
  if (a.kind != b.kind) return false;
  if (!a_idesc || !b_idesc) return true;
  const MmaShape x = mma_shape(*a_idesc, a);
  const MmaShape y = mma_shape(*b_idesc, b);
  return x.m == y.m && x.n == y.n;
}

}  // namespace tmemlint::ptx
