// The other way from a CUDA source to PTX: an installed nvcc.
#pragma once

#include <memory>
#include <string>

#include "analyzer/cuda/compile_command.h"
#include "analyzer/ptx/source.h"

namespace tmemlint::cuda {

// Null, and what went wrong, when there is no nvcc or it refuses the source.
std::shared_ptr<const ptx::SourceText> compile_with_nvcc(const CompileCommand& command, const AdaptedCommand& adapted,
                                                         const Toolkit& toolkit, std::string& problem);

// The path of nvcc, empty when there is none.
std::string find_nvcc(const CompileCommand& command, const Toolkit& toolkit);

}  // namespace tmemlint::cuda
