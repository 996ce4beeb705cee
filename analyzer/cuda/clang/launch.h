// The sizes of its launch that a kernel states in the source, handed to the back end.
#pragma once

#include <clang/AST/ASTContext.h>
#include <clang/AST/Decl.h>
#include <llvm/IR/Function.h>

namespace tmemlint::cuda {

// Clang 22 knows __cluster_dims__ but its NVPTX code generation drops it, and __block_size__ is an annotation of the
// bundled header; the back end has attributes for both.
void state_launch(const clang::FunctionDecl& kernel, clang::ASTContext& context, llvm::Function& function);

}  // namespace tmemlint::cuda
