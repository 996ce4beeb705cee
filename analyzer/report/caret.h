// A source line and the marks under it: `    ^~~~`.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tmemlint::report {

struct CaretLines {
  std::string line;   // tabs expanded, printable, at most `width` columns
  std::string marks;  // spaces, '^', then '~' up to the end of the span
};

// `begin` and `end` are byte offsets within `line`; a span that runs past the line is clipped to it, an empty one gets
// the '^' alone. Of a line wider than `width` the part around the caret is shown, with "..." where it was cut.
CaretLines caret_lines(std::string_view line, size_t begin, size_t end, size_t width = 160);

}  // namespace tmemlint::report
