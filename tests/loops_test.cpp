// Loops: of a number of rounds that is not known, left in the middle, and followed round by round. Each kernel that
// must be reported stands beside the one that is right.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "tests/producer_kernels.h"

namespace tmemlint {
namespace {

using namespace test;
using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;

// --- loops of an unknown number of rounds ---

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
  const std::vector<rules::Problem> all = problems_of(joint);
  const auto stuck = std::find_if(all.begin(), all.end(),
                                  [](const rules::Problem& p) { return p.kind == rules::ProblemKind::kWaitNeverEnds; });
  ASSERT_NE(stuck, all.end());
  EXPECT_TRUE(stuck->as<cluster::Hang>().overtaken);
  EXPECT_EQ(stuck->as<cluster::Hang>().count, 2u);
  EXPECT_EQ(mark_at({joint.module->source, joint.module->instructions[stuck->at].span, false, {}, {}}), "@init");
}

TEST(UnknownTrips, AFaultOfOneRoundOnly) {
  // Rounds write two stages in turn. With two rounds both are written; with one, only the first.
  auto behind = [](const std::string& read) {
    return ptx_kernel(begin(256, init("full", 1)) +
                      "mov.b32 %r20, 0;\nTOP:\nand.b32 %r22, %r20, 1;\nmad.lo.u32 %r32, %r22, 128, %ta;\n" +
                      where("%w0", elected(mma("%r32", "%no") + commit("full"))) + wait("full", "%r22") + join() +
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
                      "TOP:\nsetp.ge.u32 %p1, %r20, %n;\n@%p1 bra OUT;\n" + produce() + wait("full", "%r22") + join() +
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
                      wait("full", "%r21", " // @last") + "NONE:\n")) +
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
              ElementsAre("error tmem-mma-completion @dealloc", "warning tmem-exit-in-flight `    ret;`",
                          "warning tmem-mbarrier-phase @last"));
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
        begin(256, init("full", 1) + init("empty", 2) + init("ring", 1)) + "mov.b32 %r20, 0;\n" +
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
        where("%w0", wait("full", "0") + elected("mbarrier.arrive.shared::cta.b64 _, [empty];\n") + wait("full", "1") +
                         load("%tw+128", " // @load") + kWaitLoads) +
        end(256));
  };
  EXPECT_THAT(said(tiles("setp.le.s32 %p1, %r30, 0;\n"), true), Contains("note tmem-uninitialized @load"));
  EXPECT_THAT(said(tiles("setp.le.s32 %p1, %r30, 0;\n")), IsEmpty());
  EXPECT_THAT(said(tiles("setp.eq.u32 %p1, %r31, 7;\n")), Contains("warning tmem-uninitialized @load"));
}

// --- a number that means that there is none yet ---

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

// --- loops whose rounds are followed one by one ---

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

// A loop that is left in its middle, behind the mma and without waiting for it.
TEST(Breaks, AreTaken) {
  // `label`: a block of its own before the loop's test, as debug builds have them.
  auto kernel = [](const std::string& label, const std::string& before_break) {
    return said(ptx_kernel(begin(128, init("full", 1)) + "mov.u32 %r50, 0;\nmov.u32 %r51, 0;\n" + "LOOP:\n" + label +
                           "setp.ge.u32 %p1, %r50, %n;\n@%p1 bra DONE;\n" +
                           where("%w0", elected(mma("%ta", "%no") + commit("full"))) + before_break +
                           "setp.eq.u32 %p2, %r50, %m;\n@%p2 bra DONE;\n" + wait("full", "%r51") + join() +
                           "xor.b32 %r51, %r51, 1;\nadd.u32 %r50, %r50, 1;\nbra LOOP;\nDONE:\n" + end(128)));
  };
  for (const std::string label : {"", "mov.u32 %r60, %r50;\nbra TEST;\nTEST:\n"}) {
    EXPECT_THAT(kernel(label, ""), Contains("error tmem-mma-completion @dealloc")) << label;
    EXPECT_THAT(kernel(label, wait("full", "%r51")), IsEmpty()) << label;
  }
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

}  // namespace
}  // namespace tmemlint
