// A source text and the translation of byte offsets to lines and columns.
//
// Everything the front end produces carries byte offsets; lines and columns are computed only when something is
// printed, so that parsing pays nothing for them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tmemlint::ptx {

using Offset = uint32_t;  // bytes from the start of the text

struct LineColumn {
  uint32_t line = 1;    // from 1
  uint32_t column = 1;  // from 1, in bytes
};

struct Span {
  Offset begin = 0;
  Offset end = 0;  // one past the last byte
};

// The text without what a C program leaves behind its end: NUL bytes, as NVRTC and the CuTe DSL write them, and white
// space after or between them. A text that has no NUL byte there stays as it is.
std::string_view without_trailing_nuls(std::string_view text);

class SourceText {
public:
  SourceText() = default;
  SourceText(std::string path, std::string text) : path_(std::move(path)), text_(std::move(text)) {}

  // A file that the command line does not name, but an input does: report::SourceFiles decides whether its lines may be
  // shown.
  static SourceText named_by_input(std::string path, std::string text);
  // The same for a file that cannot be read. Its places keep their line and column (up to 2 million lines of 2,000
  // columns), and all of its lines are empty.
  static SourceText without_text(std::string path);

  const std::string& path() const { return path_; }
  bool is_named_by_input() const { return named_by_input_; }
  std::string_view text() const { return text_; }

  // The position of a byte; an offset past the end answers the position of the end. Builds the line table on first
  // use. Not thread-safe.
  LineColumn position(Offset offset) const;
  // The byte at a line and column; the nearest one when there is no such place.
  Offset offset_of(uint32_t line, uint32_t column) const;
  // The text of a line (from 1) without its line ending; empty for a line that does not exist.
  std::string_view line(uint32_t line) const;

private:
  void index() const;
  std::string path_;
  std::string text_;
  bool named_by_input_ = false;
  bool has_text_ = true;
  mutable std::vector<Offset> line_starts_;
};

}  // namespace tmemlint::ptx
