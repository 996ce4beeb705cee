// One asm statement: its text and where the pieces of it stand, the repair of what only Clang objects to, and the edits
// that make it volatile or give it the "memory" clobber.
#pragma once

#include <clang/AST/ASTContext.h>
#include <clang/AST/Stmt.h>
#include <llvm/ADT/StringRef.h>

#include <string>

#include "analyzer/cuda/clang/places.h"
#include "analyzer/cuda/translation.h"

namespace tmemlint::cuda {

// Doubles each '%' of the asm string that nvcc takes as it is and Clang does not. False when that is not what is wrong
// with it; the statement is left as it was then.
bool repair(clang::GCCAsmStmt& statement, clang::ASTContext& context);

// `written` is the string as it was before `repair`; null where nothing was repaired.
AsmStatement describe(const clang::GCCAsmStmt& statement, const clang::StringLiteral* written,
                      const clang::ASTContext& context, const Places& places);

// The first "tcgen05.xyz" in an asm string, or empty; with where it stands.
struct Tcgen05Mention {
  std::string opcode;  // with "::" parts of wait and fence: "tcgen05.wait::ld"
  size_t offset = 0;
};
Tcgen05Mention tcgen05_in(llvm::StringRef text);

// What to insert, and where. Line 0 when a macro wrote the statement, so that there is no one place to edit.
struct Edit {
  Position at;
  std::string insertion;
};
Edit volatile_edit(const clang::GCCAsmStmt& statement, const clang::ASTContext& context, const Places& places);
Edit memory_edit(const clang::GCCAsmStmt& statement, const clang::ASTContext& context, const Places& places);

}  // namespace tmemlint::cuda
