// What is the same in every scenario of a kernel.
#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/cluster/branch_facts.h"
#include "analyzer/cluster/compiled_kernel.h"
#include "analyzer/cluster/last_stores.h"
#include "analyzer/kernel/launch.h"

namespace tmemlint::cluster {

// What a block does to words of global memory that orders warps.
struct GlobalOrder {
  bool releases = false, acquires = false;
};

struct KernelFacts {
  // What is referred to outlives every run.
  KernelFacts(const CompiledKernel& compiled, const kernel::Launch& of);

  const CompiledKernel& kernel;
  kernel::Launch launch;
  BranchFacts branches;
  // By block, with what is left out behind it; empty if no two warps can meet by words of global memory.
  std::vector<GlobalOrder> global_orders;
  bool uses_cluster = false;         // some instruction may reach another CTA
  mutable StoreBlocks store_blocks;  // a cache
};

}  // namespace tmemlint::cluster
