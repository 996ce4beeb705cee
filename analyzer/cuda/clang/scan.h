// What is taken from the AST: the functions to generate code for, their asm statements, and what has to be left out.
// Read `Scan` first. The matchers behind it, one per thing that is looked for, are in matchers.h.
#pragma once

#include <clang/AST/ASTContext.h>
#include <clang/AST/Decl.h>
#include <clang/AST/Expr.h>
#include <clang/AST/Stmt.h>
#include <llvm/ADT/DenseMap.h>

#include <map>
#include <string>
#include <vector>

#include "analyzer/cuda/clang/places.h"
#include "analyzer/cuda/translation.h"

namespace tmemlint::cuda {

// An error that Clang reported while it parsed.
struct ParseError {
  clang::SourceLocation at;
  unsigned id = 0;
  std::string message;
};

struct Scan {
  // Asm statements by where their string begins, which is also what CodeGen attaches to the call (!srcloc).
  using Key = unsigned;
  static Key key(const clang::GCCAsmStmt& statement) {
    return statement.getAsmStringExpr()->getBeginLoc().getRawEncoding();
  }
  struct NotVolatile {
    const clang::GCCAsmStmt* statement = nullptr;
    SourceFact::Kind kind = SourceFact::Kind::kNotVolatile;  // or kImplicitlyVolatile
  };

  std::vector<clang::VarDecl*> variables;
  std::vector<clang::FunctionDecl*> functions;
  std::vector<Dropped> dropped;
  std::vector<clang::FunctionDecl*> dropped_functions;  // in the order of `dropped`, to fill in their symbols
  std::vector<Translation::Template> uninstantiated;
  llvm::DenseMap<Key, const clang::GCCAsmStmt*> statements;
  std::map<Key, NotVolatile> not_volatile;  // those of `statements` with tcgen05 that do not say `volatile`
  // Of repaired statements the string as the author wrote it.
  llvm::DenseMap<const clang::GCCAsmStmt*, const clang::StringLiteral*> written;
  uint32_t tcgen05_statements = 0;
};

// Collects, repairs asm strings that only Clang objects to, and takes the bodies from functions that have errors.
Scan scan(clang::ASTContext& context, const std::vector<ParseError>& errors, const Places& places);

// Adds the asm statements of a function that `scan` had no reason to look into (one of a system header).
void scan_body(clang::ASTContext& context, clang::FunctionDecl& function, Scan& scan);

// "gemm<128>", with the scopes around it.
std::string readable_name(const clang::FunctionDecl& function);

}  // namespace tmemlint::cuda
