// What the scenarios of the joint run observed: facts with named fields, at the instructions and in the warps that they
// are about. None of them is a verdict: rules/problems.h says which of them are problems, rules/precedence.h which of
// two problems that have one cause is reported.
//
// Units: columns are 32-bit columns of Tensor Memory, lanes are bits of a mask, bytes are bytes of shared memory. An
// instruction is an index into Module::instructions, kNone where there is none.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "analyzer/ptx/effects.h"
#include "analyzer/ptx/module.h"

namespace tmemlint::cluster {

using ptx::kNone;

// A warp of the cluster.
struct WarpId {
  uint32_t rank = 0;    // of its CTA
  uint32_t number = 0;  // in its CTA
  bool operator==(const WarpId&) const = default;
};

// An instruction as a warp executed it.
struct Site {
  uint32_t instruction = kNone;
  WarpId warp;
  bool operator==(const Site&) const = default;
};

// One side of two accesses of the same columns.
struct TmemUse {
  Site site;
  ptx::Tcgen05 op = ptx::Tcgen05::kNone;
  ptx::Completion completion = ptx::Completion::kSynchronous;
  ptx::TmemRole role = ptx::TmemRole::kData;
  bool reads = false, writes = false;

  bool by_commit() const { return completion == ptx::Completion::kCommit; }
  bool is_load() const { return completion == ptx::Completion::kWaitLd; }
  bool is_store() const { return completion == ptx::Completion::kWaitSt; }
};

// What the warp of a later access, or of a dealloc, knows of an earlier access (ISA 9.7.16.6).
struct Order {
  bool same_warp = false;
  bool same_lane = false;        // of one warp, and issued by the same thread
  bool issued = false;           // the earlier one was issued before, on any schedule
  bool issued_fenced = false;    // and by synchronisation that orders tcgen05 instructions
  bool pipelined = false;        // two operations that execute in the order of their issue (ISA 9.7.16.6.2)
  bool complete = false;         // the earlier one is known to be complete: waited for, or by an observed commit
  bool complete_fenced = false;  // and by synchronisation that orders tcgen05 instructions
  bool complete_strict = false;  // and with tcgen05.fence on both sides of each hand-over
};

// The arrival with which the warp of a pending load let others go on.
struct LoadRelease {
  uint32_t instruction = kNone;  // kNone: no arrival of that warp came between
  uint32_t lanes = 0;            // that execute the load
  uint32_t used = 0;  // those that had used the load's results when the warp arrived, or by now without arrival
};

// Two accesses of the same columns, one of them a write, that are not ordered in every respect. Earlier and later are
// only the order in which this scenario executed them: `order` says whether every schedule has it.
struct AccessPair {
  TmemUse earlier, later;
  Order order;
  uint32_t first_of_run =
      kNone;               // the first operation of the earlier one's run of writes that no wait or commit divides
  bool within_cta = true;  // both are issued in the CTA that the columns are of
  bool earlier_saw_a_write = false;      // when the earlier one read, a write of the columns was known to be complete
  bool later_knows_older_write = false;  // a write before the earlier one is known to be complete
  uint32_t relaxed_wait = kNone;         // the last relaxed wait of the later one's warp
  LoadRelease release;                   // of an earlier load
};

// A dealloc and an access of the columns that it frees, which is not known to be complete.
struct FreePair {
  Site free;
  uint8_t cta_group = 1;  // of the dealloc
  TmemUse access;
  Order order;
  bool peer_access = false;   // the access was issued by the other CTA, or touches its columns
  bool peer_columns = false;  // the columns are those of the other CTA
  LoadRelease release;        // of a load
};

// An access of columns that no live allocation has, or that runs past the end of one.
struct StrayAccess {
  Site access;
  uint32_t alloc = kNone;      // the allocation that it is based on; kNone: it lies in none
  uint32_t alloc_columns = 0;  // size of that one
  int64_t column = 0;          // the first one: from the allocation's first column, or the column itself
  uint32_t columns = 0;        // how many are certainly touched
  bool any_live = false;       // the CTA has some allocation
  Site alloc_beside;           // the alloc of another warp that would hold it, but that nothing orders before it
};

// An access of columns that a dealloc freed before.
struct FreedAccess {
  Site access;
  Site free;
  bool ordered = false;  // the dealloc comes first on any schedule
};

// A read of columns that nothing has written since they were allocated.
struct UnwrittenRead {
  Site access;
  uint32_t alloc = kNone;
  int64_t column = 0;  // from the allocation's first column
  uint32_t columns = 0;
  // The scenario lets a loop that writes Tensor Memory run no time.
  bool loop_never_ran = false;
};

// Uses of the place in shared memory that an alloc writes its address to, which nothing orders.
struct SlotRace {
  enum class Kind : uint8_t {
    kReadBesideAlloc,   // `use` reads it, not ordered behind the alloc
    kWriteBesideAlloc,  // `use` writes it, not ordered behind the alloc
    kWriteBesideRead,   // `use` writes it while the address is in use, not ordered behind a read of it
  };
  Kind kind = Kind::kReadBesideAlloc;
  Site use;
  uint32_t alloc = kNone;  // whose address is there, or comes there
  WarpId other;            // that allocates, or (kWriteBesideRead) reads
  uint32_t read = kNone;   // kWriteBesideRead: the read, where it came after the write
};

// A number of columns that an alloc asks for.
struct AllocRequest {
  Site alloc;
  int64_t columns = 0;
};

// Two allocs of one CTA with different numbers of columns.
struct AllocPair {
  Site earlier, later;  // in the order in which the scenario executed them
  uint32_t earlier_columns = 0, later_columns = 0;
  bool ordered = false;  // on any schedule
};

// An alloc that comes, or may come, after another warp of the CTA gave up the permit to allocate.
struct LateAlloc {
  Site alloc;
  Site relinquish;
};

// An alloc executed by a second warp, into the slot of an allocation of the first one that is not known to be freed.
struct RepeatedAlloc {
  Site alloc;
  WarpId other;
};

// An alloc that waits for columns at the end of a scenario, with nothing left that frees any.
struct BlockedAlloc {
  Site alloc;
  uint32_t asked = 0, live = 0, capacity = 0;  // columns
};

// A dealloc.
struct Free {
  Site site;
  uint32_t alloc = kNone;                   // the allocation that its address lies in; kNone: in none
  bool at_start = false;                    // the address is the one that the alloc returned
  int64_t column = 0;                       // of its address: from the allocation's first column, or the column itself
  uint32_t columns = 0, alloc_columns = 0;  // that it frees, and that were allocated
  bool exclusive = false, alloc_exclusive = false;  // .exclusive (PTX 9.4)
  WarpId allocator;                                 // the warp that allocated
  std::optional<Site> freed_before;                 // the allocation was freed already
};

// An allocation that is live at the end of a scenario in which all warps came to theirs.
struct LeftAllocated {
  Site alloc;
};

// The first alloc of a CTA that never gives up the permit to allocate.
struct PermitKept {
  Site alloc;
};

// An instruction that one thread is to issue, executed by several.
struct ManyIssuers {
  Site site;
  uint32_t lanes = 0;
};

// The mask of a multicast commit of a pair.
struct CommitMask {
  Site commit;
  uint32_t mask = 0;  // CTAs, by rank
};

// An operation of a pair that both of its CTAs issue.
struct DoubleIssue {
  Site site;
  uint32_t other_rank = 0;
};

// Something that reaches another CTA before that one is known to be ready for it.
struct EarlyReach {
  Site site;
  uint32_t peer = 0;           // rank of the CTA that it reaches
  uint32_t not_ready = kNone;  // that CTA's alloc or mbarrier init; kNone: not seen yet
};

// A dealloc of a pair in a CTA that knows nothing of the other one.
struct UnjoinedFree {
  Site free;
  uint32_t peer = 0;
  uint32_t alloc = kNone;  // of the other CTA
};

// The deallocs of the two CTAs of a pair, on different sides of a cluster barrier.
struct SplitFree {
  Site early;  // before the barrier; its warp is that of the dealloc that came second in the scenario
  uint32_t late = kNone;
  uint32_t peer = 0;
};

// An alloc, dealloc or relinquish of a pair that one of its CTAs executes and the other one does not.
struct OneSidedPair {
  Site site;
  uint32_t peer = 0;              // rank of the CTA that does not
  uint32_t peer_alloc = kNone;    // the last alloc of that CTA
  bool cluster_is_guess = false;  // nothing states the cluster
};

// An mma or cp that reads bytes of shared memory which ordinary stores wrote, with no proxy fence between.
struct UnfencedOperand {
  Site read;
  Site store;
};

// Bytes of shared memory that an mma or cp reads, and something that writes them, which are not in order.
struct OperandRace {
  enum class Kind : uint8_t {
    kOverwritten,   // written while the operation, which came first, may still read
    kCopyUnseen,    // read before the copy that brings them was seen to be complete
    kStoreUnseen,   // read with no order between the store and the read
    kStoreNotHeld,  // handed over by `release` of other lanes than those that store, which are not joined
  };
  Kind kind = Kind::kOverwritten;
  Site read;
  Site write;
  uint32_t release = kNone;  // kStoreNotHeld: instruction
  bool ordered = false;      // kOverwritten: the writer knows that the operation was issued
};

// Arrivals on an mbarrier that do not fit its round.
struct Arrival {
  Site arrival;
  uint32_t barrier_rank = 0;
  uint32_t init = kNone;
  uint32_t count = 0;              // that the mbarrier was initialised with
  bool knows_last_round = true;    // the arriving thread knows of all arrivals of the round before
  bool more_than_pending = false;  // more arrivals at once than the round still expects
  // At the end of the scenario:
  bool barrier_is_waited_for = false;  // some wait observed a phase of a barrier of this init
  bool own_cta_waits_for_copies_from_afar = false;
};

// What happens to an mbarrier at the wrong time of its life.
struct MbarrierMisuse {
  enum class Kind : uint8_t {
    kInitAgain,     // `site` initialises it although it exists since the init `other`
    kInitUnjoined,  // `other` uses it, not ordered behind the init `site`
    kInitUnfenced,  // `other`, in another CTA, uses it; the init `site` was not released to other CTAs
    kInvalInUse,    // `site` invalidates it; `other` still waits for a phase, may still arrive, or uses it after that
  };
  Kind kind = Kind::kInitAgain;
  Site site, other;
};

// A wait for a phase of an mbarrier that the next phase may overtake: whoever makes that one complete does not know of
// the wait, which then waits for a later phase of the same parity.
struct OvertakenWait {
  Site wait;
  uint32_t init = kNone;
  Site by;  // the last arrival of the next phase
  // The wait's own parity may be wrong: its phase was over in the beginning, or its warp had seen it before.
  bool stale = false;
};

// A parity of a wait that is neither 0 nor 1.
struct ParityOutOfRange {
  Site wait;
  uint64_t parity = 0;
};

// Bytes announced on an mbarrier that are not those of the copies that complete on it, in a scenario that came to its
// end.
struct BytesDiffer {
  Site announcement;
  uint64_t announced = 0, brought = 0;  // in one phase
};

// Why a warp can never go on.
enum class WaitKind : uint8_t { kMbarrier, kMbarrierInit, kNamedBarrier, kClusterBarrier, kPolledWord, kColumns };

// An mbarrier that a warp waits for when no warp can go on.
struct LackingBarrier {
  size_t waiter = 0;     // in Hang::blocked
  uint32_t address = 0;  // shared
  uint32_t init = kNone;
  uint32_t count = 0;
  int64_t arrivals = 0;      // of the round that is waited for
  bool all_arrived = false;  // but not the bytes that `announced` announces
  bool overtaken = false;    // two rounds were over before one of them was waited for
  bool multicast = false;    // what this CTA sends to it, it sends to others too
  uint32_t announced = kNone, last_arrival = kNone;
  bool never_arrives = false;  // nothing arrives on it in any scenario
  bool flip_decides =
      false;  // what arrives on it in others comes behind the branch that the policy decides another way
};

// The end of a scenario in which no warp can go on. The mbarrier is the one that says the most about it.
struct Hang : LackingBarrier {
  struct Blocked {
    Site site;
    WaitKind kind = WaitKind::kMbarrier;
  };
  std::vector<Blocked> blocked;         // lanes that wait for others of their warp alone are not among them
  bool has_barrier = false;             // some wait is for an mbarrier
  std::vector<LackingBarrier> lacking;  // all that are waited for
  // What the scenario rests on.
  uint32_t flipped = kNone;          // the branch that it decides another way than usual
  bool flipped_taken = false;        // how
  bool zero_trips = false;           // parameters let a loop run no time that the usual scenario lets run
  uint32_t ctas = 1;                 // that were stepped together
  bool policy_may_cause_it = false;  // the scenario takes an unusual way, or lets loops run fewer than two times
  bool guessed_data = false;         // it decided something about more than parameters
  bool cluster_is_guess = false;     // nothing states the cluster
  bool block_is_guess = false;       // nothing states the block
};

// Whether nothing but the scenario's policy may have made it end like this: a number of rounds or a flag that the
// kernel is never launched with.
inline bool policy_alone_causes(const Hang& h) {
  return !h.guessed_data && h.policy_may_cause_it;
}
// Whether it rests on a cluster that nothing states: others of it may send what is missing.
inline bool may_lack_ctas(const Hang& h) {
  return h.cluster_is_guess && h.has_barrier && (h.ctas > 1 || h.multicast);
}
// Whether warps that a guessed block does not have may do what the others wait for.
inline bool may_lack_warps(const Hang& h) {
  const bool lacks_init = std::any_of(h.blocked.begin(), h.blocked.end(),
                                      [](const Hang::Blocked& b) { return b.kind == WaitKind::kMbarrierInit; });
  return h.block_is_guess && !h.blocked.empty() && !policy_alone_causes(h) && !lacks_init && !may_lack_ctas(h);
}

// An asynchronous operation that no warp of the cluster knows to be complete when all have left.
struct OperationInFlight {
  Site operation;
  uint32_t exit = kNone;  // of the issuing warp
};

// Something that reaches another CTA, which may have left before.
struct LateReach {
  Site site;
  uint32_t target = 0;    // rank of that CTA
  uint32_t exit = kNone;  // where its last warp leaves
};

using Observation =
    std::variant<AccessPair, FreePair, StrayAccess, FreedAccess, UnwrittenRead, SlotRace, AllocRequest, AllocPair,
                 LateAlloc, RepeatedAlloc, BlockedAlloc, Free, LeftAllocated, PermitKept, ManyIssuers, CommitMask,
                 DoubleIssue, EarlyReach, UnjoinedFree, SplitFree, OneSidedPair, UnfencedOperand, OperandRace, Arrival,
                 MbarrierMisuse, OvertakenWait, ParityOutOfRange, BytesDiffer, Hang, OperationInFlight, LateReach>;

// An observation with the part of its scenario that came before it.
struct Observed {
  Observation what;
  uint32_t scenario = 0;  // Joint::scenarios
  uint32_t decided = 0;   // how many of the scenario's decisions came before
  // Guesses of words of memory that the scenario went by before this may contradict each other: where warps came to,
  // and in which order, need not be possible then.
  bool doubtful = false;
};

struct Decision {
  uint32_t instruction = kNone;  // the branch
  bool taken = false;
};

// A commit as often as it was executed, in that order.
struct CommitIssue {
  Site commit;
  uint32_t lane = 0;              // that issued it
  std::vector<uint32_t> targets;  // shared addresses of mbarriers
  bool covers = false;            // operations, that no commit before it does
};

// A scenario and how it ended.
struct Scenario {
  std::vector<Decision> decisions;
  bool usual = true;           // decided as the usual policy decides
  bool idle = false;           // nothing touched Tensor Memory
  bool contradictory = false;  // some of its guesses of memory may contradict each other
  bool gives_up = false;       // a poll of an mbarrier ends though nothing came
  // After how many decisions parameters let a loop that writes Tensor Memory run no time, which the usual scenario does
  // not; kNone: nowhere.
  uint32_t zero_trips_from = kNone;
  bool complete = false;                // every warp came to its end
  bool stopped = false;                 // it was not followed to its end, for a reason other than its own policy
  std::set<uint32_t> freed, left_live;  // allocs of which something was freed; that were not all freed in the end
  std::vector<CommitIssue> commits;     // of a complete scenario
  std::set<uint32_t> waited;            // shared addresses of mbarriers that were waited for

  std::span<const Decision> decisions_before(const Observed& o) const { return std::span(decisions).first(o.decided); }
};

// What makes two observations of one scenario the same: of those with the same key the first one is kept. Of a warp
// only the parity of its CTA counts.
using ObservationKey = std::array<uint32_t, 6>;
ObservationKey key_of(const Observation& observation);

}  // namespace tmemlint::cluster
