#include "analyzer/warp/special_registers.h"

#include <array>
#include <bit>
#include <string_view>

#include "analyzer/assumptions/assumptions.h"
#include "analyzer/warp/execution.h"

namespace tmemlint::warp {

using program::Special;
using program::SpecialRegister;
using value::kLanes;
using value::Lanes;
using value::Op;
using value::site_of;
using value::Terms;
using value::truncate;
using value::Uniformity;
using value::UnknownKind;
using value::Value;

namespace {

// Assumption: a grid has fewer than 2^30 threads. The index of a thread in it is then a number of 32 bits that is not
// negative, also a stride further.
constexpr unsigned kThreadIndexBits = assumptions::kBitsOfAThreadIndex;
// In y and z there are at most 65535 blocks (CUDA C++ Programming Guide, compute capabilities).
constexpr unsigned kBlockIndexBits = assumptions::kBitsOfABlockIndex;

class Specials {
public:
  Specials(Terms& terms, const kernel::Launch& launch, uint32_t rank, uint32_t warp, SpecialRegister::Axis axis)
      : terms_(terms), launch_(launch), rank_(rank), warp_(warp), axis_(axis) {}

  Value value(Special what, std::string_view name) const {
    const ptx::Dimensions& b = launch_.block;
    const ptx::Dimensions& c = launch_.cluster;
    switch (what) {
      case Special::kThread:
        return by_lane([&](uint32_t t, unsigned) { return along_axis(t % b.x, t / b.x % b.y, t / (b.x * b.y)); });
      case Special::kBlockSize:
        return Value::of(along_axis(b.x, b.y, b.z));
      case Special::kLane:
        return by_lane([](uint32_t, unsigned l) -> uint64_t { return l; });
      case Special::kWarp:
        return Value::of(warp_);
      case Special::kWarpCount:
        return Value::of(launch_.warps());
      case Special::kWarpSize:
        return Value::of(kLanes);
      case Special::kLanesEqual:
        return by_lane([](uint32_t, unsigned l) -> uint64_t { return 1u << l; });
      case Special::kLanesBelow:
        return by_lane([](uint32_t, unsigned l) -> uint64_t { return (1u << l) - 1; });
      case Special::kLanesUpTo:
        return by_lane([](uint32_t, unsigned l) -> uint64_t { return (2ull << l) - 1; });
      case Special::kLanesAbove:
        return by_lane([](uint32_t, unsigned l) -> uint64_t { return ~((2ull << l) - 1); });
      case Special::kLanesFrom:
        return by_lane([](uint32_t, unsigned l) -> uint64_t { return ~((1ull << l) - 1); });
      case Special::kClusterRank:
        return Value::of(rank_);
      case Special::kClusterCtas:
        return Value::of(launch_.ctas());
      case Special::kCtaInCluster:
        return Value::of(place_in_cluster());
      case Special::kClusterShape:
        return Value::of(along_axis(c.x, c.y, c.z));
      case Special::kExplicitCluster:
        return launch_.ctas() > 1 ? Value::of(1) : unknown(UnknownKind::kLaunch, name);
      case Special::kCta:
        return cta_index();
      case Special::kCluster:
        return cluster_index();
      case Special::kGridSize:
        // What indexes go up by from round to round.
        return unknown(UnknownKind::kLaunchSize, name, axis_ == SpecialRegister::Axis::kX ? above_index() : 0);
      case Special::kGridClusters:
      case Special::kSmCount:
        return unknown(UnknownKind::kLaunchSize, name);
      case Special::kTime:
        return terms_.opaque(site_of(UnknownKind::kClock), 0, Uniformity::kLane, ~uint64_t{0}, 64);
      case Special::kOther:
        return unknown(UnknownKind::kLaunch, name);
    }
    return unknown(UnknownKind::kLaunch, name);
  }

private:
  // `f` of the number of a thread in its block and of its lane.
  template <typename F>
  Value by_lane(F&& f) const {
    Lanes n;
    for (unsigned l = 0; l < kLanes; ++l) n[l] = f(warp_ * kLanes + l, l);
    return terms_.from_lanes(n, 32);
  }

  uint64_t along_axis(uint32_t x, uint32_t y, uint32_t z) const {
    switch (axis_) {
      case SpecialRegister::Axis::kX:
        return x;
      case SpecialRegister::Axis::kY:
        return y;
      case SpecialRegister::Axis::kZ:
        return z;
      case SpecialRegister::Axis::kNone:
        return 0;
    }
    return 0;
  }

  uint64_t place_in_cluster() const {
    const uint32_t x = std::max(1u, launch_.cluster.x);
    const uint32_t y = std::max(1u, launch_.cluster.y);
    return along_axis(rank_ % x, rank_ / x % y, rank_ / std::max(1u, launch_.cluster.x * launch_.cluster.y));
  }

  uint64_t cluster_size() const {
    return std::max<uint64_t>(1, along_axis(launch_.cluster.x, launch_.cluster.y, launch_.cluster.z));
  }

  // How many bits the index of a block along the register's axis has at most, and the bits above.
  unsigned index_bits() const {
    if (axis_ != SpecialRegister::Axis::kX) return kBlockIndexBits;
    return kThreadIndexBits - static_cast<unsigned>(std::bit_width(launch_.threads() - 1));
  }
  uint64_t above_index() const { return ~truncate(~uint64_t{0}, index_bits()); }

  // A number that all threads of the CTA see, and no more is known of.
  Value unknown(UnknownKind kind, std::string_view name, uint64_t zero_bits = 0) const {
    uint64_t part = 0;
    for (char ch : name) part = part * 131 + static_cast<unsigned char>(ch);
    return terms_.opaque(site_of(kind), part, Uniformity::kCta, 0, 32, zero_bits);
  }

  Value cluster_index() const {
    constexpr std::array<std::string_view, 4> kNames = {"%clusterid.x", "%clusterid.y", "%clusterid.z", "%clusterid"};
    const unsigned bits = index_bits() - static_cast<unsigned>(std::bit_width(cluster_size() - 1));
    return unknown(UnknownKind::kLaunch, kNames[static_cast<size_t>(axis_)], ~truncate(~uint64_t{0}, bits));
  }

  // The cluster's number times its size plus the place in it, so that the parity of the rank is known.
  Value cta_index() const {
    const Value scaled = terms_.apply(operation(Op::kMul, 32), cluster_index(), Value::of(cluster_size()));
    return terms_.apply(operation(Op::kAdd, 32), scaled, Value::of(place_in_cluster()));
  }

  Terms& terms_;
  const kernel::Launch& launch_;
  const uint32_t rank_;
  const uint32_t warp_;
  const SpecialRegister::Axis axis_;
};

}  // namespace

Value special_register(Terms& terms, const kernel::Launch& launch, uint32_t rank, uint32_t warp,
                       const SpecialRegister& which, std::string_view name) {
  return Specials(terms, launch, rank, warp, which.axis).value(which.what, name);
}

}  // namespace tmemlint::warp
