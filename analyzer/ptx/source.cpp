#include "analyzer/ptx/source.h"

#include <algorithm>
#include <cstring>

namespace tmemlint::ptx {
namespace {

// Without a text, an offset is a line and a column.
constexpr uint32_t kColumnBits = 11;
constexpr uint32_t kMaxColumn = (1u << kColumnBits) - 2;  // leaves room for the end of a span
constexpr uint32_t kMaxLine = (1u << (32 - kColumnBits)) - 1;

}  // namespace

std::string_view without_trailing_nuls(std::string_view text) {
  constexpr std::string_view kBlankOrNul("\0 \t\r\n\v\f", 7);
  const size_t last = text.find_last_not_of(kBlankOrNul);
  const size_t end = last == std::string_view::npos ? 0 : last + 1;
  return text.substr(0, text.find('\0', end));
}

SourceText SourceText::named_by_input(std::string path, std::string text) {
  SourceText out(std::move(path), std::move(text));
  out.named_by_input_ = true;
  return out;
}

SourceText SourceText::without_text(std::string path) {
  SourceText out = named_by_input(std::move(path), {});
  out.has_text_ = false;
  return out;
}

void SourceText::index() const {
  if (!line_starts_.empty()) return;
  line_starts_.push_back(0);
  const char* begin = text_.data();
  const char* end = begin + text_.size();
  for (const char* p = begin; p != end;) {
    p = static_cast<const char*>(std::memchr(p, '\n', static_cast<size_t>(end - p)));
    if (p == nullptr) break;
    ++p;
    line_starts_.push_back(static_cast<Offset>(p - begin));
  }
}

LineColumn SourceText::position(Offset offset) const {
  if (!has_text_) {
    constexpr Offset kColumn = (1u << kColumnBits) - 1;
    return {std::max<uint32_t>(offset >> kColumnBits, 1), std::max<uint32_t>(offset & kColumn, 1)};
  }
  index();
  offset = std::min<Offset>(offset, static_cast<Offset>(text_.size()));
  auto after = std::upper_bound(line_starts_.begin(), line_starts_.end(), offset);
  auto line = static_cast<uint32_t>(after - line_starts_.begin());
  return {line, offset - line_starts_[line - 1] + 1};
}

Offset SourceText::offset_of(uint32_t line, uint32_t column) const {
  if (!has_text_) {
    return std::clamp<uint32_t>(line, 1, kMaxLine) << kColumnBits | std::clamp<uint32_t>(column, 1, kMaxColumn);
  }
  index();
  if (line == 0 || line > line_starts_.size()) return static_cast<Offset>(line == 0 ? 0 : text_.size());
  const size_t end = line < line_starts_.size() ? line_starts_[line] - 1 : text_.size();
  return static_cast<Offset>(std::min<size_t>(line_starts_[line - 1] + (column == 0 ? 0 : column - 1), end));
}

std::string_view SourceText::line(uint32_t line) const {
  index();
  if (line == 0 || line > line_starts_.size()) return {};
  size_t begin = line_starts_[line - 1];
  size_t end = line < line_starts_.size() ? line_starts_[line] - 1 : text_.size();
  if (end > begin && text_[end - 1] == '\r') --end;
  return std::string_view(text_).substr(begin, end - begin);
}

}  // namespace tmemlint::ptx
