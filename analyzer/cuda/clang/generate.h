// From a finished AST to PTX: CodeGen, a light pass pipeline that keeps the author's order, the NVPTX back end.
#pragma once

#include <clang/AST/ASTContext.h>
#include <clang/Lex/HeaderSearchOptions.h>
#include <clang/Lex/PreprocessorOptions.h>
#include <llvm/Support/VirtualFileSystem.h>

#include "analyzer/cuda/clang/scan.h"
#include "analyzer/cuda/translation.h"

namespace tmemlint::cuda {

struct GenerateInput {
  clang::ASTContext& context;
  const clang::HeaderSearchOptions& header_search;
  const clang::PreprocessorOptions& preprocessor;
  llvm::IntrusiveRefCntPtr<llvm::vfs::FileSystem> files;
};

// Fills the PTX and what belongs to it. A kernel that CodeGen or the back end crashes on is left out and said.
void generate(const GenerateInput& input, Scan& scan, const Places& places, Translation& out);

// Runs `work`; false when it crashed or LLVM gave up. `reason` is what LLVM said, if anything.
bool run_guarded(llvm::function_ref<void()> work, std::string& reason);

}  // namespace tmemlint::cuda
