// The state of a joint run is a value: a copy goes on by itself, and states that go on alike have one canonical form.
#include <gtest/gtest.h>

#include "analyzer/cluster/canonical_state.h"
#include "analyzer/cluster/scenario_run.h"
#include "tests/producer_kernels.h"

namespace tmemlint::test {
namespace {

using cluster::ScenarioResult;
using cluster::ScenarioUnderWay;

constexpr uint64_t kEnough = 100'000;  // warp-instructions, more than any kernel here takes

// A kernel with what its scenarios run on.
struct Runnable {
  explicit Runnable(const std::string& text)
      : joint(joint_of(text)), facts(*joint.analysis->kernel, joint.analysis->launch) {}
  ScenarioUnderWay begin(const cluster::Policy& policy = {}) { return {facts, policy, false, footprints}; }

  Joint joint;
  cluster::KernelFacts facts;
  cluster::Footprints footprints;
};

// What a scenario showed, in comparable form.
struct Shown {
  explicit Shown(ScenarioResult result)
      : complete(result.scenario.complete), steps(result.steps), asked(result.asked), decided(result.decided) {
    for (const cluster::Observed& o : result.observed) keys.push_back(key_of(o.what));
    for (const warp::Uncertain& u : result.uncertain) open.push_back(std::to_string(u.instruction) + " " + u.reason);
  }
  bool operator==(const Shown&) const = default;
  bool complete;
  uint64_t steps, asked, decided;
  std::vector<cluster::ObservationKey> keys;
  std::vector<std::string> open;
};

std::string good_ring() {
  return ring(wait("%r31", "%r23", " // @empty"), kArrive);
}
// Three of the four consumers complete the phase.
std::string bad_ring() {
  return ring(wait("%r31", "%r23", " // @empty"), "mbarrier.arrive.shared::cta.b64 _, [%r31];\n", 3);
}

// Columns that one warp writes and the next one reads with nothing between: which comes first depends on whose turn it
// is.
std::string unordered() {
  return ptx_kernel(begin(32) + where("%w0", store("%tw") + kWaitStores) + where("%w1", load("%ta") + kWaitLoads) +
                    end(32));
}

TEST(RunState, AScenarioThatIsInterruptedGoesOnAsIfItWereNot) {
  for (const std::string& text : {good_ring(), bad_ring(), unordered()}) {
    Runnable kernel(text);
    ScenarioUnderWay whole = kernel.begin();
    whole.go_on(kEnough);
    const Shown expected(whole.finish());
    EXPECT_FALSE(expected.keys.empty());
    for (uint64_t part : {1, 40, 200, 500, 900}) {
      ScenarioUnderWay interrupted = kernel.begin();
      for (uint64_t budget = part; budget < kEnough; budget += part) interrupted.go_on(budget);
      EXPECT_EQ(Shown(interrupted.finish()), expected) << part;
    }
  }
}

TEST(RunState, ACopyGoesOnByItself) {
  Runnable kernel(bad_ring());
  ScenarioUnderWay whole = kernel.begin();
  whole.go_on(kEnough);
  const Shown expected(whole.finish());
  for (uint64_t budget : {1, 40, 200, 500, 900}) {
    ScenarioUnderWay original = kernel.begin();
    original.go_on(budget);
    ScenarioUnderWay copy(original);
    EXPECT_EQ(cluster::canonical_state(copy.state(), *kernel.joint.analysis->kernel->program),
              cluster::canonical_state(original.state(), *kernel.joint.analysis->kernel->program));
    // The one runs to its end before the other moves.
    copy.go_on(kEnough);
    EXPECT_EQ(Shown(copy.finish()), expected) << budget;
    original.go_on(kEnough);
    EXPECT_EQ(Shown(original.finish()), expected) << budget;
  }
}

// The state in which the scenario ends that lets the ring go round so many times.
cluster::CanonicalState end_of(Runnable& kernel, uint32_t trips) {
  cluster::Policy policy;
  policy.trips = trips;
  ScenarioUnderWay scenario = kernel.begin(policy);
  scenario.go_on(kEnough);
  return cluster::canonical_state(scenario.state(), *kernel.joint.analysis->kernel->program);
}

TEST(CanonicalState, ComesBackWithTheStagesAndParitiesOfARing) {
  // Two stages, whose mbarriers have one parity for two rounds each: all is as before after four rounds.
  Runnable kernel(good_ring());
  const cluster::CanonicalState after_four = end_of(kernel, 4);
  EXPECT_EQ(end_of(kernel, 8), after_four);
  EXPECT_EQ(end_of(kernel, 12), after_four);
  for (uint32_t trips : {5, 6, 7}) EXPECT_NE(end_of(kernel, trips), after_four) << trips;
  EXPECT_EQ(end_of(kernel, 9), end_of(kernel, 5));
}

TEST(CanonicalState, TellsWhoKnowsWhatApart) {
  // The same steps but for a barrier that hands on what warp 0 has stored.
  const auto kernel_with = [](const std::string& hand_over) {
    return ptx_kernel(begin(32) + where("%w0", store("%tw") + kWaitStores) + hand_over + "bar.sync 1;\n" + end(32));
  };
  const auto end_state = [](const std::string& text) {
    Runnable kernel(text);
    ScenarioUnderWay scenario = kernel.begin();
    scenario.go_on(kEnough);
    return cluster::canonical_state(scenario.state(), *kernel.joint.analysis->kernel->program);
  };
  const std::string with = kernel_with("tcgen05.fence::before_thread_sync;\n");
  const std::string without = kernel_with("");
  EXPECT_EQ(end_state(with), end_state(with));
  EXPECT_NE(end_state(with), end_state(without));
}

}  // namespace
}  // namespace tmemlint::test
