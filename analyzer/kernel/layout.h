// Where variables live: one flat 64-bit generic address space in which every state space has a window, so that
// address arithmetic, cvta and generic accesses are plain numbers.
//
// A shared address is a 32-bit number: the offset in the CTA's shared memory plus the CTA's rank in its cluster << 24
// (the shared::cluster window). Its generic address has the same low 32 bits, so that a truncated generic address is
// the shared address again.
#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/assumptions/assumptions.h"
#include "analyzer/kernel/graph.h"

namespace tmemlint::kernel {

constexpr uint64_t kSharedWindow = uint64_t{1} << assumptions::kBitsOfAWindow;
constexpr uint64_t kLocalWindow = uint64_t{2} << assumptions::kBitsOfAWindow;
constexpr uint64_t kParamWindow = uint64_t{3} << assumptions::kBitsOfAWindow;
constexpr uint64_t kConstWindow = uint64_t{4} << assumptions::kBitsOfAWindow;
constexpr uint64_t kGlobalWindow = uint64_t{5} << assumptions::kBitsOfAWindow;
constexpr uint64_t kWindowMask = ~(kSharedWindow - 1);
constexpr unsigned kRankShift = assumptions::kBitsOfASharedAddress;

inline uint64_t window_of(uint64_t generic) {
  return generic & kWindowMask;
}

class Layout {
public:
  explicit Layout(const Graph& graph);

  // The address of a variable in an activation: for shared variables the offset without the rank (below 1 << 24), for
  // others the generic address.
  uint64_t address(uint32_t frame, uint32_t variable) const;
  // Formal parameters of a callee that the caller passes in a `.param` variable of its own are that variable.
  void alias(uint32_t frame, uint32_t variable, uint64_t address);
  // The kernel parameter space is [kParamWindow, kParamWindow + kernel_parameters()).
  uint64_t kernel_parameters() const { return kernel_parameters_; }

private:
  struct Placed {
    uint64_t key;  // frame << 32 | variable
    uint64_t address;
  };
  void place_once(const Graph& graph);
  void place_per_frame(const Graph& graph);

  std::vector<Placed> per_frame_;  // ascending by key
  std::vector<uint64_t> global_;   // by variable; of those that have one address
  uint64_t kernel_parameters_ = 0;
};

}  // namespace tmemlint::kernel
