// What only the author's order of statements shows, read off the IR before the back end reorders anything.
#pragma once

#include <llvm/IR/Function.h>
#include <llvm/IR/InstrTypes.h>

#include <string>
#include <vector>

namespace tmemlint::cuda {

struct IrFact {
  enum class Kind : uint8_t { kStaleSlot, kLateStore, kNoMemoryClobber, kEarlyRead };
  Kind kind = Kind::kStaleSlot;
  llvm::CallBase* statement = nullptr;  // the asm statement
  llvm::Instruction* other = nullptr;
};

std::vector<IrFact> ir_facts(llvm::Function& kernel);

}  // namespace tmemlint::cuda
