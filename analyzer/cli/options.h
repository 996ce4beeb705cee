// The command line as plain data.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/cli/launch_requests.h"
#include "analyzer/cuda/lint.h"
#include "analyzer/ptx/module.h"

namespace tmemlint::cli {

// What a run answers to its caller; README.md documents them.
enum ExitCode : int {
  kClean = 0,
  kFound = 1,       // an error or a warning was found
  kFailed = 2,      // usage, or an input that could not be read or parsed, or an output that could not be written
  kIncomplete = 3,  // nothing was found, but not everything could be analysed, and --strict was given
};

enum class Format : uint8_t { kText, kJson, kSarif };
enum class ColorMode : uint8_t { kAuto, kAlways, kNever };

struct Command {
  std::vector<std::string> files;
  Format format = Format::kText;
  std::string output;  // empty: standard output
  ColorMode color = ColorMode::kAuto;
  std::vector<std::string> source_roots;  // folders below which source text may be shown
  bool notes = false;
  bool strict = false;
  bool stats = false;
  bool explain_kernel = false;
  bool list_rules = false;
  bool list_assumptions = false;
  std::string explain;                       // a rule id; empty: not asked
  std::vector<std::string> decode;           // idesc or smem, and a value; empty: not asked
  std::string kind;                          // of the mma whose descriptor it is; empty: not said
  std::vector<std::string> rules, no_rules;  // globs
  ptx::Dimensions block;
  ptx::Dimensions cluster;
  LaunchRequests launches;
  // For CUDA sources.
  std::vector<std::string> compile_flags;  // after --
  bool has_compile_flags = false;
  std::string database;  // -p: a folder or a compile_commands.json
  std::string cuda_path;
  cuda::SourceOptions sources;  // without toolkit, which is looked for only when a source is given
};

// Nothing when there is nothing more to do; `status` is then the exit code (help and version were printed, or what was
// wrong was).
std::optional<Command> parse_command_line(int argc, const char* const* argv, int& status);

}  // namespace tmemlint::cli
