// Lanes of one warp that go different ways, and values that are the same in all of them. Each kernel that must be
// reported stands beside the one that is right.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/producer_kernels.h"

namespace tmemlint {
namespace {

using namespace test;
using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;

// --- lanes of their own ---

TEST(Lanes, WhatOneLaneCountsTheOthersDoNot) {
  // Two rounds, each run by one lane with its own phase bit, which the lane of the first round turns over.
  auto rounds = [](unsigned second) {
    auto round = [](unsigned lane, const std::string& rest) {
      return "setp.eq.u32 %p1, %l, " + std::to_string(lane) + ";\n" +
             where("%p1", mma("%ta", "%no") + commit("full") + wait("full", "%r11", " // @wait") + rest) +
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
  EXPECT_THAT(said(rounds(1)), ElementsAre("error tmem-mma-completion @load", "warning tmem-mbarrier-phase @wait"));
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
  // Half a warp, unless the parameter is even.
  EXPECT_THAT(stores_where(index + "shr.u32 %r2, %r1, 4;\nsetp.lt.u32 %p1, %r2, %n;\n"),
              Contains("warning tmem-warp-collective @st"));
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

}  // namespace
}  // namespace tmemlint
