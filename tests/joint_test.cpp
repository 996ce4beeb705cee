// The joint run over small kernels: barriers of all kinds, hand-overs, scenarios. Each kernel that must be reported
// stands beside the one that is right.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/small_kernel.h"

namespace tmemlint {
namespace {

using namespace test;
using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;

// Warp 0 lets one thread issue an mma and commit it to `full`.
std::string produce(const std::string& barrier = "full") {
  return where("%w0", elected(mma("%ta", "%no", " // @mma") + commit(barrier, " // @commit")));
}
// All warps read the accumulator.
const std::string kConsume = load("%tw", " // @load") + kWaitLoads;

// --- phases of an mbarrier ---

TEST(Phases, AWaitNamesThePhaseThatTheCommitCompletes) {
  EXPECT_THAT(said(ptx_kernel(begin(128, init("full", 1)) + produce() + wait("full", "0") + kConsume + end(128))),
              IsEmpty());
}

TEST(Phases, TheOtherParityOfAFreshMbarrierIsOver) {
  // Phase 0 is the current one, so that a wait for parity 1 is about the phase before it and returns at once.
  EXPECT_THAT(said(ptx_kernel(begin(128, init("full", 1)) + produce() + wait("full", "1") + kConsume + end(128))),
              ElementsAre("error tmem-mma-completion @dealloc", "error tmem-mma-completion @load",
                          "warning tmem-exit-in-flight `    ret;`"));
}

TEST(Phases, TheSecondRoundHasTheOtherParity) {
  auto rounds = [](const std::string& second) {
    return ptx_kernel(begin(128, init("full", 1)) + produce() + wait("full", "0") + join() +
                      where("%w0", elected(mma("%ta", "%no", " // @again") + commit("full"))) + wait("full", second) +
                      kConsume + end(128));
  };
  EXPECT_THAT(said(rounds("1")), IsEmpty());
  // Parity 0 is complete since the first round.
  EXPECT_THAT(said(rounds("0")), ElementsAre("error tmem-mma-completion @dealloc", "error tmem-mma-completion @load",
                                             "warning tmem-exit-in-flight `    ret;`"));
}

TEST(Phases, APhaseBitIsKeptByEachWarp) {
  auto loop = [](const std::string& toggle) {
    return ptx_kernel(begin(128, init("full", 1)) + "mov.b32 %r10, 0;\nmov.b32 %r11, 0;\nTOP:\n" + produce() +
                      wait("full", "%r11") + kConsume + join() + toggle +
                      "add.u32 %r10, %r10, 1;\nsetp.lt.u32 %p1, %r10, 3;\n@%p1 bra TOP;\n" + end(128));
  };
  EXPECT_THAT(said(loop("xor.b32 %r11, %r11, 1;\n")), IsEmpty());
  EXPECT_THAT(said(loop("")), ElementsAre("error tmem-mma-completion @dealloc", "error tmem-mma-completion @load",
                                          "warning tmem-exit-in-flight `    ret;`"));
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
                      where("%w0", elected("mbarrier.arrive.shared::cta.b64 _, [empty];\n")) +
                      wait("empty", "1", " // @wait") + end(32));
  };
  EXPECT_THAT(said(rounds(33)), IsEmpty());
  EXPECT_THAT(said(rounds(34)), ElementsAre("warning tmem-mbarrier-count @init"));
}

// --- copies ---

std::string copied(const std::string& announce, const std::string& copy) {
  return ptx_kernel(begin(128, init("full", 1) + init("empty", 1, " // @init")) +
                    where("%w2", elected(announce + copy)) +
                    where("%w0", elected(wait("empty", "0", " // @wait") + mma("%ta", "%no") + commit("full"))) +
                    wait("full", "0") + kConsume + end(128));
}

const std::string kAnnounce = "mbarrier.arrive.expect_tx.shared::cta.b64 _, [empty], 16384;\n";
const std::string kCopy =
    "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [tile_a], [%out], 16384, [empty];\n";

TEST(Copies, ThePhaseIsOverWhenTheBytesAreThere) {
  EXPECT_THAT(said(copied(kAnnounce, kCopy)), IsEmpty());
  // Nobody arrives for the copy: its bytes alone complete no phase.
  EXPECT_THAT(said(copied("", kCopy)), ElementsAre("warning tmem-mbarrier-count @init"));
}

TEST(Copies, OrdinaryStoresAreBehindAProxyFence) {
  auto stored = [](const std::string& fence) {
    return ptx_kernel(begin(128, init("full", 1)) + "st.shared.b32 [tile_a], %t; // @store\n" + fence + join() +
                      where("%w0", elected(mma("%ta", "%no", " // @mma") + commit("full"))) + wait("full", "0") +
                      kConsume + end(128));
  };
  EXPECT_THAT(said(stored("fence.proxy.async.shared::cta;\n")), IsEmpty());
  EXPECT_THAT(said(stored("")), ElementsAre("warning tmem-proxy-fence @mma"));
}

TEST(Copies, WhatCountsAsAStoreAndWhatAsItsFence) {
  auto stored = [](const std::string& instruction, const std::string& fence) {
    return said(ptx_kernel(begin(128, init("full", 1)) + "shl.b32 %r10, %l, 4;\nmov.u32 %r11, tile_a;\n" +
                           "add.u32 %r11, %r11, %r10;\n" + instruction + fence + join() +
                           where("%w0", elected(mma("%ta", "%no", " // @mma") + commit("full"))) + wait("full", "0") +
                           kConsume + end(128)));
  };
  const auto missing = ElementsAre("warning tmem-proxy-fence @mma");
  for (const std::string instruction : {"st.shared.v4.b32 [%r11], {%t,%t,%t,%t};\n",
                                        "stmatrix.sync.aligned.m8n8.x4.shared.b16 [%r11], {%t,%t,%t,%t};\n",
                                        "stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r11], {%t};\n"}) {
    EXPECT_THAT(stored(instruction, ""), missing) << instruction;
    EXPECT_THAT(stored(instruction, "fence.proxy.async;\n"), IsEmpty()) << instruction;
    EXPECT_THAT(stored(instruction, "fence.proxy.async.shared::cta;\n"), IsEmpty()) << instruction;
    EXPECT_THAT(stored(instruction, "fence.proxy.async.global;\n"), missing) << instruction;
  }
}

TEST(Copies, OperandsAreStoredAlsoWhereNothingIsLoaded) {
  // A first allocation is at column 0: its slot need not be read.
  auto stored = [](const std::string& fence) {
    std::string text = ptx_kernel(begin(128, init("full", 1)) + "st.shared.b32 [tile_a], %t;\n" + fence + join() +
                                  where("%w0", elected(mma("%ta", "%no", " // @mma") + commit("full"))) +
                                  wait("full", "0") + kConsume + end(128));
    const std::string read = "ld.shared.b32 %ta, [slot];";
    return said(text.replace(text.find(read), read.size(), "mov.b32 %ta, 0;"));
  };
  EXPECT_THAT(stored("fence.proxy.async.shared::cta;\n"), IsEmpty());
  EXPECT_THAT(stored(""), ElementsAre("warning tmem-proxy-fence @mma"));
}

// --- asynchronous operations come as late as they can ---

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

TEST(Late, ADeallocThatSeveralWarpsExecute) {
  const std::string free = release("%ta", 128, " // @dealloc");
  EXPECT_THAT(said(ptx_kernel(begin(128) + store("%tw") + kWaitStores + join() + free)),
              ElementsAre("error tmem-one-warp @dealloc"));
  EXPECT_THAT(said(ptx_kernel(begin(128) + store("%tw") + kWaitStores + free)),
              ElementsAre("error tmem-one-warp @dealloc"));
  // Two places are two frees.
  EXPECT_THAT(said(ptx_kernel(begin(128) + store("%tw") + kWaitStores + join() + where("%w0", release("%ta", 128)) +
                              join() + where("%w1", free))),
              ElementsAre("error tmem-double-dealloc @dealloc"));
}

TEST(Late, AnAllocThatAnotherWarpExecutesEachRound) {
  // Warps 0 and 1 take turns; what the last one allocated is freed and joined before the next one allocates.
  auto kernel = [](const std::string& between) {
    return said(ptx_kernel("mov.u32 %r10, 0;\nTOP:\nand.b32 %r11, %r10, 1;\nsetp.eq.u32 %p1, %w, %r11;\n" +
                           where("%p1", allocate("slot", 64, " // @alloc")) + join() + "ld.shared.b32 %ta, [slot];\n" +
                           join() + between + "add.u32 %r10, %r10, 1;\nsetp.lt.u32 %p2, %r10, 4;\n@%p2 bra TOP;\n"));
  };
  // Which of the allocations a dealloc frees is more than one warp by itself can tell.
  EXPECT_THAT(kernel(where("%p1", release("%ta", 64)) + join()), testing::Each(testing::StartsWith("incomplete ")));
  EXPECT_THAT(kernel(""), testing::Contains("error tmem-one-warp @alloc"));
}

TEST(Late, ColumnsThatAnotherWarpFreesOnSomePathsOnly) {
  auto kernel = [](const std::string& leave, const std::string& free) {
    return said(ptx_kernel(begin(128) + store("%tw") + kWaitStores + join() + leave +
                           where("%w1", free + release("%ta", 128))));
  };
  EXPECT_THAT(kernel("", ""), IsEmpty());
  const std::string none = "setp.eq.u32 %p1, %n, 0;\n";
  EXPECT_THAT(kernel(none + "@%p1 ret;\n", ""), ElementsAre("error tmem-missing-dealloc @alloc"));
  EXPECT_THAT(kernel("", none + "@%p1 ret;\n"), ElementsAre("error tmem-missing-dealloc @alloc"));
  // What is read from memory decides it.
  EXPECT_THAT(kernel("", "ld.global.u32 %r20, [%out];\nsetp.eq.u32 %p1, %r20, 0;\n@%p1 ret;\n"),
              ElementsAre("error tmem-missing-dealloc @alloc"));
}

// --- numbers that a condition selects ---

TEST(Selections, EachOfTheSizesIsTried) {
  const std::string size = "setp.gt.u32 %p1, %n, 7;\nselp.b32 %r20, 64, 128, %p1;\n";
  auto kernel = [&](const std::string& columns, const std::string& offset, const std::string& freed) {
    return said(ptx_kernel(
        size +
        where("%w0", "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], " + columns + "; // @alloc\n") +
        join() + "ld.shared.b32 %ta, [slot];\n" +
        where("%w0", "add.u32 %tw, %ta, " + offset + ";\n" + store("%tw", " // @store") + kWaitStores +
                         "tcgen05.dealloc.cta_group::1.sync.aligned.b32 %ta, " + freed + "; // @dealloc\n")));
  };
  EXPECT_THAT(kernel("%r20", "60", "%r20"), IsEmpty());
  EXPECT_THAT(kernel("%r20", "60", "64"), ElementsAre("error tmem-dealloc-mismatch @dealloc"));
  EXPECT_THAT(kernel("%r20", "60", "128"), ElementsAre("error tmem-dealloc-mismatch @dealloc"));
  EXPECT_THAT(kernel("64", "60", "%r20"), ElementsAre("error tmem-dealloc-mismatch @dealloc"));
  EXPECT_THAT(kernel("%r20", "64", "%r20"), ElementsAre("error tmem-column-bounds @store"));
}

TEST(Selections, ASizeThatIsSmallerThanALaterOne) {
  auto kernel = [](const std::string& first, const std::string& second) {
    const std::string alloc = "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], %r20;";
    const std::string free =
        "bar.warp.sync 0xffffffff;\nld.shared.b32 %ta, [slot];\n"
        "tcgen05.dealloc.cta_group::1.sync.aligned.b32 %ta, %r20;\n";
    return said(ptx_kernel("setp.gt.u32 %p1, %n, 7;\n" +
                           where("%w0", first + alloc + "\n" + free + second + alloc + " // @second\n" + free)));
  };
  EXPECT_THAT(kernel("selp.b32 %r20, 64, 128, %p1;\n", "mov.b32 %r20, 64;\n"), IsEmpty());
  EXPECT_THAT(kernel("selp.b32 %r20, 32, 128, %p1;\n", "mov.b32 %r20, 64;\n"),
              ElementsAre("error tmem-alloc-growing @second"));
}

