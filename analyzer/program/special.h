// What a special register holds, decoded once from its name.
#pragma once

#include <cstdint>
#include <string_view>

namespace tmemlint::program {

enum class Special : uint8_t {
  kThread,           // %tid
  kBlockSize,        // %ntid
  kLane,             // %laneid
  kWarp,             // %warpid
  kWarpCount,        // %nwarpid
  kWarpSize,         // WARP_SZ
  kLanesEqual,       // %lanemask_eq
  kLanesBelow,       // %lanemask_lt
  kLanesUpTo,        // %lanemask_le
  kLanesAbove,       // %lanemask_gt
  kLanesFrom,        // %lanemask_ge
  kClusterRank,      // %cluster_ctarank: of the CTA, as one number
  kClusterCtas,      // %cluster_nctarank
  kCtaInCluster,     // %cluster_ctaid: of the CTA, by axis
  kClusterShape,     // %cluster_nctaid
  kExplicitCluster,  // %is_explicit_cluster
  kCta,              // %ctaid
  kGridSize,         // %nctaid
  kCluster,          // %clusterid
  kGridClusters,     // %nclusterid
  kSmCount,          // %nsmid
  kTime,             // %clock…, %globaltimer…, %pm…: another number each time
  kOther
};

struct SpecialRegister {
  enum class Axis : uint8_t { kX, kY, kZ, kNone };
  Special what = Special::kOther;
  Axis axis = Axis::kNone;
};

SpecialRegister decode_special(std::string_view name);

}  // namespace tmemlint::program
