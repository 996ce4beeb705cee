// The call graph of a module, asked from the bottom up.
#pragma once

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Module.h>

#include <vector>

#include "analyzer/cuda/clang/inline_asm.h"

namespace tmemlint::cuda {

// Which functions lead to what: the kernels that use tcgen05, and those that call something without a body.
class Reach {
public:
  explicit Reach(llvm::Module& module) {
    for (llvm::Function& caller : module) {
      for (llvm::Instruction& i : llvm::instructions(caller)) {
        const auto* call = llvm::dyn_cast<llvm::CallBase>(&i);
        if (call == nullptr) continue;
        if (asm_of(i) != nullptr) {
          if (asm_says(i, "tcgen05.")) seeds_.push_back(&caller);
        } else if (llvm::Function* callee = call->getCalledFunction()) {
          if (!callee->isIntrinsic()) callers_[callee].push_back(&caller);
        } else {
          seeds_.push_back(&caller);  // through a pointer: anything
        }
      }
    }
    uses_tcgen05_ = close(seeds_);
  }

  bool uses_tcgen05(llvm::Function& function) const { return uses_tcgen05_.contains(&function); }
  llvm::SmallPtrSet<llvm::Function*, 16> callers_of(llvm::Function& function) const { return close({&function}); }

private:
  llvm::SmallPtrSet<llvm::Function*, 16> close(std::vector<llvm::Function*> work) const {
    llvm::SmallPtrSet<llvm::Function*, 16> out(work.begin(), work.end());
    while (!work.empty()) {
      llvm::Function* at = work.back();
      work.pop_back();
      auto found = callers_.find(at);
      if (found == callers_.end()) continue;
      for (llvm::Function* caller : found->second) {
        if (out.insert(caller).second) work.push_back(caller);
      }
    }
    return out;
  }

  llvm::DenseMap<llvm::Function*, std::vector<llvm::Function*>> callers_;
  std::vector<llvm::Function*> seeds_;
  llvm::SmallPtrSet<llvm::Function*, 16> uses_tcgen05_;
};

}  // namespace tmemlint::cuda
