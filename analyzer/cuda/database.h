// Compilation databases (compile_commands.json).
#pragma once

#include <string>
#include <vector>

#include "analyzer/cuda/compile_command.h"

namespace tmemlint::cuda {

// `path` is the file or the folder it stands in. Empty `problem` on success.
std::vector<CompileCommand> read_database(const std::string& path, std::string& problem);

// Whether a command compiles CUDA: by nvcc, of a .cu file, or with -x cu or -x cuda.
bool compiles_cuda(const CompileCommand& command);

// The command of a file, by whatever path both name it; null when the database has none.
const CompileCommand* command_for(const std::vector<CompileCommand>& commands, const std::string& file);

// The database as Clang tools (clang-tidy, clangd) understand it: each nvcc command as one of Clang's, the others as
// they are.
std::string clang_database(const std::vector<CompileCommand>& commands, const Toolkit& toolkit, std::string& problem);

}  // namespace tmemlint::cuda
