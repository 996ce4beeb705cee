// Whether two accesses of the same columns, or an access and the dealloc of its columns, are ordered as the ISA wants
// it: pure functions from what the joint run observed of such a pair to what is wrong with it, if anything is.
//
// Sections are those of PTX ISA 9.1. What an access is ordered by (9.7.16.6):
//
//   ld, st              wait::ld and wait::st of the issuing warp (9.7.16.6.3, 9.7.16.8.3)
//   mma, cp, shift      an mbarrier wait that observes a later tcgen05.commit of the issuing thread
//   (9.7.16.6.1, 9.7.16.12); some
//                       pairs of them execute in the order of their issue (9.7.16.6.2)
//   between threads     execution is ordered by barriers and mbarriers; where the operation is .relaxed, only together
//                       with tcgen05.fence on both sides (9.7.16.6.4)
//   dealloc             all accesses of the columns come before it (9.7.16.7.1); with .cta_group::2 those of the peer
//                       too (9.7.16.5)
//
// tests/ordering_test.cpp has a row for each outcome, with its neighbours.
#pragma once

#include <cstdint>

#include "analyzer/cluster/observations.h"

namespace tmemlint::rules {

enum class Disorder : uint8_t {
  kNone,
  kFenceMissing,       // handed over by a relaxed operation, without the fences
  kNoFences,           // handed over by barriers alone, without the fences that the ISA's patterns have: a note
  kLoadNotWaited,      // a load that its warp has not waited for
  kStoreNotWaited,     // a store that its warp has not waited for
  kScalesOverwritten,  // a cp over scale factors that an earlier mma of the thread reads: a note
  kOverlap,            // two asynchronous operations that do not execute in order
  kNotComplete,        // an asynchronous operation that is not known to be complete
  kUnordered,          // nothing orders the two
  kDeallocRace,        // nothing orders the access before the dealloc
  kPeerInFlight,       // dealloc of a pair: an asynchronous operation of or in the peer
  kPeerLoadOrStore,    // dealloc of a pair: a load or store of the peer's columns: a note
};

// The instruction that has to change, as far as one can say.
enum class Blamed : uint8_t {
  kEarlier,
  kFirstOfRun,  // the first of the earlier one's run of operations
  kRelease,     // where the earlier one's warp lets the later one go on; the later one where that is not known
  kLater,       // the dealloc, of a pair that has one
  kRelaxedWait,
};

struct Judgement {
  Disorder disorder = Disorder::kNone;
  Blamed blamed = Blamed::kLater;
  // kNotComplete: the operation comes first on any schedule, so that nothing but its completion is missing. kUnordered:
  // one reads what nobody is known to have written before the other one, which therefore has to come first.
  bool certain = false;
  bool operator==(const Judgement&) const = default;
};

Judgement judge(const cluster::AccessPair& pair);
Judgement judge(const cluster::FreePair& pair);

// Whether the sizes of two allocs of a CTA may grow in execution order, which must not be (9.7.16.7.1). `ordered`: the
// earlier one comes first on any schedule; otherwise the larger one may come second.
constexpr bool may_grow(int64_t earlier, int64_t later, bool ordered) {
  return ordered ? later > earlier : later != earlier;
}

}  // namespace tmemlint::rules