// --- blocks that nothing states ---

TEST(Blocks, AreAsLargeAsTheirBarriersNeed) {
  // Warp 1 and all warps from 4 on meet at a barrier of 160 threads: four of those there must be.
  std::string text =
      ptx_kernel(begin(32) + "setp.ge.u32 %p1, %w, 4;\n" + where("%w1", "bar.sync 1, 160;\n") +
                 where("%p1", store("%tw", " // @store") + kWaitStores + "bar.sync 1, 160;\n") + end(32));
  const std::string stated = "    .reqntid 128,1,1\n";
  ASSERT_NE(text.find(stated), std::string::npos);
  text.erase(text.find(stated), stated.size());
  const Joint joint = joint_of(text);
  EXPECT_EQ(joint.analysis->launch.threads(), 256u);
  EXPECT_THAT(said(text), IsEmpty());
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

// --- none yet ---

TEST(NoneYet, WhatMemoryHoldsIsNotTheNumberForIt) {
  // Warp 1 issues an mma for each word of memory and commits; warp 0 keeps the last word, waits for the mma before it
  // asks for the next one, and frees.
  auto kernel = [](const std::string& none, const std::string& test) {
    const std::string words = "ld.global.u32 %r30, [%d10];\nadd.u64 %d10, %d10, 4;\n";
    const std::string issue = "mov.u64 %d10, %out;\nmov.u32 %r31, 0;\nISSUE:\n" + words + wait("empty", "%r32") +
                              mma("%ta", "%no") + commit("full") +
                              "xor.b32 %r32, %r32, 1;\nadd.u32 %r31, %r31, 1;\nsetp.lt.u32 %p1, %r31, %n;\n@%p1 bra "
                              "ISSUE;\n";
    auto put = [] {
      return wait("full", "%r33") + load("%tw", " // @load") + kWaitLoads +
             "tcgen05.fence::before_thread_sync;\nbar.warp.sync 0xffffffff;\nxor.b32 %r33, %r33, 1;\n" +
             elected("mbarrier.arrive.shared::cta.b64 _, [empty];\n");
    };
    return said(ptx_kernel(begin(128, init("full", 1) + init("empty", 1)) + "mov.u32 %r32, 1;\nmov.u32 %r33, 0;\n" +
                           where("%w1", elected(issue)) +
                           where("%w0", "mov.u32 %r40, " + none + ";\nmov.u64 %d10, %out;\nmov.u32 %r31, 0;\nTAKE:\n" +
                                            words + "setp.eq.s32 %p2, %r40, " + test + ";\n@%p2 bra FIRST;\n" + put() +
                                            "FIRST:\nmov.u32 %r40, %r30;\nadd.u32 %r31, %r31, 1;\nsetp.lt.u32 %p1, "
                                            "%r31, %n;\n@%p1 bra TAKE;\nsetp.eq.s32 %p3, %r40, " +
                                            test + ";\n@%p3 bra LAST;\n" + put() + "LAST:\n" +
                                            release("%ta", 128, " // @dealloc"))));
  };
  EXPECT_THAT(kernel("-1", "-1"), IsEmpty());
  EXPECT_THAT(kernel("0x7fffffff", "0x7fffffff"), IsEmpty());
  // A number that memory may well hold.
  EXPECT_THAT(kernel("-1", "5"), testing::Not(IsEmpty()));
}

// --- named barriers ---

// Warp 1 writes columns of its lanes, warp 5 (of the next warpgroup, of the same lanes) reads them.
std::string passed_on(const std::string& writer, const std::string& reader) {
  Setting s;
  s.threads = 192;
  const std::string fence = "tcgen05.fence::before_thread_sync;\n";
  return ptx_kernel(
      begin(32) + where("%w1", store("%tw", " // @store") + kWaitStores + fence + writer) +
          where("%w5", reader + "tcgen05.fence::after_thread_sync;\n" + load("%tw", " // @load") + kWaitLoads) +
          end(32),
      s);
}

TEST(NamedBarriers, OrderThoseThatMeetThere) {
  EXPECT_THAT(said(passed_on("bar.sync 1, 64;\n", "bar.sync 1, 64;\n")), IsEmpty());
  EXPECT_THAT(said(passed_on("", "")), ElementsAre("error tmem-handoff-race @load"));
  // Each at a barrier of its own.
  EXPECT_THAT(said(passed_on("bar.sync 1, 32;\n", "bar.sync 2, 32;\n")), ElementsAre("error tmem-handoff-race @load"));
}

TEST(NamedBarriers, TheOneThatArrivesNeedNotWait) {
  EXPECT_THAT(said(passed_on("bar.arrive 1, 64;\n", "bar.sync 1, 64;\n")), IsEmpty());
  // The other way round it is the writer that waits for the reader.
  EXPECT_THAT(said(passed_on("bar.sync 1, 64;\n", "bar.arrive 1, 64;\n")),
              ElementsAre("error tmem-handoff-race @load"));
}

TEST(NamedBarriers, AreReusedRoundByRound) {
  // The reader answers at barrier 2, and the writer writes again.
  const std::string again = store("%tw", " // @again") + kWaitStores + "tcgen05.fence::before_thread_sync;\n";
  const std::string read =
      "tcgen05.fence::after_thread_sync;\n" + load("%tw") + kWaitLoads + "tcgen05.fence::before_thread_sync;\n";
  EXPECT_THAT(said(passed_on("bar.arrive 1, 64;\nbar.sync 2, 64;\ntcgen05.fence::after_thread_sync;\n" + again +
                                 "bar.arrive 1, 64;\n",
                             "bar.sync 1, 64;\n" + read + "bar.arrive 2, 64;\nbar.sync 1, 64;\n")),
              IsEmpty());
  EXPECT_THAT(said(passed_on("bar.arrive 1, 64;\n" + again + "bar.arrive 2, 64;\n",
                             "bar.sync 1, 64;\n" + read + "bar.sync 2, 64;\n")),
              ElementsAre("error tmem-handoff-race @again"));
}

TEST(NamedBarriers, CountedForMoreThanCome) {
  auto counted = [](const std::string& threads) {
    return ptx_kernel("bar.sync 1, " + threads + "; // @short\n" + begin(32) + end(32));
  };
  EXPECT_THAT(said(counted("128")), IsEmpty());
  // What hangs at a named barrier is said as a question: nothing tells which of its sides is wrong.
  EXPECT_THAT(said(counted("160")), ElementsAre("incomplete @short"));
}

TEST(NamedBarriers, WarpsThatHaveExitedAreNotWaitedFor) {
  Setting s;
  s.threads = 192;
  const std::string leaves = "@%w4 bra GONE;\n@%w5 bra GONE;\n";
  EXPECT_THAT(
      said(ptx_kernel(
          begin(128, init("full", 1)) + leaves + produce() + wait("full", "0") + kConsume + end(128) + "GONE:\n", s)),
      IsEmpty());
  // With a count of all threads of the block the two are missing.
  EXPECT_THAT(said(ptx_kernel(begin(128, init("full", 1)) + leaves + produce() + wait("full", "0") + kConsume +
                                  "bar.sync 3, 192; // @short\n" + end(128) + "GONE:\n",
                              s)),
              ElementsAre("incomplete @short"));
}

// --- fences ---

TEST(Fences, ARelaxedArriveOrdersNothingOfTensorMemoryByItself) {
  auto relaxed = [](const std::string& before, const std::string& after) {
    Setting s;
    s.threads = 192;
    return ptx_kernel(begin(32, init("empty", 32)) +
                          where("%w1", store("%tw", " // @store") + kWaitStores + before +
                                           "mbarrier.arrive.relaxed.cta.shared::cta.b64 _, [empty]; // @arrive\n") +
                          where("%w5",
                                "AGAIN: mbarrier.try_wait.parity.relaxed.cta.shared::cta.b64 %over, [empty], 0; // "
                                "@wait\n@!%over bra AGAIN;\n" +
                                    after + load("%tw", " // @load") + kWaitLoads) +
                          end(32),
                      s);
  };
  const std::string before = "tcgen05.fence::before_thread_sync;\n";
  const std::string after = "tcgen05.fence::after_thread_sync;\n";
  EXPECT_THAT(said(relaxed(before, after)), IsEmpty());
  EXPECT_THAT(said(relaxed("", after)), ElementsAre("error tmem-missing-fence @wait"));
  EXPECT_THAT(said(relaxed(before, "")), ElementsAre("error tmem-missing-fence @wait"));
}

TEST(Fences, AReleasingArriveWithoutThemIsANote) {
  auto released = [](const std::string& before, const std::string& after) {
    Setting s;
    s.threads = 192;
    return ptx_kernel(
        begin(32, init("empty", 32)) +
            where("%w1",
                  store("%tw", " // @store") + kWaitStores + before + "mbarrier.arrive.shared::cta.b64 _, [empty];\n") +
            where("%w5", "AGAIN: mbarrier.try_wait.parity.shared::cta.b64 %over, [empty], 0;\n@!%over bra AGAIN;\n" +
                             after + load("%tw", " // @load") + kWaitLoads) +
            end(32),
        s);
  };
  EXPECT_THAT(said(released("tcgen05.fence::before_thread_sync;\n", "tcgen05.fence::after_thread_sync;\n"), true),
              IsEmpty());
  EXPECT_THAT(said(released("", "")), IsEmpty());
  EXPECT_THAT(said(released("", ""), true), ElementsAre("note tmem-missing-fence @load"));
}

// --- clusters ---

Setting pair() {
  Setting s;
  s.cluster = 2;
  return s;
}

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
  const Joint open = joint_of(expects(commit_to("3"), 2, 0));
  ASSERT_EQ(open.run.uncertain.size(), 1u);
  EXPECT_THAT(open.run.uncertain[0].reason, testing::HasSubstr("give --cluster"));
  EXPECT_THAT(said(expects(commit_to("3"), 2, 0)), ElementsAre(testing::StartsWith("incomplete ")));
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

// --- lanes of their own ---

TEST(Lanes, WhatOneLaneCountsTheOthersDoNot) {
  // Two rounds, each run by one lane with its own phase bit, which the lane of the first round turns over.
  auto rounds = [](unsigned second) {
    auto round = [](unsigned lane, const std::string& rest) {
      return "setp.eq.u32 %p1, %l, " + std::to_string(lane) + ";\n" +
             where("%p1", mma("%ta", "%no") + commit("full") + wait("full", "%r11") + rest) +
             "bar.warp.sync 0xffffffff;\n";
    };
    return ptx_kernel(
        begin(128, init("full", 1)) + "mov.b32 %r11, 0;\n" +
        where("%w0", round(0, "xor.b32 %r11, %r11, 1;\n") + round(second, "") + load("%tw", " // @load") + kWaitLoads) +
        join() + wait("full", "1", " // @last") + end(128));
  };
  EXPECT_THAT(said(rounds(0)), IsEmpty());
  // Lane 1 still has the first round's bit and waits for nothing; the other warps wait for the second round before the
  // end.
  EXPECT_THAT(said(rounds(1)), ElementsAre("error tmem-mma-completion @load"));
}

TEST(Lanes, TheElectedLaneIsTheSameOneEachTime) {
  // Both regions are run by one lane, so that the commit of the second one tracks the mma of the first.
  EXPECT_THAT(
      said(ptx_kernel(begin(128, init("full", 1)) + where("%w0", elected(mma("%ta", "%no")) + elected(commit("full"))) +
                      wait("full", "0") + kConsume + end(128))),
      IsEmpty());
}

TEST(Lanes, LoopsOfDifferentLengthMeetAgain) {
  // Lane l goes round l + 1 times; behind the loop the whole warp is together again.
  auto loops = [](const std::string& inside, const std::string& behind) {
    return ptx_kernel(begin(32) + "mov.b32 %r10, 0;\nTOP:\nadd.u32 %r10, %r10, 1;\n" + inside +
                      "setp.le.u32 %p1, %r10, %l;\n@%p1 bra TOP;\n" + behind + end(32));
  };
  // The store and the wait inside the loop have one cause: the first of them is named.
  const std::string write = store("%tw", " // @store") + kWaitStores;
  EXPECT_THAT(said(loops("", write)), IsEmpty());
  EXPECT_THAT(said(loops(write, "")), ElementsAre("error tmem-warp-collective @store"));
}

// --- loops that nobody knows the length of ---

// A ring of two stages of 64 columns: warp 0 fills, warps 1 to 3 and itself empty. %n rounds.
std::string ring(const std::string& wait_empty, const std::string& arrive, unsigned count = 4) {
  const std::string stage =
      "and.b32 %r21, %r20, 1;\nbfe.u32 %r22, %r20, 1, 1;\nxor.b32 %r23, %r22, 1;\nmov.u32 %r30, ring;\nmad.lo.u32 "
      "%r30, %r21, 8, %r30;\n"
      "add.u32 %r31, %r30, 16;\nmad.lo.u32 %r32, %r21, 128, %ta;\nmad.lo.u32 %r33, %r21, 128, %tw;\n";
  const std::string next = "add.u32 %r20, %r20, 1;\n";
  Setting s;
  s.threads = 160;
  const std::string inits =
      init("ring", 1) + init("ring+8", 1) + init("ring+16", count, " // @init") + init("ring+24", count);
  return ptx_kernel(
      begin(256, inits) + "mov.b32 %r20, 0;\n@%w4 bra FILL;\nEMPTY:\nsetp.ge.u32 %p1, %r20, %n;\n@%p1 bra OUT;\n" +
          stage + wait("%r30", "%r22", " // @full") + load("%r33", " // @load") + kWaitLoads +
          "tcgen05.fence::before_thread_sync;\n" + elected(arrive) + next +
          "bra EMPTY;\nFILL:\nelect.sync _|%elected, 0xffffffff;\n@!%elected bra OUT;\nMORE:\nsetp.ge.u32 "
          "%p1, %r20, %n;\n@%p1 bra OUT;\n" +
          stage + wait_empty + mma("%r32", "%no", " // @mma") + commit("%r30") + next +
          "bra MORE;\nOUT:\nbar.warp.sync 0xffffffff;\n" + end(256),
      s);
}

const std::string kArrive = "mbarrier.arrive.shared::cta.b64 _, [%r31];\n";

TEST(UnknownTrips, ARingThatIsRight) {
  EXPECT_THAT(said(ring(wait("%r31", "%r23"), kArrive)), IsEmpty());
}

TEST(UnknownTrips, AFaultOfTheThirdRound) {
  // Nothing waits for the stages to be empty. Two rounds fill both stages and show nothing, the third overwrites the
  // first.
  auto with_rounds = [](const std::string& n) {
    std::string text = ring("", kArrive);
    if (!n.empty()) text.replace(text.find("ld.param.u32 %n, [n];"), 21, "mov.u32 %n, " + n + ";");
    return text;
  };
  EXPECT_THAT(said(with_rounds("2")), IsEmpty());
  EXPECT_THAT(said(with_rounds("3")), ElementsAre("error tmem-handoff-race @mma"));
  // From the fifth round on, loads behind a wait for an old phase meet an mma that is still running.
  EXPECT_THAT(said(with_rounds("")), ElementsAre("error tmem-handoff-race @mma", "error tmem-mma-completion @load"));
}

TEST(UnknownTrips, StagesThatAreCountedWrong) {
  // Three of the four consumer warps complete the phase, the fourth may still be reading.
  EXPECT_THAT(said(ring(wait("%r31", "%r23"), "mbarrier.arrive.shared::cta.b64 _, [%r31]; // @arrive\n", 3)),
              ElementsAre("error tmem-handoff-race @mma", "warning tmem-mbarrier-count @arrive"));
  EXPECT_THAT(said(ring(wait("%r31", "%r23"), kArrive, 5)), ElementsAre("warning tmem-mbarrier-count @init"));
}

TEST(UnknownTrips, RoundsThatAreOverTwiceAtOnce) {
  // Four arrivals complete two phases of an mbarrier for two: whoever waits for the first one sees the parity of none.
  const Joint joint = joint_of(ring(wait("%r31", "%r23"), kArrive, 2));
  const auto stuck = std::find_if(joint.run.sightings.begin(), joint.run.sightings.end(),
                                  [](const cluster::Sighting& s) { return s.fault == cluster::Fault::kStuck; });
  ASSERT_NE(stuck, joint.run.sightings.end());
  EXPECT_TRUE(stuck->passed);
  EXPECT_EQ(stuck->first, 2);
  EXPECT_EQ(mark_at({joint.module->source, joint.module->instructions[stuck->at].span, false, {}, {}}), "@init");
}

TEST(UnknownTrips, AFaultOfOneRoundOnly) {
  // Rounds write two stages in turn. With two rounds both are written; with one, only the first.
  auto behind = [](const std::string& read) {
    return ptx_kernel(begin(256, init("full", 1)) +
                      "mov.b32 %r20, 0;\nTOP:\nand.b32 %r22, %r20, 1;\nmad.lo.u32 %r32, %r22, 128, %ta;\n" +
                      where("%w0", elected(mma("%r32", "%no") + commit("full"))) + wait("full", "%r22") +
                      "add.u32 %r20, %r20, 1;\nsetp.lt.u32 %p1, %r20, %n;\n@%p1 bra TOP;\n" + read + kWaitLoads +
                      end(256));
  };
  EXPECT_THAT(said(behind(load("%tw"))), IsEmpty());
  EXPECT_THAT(said(behind(load("%tw+128", " // @load"))), ElementsAre("warning tmem-uninitialized @load"));
}

TEST(UnknownTrips, NoRoundAtAll) {
  // What follows the loop reads what it wrote. That it runs at all is what such kernels rely on: a note.
  auto loop = [](const std::string& before) {
    return ptx_kernel(begin(128, init("full", 1)) + "mov.b32 %r20, 0;\nmov.b32 %r22, 0;\n" + before +
                      "TOP:\nsetp.ge.u32 %p1, %r20, %n;\n@%p1 bra OUT;\n" + produce() + wait("full", "%r22") +
                      "xor.b32 %r22, %r22, 1;\nadd.u32 %r20, %r20, 1;\nbra TOP;\nOUT:\n" + kConsume + end(128));
  };
  EXPECT_THAT(said(loop(""), true), ElementsAre("note tmem-uninitialized @load"));
  EXPECT_THAT(said(loop(store("%tw") + kWaitStores + join()), true), IsEmpty());
}

TEST(UnknownTrips, LoopsOfOneCountRunEquallyOften) {
  // Warp 1 hands out n * m tickets, warp 0 takes m of them for each of n tiles; `more` is taken besides.
  auto tiles = [](const std::string& more) {
    return ptx_kernel(
        begin(128, init("full", 1, " // @init-full") + init("empty", 1) + init("ring", 1)) +
        "mov.b32 %r20, 0;\nmov.b32 %r40, 0;\n" +
        where("%w1",
              elected("mul.lo.u32 %r30, %n, %m;\nGIVE:\nsetp.ge.u32 %p1, %r20, %r30;\n@%p1 bra GIVEN;\nand.b32 %r21, "
                      "%r20, 1;\nxor.b32 %r21, %r21, 1;\n" +
                      wait("empty", "%r21") +
                      "mbarrier.arrive.shared::cta.b64 _, [full];\nadd.u32 %r20, %r20, 1;\nbra GIVE;\nGIVEN:\n")) +
        where("%w0",
              elected("TILE:\nsetp.ge.u32 %p1, %r40, %n;\n@%p1 bra DONE;\nmov.b32 %r41, 0;\nTAKE:\nsetp.ge.u32 %p1, "
                      "%r41, %m;\n@%p1 bra TAKEN;\nand.b32 %r21, %r20, 1;\n" +
                      wait("full", "%r21") + "setp.ne.u32 %p2, %r20, 0;\n" + mma("%ta", "%p2") + commit("empty") +
                      "add.u32 %r20, %r20, 1;\nadd.u32 %r41, %r41, 1;\nbra TAKE;\nTAKEN:\nadd.u32 %r40, %r40, 1;\nbra "
                      "TILE;\nDONE:\n" +
                      more + commit("ring"))) +
        wait("ring", "0") + kConsume + end(128));
  };
  EXPECT_THAT(said(tiles("")), IsEmpty());
  EXPECT_THAT(said(tiles("and.b32 %r21, %r20, 1;\n" + wait("full", "%r21") + mma("%ta", "%yes"))),
              ElementsAre("warning tmem-mbarrier-count @init-full"));
}

TEST(UnknownTrips, CountsThatAreWrittenDifferently) {
  // Warp 1 hands out ceil(n / 64) tickets; warp 0 takes one for each 64 of n that are left, or for each 32.
  auto steps = [](const std::string& step) {
    return ptx_kernel(
        begin(128, init("full", 1, " // @init-full") + init("empty", 1) + init("ring", 1)) + "mov.b32 %r20, 0;\n" +
        where("%w1",
              elected("add.u32 %r30, %n, 63;\nshr.u32 %r30, %r30, 6;\nGIVE:\nsetp.ge.u32 %p1, %r20, %r30;\n@%p1 bra "
                      "GIVEN;\nand.b32 %r21, %r20, 1;\nxor.b32 %r21, %r21, 1;\n" +
                      wait("empty", "%r21") +
                      "mbarrier.arrive.shared::cta.b64 _, [full];\nadd.u32 %r20, %r20, 1;\nbra GIVE;\nGIVEN:\n")) +
        where("%w0",
              elected("mov.u32 %r40, %n;\nTAKE:\nsetp.le.s32 %p1, %r40, 0;\n@%p1 bra TAKEN;\nand.b32 %r21, %r20, 1;\n" +
                      wait("full", "%r21") + "setp.ne.u32 %p2, %r20, 0;\n" + mma("%ta", "%p2") + commit("empty") +
                      "add.u32 %r20, %r20, 1;\nsub.u32 %r40, %r40, " + step + ";\nbra TAKE;\nTAKEN:\n" +
                      commit("ring"))) +
        wait("ring", "0") + kConsume + end(128));
  };
  EXPECT_THAT(said(steps("64")), IsEmpty());
  EXPECT_THAT(said(steps("32")), ElementsAre("warning tmem-mbarrier-count @init-full"));
}

TEST(UnknownTrips, TilesByTheNumberOfTheCta) {
  // Tiles ctaid, ctaid + nctaid, ... below n, in two warps that keep their own count; `start` is where the second one
  // begins.
  auto persistent = [](const std::string& start) {
    return ptx_kernel(
        begin(128, init("full", 1, " // @init") + init("empty", 1)) +
        "mov.b32 %r20, 0;\nmov.u32 %r40, %ctaid.x;\nmov.u32 %r41, %nctaid.x;\n" +
        where(
            "%w1",
            elected(
                "MORE:\nsetp.ge.u32 %p1, %r40, %n;\n@%p1 bra DONE;\nand.b32 %r21, %r20, 1;\nxor.b32 %r22, %r21, 1;\n" +
                wait("empty", "%r22") + mma("%ta", "%no", " // @mma") + commit("full") +
                "add.u32 %r20, %r20, 1;\nadd.u32 %r40, %r40, %r41;\nbra MORE;\nDONE:\n")) +
        where("%w0", start + "NEXT:\nsetp.ge.u32 %p1, %r40, %n;\n@%p1 bra LAST;\nand.b32 %r21, %r20, 1;\n" +
                         wait("full", "%r21") + load("%tw") + kWaitLoads + "tcgen05.fence::before_thread_sync;\n" +
                         elected("mbarrier.arrive.shared::cta.b64 _, [empty];\n") +
                         "add.u32 %r20, %r20, 1;\nadd.u32 %r40, %r40, %r41;\nbra NEXT;\nLAST:\n") +
        end(128));
  };
  EXPECT_THAT(said(persistent("")), IsEmpty());
  // One tile more than are computed: its wait never ends.
  EXPECT_THAT(said(persistent("sub.u32 %r40, %r40, %r41;\n")), ElementsAre("warning tmem-mbarrier-count @init"));
}

TEST(UnknownTrips, TheLastCommitIsWaitedForByItsParity) {
  // Each round waits for the commit of the one before; behind the loop the last commit is waited for, if there was any.
  auto drain = [](const std::string& condition) {
    return ptx_kernel(
        begin(128, init("full", 1)) + "mov.b32 %r20, 0;\n" +
        where("%w0",
              elected("TOP:\nsetp.ge.u32 %p1, %r20, %n;\n@%p1 bra OUT;\n" + condition + mma("%ta", "%no", " // @mma") +
                      commit("full") + "add.u32 %r20, %r20, 1;\nbra TOP;\nOUT:\n" +
                      "setp.eq.u32 %p1, %n, 0;\n@%p1 bra NONE;\nsub.u32 %r21, %n, 1;\nand.b32 %r21, %r21, 1;\n" +
                      wait("full", "%r21") + "NONE:\n")) +
        end(128));
  };
  // Before each round but the first, the one before it.
  const std::string before =
      "setp.eq.u32 %p2, %r20, 0;\n@%p2 bra FIRST;\nsub.u32 %r21, %r20, 1;\nand.b32 %r21, %r21, 1;\n" +
      wait("full", "%r21") + "FIRST:\n";
  EXPECT_THAT(said(drain(before)), IsEmpty());
  // A parity tells two phases apart, not n: without the waits in the loop the last one is satisfied by an earlier
  // commit.
  EXPECT_THAT(said(drain("")),
              ElementsAre("error tmem-mma-completion @dealloc", "warning tmem-exit-in-flight `    ret;`"));
}

// --- flags ---

TEST(Flags, BothWaysOfAnUnknownFlagAreTried) {
  for (const char* const relation : {"eq", "ne"}) {
    const std::string test = std::string("setp.") + relation + ".u32 %p1, %m, 0;\n";
    // The wait is left out where the load is not.
    EXPECT_THAT(said(ptx_kernel(begin(128, init("full", 1)) + produce() + test + where("%p1", wait("full", "0")) +
                                kConsume + join() + wait("full", "0") + end(128))),
                ElementsAre("error tmem-mma-completion @load"))
        << relation;
    EXPECT_THAT(said(ptx_kernel(begin(128, init("full", 1)) + produce() + test +
                                where("%p1", wait("full", "0") + kConsume) + join() + wait("full", "0") + end(128))),
                IsEmpty())
        << relation;
  }
}

TEST(Flags, OneConditionIsWrittenInTwoWays) {
  // n > 4 and n >= 5 are the same; n >= 4 is not, and with n = 4 the columns are read that no mma has written.
  auto read = [](const std::string& condition) {
    return ptx_kernel(begin(128, init("full", 1)) + "setp.gt.s32 %p1, %n, 4;\n" + condition +
                      where("%p1", produce() + wait("full", "0")) + where("%p2", kConsume) + end(128));
  };
  EXPECT_THAT(said(read("setp.ge.s32 %p2, %n, 5;\n")), IsEmpty());
  EXPECT_THAT(said(read("setp.ge.s32 %p2, %n, 4;\n")), ElementsAre("warning tmem-uninitialized @load"));
}

TEST(Flags, OneDecisionHoldsEverywhere) {
  // Warp 0 issues the mma and the others wait for it on the same condition, which each of them computes for itself.
  auto flagged = [](const std::string& second) {
    return ptx_kernel(begin(128, init("full", 1)) + "setp.gt.s32 %p1, %m, 4;\n" + where("%p1", produce()) + second +
                      where("%p2", wait("full", "0", " // @wait") + kConsume) + end(128));
  };
  EXPECT_THAT(said(flagged("setp.le.s32 %p3, %m, 4;\nnot.pred %p2, %p3;\n")), IsEmpty());
  // With m = 4 the others wait for what is never issued: a value that such a kernel may never be given, so nothing is
  // said of that. With larger numbers both do, with smaller ones neither.
  EXPECT_THAT(said(flagged("setp.ge.s32 %p2, %m, 4;\n")), IsEmpty());
}

// Where m is 0 something is written to Tensor Memory: that makes a decision about where the flag comes from.
std::string flagged_two_rounds(const std::string& flag) {
  const std::string decision =
      flag + "setp.eq.u32 %p1, %m, 0;\n" + where("%p1", store("%tw+64") + kWaitStores) + join();
  return ptx_kernel(begin(128, init("full", 1) + init("empty", 33, " // @init")) + decision + produce() +
                    where("%w1", wait("full", "0") + kConsume + "mbarrier.arrive.shared::cta.b64 _, [empty];\n" +
                                     wait("full", "1") + kConsume) +
                    where("%w0", elected(wait("empty", "0") + mma("%ta", "%no") + commit("full"))) + end(128));
}

TEST(Hangs, AreFindingsWhereOnlyParametersDecide) {
  EXPECT_THAT(said(flagged_two_rounds("")), ElementsAre("warning tmem-mbarrier-count @init"));
  // A word from memory may be related to what the count stands for.
  const std::vector<std::string> loaded = said(flagged_two_rounds("ld.global.u32 %m, [%out];\n"));
  ASSERT_EQ(loaded.size(), 1u);
  EXPECT_THAT(loaded[0], testing::StartsWith("incomplete "));
}

TEST(Hangs, AreNotFindingsForAFlagOfTheOtherValue) {
  // Where m is 0 nobody arrives. That such a kernel is never launched that way is the likelier explanation.
  auto arrives = [](const std::string& condition) {
    return ptx_kernel(
        begin(128, init("full", 1) + init("empty", 32)) + produce() + "setp.ne.u32 %p1, %m, 0;\n" +
        where("%w1", wait("full", "0") + kConsume + where(condition, "mbarrier.arrive.shared::cta.b64 _, [empty];\n")) +
        where("%w0", wait("empty", "0")) + join() + wait("full", "0") + end(128));
  };
  EXPECT_THAT(said(arrives("%yes")), IsEmpty());
  EXPECT_THAT(said(arrives("%p1")), IsEmpty());
}

// --- other mbarrier operations ---

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
                    token + ";\n@!%over bra B;\ntcgen05.fence::after_thread_sync;\n" + load("%tw", " // @load") +
                    kWaitLoads) +
            end(256),
        {160, 0, "sm_100a"});
  };
  EXPECT_THAT(said(rounds("%d2")), IsEmpty());
  // The first token is about the phase that is complete.
  EXPECT_THAT(said(rounds("%d1")), ElementsAre("error tmem-handoff-race @load"));
}

