// Where the report goes.
#pragma once

#include <string>
#include <string_view>

namespace tmemlint::cli {

// To standard output, or to the file when one is named. Empty on success, else what went wrong. A reader that closed
// its end of a pipe wants no more: that is a success.
std::string write_report(std::string_view text, const std::string& file);

// Colours on a stream: `fd` is a terminal that understands them and NO_COLOR does not forbid them.
bool wants_color(int fd);

}  // namespace tmemlint::cli
