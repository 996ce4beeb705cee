#include "analyzer/cuda/clang/ir_facts.h"

#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/CFG.h>
#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Operator.h>

#include "analyzer/assumptions/assumptions.h"
#include "analyzer/cuda/clang/inline_asm.h"

namespace tmemlint::cuda {
namespace {

using llvm::CallBase;
using llvm::Instruction;

bool has_memory_clobber(const llvm::InlineAsm& code) {
  return llvm::StringRef(code.getConstraintString()).contains("~{memory}");
}

// A compiler does not move ordinary loads and stores across such an instruction.
bool is_compiler_barrier(const Instruction& instruction) {
  if (const llvm::InlineAsm* code = asm_of(instruction)) return has_memory_clobber(*code);
  if (llvm::isa<llvm::FenceInst>(instruction)) return true;
  if (instruction.isAtomic()) return true;
  const auto* call = llvm::dyn_cast<CallBase>(&instruction);
  if (call == nullptr) return false;
  if (const auto* intrinsic = llvm::dyn_cast<llvm::IntrinsicInst>(call)) {
    return !intrinsic->doesNotAccessMemory() && !intrinsic->isLifetimeStartOrEnd() &&
           !intrinsic->isAssumeLikeIntrinsic() && !llvm::isa<llvm::MemIntrinsic>(intrinsic);
  }
  return !call->onlyReadsMemory();
}

// The shared variable that a pointer leads to; null when it is none.
const llvm::Value* shared_object(const llvm::Value* pointer) {
  for (unsigned depth = 0; depth < assumptions::kCastsToAVariable; ++depth) {
    pointer = llvm::getUnderlyingObject(pointer, 0);
    if (const auto* cast = llvm::dyn_cast<llvm::Operator>(pointer)) {
      if (cast->getOpcode() == Instruction::AddrSpaceCast || cast->getOpcode() == Instruction::IntToPtr ||
          cast->getOpcode() == Instruction::PtrToInt || cast->getOpcode() == Instruction::Trunc ||
          cast->getOpcode() == Instruction::ZExt || cast->getOpcode() == Instruction::Add) {
        pointer = cast->getOperand(0);
        continue;
      }
    }
    break;
  }
  const auto* global = llvm::dyn_cast<llvm::GlobalVariable>(pointer);
  constexpr unsigned kShared = 3;
  return global != nullptr && global->getAddressSpace() == kShared ? global : nullptr;
}

// Visits the instructions that can follow `from`, until `visit` says to stop on that path.
template <typename Visit>
void forward(Instruction* from, Visit visit) {
  llvm::SmallPtrSet<llvm::BasicBlock*, 16> seen;
  llvm::SmallVector<Instruction*, 8> work{from->getNextNode()};
  while (!work.empty()) {
    Instruction* at = work.pop_back_val();
    llvm::BasicBlock* block = at->getParent();
    bool stopped = false;
    for (; at != nullptr; at = at->getNextNode()) {
      if (visit(*at)) {
        stopped = true;
        break;
      }
    }
    if (stopped) continue;
    for (llvm::BasicBlock* next : llvm::successors(block)) {
      if (seen.insert(next).second) work.push_back(&next->front());
    }
  }
}

// An alloc without the "memory" clobber: whether a read of its slot can be moved in front of it.
void check_alloc(CallBase& alloc, std::vector<IrFact>& out) {
  if (has_memory_clobber(*asm_of(alloc)) || alloc.arg_size() == 0) return;
  const llvm::Value* slot = shared_object(alloc.getArgOperand(0));
  Instruction* early = nullptr;
  forward(&alloc, [&](Instruction& i) {
    if (early != nullptr) return true;
    if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(&i)) {
      if (slot != nullptr && !load->isVolatile() && shared_object(load->getPointerOperand()) == slot) early = &i;
    }
    return is_compiler_barrier(i);
  });
  out.push_back({early != nullptr ? IrFact::Kind::kStaleSlot : IrFact::Kind::kNoMemoryClobber, &alloc, early});
}

// A store to shared memory that can be moved behind an `mma` or `cp`. These read shared memory through descriptors, so
// the compiler sees no connection with the stores before them.
void check_store(Instruction& store, std::vector<IrFact>& out) {
  const auto* s = llvm::dyn_cast<llvm::StoreInst>(&store);
  if (s == nullptr || s->isVolatile() || shared_object(s->getPointerOperand()) == nullptr) return;
  bool found = false;
  forward(&store, [&](Instruction& i) {
    if (found || is_compiler_barrier(i)) return true;
    if (!asm_says(i, "tcgen05.mma") && !asm_says(i, "tcgen05.cp")) return false;
    found = true;
    out.push_back({IrFact::Kind::kLateStore, llvm::cast<CallBase>(&i), &store});
    return true;
  });
}

// The instruction only gives the value another name: such are made by the front end, for instance of `"=r"(array[i])`.
bool is_move(const Instruction& i) {
  return llvm::isa<llvm::ExtractValueInst, llvm::InsertValueInst, llvm::BitCastInst, llvm::PHINode,
                   llvm::InsertElementInst, llvm::ExtractElementInst, llvm::TruncInst, llvm::ZExtInst,
                   llvm::FreezeInst>(i);
}

// Both come from one place in the source: then `b` was made by the front end for the statement `a`, as the stores and
// conversions of `"=r"(array[i])` are.
bool at_same_place(const Instruction& a, const Instruction& b) {
  const llvm::DILocation* x = a.getDebugLoc().get();
  const llvm::DILocation* y = b.getDebugLoc().get();
  return x != nullptr && y != nullptr && x->getLine() == y->getLine() && x->getColumn() == y->getColumn() &&
         x->getFilename() == y->getFilename();
}

// The first instruction that uses a result of the load and that a path reaches without a wait; and a wait does follow
// it. (Without any wait, the analysis of the PTX speaks.)
void check_reads(CallBase& load, std::vector<IrFact>& out) {
  llvm::SmallPtrSet<const Instruction*, 32> uses;
  llvm::SmallVector<const Instruction*, 32> work{&load};
  llvm::SmallPtrSet<const Instruction*, 32> seen;
  while (!work.empty()) {
    const Instruction* value = work.pop_back_val();
    for (const llvm::User* user : value->users()) {
      const auto* i = llvm::dyn_cast<Instruction>(user);
      if (i == nullptr || !seen.insert(i).second) continue;
      const auto* store = llvm::dyn_cast<llvm::StoreInst>(i);
      // A store to a local array that did not become registers is no read that the author wrote.
      const bool keeps =
          store != nullptr && llvm::isa<llvm::AllocaInst>(llvm::getUnderlyingObject(store->getPointerOperand()));
      // A wait may name the registers as operands so that the compiler keeps their uses behind it.
      const bool ties = asm_says(*i, "tcgen05.wait");
      if (is_move(*i) || at_same_place(*i, load)) {
        // Uses of a value that is carried into the next round of a loop are not followed.
        if (!llvm::isa<llvm::PHINode>(i)) work.push_back(i);
      } else if (!keeps && !ties) {
        uses.insert(i);
      }
    }
  }
  Instruction* early = nullptr;
  forward(&load, [&](Instruction& i) {
    if (early != nullptr || asm_says(i, "tcgen05.wait::ld") || &i == &load) return true;
    if (uses.contains(&i)) early = &i;
    return early != nullptr;
  });
  if (early == nullptr) return;
  bool waits = false;
  forward(early, [&](Instruction& i) {
    waits = waits || asm_says(i, "tcgen05.wait::ld");
    return waits;
  });
  if (waits) out.push_back({IrFact::Kind::kEarlyRead, &load, early});
}

}  // namespace

std::vector<IrFact> ir_facts(llvm::Function& kernel) {
  std::vector<IrFact> out;
  bool reads_shared_by_descriptor = false;
  for (Instruction& i : llvm::instructions(kernel)) {
    if (asm_says(i, "tcgen05.alloc")) check_alloc(*llvm::cast<CallBase>(&i), out);
    if (asm_says(i, "tcgen05.ld") && !asm_says(i, "tcgen05.wait::ld")) check_reads(*llvm::cast<CallBase>(&i), out);
    reads_shared_by_descriptor = reads_shared_by_descriptor || asm_says(i, "tcgen05.mma") || asm_says(i, "tcgen05.cp");
  }
  if (reads_shared_by_descriptor) {
    for (Instruction& i : llvm::instructions(kernel)) check_store(i, out);
  }
  return out;
}

}  // namespace tmemlint::cuda
