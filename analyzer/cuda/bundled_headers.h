// Headers that travel inside the module (analyzer/cuda/bundled), in a folder that exists for Clang only.
#pragma once

#include <string_view>
#include <vector>

namespace tmemlint::cuda {

constexpr const char* kBundledFolder = "/tmemlint-bundled";

struct BundledHeader {
  std::string_view name;  // "any/tmemlint_shim.h"
  std::string_view text;
};

extern const std::vector<BundledHeader> kBundledHeaders;  // defined in a source that embed_headers.cmake generates

}  // namespace tmemlint::cuda
