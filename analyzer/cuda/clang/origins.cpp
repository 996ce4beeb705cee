#include "analyzer/cuda/clang/origins.h"

#include <clang/CodeGen/ModuleBuilder.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/LLVMContext.h>

#include "analyzer/cuda/clang/asm_statement.h"
#include "analyzer/cuda/clang/inline_asm.h"

namespace tmemlint::cuda {

using llvm::CallBase;
using llvm::Function;
using llvm::Instruction;

void Origins::start(clang::CodeGenerator& generator) {
  generator_ = &generator;
  names_.clear();
  looked_into_.clear();
}

Position Origins::place(const llvm::DILocation& location) const {
  return places_.of(location.getDirectory(), location.getFilename(), location.getLine(), location.getColumn());
}

Origin Origins::of(const Instruction& instruction) {
  Origin out;
  const llvm::DILocation* location = instruction.getDebugLoc().get();
  if (location == nullptr) return out;
  if (location->getLine() != 0) out.at = place(*location);
  for (const llvm::DILocation* at = location; at->getInlinedAt() != nullptr; at = at->getInlinedAt()) {
    Call call;
    if (const llvm::DISubprogram* subprogram = at->getScope()->getSubprogram()) call.function = readable(*subprogram);
    call.at = place(*at->getInlinedAt());
    // The two variants of a constructor or destructor, one of which calls the other.
    if (!out.calls.empty() && out.calls.back().function == call.function &&
        call.function.find("::") != std::string::npos) {
      out.calls.back() = std::move(call);
    } else {
      out.calls.push_back(std::move(call));
    }
  }
  // What a header of the toolkit does, its caller does: that line is the author's.
  bool moved = false;
  for (const llvm::DILocation* at = location;
       !out.calls.empty() && places_.in_system_header(at->getDirectory(), at->getFilename()); at = at->getInlinedAt()) {
    out.at = out.calls.front().at;
    out.calls.erase(out.calls.begin());
    moved = true;
    if (at->getInlinedAt() == nullptr) break;
  }
  if (asm_of(instruction) != nullptr && !moved) out.statement = statement_of(instruction);
  return out;
}

const std::string& Origins::readable(const llvm::DISubprogram& subprogram) {
  auto [found, added] = names_.try_emplace(&subprogram);
  if (!added) return found->second;
  const llvm::StringRef symbol = subprogram.getLinkageName();
  const clang::Decl* decl = symbol.empty() ? nullptr : generator_->GetDeclForMangledName(symbol);
  const auto* function = llvm::dyn_cast_or_null<clang::FunctionDecl>(decl);
  found->second = function != nullptr ? readable_name(*function) : subprogram.getName().str();
  return found->second;
}

uint32_t Origins::statement_of(const Instruction& instruction) {
  const clang::GCCAsmStmt* statement = ast_statement(instruction);
  if (statement == nullptr) return Origin::kNo;
  auto [found, added] = statement_index_.try_emplace(statement, static_cast<uint32_t>(out_.statements.size()));
  if (added) out_.statements.push_back(describe(*statement, scan_.written.lookup(statement), context_, places_));
  return found->second;
}

const clang::GCCAsmStmt* Origins::ast_statement(const Instruction& instruction) {
  const llvm::DILocation* location = instruction.getDebugLoc().get();
  const llvm::MDNode* source = instruction.getMetadata("srcloc");
  if (location == nullptr || source == nullptr || source->getNumOperands() == 0) return nullptr;
  const auto key =
      static_cast<unsigned>(llvm::mdconst::extract<llvm::ConstantInt>(source->getOperand(0))->getZExtValue());
  auto found = scan_.statements.find(key);
  if (found == scan_.statements.end()) {
    const llvm::DISubprogram* subprogram = location->getScope()->getSubprogram();
    if (subprogram == nullptr || subprogram->getLinkageName().empty() || !looked_into_.insert(subprogram).second)
      return nullptr;
    auto* decl = const_cast<clang::Decl*>(generator_->GetDeclForMangledName(subprogram->getLinkageName()));
    if (auto* function = llvm::dyn_cast_or_null<clang::FunctionDecl>(decl)) scan_body(context_, *function, scan_);
    found = scan_.statements.find(key);
    if (found == scan_.statements.end()) return nullptr;
  }
  return found->second;
}

void Origins::tag(llvm::Module& module) {
  for (Function& function : module) {
    llvm::DISubprogram* scope = function.getSubprogram();
    llvm::DenseMap<const llvm::DILocation*, uint32_t> numbers;
    for (Instruction& i : llvm::instructions(function)) {
      const llvm::DILocation* location = i.getDebugLoc().get();
      const llvm::InlineAsm* code = asm_of(i);
      uint32_t number = 0;
      if (code != nullptr || location == nullptr) {
        number = add(of(i));
      } else if (auto [found, added] = numbers.try_emplace(location); added) {
        number = found->second = add(of(i));
      } else {
        number = found->second;
      }
      if (code != nullptr) {
        replace_asm(llvm::cast<CallBase>(i), *code,
                    "// @tmem " + std::to_string(number) + "\n" + std::string(code->getAsmString()),
                    code->hasSideEffects());
      }
      if (scope != nullptr && location != nullptr)
        i.setDebugLoc(llvm::DILocation::get(module.getContext(), number, 0, scope));
    }
  }
}

uint32_t Origins::add(Origin origin) {
  if (out_.origins.empty()) out_.origins.emplace_back();  // line 0 of a `.loc` means that there is none
  out_.origins.push_back(std::move(origin));
  return static_cast<uint32_t>(out_.origins.size() - 1);
}

}  // namespace tmemlint::cuda
