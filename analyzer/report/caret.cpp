#include "analyzer/report/caret.h"

#include <algorithm>
#include <vector>

#include "analyzer/report/encoding.h"

namespace tmemlint::report {
namespace {

constexpr size_t kTab = 8;
constexpr std::string_view kEllipsis = "...";

// A line as a terminal shows it: one cell per column.
struct Cells {
  std::vector<std::string> cells;
  size_t begin = 0, end = 0;  // columns of the span
};

Cells lay_out(std::string_view line, size_t begin, size_t end) {
  Cells out;
  bool begin_seen = false;
  bool end_seen = false;
  for (size_t at = 0; at < line.size();) {
    if (!begin_seen && at >= begin) out.begin = out.cells.size(), begin_seen = true;
    if (!end_seen && at >= end) out.end = out.cells.size(), end_seen = true;
    const Character character = first_character(line.substr(at));
    if (character.code == '\t') {
      do {
        out.cells.emplace_back(" ");
      } while (out.cells.size() % kTab != 0);
    } else {
      out.cells.push_back(printable(line.substr(at, character.bytes)));
    }
    at += character.bytes;
  }
  if (!begin_seen) out.begin = out.cells.size();
  if (!end_seen) out.end = out.cells.size();
  return out;
}

std::string without_trailing_spaces(std::string text) {
  text.erase(text.find_last_not_of(' ') + 1);
  return text;
}

}  // namespace

CaretLines caret_lines(std::string_view line, size_t begin, size_t end, size_t width) {
  width = std::max<size_t>(width, 40);
  begin = std::min(begin, line.size());
  end = std::clamp(end, begin, line.size());

  // A line can be megabytes long: only the neighbourhood of the caret is looked at. A character has at most 4 bytes, so
  // this reach is never narrower than `width` columns.
  const size_t reach = 4 * width;
  size_t cut = begin > 2 * reach ? begin - reach : 0;
  while (cut != 0 && cut < begin && (static_cast<unsigned char>(line[cut]) & 0xc0) == 0x80) ++cut;
  const size_t stop = std::min(line.size(), begin + reach);
  const Cells laid = lay_out(line.substr(cut, stop - cut), begin - cut, std::min(end, stop) - cut);

  size_t first = 0;
  const bool too_wide = laid.cells.size() > width || cut != 0 || stop != line.size();
  if (too_wide && laid.begin + width / 4 > width) first = laid.begin - width / 4;
  const size_t last = std::min(laid.cells.size(), first + width);
  const bool cut_left = first != 0 || cut != 0;
  const bool cut_right = last != laid.cells.size() || stop != line.size();

  CaretLines out;
  for (size_t column = first; column < last; ++column) out.line += laid.cells[column];
  if (cut_left || cut_right) {
    // The dots replace cells, so that the caret stays under what it marks.
    std::string shown;
    for (size_t column = first; column < last; ++column) {
      const bool dot =
          (cut_left && column < first + kEllipsis.size()) || (cut_right && column + kEllipsis.size() >= last);
      shown += dot ? "." : laid.cells[column];
    }
    out.line = std::move(shown);
  }
  out.line = without_trailing_spaces(std::move(out.line));

  out.marks.assign(laid.begin - first, ' ');
  out.marks += '^';
  const size_t end_column = std::min(laid.end, last);
  if (end_column > laid.begin + 1) out.marks.append(end_column - laid.begin - 1, '~');
  return out;
}

}  // namespace tmemlint::report
