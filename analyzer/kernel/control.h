// Which branches decide whether a block runs: post-dominators and control dependence (Ferrante, Ottenstein and Warren).
// And which blocks only lead into traps.
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

// By block: whether every path from it ends in a trap. Where a loop may go round for ever the answer is no, although
// `can_exit` is false there too.
std::vector<bool> leads_only_to_traps(const Graph& graph);

}  // namespace tmemlint::kernel
