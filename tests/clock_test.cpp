// What warps know of each other, and barriers as the joint run keeps them.
#include "analyzer/cluster/clock.h"

#include <gtest/gtest.h>

#include "analyzer/cluster/barriers.h"

namespace tmemlint::cluster {
namespace {

TEST(Clock, KnowsWhatCameBefore) {
  Clock a(3);
  Clock b(3);
  EXPECT_EQ(a.tick(0), 1u);
  EXPECT_EQ(a.tick(0), 2u);
  b.tick(1);
  EXPECT_FALSE(b.knows(0, 1));
  b.join(a);  // warp 1 waits for warp 0
  a.tick(0);
  EXPECT_TRUE(b.knows(0, 2));
  EXPECT_FALSE(b.knows(0, 3));
  EXPECT_FALSE(a.knows(1, 1));  // and not the other way round
  // Through a third one.
  Clock c(3);
  c.join(b);
  EXPECT_TRUE(c.knows(0, 2));
  EXPECT_TRUE(c.knows(1, 1));
}

TEST(Clock, JoiningForgetsNothing) {
  Clock a(2);
  Clock b(2);
  a.tick(0);
  a.tick(0);
  b.join(a);
  a.tick(0);
  Clock old(2);
  old.tick(0);
  b.join(old);
  EXPECT_EQ(b.event(0), 2u);
}

TEST(Clock, AnIssueIsNotACompletion) {
  // Who knows that a commit was issued does not know that it has arrived.
  Clock a(2);
  Clock b(2);
  a.tick(0);
  b.join(a);
  EXPECT_TRUE(b.knows(0, 1));
  EXPECT_FALSE(b.knows_commit({0, 1}));
  b.see_commit({0, 2});
  EXPECT_TRUE(b.knows_commit({0, 1}));  // the commits of a thread arrive in their order
  EXPECT_TRUE(b.knows_commit({0, 2}));
  EXPECT_FALSE(b.knows_commit({0, 3}));
  EXPECT_FALSE(a.knows_commit({0, 1}));
}

TEST(Clock, CommitsAreThoseOfOneThread) {
  Issuers issuers;
  const uint32_t first = issuers.of(1, 0);
  const uint32_t second = issuers.of(1, 31);
  EXPECT_NE(first, second);
  EXPECT_EQ(first, issuers.of(1, 0));
  const CommitNumber of_first = issuers.next_commit(first);
  const CommitNumber of_second = issuers.next_commit(second);
  Clock seen(2);
  seen.see_commit(of_second);
  EXPECT_TRUE(seen.knows_commit(of_second));
  EXPECT_FALSE(seen.knows_commit(of_first));
  Clock other(2);
  other.see_commit(of_first);
  other.join(seen);
  EXPECT_TRUE(other.knows_commit(of_first));
  EXPECT_TRUE(other.knows_commit(of_second));
}

TEST(Clock, AClockOfNobodyGrowsWhenItLearns) {
  Clock empty;
  Clock a(4);
  a.tick(3);
  empty.join(a);
  EXPECT_EQ(empty.size(), 4u);
  EXPECT_TRUE(empty.knows(3, 1));
}

TEST(Knowledge, HasThreeLevels) {
  Knowledge k(2);
  k.tick(0);
  Clock relaxed(2);
  relaxed.tick(1);
  k.any.join(relaxed);  // a synchronisation that orders no tcgen05 instructions
  EXPECT_TRUE(k.any.knows(1, 1));
  EXPECT_FALSE(k.fenced.knows(1, 1));
  EXPECT_FALSE(k.strict.knows(1, 1));
  EXPECT_TRUE(k.fenced.knows(0, 1));
  Knowledge other(2);
  other.join(k);
  EXPECT_TRUE(other.any.knows(1, 1));
  EXPECT_FALSE(other.fenced.knows(1, 1));
}

TEST(MbarrierObject, TheCurrentPhaseIsNeverOver) {
  Mbarrier b;
  EXPECT_FALSE(b.complete(0));
  EXPECT_TRUE(b.complete(1));  // the phase before the first counts as over
  b.phase = 1;
  EXPECT_TRUE(b.complete(0));
  EXPECT_FALSE(b.complete(1));
  b.phase = 2;
  EXPECT_FALSE(b.complete(2));  // only the lowest bit of a parity counts
  EXPECT_TRUE(b.complete(3));
}

TEST(MbarrierObject, WaitsForArrivalsAndForBytes) {
  Mbarrier b;
  b.count = 1;
  b.pending = 1;
  EXPECT_FALSE(b.settled());
  b.pending = 0;
  EXPECT_TRUE(b.settled());
  b.expects = true;  // bytes are announced, and no copy has come
  EXPECT_FALSE(b.settled());
  b.under_way = 1;
  EXPECT_FALSE(b.settled());
  b.under_way = 0;
  b.copied = true;
  EXPECT_TRUE(b.settled());
  b.pending = 1;
  EXPECT_FALSE(b.settled());
}

}  // namespace
}  // namespace tmemlint::cluster