TEST(Mbarriers, AreInitialisedAgainAfterInval) {
  auto again = [](const std::string& first_use, const std::string& second_wait) {
    return ptx_kernel(begin(128, init("full", 1)) + first_use + join() +
                      where("%first", "mbarrier.inval.shared::cta.b64 [full];\n" + init("full", 1)) + join() +
                      produce() + wait("full", second_wait) + kConsume + end(128));
  };
  const std::string round = produce() + wait("full", "0");
  EXPECT_THAT(said(again(round, "0")), IsEmpty());
  // The new object is in phase 0 again.
  EXPECT_THAT(said(again(round, "1")),
              ElementsAre("error tmem-mma-completion @dealloc", "error tmem-mma-completion @load",
                          "warning tmem-exit-in-flight `    ret;`"));
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

// --- scenarios ---

TEST(Scenarios, AreAsManyAsThereIsToDecide) {
  EXPECT_EQ(joint_of(ptx_kernel(begin(128, init("full", 1)) + produce() + wait("full", "0") + kConsume + end(128)))
                .run.scenarios,
            1u);
  // A loop without a known end: 2 rounds, and 1, 0 and 5.
  EXPECT_EQ(joint_of(ring(wait("%r31", "%r23"), kArrive)).run.scenarios, 4u);
  // A flag: each way.
  EXPECT_EQ(
      joint_of(ptx_kernel(begin(32) + "setp.eq.u32 %p1, %m, 0;\n" + where("%p1", store("%tw") + kWaitStores) + end(32)))
          .run.scenarios,
      2u);
}

TEST(Scenarios, ThatWouldBeTheSameAreNotRun) {
  // The end of the loop is not known, but both ways of the branch that decides it lead on: only the number of rounds
  // differs. A do-while loop runs once whether it is let run 0 or 1 times.
  auto loop = [](const std::string& rounds) {
    return joint_of(ptx_kernel(begin(32) + "mov.b32 %r20, 0;\nTOP:\n" + store("%tw") + kWaitStores +
                               "add.u32 %r20, %r20, 1;\nsetp.lt.u32 %p1, %r20, " + rounds + ";\n@%p1 bra TOP;\n" +
                               end(32)))
        .run.scenarios;
  };
  EXPECT_EQ(loop("3"), 1u);
  EXPECT_EQ(loop("%n"), 3u);
}

TEST(Scenarios, AWishThatCannotComeTrueIsNotFollowed) {
  // With n < 4 decided, n > 9 is ruled out: the scenario that wishes it ends where it is refused, and does not count as
  // one of those that take an unknown condition the other way.
  const std::string rest = "mov.b32 %r20, 0;\nTOP:\n" + store("%tw") + kWaitStores +
                           "add.u32 %r20, %r20, 1;\nsetp.lt.u32 %p3, %r20, 40;\n@%p3 bra TOP;\n";
  auto steps = [&](const std::string& second) {
    return joint_of(ptx_kernel(begin(32) + "setp.lt.u32 %p1, %n, 4;\n@!%p1 bra OUT;\nsetp.gt.u32 %p2, " + second +
                               ", 9;\n" + where("%p2", store("%tw+4") + kWaitStores) + rest + "OUT:\n" + end(32)))
        .run.steps;
  };
  // Both scenarios of an independent condition run to the end.
  EXPECT_LT(steps("%n") * 3, steps("%m") * 2);
}

TEST(Scenarios, ASightingKnowsItsDecisions) {
  const std::string text =
      ptx_kernel(begin(128, init("full", 1)) + produce() + "setp.eq.u32 %p1, %m, 0;\n@%p1 bra EARLY; // @flag\n" +
                 wait("full", "0") + "EARLY:\n" + kConsume + join() + wait("full", "0") + end(128));
  const Joint joint = joint_of(text);
  ASSERT_EQ(joint.run.sightings.size(), 1u);
  const cluster::Sighting& s = joint.run.sightings.front();
  EXPECT_EQ(s.fault, cluster::Fault::kNotComplete);
  ASSERT_EQ(s.decisions().size(), 1u);
  EXPECT_TRUE(s.decisions()[0].taken);
  EXPECT_EQ(
      mark_at({joint.module->source, joint.module->instructions[s.decisions()[0].instruction].span, false, {}, {}}),
      "@flag");
  EXPECT_EQ(mark_at({joint.module->source, joint.module->instructions[s.at].span, false, {}, {}}), "@load");
  EXPECT_EQ(mark_at({joint.module->source, joint.module->instructions[s.other].span, false, {}, {}}), "@mma");
}

TEST(Scenarios, TheLogSaysWhatEachWarpWaitedFor) {
  cluster::JointSetting setting;
  setting.log = true;
  const Joint joint =
      joint_of(ptx_kernel(begin(128, init("full", 1)) + produce() + wait("full", "0") + kConsume + end(128)), setting);
  std::vector<uint32_t> waited;
  std::vector<std::string> loaded;
  for (const cluster::Step& step : joint.run.log) {
    if (step.text == "waited for phase 0") waited.push_back(step.warp);
    if (step.text.starts_with("columns 0-")) loaded.push_back(step.text);
  }
  EXPECT_THAT(waited, testing::UnorderedElementsAre(0u, 1u, 2u, 3u));
  EXPECT_THAT(loaded, ElementsAre("columns 0-3", "columns 0-3", "columns 0-3", "columns 0-3"));
}

TEST(Scenarios, ABudgetThatIsUsedUpIsSaid) {
  cluster::JointSetting setting;
  setting.step_budget = 50;
  const Joint joint = joint_of(ring(wait("%r31", "%r23"), kArrive), setting);
  EXPECT_THAT(joint.run.sightings, IsEmpty());
  ASSERT_EQ(joint.run.uncertain.size(), 1u);
  EXPECT_THAT(joint.run.uncertain[0].reason, testing::HasSubstr("budget of 50 steps"));
}

TEST(Scenarios, MoreFlagsThanScenariosIsAQuestion) {
  auto flags = [](unsigned count) {
    std::string body;
    for (unsigned n = 0; n < count; ++n) {
      body += "ld.global.u32 %r50, [%out+" + std::to_string(4 * n) + "];\nsetp.eq.u32 %p1, %r50, 0;\n" +
              where("%p1", store("%tw") + kWaitStores);
    }
    return ptx_kernel(begin(32) + body + end(32));
  };
  EXPECT_THAT(said(flags(16)), IsEmpty());
  const std::vector<std::string> more = said(flags(17));
  ASSERT_EQ(more.size(), 1u);
  EXPECT_THAT(more[0], testing::StartsWith("incomplete "));
}

TEST(Scenarios, ClustersUpToSixteenAreStepped) {
  auto cluster = [](unsigned ctas) {
    Setting s;
    s.cluster = ctas;
    return ptx_kernel(begin(32) + end(32), s);
  };
  EXPECT_THAT(said(cluster(8)), IsEmpty());
  EXPECT_THAT(said(cluster(16)), IsEmpty());
}

TEST(Scenarios, WhatIsNotKnownIsAQuestion) {
  // Which columns are touched comes from memory.
  const Joint columns = joint_of(ptx_kernel(begin(32) + "ld.global.u32 %r50, [%out];\nadd.u32 %r50, %r50, %tw;\n" +
                                            store("%r50") + kWaitStores + end(32)));
  EXPECT_THAT(columns.run.sightings, IsEmpty());
  ASSERT_EQ(columns.run.uncertain.size(), 1u);
  EXPECT_EQ(columns.run.uncertain[0].reason, "which columns this touches could not be followed");
  EXPECT_LT(columns.run.decided, columns.run.asked);
  // A commit arrives on what was never initialised.
  EXPECT_THAT(said(ptx_kernel(begin(128) + produce() + end(128))), ElementsAre("incomplete @commit"));
  // For how many arrivals an mbarrier is, is a parameter.
  EXPECT_THAT(said(ptx_kernel(begin(128, "mbarrier.init.shared::cta.b64 [full], %n; // @init\n") + produce() +
                              wait("full", "0") + kConsume + end(128))),
              ElementsAre("incomplete @init"));
}

// --- lanes of one warp that wait for each other ---

TEST(Lanes, OneWaitsForWhatAnotherOneDoesLater) {
  // Lane 0 waits for the commit of lane 1 of its warp, which comes later in the text.
  const std::string split = "setp.eq.u32 %p1, %l, 0;\nsetp.eq.u32 %p2, %l, 1;\n@!%p1 bra OTHERS;\n" +
                            wait("full", "0") + "OTHERS:\n@!%p2 bra TOGETHER;\n" + mma("%ta", "%no") + commit("full") +
                            "TOGETHER:\nbar.warp.sync -1;\n";
  EXPECT_THAT(
      said(ptx_kernel(begin(128, init("full", 1)) + where("%w0", split) + wait("full", "0") + kConsume + end(128))),
      IsEmpty());
  // The same without the commit hangs.
  std::string none = split;
  none.replace(none.find(commit("full")), commit("full").size(), "");
  EXPECT_THAT(said(ptx_kernel(begin(128, init("full", 1, " // @init")) + where("%w0", none) + wait("full", "0") +
                              kConsume + end(128))),
              Contains("warning tmem-mbarrier-count @init"));
}

TEST(Lanes, HalvesOfAWarpMeetAtABarrier) {
  const std::string half =
      "setp.lt.u32 %p1, %l, 16;\n@%p1 bra FIRST;\nbarrier.sync 1, 32;\nbra MET;\n"
      "FIRST:\nbarrier.sync 1, 32;\nMET:\nbar.warp.sync -1;\n";
  EXPECT_THAT(said(ptx_kernel(begin(128) + where("%w1", half) + end(128))), IsEmpty());
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

TEST(Copies, AnnouncedBytesThatNothingBrings) {
  const std::string announce = "mbarrier.arrive.expect_tx.shared::cta.b64 _, [empty], 16384;\n";
  EXPECT_THAT(
      said(ptx_kernel(begin(128, init("full", 1) + init("empty", 1, " // @init")) +
                      where("%w0", elected(announce + wait("empty", "0") + mma("%ta", "%no") + commit("full"))) +
                      wait("full", "0") + kConsume + end(128))),
      Contains("warning tmem-mbarrier-count @init"));
}

TEST(Columns, TheFirstOneIsCertainWhateverTheDescriptor) {
  const std::string unknown = "tcgen05.mma.cta_group::1.kind::f16 [%r60], %a, %b, %n, %no; // @mma\n";
  auto kernel = [&](const std::string& offset) {
    return ptx_kernel(begin(64, init("full", 1)) + "add.u32 %r60, %ta, " + offset + ";\n" +
                      where("%w0", elected(unknown + commit("full"))) + wait("full", "0") + end(64));
  };
  EXPECT_THAT(said(kernel("64")), Contains("error tmem-column-bounds @mma"));
  EXPECT_THAT(said(kernel("32")), IsEmpty());
}

// --- calls that cannot be followed ---

TEST(UnknownCalls, MayWaitJoinAndFree) {
  auto with_call = [](std::string text) {
    text.insert(text.find(".visible"), ".extern .func other;\n");
    return text;
  };
  const std::string call = "call.uni other;\n";
  // Whether columns are read too early, or freed, depends on what the function does.
  EXPECT_THAT(said(with_call(ptx_kernel(begin(128, init("full", 1)) + produce() + call + kConsume))),
              testing::Each(testing::StartsWith("incomplete")));
  // A size is wrong whatever it does.
  EXPECT_THAT(said(with_call(ptx_kernel(begin(96) + call + end(96)))),
              Contains(testing::HasSubstr("error tmem-alloc-size")));
}

// --- sizes that depend on a parameter ---

TEST(Growing, WhicheverSizeTheFirstAllocHas) {
  auto kernel = [](const std::string& second) {
    return ptx_kernel("setp.ne.u32 %p1, %n, 0;\nselp.u32 %r50, 256, 128, %p1;\n" + second +
                          R"(mov.u32 %r53, slot;
tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r53], %r50;
ld.shared.u32 %r52, [slot];
tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r52, %r50;
tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r53], %r51; // @second
ld.shared.u32 %r52, [slot];
tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r52, %r51;
tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;
)",
                      Setting{.threads = 32});
  };
  EXPECT_THAT(said(kernel("shl.b32 %r51, %r50, 1;\n")), ElementsAre("error tmem-alloc-growing @second"));
  EXPECT_THAT(said(kernel("shr.u32 %r51, %r50, 1;\n")), IsEmpty());
  EXPECT_THAT(said(kernel("mov.u32 %r51, %r50;\n")), IsEmpty());
}

