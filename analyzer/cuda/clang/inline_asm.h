// Asm statements in the IR: calls of inline assembly.
#pragma once

#include <llvm/ADT/StringRef.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/InstrTypes.h>

#include <string>

namespace tmemlint::cuda {

// Null when the instruction is no asm statement.
inline const llvm::InlineAsm* asm_of(const llvm::Instruction& instruction) {
  const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
  return call != nullptr ? llvm::dyn_cast<llvm::InlineAsm>(call->getCalledOperand()) : nullptr;
}

// Whether it is an asm statement with these words in its text.
inline bool asm_says(const llvm::Instruction& instruction, llvm::StringRef what) {
  const llvm::InlineAsm* code = asm_of(instruction);
  return code != nullptr && llvm::StringRef(code->getAsmString()).contains(what);
}

// The same call with another text; volatile or not as is said.
inline void replace_asm(llvm::CallBase& call, const llvm::InlineAsm& code, const std::string& text, bool is_volatile) {
  call.setCalledOperand(llvm::InlineAsm::get(code.getFunctionType(), text, code.getConstraintString(), is_volatile,
                                             code.isAlignStack(), code.getDialect(), code.canThrow()));
}

}  // namespace tmemlint::cuda
