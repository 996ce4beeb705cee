// Numbers that name parts of a joint run for each other.
#pragma once

#include <cstdint>

namespace tmemlint::cluster {

constexpr uint32_t kNoAllocation = UINT32_MAX;  // of TensorMemory::allocations
constexpr uint32_t kNoAccess = UINT32_MAX;      // of TensorMemory

}  // namespace tmemlint::cluster
