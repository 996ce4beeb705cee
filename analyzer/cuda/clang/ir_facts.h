// What only the author's order of statements shows, read off the IR before the back end reorders anything.
#pragma once

#include <llvm/IR/Function.h>
#include <llvm/IR/InstrTypes.h>

#include <string>
#include <vector>

namespace tmemlint::cuda {

struct IrFact {
  enum class Kind : uint8_t { kStaleSlot, kLateStore, kNoMemoryClobber, kEarlyRead };  // as in SourceFact::Kind
  Kind kind = Kind::kStaleSlot;
  llvm::CallBase* statement = nullptr;  // the asm statement that is to be edited, or the load of kEarlyRead
  llvm::Instruction* other = nullptr;   // the read or store that may be moved, or the early read; null if there is none
};

// Of a kernel in which all calls are inlined.
std::vector<IrFact> ir_facts(llvm::Function& kernel);

}  // namespace tmemlint::cuda
