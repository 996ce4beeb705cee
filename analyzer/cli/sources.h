// CUDA sources among the inputs: which they are, and how each is compiled.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analyzer/cli/options.h"
#include "analyzer/cuda/compile_command.h"

namespace tmemlint::cli {

class Sources {
public:
  explicit Sources(const Command& command) : command_(command) {}

  // Reads the compilation database, if one was named. Empty on success, else what went wrong.
  std::string prepare();
  // The inputs: those that were named, or all CUDA sources of the database.
  const std::vector<std::string>& files() const { return files_; }
  bool is_source(const std::string& file) const;
  void lint(const std::string& file, const Options& options, report::Results& results);

private:
  const Command& command_;
  std::vector<std::string> files_;
  std::vector<cuda::CompileCommand> database_;
  std::optional<cuda::Toolkit> toolkit_;
};

}  // namespace tmemlint::cli
