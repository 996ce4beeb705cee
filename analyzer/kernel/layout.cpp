#include "analyzer/kernel/layout.h"

#include <algorithm>

namespace tmemlint::kernel {

using ptx::Space;
using ptx::Variable;

namespace {

// The system keeps the first KiB of a CTA's shared memory for itself on these targets; what matters here is only that
// the dynamic part starts well aligned behind the static one.
constexpr uint64_t kSharedStart = assumptions::kStartOfSharedMemory;
// Between the begin of a window and its first variable, so that no variable is at address 0 of its state space.
constexpr uint64_t kGap = assumptions::kStartOfAWindow;

uint64_t align_up(uint64_t n, uint64_t alignment) {
  if (alignment < 1) alignment = 1;
  return (n + alignment - 1) / alignment * alignment;
}

uint64_t key(uint32_t frame, uint32_t variable) {
  return (uint64_t{frame} << 32) | variable;
}

// The first that is not before a key.
template <typename Placed>
auto place_of(Placed& placed, uint64_t key) {
  return std::lower_bound(placed.begin(), placed.end(), key, [](const auto& p, uint64_t k) { return p.key < k; });
}

}  // namespace

Layout::Layout(const Graph& graph) {
  place_once(graph);
  place_per_frame(graph);
}

// Variables of which all activations share one: of shared, constant and global memory.
void Layout::place_once(const Graph& graph) {
  const ptx::Module& module = *graph.module;
  global_.assign(module.variables.size(), 0);
  uint64_t shared = kSharedStart;
  uint64_t global = kGlobalWindow + kGap;
  uint64_t constant = kConstWindow + kGap;
  uint64_t dynamic_alignment = 16;
  std::vector<uint32_t> dynamic;
  std::vector<bool> called(module.functions.size(), false);
  for (const Frame& frame : graph.frames) called[frame.function] = true;
  for (uint32_t v = 0; v < module.variables.size(); ++v) {
    const Variable& variable = module.variables[v];
    switch (variable.space) {
      case Space::kShared:
        if (variable.function < called.size() && !called[variable.function]) break;  // of another kernel
        if (variable.is_unsized || (variable.is_extern && variable.size == 0)) {
          dynamic.push_back(v);
          dynamic_alignment = std::max<uint64_t>(dynamic_alignment, variable.alignment);
        } else {
          shared = align_up(shared, variable.alignment);
          global_[v] = shared;
          shared += variable.size;
        }
        break;
      case Space::kConst:
        constant = align_up(constant, variable.alignment);
        global_[v] = constant;
        constant += std::max(variable.size, assumptions::kUnknownVariableSize);
        break;
      case Space::kGlobal:
        global = align_up(global, std::max<uint64_t>(variable.alignment, 256));
        global_[v] = global;
        global += std::max(variable.size, assumptions::kUnknownVariableSize);
        break;
      case Space::kLocal:
      case Space::kParam:
      case Space::kTexture:
      case Space::kNone:
        break;
    }
  }
  // All dynamic shared variables are the same memory (PTX ISA 5.1.7).
  const uint64_t dynamic_start = align_up(shared, dynamic_alignment);
  for (uint32_t v : dynamic) global_[v] = dynamic_start;
}

// Variables of which each activation has its own: of local memory, and parameters.
void Layout::place_per_frame(const Graph& graph) {
  const ptx::Module& module = *graph.module;
  std::vector<std::vector<uint32_t>> of_function(module.functions.size());
  for (uint32_t v = 0; v < module.variables.size(); ++v) {
    const Variable& variable = module.variables[v];
    if (variable.function < of_function.size() &&
        (variable.space == Space::kLocal || variable.space == Space::kParam)) {
      of_function[variable.function].push_back(v);
    }
  }
  uint64_t local = kLocalWindow + kGap;
  uint64_t param = kParamWindow;
  for (uint32_t frame = 0; frame < graph.frames.size(); ++frame) {
    for (uint32_t v : of_function[graph.frames[frame].function]) {
      const Variable& variable = module.variables[v];
      uint64_t& next = variable.space == Space::kLocal ? local : param;
      next = align_up(next, variable.alignment);
      per_frame_.push_back({key(frame, v), next});  // ascending: by frame, and by variable
      next += std::max(variable.size, assumptions::kUnknownVariableSize);
      if (frame == 0 && variable.is_parameter) kernel_parameters_ = std::max(kernel_parameters_, next - kParamWindow);
    }
    // Variables of different activations never touch, so that a wide access cannot reach into another's.
    param = align_up(param, assumptions::kGapBetweenActivations) + assumptions::kGapBetweenActivations;
    local = align_up(local, assumptions::kGapBetweenActivations) + assumptions::kGapBetweenActivations;
  }
}

uint64_t Layout::address(uint32_t frame, uint32_t variable) const {
  const auto found = place_of(per_frame_, key(frame, variable));
  return found != per_frame_.end() && found->key == key(frame, variable) ? found->address : global_[variable];
}

void Layout::alias(uint32_t frame, uint32_t variable, uint64_t address) {
  const auto found = place_of(per_frame_, key(frame, variable));
  if (found != per_frame_.end() && found->key == key(frame, variable)) {
    found->address = address;
  } else {
    per_frame_.insert(found, {key(frame, variable), address});
  }
}

}  // namespace tmemlint::kernel
