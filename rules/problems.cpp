// Observation by observation: which problems it shows. What is made of those of a whole run is in problem_list.cpp.
#include "rules/problems.h"

#include <algorithm>
#include <string>
#include <utility>

#include "rules/hang.h"
#include "rules/ordering.h"

namespace tmemlint::rules {

namespace {

using cluster::Site;
using cluster::WarpId;
using Kind = ProblemKind;

// The kinds of two accesses that are not in order; kNone has none.
Kind kind_of(Disorder disorder) {
  switch (disorder) {
    case Disorder::kFenceMissing:
      return Kind::kFenceMissing;
    case Disorder::kNoFences:
      return Kind::kNoFences;
    case Disorder::kLoadNotWaited:
      return Kind::kLoadNotWaited;
    case Disorder::kStoreNotWaited:
      return Kind::kStoreNotWaited;
    case Disorder::kScalesOverwritten:
      return Kind::kScalesOverwritten;
    case Disorder::kOverlap:
      return Kind::kOverlap;
    case Disorder::kNotComplete:
      return Kind::kNotComplete;
    case Disorder::kDeallocRace:
      return Kind::kDeallocRace;
    case Disorder::kPeerInFlight:
      return Kind::kPeerInFlight;
    case Disorder::kPeerLoadOrStore:
      return Kind::kPeerLoadOrStore;
    case Disorder::kUnordered:
    case Disorder::kNone:
      break;
  }
  return Kind::kUnordered;
}

Kind kind_of(cluster::MbarrierMisuse::Kind misuse) {
  switch (misuse) {
    case cluster::MbarrierMisuse::Kind::kInitUnjoined:
      return Kind::kInitUnjoined;
    case cluster::MbarrierMisuse::Kind::kInitUnfenced:
      return Kind::kInitUnfenced;
    case cluster::MbarrierMisuse::Kind::kInvalInUse:
      return Kind::kInvalInUse;
    case cluster::MbarrierMisuse::Kind::kInitAgain:
      break;
  }
  return Kind::kInitAgain;
}

class Classifier {
public:
  Classifier(const cluster::Observed& observed, const KernelView& view, Shown& out)
      : observed_(observed), view_(view), shown_(out) {}

  void run() { std::visit(*this, observed_.what); }

  void operator()(const cluster::AccessPair& p) {
    add_pair(judge(p), p.earlier.site, p.later.site, p.first_of_run, p.release.instruction, p.relaxed_wait);
  }

  void operator()(const cluster::FreePair& p) {
    add_pair(judge(p), p.access.site, p.free, p.access.site.instruction, p.release.instruction, kNone);
  }

  void operator()(const cluster::StrayAccess& s) {
    const bool unallocated = s.alloc == kNone && !s.any_live;
    add(unallocated ? Kind::kUnallocated : Kind::kOutOfBounds, s.access, s.alloc);
  }

  void operator()(const cluster::FreedAccess& a) {
    if (a.ordered) {
      add(Kind::kUseAfterDealloc, a.access, a.free);
    } else {
      add(Kind::kDeallocRace, a.free, a.access);
    }
  }

  void operator()(const cluster::UnwrittenRead& r) {
    add(Kind::kUninitialized, r.access, r.alloc).zero_trips = r.loop_never_ran;
  }

  void operator()(const cluster::SlotRace& r) {
    const bool read = r.kind == cluster::SlotRace::Kind::kReadBesideAlloc;
    add(read ? Kind::kSlotReadEarly : Kind::kSlotOverwritten, r.use, Site{r.alloc, r.other});
  }

  void operator()(const cluster::AllocRequest& r) {
    if (!view_.is_legal(r)) add(Kind::kAllocSize, r.alloc);
  }

  void operator()(const cluster::AllocPair& p) {
    if (!may_grow(p.earlier_columns, p.later_columns, p.ordered)) return;
    // Where nothing orders the two, the larger one may come second.
    if (p.later_columns > p.earlier_columns) {
      add(Kind::kAllocGrowing, p.later, p.earlier);
    } else {
      add(Kind::kAllocGrowing, p.earlier, p.later);
    }
  }

  void operator()(const cluster::LateAlloc& a) { add(Kind::kAllocAfterRelinquish, a.alloc, a.relinquish); }

  void operator()(const cluster::RepeatedAlloc& a) { add(Kind::kSeveralWarps, a.alloc, Site{kNone, a.other}); }

  void operator()(const cluster::BlockedAlloc& a) { add(Kind::kNoRoom, a.alloc); }

