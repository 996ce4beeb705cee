// From an instruction of the IR back to the author's source: position, chain of inlined calls, asm statement.
#pragma once

#include <clang/AST/ASTContext.h>
#include <clang/AST/Stmt.h>
#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/IR/Module.h>

#include <string>

#include "analyzer/cuda/clang/places.h"
#include "analyzer/cuda/clang/scan.h"
#include "analyzer/cuda/translation.h"

namespace clang {
class CodeGenerator;
}
namespace llvm {
class DILocation;
class DISubprogram;
}  // namespace llvm

namespace tmemlint::cuda {

class Origins {
public:
  // Asm statements that are met go into `out.statements`, and `tag` fills `out.origins`.
  Origins(clang::ASTContext& context, Scan& scan, const Places& places, Translation& out)
      : context_(context), scan_(scan), places_(places), out_(out) {}

  // From now on the instructions are those that this generator made. To be called first.
  void start(clang::CodeGenerator& generator);

  Origin of(const llvm::Instruction& instruction);
  // The statement in the AST that a call of inline assembly came from; null when that is not known.
  const clang::GCCAsmStmt* ast_statement(const llvm::Instruction& instruction);

  // Every asm statement gets a tag; every other instruction's line becomes its number in `origins`, so that `.loc`
  // leads there with the whole chain of inlined calls. Debug locations are overwritten: `of` is of no use afterwards.
  void tag(llvm::Module& module);

private:
  Position place(const llvm::DILocation& location) const;
  const std::string& readable(const llvm::DISubprogram& subprogram);
  uint32_t statement_of(const llvm::Instruction& instruction);
  uint32_t add(Origin origin);

  clang::ASTContext& context_;
  Scan& scan_;
  const Places& places_;
  Translation& out_;
  clang::CodeGenerator* generator_ = nullptr;
  llvm::DenseMap<const clang::GCCAsmStmt*, uint32_t> statement_index_;  // in `out.statements`
  // Those of the current generator:
  llvm::DenseMap<const llvm::DISubprogram*, std::string> names_;
  llvm::SmallPtrSet<const llvm::DISubprogram*, 16> looked_into_;
};

}  // namespace tmemlint::cuda