// --- what a scenario takes unknowns for ---

TEST(Unknowns, TheFirstCtaIsOneOfThem) {
  auto skipped = [](const std::string& condition) {
    return said(ptx_kernel(begin(128, init("full", 1)) + produce() + "mov.u32 %r20, %ctaid.x;\n" + condition +
                           "@%p1 bra EARLY;\n" + wait("full", "0") + "EARLY:\n" + kConsume + join() +
                           wait("full", "0") + end(128)));
  };
  for (const std::string condition : {"setp.eq.u32 %p1, %r20, 0;\n", "setp.ne.u32 %p1, %r20, 0;\n",
                                      "setp.eq.u32 %p1, %r20, 7;\n", "setp.gt.s32 %p1, %r20, 2;\n"}) {
    EXPECT_THAT(skipped(condition), ElementsAre("error tmem-mma-completion @load")) << condition;
  }
  EXPECT_THAT(skipped("setp.lt.s32 %p1, %r20, 0;\n"), IsEmpty());
}

TEST(Unknowns, AConditionThatComesTrueInALaterRound) {
  // 64 * (round + 1) > n is not possible for the first two of four rounds where n > 128.
  auto rounds = [](const std::string& last) {
    return said(ptx_kernel(begin(128, init("full", 1)) + "setp.le.s32 %p1, %n, 128;\n@%p1 bra OUT;\n" + produce() +
                           "mov.b32 %r20, 64;\nTOP:\nsetp.gt.s32 %p2, %r20, %n;\n@%p2 bra PAST;\n" + wait("full", "0") +
                           "PAST:\n" + last + kConsume +
                           "add.u32 %r20, %r20, 64;\nsetp.le.s32 %p3, %r20, 256;\n@%p3 bra TOP;\n" + "OUT:\n" + join() +
                           where("%p1", "bra OVER;\n") + wait("full", "0") + "OVER:\n" + end(128)));
  };
  EXPECT_THAT(rounds(wait("full", "0")), IsEmpty());
}

