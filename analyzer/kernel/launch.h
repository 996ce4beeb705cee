// The shape a kernel is launched with: threads per CTA and CTAs per cluster, and where each comes from.
#pragma once

#include <string>

#include "analyzer/ptx/module.h"

namespace tmemlint::kernel {

struct Launch {
  enum class Origin : uint8_t {
    kStated,    // .reqntid / .reqnctapercluster, or given by the user on the command line
    kMaximum,   // .maxntid: an upper bound that compilers' launch bounds give exactly in practice
    kInferred,  // the largest count that a barrier names, or a larger one that the code speaks for (block_search.h)
    kAssumed,   // a usual number: nothing in the kernel says how many
  };
  ptx::Dimensions block;  // threads
  Origin block_origin = Origin::kAssumed;
  ptx::Dimensions cluster;  // CTAs
  Origin cluster_origin = Origin::kAssumed;
  // The kernel reads more dimensions of a thread's place than its bounds say: which threads make a warp is not known.
  bool shape_unknown = false;

  uint32_t threads() const { return static_cast<uint32_t>(block.count()); }
  uint32_t warps() const { return (threads() + 31) / 32; }
  uint32_t ctas() const { return static_cast<uint32_t>(cluster.count()); }
  // Whether a finding that depends on the number of warps rests on a guess.
  bool block_is_guess() const { return block_origin == Origin::kInferred || block_origin == Origin::kAssumed; }
  bool cluster_is_guess() const { return cluster_origin == Origin::kAssumed; }
};

// `block` and `cluster` are the user's, where given. `uses_pairs`: the kernel has cta_group::2.
Launch launch_of(const ptx::Module& module, const ptx::Function& kernel, ptx::Dimensions block, ptx::Dimensions cluster,
                 bool uses_pairs);

// One sentence on what was inferred or assumed about the launch; empty when it was all stated.
std::string assumption(const Launch& launch, std::string_view kernel);

}  // namespace tmemlint::kernel
