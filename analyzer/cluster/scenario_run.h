// One scenario, from the first instruction to its end.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "analyzer/cluster/joint.h"
#include "analyzer/cluster/kernel_facts.h"
#include "analyzer/cluster/policy.h"

namespace tmemlint::cluster {

struct ScenarioSetting {
  Policy policy;
  bool log = false;
  uint64_t budget = 0;  // warp-instructions, deciding included
};

struct ScenarioResult {
  Scenario scenario;
  std::vector<Observed> observed;
  std::vector<warp::Uncertain> uncertain;
  std::vector<LogLine> lines;
  // What another policy would have decided another way: see DecisionState.
  std::map<uint32_t, unsigned> choices, other_trips;
  std::map<uint32_t, bool> selections;
  bool nothing_new = false;  // it goes the way that the usual one does, and was not followed to its end
  bool over_budget = false;
  bool short_of_warps = false;  // it ended with waits that warps which a guessed block does not have may end
  uint64_t asked = 0, decided = 0, steps = 0, cost = 0;
};

// `footprints`: where accesses are noted, of all scenarios.
ScenarioResult run_scenario(const KernelFacts& facts, const ScenarioSetting& setting, Footprints& footprints);

}  // namespace tmemlint::cluster
