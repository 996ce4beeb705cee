// `tmemlint compdb`: a compilation database of nvcc commands, for clang-tidy and clangd.
#pragma once

namespace tmemlint::cli {

// The exit code. `argv[0]` is "compdb".
int compdb(int argc, const char* const* argv);

}  // namespace tmemlint::cli
