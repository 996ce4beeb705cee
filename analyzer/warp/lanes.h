// Lanes of one warp that branched apart: where each group of them waits to run.
//
// The group whose block comes first in the graph's order runs next, so that lanes meet again where the order brings
// them together; lanes that came round a loop wait for those still inside it.
#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/kernel/graph.h"

namespace tmemlint::warp {

struct Waiting {
  uint32_t block = 0;
  uint32_t lanes = 0;
  bool again = false;  // came round a loop
  bool operator==(const Waiting&) const = default;
};

// The loop that a block is the head of, kNone for others.
inline uint32_t headed(const kernel::Graph& graph, uint32_t block) {
  const uint32_t loop = graph.blocks[block].loop;
  return loop != ptx::kNone && graph.loops[loop].head == block ? loop : ptx::kNone;
}

inline uint64_t running_order(const kernel::Graph& graph, const Waiting& w) {
  return w.again ? uint64_t{graph.loops[headed(graph, w.block)].end} * 2 - 1 : uint64_t{w.block} * 2;
}

// Lanes that go from one block to another, as a group that waits.
inline Waiting waiting_at(const kernel::Graph& graph, uint32_t from, uint32_t block, uint32_t lanes) {
  const uint32_t loop = headed(graph, block);
  return {block, lanes, loop != ptx::kNone && graph.in_loop(from, loop)};
}

// Adds lanes that go from one block to another, in running order.
inline void add_waiting(const kernel::Graph& graph, std::vector<Waiting>& list, uint32_t from, uint32_t block,
                        uint32_t lanes) {
  if (lanes == 0) return;
  const Waiting w = waiting_at(graph, from, block, lanes);
  auto at = list.begin();
  for (; at != list.end(); ++at) {
    if (at->block == w.block && at->again == w.again) {
      at->lanes |= lanes;
      return;
    }
  }
  at = list.begin();
  while (at != list.end() && running_order(graph, *at) <= running_order(graph, w)) ++at;
  list.insert(at, w);
}

}  // namespace tmemlint::warp
