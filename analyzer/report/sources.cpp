#include "analyzer/report/sources.h"

#include <filesystem>
#include <fstream>
#include <iterator>

namespace tmemlint::report {
namespace {

constexpr uintmax_t kLargestSource = 64u << 20;

std::string read_source(const std::string& path) {
  std::error_code error;
  // A path in PTX is the input's word: never open what could block or has no end.
  if (!std::filesystem::is_regular_file(path, error) || error) return {};
  const uintmax_t size = std::filesystem::file_size(path, error);
  if (error || size > kLargestSource) return {};
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

}  // namespace

std::optional<std::string_view> SourceFiles::line(const SourcePosition& position) {
  auto found = files_.find(position.file);
  if (found == files_.end()) {
    found = files_.emplace(position.file, ptx::SourceText(position.file, read_source(position.file))).first;
  }
  const std::string_view line = found->second.line(position.line);
  if (line.find_first_not_of(" \t") == std::string_view::npos) return std::nullopt;
  return line;
}

}  // namespace tmemlint::report
