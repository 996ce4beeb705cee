// Whether the state of all warps comes back while a loop goes round. Where it does, every further round does what an
// earlier one did, and need not be tried.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "analyzer/assumptions/assumptions.h"
#include "analyzer/cluster/canonical_state.h"
#include "analyzer/cluster/policy.h"

namespace tmemlint::cluster {

struct KernelFacts;

class LoopReturns {
public:
  // Whether a warp has come to where the state is compared: the head of one loop of Policy::endless, and always by the
  // same warp.
  bool is_due(const WarpState& w, const Policy& policy, const kernel::Graph& graph) const;
  // Compares the state with those of the rounds before. Sets DecisionState::leave_endless when it has come back, or
  // when more rounds are not tried.
  void look(uint32_t warp, RunState& state, const Policy& policy, const KernelFacts& facts);

  uint32_t returned_after() const { return returned_after_; }  // rounds of the loop that is watched; 0: not seen
  // Loops that went round between the two equal states.
  const std::set<uint32_t>& covered() const { return covered_; }

private:
  struct Round {
    CanonicalState state;
    std::vector<std::vector<uint32_t>> rounds;  // by warp and loop
  };
  std::vector<Round> seen_;
  WhatCounts counts_;
  uint32_t warp_ = kNone, loop_ = kNone;
  uint32_t returned_after_ = 0;
  std::set<uint32_t> covered_;
};

}  // namespace tmemlint::cluster
