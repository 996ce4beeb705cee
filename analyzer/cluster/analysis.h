// Everything that is known of a kernel before the rules look at it: its code, its launch, its warps followed one by one
// and stepped together. It does not change once it is there.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "analyzer/cluster/block_search.h"
#include "analyzer/cluster/compiled_kernel.h"
#include "analyzer/cluster/followed_warps.h"
#include "analyzer/cluster/joint.h"
#include "analyzer/kernel/launch.h"

namespace tmemlint::cluster {

struct Analysis {
  std::shared_ptr<const CompiledKernel> kernel;
  kernel::Launch launch;
  FollowedWarps warps;
  std::shared_ptr<const Joint> joint;  // nothing for a kernel without tcgen05 instructions

  bool has_tcgen05() const { return !kernel->tcgen05.empty(); }
  // Functions with tcgen05 instructions whose address the kernel takes, and that nothing in it calls.
  std::vector<uint32_t> uncalled() const;
};

// `block` and `cluster`: what the command line states, for kernels that state none.
Analysis analyze(const ptx::Module& module, uint32_t function, ptx::Dimensions block, ptx::Dimensions cluster,
                 const JointSetting& setting = {});

}  // namespace tmemlint::cluster
