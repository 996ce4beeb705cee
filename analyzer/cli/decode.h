// --decode-descriptor: the fields of a descriptor's value, for people who put descriptors together.
#pragma once

#include <string>
#include <string_view>

namespace tmemlint::cli {

struct Decoded {
  std::string text;
  std::string problem;  // what is wrong with the request; empty when there is a text
};

// `which` is "idesc" or "smem", `value` a decimal or hexadecimal number, `kind` that of the mma ("f16"), or empty.
Decoded decode_descriptor(std::string_view which, std::string_view value, std::string_view kind);

}  // namespace tmemlint::cli
