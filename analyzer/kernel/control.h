// Which branches decide whether a block runs: post-dominators and control dependence (Ferrante, Ottenstein and Warren).
#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/kernel/graph.h"

namespace tmemlint::kernel {

struct Control {
  // By block: the first block that every path from it to an exit runs through; kNone when there is none. Paths that end
  // in a trap do not count.
  std::vector<uint32_t> after;
  // By block: the blocks whose branch decides whether it runs.
  std::vector<std::vector<uint32_t>> deciders;
  // By block: whether a path leads from it to an exit of the kernel.
  std::vector<bool> can_exit;
};

Control control_of(const Graph& graph);

}  // namespace tmemlint::kernel
