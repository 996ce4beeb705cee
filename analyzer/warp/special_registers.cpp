#include "analyzer/warp/special_registers.h"

#include <array>
#include <bit>
#include <string>

#include "analyzer/warp/execution.h"

namespace tmemlint::warp {

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
constexpr unsigned kThreadIndexBits = 30;
// In y and z there are at most 65535 blocks (CUDA C++ Programming Guide, compute capabilities).
constexpr unsigned kBlockIndexBits = 16;

class SpecialRegister {
public:
  SpecialRegister(Terms& terms, const kernel::Launch& launch, uint32_t rank, uint32_t warp, std::string_view name)
      : terms_(terms), launch_(launch), rank_(rank), warp_(warp), name_(name) {
    axis_ = name.size() > 2 && name[name.size() - 2] == '.' ? name.back() : '\0';
    stem_ = axis_ != '\0' ? name.substr(0, name.size() - 2) : name;
  }

  Value value() const {
    const ptx::Dimensions& b = launch_.block;
    const ptx::Dimensions& c = launch_.cluster;
    if (stem_ == "%tid") {
      return by_lane([&](uint32_t t, unsigned) { return along_axis(t % b.x, t / b.x % b.y, t / (b.x * b.y)); });
    }
    if (stem_ == "%ntid") return Value::of(along_axis(b.x, b.y, b.z));
    if (stem_ == "%laneid") return by_lane([](uint32_t, unsigned l) -> uint64_t { return l; });
    if (stem_ == "%warpid") return Value::of(warp_);
    if (stem_ == "%nwarpid") return Value::of(launch_.warps());
    if (stem_ == "WARP_SZ") return Value::of(kLanes);
    if (stem_ == "%lanemask_eq") return by_lane([](uint32_t, unsigned l) -> uint64_t { return 1u << l; });
    if (stem_ == "%lanemask_lt") return by_lane([](uint32_t, unsigned l) -> uint64_t { return (1u << l) - 1; });
    if (stem_ == "%lanemask_le") return by_lane([](uint32_t, unsigned l) -> uint64_t { return (2ull << l) - 1; });
    if (stem_ == "%lanemask_gt") return by_lane([](uint32_t, unsigned l) -> uint64_t { return ~((2ull << l) - 1); });
    if (stem_ == "%lanemask_ge") return by_lane([](uint32_t, unsigned l) -> uint64_t { return ~((1ull << l) - 1); });
    if (stem_ == "%cluster_ctarank") return Value::of(rank_);
    if (stem_ == "%cluster_nctarank") return Value::of(launch_.ctas());
    if (stem_ == "%cluster_ctaid") return Value::of(place_in_cluster());
    if (stem_ == "%cluster_nctaid") return Value::of(along_axis(c.x, c.y, c.z));
    if (stem_ == "%is_explicit_cluster" && launch_.ctas() > 1) return Value::of(1);
    if (stem_ == "%ctaid" || stem_ == "%clusterid") return block_index();
    // What indexes go up by from round to round.
    if (name_ == "%nctaid.x") return unknown(name_, ~truncate(~uint64_t{0}, index_bits()));
    if (stem_.starts_with("%clock") || stem_.starts_with("%globaltimer") || stem_.starts_with("%pm")) {
      return terms_.opaque(site_of(UnknownKind::kClock), 0, Uniformity::kLane, ~uint64_t{0}, 64);
    }
    return unknown(name_);
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
    return axis_ == 'x' ? x : axis_ == 'y' ? y : axis_ == 'z' ? z : 0;
  }

  uint64_t place_in_cluster() const {
    const uint32_t x = std::max(1u, launch_.cluster.x);
    const uint32_t y = std::max(1u, launch_.cluster.y);
    return along_axis(rank_ % x, rank_ / x % y, rank_ / std::max(1u, launch_.cluster.x * launch_.cluster.y));
  }

  // How many bits the index of a block along the register's axis has at most.
  unsigned index_bits() const {
    if (axis_ != 'x') return kBlockIndexBits;
    return kThreadIndexBits - static_cast<unsigned>(std::bit_width(launch_.threads() - 1));
  }

  // A number that all threads of the CTA see, and no more is known of.
  Value unknown(std::string_view of, uint64_t zero_bits = 0) const {
    uint64_t part = 0;
    for (char ch : of) part = part * 131 + static_cast<unsigned char>(ch);
    const bool size = of.starts_with("%nctaid") || of.starts_with("%nclusterid") || of.starts_with("%nsmid");
    return terms_.opaque(site_of(size ? UnknownKind::kLaunchSize : UnknownKind::kLaunch), part, Uniformity::kCta, 0, 32,
                         zero_bits);
  }

  // %ctaid is the cluster's number times its size plus the place in it, so that the parity of the rank is known.
  Value block_index() const {
    const uint64_t size = std::max<uint64_t>(1, along_axis(launch_.cluster.x, launch_.cluster.y, launch_.cluster.z));
    const unsigned bits = index_bits() - static_cast<unsigned>(std::bit_width(size - 1));
    const Value cluster = unknown(std::string("%clusterid.") + axis_, ~truncate(~uint64_t{0}, bits));
    if (stem_ == "%clusterid") return cluster;
    const Value scaled = terms_.apply(operation(Op::kMul, 32), cluster, Value::of(size));
    return terms_.apply(operation(Op::kAdd, 32), scaled, Value::of(place_in_cluster()));
  }

  Terms& terms_;
  const kernel::Launch& launch_;
  const uint32_t rank_;
  const uint32_t warp_;
  const std::string_view name_;
  char axis_;
  std::string_view stem_;  // without the axis
};

}  // namespace

Value special_register(Terms& terms, const kernel::Launch& launch, uint32_t rank, uint32_t warp,
                       std::string_view name) {
  return SpecialRegister(terms, launch, rank, warp, name).value();
}

}  // namespace tmemlint::warp
