// Which instructions of the protocol no scenario came to, and behind which branch they are.
#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/cluster/branch_facts.h"
#include "analyzer/cluster/compiled_kernel.h"
#include "analyzer/cluster/coverage.h"

namespace tmemlint::cluster {

// tcgen05 instructions and waits behind one way of a branch that no warp went.
struct UnreachedRegion {
  uint32_t block = ptx::kNone;         // that ends with the branch
  size_t way = 0;                      // in Block::successors
  std::vector<uint32_t> instructions;  // ascending, each once
};

// `can_be_reached`: by step, which ones count. A region of waits alone behind a wait that would have to fail is left
// out: it waits again for the same. With `by_place` only those regions that are behind a branch which asks what thread
// or CTA it is.
std::vector<UnreachedRegion> unreached_regions(const CompiledKernel& kernel, const BranchFacts& facts,
                                               const Coverage& coverage, const std::vector<bool>& can_be_reached,
                                               bool by_place = false);

}  // namespace tmemlint::cluster
