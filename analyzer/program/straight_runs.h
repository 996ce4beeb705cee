// Straight runs: steps, one behind the other, that only compute registers. What they yield for what they start from is
// computed once and then looked up.
#pragma once

#include "analyzer/program/liveness.h"
#include "analyzer/program/program.h"

namespace tmemlint::program {

void find_straight_runs(Program& program, const Liveness& liveness);

}  // namespace tmemlint::program