TEST(Unknowns, ALoadIsExtendedByItsSign) {
  // What is negative as 32 bits is negative as 64: either both the mma and the wait are skipped, or none.
  auto tile = [](const std::string& type) {
    return said(ptx_kernel(begin(128, init("full", 1)) + where("%w0", "st.shared.b32 [ring], %n;\n") + join() +
                           "ld.volatile.shared.b32 %r20, [ring];\nsetp.lt.s32 %p1, %r20, 0;\n" + "ld.volatile.shared." +
                           type + " %d1, [ring];\nsetp.lt.s64 %p2, %d1, 0;\n" + "@%p2 bra NONE;\n" + produce() +
                           "NONE:\n@%p1 bra OVER;\n" + wait("full", "0") + kConsume + "OVER:\n" + end(128)));
  };
  EXPECT_THAT(tile("s32"), IsEmpty());
  EXPECT_THAT(tile("u32"), Not(IsEmpty()));
}

TEST(Unknowns, ALoadThatIsUsedBehindTheArrivalIsPendingAtIt) {
  auto handed_over = [](const std::string& before, const std::string& after) {
    return said(ptx_kernel(
        begin(128, init("full", 1) + init("empty", 128)) + produce() + wait("full", "0") + load("%tw", " // @load") +
        before + "tcgen05.fence::before_thread_sync;\nmbarrier.arrive.shared::cta.b64 _, [empty]; // @arrive\n" +
        after + where("%w0", elected(wait("empty", "0") + mma("%ta", "%no") + commit("full"))) + wait("full", "1") +
        end(128)));
  };
  const std::string use = "add.u32 %r5, %r1, %r2;\nadd.u32 %r5, %r3, %r4;\nst.global.u32 [%out], %r5;\n";
  EXPECT_THAT(handed_over(kWaitLoads, use), IsEmpty());
  EXPECT_THAT(handed_over("", kWaitLoads + use), Contains("error tmem-missing-wait-ld @arrive"));
  EXPECT_THAT(handed_over("", use), Contains("error tmem-missing-wait-ld @arrive"));
  EXPECT_THAT(handed_over(use, ""), Not(Contains("error tmem-missing-wait-ld @arrive")));
}

TEST(Slots, AreWrittenByTheAllocAlone) {
  auto written = [](const std::string& where_to) {
    return said(ptx_kernel(where("%w3", "st.shared.b32 [" + where_to + "], %t; // @over\n") + begin(32) + end(32)));
  };
  EXPECT_THAT(written("slot"), Contains("error tmem-slot-race @over"));
  EXPECT_THAT(written("slot+8"), IsEmpty());
}

// --- conditions that are combined ---

