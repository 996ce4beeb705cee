// From observations to problems: which one each observation shows, what is made of those of several scenarios, which
// one yields to which.
#include "rules/problems.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "rules/hang.h"
#include "rules/precedence.h"

namespace tmemlint {
namespace {

using cluster::Observed;
using cluster::Site;
using cluster::WarpId;
using rules::End;
using rules::Precedence;
using rules::Problem;
using rules::Problems;
using testing::ElementsAre;
using testing::IsEmpty;
using Kind = rules::ProblemKind;

// Instructions of the tests are numbers; allocs of more than 512 columns are not legal.
rules::KernelView view() {
  rules::KernelView v;
  v.is_legal = [](const cluster::AllocRequest& r) { return r.columns <= 512; };
  v.threads = 128;
  return v;
}

Site site(uint32_t instruction, uint32_t warp = 0, uint32_t rank = 0) {
  return {instruction, {rank, warp}};
}

std::vector<Kind> kinds(const std::vector<Problem>& problems) {
  std::vector<Kind> out;
  for (const Problem& p : problems) out.push_back(p.kind);
  return out;
}

std::vector<Problem> shown(cluster::Observation what) {
  Observed o;
  o.what = std::move(what);
  return rules::problems_of(o, view()).problems;
}

// The one problem that an observation shows, as kind, instructions and warps.
void expect_one(cluster::Observation what, Kind kind, const Site& at, const Site& other) {
  const std::vector<Problem> all = shown(std::move(what));
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(static_cast<int>(all[0].kind), static_cast<int>(kind));
  EXPECT_EQ(all[0].at, at.instruction);
  EXPECT_EQ(all[0].warp, at.warp);
  EXPECT_EQ(all[0].other, other.instruction);
  EXPECT_EQ(all[0].other_warp, other.warp);
}

// --- what an observation shows ---

cluster::AccessPair store_beside_load() {
  cluster::AccessPair p;
  p.earlier.site = site(1, 2);
  p.earlier.completion = ptx::Completion::kWaitSt;
  p.earlier.writes = true;
  p.later.site = site(5, 3);
  p.later.completion = ptx::Completion::kWaitLd;
  p.later.reads = true;
  return p;
}

TEST(ProblemsOf, TwoAccessesAreToldWhereTheWaitIsMissing) {
  cluster::AccessPair p = store_beside_load();
  expect_one(p, Kind::kUnordered, site(5, 3), site(1, 2));
  p.later_knows_older_write = true;
  p.first_of_run = 4;
  expect_one(p, Kind::kUnordered, site(4, 2), site(5, 3));
  p.order.issued = true;
  expect_one(p, Kind::kStoreNotWaited, site(1, 2), site(5, 3));
  p.order.complete = true;
  p.relaxed_wait = 9;
  expect_one(p, Kind::kFenceMissing, site(9, 3), site(1, 2));
  p.order.complete_fenced = p.order.complete_strict = true;
  EXPECT_THAT(shown(p), IsEmpty());
}

TEST(ProblemsOf, ALoadIsToldOfItsWarpWhereThatLetsOthersGoOn) {
  cluster::FreePair p;
  p.free = site(8, 0);
  p.access.site = site(3, 1);
  p.access.completion = ptx::Completion::kWaitLd;
  p.order.issued = true;
  expect_one(p, Kind::kLoadNotWaited, site(8, 1), site(3, 0));
  p.release.instruction = 6;
  expect_one(p, Kind::kLoadNotWaited, site(6, 1), site(3, 0));
}

TEST(ProblemsOf, AStrayAccessIsOutOfBoundsOnlyWhereSomethingIsAllocated) {
  cluster::StrayAccess s;
  s.access = site(4);
  expect_one(s, Kind::kUnallocated, site(4), site(rules::kNone));
  s.any_live = true;
  expect_one(s, Kind::kOutOfBounds, site(4), site(rules::kNone));
  s.alloc = 1;
  expect_one(s, Kind::kOutOfBounds, site(4), site(1));
}

TEST(ProblemsOf, AnAccessOfFreedColumnsIsTheDeallocsFaultWhereNothingOrdersThem) {
  expect_one(cluster::FreedAccess{site(4, 1), site(7, 0), true}, Kind::kUseAfterDealloc, site(4, 1), site(7, 0));
  expect_one(cluster::FreedAccess{site(4, 1), site(7, 0), false}, Kind::kDeallocRace, site(7, 0), site(4, 1));
}

TEST(ProblemsOf, ALoopThatNeverRanMakesAReadLessSure) {
  cluster::UnwrittenRead r;
  r.access = site(4);
  r.alloc = 1;
  EXPECT_FALSE(shown(r)[0].zero_trips);
  r.loop_never_ran = true;
  EXPECT_TRUE(shown(r)[0].zero_trips);
}

TEST(ProblemsOf, ADeallocMayHaveSeveral) {
  cluster::Free f;
  f.site = site(9, 1);
  f.alloc = 2;
  f.at_start = true;
  f.columns = f.alloc_columns = 64;
  f.allocator = {0, 1};
  EXPECT_THAT(shown(f), IsEmpty());
  f.columns = 32;
  f.alloc_exclusive = true;
  f.allocator = {0, 0};
  EXPECT_THAT(kinds(shown(f)), ElementsAre(Kind::kDeallocSize, Kind::kDeallocExclusive, Kind::kForeignDealloc));
  // What was freed before is not judged once more.
  f.freed_before = site(8, 1);
  expect_one(f, Kind::kDoubleDealloc, site(9, 1), site(8, 1));
  f.freed_before = site(9, 0);
  expect_one(f, Kind::kSeveralWarps, site(9, 1), site(rules::kNone, 0));
  f.freed_before = site(9, 1);
  expect_one(f, Kind::kDoubleDealloc, site(9, 1), site(9, 1));
  f.at_start = false;
  expect_one(f, Kind::kDeallocAddress, site(9, 1), site(2, 1));
}

TEST(ProblemsOf, TheLargerAllocIsTheOneThatComesTooLate) {
  cluster::AllocPair p;
  p.earlier = site(1, 0);
  p.later = site(2, 1);
  p.earlier_columns = 64;
  p.later_columns = 128;
  expect_one(p, Kind::kAllocGrowing, site(2, 1), site(1, 0));
  p.later_columns = 32;
  expect_one(p, Kind::kAllocGrowing, site(1, 0), site(2, 1));
  p.ordered = true;
  EXPECT_THAT(shown(p), IsEmpty());
}

TEST(ProblemsOf, AMaskNamesBothCtasOfTheIssuingPair) {
  EXPECT_THAT(shown(cluster::CommitMask{site(1, 0, 2), 0xc}), IsEmpty());
  EXPECT_THAT(shown(cluster::CommitMask{site(1, 0, 3), 0xf}), IsEmpty());
  EXPECT_THAT(kinds(shown(cluster::CommitMask{site(1, 0, 3), 0x3})), ElementsAre(Kind::kMaskWithoutPair));
  EXPECT_THAT(kinds(shown(cluster::CommitMask{site(1, 0, 0), 0x1})), ElementsAre(Kind::kMaskWithoutPair));
}

// --- hangs ---

cluster::Hang hang() {
  cluster::Hang h;
  h.blocked = {{site(3, 1), cluster::WaitKind::kNamedBarrier}, {site(4, 2), cluster::WaitKind::kMbarrier}};
  h.has_barrier = true;
  h.waiter = 1;
  h.init = 1;
  h.count = 2;
  h.ctas = 2;
  return h;
}

struct HangRow {
  std::string name;
  std::function<void(cluster::Hang&)> change;
  uint32_t at;         // of the open question; kNone: none
  std::string reason;  // a part of it
  bool finding;
};

TEST(Hangs, AreFindingsOnlyWhereNothingIsAssumed) {
  constexpr uint32_t kNothing = rules::kNone;
  const std::vector<HangRow> rows = {
      {"a finding", [](auto&) {}, kNothing, "", true},
      {"an unusual way", [](auto& h) { h.policy_may_cause_it = true; }, kNothing, "", false},
      {"an unusual way and guessed data", [](auto& h) { h.policy_may_cause_it = h.guessed_data = true; }, 3,
       "in a scenario that guesses what is not known", false},
      {"lanes wait for their own warp alone", [](auto& h) { h.blocked.clear(), h.has_barrier = false; }, kNothing, "",
       false},
      {"an mbarrier without init", [](auto& h) { h.blocked[0].kind = cluster::WaitKind::kMbarrierInit; }, 3,
       "not seen to be initialised", false},
      {"an assumed cluster", [](auto& h) { h.cluster_is_guess = true; }, 4, "in a cluster of 2 CTAs", false},
      {"an assumed cluster at a named barrier", [](auto& h) { h.cluster_is_guess = true, h.has_barrier = false; }, 3,
       "this wait is never satisfied", false},
      {"an assumed block", [](auto& h) { h.block_is_guess = true; }, 4, "in a CTA of 128 threads", false},
      {"an assumed block at a named barrier", [](auto& h) { h.block_is_guess = true, h.has_barrier = false; }, 3,
       "in a CTA of 128 threads", false},
      {"guessed data", [](auto& h) { h.guessed_data = true; }, 3, "guesses what is not known", false},
      {"a named barrier", [](auto& h) { h.has_barrier = false; }, 3, "this wait is never satisfied", false},
  };
  for (const HangRow& row : rows) {
    cluster::Hang h = hang();
    row.change(h);
    const rules::HangMeaning meaning = rules::judge(h, 128);
    EXPECT_EQ(std::holds_alternative<rules::NeverSatisfied>(meaning), row.finding) << row.name;
    const auto* open = std::get_if<warp::Uncertain>(&meaning);
    ASSERT_EQ(open != nullptr, row.at != kNothing) << row.name;
    if (open == nullptr) continue;
    EXPECT_EQ(open->instruction, row.at) << row.name;
    EXPECT_THAT(open->reason, testing::HasSubstr(row.reason)) << row.name;
  }
  cluster::Hang alone = hang();
  alone.cluster_is_guess = true;
  alone.ctas = 1;
  EXPECT_TRUE(std::holds_alternative<rules::NeverSatisfied>(rules::judge(alone, 128)));
  alone.multicast = true;
  const rules::HangMeaning meaning = rules::judge(alone, 128);
  ASSERT_TRUE(std::holds_alternative<warp::Uncertain>(meaning));
  EXPECT_THAT(std::get<warp::Uncertain>(meaning).reason, testing::HasSubstr("may multicast to it"));
}

TEST(Hangs, AreToldAtTheInitOfTheMbarrier) {
  expect_one(hang(), Kind::kWaitNeverEnds, site(1, 2), site(4, 2));
}

// --- a whole run ---

class Runs : public testing::Test {
protected:
  cluster::Scenario& scenario() {
    joint_.scenarios.emplace_back();
    joint_.scenarios.back().decisions = {{50, true}, {51, false}};
    return joint_.scenarios.back();
  }
  Observed& see(cluster::Observation what) {
    Observed o;
    o.what = std::move(what);
    o.scenario = static_cast<uint32_t>(joint_.scenarios.size() - 1);
    joint_.observed.push_back(std::move(o));
    return joint_.observed.back();
  }
  const Problems& found() {
    found_ = rules::find_problems(joint_, view_);
    return found_;
  }
  std::vector<Kind> found_kinds() { return kinds(found().all); }

