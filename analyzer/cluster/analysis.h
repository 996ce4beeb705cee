// All warps of a kernel's CTA (of both CTAs of a pair), each followed along its paths, with what they tell each other
// through shared memory.
#pragma once

#include <memory>
#include <set>
#include <vector>

#include "analyzer/cluster/joint.h"
#include "analyzer/kernel/graph.h"
#include "analyzer/kernel/launch.h"
#include "analyzer/warp/evaluate.h"

namespace tmemlint::cluster {

struct Analysis {
  const ptx::Module* module = nullptr;
  uint32_t kernel = ptx::kNone;     // Module::functions
  std::vector<uint32_t> functions;  // of its call tree, itself first
  std::vector<uint32_t> tcgen05;    // Module::instructions of these functions, in text order
  bool uses_pairs = false;          // some instruction has cta_group::2
  kernel::Launch launch;
  kernel::Graph graph;
  std::unique_ptr<program::Program> program;
  std::unique_ptr<value::Terms> terms;
  std::unique_ptr<warp::Replays> replays;
  std::vector<warp::WarpGraph> warps;  // by rank, then by warp

  std::shared_ptr<const Joint> joint;  // all warps stepped together

  // tcgen05 instructions of `tcgen05` that no warp's evaluation came to.
  std::vector<uint32_t> unreached() const;
};

// The tcgen05 instructions of a kernel's call tree.
std::vector<uint32_t> tcgen05_instructions(const ptx::Module& module, const std::vector<uint32_t>& functions);

// Follows some warps once more, with the times round loops told apart: for what was found on a path that joining them
// may have made. False when that would show nothing new.
bool look_again(Analysis& analysis, const std::set<const warp::WarpGraph*>& warps);

std::unique_ptr<Analysis> analyze(const ptx::Module& module, uint32_t kernel, ptx::Dimensions block,
                                  ptx::Dimensions cluster, const JointSetting& setting = {});

}  // namespace tmemlint::cluster
