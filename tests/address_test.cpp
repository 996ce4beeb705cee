// Addresses of Tensor Memory in loops, and conditions that are about them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/small_kernel.h"

namespace tmemlint {
namespace {

using namespace test;
using testing::ElementsAre;
using testing::IsEmpty;

// A loop of as many rounds as memory says; %r10 goes through the stages 0 and 1.
std::string staged(const std::string& body, const std::string& next) {
  return "mov.u32 %r10, 0;\nmov.u64 %d10, %out;\nTOP:\n" + body + next +
         "ld.global.u32 %r19, [%d10];\nadd.u64 %d10, %d10, 4;\nsetp.ne.u32 %p9, %r19, 0;\n@%p9 bra TOP;\n";
}

const std::string kWrapped =
    "add.u32 %r11, %r10, 1;\nsetp.eq.u32 %p8, %r11, 2;\nselp.b32 %r10, 0, %r11, %p8;\n";  // if (++s == 2) s = 0
const std::string kToggled = "xor.b32 %r10, %r10, 1;\n";

// Each warp writes its lanes of both stages.
const std::string kWritten = store("%tw") + "add.u32 %r18, %tw, 256;\n" + store("%r18") + kWaitStores;

// Each warp tries both halves of the lanes, and reads the one that is its own.
std::string own_half(const std::string& shift, const std::string& split) {
  std::string out =
      "and.b32 %r12, %w, 1;\nshl.b32 %r12, %r12, 21;\nadd.u32 %r12, %r12, %ta;\n"
      "shl.b32 %r13, %r10, 8;\nadd.u32 %r12, %r12, %r13;\nand.b32 %r14, %w, 3;\n";
  for (const char* half : {"0", "0x400000"}) {
    const std::string over = fresh_label();
    out += "add.u32 %r15, %r12, " + std::string(half) + ";\nshr.u32 %r16, %r15, " + shift +
           ";\nand.b32 %r16, %r16, 3;\nsetp.ne.u32 %p1, %r16, %r14;\n@%p1 bra " + over + ";\n" + split +
           load("%r15", " // @load" + std::string(half)) + kWaitLoads + over + ":\n";
  }
  return out;
}

TEST(Addresses, AGuardOnTheLanesOfAnAddressThatAStageIsAddedTo) {
  for (const std::string& next : {kWrapped, kToggled}) {
    for (const std::string split : {"", "mov.b32 {%h0, %h1}, %r15;\nmov.b32 %r15, {%h0, %h1};\n"}) {
      auto kernel = [&](const std::string& shift) {
        return said(ptx_kernel(begin(512) + kWritten + staged(own_half(shift, split), next) + end(512)));
      };
      EXPECT_THAT(kernel("21"), IsEmpty()) << next << split;
      // One bit beside it: warp 0 takes both halves for its own.
      EXPECT_THAT(kernel("20"), ElementsAre("error tmem-lane-window @load0x400000")) << next << split;
    }
  }
}

TEST(Addresses, ACounterWithoutAnEndIsNoStage) {
  // After 8192 rounds the column reaches the lanes.
  const std::string next = "add.u32 %r10, %r10, 1;\n";
  EXPECT_THAT(said(ptx_kernel(begin(512) + kWritten + staged(own_half("21", ""), next) + end(512))),
              testing::Contains("incomplete @load0"));
}

TEST(Addresses, OfAnArrayThatOneLaneKeepsToItself) {
  // The addresses of two accumulators, in local memory, by the number of the round.
  auto kernel = [](const std::string& second, const std::string& rounds) {
    const std::string issue = "st.local.u32 [kept], %ta;\nadd.u32 %r20, %ta, " + second +
                              ";\nst.local.u32 [kept+4], %r20;\nmov.u64 %d1, kept;\nmov.u32 %r21, 0;\nROUND:\n"
                              "and.b32 %r22, %r21, 1;\nmul.wide.u32 %d2, %r22, 4;\nadd.u64 %d2, %d2, %d1;\n"
                              "ld.local.u32 %r23, [%d2];\n" +
                              mma("%r23", "%no", " // @mma") + "add.u32 %r21, %r21, 1;\nsetp.lt.u32 %p1, %r21, " +
                              rounds + ";\n@%p1 bra ROUND;\n" + commit("full");
    return said(ptx_kernel(".local .align 8 .b8 kept[8];\n" + begin(256, init("full", 1)) +
                           where("%w1", elected(issue)) + wait("full", "0") + end(256)));
  };
  EXPECT_THAT(kernel("128", "%n"), IsEmpty());
  EXPECT_THAT(kernel("256", "4"), ElementsAre("error tmem-column-bounds @mma"));
}

TEST(Addresses, TheNumberOfAWarpThatIsNotTakenModuloFour) {
  Setting eight;
  eight.threads = 256;
  auto kernel = [&](const std::string& window) {
    return said(ptx_kernel(begin(64) + window + "shl.b32 %r10, %r10, 21;\nadd.u32 %r10, %r10, %ta;\n" +
                               store("%r10", " // @store") + kWaitStores + end(64),
                           eight));
  };
  EXPECT_THAT(kernel("and.b32 %r10, %w, 3;\n"), testing::Not(testing::Contains("error tmem-lane-window @store")));
  EXPECT_THAT(kernel("mov.b32 %r10, %w;\n"), testing::Contains("error tmem-lane-window @store"));
}

// --- loops behind loops ---

TEST(Rests, OfAnUnrolledLoopAreNotItsFirstRound) {
  // Each round waits for the load of the one before it, but for the very first. Two rounds at a time as long as there
  // are two, and the rest by itself.
  auto kernel = [](const std::string& rest_asks) {
    return said(ptx_kernel(
        begin(64) + store("%tw") + kWaitStores +
        "setp.lt.s32 %p0, %n, 1;\n@%p0 bra OVER;\nand.b32 %r10, %n, 1;\nmov.b32 %r11, 0;\nsetp.lt.u32 %p1, %n, "
        "2;\n@%p1 bra REST;\nand.b32 %r11, %n, 2147483646;\nmov.b32 %r12, 0;\nTWO:\nsetp.eq.s32 %p2, %r12, "
        "0;\n@%p2 bra FIRST;\n" +
        kWaitLoads + "FIRST:\n" + load("%tw", " // @one") + kWaitLoads + load("%tw", " // @two") +
        "add.s32 %r12, %r12, 2;\nsetp.ne.s32 %p3, %r12, %r11;\n@%p3 bra TWO;\nREST:\nsetp.eq.s32 %p4, %r10, 0;\n@%p4 "
        "bra LAST;\n" +
        rest_asks + kWaitLoads + "GO:\n" + load("%tw", " // @rest") + "LAST:\n" + kWaitLoads + "OVER:\n" + end(64)));
  };
  EXPECT_THAT(kernel("setp.eq.s32 %p5, %r11, 0;\n@%p5 bra GO;\n"), IsEmpty());
  EXPECT_THAT(kernel("setp.ne.s32 %p5, %r11, 0;\n@%p5 bra GO;\n"),
              testing::Contains("error tmem-missing-wait-ld @rest"));
}

TEST(Addresses, SizesThatChangeWithRoundsThatNothingBounds) {
  // 256, 128, 64 and 32 columns, and then less, unless the caller stops before.
  auto kernel = [](const std::string& check) {
    return said(ptx_kernel(check +
                           "setp.lt.s32 %p1, %n, 1;\n@%p1 bra DONE;\nmov.b32 %r20, 256;\nmov.b32 %r21, 0;\nTOP:\n" +
                           where("%w0",
                                 "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], %r20; // @alloc\n"
                                 "bar.warp.sync 0xffffffff;\nld.shared.b32 %ta, [slot];\n"
                                 "tcgen05.dealloc.cta_group::1.sync.aligned.b32 %ta, %r20; // @dealloc\n") +
                           "shr.u32 %r20, %r20, 1;\nadd.s32 %r21, %r21, 1;\nsetp.lt.s32 %p2, %r21, %n;\n@%p2 bra TOP;\n"
                           "DONE: ret;\nTRAP: trap;\n"));
  };
  for (const std::string& s : kernel("")) EXPECT_THAT(s, testing::StartsWith("incomplete ")) << s;
  EXPECT_THAT(kernel(""), testing::Not(IsEmpty()));
  EXPECT_THAT(kernel("setp.ne.s32 %p0, %n, 5;\n@%p0 bra TRAP;\n"), testing::Contains("error tmem-alloc-size @alloc"));
}

// --- checks that trap ---

// Stores over %n columns, a loop from memory's point of view: only a check bounds it.
std::string over_columns() {
  return "mov.u32 %r10, 0;\nTOP:\nsetp.ge.s32 %p8, %r10, %n;\n@%p8 bra DONE;\nadd.u32 %r11, %tw, %r10;\n" +
         store("%r11", " // @store") + kWaitStores + "add.s32 %r10, %r10, 64;\nbra TOP;\nDONE:\n";
}

TEST(Checks, WhatACheckTrapsOnDoesNotHappenBehindIt) {
  auto kernel = [](const std::string& check) {
    return said(ptx_kernel(check + begin(256) + over_columns() + end(256) + "ret;\nTRAP: trap;\n"));
  };
  for (const std::string check : {
           "setp.gt.s32 %p0, %n, 256;\n@%p0 bra TRAP;\n",
           "setp.gt.s32 %p0, %n, 256;\n@!%p0 bra FINE;\ntrap;\nFINE:\n",
           "shr.s32 %r0, %n, 8;\nsetp.gt.s32 %p0, %r0, 0;\n@%p0 bra TRAP;\n",
       }) {
    EXPECT_THAT(kernel(check), IsEmpty()) << check;
  }
}

TEST(Addresses, AColumnThatGrowsWithRoundsThatNothingBounds) {
  // The caller may see to it that %n is at most 256: no fault is shown, but nothing shows that there is none.
  EXPECT_THAT(said(ptx_kernel(begin(256) + over_columns() + end(256))), ElementsAre("incomplete @store"));
  // With a bound that is too large it is one for sure.
  const std::string check = "setp.ne.s32 %p0, %n, 512;\n@%p0 bra TRAP;\n";
  EXPECT_THAT(said(ptx_kernel(check + begin(256) + over_columns() + end(256) + "ret;\nTRAP: trap;\n")),
              ElementsAre("error tmem-column-bounds @store"));
}

TEST(Addresses, AStageThatIsOrredIntoTheAddressOfAllColumns) {
  const std::string access =
      "shl.b32 %r13, %r10, 7;\nor.b32 %r13, %r13, %tw;\n" + store("%r13", " // @store") + kWaitStores;
  auto kernel = [&](unsigned columns, const std::string& stages) {
    return said(ptx_kernel(begin(columns) +
                           staged(access, "add.u32 %r11, %r10, 1;\nand.b32 %r10, %r11, " + stages + ";\n") +
                           end(columns)));
  };
  // All 512 columns begin at column 0.
  EXPECT_THAT(kernel(512, "3"), IsEmpty());
  EXPECT_THAT(kernel(512, "7"), ElementsAre("error tmem-column-bounds @store"));
  // Where 256 begin is another matter.
  EXPECT_THAT(kernel(256, "1"), testing::Each(testing::StartsWith("incomplete @store")));
}

TEST(Addresses, ARingWithOneStageTooMany) {
  auto kernel = [](const std::string& stages) {
    return said(ptx_kernel(
        begin(256) +
        staged("shl.b32 %r13, %r10, 7;\nadd.u32 %r13, %r13, %tw;\n" + store("%r13", " // @store") + kWaitStores,
               "add.u32 %r11, %r10, 1;\nsetp.eq.u32 %p8, %r11, " + stages + ";\nselp.b32 %r10, 0, %r11, %p8;\n") +
        end(256)));
  };
  EXPECT_THAT(kernel("2"), IsEmpty());
  EXPECT_THAT(kernel("3"), ElementsAre("error tmem-column-bounds @store"));
}

TEST(Checks, OfSomeLanesInALoopLetNoLaneLeave) {
  // A check in each round: of lane 0 alone, of each lane's own word, and of how often a wait was tried.
  auto kernel = [](const std::string& check, const std::string& end_of_it) {
    return said(ptx_kernel(begin(64) + "mov.u32 %r10, 0;\nmov.u64 %d10, %out;\nTOP:\n" + check +
                           "bar.warp.sync 0xffffffff;\n" + store("%tw", " // @store") + kWaitStores +
                           "add.u32 %r10, %r10, 1;\nsetp.lt.u32 %p9, %r10, %n;\n@%p9 bra TOP;\n" + end(64) +
                           "ret;\nBAD: " + end_of_it + ";\n"));
  };
  const std::string lane0 =
      "setp.ne.u32 %p1, %l, 0;\n@%p1 bra FINE;\nld.global.u32 %r11, [%d10];\nsetp.lt.s32 %p2, "
      "%r11, 0;\n@%p2 bra BAD;\nFINE:\n";
  const std::string each =
      "mul.wide.u32 %d11, %l, 4;\nadd.u64 %d11, %d11, %d10;\nld.global.u32 %r11, "
      "[%d11];\nsetp.lt.s32 %p2, %r11, 0;\n@%p2 bra BAD;\n";
  for (const std::string& check : {lane0, each}) {
    EXPECT_THAT(kernel(check, "trap"), IsEmpty()) << check;
    // Lanes that only leave are missing afterwards.
    EXPECT_THAT(kernel(check, "exit"), testing::Contains("error tmem-warp-collective @store")) << check;
  }
}

TEST(Checks, OfWhatNothingElseAsksStayOut) {
  // A check of data: no branch on it, no more states.
  const std::string data = "ld.global.u32 %r0, [%out];\nsetp.gt.s32 %p0, %r0, 256;\n@%p0 bra TRAP;\n";
  const std::string text = ptx_kernel(data + begin(32) + end(32) + "ret;\nTRAP: trap;\n");
  EXPECT_THAT(said(text), IsEmpty());
  EXPECT_EQ(joint_of(text).run.scenarios.size(), 1u);
}

}  // namespace
}  // namespace tmemlint
