#include "analyzer/cluster/loop_returns.h"

#include <algorithm>

#include "analyzer/cluster/kernel_facts.h"
#include "analyzer/program/protocol_bits.h"
#include "analyzer/warp/flow.h"

namespace tmemlint::cluster {

namespace {

constexpr size_t kMostRounds = assumptions::kRoundsUntilTheStateReturns;

}  // namespace

bool LoopReturns::is_due(const WarpState& w, const Policy& policy, const kernel::Graph& graph) const {
  if (returned_after_ != 0 || w.over || w.groups.empty()) return false;
  const LaneGroup& front = w.groups.front();
  const uint32_t loop = warp::headed(graph, front.at.block);
  if (loop == kNone || !policy.endless.contains(loop) || w.rounds[loop] == 0) return false;
  return warp_ == kNone || (warp_ == w.index && loop_ == loop);
}

void LoopReturns::look(uint32_t warp, RunState& state, const Policy& policy, const KernelFacts& facts) {
  const program::Program& program = *facts.kernel.program;
  const kernel::Graph& graph = facts.kernel.graph;
  if (warp_ == kNone) {
    warp_ = warp;
    loop_ = warp::headed(graph, state.warps[warp].groups.front().at.block);
    // What the policy decides is no part of the state: the ends of these loops.
    std::vector<bool> free_blocks(graph.blocks.size(), false);
    counts_.free_loops.assign(graph.loops.size(), false);
    for (uint32_t loop : policy.endless) {
      counts_.free_loops[loop] = true;
      free_blocks[facts.branches.loop_end(loop).block] = true;
    }
    counts_.terms = facts.kernel.terms.get();
    counts_.bits = std::make_shared<program::ProtocolBits>(program, std::move(free_blocks));
  }
  Round now;
  now.state = canonical_state(state, program, counts_);
  for (const WarpState& w : state.warps) now.rounds.push_back(w.rounds);
  const auto before = std::find_if(seen_.rbegin(), seen_.rend(), [&](const Round& r) { return r.state == now.state; });
  if (before != seen_.rend()) {
    returned_after_ = static_cast<uint32_t>(seen_.size() + 1);
    for (uint32_t loop : policy.endless) {
      const bool goes_round = std::any_of(state.warps.begin(), state.warps.end(), [&](const WarpState& w) {
        return w.rounds[loop] != before->rounds[w.index][loop];
      });
      if (goes_round) covered_.insert(loop);
    }
    state.decisions.leave_endless = true;
  } else if (seen_.size() >= kMostRounds) {
    facts.kernel.terms->uses().count(assumptions::Id::kRoundsUntilTheStateReturns);
    state.decisions.leave_endless = true;
  }
  seen_.push_back(std::move(now));
}

}  // namespace tmemlint::cluster
