#include "analyzer/cuda/clang/generate.h"

#include <clang/AST/Attr.h>
#include <clang/AST/DeclCXX.h>
#include <clang/AST/GlobalDecl.h>
#include <clang/Basic/ABI.h>
#include <clang/Basic/CodeGenOptions.h>
#include <clang/Basic/Diagnostic.h>
#include <clang/Basic/DiagnosticOptions.h>
#include <clang/Basic/SourceManager.h>
#include <clang/Basic/TargetInfo.h>
#include <clang/Basic/TargetOptions.h>
#include <clang/CodeGen/ModuleBuilder.h>
#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/SmallString.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/CrashRecoveryContext.h>
#include <llvm/Support/ErrorHandling.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Target/TargetOptions.h>
#include <llvm/Transforms/Utils/LoopUtils.h>

#include <array>
#include <optional>
#include <set>

#include "analyzer/cuda/clang/ir_facts.h"
#include "analyzer/cuda/clang/libdevice.h"

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

// Nothing that moves a statement across another one. Loops with a constant trip count are unrolled, as nvcc does, so
// that arrays indexed by them become registers.
//
// Callees are simplified before they are laid into their callers: in CUTLASS, the other way round takes ten times as
// long.
constexpr const char* kBeforeUnrolling =
    "globaldce,require<profile-summary>,"
    "cgscc(inline<only-mandatory>,function(sroa,early-cse,simplifycfg)),globaldce,"
    "function(sroa,early-cse<memssa>,infer-address-spaces,instcombine<no-verify-fixpoint>,simplifycfg)";
constexpr const char* kUnrolling =
    "function(loop-simplify,lcssa,loop(loop-rotate,indvars),loop-unroll<O3;no-partial;no-runtime;no-peeling>,"
    "sroa,early-cse<memssa>,infer-address-spaces,instcombine<no-verify-fixpoint>,simplifycfg,sccp,adce)";

const llvm::InlineAsm* asm_of(const Instruction& instruction) {
  const auto* call = llvm::dyn_cast<CallBase>(&instruction);
  return call != nullptr ? llvm::dyn_cast<llvm::InlineAsm>(call->getCalledOperand()) : nullptr;
}

bool is_kernel(const Function& function) {
  return function.getCallingConv() == llvm::CallingConv::PTX_Kernel;
}

// Clang deletes, merges and moves statements that are not volatile, as it may. The analysis is to see them where the
// author put them; that they are not volatile is reported.
void keep_tcgen05(llvm::Module& module) {
  for (Function& function : module) {
    for (Instruction& i : llvm::instructions(function)) {
      const llvm::InlineAsm* code = asm_of(i);
      if (code == nullptr || code->hasSideEffects() || !llvm::StringRef(code->getAsmString()).contains("tcgen05."))
        continue;
      auto& call = llvm::cast<CallBase>(i);
      call.setCalledOperand(llvm::InlineAsm::get(code->getFunctionType(), code->getAsmString(),
                                                 code->getConstraintString(), true, code->isAlignStack(),
                                                 code->getDialect(), code->canThrow()));
      call.removeFnAttr(llvm::Attribute::Memory);
    }
  }
}

// Callees laid into their callers, except what cannot be.
void mark_for_inlining(llvm::Module& module) {
  for (Function& function : module) {
    if (function.isDeclaration()) continue;
    function.removeFnAttr(llvm::Attribute::NoInline);
    function.removeFnAttr(llvm::Attribute::OptimizeNone);
    if (is_kernel(function)) continue;
    function.addFnAttr(llvm::Attribute::AlwaysInline);
    function.setLinkage(llvm::GlobalValue::InternalLinkage);
    function.setComdat(nullptr);
  }
}

// Loops that index a local array are unrolled whatever their size: the array is one of registers to its author.
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

// Which functions lead to what: the kernels that use tcgen05, and those that call something without a body.
class Reach {
public:
  explicit Reach(llvm::Module& module) {
    for (Function& caller : module) {
      for (Instruction& i : llvm::instructions(caller)) {
        const auto* call = llvm::dyn_cast<CallBase>(&i);
        if (call == nullptr) continue;
        if (const llvm::InlineAsm* code = asm_of(i)) {
          if (llvm::StringRef(code->getAsmString()).contains("tcgen05.")) seeds_.push_back(&caller);
        } else if (Function* callee = call->getCalledFunction()) {
          if (!callee->isIntrinsic()) callers_[callee].push_back(&caller);
        } else {
          seeds_.push_back(&caller);  // through a pointer: anything
        }
      }
    }
    uses_tcgen05_ = close(seeds_);
  }

