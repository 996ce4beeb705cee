// What the joint run showed to be wrong, in the form in which rules tell it.
//
// The run writes down facts (analyzer/cluster/observations.h). `problems_of` says which problems one of them shows, a
// function for each kind of observation. `find_problems` does that for a whole run: it leaves out what an unreliable
// scenario cannot show, makes one problem of what several scenarios show, and drops what only follows from another
// problem (rules/precedence.h). A rule goes over the kinds that it reports with `for_each` (rules/between_warps.h).
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <variant>
#include <vector>

#include "analyzer/assumptions/assumptions.h"
#include "analyzer/cluster/joint.h"
#include "analyzer/cluster/observations.h"
#include "analyzer/warp/events.h"

namespace tmemlint::cluster {
struct Analysis;
}

namespace tmemlint::rules {

using ptx::kNone;

// Behind each kind: the instruction that it is reported at; after the semicolon the other one that it is about. The
// observations that show it are named in brackets where the kind does not say it.
enum class ProblemKind : uint8_t {
  // Where an access goes
  kUnallocated,      // the access [StrayAccess]
  kOutOfBounds,      // the access; the allocation [StrayAccess]
  kUseAfterDealloc,  // the access; the dealloc [FreedAccess]
  kUninitialized,    // the read; the allocation [UnwrittenRead]
  // The order of two accesses, or of an access and a dealloc (rules/ordering.h) [AccessPair, FreePair]
  kFenceMissing,       // the relaxed wait; the earlier access
  kNoFences,           // the later access; the earlier one. One for a kernel
  kLoadNotWaited,      // what lets the later one go on; the load
  kStoreNotWaited,     // the store; what comes after it
  kScalesOverwritten,  // the cp; the mma
  kOverlap,            // the later operation; the earlier one
  kNotComplete,        // the access or dealloc; the asynchronous operation
  kUnordered,          // the access that comes too early; the one that it is not ordered with
  kDeallocRace,        // the dealloc; the access [FreePair, FreedAccess]
  kPeerInFlight,       // the dealloc; what of the peer is not joined [FreePair, UnjoinedFree]
  kPeerLoadOrStore,    // the dealloc; the peer's access
  // The place in shared memory that alloc writes its address to [SlotRace]
  kSlotReadEarly,    // the read; the alloc
  kSlotOverwritten,  // the write; the alloc whose address is lost
  // Allocs and deallocs
  kAllocSize,             // the alloc [AllocRequest]
  kAllocGrowing,          // the larger alloc; the smaller one before it [AllocPair]
  kAllocAfterRelinquish,  // the alloc; the relinquish [LateAlloc]
  kNoRoom,                // the alloc [BlockedAlloc]
  kSeveralWarps,          // the alloc or dealloc that several warps execute [RepeatedAlloc, Free]
  kDeallocAddress,        // the dealloc; the allocation that its address lies in [Free]
  kDeallocSize,           // the dealloc; the alloc [Free]
  kDeallocExclusive,      // the dealloc; the alloc [Free]
  kDoubleDealloc,         // the dealloc; the one before it [Free]
  kForeignDealloc,        // the dealloc; the alloc of another warp [Free]
  kLeftAllocated,         // the alloc: live in the end of a scenario
  kNeverFreed,            // the alloc: live in the end of all of them [Scenario::left_live]
  kPermitKept,            // the alloc
  // Issue and completion
  kManyIssuers,         // the mma, cp, shift or commit
  kCommitUnwaited,      // the commit [Scenario::commits]
  kExitInFlight,        // the exit; the operation [OperationInFlight]
  kProxyFence,          // the mma or cp; the store [UnfencedOperand]
  kOperandOverwritten,  // what writes; the mma or cp that may still read [OperandRace]
  kOperandEarly,        // what comes before its operand is there, or the arrive that says so; what writes, or reads it
  // mbarriers
  kTooManyArrivals,  // the arrival; the mbarrier's init [Arrival]
  kInitAgain,        // the init; the one before it [MbarrierMisuse]
  kInitUnjoined,     // the init; the use. One for a kernel [MbarrierMisuse]
  kInitUnfenced,     // the init; the use in another CTA. One for a kernel [MbarrierMisuse]
  kInvalInUse,       // the inval; who still uses the mbarrier [MbarrierMisuse]
  kWaitOvertaken,    // the wait; the last arrival of the next phase [OvertakenWait]
  kParity,           // the wait [ParityOutOfRange]
  kBytes,            // the announcement [BytesDiffer]
  kWaitNeverEnds,    // the mbarrier's init; the wait [Hang]
  // Pairs and clusters of CTAs
  kMaskWithoutPair,  // the commit [CommitMask]
  kIssuedTwice,      // the operation [DoubleIssue]
  kWithoutPeer,      // the alloc, dealloc or relinquish; the last alloc of the peer [OneSidedPair]
  kPeerNotReady,     // what reaches the peer; the peer's alloc or init [EarlyReach]
  kPeerFreesLater,   // the dealloc; the peer's [SplitFree]
  kReachesExited,    // what reaches the other CTA; that one's exit [LateReach]
};

// What filters and precedence have to know of a kind.
struct Traits {
  bool of_one_warp = false;       // it is there whatever other warps do, and in which order
  bool about_pairs = false;       // it means nothing in a kernel that mixes .cta_group values
  bool about_allocation = false;  // it matters to other CTAs even where nothing touches Tensor Memory
};
Traits traits_of(ProblemKind kind);

struct Problem {
  ProblemKind kind = ProblemKind::kUnallocated;
  uint32_t at = kNone, other = kNone;  // Module::instructions, as listed at ProblemKind
  cluster::WarpId warp;                // that the finding is about
  cluster::WarpId other_warp;          // the other one that it is about
  bool certain = false;     // kNotComplete, kUnordered: Judgement::certain; kOperandOverwritten: OperandRace::ordered
  bool zero_trips = false;  // kUninitialized: shown only with a loop that writes the columns run no time
  unsigned scenarios = 0;   // kNeverFreed: how many there are
  // What shows it; null for kCommitUnwaited and kNeverFreed, which take all scenarios.
  const cluster::Observed* shown_by = nullptr;
  std::span<const cluster::Decision> decisions;  // of the scenario that shows it, up to there

