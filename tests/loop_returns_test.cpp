// Loops that are followed until the state of all warps comes back, and what is then said of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "analyzer/cluster/scenario_run.h"
#include "tests/producer_kernels.h"

namespace tmemlint {
namespace {

using namespace test;
using testing::Contains;
using testing::IsEmpty;

// Each round warp 0 issues an mma that completes on the next one of `stages` mbarriers, and all warps wait for it
// before they read. `flip` is what becomes of the parity %r22 where the stages begin again (%p2); `more` is done at the
// end of a round.
std::string rounds_of(unsigned stages, const std::string& flip, const std::string& more = "") {
  std::string inits;
  for (unsigned s = 0; s < stages; ++s) inits += init("ring+" + std::to_string(8 * s), 1);
  return ptx_kernel(begin(128, inits) +
                    "mov.b32 %r20, 0;\nmov.b32 %r21, 0;\nmov.b32 %r22, 0;\nmov.u32 %r30, ring;\nAGAIN:\n"
                    "setp.ge.u32 %p1, %r20, %n;\n@%p1 bra OUT;\nmad.lo.u32 %r31, %r21, 8, %r30;\n" +
                    produce("%r31") + wait("%r31", "%r22") + kConsume + more + join() +
                    "add.u32 %r21, %r21, 1;\nsetp.eq.u32 %p2, %r21, " + std::to_string(stages) +
                    ";\nselp.b32 %r21, 0, %r21, %p2;\n" + flip + "add.u32 %r20, %r20, 1;\nbra AGAIN;\nOUT:\n" +
                    end(128));
}
const std::string kFlip = "selp.b32 %r23, 1, 0, %p2;\nxor.b32 %r22, %r22, %r23;\n";
const std::string kStore = where("%w1", store("%tw") + kWaitStores);

TEST(LoopReturns, AFaultThatBeginsInTheNinthRoundIsFound) {
  // Eight stages: a parity that is never flipped is the wrong one from the ninth round on.
  EXPECT_THAT(said(rounds_of(8, kFlip)), IsEmpty());
  EXPECT_THAT(said(rounds_of(8, "")), Contains("error tmem-mma-completion @load"));
}

TEST(LoopReturns, TheStateComesBackWithTheStagesAndTheirParity) {
  // All of it is as before after each stage was used twice; the first round has no mma before it.
  for (unsigned stages : {1u, 2u, 3u, 5u, 7u}) {
    const Joint joint = joint_of(rounds_of(stages, kFlip));
    const auto& loops = joint.run.loops;
    ASSERT_EQ(loops.size(), 1u) << stages;
    const cluster::LoopCoverage& loop = loops.begin()->second;
    EXPECT_GE(loop.returns_after, 2 * stages) << stages;
    EXPECT_LE(loop.returns_after, 2 * stages + 2) << stages;
  }
}

TEST(LoopReturns, WhatNeverComesBackIsSaidToBeTried) {
  // The columns that are read go on with the rounds.
  const std::string next = "add.u32 %tw, %tw, 1;\n";
  const Joint joint = joint_of(rounds_of(2, kFlip, next));
  const auto& loops = joint.run.loops;
  ASSERT_EQ(loops.size(), 1u);
  EXPECT_EQ(loops.begin()->second.returns_after, 0u);
  EXPECT_GE(loops.begin()->second.rounds, 5u);
}

// What a scenario observes.
std::set<cluster::ObservationKey> observed(const Joint& joint, const cluster::Policy& policy, bool* returned) {
  const cluster::KernelFacts facts(*joint.analysis->kernel, joint.analysis->launch);
  cluster::Footprints footprints;
  cluster::ScenarioUnderWay scenario(facts, policy, false, footprints);
  scenario.go_on(10'000'000);
  const cluster::ScenarioResult result = scenario.finish();
  *returned = result.returned_after != 0;
  std::set<cluster::ObservationKey> out;
  for (const cluster::Observed& o : result.observed) out.insert(key_of(o.what));
  return out;
}

TEST(LoopReturns, FiftyRoundsShowNothingThatTheRoundsUpToTheReturnDoNot) {
  std::vector<std::string> kernels;
  for (unsigned stages = 1; stages <= 8; ++stages) {
    kernels.push_back(rounds_of(stages, kFlip));
    kernels.push_back(rounds_of(stages, kFlip, kStore));
  }
  for (unsigned stages = 1; stages <= 3; ++stages) kernels.push_back(rounds_of(stages, ""));
  kernels.push_back(ring(wait("%r31", "%r23"), kArrive));
  kernels.push_back(ring("", kArrive));
  kernels.push_back(ring(wait("%r31", "%r22"), kArrive));
  unsigned returned = 0;
  for (const std::string& text : kernels) {
    const Joint joint = joint_of(text);
    cluster::Policy endless;
    for (const auto& [loop, coverage] : joint.run.loops) endless.endless.insert(loop);
    bool returns = false;
    const std::set<cluster::ObservationKey> until_return = observed(joint, endless, &returns);
    if (!returns) continue;
    ++returned;
    cluster::Policy fifty;
    fifty.trips = 50;
    bool ignored = false;
    for (const cluster::ObservationKey& key : observed(joint, fifty, &ignored))
      EXPECT_TRUE(until_return.contains(key)) << text;
  }
  EXPECT_GE(returned, 20u);
}

}  // namespace
}  // namespace tmemlint
