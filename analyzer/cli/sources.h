// CUDA sources among the inputs: which they are, and how each is compiled.
#pragma once

#include <map>
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
  // After the last one: the faults that only all sources together show.
  void finish(report::Results& results) const;

private:
  const Command& command_;
  std::vector<std::string> files_;
  std::vector<cuda::CompileCommand> database_;
  std::optional<cuda::Toolkit> toolkit_;
  size_t linted_ = 0;
  // An instance that is asked for need not be in every source, but has to be in one.
  struct Unknown {
    size_t sources = 0;
    std::string file, message;  // of the first
  };
  std::map<std::string, Unknown> unknown_instances_;
};

}  // namespace tmemlint::cli
