// The shape a kernel is launched with: threads per CTA and CTAs per cluster, and where each comes from.
#pragma once

#include <string>

#include "analyzer/ptx/module.h"

namespace tmemlint::kernel {

struct Launch {
  enum class Origin : uint8_t {
    kStated,    // .reqntid / .reqnctapercluster, or given by the user on the command line
    kMaximum,   // .maxntid: an upper bound that compilers' launch bounds give exactly in practice
    kInferred,  // what the code speaks for: counts of barriers, warps that it is for, ranks and masks that it names
    kAssumed,   // a usual number: nothing in the kernel says how many
  };
  ptx::Dimensions block;  // threads
  Origin block_origin = Origin::kAssumed;
  ptx::Dimensions cluster;  // CTAs
  Origin cluster_origin = Origin::kAssumed;
  // What the kernel does depends on more dimensions of a thread's place than its bounds say: all threads are taken to
  // lie along x.
  bool shape_is_guess = false;

  uint32_t threads() const { return static_cast<uint32_t>(block.count()); }
  uint32_t warps() const { return (threads() + 31) / 32; }
  uint32_t ctas() const { return static_cast<uint32_t>(cluster.count()); }
  // Whether a finding that depends on the number of warps rests on a guess.
  bool block_is_guess() const { return block_origin == Origin::kInferred || block_origin == Origin::kAssumed; }
  bool cluster_is_guess() const { return cluster_origin != Origin::kStated; }
};

// What the user says about a launch, where given.
struct AskedLaunch {
  ptx::Dimensions block, cluster;
  // Said of this kernel, rather than of all that state nothing.
  bool block_by_name = false, cluster_by_name = false;
};

// Why a kernel cannot be launched as the user says; empty where it can. `uses_pairs`: it has cta_group::2.
std::string contradiction(const ptx::Function& kernel, const AskedLaunch& asked, bool uses_pairs);

// Whether a kernel reads `%tid.y` or `%tid.z`; unless its block is known, what they are is a guess.
bool reads_more_dimensions(const ptx::Module& module, uint32_t kernel);

// `block` and `cluster` are the user's, where given.
Launch launch_of(const ptx::Module& module, const ptx::Function& kernel, ptx::Dimensions block, ptx::Dimensions cluster,
                 bool uses_pairs);

// One sentence on what was inferred or assumed about the launch; empty when it was all stated.
std::string assumption(const Launch& launch, std::string_view kernel);

}  // namespace tmemlint::kernel
