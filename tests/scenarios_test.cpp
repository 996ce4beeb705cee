// The scenarios of a joint run: how many there are, what is recorded in them, and what is said when they are not
// enough.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/producer_kernels.h"

namespace tmemlint {
namespace {

using namespace test;
using testing::ElementsAre;
using testing::IsEmpty;

TEST(Scenarios, AreAsManyAsThereIsToDecide) {
  EXPECT_EQ(joint_of(ptx_kernel(begin(128, init("full", 1)) + produce() + wait("full", "0") + kConsume + end(128)))
                .run.scenarios.size(),
            1u);
  // A loop without a known end: 2 rounds, and 1, 0 and 5.
  EXPECT_EQ(joint_of(ring(wait("%r31", "%r23"), kArrive)).run.scenarios.size(), 4u);
  // A flag: each way.
  EXPECT_EQ(
      joint_of(ptx_kernel(begin(32) + "setp.eq.u32 %p1, %m, 0;\n" + where("%p1", store("%tw") + kWaitStores) + end(32)))
          .run.scenarios.size(),
      2u);
}

TEST(Scenarios, ThatWouldBeTheSameAreNotRun) {
  // The end of the loop is not known, but both ways of the branch that decides it lead on: only the number of rounds
  // differs. A do-while loop runs once whether it is let run 0 or 1 times.
  auto loop = [](const std::string& rounds) {
    return joint_of(ptx_kernel(begin(32) + "mov.b32 %r20, 0;\nTOP:\n" + store("%tw") + kWaitStores +
                               "add.u32 %r20, %r20, 1;\nsetp.lt.u32 %p1, %r20, " + rounds + ";\n@%p1 bra TOP;\n" +
                               end(32)))
        .run.scenarios.size();
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

TEST(Scenarios, AProblemKnowsItsDecisions) {
  const std::string text =
      ptx_kernel(begin(128, init("full", 1)) + produce() + "setp.eq.u32 %p1, %m, 0;\n@%p1 bra EARLY; // @flag\n" +
                 wait("full", "0") + "EARLY:\n" + kConsume + join() + wait("full", "0") + end(128));
  const Joint joint = joint_of(text);
  const std::vector<rules::Problem> all = problems_of(joint);
  ASSERT_EQ(all.size(), 1u);
  const rules::Problem& p = all.front();
  EXPECT_EQ(p.kind, rules::ProblemKind::kNotComplete);
  ASSERT_EQ(p.decisions.size(), 1u);
  EXPECT_TRUE(p.decisions[0].taken);
  EXPECT_EQ(mark_at({joint.module->source, joint.module->instructions[p.decisions[0].instruction].span, false, {}, {}}),
            "@flag");
  EXPECT_EQ(mark_at({joint.module->source, joint.module->instructions[p.at].span, false, {}, {}}), "@load");
  EXPECT_EQ(mark_at({joint.module->source, joint.module->instructions[p.other].span, false, {}, {}}), "@mma");
}

TEST(Scenarios, TheLogSaysWhatEachWarpWaitedFor) {
  cluster::JointSetting setting;
  setting.log = true;
  const Joint joint =
      joint_of(ptx_kernel(begin(128, init("full", 1)) + produce() + wait("full", "0") + kConsume + end(128)), setting);
  std::vector<uint32_t> waited;
  std::vector<std::string> loaded;
  for (const cluster::LogLine& step : joint.run.log) {
    if (step.text == "waited for phase 0") waited.push_back(step.warp.number);
    if (step.text.starts_with("columns 0-")) loaded.push_back(step.text);
  }
  EXPECT_THAT(waited, testing::UnorderedElementsAre(0u, 1u, 2u, 3u));
  EXPECT_THAT(loaded, ElementsAre("columns 0-3", "columns 0-3", "columns 0-3", "columns 0-3"));
}

TEST(Scenarios, ABudgetThatIsUsedUpIsSaid) {
  cluster::JointSetting setting;
  setting.step_budget = 50;
  const Joint joint = joint_of(ring(wait("%r31", "%r23"), kArrive), setting);
  EXPECT_THAT(problems_of(joint), IsEmpty());
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

TEST(Scenarios, OneThatTakesMoreThanItsShareGoesOnInTheEnd) {
  // Sixteen flags, and the unusual way of the first one leads through 6,000 rounds of a loop.
  std::string body = "ld.global.u32 %r50, [%out];\nsetp.eq.u32 %p1, %r50, 0;\n@%p1 bra LONG;\n" + store("%tw") +
                     kWaitStores + store("%tw+4") + kWaitStores + "bra MORE;\nLONG:\nmov.b32 %r20, 0;\nTOP:\n" +
                     elected("mbarrier.arrive.shared::cta.b64 _, [empty];\n") +
                     "add.u32 %r20, %r20, 1;\nsetp.lt.u32 %p2, %r20, 6000;\n@%p2 bra TOP;\nMORE:\n";
  for (unsigned n = 1; n < 16; ++n) {
    body += "ld.global.u32 %r50, [%out+" + std::to_string(4 * n) + "];\nsetp.eq.u32 %p1, %r50, 0;\n" +
            where("%p1", store("%tw") + kWaitStores);
  }
  EXPECT_THAT(said(ptx_kernel(begin(32, init("empty", 1)) + where("%w0", body) + end(32))), IsEmpty());
}

TEST(Scenarios, AParityThatALoadedWordGivesIsPicked) {
  // As many rounds as memory says, at least one; behind them all warps wait for the phase of the last one.
  auto text = [](const std::string& last) {
    return ptx_kernel(
        begin(32, init("full", 1)) + "ld.global.u32 %r50, [%out];\nsetp.lt.s32 %p1, %r50, 1;\n@%p1 bra OUT;\n" +
        where("%w0", "mov.b32 %r20, 0;\nTOP:\nand.b32 %r21, %r20, 1;\n" +
                         elected("mbarrier.arrive.shared::cta.b64 _, [full];\n") + wait("full", "%r21") +
                         "add.u32 %r20, %r20, 1;\nsetp.lt.s32 %p2, %r20, %r50;\n@%p2 bra TOP;\n") +
        join() + last + "and.b32 %r22, %r22, 1;\n" + wait("full", "%r22", " // @wait") + "OUT:\n" + end(32));
  };
  EXPECT_THAT(said(text("add.s32 %r22, %r50, -1;\n")), IsEmpty());
  EXPECT_THAT(said(text("mov.b32 %r22, %r50;\n")), testing::Not(IsEmpty()));
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
  EXPECT_THAT(problems_of(columns), IsEmpty());
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

// --- what no scenario came to ---

// Blocks of n x 256 by m x 256 of a grid, as persistent kernels go through them, with an access that is wrong: columns
// 128 and on were not allocated.
std::string tiles(const std::string& count) {
  return ptx_kernel(begin(128) + "mov.u32 %r20, %clusterid.x;\nmov.u32 %r21, %nclusterid.x;\n" + count +
                    "TOP:\nsetp.ge.s32 %p1, %r20, %r22;\n@%p1 bra DONE;\n" + store("%tw+128", " // @store") +
                    kWaitStores + "add.u32 %r20, %r20, %r21;\nbra TOP;\nDONE:\n" + end(128));
}

TEST(Reach, TheMainLoopIsEnteredHoweverTilesAreCounted) {
  const std::string quotients = "shr.u32 %r23, %n, 8;\nshr.u32 %r24, %m, 8;\n";
  const std::string signed_quotients =
      "shr.s32 %r25, %n, 31;\nshr.u32 %r25, %r25, 24;\nadd.s32 %r25, %n, %r25;\nshr.s32 %r23, %r25, 8;\n"
      "shr.s32 %r26, %m, 31;\nshr.u32 %r26, %r26, 23;\nadd.s32 %r26, %m, %r26;\nshr.s32 %r24, %r26, 9;\n";
  const std::string by_multiplication =
      "mul.hi.u32 %r23, %n, -1431655765;\nshr.u32 %r23, %r23, 7;\nshr.u32 %r24, %m, 8;\n";
  const std::string wide =
      "mul.wide.u32 %d1, %n, -1431655765;\nshr.u64 %d1, %d1, 39;\ncvt.u32.u64 %r23, %d1;\nshr.u32 %r24, %m, 8;\n";
  const std::string halves =
      "add.s32 %r23, %n, -300;\nshr.u32 %r23, %r23, 9;\nadd.s32 %r24, %m, -200;\nshr.u32 %r24, %r24, 9;\n";
  for (const std::string& parts : {quotients, signed_quotients, by_multiplication, wide, halves}) {
    EXPECT_THAT(said(tiles(parts + "mul.lo.s32 %r22, %r23, %r24;\n")), ElementsAre("error tmem-column-bounds @store"));
    EXPECT_THAT(said(tiles(parts + "min.s32 %r22, %r23, %r24;\nsub.s32 %r22, %r22, 3;\n")),
                ElementsAre("error tmem-column-bounds @store"));
  }
}

TEST(Reach, WhatNoScenarioComesToIsIncomplete) {
  // No number is found that the hash of is this one.
  const std::string hash =
      "mul.lo.u32 %r20, %n, -1640531535;\nbrev.b32 %r20, %r20;\nxor.b32 %r20, %r20, %m;\n"
      "popc.b32 %r21, %r20;\nmul.lo.u32 %r20, %r20, %r21;\nsetp.eq.u32 %p1, %r20, 12345;\n";
  const Joint joint =
      joint_of(ptx_kernel(begin(32) + hash + where("%p1", load("%tw", " // @load") + kWaitLoads) + end(32)));
  ASSERT_EQ(joint.run.unreached.size(), 1u);
  EXPECT_EQ(joint.run.unreached[0].instructions.size(), 2u);
  EXPECT_THAT(said(ptx_kernel(begin(32) + hash + where("%p1", load("%tw", " // @load") + kWaitLoads) + end(32))),
              ElementsAre("incomplete @load"));
}

TEST(Reach, ARegionBehindTwoFlagsIsAimedAt) {
  // Neither flag alone leads there, and the one behind is asked only where the first is set.
  const std::string text = ptx_kernel(
      begin(32) + "and.b32 %r20, %n, 1;\nsetp.eq.u32 %p1, %r20, 1;\nand.b32 %r21, %m, 6;\nsetp.eq.u32 %p2, %r21, 4;\n" +
      store("%tw+8") + kWaitStores + "@%p1 bra SECOND;\n" + store("%tw") + kWaitStores + store("%tw+4") + kWaitStores +
      "bra OUT;\nSECOND:\n@%p2 bra THIRD;\n" + store("%tw+12") + kWaitStores + "bra OUT;\nTHIRD:\n" +
      store("%tw+32", " // @store") + "OUT:\n" + end(32));
  EXPECT_THAT(said(text), testing::Contains("error tmem-column-bounds @store"));
}

TEST(Reach, WhatOnlyConstantsLeadPastIsNoQuestion) {
  const std::string never =
      "mov.b32 %r20, 0;\nsetp.ne.u32 %p1, %r20, 0;\n" + where("%p1", load("%tw") + kWaitLoads) + end(32);
  EXPECT_THAT(said(ptx_kernel(begin(32) + never)), IsEmpty());
  // Code for a warp that the block does not have is one, once for all that it holds.
  EXPECT_THAT(said(ptx_kernel(begin(32) + where("%w5", load("%tw", " // @load") + kWaitLoads) + end(32))),
              ElementsAre("incomplete @load"));
}

TEST(Reach, AWaitThatIsMadeAgainIsNoRegionOfItsOwn) {
  // The second wait comes only where the first one fails, which here it never does.
  const std::string twice = std::string(
                                "mbarrier.arrive.shared::cta.b64 _, [full];\n"
                                "mbarrier.try_wait.parity.shared::cta.b64 %over, [full], 0;\n") +
                            "@%over bra GONE;\n" + wait("full", "0") + "GONE:\n";
  EXPECT_THAT(said(ptx_kernel(begin(32, init("full", 128)) + twice + end(32))), IsEmpty());
}

TEST(Conditions, BitsOfWhichNoneIsThereAreTwoConditions) {
  // The columns are freed where either flag is 0; the accesses come where both are, however that is asked.
  for (const char* both : {"or.b32 %r22, %r20, %r21;\nsetp.eq.s32 %p3, %r22, 0;\n",
                           "or.b32 %r22, %r21, %r20;\nsetp.ne.s32 %p4, %r22, 0;\nnot.pred %p3, %p4;\n"}) {
    const std::string text = ptx_kernel(
        where("%w0", "mov.u32 %r20, %n;\nmov.u32 %r21, %m;\nsetp.ne.u32 %p1, %r20, 0;\n@%p1 bra NONE;\n" +
                         allocate("slot", 32) + "NONE:\n" + both + "ld.shared.b32 %ta, [slot];\n" +
                         where("%p3", store("%ta") + kWaitStores) + "@%p1 bra END;\n" + release("%ta", 32) + "END:\n"));
    EXPECT_THAT(said(text), IsEmpty());
  }
}

TEST(Reach, AFunctionThatNothingCallsIsSaidOnce) {
  std::string text = ptx_kernel(begin(32) + "mov.u64 %d1, helper;\nst.global.b64 [%out], %d1;\n" + end(32));
  const std::string helper = ".func helper(.param .b32 at)\n{\n.reg .b32 %r<9>;\nld.param.b32 %r0, [at];\n" +
                             std::string("tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r1}, [%r0];\n") + kWaitLoads +
                             "ret;\n}\n";
  const size_t entry = text.find(".visible .entry");
  text.insert(entry, helper);
  EXPECT_THAT(said(text), IsEmpty());
  report::Results results;
  lint(std::make_shared<const ptx::SourceText>("k.ptx", text), Options{}, results);
  EXPECT_THAT(results.assumptions,
              ElementsAre(testing::HasSubstr("the address of helper is taken and nothing calls it")));
}

TEST(Conditions, ChecksAroundStoresOfResultsDecideNothing) {
  // Forty stores to global memory, each behind a check of its own; all behind the wait for the results.
  auto stores = [](const std::string& before) {
    std::string out = load("%tw") + before;
    for (unsigned n = 0; n < 40; ++n) {
      const std::string at = std::to_string(4 * n);
      out += "ld.global.u32 %r50, [%out+" + at + "];\nsetp.lt.u32 %p1, %r50, %n;\n" +
             where("%p1", "st.global.b32 [%out+" + at + "], %r" + std::to_string(1 + n % 4) + ";\n");
    }
    return out;
  };
  const std::string filled = begin(32) + store("%tw") + kWaitStores;
  EXPECT_EQ(joint_of(ptx_kernel(filled + stores(kWaitLoads) + end(32))).run.scenarios.size(), 1u);
  EXPECT_THAT(said(ptx_kernel(filled + stores(kWaitLoads) + end(32))), IsEmpty());
  // Ahead of the wait they say which lanes have used what they loaded.
  EXPECT_GT(joint_of(ptx_kernel(filled + stores("") + kWaitLoads + end(32))).run.scenarios.size(), 10u);
}

// --- blocks that nothing states ---

// --- scenarios that no launch has ---

// A table of 128 words lies before the slot that the alloc writes; it is filled while other warps may still read that.
std::string table_before_slot(const std::string& entries) {
  return ptx_kernel(where("%w0", allocate("tile_a+512", 32)) + join() +
                    "ld.shared.b32 %ta, [tile_a+512];\nshl.b32 %tw, %w, 21;\nadd.u32 %tw, %tw, %ta;\n"
                    "mov.u32 %r20, %t;\nsetp.ge.u32 %p1, %r20, " +
                    entries +
                    ";\n@%p1 bra FILLED;\nFILL:\nld.global.u32 %r21, [%out];\nmov.u32 %r22, tile_a;\n"
                    "mad.lo.u32 %r22, %r20, 4, %r22;\nst.shared.u32 [%r22], %r21; // @fill\n"
                    "add.u32 %r20, %r20, 128;\nsetp.lt.u32 %p1, %r20, " +
                    entries + ";\n@%p1 bra FILL;\nFILLED:\n" + join() +
                    "ld.shared.u32 %r5, [tile_a];\ntcgen05.st.sync.aligned.32x32b.x1.b32 [%tw], {%r5};\n" +
                    kWaitStores + end(32));
}

TEST(RoomOfAnArray, OfATableWhoseLengthIsAParameter) {
  EXPECT_THAT(said(table_before_slot("%n")), IsEmpty());
  EXPECT_THAT(said(table_before_slot("128")), IsEmpty());
  EXPECT_THAT(said(table_before_slot("256")), testing::Contains("error tmem-slot-race @fill"));
}

// Mbarriers of %n stages, at most four of which there is room for: those that say that a stage is full at `ring`, those
// that it is empty behind them. Warp 0 fills the stages, warp 1 reads them.
std::string stages_by_parameter() {
  const std::string stage =
      "mov.u32 %r30, ring;\nmad.lo.u32 %r30, %r21, 8, %r30;\nadd.u32 %r31, %r30, 32;\nxor.b32 %r23, %r22, 1;\n";
  const std::string next =
      "add.u32 %r20, %r20, 1;\nadd.u32 %r21, %r21, 1;\nsetp.eq.u32 %p2, %r21, %n;\nselp.b32 %r24, 1, 0, %p2;\n"
      "xor.b32 %r22, %r22, %r24;\nselp.b32 %r21, 0, %r21, %p2;\nsetp.lt.u32 %p1, %r20, %m;\n";
  const std::string inits =
      "mov.b32 %r20, 0;\nINIT:\nmov.u32 %r30, ring;\nmad.lo.u32 %r30, %r20, 8, %r30;\nadd.u32 %r31, %r30, 32;\n" +
      init("%r30", 1) + init("%r31", 32) + "add.u32 %r20, %r20, 1;\nsetp.lt.u32 %p1, %r20, %n;\n@%p1 bra INIT;\n";
  return ptx_kernel(begin(128, inits) + "mov.b32 %r20, 0;\nmov.b32 %r21, 0;\nmov.b32 %r22, 0;\n" +
                    where("%w0", elected("FILL:\n" + stage + wait("%r31", "%r23") + mma("%ta", "%no") + commit("%r30") +
                                         next + "@%p1 bra FILL;\n")) +
                    where("%w1", "READ:\n" + stage + wait("%r30", "%r22") + load("%tw") + kWaitLoads +
                                     "mbarrier.arrive.shared::cta.b64 _, [%r31];\n" + next + "@%p1 bra READ;\n") +
                    end(128));
}

TEST(RoomOfAnArray, OfStagesWhoseNumberIsAParameter) {
  // One accumulator behind all stages: warp 0 does not wait for it, whatever their number is.
  for (const std::string& finding : said(stages_by_parameter())) {
    EXPECT_THAT(finding, testing::Not(testing::HasSubstr("mbarrier"))) << finding;
  }
}

TEST(ZeroTrips, AreExcusedWhereAParameterDecidesThem) {
  auto loop = [](const std::string& commits) {
    return ptx_kernel(begin(128, init("full", 1)) + where("%w0", elected(mma("%ta", "%no", " // @first"))) +
                      "mov.b32 %r10, 0;\nmov.b32 %r11, 0;\nsetp.lt.s32 %p1, %n, 1;\n@%p1 bra DONE;\nTOP:\n" +
                      where("%w0", elected(mma("%ta", "%yes") + commits)) + wait("full", "%r11") + join() +
                      "xor.b32 %r11, %r11, 1;\nadd.u32 %r10, %r10, 1;\nsetp.lt.s32 %p1, %r10, %n;\n@%p1 bra TOP;\n"
                      "DONE:\n" +
                      kConsume + end(128));
  };
  EXPECT_THAT(said(loop(commit("full"))), IsEmpty());
  // Here the loop runs, and its waits end by something else.
  EXPECT_THAT(said(loop("mbarrier.arrive.shared::cta.b64 _, [full];\n")),
              testing::Contains("error tmem-mma-completion @load"));
}

TEST(ZeroTrips, AreNotTheUsualScenario) {
  // Whether there is a tile matters to no instruction of the protocol at the first branch that asks for it.
  const std::string text = ptx_kernel(
      begin(128, init("full", 1)) +
      where("%w1",
            "mov.b32 %r20, 7;\nmov.u32 %r21, %ctaid.x;\nsetp.lt.u32 %p1, %r21, %n;\n@%p1 bra GROUP; // @asks\n"
            "mov.b32 %r20, 9;\nGROUP:\nst.shared.u32 [tile_b], %r20;\n") +
      "mov.u32 %r21, %ctaid.x;\nsetp.ge.u32 %p1, %r21, %n;\n@%p1 bra NONE;\n" + produce() + "NONE:\n" +
      where("%w1", wait("full", "0")) + end(128));
  EXPECT_THAT(said(text), testing::Not(testing::Contains(testing::HasSubstr("mbarrier-count"))));
}

// --- waits that never end in unusual scenarios ---

TEST(FlippedBranches, ThatDecideAnArrivalOfARing) {
  // Two stages: whether the first one is given back matters in the third round.
  const std::string flag = "setp.eq.u32 %p5, %m, 0;\n";
  EXPECT_THAT(said(ring(wait("%r31", "%r23"), flag + where("%p5", kArrive))),
              ElementsAre("warning tmem-mbarrier-count @init"));
  EXPECT_THAT(said(ring(wait("%r31", "%r23"), flag + where("%p5", "add.u32 %r40, %r40, 1;\n") + kArrive)), IsEmpty());
}

TEST(GuessedWords, DoNotExcuseAWaitForWhatNeverComes) {
  auto kernel = [](const std::string& producer) {
    return ptx_kernel(begin(128, init("full", 1, " // @init")) + producer +
                      "ld.global.u32 %r50, [%out];\nsetp.eq.u32 %p1, %r50, 0;\n" + where("%p1", wait("full", "0")) +
                      join() + end(128));
  };
  EXPECT_THAT(said(kernel(elected("mbarrier.arrive.shared::cta.b64 _, [full];\n"))),
              testing::Not(testing::Contains("warning tmem-mbarrier-count @init")));
  EXPECT_THAT(said(kernel("")), ElementsAre("warning tmem-mbarrier-count @init"));
}

TEST(Polls, ThatGiveUp) {
  auto poll = [](const std::string& then) {
    return ptx_kernel(begin(128, init("full", 1)) + produce() +
                      "mov.b32 %r40, 0;\nPOLL:\nmbarrier.test_wait.parity.shared::cta.b64 %p2, [full], 0;\n"
                      "@%p2 bra THERE;\nadd.u32 %r40, %r40, 1;\nsetp.ne.u32 %p3, %r40, 1000;\n@%p3 bra POLL;\n" +
                      then + "THERE:\n" + kConsume + end(128));
  };
  EXPECT_THAT(said(poll("trap;\n")), IsEmpty());
  EXPECT_THAT(said(poll("")), testing::Contains("error tmem-mma-completion @load"));
}

// Tiles without work are skipped by warp 0, which issues, and by warp 1, which reads. `at_work` and `always` are what
// the reader does to its phase bit, %r22, behind a tile with work, and behind every tile.
std::string empty_tiles(const std::string& at_work, const std::string& always) {
  const std::string flag =
      "mul.wide.u32 %d6, %r20, 4;\nadd.u64 %d6, %out, %d6;\nld.global.nc.u32 %r50, [%d6];\n"
      "setp.eq.u32 %p5, %r50, 0;\n";
  const std::string next = "add.u32 %r20, %r20, 1;\nsetp.lt.u32 %p1, %r20, %n;\n";
  return ptx_kernel(begin(128, init("full", 1) + init("empty", 32)) + "mov.b32 %r20, 0;\nmov.b32 %r22, 0;\n" +
                    where("%w0", elected("FILL:\n" + flag + "@%p5 bra NONE;\nxor.b32 %r23, %r22, 1;\n" +
                                         wait("empty", "%r23") + mma("%ta", "%no") + commit("full") +
                                         "xor.b32 %r22, %r22, 1;\nNONE:\n" + next + "@%p1 bra FILL;\n")) +
                    where("%w1", "READ:\n" + flag + "@%p5 bra SKIP;\n" + wait("full", "%r22") +
                                     load("%tw", " // @load") + kWaitLoads +
                                     "mbarrier.arrive.shared::cta.b64 _, [empty];\n" + at_work + "SKIP:\n" + always +
                                     next + "@%p1 bra READ;\n") +
                    end(128));
}

TEST(FlippedBranches, ChangeFromRoundToRound) {
  const std::string toggle = "xor.b32 %r22, %r22, 1;\n";
  EXPECT_THAT(said(empty_tiles(toggle, "")), IsEmpty());
  EXPECT_THAT(said(empty_tiles("", toggle)), testing::Contains("error tmem-mma-completion @load"));
}

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

}  // namespace
}  // namespace tmemlint