  bool uses_tcgen05(Function& function) const { return uses_tcgen05_.contains(&function); }
  llvm::SmallPtrSet<Function*, 16> callers_of(Function& function) const { return close({&function}); }

private:
  llvm::SmallPtrSet<Function*, 16> close(std::vector<Function*> work) const {
    llvm::SmallPtrSet<Function*, 16> out(work.begin(), work.end());
    while (!work.empty()) {
      Function* at = work.back();
      work.pop_back();
      auto found = callers_.find(at);
      if (found == callers_.end()) continue;
      for (Function* caller : found->second) {
        if (out.insert(caller).second) work.push_back(caller);
      }
    }
    return out;
  }

  llvm::DenseMap<Function*, std::vector<Function*>> callers_;
  std::vector<Function*> seeds_;
  llvm::SmallPtrSet<Function*, 16> uses_tcgen05_;
};

// Up to three sizes as an attribute of the back end has them; nothing where one is not a number.
template <typename Sizes>
std::optional<std::string> listed(const Sizes& sizes, clang::ASTContext& context) {
  std::string text;
  for (const clang::Expr* size : sizes) {
    clang::Expr::EvalResult result;
    uint64_t number = 1;
    if (size != nullptr) {
      if (size->isValueDependent() || !size->EvaluateAsInt(result, context)) return std::nullopt;
      number = result.Val.getInt().getZExtValue();
    }
    text += (text.empty() ? "" : ",") + std::to_string(number);
  }
  return text;
}

// Clang 22 knows __cluster_dims__ but its NVPTX code generation drops it, and __block_size__ is an annotation of the
// bundled header; the back end has attributes for both.
void state_launch(const clang::FunctionDecl& kernel, clang::ASTContext& context, Function& function) {
  auto state = [&](const char* name, const std::optional<std::string>& sizes) {
    if (sizes && !function.hasFnAttribute(name)) function.addFnAttr(name, *sizes);
  };
  if (const auto* cluster = kernel.getAttr<clang::CUDAClusterDimsAttr>()) {
    state("nvvm.cluster_dim", listed(std::array{cluster->getX(), cluster->getY(), cluster->getZ()}, context));
  }
  for (const auto* annotation : kernel.specific_attrs<clang::AnnotateAttr>()) {
    if (annotation->getAnnotation() == "tmemlint.block_size") {
      state("nvvm.reqntid", listed(annotation->args(), context));
    } else if (annotation->getAnnotation() == "tmemlint.cluster_size") {
      state("nvvm.cluster_dim", listed(annotation->args(), context));
    }
  }
}

// What CodeGen itself objects to.
class CodeErrors : public clang::DiagnosticConsumer {
public:
  explicit CodeErrors(std::string& first) : first_(first) {}
  void HandleDiagnostic(clang::DiagnosticsEngine::Level level, const clang::Diagnostic& diagnostic) override {
    DiagnosticConsumer::HandleDiagnostic(level, diagnostic);
    if (level < clang::DiagnosticsEngine::Error || !first_.empty()) return;
    llvm::SmallString<128> text;
    diagnostic.FormatDiagnostic(text);
    first_ = text.str().str();
  }

private:
  std::string& first_;
};

class Generator {
public:
  Generator(const GenerateInput& input, Scan& scan, const Places& places, Translation& out)
      : input_(input), scan_(scan), places_(places), out_(out) {}

  void run() {
    std::string reason;
    if (attempt(nullptr, reason)) return;
    // One kernel at a time, so that one that cannot be taken does not take the others with it.
    out_.kernels.clear();
    for (clang::FunctionDecl* function : scan_.functions) {
      if (!function->hasAttr<clang::CUDAGlobalAttr>()) continue;
      reason.clear();
      if (attempt(function, reason)) continue;
      Dropped dropped;
      dropped.name = readable_name(*function);
      dropped.at = places_.of(function->getLocation());
      dropped.reason = "Clang's code generation failed on it" + (reason.empty() ? std::string() : ": " + reason);
      dropped.is_kernel = true;
      out_.dropped.push_back(std::move(dropped));
    }
  }

private:
  // All kernels, or only one. False when something crashed; what was made so far is then left alone, not destroyed.
  bool attempt(clang::FunctionDecl* only, std::string& reason) {
    names_.clear();  // of the previous context
    looked_into_.clear();
    const size_t kernels = out_.kernels.size();
    const size_t facts = out_.facts.size();
    auto* context = new llvm::LLVMContext;
    Session session;
    llvm::SmallString<0> ptx;
    bool good = run_guarded([&] { produce(*context, only, session, ptx); }, reason);
    if (good && !session.error.empty()) {
      reason = session.error;
      good = false;
    }
    if (!good) {
      (void)session.generator.release();
      out_.kernels.resize(kernels);
      out_.facts.resize(facts);
      return false;
    }
    if (!ptx.empty()) out_.ptx.push_back(ptx.str().str());
    session.generator.reset();
    delete context;
    return true;
  }