  cluster::Joint joint_;
  rules::KernelView view_ = view();
  Problems found_;
};

cluster::UnwrittenRead unwritten(uint32_t instruction, bool loop_never_ran = false) {
  cluster::UnwrittenRead r;
  r.access = site(instruction);
  r.alloc = 1;
  r.loop_never_ran = loop_never_ran;
  return r;
}

TEST_F(Runs, WhatSeveralScenariosShowIsOneProblemOfTheFirst) {
  scenario();
  see(cluster::ManyIssuers{site(4, 1), 3}).decided = 1;
  see(cluster::ManyIssuers{site(4, 2), 3});
  scenario();
  see(cluster::ManyIssuers{site(4, 3), 3});
  const Problems& all = found();
  ASSERT_EQ(all.all.size(), 1u);
  EXPECT_EQ(all.all[0].warp, (WarpId{0, 1}));
  ASSERT_EQ(all.all[0].decisions.size(), 1u);
  EXPECT_EQ(all.all[0].decisions[0].instruction, 50u);
}

TEST_F(Runs, AScenarioInWhichALoopRunsIsEasierToBelieve) {
  scenario();
  see(unwritten(4, true));
  see(unwritten(5, true));
  scenario();
  see(unwritten(4));
  const Problems& all = found();
  ASSERT_EQ(all.all.size(), 2u);
  EXPECT_EQ(all.all[0].at, 4u);
  EXPECT_FALSE(all.all[0].zero_trips);
  EXPECT_TRUE(all.all[1].zero_trips);
}

TEST_F(Runs, OneHandOverWithoutFencesSaysItForAll) {
  cluster::AccessPair p = store_beside_load();
  p.order.issued = p.order.complete = p.order.complete_fenced = true;
  scenario();
  see(p);
  scenario();
  p.later.site = site(6, 1);
  see(p);
  EXPECT_THAT(found_kinds(), ElementsAre(Kind::kNoFences));
}

TEST_F(Runs, AnAllocThatAsksForMoreThanSeveralIsOneProblem) {
  scenario();
  cluster::AllocPair p;
  p.earlier = site(1);
  p.later = site(3);
  p.earlier_columns = 64;
  p.later_columns = 128;
  p.ordered = true;
  see(p);
  p.earlier = site(2);
  see(p);
  EXPECT_THAT(found_kinds(), ElementsAre(Kind::kAllocGrowing));
}

TEST_F(Runs, ACtaThatIsLetDoNothingShowsOnlyWhatItHolds) {
  const auto run = [&](bool usual) {
    joint_ = {};
    cluster::Scenario& s = scenario();
    s.idle = true;
    s.usual = usual;
    see(cluster::PermitKept{site(1)});
    see(cluster::AllocRequest{site(1), 600});
    return found_kinds();
  };
  EXPECT_THAT(run(true), ElementsAre(Kind::kPermitKept, Kind::kAllocSize));
  EXPECT_THAT(run(false), ElementsAre(Kind::kAllocSize));
}

TEST_F(Runs, WhatOnlyContradictingGuessesShowIsAQuestion) {
  cluster::AccessPair p = store_beside_load();
  scenario();
  see(p).doubtful = true;
  see(cluster::ManyIssuers{site(7), 3}).doubtful = true;  // there whatever the other warps do
  EXPECT_THAT(found_kinds(), ElementsAre(Kind::kManyIssuers));
  ASSERT_EQ(found().open.size(), 1u);
  EXPECT_EQ(found_.open[0].instruction, 5u);
  EXPECT_EQ(found_.asked, 0u);
  // Another scenario shows it without them.
  scenario();
  see(p);
  EXPECT_THAT(found_kinds(), ElementsAre(Kind::kManyIssuers, Kind::kUnordered));
  EXPECT_THAT(found_.open, IsEmpty());
}

TEST_F(Runs, AQuestionIsToldOnceAndCountedAsOftenAsItIsAsked) {
  cluster::Hang h = hang();
  h.guessed_data = true;
  for (int n = 0; n < 2; ++n) {
    scenario();
    see(h);
  }
  EXPECT_THAT(found().all, IsEmpty());
  EXPECT_EQ(found_.open.size(), 1u);
  EXPECT_EQ(found_.asked, 2u);
}

TEST_F(Runs, AnArrivalIsExcusedWhereRoundsCannotBeTold) {
  const auto run = [&](const std::function<void(cluster::Arrival&)>& change) {
    joint_ = {};
    scenario();
    cluster::Arrival a;
    a.arrival = site(4);
    a.init = 1;
    a.knows_last_round = false;
    a.barrier_is_waited_for = true;
    change(a);
    see(a);
    return found_kinds();
  };
  EXPECT_THAT(run([](auto&) {}), ElementsAre(Kind::kTooManyArrivals));
  EXPECT_THAT(run([](auto& a) { a.knows_last_round = true; }), IsEmpty());
  EXPECT_THAT(run([](auto& a) { a.barrier_is_waited_for = false; }), IsEmpty());
  EXPECT_THAT(run([](auto& a) { a.own_cta_waits_for_copies_from_afar = true; }), ElementsAre(Kind::kTooManyArrivals));
  EXPECT_THAT(run([](auto& a) { a.own_cta_waits_for_copies_from_afar = true, a.barrier_rank = 1; }), IsEmpty());
  EXPECT_THAT(run([](auto& a) {
                a.knows_last_round = a.more_than_pending = true;
                a.barrier_is_waited_for = false;
              }),
              ElementsAre(Kind::kTooManyArrivals));
}

TEST_F(Runs, ACommitNeedsAWaitUnlessALaterOneOfItsThreadHasOne) {
  // Each of one thread, in that order; `waited`: the mbarriers that are waited for.
  const auto run = [&](std::vector<std::pair<uint32_t, uint32_t>> commits, std::set<uint32_t> waited) {
    joint_ = {};
    cluster::Scenario& s = scenario();
    s.complete = true;
    s.waited = std::move(waited);
    for (const auto& [instruction, barrier] : commits) s.commits.push_back({site(instruction), 0, {barrier}, true});
    std::vector<uint32_t> out;
    for (const Problem& p : found().all) out.push_back(p.at);
    return out;
  };
  EXPECT_THAT(run({{1, 10}}, {}), ElementsAre(1u));
  EXPECT_THAT(run({{1, 10}}, {10}), IsEmpty());
  EXPECT_THAT(run({{1, 10}, {2, 20}}, {20}), IsEmpty());
  EXPECT_THAT(run({{1, 10}, {2, 20}}, {10}), ElementsAre(2u));
  // A stage that is filled again: somebody should have waited.
  EXPECT_THAT(run({{1, 10}, {1, 10}, {2, 20}}, {20}), ElementsAre(1u));
  joint_.scenarios[0].stopped = true;
  EXPECT_THAT(found().all, IsEmpty());
}

TEST_F(Runs, NeverFreedIsWhatNoReliableScenarioFrees) {
  scenario().left_live = {3};
  scenario().left_live = {3, 4};
  scenario().freed = {4};
  cluster::Scenario& s = scenario();
  s.left_live = {3};
  s.contradictory = true;
  const Problems& all = found();
  ASSERT_THAT(kinds(all.all), ElementsAre(Kind::kNeverFreed));
  EXPECT_EQ(all.all[0].at, 3u);
  EXPECT_EQ(all.all[0].scenarios, 2u);
}

TEST_F(Runs, ALeakOfAContradictingScenarioIsNone) {
  cluster::Free foreign;
  foreign.site = site(9, 1);
  foreign.alloc = 1;
  foreign.at_start = true;
  foreign.allocator = {0, 0};
  scenario();
  see(foreign);
  scenario();
  see(cluster::LeftAllocated{site(1)});
  EXPECT_THAT(found_kinds(), ElementsAre(Kind::kForeignDealloc, Kind::kLeftAllocated));
  joint_.scenarios[1].contradictory = true;
  EXPECT_THAT(found_kinds(), ElementsAre(Kind::kForeignDealloc));
}

// --- precedence ---

Problem problem(Kind kind, uint32_t at, uint32_t other = rules::kNone) {
  Problem p;
  p.kind = kind;
  p.at = at;
  p.other = other;
  p.certain = true;
  return p;
}

// A problem that meets others at `place`.
Problem meeting_at(Kind kind, End end, uint32_t place) {
  switch (end) {
    case End::kAt:
      return problem(kind, place, place + 1);
    case End::kOther:
      return problem(kind, place + 2, place);
    case End::kBoth:
      break;
  }
  return problem(kind, place, place + 3);
}

std::vector<Kind> left_of(std::vector<Problem> problems, bool mixes_groups = false) {
  rules::drop_consequences(problems, mixes_groups);
  return kinds(problems);
}

// Each row by itself: the problem that yields (or needs another one), that other one, and one that is elsewhere.
TEST(Precedences, EachRowDropsWhatMeetsTheOther) {
  for (const Precedence& row : rules::precedences()) {
    const Kind kind = row.kind.value_or(Kind::kUnordered);
    Problem p = meeting_at(kind, row.end, 10);
    p.certain = p.certain && !row.unless_certain;
    const Problem here = meeting_at(row.of, row.of_end, 10);
    const Problem elsewhere = meeting_at(row.of, row.of_end, 30);
    const bool yields = row.relation == Precedence::Relation::kYields;
    if (yields) {
      EXPECT_THAT(left_of({p, here}), ElementsAre(row.of)) << row.why;
      EXPECT_THAT(left_of({here, p}), ElementsAre(row.of)) << row.why;
      // A leak needs a dealloc of another warp besides.
      if (kind != Kind::kLeftAllocated) {
        EXPECT_THAT(left_of({p, elsewhere}), ElementsAre(kind, row.of)) << row.why;
      }
    } else {
      EXPECT_THAT(left_of({p, here}), ElementsAre(kind, row.of)) << row.why;
      EXPECT_THAT(left_of({p, elsewhere}), ElementsAre(row.of)) << row.why;
    }
    if (row.only_certain) {
      Problem uncertain = here;
      uncertain.certain = false;
      EXPECT_THAT(left_of({p, uncertain}), ElementsAre(kind, row.of)) << row.why;
    }
    if (row.unless_certain) {
      Problem certain = p;
      certain.certain = true;
      EXPECT_THAT(left_of({certain, here}), testing::Contains(kind)) << row.why;
    }
    EXPECT_FALSE(row.why.empty());
  }
}

TEST(Precedences, TheSameTwoAccessesInEitherOrder) {
  const Problem complete = problem(Kind::kNotComplete, 1, 2);
  const auto unordered = [](uint32_t at, uint32_t other) {
    Problem p = problem(Kind::kUnordered, at, other);
    p.certain = false;
    return p;
  };
  EXPECT_THAT(left_of({unordered(2, 1), complete}), ElementsAre(Kind::kNotComplete));
  EXPECT_THAT(left_of({unordered(1, 3), complete}), ElementsAre(Kind::kUnordered, Kind::kNotComplete));
}

TEST(Precedences, ALeakThatAnotherWarpFreesYieldsToSeveralWarps) {
  const Problem leak = problem(Kind::kLeftAllocated, 1);
  const Problem foreign = problem(Kind::kForeignDealloc, 5, 1);
  EXPECT_THAT(left_of({leak, foreign}), ElementsAre(Kind::kLeftAllocated, Kind::kForeignDealloc));
  EXPECT_THAT(left_of({leak, foreign, problem(Kind::kSeveralWarps, 1)}),
              ElementsAre(Kind::kForeignDealloc, Kind::kSeveralWarps));
}

TEST(Precedences, NothingAboutPairsWhereGroupsAreMixed) {
  const std::vector<Problem> all = {problem(Kind::kIssuedTwice, 1), problem(Kind::kNotComplete, 1, 2),
                                    problem(Kind::kPeerNotReady, 3), problem(Kind::kUnordered, 4, 5)};
  EXPECT_THAT(left_of(all), ElementsAre(Kind::kIssuedTwice, Kind::kPeerNotReady, Kind::kUnordered));
  // What followed from it is gone all the same.
  EXPECT_THAT(left_of(all, true), ElementsAre(Kind::kUnordered));
}

}  // namespace
}  // namespace tmemlint
