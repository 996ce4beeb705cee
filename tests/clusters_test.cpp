// CTAs of one cluster: multicast commits, remote arrivals, cluster barriers, and CTAs that have not begun or have
// exited. Each kernel that must be reported stands beside the one that is right.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/producer_kernels.h"

namespace tmemlint {
namespace {

using namespace test;
using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;

// Both CTAs run an mma of their own; `first` and `last` stand between the allocation and it, and before the exit.
std::string in_cluster(const std::string& first, const std::string& issue, const std::string& last) {
  return ptx_kernel(begin(128, init("full", 2, " // @init")) + first +
                        where("%w0", elected(mma("%ta", "%no") + issue)) + wait("full", "0", " // @wait") + kConsume +
                        end(128) + last,
                    pair());
}

std::string commit_to(const std::string& mask) {
  return "mov.b16 %h1, " + mask +
         ";\ntcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [full], %h1; // "
         "@commit\n";
}

TEST(Clusters, AMulticastCommitArrivesInEachCtaOfItsMask) {
  EXPECT_THAT(said(in_cluster(join_cluster(), commit_to("3"), join_cluster())), IsEmpty());
  // Each CTA tells CTA 0 only: CTA 1 waits forever.
  EXPECT_THAT(said(in_cluster(join_cluster(), commit_to("1"), join_cluster())),
              ElementsAre("warning tmem-mbarrier-count @init"));
}

TEST(Clusters, OthersOfAClusterThatNothingStatesMayMulticastToo) {
  auto expects = [](const std::string& issue, unsigned arrivals, unsigned ctas) {
    return ptx_kernel(begin(128, init("full", arrivals, " // @init")) + join_cluster() +
                          where("%w0", elected(mma("%ta", "%no") + issue)) + wait("full", "0") + kConsume + end(128) +
                          join_cluster(),
                      {.cluster = ctas});
  };
  const Joint joint = joint_of(expects(commit_to("1"), 2, 0));
  const std::vector<warp::Uncertain> open = rules::find_problems(joint.run, rules::view_of(*joint.analysis)).open;
  ASSERT_EQ(open.size(), 1u);
  EXPECT_THAT(open[0].reason, testing::HasSubstr("give --cluster"));
  EXPECT_THAT(said(expects(commit_to("1"), 2, 0)), ElementsAre(testing::StartsWith("incomplete ")));
  // A mask that names them says how many there are.
  EXPECT_THAT(said(expects(commit_to("3"), 2, 0)), IsEmpty());
  // Nobody else sends what is not multicast, and where the cluster is stated all that send are there.
  EXPECT_THAT(said(expects(commit("full"), 2, 0)), ElementsAre("warning tmem-mbarrier-count @init"));
  EXPECT_THAT(said(expects(commit_to("1"), 2, 1)), ElementsAre("warning tmem-mbarrier-count @init"));
}

TEST(Clusters, NothingReachesACtaThatMayNotHaveBegun) {
  EXPECT_THAT(said(in_cluster("", commit_to("3"), join_cluster())),
              ElementsAre("warning tmem-pair-alloc-join @commit"));
}

TEST(Clusters, AnArriveAloneJoinsNothing) {
  const std::string arrive = "barrier.cluster.arrive.aligned;\n";
  const std::string wait_for = "barrier.cluster.wait.aligned;\n";
  EXPECT_THAT(said(in_cluster(arrive + wait_for, commit_to("3"), arrive + wait_for)), IsEmpty());
  // The wait comes after the commit.
  EXPECT_THAT(said(in_cluster(arrive, commit_to("3"), wait_for + arrive + wait_for)),
              ElementsAre("warning tmem-pair-alloc-join @commit"));
}

// The threads of CTA 1 tell CTA 0 that it may go on.
std::string from_afar(unsigned count, const std::string& last) {
  return ptx_kernel(begin(128, init("full", 1) + init("empty", count, " // @init")) + join_cluster() +
                        "mov.u32 %r20, empty;\nmapa.shared::cluster.u32 %remote, %r20, 0;\n@%cta0 bra HERE;\n" +
                        "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%remote]; // @arrive\nHERE:\n" +
                        where("%cta0", wait("empty", "0", " // @wait")) + produce() + wait("full", "0") + kConsume +
                        last + end(128),
                    pair());
}

TEST(Clusters, RemoteArrivalsAreCounted) {
  EXPECT_THAT(said(from_afar(128, "")), IsEmpty());
  EXPECT_THAT(said(from_afar(129, "")), ElementsAre("warning tmem-mbarrier-count @init"));
}

TEST(Clusters, WarpsThatHaveExitedAreNotWaitedFor) {
  EXPECT_THAT(said(ptx_kernel(begin(32) + "@%w3 bra GONE;\n" + join_cluster() +
                                  "@!%w0 bra GONE;\ntcgen05.dealloc.cta_group::1.sync.aligned.b32 %ta, 32;\nGONE:\n",
                              pair())),
              IsEmpty());
}

TEST(Clusters, EachPhaseOfTheBarrierHasItsOwnArrivals) {
  // Two joins, and a third arrive whose wait the other CTA does not come to: what is behind it is never reached.
  const std::string arrive = "barrier.cluster.arrive.aligned;\n";
  EXPECT_THAT(said(ptx_kernel(begin(32) + join_cluster() + join_cluster() + end(32), pair())), IsEmpty());
  EXPECT_THAT(said(ptx_kernel(begin(32) + join_cluster() +
                                  where("%cta0", arrive + "barrier.cluster.wait.aligned; // @alone\n") +
                                  "@%cta0 bra OUT;\nbar.sync 1, 160;\nOUT:\n" + end(32),
                              pair())),
              ElementsAre("incomplete @alone"));
}

TEST(Clusters, ACtaThatMayBeGoneIsNotSignalled) {
  // CTA 0 does not wait for CTA 1's arrivals, and exits.
  auto signalled = [](const std::string& last) {
    return ptx_kernel(begin(32, init("empty", 128)) + join_cluster() +
                          "mov.u32 %r20, empty;\nmapa.shared::cluster.u32 %remote, %r20, 0;\n@%cta0 bra HERE;\n" +
                          "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%remote]; // @arrive\nHERE:\n" +
                          end(32) + last,
                      pair());
  };
  EXPECT_THAT(said(signalled(join_cluster())), IsEmpty());
  EXPECT_THAT(said(signalled("")), ElementsAre("warning tmem-cluster-exit @arrive"));
}

TEST(ClusterBarriers, ARelaxedArriveHandsNothingOver) {
  auto kernel = [](const std::string& arrive) {
    Setting s;
    s.threads = 192;
    s.cluster = 1;
    return ptx_kernel(begin(128) + where("%w1", store("%tw") + kWaitStores) + arrive +
                          "barrier.cluster.wait.aligned;\n" + where("%w5", load("%tw") + kWaitLoads) + end(128),
                      s);
  };
  EXPECT_THAT(said(kernel("barrier.cluster.arrive.aligned;\n")), Not(Contains(testing::HasSubstr("error"))));
  EXPECT_THAT(said(kernel("barrier.cluster.arrive.relaxed.aligned; // @arrive\n")),
              Contains(testing::HasSubstr("error tmem-missing-fence")));
}

}  // namespace
}  // namespace tmemlint