  void operator()(const cluster::Free& f) {
    if (f.alloc == kNone || !f.at_start) {
      add(Kind::kDeallocAddress, f.site, f.alloc);
      return;
    }
    if (f.freed_before) {
      // One dealloc that several warps come to is a guard that is missing.
      const Site& before = *f.freed_before;
      if (before.instruction == f.site.instruction && before.warp != f.site.warp) {
        add(Kind::kSeveralWarps, f.site, Site{kNone, before.warp});
      } else {
        add(Kind::kDoubleDealloc, f.site, before);
      }
      return;
    }
    const Site alloc{f.alloc, f.allocator};
    if (f.columns != f.alloc_columns) add(Kind::kDeallocSize, f.site, alloc);
    if (f.exclusive != f.alloc_exclusive) add(Kind::kDeallocExclusive, f.site, alloc);
    if (f.allocator != f.site.warp) add(Kind::kForeignDealloc, f.site, alloc);
  }

  void operator()(const cluster::LeftAllocated& l) { add(Kind::kLeftAllocated, l.alloc); }
  void operator()(const cluster::PermitKept& k) { add(Kind::kPermitKept, k.alloc); }
  void operator()(const cluster::ManyIssuers& m) { add(Kind::kManyIssuers, m.site); }

  void operator()(const cluster::CommitMask& m) {
    const uint32_t pair = 3u << (m.commit.warp.rank & ~1u);
    if ((m.mask & pair) != pair) add(Kind::kMaskWithoutPair, m.commit);
  }

  void operator()(const cluster::DoubleIssue& d) {
    add(Kind::kIssuedTwice, d.site, Site{kNone, WarpId{d.other_rank, 0}});
  }

  void operator()(const cluster::OneSidedPair& o) {
    add(Kind::kWithoutPeer, o.site, Site{o.peer_alloc, WarpId{o.peer, 0}});
  }

  void operator()(const cluster::EarlyReach& r) {
    add(Kind::kPeerNotReady, r.site, Site{r.not_ready, WarpId{r.peer, 0}});
  }

  void operator()(const cluster::UnjoinedFree& f) {
    add(Kind::kPeerInFlight, f.free, Site{f.alloc, WarpId{f.peer, 0}});
  }

  void operator()(const cluster::SplitFree& f) { add(Kind::kPeerFreesLater, f.early, Site{f.late, WarpId{f.peer, 0}}); }

  void operator()(const cluster::UnfencedOperand& o) { add(Kind::kProxyFence, o.read, o.store); }

  void operator()(const cluster::OperandRace& r) {
    switch (r.kind) {
      case cluster::OperandRace::Kind::kOverwritten:
        add(Kind::kOperandOverwritten, r.write, r.read).certain = r.ordered;
        return;
      case cluster::OperandRace::Kind::kStoreNotHeld:
        add(Kind::kOperandEarly, r.release == kNone ? r.read : Site{r.release, r.write.warp}, r.read);
        return;
      case cluster::OperandRace::Kind::kCopyUnseen:
      case cluster::OperandRace::Kind::kStoreUnseen:
        add(Kind::kOperandEarly, r.read, r.write);
        return;
    }
  }

  void operator()(const cluster::Arrival& a) {
    if (a.knows_last_round && !a.more_than_pending) return;
    add(Kind::kTooManyArrivals, a.arrival, Site{a.init, WarpId{a.barrier_rank, 0}});
  }

  void operator()(const cluster::MbarrierMisuse& m) { add(kind_of(m.kind), m.site, m.other); }

  void operator()(const cluster::OvertakenWait& o) { add(Kind::kWaitOvertaken, o.wait, o.by); }
  void operator()(const cluster::ParityOutOfRange& o) { add(Kind::kParity, o.wait); }
  void operator()(const cluster::BytesDiffer& b) { add(Kind::kBytes, b.announcement); }

  void operator()(const cluster::Hang& h) {
    const HangMeaning meaning = judge(h, view_.threads);
    if (const auto* open = std::get_if<warp::Uncertain>(&meaning)) {
      shown_.open.push_back(*open);
    } else if (std::holds_alternative<NeverSatisfied>(meaning)) {
      const Site& wait = h.blocked[h.waiter].site;
      add(Kind::kWaitNeverEnds, Site{h.init, wait.warp}, wait);
    }
  }

  void operator()(const cluster::OperationInFlight& o) {
    add(Kind::kExitInFlight, Site{o.exit, o.operation.warp}, o.operation);
  }

