// The author's files that `.loc` names.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "analyzer/report/finding.h"

namespace tmemlint::report {

// Reads each file once, when it is first asked for. A file that is gone, not a regular file, or shorter than `.loc`
// claims (edited since the PTX was made) has no line to show.
class SourceFiles {
public:
  // The text of the line, or nothing.
  std::optional<std::string_view> line(const SourcePosition& position);

private:
  std::map<std::string, ptx::SourceText> files_;  // an unreadable file is an empty text
};

// Whether a place has a position in the author's source that can be printed; compilers mark code of their own with
// line 0.
inline bool has_source_line(const Place& place) {
  return place.has_source && place.source.line != 0 && !place.source.file.empty();
}

}  // namespace tmemlint::report
