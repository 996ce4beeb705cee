// What is noted over all scenarios: where warps came, and which addresses of Tensor Memory they touched, by instruction
// and warp; and on which mbarriers instructions arrive.
#pragma once

#include <bitset>
#include <cstdint>
#include <set>
#include <unordered_map>

#include "analyzer/cluster/coverage.h"
#include "analyzer/ptx/effects.h"

namespace tmemlint::cluster {

// Where the executions of an ld or st by one warp of a CTA start.
struct StartLanes {
  std::bitset<ptx::kTmemLanes> lanes;
  bool all = true;  // every execution's address was known
};

// How the first column that an instruction touches changes from round to round of its innermost loop.
struct ColumnTrend {
  int64_t last = 0;             // column from that of the allocation
  uint32_t round = UINT32_MAX;  // in which that was; UINT32_MAX: none yet
  int8_t direction = 0;         // 1: up, -1: down, 0: there was one round only
  bool comes_back = false;      // some round was not further on than the one before it: a ring's stages, or one place
};

struct Footprints {
  // `warp`: its number in its CTA.
  static uint64_t key(uint32_t instruction, uint32_t warp) { return (uint64_t{instruction} << 32) | warp; }
  std::unordered_map<uint64_t, StartLanes> start_lanes;
  std::unordered_map<uint64_t, ColumnTrend> trends;
  Coverage coverage;
  std::unordered_map<uint32_t, std::set<uint32_t>> arrivals;  // by instruction: shared addresses of mbarriers
};

}  // namespace tmemlint::cluster
