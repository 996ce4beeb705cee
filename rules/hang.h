// What to say of a scenario in which no warp can go on: a finding about the mbarrier that is short of arrivals, an open
// question, or nothing.
#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include "analyzer/cluster/observations.h"
#include "analyzer/warp/events.h"

namespace tmemlint::rules {

// The wait of Hang::waiter is never satisfied: a finding.
struct NeverSatisfied {};

// What is said of a hang: std::monostate for nothing, warp::Uncertain for a question that stays open.
using HangMeaning = std::variant<std::monostate, NeverSatisfied, warp::Uncertain>;

// `threads`: of a CTA.
HangMeaning judge(const cluster::Hang& hang, uint32_t threads);

}  // namespace tmemlint::rules
