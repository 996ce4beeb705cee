#include "analyzer/cli/sources.h"

#include <filesystem>

#include "analyzer/cuda/database.h"

namespace tmemlint::cli {
namespace {

namespace fs = std::filesystem;

// The path of a command's source, relative to the current folder if it lies below that.
std::string named_from_here(const cuda::CompileCommand& command) {
  fs::path path(command.file);
  if (path.is_relative()) path = fs::path(command.directory) / path;
  std::error_code error;
  const fs::path near = path.lexically_normal().lexically_relative(fs::current_path(error));
  return error || near.empty() || near.native().starts_with("..") ? path.lexically_normal().string() : near.string();
}

}  // namespace

std::string Sources::prepare() {
  files_ = command_.files;
  if (command_.database.empty()) return {};
  std::string problem;
  database_ = cuda::read_database(command_.database, problem);
  if (!problem.empty() || !files_.empty()) return problem;
  for (const cuda::CompileCommand& command : database_) {
    if (cuda::compiles_cuda(command)) files_.push_back(named_from_here(command));
  }
  return files_.empty() ? "there is no CUDA source in the compilation database of " + command_.database : std::string();
}

bool Sources::is_source(const std::string& file) const {
  const std::string ending = fs::path(file).extension().string();
  if (ending == ".cu" || ending == ".cuh") return true;
  return ending != ".ptx" && file != "-" && cuda::command_for(database_, file) != nullptr;
}

void Sources::lint(const std::string& file, const Options& options, report::Results& results) {
  auto fail = [&](const std::string& what) { results.errors.push_back({file, nullptr, {}, what}); };
  std::error_code ignored;
  if (!fs::exists(file, ignored)) return fail("cannot read this file: there is none");
  if (!toolkit_) {
    std::string problem;
    toolkit_ = cuda::find_toolkit(command_.cuda_path, problem);
    if (!problem.empty()) return fail(problem);
  }
  cuda::SourceOptions source_options = command_.sources;
  source_options.toolkit = *toolkit_;

  cuda::CompileCommand command;
  if (!command_.database.empty()) {
    const cuda::CompileCommand* found = cuda::command_for(database_, file);
    if (found == nullptr) return fail("the compilation database has no command for it");
    command = *found;
    command.file = file;
  } else {
    command.file = file;
    command.arguments = command_.compile_flags;
    // `-- nvcc -arch=…`: a whole command was pasted.
    if (!command.arguments.empty() && !command.arguments.front().empty() && command.arguments.front()[0] != '-') {
      command.compiler = command.arguments.front();
      command.arguments.erase(command.arguments.begin());
    }
  }
  ++linted_;
  source_options.on_unknown_instance = [&](const std::string& instance, const std::string& message) {
    Unknown& unknown = unknown_instances_[instance];
    if (++unknown.sources == 1) unknown = {1, file, message};
  };
  cuda::lint_source(command, source_options, options, results);
}

void Sources::finish(report::Results& results) const {
  for (const auto& [instance, unknown] : unknown_instances_) {
    if (unknown.sources == linted_) results.errors.push_back({unknown.file, nullptr, {}, unknown.message});
  }
}

}  // namespace tmemlint::cli