TEST(Flags, GuardTheDeallocHoweverTheyAreCombined) {
  // The columns are freed early where both conditions hold, else at the end.
  const std::string conditions = "setp.ne.s32 %p1, %n, 0;\nsetp.eq.s32 %p2, %m, 1;\n";
  const std::string free = "tcgen05.dealloc.cta_group::1.sync.aligned.b32 %ta, 32;\n";
  const std::string allocate =
      "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 32; // @alloc\nld.shared.b32 %ta, [slot];\n";
  const std::vector<std::string> both = {
      "and.pred %p3, %p1, %p2;\n@!%p3 bra LATER;\n" + free + "LATER:\n",
      "not.pred %p4, %p1;\nnot.pred %p5, %p2;\nor.pred %p3, %p4, %p5;\n@%p3 bra LATER;\n" + free + "LATER:\n",
      "@!%p1 bra LATER;\n@!%p2 bra LATER;\n" + free + "LATER:\n",
      "selp.u32 %r1, 1, 0, %p1;\nselp.u32 %r2, %r1, 0, %p2;\nsetp.eq.u32 %p3, %r2, 0;\n@%p3 bra LATER;\n" + free +
          "LATER:\n"};
  const std::vector<std::string> rest = {
      "and.pred %p6, %p1, %p2;\n@%p6 bra OVER;\n" + free + "OVER:\n",
      "not.pred %p7, %p1;\nnot.pred %p8, %p2;\nor.pred %p6, %p7, %p8;\n@!%p6 bra OVER;\n" + free + "OVER:\n",
      "@!%p1 bra FREE;\n@%p2 bra OVER;\nFREE:\n" + free + "OVER:\n",
      "selp.u32 %r3, 1, 0, %p1;\nselp.u32 %r4, %r3, 0, %p2;\nsetp.ne.u32 %p6, %r4, 0;\n@%p6 bra OVER;\n" + free +
          "OVER:\n"};
  Setting one_warp;
  one_warp.threads = 32;
  for (const std::string& early : both) {
    for (const std::string& late : rest) {
      const std::string body = conditions + allocate + early + "bar.warp.sync 0xffffffff;\n" + late;
      EXPECT_THAT(said(ptx_kernel(body, one_warp)), IsEmpty()) << body;
    }
    // At the end only where the first does not hold: leaked where it alone does.
    const std::string leak =
        conditions + allocate + early + "bar.warp.sync 0xffffffff;\n@%p1 bra OVER;\n" + free + "OVER:\n";
    EXPECT_THAT(said(ptx_kernel(leak, one_warp)), ElementsAre("error tmem-missing-dealloc @alloc")) << leak;
  }
}

TEST(Flags, GuardTheDeallocBehindALoopThatAsksThem) {
  // Allocated where p1, or p2 and p3; the loop, whose end is not known, decides about more and more.
  auto kernel = [](const std::string& not_freed) {
    Setting one_warp;
    one_warp.threads = 32;
    return said(ptx_kernel(
        "setp.eq.s32 %p1, %m, 7;\nsetp.eq.s32 %p2, %m, 2;\nsetp.gt.s32 %p3, %n, 4;\nmov.b32 %ta, 0;\n"
        "@%p1 bra TAKE;\nnot.pred %p4, %p2;\nnot.pred %p5, %p3;\nor.pred %p6, %p4, %p5;\n@%p6 bra START;\nTAKE:\n"
        "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 32; // @alloc\nld.shared.b32 %ta, [slot];\n"
        "START:\nmov.b32 %r20, 0;\nsetp.le.s32 %p7, %n, 0;\n@%p7 bra DONE;\n"
        "TOP:\nst.global.u32 [%out], %r20;\nadd.u32 %r20, %r20, 1;\nsetp.lt.s32 %p8, %r20, %n;\n@%p8 bra "
        "TOP;\nDONE:\n" +
            not_freed + "@%p9 bra OUT;\ntcgen05.dealloc.cta_group::1.sync.aligned.b32 %ta, 32;\nOUT:\n",
        one_warp));
  };
  EXPECT_THAT(kernel("not.pred %p10, %p1;\nnot.pred %p11, %p2;\nnot.pred %p12, %p3;\nor.pred %p13, %p11, %p12;\n"
                     "and.pred %p9, %p10, %p13;\n"),
              IsEmpty());
  EXPECT_THAT(kernel("not.pred %p10, %p1;\nnot.pred %p11, %p2;\nsetp.le.s32 %p12, %n, 5;\n"
                     "or.pred %p13, %p11, %p12;\nand.pred %p9, %p10, %p13;\n"),
              ElementsAre("error tmem-missing-dealloc @alloc"));
}

// Each event carries all that is pending, and what that takes grows with the events and not with their square.
TEST(PendingLoads, ManyInARow) {
  constexpr size_t kLoads = 64;
  std::string body = begin(32);
  for (size_t n = 0; n < kLoads; ++n) {
    body += "tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r" + std::to_string(10 + n) + "}, [%tw];\n";
  }
  const Joint joint = joint_of(ptx_kernel(body + kWaitLoads + end(32)));
  for (const warp::WarpGraph& w : joint.analysis->warps) {
    size_t most = 0;
    for (const warp::Event& e : w.events) most = std::max(most, w.loads_before(e).size());
    EXPECT_EQ(most, kLoads);  // before the wait
    EXPECT_LE(w.protocols.loads.sets().parts(), kLoads * 7);
  }
}

TEST(PendingLoads, OfTheRoundBefore) {
  const std::string loop = store("%tw") + kWaitStores + "mov.u32 %r50, 0;\nagain:\n" + load("%tw", " // @ld");
  const std::string next = "add.u32 %r50, %r50, 1;\nsetp.lt.u32 %p1, %r50, 3;\n@%p1 bra again;\n";
  EXPECT_THAT(said(ptx_kernel(begin(32) + loop + next + kWaitLoads + end(32))),
              ElementsAre("error tmem-missing-wait-ld @ld"));
  EXPECT_THAT(said(ptx_kernel(begin(32) + loop + kWaitLoads + next + end(32))), IsEmpty());
}

// What a tcgen05.ld delivers is not known.
TEST(LoadedData, DecidesBothWays) {
  for (const std::string registers : {"{%r10}", "{%r10, %r11}"}) {
    const std::string x = registers == "{%r10, %r11}" ? "x2" : "x1";
    const std::string load_it = store("%tw") + kWaitStores + "tcgen05.ld.sync.aligned.32x32b." + x + ".b32 " +
                                registers + ", [%tw];\n" + kWaitLoads;
    for (const std::string test : {"setp.eq.u32", "setp.ne.u32"}) {
      const std::string some = "shfl.sync.idx.b32 %r12, %r10, 0, 31, 0xffffffff;\n" + test + " %p1, %r12, 0;\n";
      const std::string free = where("%p1", release("%ta", 32));
      EXPECT_THAT(said(ptx_kernel(begin(32) + load_it + some + join() + where("%w0", free))),
                  ElementsAre("error tmem-missing-dealloc @alloc"));
      const std::string either = free + "not.pred %p2, %p1;\n" + where("%p2", release("%ta", 32));
      EXPECT_THAT(said(ptx_kernel(begin(32) + load_it + some + join() + where("%w0", either))), IsEmpty());
    }
  }
}

// Lanes that keep a result may go on without it: the others alone write its register again.
TEST(LoadedData, IsOverwrittenWhereItWasUsed) {
  auto kernel = [](const std::string& some) {
    return said(ptx_kernel(begin(32) + store("%tw") + kWaitStores + load("%tw") +
                           "ld.global.u32 %r40, [%out];\nsetp.gt.u32 %p1, %r40, %l;\n@!%p1 bra OVER;\n" + some +
                           "mov.u32 %r1, 0; // @write\nOVER:\nbar.warp.sync 0xffffffff;\n" + kWaitLoads + end(32)));
  };
  EXPECT_THAT(kernel("add.u32 %r41, %r1, 1;\nst.global.u32 [%out], %r41;\n"), IsEmpty());
  EXPECT_THAT(kernel(""), ElementsAre("error tmem-missing-wait-ld @write"));
}

// --- what is the same in all lanes of a warp ---

// Stores to Tensor Memory where %p1 holds.
std::vector<std::string> stores_where(const std::string& condition) {
  return said(ptx_kernel(begin(32) + store("%tw") + kWaitStores + condition + "@!%p1 bra OVER;\n" +
                         store("%tw", " // @st") + kWaitStores + "OVER:\n" + end(32)));
}

TEST(SameInAllLanes, TheWarpOfAGlobalThreadIndex) {
  const std::string index = "mov.u32 %r1, %ctaid.x;\nmad.lo.u32 %r1, %r1, 128, %t;\n";
  EXPECT_THAT(stores_where(index + "shr.u32 %r2, %r1, 5;\nsetp.lt.u32 %p1, %r2, %n;\n"), IsEmpty());
  EXPECT_THAT(stores_where(index + "div.u32 %r2, %r1, 32;\nand.b32 %r2, %r2, 3;\nsetp.eq.u32 %p1, %r2, 1;\n"),
              IsEmpty());
  EXPECT_THAT(stores_where(index + "and.b32 %r2, %r1, -32;\nsetp.lt.u32 %p1, %r2, %n;\n"), IsEmpty());
  // Half a warp.
  EXPECT_THAT(stores_where(index + "shr.u32 %r2, %r1, 4;\nsetp.lt.u32 %p1, %r2, %n;\n"),
              Contains("error tmem-warp-collective @st"));
  // Blocks of which a warp may begin in the middle of 32.
  EXPECT_THAT(stores_where("mov.u32 %r1, %ctaid.x;\nmad.lo.u32 %r1, %r1, 120, %t;\nshr.u32 %r2, %r1, 5;\n"
                           "setp.lt.u32 %p1, %r2, %n;\n"),
              Contains("error tmem-warp-collective @st"));
}

// What each lane has, brought together by exchanging with the lanes that differ in one bit.
std::string reduction(const std::string& operation, const std::vector<unsigned>& steps) {
  std::string out = "mul.wide.u32 %d1, %t, 4;\nadd.u64 %d1, %d1, %out;\nld.global.u32 %r1, [%d1];\n";
  for (unsigned bit : steps) {
    out += "shfl.sync.bfly.b32 %r2, %r1, " + std::to_string(bit) + ", 31, 0xffffffff;\n" + operation;
  }
  return out + "setp.gt.u32 %p1, %r1, 4;\n";
}

TEST(SameInAllLanes, AButterflyReduction) {
  const std::vector<unsigned> all = {16, 8, 4, 2, 1};
  for (const std::string operation :
       {"max.u32 %r1, %r1, %r2;\n", "add.u32 %r1, %r2, %r1;\n", "or.b32 %r1, %r1, %r2;\n", "xor.b32 %r1, %r1, %r2;\n",
        "max.f32 %r1, %r1, %r2;\n", "add.f32 %r1, %r2, %r1;\n",
        "setp.gt.s32 %p3, %r2, %r1;\nselp.b32 %r1, %r2, %r1, %p3;\n"}) {
    EXPECT_THAT(stores_where(reduction(operation, all)), IsEmpty()) << operation;
    EXPECT_THAT(stores_where(reduction(operation, {1, 2, 4, 8, 16})), IsEmpty()) << operation;
    // Each half of the warp has a result of its own.
    EXPECT_THAT(stores_where(reduction(operation, {8, 4, 2, 1})), Contains("error tmem-warp-collective @st"))
        << operation;
  }
  EXPECT_THAT(stores_where(reduction("sub.u32 %r1, %r1, %r2;\n", all)), Contains("error tmem-warp-collective @st"));
  // Something of its own is added in each lane afterwards.
  EXPECT_THAT(stores_where(reduction("max.u32 %r1, %r1, %r2;\n", all) + "add.u32 %r1, %r1, %t;\n"
                                                                        "setp.gt.u32 %p1, %r1, 4;\n"),
              Contains("error tmem-warp-collective @st"));
}

TEST(SameInAllLanes, TheLanesThatHaveTheSameValue) {
  EXPECT_THAT(stores_where("match.any.sync.b32 %r1, %n, 0xffffffff;\nsetp.gt.u32 %p1, %r1, 4;\n"), IsEmpty());
  EXPECT_THAT(stores_where("match.any.sync.b32 %r1, %t, 0xffffffff;\nsetp.gt.u32 %p1, %r1, 4;\n"),
              Contains("error tmem-warp-collective @st"));
}

// A half of a word that is written leaves the other half as it was.
TEST(SameInAllLanes, AWordThatIsPutTogetherFromHalves) {
  EXPECT_THAT(said(ptx_kernel(".local .align 8 .b8 depot[8];\n" + begin(32) +
                              "st.local.u32 [depot], %ta;\nld.local.u16 %h1, [depot+2];\nshl.b32 %r1, %w, 5;\n"
                              "cvt.u16.u32 %h2, %r1;\nor.b16 %h1, %h1, %h2;\nst.local.u16 [depot+2], %h1;\n"
                              "ld.local.u32 %r2, [depot];\n" +
                              store("%r2") + kWaitStores + end(32))),
              IsEmpty());
}