  void operator()(const cluster::LateReach& r) { add(Kind::kReachesExited, r.site, Site{r.exit, WarpId{r.target, 0}}); }

private:
  Problem& add(Kind kind, const Site& at, const Site& other) {
    Problem p;
    p.kind = kind;
    p.at = at.instruction;
    p.warp = at.warp;
    p.other = other.instruction;
    p.other_warp = other.warp;
    p.shown_by = &observed_;
    shown_.problems.push_back(p);
    return shown_.problems.back();
  }
  // About one warp alone.
  Problem& add(Kind kind, const Site& at, uint32_t other = kNone) { return add(kind, at, Site{other, at.warp}); }

  // `first_of_run`, `release` and `relaxed_wait` are the instructions that Blamed names.
  void add_pair(const Judgement& judgement, const Site& earlier, const Site& later, uint32_t first_of_run,
                uint32_t release, uint32_t relaxed_wait) {
    if (judgement.disorder == Disorder::kNone) return;
    const Kind kind = kind_of(judgement.disorder);
    switch (judgement.blamed) {
      case Blamed::kEarlier:
        add(kind, earlier, later).certain = judgement.certain;
        return;
      case Blamed::kFirstOfRun:
        add(kind, Site{first_of_run, earlier.warp}, later).certain = judgement.certain;
        return;
      case Blamed::kRelease:
        // Told of the warp that loads, which is the one that should have waited.
        add(kind, Site{release == kNone ? later.instruction : release, earlier.warp},
            Site{earlier.instruction, later.warp})
            .certain = judgement.certain;
        return;
      case Blamed::kLater:
        add(kind, later, earlier).certain = judgement.certain;
        return;
      case Blamed::kRelaxedWait:
        add(kind, Site{relaxed_wait, later.warp}, earlier).certain = judgement.certain;
        return;
    }
  }

  const cluster::Observed& observed_;
  const KernelView& view_;
  Shown& shown_;
};

}  // namespace

void add_problems_of(const cluster::Observed& observed, const KernelView& view, Shown& out) {
  Classifier(observed, view, out).run();
}

Shown problems_of(const cluster::Observed& observed, const KernelView& view) {
  Shown out;
  add_problems_of(observed, view, out);
  return out;
}

Traits traits_of(ProblemKind kind) {
  switch (kind) {
    case Kind::kOutOfBounds:
    case Kind::kDeallocAddress:
    case Kind::kDeallocExclusive:
    case Kind::kForeignDealloc:
    case Kind::kPermitKept:
    case Kind::kParity:
    case Kind::kManyIssuers:
    case Kind::kScalesOverwritten:
    case Kind::kNoFences:
      return {.of_one_warp = true};
    case Kind::kAllocSize:
    case Kind::kDeallocSize:
      return {.of_one_warp = true, .about_allocation = true};
    case Kind::kMaskWithoutPair:
      return {.of_one_warp = true, .about_pairs = true};
    case Kind::kAllocGrowing:
    case Kind::kLeftAllocated:
      return {.about_allocation = true};
    case Kind::kPeerInFlight:
    case Kind::kPeerLoadOrStore:
    case Kind::kIssuedTwice:
    case Kind::kWithoutPeer:
    case Kind::kPeerNotReady:
    case Kind::kInitUnfenced:
    case Kind::kPeerFreesLater:
    case Kind::kReachesExited:
      return {.about_pairs = true};
    case Kind::kUnallocated:
    case Kind::kUseAfterDealloc:
    case Kind::kUninitialized:
    case Kind::kFenceMissing:
    case Kind::kLoadNotWaited:
    case Kind::kStoreNotWaited:
    case Kind::kOverlap:
    case Kind::kNotComplete:
    case Kind::kUnordered:
    case Kind::kDeallocRace:
    case Kind::kSlotReadEarly:
    case Kind::kSlotOverwritten:
    case Kind::kAllocAfterRelinquish:
    case Kind::kNoRoom:
    case Kind::kSeveralWarps:
    case Kind::kDoubleDealloc:
    case Kind::kNeverFreed:
    case Kind::kCommitUnwaited:
    case Kind::kExitInFlight:
    case Kind::kProxyFence:
    case Kind::kOperandOverwritten:
    case Kind::kOperandEarly:
    case Kind::kTooManyArrivals:
    case Kind::kInitAgain:
    case Kind::kInitUnjoined:
    case Kind::kInvalInUse:
    case Kind::kWaitOvertaken:
    case Kind::kBytes:
    case Kind::kWaitNeverEnds:
      break;
  }
  return {};
}

}  // namespace tmemlint::rules
