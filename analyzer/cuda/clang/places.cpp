#include "analyzer/cuda/clang/places.h"

#include <clang/Basic/FileManager.h>
#include <llvm/ADT/SmallString.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/Path.h>

namespace tmemlint::cuda {

Places::Places(const clang::SourceManager& sources, std::string main_file, std::string directory)
    : sources_(sources), main_file_(std::move(main_file)), directory_(std::move(directory)) {
  llvm::SmallString<256> current;
  (void)llvm::sys::fs::current_path(current);  // empty when there is none
  current_ = current.str().str();
  if (directory_.empty()) directory_ = current_;
  llvm::SmallString<256> path(main_file_);
  llvm::sys::path::make_absolute(current_, path);
  llvm::sys::path::remove_dots(path, true);
  main_path_ = path.str().str();
}

std::string Places::spelled(llvm::StringRef given) const {
  for (const auto& [path, spelling] : known_) {
    if (path == given) return spelling;
  }
  llvm::SmallString<256> path(given);
  llvm::sys::path::make_absolute(directory_, path);
  llvm::sys::path::remove_dots(path, true);
  std::string out = path.str().str();
  if (out == main_path_) {
    out = main_file_;
  } else if (out.size() > current_.size() + 1 && out.compare(0, current_.size(), current_) == 0 &&
             out[current_.size()] == '/') {
    out.erase(0, current_.size() + 1);
  }
  known_.emplace_back(given.str(), out);
  return out;
}

Position Places::of(clang::SourceLocation location) const {
  if (location.isInvalid()) return {};
  // #line directives are not followed: what is shown must be a line that can be opened.
  const auto [file, offset] = sources_.getDecomposedExpansionLoc(location);
  const clang::OptionalFileEntryRef entry = sources_.getFileEntryRefForID(file);
  if (!entry) return {};
  return {spelled(entry->getName()), sources_.getLineNumber(file, offset), sources_.getColumnNumber(file, offset)};
}

Position Places::of(llvm::StringRef directory, llvm::StringRef file, unsigned line, unsigned column) const {
  llvm::SmallString<256> path(file);
  if (!directory.empty() && !llvm::sys::path::is_absolute(file)) {
    path = directory;
    llvm::sys::path::append(path, file);
  }
  return {spelled(path), line, column};
}

bool Places::in_system_header(llvm::StringRef directory, llvm::StringRef file) const {
  llvm::SmallString<256> path(file);
  if (!directory.empty() && !llvm::sys::path::is_absolute(file)) {
    path = directory;
    llvm::sys::path::append(path, file);
  }
  const auto [found, added] = system_.try_emplace(path, false);
  if (!added) return found->second;
  if (const auto entry = sources_.getFileManager().getOptionalFileRef(path)) {
    const clang::FileID id = sources_.translateFile(*entry);
    found->second = id.isValid() && sources_.isInSystemHeader(sources_.getLocForStartOfFile(id));
  }
  return found->second;
}

}  // namespace tmemlint::cuda
