// Bytes of an input as characters.
//
// PTX is ASCII in theory; comments, file names and inline CUDA are not. Inputs may hold any bytes at all, so everything
// here takes invalid UTF-8: each byte that starts no character counts as one character, U+FFFD.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tmemlint::report {

struct Character {
  char32_t code = 0xfffd;
  size_t bytes = 1;
};

// The first character of a text that is not empty.
Character first_character(std::string_view text);

// How many UTF-16 code units the text takes: the unit of SARIF columns.
size_t utf16_length(std::string_view text);

// The text as it may be sent to a terminal: valid UTF-8 with no control character, so that an input can neither break
// the encoding nor move the cursor. Line ends and tabs become a space.
std::string printable(std::string_view text);

// A kernel's name for a reader: demangled, and cut where template arguments make it longer than a line.
std::string readable_kernel(const std::string& name);

}  // namespace tmemlint::report
