// Positions in sources as the user would name them.
#pragma once

#include <clang/Basic/SourceManager.h>
#include <llvm/ADT/StringMap.h>
#include <llvm/ADT/StringRef.h>

#include <string>
#include <utility>
#include <vector>

#include "analyzer/cuda/translation.h"

namespace tmemlint::cuda {

// The main file has the name that the user gave it, files below the current folder are named relative to it. Of a macro
// the position is where it is used, not where it is defined.
class Places {
public:
  Places(const clang::SourceManager& sources, std::string main_file, std::string directory);
  Position of(clang::SourceLocation location) const;
  Position of(llvm::StringRef directory, llvm::StringRef file, unsigned line, unsigned column) const;
  const clang::SourceManager& sources() const { return sources_; }
  // Whether a file that debug information names is a system header: one of the toolkit or of the C++ library.
  bool in_system_header(llvm::StringRef directory, llvm::StringRef file) const;

private:
  std::string spelled(llvm::StringRef given) const;
  const clang::SourceManager& sources_;
  std::string main_file_, main_path_, directory_, current_;
  mutable llvm::StringMap<bool> system_;  // the answers of in_system_header
  // Spellings found so far. A source has few files, and the same one is mostly asked for many times in a row.
  mutable std::vector<std::pair<std::string, std::string>> known_;
};

}  // namespace tmemlint::cuda