  // The observation: a rule knows from the kind which one it is.
  template <typename T>
  const T& as() const {
    return std::get<T>(shown_by->what);
  }
  // Null where it is an observation of another kind.
  template <typename T>
  const T* if_shown_by() const {
    return shown_by == nullptr ? nullptr : std::get_if<T>(&shown_by->what);
  }
};

// What decides besides the observations.
struct KernelView {
  std::function<bool(const cluster::AllocRequest&)> is_legal;  // a number of columns that the alloc may ask for
  bool mixes_groups = false;                                   // both .cta_group values are used
  uint32_t threads = 0;                                        // of a CTA, as they were stepped
};
KernelView view_of(const cluster::Analysis& analysis);

// What one observation shows: problems, and questions that stay open.
struct Shown {
  std::vector<Problem> problems;
  std::vector<warp::Uncertain> open;
};
Shown problems_of(const cluster::Observed& observed, const KernelView& view);
void add_problems_of(const cluster::Observed& observed, const KernelView& view, Shown& out);

struct Problems {
  std::vector<Problem> all;           // in the order in which they were observed
  std::vector<warp::Uncertain> open;  // questions that stay open, each once
  assumptions::Uses uses;
  uint64_t asked = 0;  // those of them that scenarios asked, as often as they did
};
// What is found points into the run.
Problems find_problems(const cluster::Joint& joint, const KernelView& view);
Problems find_problems(const cluster::Analysis& analysis);

}  // namespace tmemlint::rules
