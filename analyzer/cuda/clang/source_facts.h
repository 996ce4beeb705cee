// What only the source shows, in the words of the answer (SourceFact): from the AST, and from the IR before the back
// end.
#pragma once

#include <clang/AST/ASTContext.h>
#include <llvm/IR/Function.h>

#include "analyzer/cuda/clang/origins.h"
#include "analyzer/cuda/clang/places.h"
#include "analyzer/cuda/clang/scan.h"
#include "analyzer/cuda/translation.h"

namespace tmemlint::cuda {

// Statements that are not volatile.
void add_ast_facts(const Scan& scan, const clang::ASTContext& context, const Places& places, Translation& out);

// What the order of statements in a kernel tells, after inlining (ir_facts.h).
void add_ir_facts(llvm::Function& kernel, Origins& origins, const clang::ASTContext& context, const Places& places,
                  Translation& out);

}  // namespace tmemlint::cuda