// --- loops that are followed time by time ---

// Twice round, over the columns %tw and %tw + 4; a store in each, where n is not 0.
std::string two_rounds(const std::string& second, const std::string& behind_store) {
  return begin(32) + store("%tw") + store("%tw+4") + kWaitStores +
         "setp.ne.u32 %p1, %n, 0;\nmov.u32 %r50, 0;\nmov.pred %p3, -1;\nLOOP:\nmov.pred %p2, %p3;\n"
         "add.u32 %r51, %tw, %r50;\n" +
         load("%r51", " // @ld") + kWaitLoads + "@!%p1 bra NEXT;\n" + store("%r51", " // @st") + behind_store +
         "NEXT:\nmov.u32 %r50, " + second + ";\nmov.pred %p3, 0;\n@%p2 bra LOOP;\n" + kWaitStores + end(32);
}

TEST(Rounds, StayApartFromOneAnother) {
  EXPECT_THAT(said(ptx_kernel(two_rounds("4", ""))), IsEmpty());
  // The second time loads what the first stored.
  EXPECT_THAT(said(ptx_kernel(two_rounds("0", ""))), ElementsAre("error tmem-missing-wait-st @st"));
  EXPECT_THAT(said(ptx_kernel(two_rounds("0", kWaitStores))), IsEmpty());
}

// One thread asks, for all, whether its CTA is the last one.
TEST(LastOneFrees, OfTheGridOneThreadAsks) {
  EXPECT_THAT(said(ptx_kernel(begin(32) + store("%tw") + kWaitStores +
                              where("%first",
                                    "membar.gl;\natom.global.add.u32 %r20, [%out], 1;\nmov.u32 %r21, %nctaid.x;\n"
                                    "add.u32 %r20, %r20, 1;\nsetp.eq.u32 %p3, %r20, %r21;\nselp.u32 %r22, 1, 0, %p3;\n"
                                    "st.shared.u32 [slot+8], %r22;\n") +
                              "bar.sync 0;\nld.shared.u32 %r23, [slot+8];\nsetp.ne.u32 %p4, %r23, 0;\n" +
                              where("%p4", load("%tw") + kWaitLoads) + end(32))),
              IsEmpty());
}

// A loop that is left in its middle, behind the mma and without waiting for it.
TEST(Breaks, AreTaken) {
  // `label`: a block of its own before the loop's test, as debug builds have them.
  auto kernel = [](const std::string& label, const std::string& before_break) {
    return said(ptx_kernel(begin(128, init("full", 1)) + "mov.u32 %r50, 0;\nmov.u32 %r51, 0;\n" + "LOOP:\n" + label +
                           "setp.ge.u32 %p1, %r50, %n;\n@%p1 bra DONE;\n" +
                           where("%w0", elected(mma("%ta", "%no") + commit("full"))) + before_break +
                           "setp.eq.u32 %p2, %r50, %m;\n@%p2 bra DONE;\n" + wait("full", "%r51") +
                           "xor.b32 %r51, %r51, 1;\nadd.u32 %r50, %r50, 1;\nbra LOOP;\nDONE:\n" + end(128)));
  };
  for (const std::string label : {"", "mov.u32 %r60, %r50;\nbra TEST;\nTEST:\n"}) {
    EXPECT_THAT(kernel(label, ""), Contains("error tmem-mma-completion @dealloc")) << label;
    EXPECT_THAT(kernel(label, wait("full", "%r51")), IsEmpty()) << label;
  }
}

// The last warp to come frees: the one that finds the count that all others have left behind.
TEST(LastOneFrees, OnlyIfSomeWarpIsTheLast) {
  auto kernel = [](const std::string& before_last,
                   const std::string& add = "atom.shared.acq_rel.cta.add.u32 %r20, [slot+8], 1;\n") {
    return said(
        ptx_kernel(where("%first", "st.shared.u32 [slot+8], 0;\n") + begin(32) + store("%tw") + kWaitStores +
                   "setp.eq.u32 %p3, %l, 0;\nmov.u32 %r20, 0;\n" + where("%p3", add) +
                   "bar.warp.sync 0xffffffff;\nredux.sync.max.u32 %r21, %r20, 0xffffffff;\nsetp.eq.u32 %p4, %r21, " +
                   before_last + ";\n" + where("%p4", release("%ta", 32, " // @dealloc"))));
  };
  EXPECT_THAT(kernel("3"), IsEmpty());
  EXPECT_THAT(kernel("4"), ElementsAre("warning tmem-missing-dealloc @alloc"));
  EXPECT_THAT(kernel("2"), Contains("error tmem-dealloc-race @dealloc"));
  // Counted down from 3 to 0, and round again.
  EXPECT_THAT(kernel("0", "atom.shared.acq_rel.cta.dec.u32 %r20, [slot+8], 3;\n"),
              Not(Contains("warning tmem-missing-dealloc @alloc")));
  EXPECT_THAT(kernel("3", "atom.shared.acq_rel.cta.inc.u32 %r20, [slot+8], 7;\n"), IsEmpty());
  EXPECT_THAT(kernel("4", "atom.shared.acq_rel.cta.inc.u32 %r20, [slot+8], 7;\n"),
              ElementsAre("warning tmem-missing-dealloc @alloc"));
}

// Columns that are not known, but the same.
TEST(Rounds, LoadAndStoreWhereTheyHaveJustStoredAndLoaded) {
  auto kernel = [](const std::string& one, const std::string& wait, const std::string& other) {
    return said(ptx_kernel(begin(256) +
                           "mov.u32 %r50, 0;\nLOOP:\nand.b32 %r51, %r50, 7;\nmad.lo.u32 %r51, %r51, 8, %tw;\n" +
                           "add.u32 %r52, %r51, 4;\n" + one + wait + other + kWaitLoads + kWaitStores +
                           "add.u32 %r50, %r50, 1;\nsetp.lt.u32 %p1, %r50, %n;\n@%p1 bra LOOP;\n" + end(256)));
  };
  const std::string ld = load("%r51", " // @ld");
  const std::string st = store("%r51", " // @st");
  EXPECT_THAT(kernel(ld, "", st), Contains("error tmem-missing-wait-ld @st"));
  EXPECT_THAT(kernel(st, "", ld), Contains("error tmem-missing-wait-st @st"));
  EXPECT_THAT(kernel(ld, kWaitLoads, st), Not(Contains("error tmem-missing-wait-ld @st")));
  EXPECT_THAT(kernel(st, kWaitStores, ld), Not(Contains("error tmem-missing-wait-st @st")));
  EXPECT_THAT(kernel(ld, "", store("%r52", " // @st")), Not(Contains("error tmem-missing-wait-ld @st")));
}

// Counts down to a bound that is tested at the top, and may leave before.
TEST(Rounds, ThatThePathRulesOut) {
  auto kernel = [](const std::string& last) {
    return said(ptx_kernel(
        begin(32) + store("%tw") + store("%tw+4") + kWaitStores + "mov.u32 %r50, 1;\nLOOP:\nsetp.lt.s32 %p1, %r50, " +
        last + ";\n@%p1 bra DONE;\nshl.b32 %r51, %r50, 2;\nmad.lo.u32 %r51, %r50, 4, %tw;\n" + load("%r51", " // @ld") +
        kWaitLoads + "setp.eq.u32 %p2, %n, 9;\n@%p2 bra DONE;\nadd.s32 %r50, %r50, -1;\nbra LOOP;\nDONE:\n" + end(32)));
  };
  EXPECT_THAT(kernel("0"), IsEmpty());
  EXPECT_THAT(kernel("-1"), Contains("error tmem-lane-window @ld"));
}

// A loop over n, with what is done in the first, in each, and in the last round.
std::string counted_loop(const std::string& first, const std::string& each, const std::string& last) {
  return "setp.lt.s32 %p1, %n, 1;\n@%p1 bra DONE;\nmov.u32 %r50, 0;\nneg.s32 %r51, %n;\nLOOP:\n"
         "setp.ne.u32 %p2, %r50, 0;\n@%p2 bra LATER;\n" +
         first + "LATER:\n" + each + "setp.ne.s32 %p3, %r51, -1;\n@%p3 bra NEXT;\n" + last +
         "NEXT:\nadd.u32 %r50, %r50, 1;\nadd.s32 %r51, %r51, 1;\nsetp.ne.s32 %p4, %r51, 0;\n@%p4 bra LOOP;\nDONE:\n";
}

TEST(Rounds, TheFirstAndTheLastAreOnesOfTheirOwn) {
  const std::string take = where("%w0", allocate("slot", 32, " // @alloc") +
                                            "tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;\n") +
                           join();
  const std::string use = "ld.shared.b32 %ta, [slot];\nshl.b32 %tw, %w, 21;\nadd.u32 %tw, %tw, %ta;\n" + store("%tw") +
                          kWaitStores + join();
  const std::string give = where("%w0", release("%ta", 32));
  EXPECT_THAT(said(ptx_kernel(counted_loop(take, use, give))), IsEmpty());
  // In each round; never; in the first one only.
  EXPECT_THAT(said(ptx_kernel(counted_loop("", take + use + give, ""))),
              ElementsAre("error tmem-alloc-after-relinquish @alloc"));
  EXPECT_THAT(said(ptx_kernel(counted_loop(take, use, ""))), ElementsAre("error tmem-missing-dealloc @alloc"));
  EXPECT_THAT(said(ptx_kernel(counted_loop(take + use + give, "", ""))), IsEmpty());
}

TEST(Rounds, AWaitInAllButTheFirst) {
  // A load of which the next round waits, and what the last one leaves over is waited for behind the loop.
  auto kernel = [](const std::string& skipped, const std::string& behind) {
    return said(ptx_kernel(begin(32) + store("%tw") + kWaitStores +
                           "setp.lt.s32 %p1, %n, 1;\n@%p1 bra DONE;\nmov.u32 %r50, 0;\nLOOP:\nsetp.eq.u32 %p2, %r50, " +
                           skipped + ";\n@%p2 bra LATER;\n" + kWaitLoads + "LATER:\n" + load("%tw", " // @ld") +
                           "add.u32 %r50, %r50, 1;\nsetp.lt.s32 %p4, %r50, %n;\n@%p4 bra LOOP;\n" + behind + "DONE:\n" +
                           end(32)));
  };
  EXPECT_THAT(kernel("0", kWaitLoads), IsEmpty());
  EXPECT_THAT(kernel("0", ""), Contains("error tmem-missing-wait-ld @dealloc"));
  EXPECT_THAT(kernel("1", kWaitLoads), ElementsAre("error tmem-missing-wait-ld @ld"));
}

// Thousands of loads into one register: what is kept of a register's loads is kept once.
TEST(PendingLoads, ManyIntoOneRegister) {
  constexpr size_t kLoads = 2000;
  std::string body = begin(32);
  for (size_t n = 0; n < kLoads; ++n) body += load("%tw") + kWaitLoads + "add.u32 %r40, %r1, %r2;\n";
  const Joint joint = joint_of(ptx_kernel(body + end(32)));
  const program::Program& program = *joint.analysis->program;
  EXPECT_EQ(program.loads.size(), kLoads);
  size_t kept = 0;
  for (const std::vector<uint32_t>& set : program.load_sets) kept += set.size();
  EXPECT_LE(kept, 4 * kLoads);
}

TEST(PendingLoads, AreNotOverwrittenByThemselves) {
  // Another load into the same registers is; the same one in the next round says so itself.
  const std::string two = load("%tw", " // @first") + load("%tw", " // @second") + kWaitLoads;
  EXPECT_THAT(said(ptx_kernel(begin(32) + store("%tw") + kWaitStores + two + end(32))),
              ElementsAre("error tmem-missing-wait-ld @second"));
}

// --- words of global memory ---

