// What is taken from the AST: the functions to generate code for, their asm statements, and what has to be left out.
#pragma once

#include <clang/AST/ASTContext.h>
#include <clang/AST/Decl.h>
#include <clang/AST/Expr.h>
#include <clang/AST/Stmt.h>
#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/StringMap.h>

#include <string>
#include <vector>

#include "analyzer/cuda/translation.h"

namespace tmemlint::cuda {

// Positions as the user would name them: the main file by its given name, files below the current folder relative to
// it. An expansion of a macro counts, not the macro's definition.
class Places {
public:
  Places(const clang::SourceManager& sources, std::string main_file, std::string directory);
  Position of(clang::SourceLocation location) const;
  Position of(llvm::StringRef directory, llvm::StringRef file, unsigned line, unsigned column) const;
  const clang::SourceManager& sources() const { return sources_; }
  // Whether a file that debug information names is a system header: one of the toolkit or of the C++ library.
  bool in_system_header(llvm::StringRef directory, llvm::StringRef file) const;

private:
  std::string spelled(llvm::StringRef given) const;
  const clang::SourceManager& sources_;
  std::string main_file_, main_path_, directory_, current_;
  mutable llvm::StringMap<bool> system_;
  mutable std::vector<std::pair<std::string, std::string>> known_;  // few files, asked for in runs
};

// An error that Clang reported while it parsed.
struct ParseError {
  clang::SourceLocation at;
  unsigned id = 0;
  std::string message;
};

struct Scan {
  std::vector<clang::VarDecl*> variables;
  std::vector<clang::FunctionDecl*> functions;
  std::vector<Dropped> dropped;
  std::vector<clang::FunctionDecl*> dropped_functions;  // in the order of `dropped`, to fill in their symbols
  std::vector<Translation::Template> uninstantiated;
  // Asm statements by where their string begins, which is what CodeGen attaches to the call (!srcloc); and, for
  // repaired ones, the string as it was written.
  llvm::DenseMap<unsigned, const clang::GCCAsmStmt*> statements;
  llvm::DenseMap<const clang::GCCAsmStmt*, const clang::StringLiteral*> written;
  uint32_t tcgen05_statements = 0;
};

// Collects, repairs asm strings that only Clang objects to, and takes the bodies from functions that have errors.
Scan scan(clang::ASTContext& context, const std::vector<ParseError>& errors, const Places& places);

// Looks for asm statements in a function that `scan` had no reason to look into (one of a system header).
void scan_body(clang::ASTContext& context, clang::FunctionDecl* function, Scan& scan);

AsmStatement describe(const clang::GCCAsmStmt& statement, const Scan& scan, const clang::ASTContext& context,
                      const Places& places);

// The first "tcgen05.xyz" in an asm string, or empty; with where it stands.
struct Tcgen05Mention {
  std::string opcode;  // with "::" parts of wait and fence: "tcgen05.wait::ld"
  size_t offset = 0;
};
Tcgen05Mention tcgen05_in(llvm::StringRef text);

// Where an edit goes that makes the statement volatile, or gives it the clobber; line 0 when a macro wrote it.
struct Edit {
  Position at;
  std::string insertion;
};
Edit volatile_edit(const clang::GCCAsmStmt& statement, const clang::ASTContext& context, const Places& places);
Edit memory_edit(const clang::GCCAsmStmt& statement, const clang::ASTContext& context, const Places& places);
bool clobbers_memory(const clang::GCCAsmStmt& statement);

// "gemm<128>", with the scopes around it.
std::string readable_name(const clang::FunctionDecl& function);

}  // namespace tmemlint::cuda