  struct Session {
    std::string error;  // outlives the two others
    std::unique_ptr<clang::DiagnosticsEngine> diagnostics;
    std::unique_ptr<clang::CodeGenerator> generator;
  };

  void produce(llvm::LLVMContext& context, clang::FunctionDecl* only, Session& session, llvm::SmallString<0>& ptx) {
    llvm::Module* module = code(context, only, session);
    if (module == nullptr) return;
    name_dropped(*session.generator);
    keep_tcgen05(*module);
    define_libdevice(*module);
    if (!keep_relevant(*module, *session.generator)) return;
    mark_for_inlining(*module);
    const std::unique_ptr<llvm::TargetMachine> machine = target(*module);
    if (!machine) return;
    optimise(*module, *machine);
    for (Function& function : *module) {
      if (is_kernel(function) && !function.isDeclaration()) collect_facts(function, *session.generator);
    }
    tag(*module, *session.generator);
    emit(*module, *machine, ptx);
  }

  llvm::Module* code(llvm::LLVMContext& context, clang::FunctionDecl* only, Session& session) {
    // An engine of its own: errors of the parse must not stop CodeGen, and CodeGen's must not reach the user's.
    static clang::DiagnosticOptions options;
    session.diagnostics = std::make_unique<clang::DiagnosticsEngine>(llvm::makeIntrusiveRefCnt<clang::DiagnosticIDs>(),
                                                                     options, new CodeErrors(session.error), true);
    session.diagnostics->setSourceManager(&input_.context.getSourceManager());
    clang::CodeGenOptions& cgo = code_options_;
    cgo.OptimizationLevel = 1;
    cgo.UnrollLoops = true;  // or CodeGen forbids it, loop by loop
    cgo.setDebugInfo(llvm::codegenoptions::DebugDirectivesOnly);
    cgo.DebugColumnInfo = true;
    cgo.DebugInfoForProfiling = true;  // else symbols are left out, by which functions are found again
    cgo.setFramePointer(clang::CodeGenOptions::FramePointerKind::None);
    session.generator = clang::CreateLLVMCodeGen(*session.diagnostics, "tmemlint", input_.files, input_.header_search,
                                                 input_.preprocessor, cgo, context);
    clang::CodeGenerator& generator = *session.generator;
    generator.Initialize(input_.context);
    for (clang::VarDecl* variable : scan_.variables) generator.HandleTopLevelDecl(clang::DeclGroupRef(variable));
    for (clang::FunctionDecl* function : scan_.functions) {
      if (only != nullptr && function != only && function->hasAttr<clang::CUDAGlobalAttr>()) continue;
      generator.HandleTopLevelDecl(clang::DeclGroupRef(function));
    }
    generator.HandleTranslationUnit(input_.context);
    return generator.GetModule();
  }

  // CodeGen knows the symbol of a function that was dropped if something calls it.
  void name_dropped(clang::CodeGenerator& generator) {
    for (size_t i = 0; i < scan_.dropped_functions.size(); ++i) {
      const clang::FunctionDecl* function = scan_.dropped_functions[i];
      if (llvm::isa<clang::CXXConstructorDecl>(function)) {
        scan_.dropped[i].symbol = generator
                                      .GetMangledName(clang::GlobalDecl(llvm::cast<clang::CXXConstructorDecl>(function),
                                                                        clang::Ctor_Complete))
                                      .str();
      } else if (llvm::isa<clang::CXXDestructorDecl>(function)) {
        scan_.dropped[i].symbol =
            generator
                .GetMangledName(clang::GlobalDecl(llvm::cast<clang::CXXDestructorDecl>(function), clang::Dtor_Complete))
                .str();
      } else if (!function->hasAttr<clang::CUDAGlobalAttr>()) {
        scan_.dropped[i].symbol = generator.GetMangledName(clang::GlobalDecl(function)).str();
      }
    }
  }

