// What is the same in every scenario of a kernel.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
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
  std::vector<uint32_t> arriving;    // instructions that arrive on mbarriers
  bool uses_cluster = false;         // some instruction may reach another CTA
  mutable StoreBlocks store_blocks;  // a cache

  // Whether the address of a step is counted up in a loop, or goes by the parameter that says how often it runs.
  bool address_counts_in(uint32_t step, uint32_t loop) const;

private:
  mutable std::map<std::pair<uint32_t, uint32_t>, bool> counting_;  // by step and loop, as far as it was asked
};

}  // namespace tmemlint::cluster
