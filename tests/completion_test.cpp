// An mma is complete when a commit of its thread has been observed, and no earlier. Each kernel that must be reported
// stands beside the one that is right.
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

TEST(Late, AnMmaIsNotCompleteBeforeItsCommitIsObserved) {
  // Warp 1 waits, warp 2 does not: it is warp 2's load that comes too early.
  auto kernel_with = [](const std::string& second) {
    return ptx_kernel(begin(128, init("full", 1)) + produce() + where("%w1", wait("full", "0") + kConsume) +
                      where("%w2", second + load("%tw", " // @second") + kWaitLoads) + wait("full", "0") + end(128));
  };
  EXPECT_THAT(said(kernel_with(wait("full", "0"))), IsEmpty());
  EXPECT_THAT(said(kernel_with("")), ElementsAre("error tmem-mma-completion @second"));
}

TEST(Late, ACommitTracksOnlyWhatItsThreadIssuedBefore) {
  auto order = [](const std::string& body) {
    return ptx_kernel(begin(128, init("full", 1)) + where("%w0", elected(body)) + wait("full", "0") + kConsume +
                      end(128));
  };
  EXPECT_THAT(said(order(mma("%ta", "%no") + mma("%ta", "%yes") + commit("full"))), IsEmpty());
  EXPECT_THAT(said(order(mma("%ta", "%no") + commit("full") + mma("%ta", "%yes", " // @late"))),
              ElementsAre("error tmem-mma-completion @dealloc", "error tmem-mma-completion @load",
                          "warning tmem-exit-in-flight `    ret;`"));
}

TEST(Late, ACommitOfAnotherThreadTracksNothing) {
  // Lane 0 issues the mma; with lane 1 another thread commits.
  auto committed_by = [](const std::string& lane) {
    return ptx_kernel(begin(128, init("full", 1)) +
                      where("%w0", "setp.eq.u32 %p1, %l, 0;\nsetp.eq.u32 %p2, %l, " + lane + ";\n" +
                                       where("%p1", mma("%ta", "%no")) + where("%p2", commit("full"))) +
                      wait("full", "0") + kConsume + end(128));
  };
  EXPECT_THAT(said(committed_by("0")), IsEmpty());
  EXPECT_THAT(said(committed_by("1")),
              ElementsAre("error tmem-mma-completion @dealloc", "error tmem-mma-completion @load",
                          "warning tmem-exit-in-flight `    ret;`"));
}

TEST(Late, TheCommitsOfTwoThreadsOfAWarpSayNothingOfEachOther) {
  // Lane 0 commits its mma to a mbarrier that nobody waits for; another lane commits to the one that is waited for. Its
  // arrival, which came behind the commit of lane 0, says nothing of what lane 0 issued.
  auto second_commit_by = [](const std::string& lane) {
    return ptx_kernel(begin(128, init("full", 1) + init("empty", 1)) +
                      where("%w0", "setp.eq.u32 %p1, %l, 0;\nsetp.eq.u32 %p2, %l, " + lane + ";\n" +
                                       where("%p1", mma("%ta", "%no") + commit("empty")) +
                                       where("%p2", commit("full"))) +
                      wait("full", "0") + kConsume + end(128));
  };
  EXPECT_THAT(said(second_commit_by("0")), IsEmpty());
  EXPECT_THAT(said(second_commit_by("31")), Contains("error tmem-mma-completion @load"));
}

TEST(Late, TwoHazardsOfOneLoopAreTwoFindings) {
  // Each round all warps store what warp 0 then multiplies, with no join between; and nobody waits for the mma before
  // the next round's store. Which of the two a scenario shows first must not hide the other.
  const auto kernel = [](const std::string& join_stores, const std::string& wait_mma) {
    return ptx_kernel(begin(256, init("full", 1)) + "mov.b32 %r20, 0;\nmov.b32 %r21, 0;\nAGAIN:\nbar.sync 0;\n" +
                      store("%tw", " // @store") + kWaitStores + join_stores +
                      where("%first", "tcgen05.mma.cta_group::1.kind::f16 [%ta+64], [%ta], %b, %id, %no; // @mma\n" +
                                          commit("full")) +
                      wait_mma + "xor.b32 %r21, %r21, 1;\nadd.u32 %r20, %r20, 1;\nsetp.lt.u32 %p6, %r20, %n;\n" +
                      "@%p6 bra AGAIN;\n" + (wait_mma.empty() ? wait("full", "0") : "") + end(256));
  };
  EXPECT_THAT(said(kernel(join(), wait("full", "%r21"))), IsEmpty());
  const std::vector<std::string> both = said(kernel("", ""));
  EXPECT_THAT(both, Contains("error tmem-handoff-race @mma"));
  EXPECT_THAT(both, Contains("error tmem-mma-completion @store"));
}

TEST(Late, TheCommitsOfTwoWarpsMakeOnePhase) {
  auto halves = [](unsigned count) {
    return ptx_kernel(begin(256, init("full", count)) + where("%w0", elected(mma("%ta", "%no") + commit("full"))) +
                      where("%w1", elected(mma("%ta+128", "%no") + commit("full"))) + wait("full", "0") + load("%tw") +
                      kWaitLoads + load("%tw+128", " // @second") + kWaitLoads + end(256));
  };
  EXPECT_THAT(said(halves(2)), IsEmpty());
  // One commit completes the phase, the other one the next.
  EXPECT_THAT(said(halves(1)), ElementsAre("error tmem-mma-completion @dealloc", "error tmem-mma-completion @second",
                                           "warning tmem-exit-in-flight `    ret;`"));
}

TEST(Late, ACommitThatNobodyWaitsFor) {
  EXPECT_THAT(said(ptx_kernel(begin(128, init("full", 1) + init("empty", 1)) + produce("empty") + wait("empty", "0") +
                              end(128))),
              IsEmpty());
  EXPECT_THAT(said(ptx_kernel(begin(128, init("full", 1) + init("empty", 1)) + produce() + end(128))),
              ElementsAre("error tmem-mma-completion @dealloc", "warning tmem-commit-unwaited @commit",
                          "warning tmem-exit-in-flight `    ret;`"));
}

TEST(Late, ACommitThatALaterOneSpeaksFor) {
  // Nobody waits for the first; the last one, behind which nothing was issued, tells of it.
  const std::string two = elected(mma("%ta", "%no") + commit("empty", " // @first") + commit("full"));
  const std::string other = elected(commit("full"));
  const std::string inits = init("full", 1) + init("empty", 1);
  EXPECT_THAT(said(ptx_kernel(begin(128, inits) + where("%w1", two) + wait("full", "0") + end(128))), IsEmpty());
  // On one mbarrier again and again: what is there to fill another stage, nobody waits for.
  const std::string again = mma("%ta", "%no") + commit("empty", " // @first");
  EXPECT_THAT(said(ptx_kernel(begin(128, inits) + where("%w1", elected(again + again + commit("full"))) +
                              wait("full", "0") + end(128))),
              testing::Contains("warning tmem-commit-unwaited @first"));
  // A commit of another thread does not.
  EXPECT_THAT(
      said(ptx_kernel(begin(128, inits) + where("%w1", elected(mma("%ta", "%no") + commit("empty", " // @first"))) +
                      where("%w2", other) + wait("full", "0") + end(128))),
      testing::Contains("warning tmem-commit-unwaited @first"));
}

}  // namespace
}  // namespace tmemlint
