// One scenario, from the first instruction to its end.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "analyzer/cluster/joint.h"
#include "analyzer/cluster/kernel_facts.h"
#include "analyzer/cluster/policy.h"
#include "analyzer/cluster/scheduler.h"

namespace tmemlint::cluster {

struct ScenarioResult {
  Scenario scenario;
  std::deque<Observed> observed;
  KeySet keys;  // of these
  std::vector<warp::Uncertain> uncertain;
  std::vector<LogLine> lines;
  // What another policy would have decided another way: see DecisionState.
  std::map<uint32_t, unsigned> choices, other_trips;
  std::map<uint32_t, bool> selections;
  std::set<uint32_t> on_data;
  std::set<std::pair<uint32_t, uint32_t>> same_question;
  std::vector<DecisionState::Way> skips;  // by which parameters let a loop that writes Tensor Memory run no time
  bool nothing_new = false;               // it goes the way that the usual one does, and was not followed to its end
  std::optional<Overrun> overrun;  // it went on for more rounds than there is room for, and was not followed further
  bool over_budget = false;
  bool short_of_warps = false;  // it ended with waits that warps which a guessed block does not have may end
  uint64_t asked = 0, decided = 0, steps = 0, cost = 0;
};

// A scenario under way. A copy goes on from the same place by itself, so that scenarios can share their beginning.
class ScenarioUnderWay {
public:
  // `facts` and `footprints` (where accesses are noted, of all scenarios) outlive it.
  ScenarioUnderWay(const KernelFacts& facts, Policy policy, bool log, Footprints& footprints);
  ScenarioUnderWay(const ScenarioUnderWay& other);
  ScenarioUnderWay& operator=(const ScenarioUnderWay&) = delete;
  ~ScenarioUnderWay() = default;

  // Until it ends, or has cost so many warp-instructions in all, deciding included.
  void go_on(uint64_t budget);
  const RunState& state() const { return state_; }
  // Whether it stopped for its budget alone, and can go on with a larger one.
  bool over_budget() const { return progress_.over_budget; }
  // How it ended. Nothing can be done with it behind that.
  ScenarioResult finish();

private:
  const Policy policy_;
  RunState state_;
  Scene scene_;
  Progress progress_;
};

}  // namespace tmemlint::cluster
