#include "analyzer/cuda/clang/passes.h"

#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/ErrorHandling.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetOptions.h>
#include <llvm/Transforms/Utils/LoopUtils.h>

#include <optional>
#include <string>

#include "analyzer/cuda/clang/inline_asm.h"

extern "C" {
void LLVMInitializeNVPTXTargetInfo();
void LLVMInitializeNVPTXTarget();
void LLVMInitializeNVPTXTargetMC();
void LLVMInitializeNVPTXAsmPrinter();
}

namespace tmemlint::cuda {
namespace {

using llvm::CallBase;
using llvm::Function;
using llvm::Instruction;

// Neither pipeline moves a statement across another one.
//
// Callees are simplified before they are inlined into their callers: in CUTLASS, the other way round takes ten times as
// long.
constexpr const char* kBeforeUnrolling =
    "globaldce,require<profile-summary>,"
    "cgscc(inline<only-mandatory>,function(sroa,early-cse,simplifycfg)),globaldce,"
    "function(sroa,early-cse<memssa>,infer-address-spaces,instcombine<no-verify-fixpoint>,simplifycfg)";
// Loops with a constant trip count are unrolled, as nvcc does, so that arrays indexed by them become registers.
constexpr const char* kUnrolling =
    "function(loop-simplify,lcssa,loop(loop-rotate,indvars),loop-unroll<O3;no-partial;no-runtime;no-peeling>,"
    "sroa,early-cse<memssa>,infer-address-spaces,instcombine<no-verify-fixpoint>,simplifycfg,sccp,adce)";

// All functions but kernels are to be inlined into their callers.
void mark_for_inlining(llvm::Module& module) {
  for (Function& function : module) {
    if (function.isDeclaration()) continue;
    function.removeFnAttr(llvm::Attribute::NoInline);
    function.removeFnAttr(llvm::Attribute::OptimizeNone);
    if (function.getCallingConv() == llvm::CallingConv::PTX_Kernel) continue;
    function.addFnAttr(llvm::Attribute::AlwaysInline);
    function.setLinkage(llvm::GlobalValue::InternalLinkage);
    function.setComdat(nullptr);
  }
}

// A loop that indexes a local array is unrolled whatever its size: its author takes the array for registers.
void ask_for_unrolling(Function& function) {
  const llvm::DominatorTree dominators(function);
  const llvm::LoopInfo loops(dominators);
  for (llvm::Loop* loop : loops.getLoopsInPreorder()) {
    const bool indexes_array = llvm::any_of(loop->blocks(), [](const llvm::BasicBlock* block) {
      return llvm::any_of(*block, [](const Instruction& i) {
        const auto* address = llvm::dyn_cast<llvm::GetElementPtrInst>(&i);
        return address != nullptr && !address->hasAllConstantIndices() &&
               llvm::isa<llvm::AllocaInst>(llvm::getUnderlyingObject(address->getPointerOperand()));
      });
    });
    if (indexes_array && llvm::findOptionMDForLoop(loop, "llvm.loop.unroll.disable") == nullptr) {
      llvm::addStringMetadataToLoop(loop, "llvm.loop.unroll.full");
    }
  }
}

}  // namespace

void keep_tcgen05(llvm::Module& module) {
  for (Function& function : module) {
    for (Instruction& i : llvm::instructions(function)) {
      const llvm::InlineAsm* code = asm_of(i);
      if (code == nullptr || code->hasSideEffects() || !asm_says(i, "tcgen05.")) continue;
      auto& call = llvm::cast<CallBase>(i);
      replace_asm(call, *code, std::string(code->getAsmString()), true);
      call.removeFnAttr(llvm::Attribute::Memory);
    }
  }
}

std::unique_ptr<llvm::TargetMachine> nvptx_machine(const llvm::Module& module, llvm::StringRef cpu) {
  LLVMInitializeNVPTXTargetInfo();
  LLVMInitializeNVPTXTarget();
  LLVMInitializeNVPTXTargetMC();
  LLVMInitializeNVPTXAsmPrinter();
  std::string error;
  const llvm::Target* found = llvm::TargetRegistry::lookupTarget(module.getTargetTriple(), error);
  if (found == nullptr) return nullptr;
  return std::unique_ptr<llvm::TargetMachine>(
      found->createTargetMachine(module.getTargetTriple(), cpu, "+ptx90", llvm::TargetOptions(), std::nullopt));
}

void optimise(llvm::Module& module, llvm::TargetMachine& machine) {
  mark_for_inlining(module);
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager calls;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(&machine);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(calls);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, calls, modules);
  auto run = [&](const char* pipeline) {
    llvm::ModulePassManager passes;
    if (llvm::Error error = builder.parsePassPipeline(passes, pipeline)) llvm::report_fatal_error(std::move(error));
    passes.run(module, modules);
  };
  run(kBeforeUnrolling);
  for (Function& function : module) {
    if (!function.isDeclaration()) ask_for_unrolling(function);
  }
  run(kUnrolling);
}

void emit_ptx(llvm::Module& module, llvm::TargetMachine& machine, llvm::SmallString<0>& ptx) {
  llvm::raw_svector_ostream stream(ptx);
  llvm::legacy::PassManager passes;
  if (machine.addPassesToEmitFile(passes, stream, nullptr, llvm::CodeGenFileType::AssemblyFile)) return;
  passes.run(module);
}

}  // namespace tmemlint::cuda
