// Which pairs of accesses are in order, as a table: a row for each outcome, and beside it those that differ in one
// field. Sections are those of PTX ISA 9.1.
#include "rules/ordering.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

namespace tmemlint {
namespace {

using cluster::AccessPair;
using cluster::FreePair;
using ptx::Tcgen05;
using ptx::TmemRole;
using rules::Blamed;
using rules::Disorder;
using rules::Judgement;

constexpr Judgement kFine = {};

// --- accesses ---

cluster::TmemUse load() {
  cluster::TmemUse u;
  u.op = Tcgen05::kLd;
  u.completion = ptx::Completion::kWaitLd;
  u.reads = true;
  return u;
}
cluster::TmemUse store() {
  cluster::TmemUse u;
  u.op = Tcgen05::kSt;
  u.completion = ptx::Completion::kWaitSt;
  u.writes = true;
  return u;
}
// What an mma does to its accumulator.
cluster::TmemUse mma(bool accumulates = true) {
  cluster::TmemUse u;
  u.op = Tcgen05::kMma;
  u.completion = ptx::Completion::kCommit;
  u.role = TmemRole::kAccumulator;
  u.reads = accumulates;
  u.writes = true;
  return u;
}
cluster::TmemUse mma_reads(TmemRole role) {
  cluster::TmemUse u = mma();
  u.role = role;
  u.writes = false;
  return u;
}
cluster::TmemUse copy() {
  cluster::TmemUse u;
  u.op = Tcgen05::kCp;
  u.completion = ptx::Completion::kCommit;
  u.writes = true;
  return u;
}

AccessPair pair(cluster::TmemUse earlier, cluster::TmemUse later) {
  AccessPair p;
  p.earlier = earlier;
  p.later = later;
  p.earlier_saw_a_write = true;
  return p;
}
AccessPair with(AccessPair p, const std::function<void(AccessPair&)>& change) {
  change(p);
  return p;
}
AccessPair in_one_warp(AccessPair p) {
  p.order.same_warp = p.order.same_lane = p.order.issued = p.order.issued_fenced = true;
  return p;
}
// Ordered between warps, but not known to be complete.
AccessPair issued(AccessPair p) {
  p.order.issued = p.order.issued_fenced = true;
  return p;
}
AccessPair complete(AccessPair p) {
  p = issued(p);
  p.order.complete = p.order.complete_fenced = p.order.complete_strict = true;
  return p;
}
// Over an mbarrier, with a relaxed wait or not.
AccessPair unfenced(AccessPair p, bool relaxed) {
  p.order.issued_fenced = p.order.complete_fenced = p.order.complete_strict = false;
  if (relaxed) p.relaxed_wait = 7;
  return p;
}

struct AccessRow {
  std::string name;
  AccessPair pair;
  Judgement expected;
};

// Changes of a field.
const auto pipelined = [](AccessPair& p) { p.order.pipelined = true; };
const auto other_lane = [](AccessPair& p) { p.order.same_lane = false; };
const auto saw_nothing = [](AccessPair& p) { p.earlier_saw_a_write = false; };
const auto knows_older = [](AccessPair& p) { p.later_knows_older_write = true; };
const auto across_ctas = [](AccessPair& p) { p.within_cta = false; };

std::vector<AccessRow> rows_of_hand_overs_and_pipelines() {
  return {
      // 9.7.16.6.4: a hand-over between threads. A relaxed operation needs the fences; others order by themselves, and
      // the ISA's patterns (9.7.16.6.4) have the fences all the same.
      {"handed over with fences", complete(pair(mma(), load())), kFine},
      {"handed over by a relaxed wait without fences",
       unfenced(complete(pair(mma(), load())), true),
       {Disorder::kFenceMissing, Blamed::kRelaxedWait}},
      {"handed over by a strong wait without fences",
       unfenced(complete(pair(mma(), load())), false),
       {Disorder::kNoFences, Blamed::kLater}},
      {"fenced as far as a relaxed wait needs it",
       with(unfenced(complete(pair(mma(), load())), true), [](AccessPair& p) { p.order.complete_fenced = true; }),
       {Disorder::kNoFences, Blamed::kLater}},
      {"complete in the warp itself", in_one_warp(unfenced(complete(pair(store(), load())), true)), kFine},
      {"a store handed over by a relaxed wait",
       unfenced(complete(pair(store(), mma())), true),
       {Disorder::kFenceMissing, Blamed::kRelaxedWait}},

      // 9.7.16.6.2: pairs that execute in the order of their issue, if one thread issues them.
      {"mma after mma of one thread", with(in_one_warp(pair(mma(), mma())), pipelined), kFine},
      {"mma after mma of another thread of the warp",
       with(with(in_one_warp(pair(mma(), mma())), pipelined), other_lane),
       {Disorder::kOverlap, Blamed::kLater}},
      {"mma after mma of another shape", in_one_warp(pair(mma(), mma())), {Disorder::kOverlap, Blamed::kLater}},
      {"store after store of the warp", with(with(in_one_warp(pair(store(), store())), pipelined), other_lane), kFine},
      {"mma after mma of another warp, ordered", with(issued(pair(mma(), mma())), pipelined), kFine},
      {"mma after mma of another warp, by a relaxed wait",
       unfenced(with(issued(pair(mma(), mma())), pipelined), true),
       {Disorder::kFenceMissing, Blamed::kRelaxedWait}},
      {"mma after mma of another warp, by a strong wait", unfenced(with(issued(pair(mma(), mma())), pipelined), false),
       kFine},
  };
}

std::vector<AccessRow> rows_of_missing_completion() {
  return {
      // 9.7.16.6.3: what completes a load and a store of the same warp, and of one that is ordered behind it.
      {"store after a load that is not waited for",
       in_one_warp(pair(load(), store())),
       {Disorder::kLoadNotWaited, Blamed::kRelease}},
      {"mma of another warp after a load", issued(pair(load(), mma())), {Disorder::kLoadNotWaited, Blamed::kRelease}},
      {"load after a store that is not waited for",
       in_one_warp(pair(store(), load())),
       {Disorder::kStoreNotWaited, Blamed::kEarlier}},
      {"mma of another warp after a store",
       issued(pair(store(), mma())),
       {Disorder::kStoreNotWaited, Blamed::kEarlier}},

      // 9.7.16.6.1 and 9.7.16.12: only a wait that observes a later commit tells that mma, cp and shift are complete.
      {"load after an mma, no commit observed",
       in_one_warp(pair(mma(), load())),
       {Disorder::kNotComplete, Blamed::kLater, true}},
      {"load of another warp after an mma, no commit observed",
       issued(pair(mma(), load())),
       {Disorder::kNotComplete, Blamed::kLater, true}},
      {"store over the A of an mma",
       in_one_warp(pair(mma_reads(TmemRole::kOperandA), store())),
       {Disorder::kNotComplete, Blamed::kLater, true}},
      {"cp over an accumulator", in_one_warp(pair(mma(), copy())), {Disorder::kOverlap, Blamed::kLater}},
      // 9.7.16.6.2 does not list a cp over the scale factors of an earlier mma; block-scaled kernels rely on it.
      {"cp over scale factors",
       in_one_warp(pair(mma_reads(TmemRole::kScale), copy())),
       {Disorder::kScalesOverwritten, Blamed::kLater}},
      {"cp over the metadata of a sparse mma",
       in_one_warp(pair(mma_reads(TmemRole::kMetadata), copy())),
       {Disorder::kScalesOverwritten, Blamed::kLater}},
      {"cp over the A of an mma",
       in_one_warp(pair(mma_reads(TmemRole::kOperandA), copy())),
       {Disorder::kOverlap, Blamed::kLater}},
      {"cp of another warp over scale factors",
       issued(pair(mma_reads(TmemRole::kScale), copy())),
       {Disorder::kOverlap, Blamed::kLater}},
      {"mma over scale factors",
       in_one_warp(pair(mma_reads(TmemRole::kScale), mma())),
       {Disorder::kOverlap, Blamed::kLater}},
  };
}

std::vector<AccessRow> rows_without_order() {
  return {
      // Nothing orders the two (9.7.16.6.4): which one has to wait follows from who saw what.
      {"a load beside a store", pair(store(), load()), {Disorder::kUnordered, Blamed::kLater, true}},
      {"a load that knows an older write beside the next one",
       with(pair(store(), load()), knows_older),
       {Disorder::kUnordered, Blamed::kFirstOfRun}},
      {"a store that knows an older write beside a store",
       with(pair(store(), store()), knows_older),
       {Disorder::kUnordered, Blamed::kLater}},
      {"a load beside the store that overwrites it", pair(load(), store()), {Disorder::kUnordered, Blamed::kLater}},
      {"a load that saw nothing beside the first store",
       with(pair(load(), store()), saw_nothing),
       {Disorder::kUnordered, Blamed::kEarlier, true}},
      {"a load that saw nothing beside the first mma",
       with(pair(load(), mma(false)), saw_nothing),
       {Disorder::kNotComplete, Blamed::kEarlier}},
      {"an mma that saw nothing beside the first cp",
       with(pair(mma_reads(TmemRole::kScale), copy()), saw_nothing),
       {Disorder::kUnordered, Blamed::kEarlier, true}},
      {"a load beside an mma", pair(mma(), load()), {Disorder::kNotComplete, Blamed::kLater}},
      {"a load that knows an older write beside an mma",
       with(pair(mma(), load()), knows_older),
       {Disorder::kUnordered, Blamed::kFirstOfRun}},
      {"two mma of two warps", pair(mma(false), mma(false)), {Disorder::kOverlap, Blamed::kLater}},
      {"two mma of two CTAs", with(pair(mma(false), mma(false)), across_ctas), {Disorder::kUnordered, Blamed::kLater}},
      {"an mma beside a load that saw a write", pair(load(), mma(false)), {Disorder::kUnordered, Blamed::kLater}},
      {"pipelined means nothing where nothing orders the two",
       with(pair(mma(false), mma(false)), pipelined),
       {Disorder::kOverlap, Blamed::kLater}},
  };
}

std::vector<AccessRow> access_rows() {
  std::vector<AccessRow> out;
  for (const auto& part : {rows_of_hand_overs_and_pipelines(), rows_of_missing_completion(), rows_without_order()}) {
    out.insert(out.end(), part.begin(), part.end());
  }
  return out;
}

void expect(const std::string& name, const Judgement& got, const Judgement& expected) {
  EXPECT_EQ(static_cast<int>(got.disorder), static_cast<int>(expected.disorder)) << name;
  EXPECT_EQ(static_cast<int>(got.blamed), static_cast<int>(expected.blamed)) << name;
  EXPECT_EQ(got.certain, expected.certain) << name;
}

TEST(Ordering, OfTwoAccesses) {
  for (const AccessRow& row : access_rows()) expect(row.name, rules::judge(row.pair), row.expected);
}

// --- frees ---

FreePair free_of(cluster::TmemUse access) {
  FreePair p;
  p.access = access;
  return p;
}
FreePair with(FreePair p, const std::function<void(FreePair&)>& change) {
  change(p);
  return p;
}

struct FreeRow {
  std::string name;
  FreePair pair;
  Judgement expected;
};

std::vector<FreeRow> free_rows() {
  const auto issued = [](FreePair& p) { p.order.issued = true; };
  const auto complete = [](FreePair& p) { p.order.issued = p.order.complete = true; };
  const auto pair_of_ctas = [](FreePair& p) { p.cta_group = 2; };
  const auto by_peer = [](FreePair& p) { p.cta_group = 2, p.peer_access = true; };
  const auto peer_columns = [](FreePair& p) { p.cta_group = 2, p.peer_access = p.peer_columns = true; };
  return {
      // 9.7.16.7.1: what a dealloc frees nobody uses any more.
      {"a complete mma", with(free_of(mma()), complete), kFine},
      {"an mma in flight", free_of(mma()), {Disorder::kNotComplete, Blamed::kLater}},
      {"an mma in flight that was issued before",
       with(free_of(mma()), issued),
       {Disorder::kNotComplete, Blamed::kLater}},
      {"a load of another warp", free_of(load()), {Disorder::kDeallocRace, Blamed::kLater}},
      {"a store of another warp", free_of(store()), {Disorder::kDeallocRace, Blamed::kLater}},
      // 9.7.16.6.3
      {"a load that is not waited for", with(free_of(load()), issued), {Disorder::kLoadNotWaited, Blamed::kRelease}},
      {"a load of the warp itself",
       with(free_of(load()), [](FreePair& p) { p.order.same_warp = true; }),
       {Disorder::kLoadNotWaited, Blamed::kRelease}},
      {"a store that is not waited for", with(free_of(store()), issued), {Disorder::kStoreNotWaited, Blamed::kEarlier}},
      // 9.7.16.5: with .cta_group::2 the columns of both CTAs are freed.
      {"an mma of the peer", with(free_of(mma()), by_peer), {Disorder::kPeerInFlight, Blamed::kLater}},
      {"a complete mma of the peer", with(with(free_of(mma()), by_peer), complete), kFine},
      {"an mma of the pair in the peer's columns",
       with(free_of(mma()), peer_columns),
       {Disorder::kPeerInFlight, Blamed::kLater}},
      {"a load of the peer's columns",
       with(free_of(load()), peer_columns),
       {Disorder::kPeerLoadOrStore, Blamed::kLater}},
      {"a store of the peer's columns, issued before",
       with(with(free_of(store()), peer_columns), issued),
       {Disorder::kPeerLoadOrStore, Blamed::kLater}},
      {"a load by the peer", with(free_of(load()), by_peer), kFine},
      {"an mma of the own CTA of a pair", with(free_of(mma()), pair_of_ctas), {Disorder::kNotComplete, Blamed::kLater}},
      {"a load in the own CTA of a pair",
       with(free_of(load()), pair_of_ctas),
       {Disorder::kDeallocRace, Blamed::kLater}},
  };
}

TEST(Ordering, OfAnAccessAndADealloc) {
  for (const FreeRow& row : free_rows()) expect(row.name, rules::judge(row.pair), row.expected);
}

TEST(Ordering, EachOutcomeHasARow) {
  std::vector<bool> seen(static_cast<size_t>(Disorder::kPeerLoadOrStore) + 1, false);
  for (const AccessRow& row : access_rows()) seen[static_cast<size_t>(row.expected.disorder)] = true;
  for (const FreeRow& row : free_rows()) seen[static_cast<size_t>(row.expected.disorder)] = true;
  for (size_t n = 0; n < seen.size(); ++n) EXPECT_TRUE(seen[n]) << n;
}

// 9.7.16.7.1: sizes in execution order.
TEST(Ordering, SizesOfAllocs) {
  EXPECT_TRUE(rules::may_grow(32, 64, true));
  EXPECT_FALSE(rules::may_grow(64, 32, true));
  EXPECT_FALSE(rules::may_grow(64, 64, true));
  EXPECT_TRUE(rules::may_grow(32, 64, false));
  EXPECT_TRUE(rules::may_grow(64, 32, false));
  EXPECT_FALSE(rules::may_grow(64, 64, false));
}

}  // namespace
}  // namespace tmemlint
