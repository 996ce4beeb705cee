// mbarriers: which phase a wait is about, how many arrivals complete it, and the other operations on them. Each kernel
// that must be reported stands beside the one that is right.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/producer_kernels.h"

namespace tmemlint {
namespace {

using namespace test;
using testing::ElementsAre;
using testing::IsEmpty;

// --- phases of an mbarrier ---

TEST(Phases, AWaitNamesThePhaseThatTheCommitCompletes) {
  EXPECT_THAT(said(ptx_kernel(begin(128, init("full", 1)) + produce() + wait("full", "0") + kConsume + end(128))),
              IsEmpty());
}

TEST(Phases, TheOtherParityOfAFreshMbarrierIsOver) {
  // Phase 0 is the current one, so that a wait for parity 1 is about the phase before it and returns at once.
  EXPECT_THAT(
      said(ptx_kernel(begin(128, init("full", 1)) + produce() + wait("full", "1", " // @wait") + kConsume + end(128))),
      ElementsAre("error tmem-mma-completion @dealloc", "error tmem-mma-completion @load",
                  "warning tmem-exit-in-flight `    ret;`", "warning tmem-mbarrier-phase @wait"));
}

TEST(Phases, TheSecondRoundHasTheOtherParity) {
  auto rounds = [](const std::string& second) {
    return ptx_kernel(begin(128, init("full", 1)) + produce() + wait("full", "0") + join() +
                      where("%w0", elected(mma("%ta", "%no", " // @again") + commit("full"))) +
                      wait("full", second, " // @second") + kConsume + end(128));
  };
  EXPECT_THAT(said(rounds("1")), IsEmpty());
  // Parity 0 is complete since the first round.
  EXPECT_THAT(said(rounds("0")),
              ElementsAre("error tmem-mma-completion @dealloc", "error tmem-mma-completion @load",
                          "warning tmem-exit-in-flight `    ret;`", "warning tmem-mbarrier-phase @second"));
}

TEST(Phases, APhaseBitIsKeptByEachWarp) {
  auto loop = [](const std::string& toggle) {
    return ptx_kernel(begin(128, init("full", 1)) + "mov.b32 %r10, 0;\nmov.b32 %r11, 0;\nTOP:\n" + produce() +
                      wait("full", "%r11", " // @wait") + kConsume + join() + toggle +
                      "add.u32 %r10, %r10, 1;\nsetp.lt.u32 %p1, %r10, 3;\n@%p1 bra TOP;\n" + end(128));
  };
  EXPECT_THAT(said(loop("xor.b32 %r11, %r11, 1;\n")), IsEmpty());
  EXPECT_THAT(said(loop("")),
              ElementsAre("error tmem-mma-completion @dealloc", "error tmem-mma-completion @load",
                          "warning tmem-exit-in-flight `    ret;`", "warning tmem-mbarrier-phase @wait"));
}

TEST(Phases, APeekAloneWaitsForNothing) {
  const std::string peek = "mbarrier.test_wait.parity.shared::cta.b64 %p1, [full], 0;\n";
  // The peek only spares the loop.
  EXPECT_THAT(said(ptx_kernel(begin(128, init("full", 1)) + produce() + peek + "@%p1 bra THERE;\n" + wait("full", "0") +
                              "THERE:\n" + kConsume + end(128))),
              IsEmpty());
  EXPECT_THAT(said(ptx_kernel(begin(128, init("full", 1)) + produce() + peek + kConsume + end(128))),
              ElementsAre("error tmem-mma-completion @dealloc", "error tmem-mma-completion @load",
                          "warning tmem-exit-in-flight `    ret;`"));
}

// --- counts ---

// Warp 1 is the consumer of an mma of warp 0 and tells `empty` when the columns may be overwritten.
std::string two_rounds(unsigned count, const std::string& arrive) {
  return ptx_kernel(
      begin(128, init("full", 1) + init("empty", count, " // @init")) + produce() +
      where("%w1", wait("full", "0") + kConsume + arrive + wait("full", "1", " // @wait-full") + kConsume) +
      where("%w0", elected(wait("empty", "0", " // @wait-empty") + mma("%ta", "%no", " // @again") + commit("full"))) +
      end(128));
}

TEST(Counts, OneArrivalPerThread) {
  const std::string arrive = "mbarrier.arrive.shared::cta.b64 _, [empty];\n";
  EXPECT_THAT(said(two_rounds(32, arrive)), IsEmpty());
  EXPECT_THAT(said(two_rounds(33, arrive)), ElementsAre("warning tmem-mbarrier-count @init"));
}

TEST(Counts, OneThreadForItsWarp) {
  const std::string arrive = "bar.warp.sync 0xffffffff;\n" + elected("mbarrier.arrive.shared::cta.b64 _, [empty];\n");
  EXPECT_THAT(said(two_rounds(1, arrive)), IsEmpty());
  EXPECT_THAT(said(two_rounds(32, arrive)), ElementsAre("warning tmem-mbarrier-count @init"));
}

TEST(Counts, AnArriveMayCountForSeveral) {
  const std::string arrive =
      "bar.warp.sync 0xffffffff;\n" + elected("mbarrier.arrive.shared::cta.b64 _, [empty], 8;\n");
  EXPECT_THAT(said(two_rounds(8, arrive)), IsEmpty());
  EXPECT_THAT(said(two_rounds(9, arrive)), ElementsAre("warning tmem-mbarrier-count @init"));
}

TEST(Counts, ACommitIsOneArrival) {
  // All of warp 1 arrives, one thread of it commits too: 33 arrivals.
  const std::string arrive = "mbarrier.arrive.shared::cta.b64 _, [empty];\n" + elected(commit("empty"));
  EXPECT_THAT(said(two_rounds(33, arrive)), IsEmpty());
  EXPECT_THAT(said(two_rounds(34, arrive)), ElementsAre("warning tmem-mbarrier-count @init"));
}

TEST(Counts, TooFewLetTheLastReaderBeOverrun) {
  auto readers = [](unsigned count) {
    return ptx_kernel(begin(128, init("full", 1) + init("empty", count)) + produce() + wait("full", "0") + kConsume +
                      elected("mbarrier.arrive.shared::cta.b64 _, [empty]; // @arrive\n") +
                      where("%w0", elected(wait("empty", "0") + mma("%ta", "%no", " // @again") + commit("full"))) +
                      wait("full", "1") + end(128));
  };
  EXPECT_THAT(said(readers(4)), IsEmpty());
  // Three arrivals complete the phase while one warp may still be reading, and its arrival counts for the next phase.
  EXPECT_THAT(said(readers(3)), ElementsAre("error tmem-handoff-race @again", "warning tmem-mbarrier-count @arrive"));
}

TEST(Counts, ADroppedArrivalIsNotExpectedAgain) {
  auto rounds = [](unsigned count) {
    return ptx_kernel(begin(32, init("empty", count, " // @init")) +
                      where("%w1", "mbarrier.arrive_drop.shared::cta.b64 _, [empty];\n") +
                      where("%w0", elected("mbarrier.arrive.shared::cta.b64 _, [empty];\n")) + wait("empty", "0") +
                      join() + where("%w0", elected("mbarrier.arrive.shared::cta.b64 _, [empty];\n")) +
                      wait("empty", "1", " // @wait") + end(32));
  };
  EXPECT_THAT(said(rounds(33)), IsEmpty());
  EXPECT_THAT(said(rounds(34)), ElementsAre("warning tmem-mbarrier-count @init"));
}

// --- other operations ---

TEST(Mbarriers, TokensNameThePhaseThatWasCurrent) {
  // Warp 0 takes its time before it writes and arrives for the second round; warp 4 waits for that with a token.
  auto rounds = [](const std::string& token) {
    return ptx_kernel(
        begin(256, init("full", 1) + init("empty", 33)) +
            where("%w0",
                  elected("mbarrier.arrive.shared::cta.b64 _, [empty];\n" + mma("%ta+128", "%no") + commit("full")) +
                      wait("empty", "0") + wait("full", "0") + store("%ta") + kWaitStores +
                      "tcgen05.fence::before_thread_sync;\n" +
                      elected("mbarrier.arrive.shared::cta.b64 _, [empty];\n")) +
            where(
                "%w4",
                "mbarrier.arrive.shared::cta.b64 %d1, [empty];\nA: mbarrier.try_wait.shared::cta.b64 %over, [empty], "
                "%d1;\n@!%over bra A;\n"
                "mbarrier.arrive.shared::cta.b64 %d2, [empty];\nB: mbarrier.try_wait.shared::cta.b64 %over, [empty], " +
                    token + "; // @token\n@!%over bra B;\ntcgen05.fence::after_thread_sync;\n" +
                    load("%tw", " // @load") + kWaitLoads) +
            end(256),
        {160, 0, "sm_100a"});
  };
  EXPECT_THAT(said(rounds("%d2")), IsEmpty());
  // The first token is about the phase that is complete.
  EXPECT_THAT(said(rounds("%d1")), ElementsAre("error tmem-handoff-race @load", "warning tmem-mbarrier-phase @token"));
}

TEST(Mbarriers, EachLaneIsGivenTheStateOfTheMbarrierThatItArrivesOn) {
  // Lane 0 arrives on one that is in its second phase, lane 1 on one that is in its first.
  const auto kernel = [](const std::string& lane_0, const std::string& lane_1) {
    return ptx_kernel(
        begin(32, init("ring", 1) + init("ring+8", 1)) +
        where("%w0", where("%first", "mbarrier.arrive.shared::cta.b64 _, [ring];\n") + wait("ring", "0") +
                         "setp.lt.u32 %p1, %l, 2;\n" +
                         where("%p1",
                               "mov.u32 %r30, ring;\nmad.lo.u32 %r30, %l, 8, %r30;\n"
                               "mbarrier.arrive.shared::cta.b64 %d1, [%r30];\n"
                               "setp.eq.u32 %p2, %l, 0;\n"
                               "selp.b64 %d2, " +
                                   lane_0 + ", " + lane_1 +
                                   ", %p2;\n"
                                   "AGAIN: mbarrier.test_wait.shared::cta.b64 %p3, [%r30], %d2; // @wait\n"
                                   "@!%p3 bra AGAIN;\n")) +
        end(32));
  };
  EXPECT_THAT(said(kernel("%d1", "%d1")), IsEmpty());
  // The state of the other one is that of a phase that is not over.
  EXPECT_THAT(said(kernel("0", "%d1")), testing::Contains(testing::HasSubstr("tmem-mbarrier-count")));
}

TEST(Mbarriers, AreInitialisedAgainAfterInval) {
  auto again = [](const std::string& first_use, const std::string& second_wait) {
    return ptx_kernel(begin(128, init("full", 1)) + first_use + join() +
                      where("%first", "mbarrier.inval.shared::cta.b64 [full];\n" + init("full", 1)) + join() +
                      produce() + wait("full", second_wait, " // @wait") + kConsume + end(128));
  };
  const std::string round = produce() + wait("full", "0");
  EXPECT_THAT(said(again(round, "0")), IsEmpty());
  // The new object is in phase 0 again.
  EXPECT_THAT(said(again(round, "1")),
              ElementsAre("error tmem-mma-completion @dealloc", "error tmem-mma-completion @load",
                          "warning tmem-exit-in-flight `    ret;`", "warning tmem-mbarrier-phase @wait"));
}

TEST(Mbarriers, ArrivalsOfAsynchronousCopies) {
  // Each thread of warp 2 copies 16 bytes and lets the mbarrier know when they are there.
  auto copies = [](const std::string& arrive, unsigned count) {
    return ptx_kernel(
        begin(128, init("full", 1) + init("empty", count, " // @init")) +
        where("%w2",
              "mov.u32 %r50, tile_a;\nmad.lo.u32 %r50, %l, 16, %r50;\ncp.async.cg.shared.global [%r50], [%out], 16;\n" +
                  arrive) +
        where("%w0", elected(wait("empty", "0") + mma("%ta", "%no") + commit("full"))) + wait("full", "0") + kConsume +
        end(128));
  };
  const std::string noinc = "cp.async.mbarrier.arrive.noinc.shared::cta.b64 [empty];\n";
  const std::string inc = "cp.async.mbarrier.arrive.shared::cta.b64 [empty];\n";
  EXPECT_THAT(said(copies(noinc, 32)), IsEmpty());
  EXPECT_THAT(said(copies(noinc, 33)), ElementsAre("warning tmem-mbarrier-count @init"));
  // Without .noinc the arrival is one more that is expected; a plain arrive of each thread completes the phase.
  EXPECT_THAT(said(copies(inc + "mbarrier.arrive.shared::cta.b64 _, [empty];\n", 32)), IsEmpty());
  EXPECT_THAT(said(copies(inc, 32)), ElementsAre("warning tmem-mbarrier-count @init"));
}

// --- polls of several mbarriers in one loop ---

TEST(Polls, EachLaneOfAnMbarrierOfItsOwn) {
  // Two commits to two mbarriers; lanes 0 and 1 of every warp wait for one each, and the warp goes on when both have.
  auto kernel = [](const std::string& lanes) {
    return said(ptx_kernel(
        begin(256, init("ring", 1) + init("ring+8", 1)) +
        where("%w1", elected(mma("%ta", "%no") + commit("ring") + mma("%ta+128", "%no") + commit("ring+8"))) +
        "mov.u32 %r10, ring;\nshl.b32 %r11, %l, 3;\nadd.u32 %r10, %r10, %r11;\nsetp.lt.u32 %p1, %l, " + lanes + ";\n" +
        where("%p1", wait("%r10", "0")) + "bar.warp.sync 0xffffffff;\ntcgen05.fence::after_thread_sync;\n" +
        load("%tw") + kWaitLoads + load("%tw+128", " // @second") + kWaitLoads + end(256)));
  };
  EXPECT_THAT(kernel("2"), IsEmpty());
  // Only the first one is waited for.
  EXPECT_THAT(kernel("1"), testing::Contains("error tmem-mma-completion @second"));
}

TEST(Polls, OfSeveralMbarriersEndWhenAllAreOver) {
  // All warps poll two mbarriers in turn until each was complete once; warp 1 commits to both.
  auto kernel = [](const std::string& commits, const std::string& second) {
    const std::string polls =
        "mov.pred %p1, %no;\nmov.pred %p2, %no;\nSPIN:\n@%p1 bra OTHER;\n"
        "mbarrier.test_wait.parity.shared::cta.b64 %p1, [full], 0;\nOTHER:\n@%p2 bra TEST;\n"
        "mbarrier.test_wait.parity.shared::cta.b64 %p2, [" +
        second + "], 0;\nTEST:\nand.pred %p3, %p1, %p2;\n@!%p3 bra SPIN;\n";
    return ptx_kernel(begin(128, init("full", 1) + init("empty", 1)) +
                      where("%w1", elected(mma("%ta", "%no") + commits)) + polls +
                      "tcgen05.fence::after_thread_sync;\n" + load("%tw", " // @load") + kWaitLoads + end(128));
  };
  const std::string both = kernel(commit("full") + commit("empty"), "empty");
  EXPECT_THAT(said(both), IsEmpty());
  EXPECT_LT(joint_of(both).run.steps, 2000u);
  // One of them never is.
  EXPECT_THAT(said(kernel(commit("full"), "empty")),
              ElementsAre("warning tmem-mbarrier-count `mbarrier.init.shared::cta.b64 [empty], 1;`"));
}

TEST(Polls, OneAfterTheOtherFromTheFirstOnEachTime) {
  // while (!(is(ring) && is(ring + 8) && is(ring + 16)));
  std::string polls = "SPIN:\n";
  std::string commits;
  for (const char* at : {"ring", "ring+8", "ring+16"}) {
    polls += "mbarrier.test_wait.parity.shared::cta.b64 %p1, [" + std::string(at) + "], 0;\n@!%p1 bra SPIN;\n";
    commits += commit(at);
  }
  const std::string text = ptx_kernel(begin(128, init("ring", 1) + init("ring+8", 1) + init("ring+16", 1)) +
                                      where("%w1", elected(mma("%ta", "%no") + commits)) + polls +
                                      "tcgen05.fence::after_thread_sync;\n" + load("%tw") + kWaitLoads + end(128));
  EXPECT_THAT(said(text), IsEmpty());
  EXPECT_LT(joint_of(text).run.steps, 2000u);
}

}  // namespace
}  // namespace tmemlint