  // Kernels that have nothing to do with tcgen05 need no passes. False when none is left.
  bool keep_relevant(llvm::Module& module, clang::CodeGenerator& generator) {
    const Reach reach(module);
    llvm::DenseMap<Function*, std::vector<std::string>> lost;
    for (const Dropped& dropped : scan_.dropped) {
      if (Function* function = dropped.symbol.empty() ? nullptr : module.getFunction(dropped.symbol)) {
        for (Function* caller : reach.callers_of(*function)) lost[caller].push_back(dropped.symbol);
      }
    }
    bool any = false;
    for (Function& function : module) {
      if (function.isDeclaration() || !is_kernel(function)) continue;
      if (reach.uses_tcgen05(function) || lost.contains(&function)) {
        any = true;
        add_kernel(function, generator);
        out_.kernels.back().lost = lost.lookup(&function);
      } else {
        ++out_.other_kernels;
        function.deleteBody();
        function.setComdat(nullptr);
      }
    }
    return any;
  }

  void add_kernel(Function& function, clang::CodeGenerator& generator) {
    Kernel kernel;
    kernel.symbol = function.getName().str();
    kernel.name = kernel.symbol;
    if (const auto* decl =
            llvm::dyn_cast_or_null<clang::FunctionDecl>(generator.GetDeclForMangledName(function.getName()))) {
      kernel.name = readable_name(*decl);
      kernel.at = places_.of(decl->getLocation());
      state_launch(*decl, input_.context, function);
    }
    out_.kernels.push_back(std::move(kernel));
  }

  std::unique_ptr<llvm::TargetMachine> target(llvm::Module& module) const {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
    std::string error;
    const llvm::Target* found = llvm::TargetRegistry::lookupTarget(module.getTargetTriple(), error);
    if (found == nullptr) return nullptr;
    return std::unique_ptr<llvm::TargetMachine>(
        found->createTargetMachine(module.getTargetTriple(), input_.context.getTargetInfo().getTargetOpts().CPU,
                                   "+ptx90", llvm::TargetOptions(), std::nullopt));
  }