// Warp 1 issues an mma for item n + 1 and warp 0 waits for it, each if what `first` and `second` leave in %r30 and %r31
// says so. %d1 and %d2 are the item's address with its number extended by its sign and by zeros.
std::string for_an_item(const std::string& first, const std::string& second, const std::string& between = "") {
  return ptx_kernel(
      begin(128, init("full", 1)) +
      "add.u32 %r20, %n, 1;\nmul.wide.s32 %d1, %r20, 4;\nadd.s64 %d1, %out, %d1;\nmul.wide.u32 %d2, %r20, "
      "4;\nadd.s64 %d2, %out, %d2;\n" +
      between +
      where("%w1", first + "setp.gt.s32 %p1, %r30, 0;\n" +
                       where("%p1", elected(mma("%ta", "%no", " // @mma") + commit("full")))) +
      where("%w0", second + "setp.gt.s32 %p2, %r31, 0;\n" + where("%p2", wait("full", "0", " // @wait") + kConsume)) +
      end(128));
}

TEST(GlobalWords, AreTheSameHoweverTheirAddressIsComputed) {
  const std::string first = "ld.global.u32 %r30, [%d1];\n";
  EXPECT_THAT(said(for_an_item(first, "ld.global.u32 %r31, [%d2];\n")), IsEmpty());
  // The second word of a pair, and the one behind the first.
  EXPECT_THAT(said(for_an_item("ld.global.v2.u32 {%r32, %r30}, [%d1];\n", "ld.global.u32 %r31, [%d2+4];\n")),
              IsEmpty());
  // The word is the same, but what is asked of it is not.
  EXPECT_THAT(said(for_an_item(first, "ld.global.u32 %r31, [%d2];\nsub.u32 %r31, %r31, 4;\n")),
              ElementsAre("error tmem-mma-completion @dealloc", "warning tmem-exit-in-flight `    ret;`"));
}

TEST(GlobalWords, ThatWarpsGuessApartProveNothing) {
  // Two words that may well be one count, of which each warp reads one: there may be no launch with a guess for each.
  const std::string first = "ld.global.u32 %r30, [%d1];\n";
  const std::string second = "ld.global.u32 %r31, [%d2+64];\n";
  for (const std::string& s : said(for_an_item(first, second))) EXPECT_THAT(s, testing::StartsWith("incomplete "));
  // What happens before the guesses does not depend on them.
  const std::string early = where("%w1", elected(mma("%ta", "%no") + commit("full"))) + where("%w0", kConsume);
  EXPECT_THAT(said(for_an_item(first, second, early)), Contains("error tmem-mma-completion @load"));
  // Nor does what one warp does wrong by itself.
  EXPECT_THAT(said(for_an_item(first, second + load("%tw+127", " // @bounds") + kWaitLoads)),
              Contains("error tmem-column-bounds @bounds"));
  // Where both warps read both words, one of them is a condition of its own.
  const std::string both = "ld.global.u32 %r30, [%d1];\nld.global.u32 %r31, [%d2+64];\n";
  EXPECT_THAT(said(for_an_item(both, both)),
              ElementsAre("error tmem-mma-completion @dealloc", testing::StartsWith("incomplete "),
                          "warning tmem-exit-in-flight `    ret;`"));
}

// --- joins by words of memory ---

// Warp 1 issues an mma, and `before` and `after` the wait for it lets the other warps know; all wait with `poll`.
std::string by_flag(const std::string& before, const std::string& after, const std::string& poll) {
  return ptx_kernel(
      begin(128, init("full", 1) + "st.shared.u32 [ring], 0;\n") +
      where("%w1", elected(mma("%ta", "%no", " // @mma") + commit("full") + before + wait("full", "0") + after)) +
      poll + "tcgen05.fence::after_thread_sync;\n" + kConsume + end(128));
}

TEST(Atomics, JoinThoseThatChangeAWordAndThoseThatReadIt) {
  const std::vector<std::string> sets = {
      "fence.acq_rel.cta;\natom.shared.exch.b32 %r20, [ring], 1;\n", "red.release.cta.shared.add.u32 [ring], 1;\n",
      "atom.release.cta.shared.cas.b32 %r20, [ring], 0, 1;\n", "st.release.cta.shared.u32 [ring], 1;\n"};
  const std::vector<std::string> polls = {
      "POLL: atom.shared.add.u32 %r21, [ring], 0;\nsetp.eq.u32 %p1, %r21, 0;\n@%p1 bra POLL;\nfence.acq_rel.cta;\n",
      "POLL: atom.shared.or.b32 %r21, [ring], 0;\nsetp.eq.u32 %p1, %r21, 0;\n@%p1 bra POLL;\nfence.acq_rel.cta;\n",
      "POLL: atom.acquire.cta.shared.cas.b32 %r21, [ring], 1, 1;\nsetp.ne.u32 %p1, %r21, 1;\n@%p1 bra POLL;\n",
      "POLL: ld.acquire.cta.shared.u32 %r21, [ring];\nsetp.eq.u32 %p1, %r21, 0;\n@%p1 bra POLL;\n"};
  for (const std::string& set : sets) {
    for (const std::string& poll : polls) {
      EXPECT_THAT(said(by_flag("", set, poll)), IsEmpty()) << set << poll;
      // The flag is set before the mma is known to be complete.
      EXPECT_THAT(said(by_flag(set, "", poll)), Contains("error tmem-mma-completion @load")) << set << poll;
    }
  }
}

TEST(Atomics, ThroughGlobalMemoryJoinToo) {
  const std::string set = "st.release.gpu.global.u32 [%out], 1;\n";
  const std::string poll = "POLL: ld.acquire.gpu.global.u32 %r21, [%out];\nsetp.eq.u32 %p1, %r21, 0;\n@%p1 bra POLL;\n";
  EXPECT_THAT(said(by_flag("", set, poll)), IsEmpty());
  EXPECT_THAT(said(by_flag("", "fence.acq_rel.gpu;\nred.global.add.u32 [%out], 1;\n",
                           "POLL: ld.volatile.global.u32 %r21, [%out];\nsetp.eq.u32 %p1, %r21, 0;\n@%p1 bra "
                           "POLL;\nfence.acq_rel.gpu;\n")),
              IsEmpty());
  EXPECT_THAT(said(by_flag(set, "", poll)), Contains("error tmem-mma-completion @load"));
  // Nothing is released, or nothing acquired.
  EXPECT_THAT(said(by_flag("", "st.global.u32 [%out], 1;\n", poll)), Contains("error tmem-mma-completion @load"));
  EXPECT_THAT(said(by_flag("", set, "ld.global.u32 %r21, [%out];\n")), Contains("error tmem-mma-completion @load"));
}

// Each warp stores and loads its lanes and counts itself; the one whose count is `last` frees.
std::string by_last(const std::string& count, const std::string& last) {
  return ptx_kernel(begin(32, "st.shared.u32 [ring], 0;\n") + store("%tw") + kWaitStores + load("%tw", " // @load") +
                    kWaitLoads +
                    "tcgen05.fence::before_thread_sync;\nbar.warp.sync 0xffffffff;\nmov.u32 %r21, 1000;\n" + count +
                    "setp.eq.u32 %p1, %r21, " + last +
                    ";\nvote.sync.any.pred %p2, %p1, 0xffffffff;\ntcgen05.fence::after_thread_sync;\n" +
                    where("%p2", release("%ta", 32, " // @dealloc")));
}

TEST(Atomics, GiveEachThreadAValueOfItsOwn) {
  const std::string alone = "setp.eq.u32 %p3, %l, 0;\n@%p3 atom.acq_rel.cta.shared.add.u32 %r21, [ring], 1;\n";
  EXPECT_THAT(said(by_last(alone, "3")), IsEmpty());
  EXPECT_THAT(said(by_last("atom.acq_rel.cta.shared.add.u32 %r21, [ring], 1;\n", "127")), IsEmpty());
  // The first one that comes knows nothing of the others.
  EXPECT_THAT(said(by_last(alone, "0")), Contains("error tmem-dealloc-race @dealloc"));
  // What a word of global memory held before is not known, and who comes last neither.
  const std::string global = "setp.eq.u32 %p3, %l, 0;\n@%p3 atom.acq_rel.gpu.global.add.u32 %r21, [%out], 1;\n";
  for (const std::string& s : said(by_last(global, "3"))) {
    EXPECT_THAT(s, testing::AnyOf(testing::StartsWith("incomplete "), testing::HasSubstr("missing-dealloc"))) << s;
  }
}

// --- loops that run no time in a later tile ---

TEST(UnknownTrips, NoRoundInALaterTile) {
  // Two tiles in two stages. Each takes as many rounds as a word of memory says, and `guard` may skip them all; warp 2
  // asks the same of the second tile, ahead of the mma.
  auto tiles = [](const std::string& guard) {
    const std::string words =
        "mul.wide.u32 %d1, %r20, 8;\nadd.s64 %d1, %out, %d1;\nld.global.u32 %r30, [%d1];\nld.global.u32 %r31, "
        "[%d1+4];\n";
    return ptx_kernel(
        begin(256, init("full", 1) + init("empty", 1) + init("ring", 1)) + "mov.b32 %r20, 0;\n" +
        where("%w1", elected("TILE:\n" + words + guard +
                             "mad.lo.u32 %r32, %r20, 128, %ta;\n@%p1 bra NONE;\nmov.b32 %r21, 0;\nROUND:\nsetp.ne.u32 "
                             "%p2, %r21, 0;\n" +
                             mma("%r32", "%p2") +
                             "add.u32 %r21, %r21, 1;\nsetp.lt.s32 %p3, %r21, %r30;\n@%p3 bra ROUND;\nNONE:\n" +
                             commit("full") + wait("empty", "0") +
                             "add.u32 %r20, %r20, 1;\nsetp.lt.u32 %p4, %r20, 2;\n@%p4 bra TILE;\n")) +
        where("%w2", elected("mov.b32 %r20, 1;\n" + words + guard +
                             "@%p1 bra AHEAD;\nmbarrier.arrive.shared::cta.b64 _, [ring];\nAHEAD:\n"
                             "mbarrier.arrive.shared::cta.b64 _, [empty];\n")) +
        where("%w0", wait("full", "0") + wait("full", "1") + load("%tw+128", " // @load") + kWaitLoads) + end(256));
  };
  EXPECT_THAT(said(tiles("setp.le.s32 %p1, %r30, 0;\n"), true), Contains("note tmem-uninitialized @load"));
  EXPECT_THAT(said(tiles("setp.le.s32 %p1, %r30, 0;\n")), IsEmpty());
  EXPECT_THAT(said(tiles("setp.eq.u32 %p1, %r31, 7;\n")), Contains("warning tmem-uninitialized @load"));
}

// --- copies of other CTAs ---

TEST(Copies, ARoundMayAlsoWaitForWhatAnotherCtaCopies) {
  // Each CTA copies half of the operands to both. Whoever has used them tells both CTAs, in three rounds.
  auto halves = [](const std::string& copy) {
    const std::string round = "and.b32 %r21, %r20, 1;\nxor.b32 %r22, %r21, 1;\n";
    const std::string next = "add.u32 %r20, %r20, 1;\nsetp.lt.u32 %p1, %r20, 3;\n";
    return ptx_kernel(
        begin(32, init("full", 1) + init("empty", 2)) + join_cluster() + "mov.b32 %r20, 0;\nmov.b16 %h1, 3;\n" +
            where("%w3", elected("FILL:\n" + round + wait("empty", "%r22") +
                                 "mbarrier.arrive.expect_tx.shared::cta.b64 _, [full], 16384;\n" + copy + next +
                                 "@%p1 bra FILL;\n")) +
            where("%w0", elected("USE:\n" + round + wait("full", "%r21") +
                                 "mov.u32 %r23, empty;\nmapa.shared::cluster.u32 %remote, %r23, 0;\n"
                                 "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%remote]; // @arrive\n"
                                 "mapa.shared::cluster.u32 %remote, %r23, 1;\n"
                                 "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%remote]; // @arrive\n" +
                                 next + "@%p1 bra USE;\n")) +
            join_cluster() + end(32),
        pair());
  };
  const std::string bulk = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes";
  EXPECT_THAT(said(halves(bulk + ".multicast::cluster [tile_a], [%out], 8192, [full], %h1;\n")), IsEmpty());
  // Without the other CTA's half nothing keeps one from arriving twice in a round of the other.
  EXPECT_THAT(said(halves(bulk + " [tile_a], [%out], 16384, [full];\n")),
              ElementsAre("warning tmem-mbarrier-count @arrive"));
}

}  // namespace
}  // namespace tmemlint
