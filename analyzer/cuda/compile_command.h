// Compile commands, as people write them for nvcc or Clang, and what this tool needs them to be.
#pragma once

#include <string>
#include <vector>

namespace tmemlint::cuda {

struct CompileCommand {
  std::string directory;               // where it runs; empty: the current folder
  std::string file;                    // the source, as given
  std::string compiler;                // "nvcc", "/usr/bin/clang++"; empty: not said
  std::vector<std::string> arguments;  // without compiler; may or may not name the source and the output
};

// An installed CUDA toolkit.
struct Toolkit {
  std::string path;  // empty: none
  unsigned major = 0, minor = 0;
  bool found() const { return !path.empty(); }
};

// The one at `path`; without a path the one that CUDA_HOME, CUDA_PATH, nvcc in PATH, or the usual place leads to.
// "none" asks for none.
Toolkit find_toolkit(const std::string& path, std::string& problem);

struct AdaptedCommand {
  std::vector<std::string> clang;  // arguments for Clang, without program and source
  std::vector<std::string> nvcc;   // the same for nvcc
  std::string target;              // "sm_100a", "sm_100f": what the PTX is for
  std::vector<std::string> ignored;
  std::string problem;  // an options file that cannot be read
};

// The table of nvcc's own options decides which take a value; what Clang has no use for is left out.
AdaptedCommand adapt(const CompileCommand& command, const Toolkit& toolkit);

// Whether a compiler is nvcc, by its name.
bool is_nvcc(const std::string& compiler);

// Words of a command line, quoted as for a POSIX shell.
std::vector<std::string> split_command(const std::string& text);

}  // namespace tmemlint::cuda
