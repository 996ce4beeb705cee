// IR to PTX: the passes over the IR, and the NVPTX back end.
#pragma once

#include <llvm/ADT/SmallString.h>
#include <llvm/ADT/StringRef.h>
#include <llvm/IR/Module.h>
#include <llvm/Target/TargetMachine.h>

#include <memory>

namespace tmemlint::cuda {

// Makes all statements with tcgen05 volatile: Clang deletes, merges and moves others, as it may. The analysis is to see
// them where the author put them; that they were not volatile is reported.
void keep_tcgen05(llvm::Module& module);

// `cpu` is the target as Clang names it: "sm_100a". Null when LLVM has no NVPTX back end.
std::unique_ptr<llvm::TargetMachine> nvptx_machine(const llvm::Module& module, llvm::StringRef cpu);

// Inlines all calls, folds and unrolls, and moves no statement across another one.
void optimise(llvm::Module& module, llvm::TargetMachine& machine);

void emit_ptx(llvm::Module& module, llvm::TargetMachine& machine, llvm::SmallString<0>& ptx);

}  // namespace tmemlint::cuda
