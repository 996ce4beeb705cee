// The kinds of mutations, and for each which rules a person would accept for it.
//
// The first rule of a kind is the one the table counts it under. A rule is accepted beside it only where the mutant
// really is that fault as well: where the missing step has two names (a free that no join orders is a dealloc race, and
// with a load of the freeing warp itself pending it is a missing wait), or where it depends on the kernel which comes
// first. Where the mutant knows more than its kind, it carries a narrower list of its own (`accept`).
#include "tests/seeded/mutants.h"

namespace tmemlint::seeded {

// Long because it is a table, a row for each kind.
const std::vector<KindInfo>& kinds() {
  static const std::vector<KindInfo> kKinds = {
      {Kind::kDropWaitLd,
       "drop-wait-ld",
       "a tcgen05.wait::ld is gone",
       {"tmem-missing-wait-ld", "tmem-dealloc-race", "tmem-handoff-race"},
       "the columns are handed over or freed with the load pending, which is a race with whoever gets them"},
      {Kind::kDropWaitSt,
       "drop-wait-st",
       "a tcgen05.wait::st is gone",
       {"tmem-missing-wait-st", "tmem-handoff-race"},
       "data that is published before it is written is a hand-off race as well"},
      {Kind::kDropBarrier,
       "drop-barrier",
       "a bar.sync is gone",
       {"tmem-handoff-race", "tmem-dealloc-race", "tmem-slot-race"},
       "each mutant carries the rules of what the barrier orders: slot, columns or release, free"},
      {Kind::kDropMbarrierWait,
       "drop-mbarrier-wait",
       "the wait on an mbarrier always succeeds",
       {"tmem-mma-completion", "tmem-handoff-race"},
       "each mutant carries the rules of what arrives there: a commit or another warp"},
      {Kind::kDropClusterBarrier,
       "drop-cluster-barrier",
       "a cluster barrier, arrive and wait, is gone",
       {"tmem-pair-alloc-join", "tmem-pair-dealloc-join", "tmem-cluster-exit", "tmem-slot-race", "tmem-dealloc-race"},
       "a cluster barrier also joins the warps of each CTA: the slot before the kernel's work, the free after it"},
      {Kind::kDropDealloc, "drop-dealloc", "a dealloc is gone", {"tmem-missing-dealloc"}, ""},
      {Kind::kDropCommit,
       "drop-commit",
       "a commit is gone",
       {"tmem-mma-completion", "tmem-mbarrier-count", "tmem-exit-in-flight", "tmem-commit-unwaited",
        "tmem-handoff-race"},
       "nothing observes the operations before it, and the round of its mbarrier lacks an arrival"},
      {Kind::kDropArrive,
       "drop-arrive",
       "an mbarrier.arrive is gone",
       {"tmem-mbarrier-count", "tmem-handoff-race"},
       "the round lacks an arrival; where another arrival completes it, its data is not handed over"},
      {Kind::kEarlyRelease,
       "early-release",
       "an arrive stands before the access that it releases",
       {"tmem-handoff-race", "tmem-missing-wait-ld", "tmem-missing-wait-st", "tmem-async-overlap",
        "tmem-mma-completion"},
       "released before the access or before its wait; the next owner's mma or cp then overlaps it"},
      {Kind::kAllocNotPower,
       "alloc-96",
       "an alloc asks for 96 columns",
       {"tmem-alloc-size", "tmem-instruction-form"},
       "an immediate is rejected as a form too"},
      {Kind::kDeallocOtherSize,
       "dealloc-other-size",
       "a dealloc frees another number of columns than were allocated",
       {"tmem-dealloc-mismatch", "tmem-missing-dealloc"},
       "what is not freed leaks"},
      {Kind::kAllocTooSmall,
       "alloc-too-small",
       "alloc and dealloc use half of the columns, fewer than are accessed",
       {"tmem-column-bounds", "tmem-use-unallocated"},
       "columns behind the allocation are not allocated"},
      {Kind::kOtherCtaGroup, "other-cta-group", "one instruction has the other .cta_group", {"tmem-cta-group"}, ""},
      {Kind::kOtherLane, "other-lane", "an ld or st is at lanes 16 or 32 further on", {"tmem-lane-window"}, ""},
      {Kind::kOtherColumn,
       "other-column",
       "an access is behind the allocation, or 512 columns further on",
       {"tmem-column-bounds", "tmem-use-unallocated"},
       "columns behind the allocation are not allocated"},
      {Kind::kLaneGuard,
       "lane-guard",
       "a warp-collective instruction runs in lane 0 only",
       {"tmem-warp-collective"},
       ""},
      {Kind::kEveryWarp,
       "every-warp",
       "the guard that selects the warp of an alloc or dealloc is gone",
       {"tmem-one-warp", "tmem-double-dealloc", "tmem-dealloc-race", "tmem-slot-race"},
       "the second warp's dealloc frees again, and the fastest one's is not joined; the second alloc overwrites the "
       "slot"},
      {Kind::kFreeEarly,
       "free-early",
       "a dealloc stands before the last join or the last access",
       {"tmem-dealloc-race", "tmem-use-after-dealloc", "tmem-missing-wait-ld", "tmem-mma-completion",
        "tmem-pair-dealloc-join"},
       "before a join it races, before an access of the same warp it is used after the free, before the wait a load is "
       "pending"},
      {Kind::kAllocAfterRelinquish,
       "alloc-after-relinquish",
       "the permit is given up before an alloc",
       {"tmem-alloc-after-relinquish"},
       ""},
      {Kind::kDoubleDealloc,
       "double-dealloc",
       "a dealloc is executed twice",
       {"tmem-double-dealloc", "tmem-dealloc-mismatch"},
       "the second frees what no alloc returned"},
      {Kind::kEveryLane,
       "every-lane",
       "the election before an mma, cp or commit is gone",
       {"tmem-single-thread", "tmem-mbarrier-count"},
       "a commit by 32 lanes arrives 32 times"},
      {Kind::kDropProxyFence, "drop-proxy-fence", "a fence.proxy.async is gone", {"tmem-proxy-fence"}, ""},
      {Kind::kOtherCount,
       "other-count",
       "an mbarrier is initialised with another count",
       {"tmem-mbarrier-count", "tmem-handoff-race", "tmem-mma-completion", "tmem-mbarrier-phase"},
       "with a smaller count a wait returns before everything arrived, with a larger one it never does"},
      {Kind::kGrowingAlloc,
       "growing-alloc",
       "a smaller allocation, freed at once, comes before an alloc",
       {"tmem-alloc-growing"},
       ""},
      {Kind::kIllegalShape,
       "illegal-shape",
       "M = 192 in an instruction descriptor, or a vector of another length",
       {"tmem-descriptor", "tmem-instruction-form"},
       "each mutant carries the one that applies"},
      {Kind::kOtherShape,
       "other-shape",
       "one mma of a chain has half of the columns",
       {"tmem-async-overlap", "tmem-mma-completion"},
       "the chain is no longer a pipelined pair and nothing completes between"},
      {Kind::kNoFirstWrite, "no-first-write", "the first mma of a chain accumulates", {"tmem-uninitialized"}, ""},
      {Kind::kPairCluster, "pair-cluster", "a pair kernel states a cluster of 3", {"tmem-pair-cluster"}, ""},
      {Kind::kPairMask,
       "pair-mask",
       "a multicast mask leaves out a CTA of the pair",
       {"tmem-pair-mask", "tmem-mbarrier-count", "tmem-mma-completion"},
       "the barrier of the CTA that is left out never completes a round"},
      {Kind::kPairLeader,
       "pair-leader",
       "both CTAs of a pair issue",
       {"tmem-pair-leader", "tmem-mbarrier-count", "tmem-async-overlap", "tmem-mma-completion"},
       "two issuers arrive twice and work on the same columns unordered"},
      {Kind::kDropFence, "drop-fence", "a tcgen05.fence is gone", {"tmem-missing-fence"}, ""},
  };
  return kKinds;
}

const KindInfo& info(Kind kind) {
  return kinds()[static_cast<size_t>(kind)];
}

std::string_view verdict_name(Verdict verdict) {
  switch (verdict) {
    case Verdict::kSeeded:
      return "seeded";
    case Verdict::kAllowed:
      return "allowed";
    case Verdict::kOutside:
      return "outside";
    case Verdict::kNotMade:
      return "not made";
  }
  return "";
}

}  // namespace tmemlint::seeded
