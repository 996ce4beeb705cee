// The author's files that an input names (`.loc` of a PTX, headers of a CUDA source), and the one place that decides
// which of them may be read and shown: an input can name any file of the machine, and the report may be public.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/report/finding.h"

namespace tmemlint::report {

// The text of a regular file of at most 64 MiB, or nothing. Never waits and never throws: not for a device, a FIFO, or
// a file that the kernel makes up (proc, sysfs and the like), of which nothing is read.
std::optional<std::string> read_regular_file(const std::string& path);

// The folders whose files may be shown. All paths are compared after their symbolic links are resolved.
class SourceRoots {
public:
  // What the command line names: a file is allowed itself and allows its folder, a folder allows what lies below it,
  // standard input or a pipe allows the current folder. The root of the file system is never allowed in this way.
  void add_input(const std::string& name);
  // The repository around a file or folder: the nearest folder above it that has a `.git`. Nothing where there is none.
  void add_repository_of(const std::string& name);
  // --source-root. False when there is no such folder.
  bool add_folder(const std::string& name);

  // `resolved` has no symbolic link in it.
  bool contains(const std::filesystem::path& resolved) const;

private:
  std::vector<std::filesystem::path> folders_;
  std::set<std::filesystem::path> files_;
};

// Reads each file once, when it is first asked for. Without roots it shows nothing but the inputs themselves.
class SourceFiles {
public:
  SourceFiles() = default;
  explicit SourceFiles(SourceRoots roots) : roots_(std::move(roots)) {}

  // The text of the line, or nothing. A file that lies outside the roots, is gone, not a regular file, or shorter than
  // `.loc` claims (edited since the PTX was made) has no line to show.
  std::optional<std::string_view> line(const SourcePosition& position);
  // Whether a name is of a file that could be shown, were it not outside the roots.
  bool is_outside(const std::string& name);
  // Whether lines of the text of a place may be shown. An input of the command always may.
  bool shows(const ptx::SourceText& text);
  // What to say when places of the results lie in files that are not shown because they are outside; empty when there
  // are none.
  std::string notice(const Results& results);

private:
  enum class Access : uint8_t { kAllowed, kOutside, kUnreadable };
  struct File {
    Access access = Access::kUnreadable;
    std::string resolved;
    std::optional<ptx::SourceText> text;  // once it was read; what cannot be read is an empty text
  };
  File& file(const std::string& name);

  SourceRoots roots_;
  std::map<std::string, File> files_;
};

// Whether a place has a position in the author's source that can be printed; compilers mark code of their own with
// line 0.
inline bool has_source_line(const Place& place) {
  return place.has_source && place.source.line != 0 && !place.source.file.empty();
}

}  // namespace tmemlint::report
