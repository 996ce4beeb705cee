#include "analyzer/cuda/clang/source_facts.h"

#include <clang/Basic/SourceManager.h>

#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "analyzer/cuda/clang/asm_statement.h"
#include "analyzer/cuda/clang/inline_asm.h"
#include "analyzer/cuda/clang/ir_facts.h"

namespace tmemlint::cuda {
namespace {

SourceFact::Kind kind_of(IrFact::Kind kind) {
  switch (kind) {
    case IrFact::Kind::kStaleSlot:
      return SourceFact::Kind::kStaleSlot;
    case IrFact::Kind::kLateStore:
      return SourceFact::Kind::kLateStore;
    case IrFact::Kind::kNoMemoryClobber:
      return SourceFact::Kind::kNoMemoryClobber;
    case IrFact::Kind::kEarlyRead:
      return SourceFact::Kind::kEarlyRead;
  }
  llvm_unreachable("a kind of fact without a name");
}

// Where the first tcgen05 instruction of the statement stands: at its piece of the string, or at the statement.
Position instruction_in(const Origin& at, const Translation& translation) {
  if (at.statement == Origin::kNo) return at.at;
  const AsmStatement& statement = translation.statements[at.statement];
  const size_t offset = statement.text.find("tcgen05.");
  if (offset == std::string::npos) return at.at;
  size_t piece = 0;
  for (size_t i = 0; i < offset; ++i) piece += statement.text[i] == ';' || statement.text[i] == '\n' ? 1 : 0;
  return statement.pieces[piece];
}

void offer(Edit edit, SourceFact& fact) {
  fact.edit = std::move(edit.at);
  fact.insertion = std::move(edit.insertion);
}

}  // namespace

void add_ast_facts(const Scan& scan, const clang::ASTContext& context, const Places& places, Translation& out) {
  // Instances of one template share the place, and one fact for it is enough.
  std::set<std::tuple<std::string, uint32_t, uint32_t>> seen;
  for (const auto& [key, found] : scan.not_volatile) {
    SourceFact fact;
    fact.kind = found.kind;
    fact.at.at = places.of(found.statement->getAsmLoc());
    if (!seen.emplace(fact.at.at.file, fact.at.at.line, fact.at.at.column).second) continue;
    fact.instruction = fact.at.at;
    fact.opcode = tcgen05_in(found.statement->getAsmString()).opcode;
    offer(volatile_edit(*found.statement, context, places), fact);
    out.facts.push_back(std::move(fact));
  }
}

void add_ir_facts(llvm::Function& kernel, Origins& origins, const clang::ASTContext& context, const Places& places,
                  Translation& out) {
  for (const IrFact& fact : ir_facts(kernel)) {
    const clang::GCCAsmStmt* statement = origins.ast_statement(*fact.statement);
    if (statement == nullptr || places.sources().isInSystemHeader(statement->getAsmLoc())) continue;
    SourceFact said;
    said.kind = kind_of(fact.kind);
    said.at = origins.of(*fact.statement);
    if (fact.other != nullptr) said.other = origins.of(*fact.other);
    said.kernel = kernel.getName().str();
    said.opcode = tcgen05_in(asm_of(*fact.statement)->getAsmString()).opcode;
    said.instruction = instruction_in(said.at, out);
    // A read that comes too early is repaired by a wait, not by a clobber.
    if (said.kind != SourceFact::Kind::kEarlyRead) offer(memory_edit(*statement, context, places), said);
    out.facts.push_back(std::move(said));
  }
}

}  // namespace tmemlint::cuda
