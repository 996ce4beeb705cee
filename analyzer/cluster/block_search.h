// Where nothing states the block of a kernel: which one its code speaks for.
#pragma once

#include "analyzer/cluster/followed_warps.h"
#include "analyzer/cluster/joint.h"
#include "analyzer/kernel/launch.h"

namespace tmemlint::cluster {

// A launch with the warps that were followed under it.
struct FollowedLaunch {
  kernel::Launch launch;
  FollowedWarps warps;
};

// The given launch, or where its block is a guess and some instruction of the protocol is reached by no warp, one with
// the smallest block that has a warp for all of them.
FollowedLaunch find_block(const CompiledKernel& kernel, FollowedLaunch first);

// A launch with the joint run of its warps.
struct SteppedLaunch {
  FollowedLaunch followed;
  Joint joint;
};

// The given launch, or where its block is a guess and its warps wait for others, one with the next larger block in
// which they do not.
SteppedLaunch find_block_that_goes_on(const CompiledKernel& kernel, SteppedLaunch first, const JointSetting& setting);

}  // namespace tmemlint::cluster
