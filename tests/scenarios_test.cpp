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

}  // namespace
}  // namespace tmemlint
