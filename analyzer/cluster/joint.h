// The joint run: all warps of a cluster stepped together, each along one path, with exact values and no joins.
//
// What is unknown stays a term; where a branch needs one, a decision is made once for all warps. A scenario is one run
// under one policy for such decisions. Barriers have their phases and counts, asynchronous arrivals come as late as
// they can, and vector clocks tell which accesses of Tensor Memory are ordered and which asynchronous operations are
// known to be complete.
#pragma once

#include <bitset>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "analyzer/warp/events.h"

namespace tmemlint::cluster {

using ptx::kNone;

// What a scenario showed to be wrong. `at` and `other` of a Sighting are the instructions named here.
enum class Fault : uint8_t {
  kUnallocated,       // at: the access
  kAfterDealloc,      // at: the access; other: the dealloc
  kOutOfBounds,       // at: the access; other: the alloc; numbers: first column, columns, size of the allocation
  kUninitialized,     // at: the access; numbers: first column
  kLoadNotWaited,     // at: the release or the conflicting instruction; other: the load; third: the conflicting one
  kStoreNotWaited,    // at: the store; other: the access
  kNotComplete,       // at: the access; other: the asynchronous operation
  kAsyncOverlap,      // at: the later operation; other: the earlier one
  kScaleCopyOverlap,  // the same, of a cp over the scale factors of an mma of the same thread
  kHandoff,           // at: the access that comes too early; other: the one it is not ordered with
  kFreeRace,          // at: the dealloc; other: the access
  kSlotRead,          // at: the read; other: the alloc
  kSlotOverwritten,   // at: the write; other: the alloc; number: 1 where it is not ordered with the alloc itself
  kOverCapacity,      // at: the alloc; numbers: live columns, asked
  kAllocSize,         // at: the alloc; number: columns that it may not ask for
  kSharedAlloc,       // at: the alloc or dealloc site that several warps execute
  kDeallocAddress,    // at: the dealloc; other: the alloc; number: address when known
  kDeallocSize,       // at: the dealloc; other: the alloc; numbers: freed, allocated
  kDoubleDealloc,     // at: the dealloc; other: the earlier one
  kForeignDealloc,    // at: the dealloc; other: the alloc
  kGrowing,           // at: the alloc; other: the earlier alloc; numbers: sizes
  kAfterRelinquish,   // at: the alloc; other: the relinquish
  kNoRelinquish,      // at: the alloc
  kNeverFreed,        // at: the alloc: live in the end of every scenario; number: how many those were
  kLeak,  // at: the alloc: live in the end of this scenario, while a warp that did not make it frees it in others
  kCommitUnwaited,  // at: the commit
  kExitInFlight,    // at: the exit; other: the operation
  kManyThreads,     // at: the mma, cp, shift or commit
  kArrivalCount,    // at: the arrive; other: the init; numbers: count, arrivals
  kFence,           // at: the wait; other: the arrive; third: the access
  kNoFence,         // at: an access; other: the one before it, ordered without tcgen05.fence; one per kernel
  kProxyFence,      // at: the mma or cp; other: the store
  kPairFree,        // at: the dealloc; other: what is not joined
  kPairFreeLoads,   // the same, of the peer's own loads and stores only
  kPairFreeOrder,   // at: the dealloc; other: the peer's
  kPairStart,       // at: the access that reaches the peer; other: the peer's alloc or init, or kNone
  kPairLeader,      // at: the operation issued by both CTAs
  kPairMask,        // at: the commit; numbers: mask, rank
  kClusterExit,     // at: the operation; other: the exit of the CTA that it reaches
  kStuck,           // at: the init of the mbarrier; other: the wait; third: an arrive; numbers: count, arrivals, phase
};

struct Decision {
  uint32_t instruction = kNone;
  bool taken = false;
};

struct Sighting {
  Fault fault = Fault::kUnallocated;
  uint32_t at = kNone, other = kNone, third = kNone;  // Module::instructions
  uint32_t warp = 0, other_warp = 0;                  // in their CTAs
  uint32_t rank = 0, other_rank = 0;
  int64_t first = 0, second = 0, extra = 0;
  uint32_t lanes = 0;           // kLoadNotWaited: of the load
  uint32_t used = 0;            // kLoadNotWaited: those whose results were used
  bool sure = false;            // kNotComplete: the operation was issued before, on any schedule
  bool zero_trips = false;      // the scenario lets a loop that writes Tensor Memory run no time
  bool bytes = false;           // kStuck: all arrivals came, but not the bytes that `third` announced
  bool passed = false;          // kStuck: two rounds were over before one of them was waited for
  std::vector<uint32_t> waits;  // kStuck: where the other warps wait
  uint32_t guesses = 0;         // words of memory that the scenario had guessed before
  std::shared_ptr<const std::vector<Decision>> scenario;  // its decisions
  uint32_t decided = 0;                                   // how many of them came before the sighting

  std::span<const Decision> decisions() const {
    return scenario == nullptr ? std::span<const Decision>() : std::span(*scenario).first(decided);
  }
};

// One event that a warp executed, for --explain-kernel.
struct Step {
  uint32_t rank = 0, warp = 0;
  uint32_t instruction = kNone;
  uint32_t lanes = 0;
  std::string text;
  int32_t columns = 0;  // that an alloc took, or (negative) a dealloc gave back
};

// Where the executions of an ld or st by one warp of a CTA start.
struct Places {
  std::bitset<128> lanes;
  bool all = true;  // every execution's address was known
};

// How the first column that an instruction touches changes from round to round of its innermost loop.
struct Course {
  int64_t last = 0;         // column from that of the allocation
  uint32_t round = kNone;   // in which that was; kNone: none yet
  int8_t direction = 0;     // 1: up, -1: down, 0: there was one round only
  bool comes_back = false;  // some round was not further on than the one before it: the stages of a ring, or one place
};

// By instruction and warp.
using PlacesByWarp = std::unordered_map<uint64_t, Places>;
inline uint64_t place_key(uint32_t instruction, uint32_t warp) {
  return (uint64_t{instruction} << 32) | warp;
}

struct Joint {
  PlacesByWarp places;
  std::unordered_map<uint64_t, Course> courses;  // as `places`
  std::vector<Sighting> sightings;               // one per fault and pair of instructions
  std::vector<warp::Uncertain> uncertain;        // questions that could not be decided
  std::vector<Step> log;                         // of the first scenario
  uint64_t asked = 0, decided = 0;               // questions: an access against another, a free or a round of a barrier
  uint64_t steps = 0;                            // warp-instructions executed
  unsigned scenarios = 0;
  // The usual scenario ends with a wait that nothing ends, which a block that is only a guess may be too small for.
  bool short_of_warps = false;
};

struct JointSetting {
  bool log = false;
  // Of all scenarios; the first one may take as many by itself. What is only replayed counts little.
  uint64_t step_budget = 300'000;
  bool usual_only = false;  // the first scenario and no other
};

struct Analysis;
Joint run_jointly(const Analysis& analysis, const JointSetting& setting);

}  // namespace tmemlint::cluster
