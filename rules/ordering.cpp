#include "rules/ordering.h"

namespace tmemlint::rules {

namespace {

using cluster::AccessPair;
using cluster::FreePair;
using cluster::TmemUse;

// The earlier one is complete on any schedule: what may be missing are the fences of a hand-over between warps.
Judgement judge_complete(const AccessPair& p) {
  if (p.order.same_warp) return {};
  if (!p.order.complete_fenced && p.relaxed_wait != cluster::kNone)
    return {Disorder::kFenceMissing, Blamed::kRelaxedWait};
  if (!p.order.complete_strict) return {Disorder::kNoFences, Blamed::kLater};
  return {};
}

// The two execute in the order of their issue, which is the right one: that holds for operations of one thread, and
// between warps for those that synchronisation orders which tcgen05 instructions heed.
Judgement judge_pipelined(const AccessPair& p) {
  if (p.order.same_warp)
    return p.earlier.by_commit() && !p.order.same_lane ? Judgement{Disorder::kOverlap, Blamed::kLater} : Judgement{};
  if (!p.order.issued_fenced && p.relaxed_wait != cluster::kNone)
    return {Disorder::kFenceMissing, Blamed::kRelaxedWait};
  return {};
}

// The earlier one was issued before, and is not known to be complete: what its completion needs is missing.
Judgement judge_issued(const AccessPair& p) {
  switch (p.earlier.completion) {
    case ptx::Completion::kWaitLd:
      return {Disorder::kLoadNotWaited, Blamed::kRelease};
    case ptx::Completion::kWaitSt:
      return {Disorder::kStoreNotWaited, Blamed::kEarlier};
    case ptx::Completion::kSynchronous:
    case ptx::Completion::kCommit:
      break;
  }
  if (!p.later.by_commit()) return {Disorder::kNotComplete, Blamed::kLater, true};
  const bool reads_scales = p.earlier.role == ptx::TmemRole::kScale || p.earlier.role == ptx::TmemRole::kMetadata;
  if (reads_scales && p.later.op == ptx::Tcgen05::kCp && p.order.same_warp)
    return {Disorder::kScalesOverwritten, Blamed::kLater};
  return {Disorder::kOverlap, Blamed::kLater};
}

// Nothing orders the two: the scenario happened to execute one of them first.
Judgement judge_unordered(const AccessPair& p) {
  // It read before anything was there, so that this write is what it should have waited for.
  if (p.earlier.reads && p.later.writes && !p.earlier_saw_a_write) {
    const bool waits_for_commit = p.later.by_commit() && !p.earlier.by_commit();
    if (waits_for_commit) return {Disorder::kNotComplete, Blamed::kEarlier};
    return {Disorder::kUnordered, Blamed::kEarlier, true};
  }
  // The later one reads what was there before, so that it is the write that came too early.
  if (p.earlier.writes && p.later.reads && p.later_knows_older_write)
    return {Disorder::kUnordered, Blamed::kFirstOfRun};
  if (p.earlier.by_commit() && !p.later.by_commit()) return {Disorder::kNotComplete, Blamed::kLater};
  if (p.earlier.by_commit() && p.later.by_commit() && p.within_cta) return {Disorder::kOverlap, Blamed::kLater};
  // It reads what nobody is known to have written before.
  return {Disorder::kUnordered, Blamed::kLater, p.earlier.writes && p.later.reads};
}

}  // namespace

Judgement judge(const AccessPair& pair) {
  if (pair.order.complete) return judge_complete(pair);
  if (!pair.order.same_warp && !pair.order.issued) return judge_unordered(pair);
  return pair.order.pipelined ? judge_pipelined(pair) : judge_issued(pair);
}

Judgement judge(const FreePair& pair) {
  if (pair.order.complete) return {};
  const TmemUse& access = pair.access;
  if (pair.cta_group == 2 && pair.peer_access) {
    if (access.by_commit()) return {Disorder::kPeerInFlight, Blamed::kLater};
    // What the peer loads and stores in its own columns is for its own dealloc to wait for.
    if (pair.peer_columns) return {Disorder::kPeerLoadOrStore, Blamed::kLater};
    return {};
  }
  if (pair.peer_columns) return {};
  if (access.by_commit()) return {Disorder::kNotComplete, Blamed::kLater};
  if (!pair.order.same_warp && !pair.order.issued) return {Disorder::kDeallocRace, Blamed::kLater};
  if (access.is_load()) return {Disorder::kLoadNotWaited, Blamed::kRelease};
  return {Disorder::kStoreNotWaited, Blamed::kEarlier};
}

}  // namespace tmemlint::rules