  static void optimise(llvm::Module& module, llvm::TargetMachine& machine) {
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

  Position place(const llvm::DILocation& location) const {
    return places_.of(location.getDirectory(), location.getFilename(), location.getLine(), location.getColumn());
  }

  Origin origin(const Instruction& instruction, clang::CodeGenerator& generator) {
    Origin out;
    const llvm::DILocation* location = instruction.getDebugLoc().get();
    if (location == nullptr) return out;
    if (location->getLine() != 0) out.at = place(*location);
    for (const llvm::DILocation* at = location; at->getInlinedAt() != nullptr; at = at->getInlinedAt()) {
      Call call;
      if (const llvm::DISubprogram* subprogram = at->getScope()->getSubprogram())
        call.function = readable(*subprogram, generator);
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
         !out.calls.empty() && places_.in_system_header(at->getDirectory(), at->getFilename());
         at = at->getInlinedAt()) {
      out.at = out.calls.front().at;
      out.calls.erase(out.calls.begin());
      moved = true;
      if (at->getInlinedAt() == nullptr) break;
    }
    if (asm_of(instruction) != nullptr && !moved) out.statement = statement_of(instruction, *location, generator);
    return out;
  }

  const std::string& readable(const llvm::DISubprogram& subprogram, clang::CodeGenerator& generator) {
    auto [found, added] = names_.try_emplace(&subprogram);
    if (!added) return found->second;
    const llvm::StringRef symbol = subprogram.getLinkageName();
    const clang::Decl* decl = symbol.empty() ? nullptr : generator.GetDeclForMangledName(symbol);
    const auto* function = llvm::dyn_cast_or_null<clang::FunctionDecl>(decl);
    found->second = function != nullptr ? readable_name(*function) : subprogram.getName().str();
    return found->second;
  }

  // The asm statement in the AST that a call of inline assembly came from.
  uint32_t statement_of(const Instruction& instruction, const llvm::DILocation& location,
                        clang::CodeGenerator& generator) {
    const clang::GCCAsmStmt* statement = ast_statement(instruction, location, generator);
    if (statement == nullptr) return Origin::kNo;
    auto [found, added] = statement_index_.try_emplace(statement, static_cast<uint32_t>(out_.statements.size()));
    if (added) out_.statements.push_back(describe(*statement, scan_, input_.context, places_));
    return found->second;
  }

  const clang::GCCAsmStmt* ast_statement(const Instruction& instruction, const llvm::DILocation& location,
                                         clang::CodeGenerator& generator) {
    const llvm::MDNode* source = instruction.getMetadata("srcloc");
    if (source == nullptr || source->getNumOperands() == 0) return nullptr;
    const auto key =
        static_cast<unsigned>(llvm::mdconst::extract<llvm::ConstantInt>(source->getOperand(0))->getZExtValue());
    auto found = scan_.statements.find(key);
    if (found == scan_.statements.end()) {
      const llvm::DISubprogram* subprogram = location.getScope()->getSubprogram();
      if (subprogram == nullptr || subprogram->getLinkageName().empty() || !looked_into_.insert(subprogram).second)
        return nullptr;
      auto* decl = const_cast<clang::Decl*>(generator.GetDeclForMangledName(subprogram->getLinkageName()));
      if (auto* function = llvm::dyn_cast_or_null<clang::FunctionDecl>(decl))
        scan_body(input_.context, function, scan_);
      found = scan_.statements.find(key);
      if (found == scan_.statements.end()) return nullptr;
    }
    return found->second;
  }

  void collect_facts(Function& kernel, clang::CodeGenerator& generator) {
    for (const IrFact& fact : ir_facts(kernel)) {
      const llvm::DILocation* location = fact.statement->getDebugLoc().get();
      if (location == nullptr) continue;
      const clang::GCCAsmStmt* statement = ast_statement(*fact.statement, *location, generator);
      if (statement == nullptr || places_.sources().isInSystemHeader(statement->getAsmLoc())) continue;
      SourceFact out;
      switch (fact.kind) {
        case IrFact::Kind::kStaleSlot:
          out.kind = SourceFact::Kind::kStaleSlot;
          break;
        case IrFact::Kind::kLateStore:
          out.kind = SourceFact::Kind::kLateStore;
          break;
        case IrFact::Kind::kNoMemoryClobber:
          out.kind = SourceFact::Kind::kNoMemoryClobber;
          break;
        case IrFact::Kind::kEarlyRead:
          out.kind = SourceFact::Kind::kEarlyRead;
          break;
      }
      out.at = origin(*fact.statement, generator);
      if (fact.other != nullptr) out.other = origin(*fact.other, generator);
      out.kernel = kernel.getName().str();
      describe_instruction(*statement, fact.statement, out);
      if (out.kind != SourceFact::Kind::kEarlyRead) {
        Edit edit = memory_edit(*statement, input_.context, places_);
        out.edit = std::move(edit.at);
        out.insertion = std::move(edit.insertion);
      }
      out_.facts.push_back(std::move(out));
    }
  }

  void describe_instruction(const clang::GCCAsmStmt& statement, const CallBase* call, SourceFact& fact) {
    const Tcgen05Mention mention = tcgen05_in(llvm::cast<llvm::InlineAsm>(call->getCalledOperand())->getAsmString());
    fact.opcode = mention.opcode;
    fact.instruction = fact.at.at;
    if (fact.at.statement == Origin::kNo) return;
    const AsmStatement& text = out_.statements[fact.at.statement];
    const size_t offset = text.text.find("tcgen05.");
    if (offset == std::string::npos) return;
    size_t piece = 0;
    for (size_t i = 0; i < offset; ++i) piece += text.text[i] == ';' || text.text[i] == '\n' ? 1 : 0;
    fact.instruction = text.pieces[piece];
    (void)statement;
  }

  // Every asm statement gets a tag; every other instruction's line becomes its number in `origins`, so that `.loc`
  // leads there with the whole chain of inlined calls.
  void tag(llvm::Module& module, clang::CodeGenerator& generator) {
    for (Function& function : module) {
      llvm::DISubprogram* scope = function.getSubprogram();
      llvm::DenseMap<const llvm::DILocation*, uint32_t> numbers;
      for (Instruction& i : llvm::instructions(function)) {
        const llvm::DILocation* location = i.getDebugLoc().get();
        const llvm::InlineAsm* code = asm_of(i);
        uint32_t number = 0;
        if (code != nullptr || location == nullptr) {
          number = add(origin(i, generator));
        } else if (auto [found, added] = numbers.try_emplace(location); added) {
          number = found->second = add(origin(i, generator));
        } else {
          number = found->second;
        }
        if (code != nullptr) {
          llvm::cast<CallBase>(i).setCalledOperand(llvm::InlineAsm::get(
              code->getFunctionType(), "// @tmem " + std::to_string(number) + "\n" + std::string(code->getAsmString()),
              code->getConstraintString(), code->hasSideEffects(), code->isAlignStack(), code->getDialect(),
              code->canThrow()));
        }
        if (scope != nullptr && location != nullptr)
          i.setDebugLoc(llvm::DILocation::get(module.getContext(), number, 0, scope));
      }
    }
  }

  uint32_t add(Origin origin) {
    if (out_.origins.empty()) out_.origins.emplace_back();  // line 0 of a `.loc` means that there is none
    out_.origins.push_back(std::move(origin));
    return static_cast<uint32_t>(out_.origins.size() - 1);
  }

  static void emit(llvm::Module& module, llvm::TargetMachine& machine, llvm::SmallString<0>& ptx) {
    llvm::raw_svector_ostream stream(ptx);
    llvm::legacy::PassManager passes;
    if (machine.addPassesToEmitFile(passes, stream, nullptr, llvm::CodeGenFileType::AssemblyFile)) return;
    passes.run(module);
  }

  const GenerateInput& input_;
  Scan& scan_;
  const Places& places_;
  Translation& out_;
  clang::CodeGenOptions code_options_;
  llvm::DenseMap<const clang::GCCAsmStmt*, uint32_t> statement_index_;
  llvm::DenseMap<const llvm::DISubprogram*, std::string> names_;
  llvm::SmallPtrSet<const llvm::DISubprogram*, 16> looked_into_;
};

std::string* said = nullptr;  // where LLVM's last words go while something runs guarded

void fatal_error(void*, const char* what, bool) {
  if (said != nullptr) *said = llvm::StringRef(what).take_until([](char c) { return c == '\n'; }).substr(0, 200).str();
  if (auto* recovery = llvm::CrashRecoveryContext::GetCurrent()) recovery->HandleExit(70);
}

// What the AST alone tells: volatile or not.
void add_source_facts(const GenerateInput& input, const Scan& scan, const Places& places, Translation& out) {
  std::set<std::tuple<std::string, uint32_t, uint32_t>> seen;
  std::vector<std::pair<unsigned, const clang::GCCAsmStmt*>> ordered(scan.statements.begin(), scan.statements.end());
  std::sort(ordered.begin(), ordered.end());
  for (const auto& [key, statement] : ordered) {
    if (statement->isVolatile() || places.sources().isInSystemHeader(statement->getAsmLoc())) continue;
    const Tcgen05Mention mention = tcgen05_in(statement->getAsmString());
    if (mention.opcode.empty()) continue;
    SourceFact fact;
    fact.kind =
        statement->getNumOutputs() != 0 ? SourceFact::Kind::kNotVolatile : SourceFact::Kind::kImplicitlyVolatile;
    fact.at.at = places.of(statement->getAsmLoc());
    if (!seen.emplace(fact.at.at.file, fact.at.at.line, fact.at.at.column).second) continue;
    fact.instruction = fact.at.at;
    fact.opcode = mention.opcode;
    Edit edit = volatile_edit(*statement, input.context, places);
    fact.edit = std::move(edit.at);
    fact.insertion = std::move(edit.insertion);
    out.facts.push_back(std::move(fact));
  }
}

}  // namespace

bool run_guarded(llvm::function_ref<void()> work, std::string& reason) {
  llvm::CrashRecoveryContext::Enable();
  said = &reason;
  bool good = false;
  {
    const llvm::ScopedFatalErrorHandler handler(fatal_error);
    llvm::CrashRecoveryContext recovery;
    good = recovery.RunSafely(work);
  }
  said = nullptr;
  return good;
}

void generate(const GenerateInput& input, Scan& scan, const Places& places, Translation& out) {
  add_source_facts(input, scan, places, out);
  Generator(input, scan, places, out).run();
  out.dropped.insert(out.dropped.end(), scan.dropped.begin(), scan.dropped.end());
  out.uninstantiated = scan.uninstantiated;
  out.tcgen05_statements = scan.tcgen05_statements;
}

}  // namespace tmemlint::cuda
