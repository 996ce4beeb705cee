// The joint run: all warps of a cluster stepped together, each along one path, with exact values and no joins.
//
// What is unknown stays a term; where a branch needs one, a decision is made once for all warps. A scenario is one run
// under one policy for such decisions. Barriers have their phases and counts, asynchronous arrivals come as late as
// they can, and vector clocks tell which accesses of Tensor Memory are ordered and which asynchronous operations are
// known to be complete.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "analyzer/assumptions/assumptions.h"
#include "analyzer/cluster/compiled_kernel.h"
#include "analyzer/cluster/followed_warps.h"
#include "analyzer/cluster/footprints.h"
#include "analyzer/cluster/observation_log.h"
#include "analyzer/cluster/observations.h"
#include "analyzer/cluster/unreached.h"
#include "analyzer/kernel/launch.h"
#include "analyzer/warp/events.h"

namespace tmemlint::cluster {

struct Joint {
  // Of all scenarios, in the order in which they ran; the usual one is the first.
  std::vector<Scenario> scenarios;
  // In the order of the scenarios, and of each those that it made, in their order. One that is as reliable as the same
  // one of an earlier scenario is left out.
  std::deque<Observed> observed;
  Footprints footprints;
  std::vector<warp::Uncertain> uncertain;  // questions that could not be decided
  // What no scenario came to though some warp by itself does; and what no warp of the launch comes to, because of where
  // its threads stand. What only constants lead past is in neither.
  std::vector<UnreachedRegion> unreached, for_others;
  std::vector<LogLine> log;         // of the first scenario
  uint64_t asked = 0, decided = 0;  // questions: an access against another, a free or a round of a barrier
  uint64_t steps = 0;               // warp-instructions executed
  // Some scenario ends with a wait that nothing ends, which a block that is only a guess may be too small for.
  bool short_of_warps = false;
};

struct JointSetting {
  bool log = false;
  // Of all scenarios; the first one may take as many by itself. What is only replayed counts little.
  uint64_t step_budget = assumptions::kStepsOfAllScenarios;
  bool usual_only = false;  // the first scenario and no other
};

// `followed`: the same warps one by one.
Joint run_jointly(const CompiledKernel& kernel, const kernel::Launch& launch, const FollowedWarps& followed,
                  const JointSetting& setting);

}  // namespace tmemlint::cluster
