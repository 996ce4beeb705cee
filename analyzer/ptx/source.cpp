#include "analyzer/ptx/source.h"

#include <algorithm>
#include <cstring>

namespace tmemlint::ptx {

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
  index();
  offset = std::min<Offset>(offset, static_cast<Offset>(text_.size()));
  auto after = std::upper_bound(line_starts_.begin(), line_starts_.end(), offset);
  auto line = static_cast<uint32_t>(after - line_starts_.begin());
  return {line, offset - line_starts_[line - 1] + 1};
}

Offset SourceText::offset_of(uint32_t line, uint32_t column) const {
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
