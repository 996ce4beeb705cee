// Weak topological order of a graph's blocks.
#pragma once

#include <cstdint>

namespace tmemlint::kernel {

struct Graph;

// Drops the blocks that `entry` does not reach, renumbers the others into a weak topological order (block 0 is the
// entry), and fills in predecessors and loops.
void sort_blocks(Graph& graph, uint32_t entry);

}  // namespace tmemlint::kernel
