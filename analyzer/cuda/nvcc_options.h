// nvcc's options, from its own help (13.0): which there are, under which names, and which take a value.
#pragma once

#include <cstdint>
#include <string_view>

namespace tmemlint::cuda {

// What is to become of an option.
enum class NvccKind : uint8_t {
  kDrop,           // nothing that Clang needs; no value
  kDropValue,      // the same, with a value
  kInclude,        // -I
  kSystemInclude,  // -isystem
  kPreInclude,     // -include
  kDefine,
  kUndefine,
  kStandard,
  kArchitecture,  // -arch, -gencode, -code: names targets
  kHostOptions,   // -Xcompiler
  kHostCompiler,  // -ccbin: Clang parses for the device and needs none; nvcc does
  kOptionsFile,
  kFastMath,
  kRelocatable,
  kNvccSwitch,  // no value; nvcc must see it to compile, Clang does it anyway
  kDefaultStream,
};

// Null when nvcc has no such option. `name` comes without leading dashes.
const NvccKind* nvcc_option(std::string_view name);
bool takes_value(NvccKind kind);

}  // namespace tmemlint::cuda
