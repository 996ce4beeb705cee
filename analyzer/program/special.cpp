#include "analyzer/program/special.h"

#include <array>

namespace tmemlint::program {

namespace {

struct NamedSpecial {
  std::string_view name;
  Special what;
};
constexpr std::array<NamedSpecial, 21> kSpecials = {{{"%tid", Special::kThread},
                                                     {"%ntid", Special::kBlockSize},
                                                     {"%laneid", Special::kLane},
                                                     {"%warpid", Special::kWarp},
                                                     {"%nwarpid", Special::kWarpCount},
                                                     {"WARP_SZ", Special::kWarpSize},
                                                     {"%lanemask_eq", Special::kLanesEqual},
                                                     {"%lanemask_lt", Special::kLanesBelow},
                                                     {"%lanemask_le", Special::kLanesUpTo},
                                                     {"%lanemask_gt", Special::kLanesAbove},
                                                     {"%lanemask_ge", Special::kLanesFrom},
                                                     {"%cluster_ctarank", Special::kClusterRank},
                                                     {"%cluster_nctarank", Special::kClusterCtas},
                                                     {"%cluster_ctaid", Special::kCtaInCluster},
                                                     {"%cluster_nctaid", Special::kClusterShape},
                                                     {"%is_explicit_cluster", Special::kExplicitCluster},
                                                     {"%ctaid", Special::kCta},
                                                     {"%nctaid", Special::kGridSize},
                                                     {"%clusterid", Special::kCluster},
                                                     {"%nclusterid", Special::kGridClusters},
                                                     {"%nsmid", Special::kSmCount}}};

}  // namespace

SpecialRegister decode_special(std::string_view name) {
  using Axis = SpecialRegister::Axis;
  SpecialRegister out;
  std::string_view stem = name;
  if (name.size() > 2 && name[name.size() - 2] == '.') {
    stem = name.substr(0, name.size() - 2);
    const char axis = name.back();
    out.axis = axis == 'x' ? Axis::kX : axis == 'y' ? Axis::kY : axis == 'z' ? Axis::kZ : Axis::kNone;
  }
  for (const NamedSpecial& s : kSpecials) {
    if (s.name == stem) out.what = s.what;
  }
  if (stem.starts_with("%clock") || stem.starts_with("%globaltimer") || stem.starts_with("%pm"))
    out.what = Special::kTime;
  return out;
}

}  // namespace tmemlint::program
