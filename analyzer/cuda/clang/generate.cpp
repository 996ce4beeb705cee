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
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/CrashRecoveryContext.h>
#include <llvm/Support/ErrorHandling.h>
#include <llvm/Target/TargetMachine.h>

#include "analyzer/cuda/clang/launch.h"
#include "analyzer/cuda/clang/libdevice.h"
#include "analyzer/cuda/clang/origins.h"
#include "analyzer/cuda/clang/passes.h"
#include "analyzer/cuda/clang/reach.h"
#include "analyzer/cuda/clang/source_facts.h"

namespace tmemlint::cuda {
namespace {

using llvm::Function;

bool is_kernel(const Function& function) {
  return function.getCallingConv() == llvm::CallingConv::PTX_Kernel;
}

// Keeps the first error that CodeGen reports.
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
      : input_(input), scan_(scan), places_(places), out_(out), origins_(input.context, scan, places, out) {}

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
  // Makes the PTX of all kernels, or of one. False when something crashed or CodeGen reported an error: LLVM's objects
  // are then in no state to be destroyed, and are leaked.
  bool attempt(clang::FunctionDecl* only, std::string& reason) {
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
    origins_.start(*session.generator);
    name_dropped(*session.generator);
    keep_tcgen05(*module);
    define_libdevice(*module);
    if (!keep_relevant(*module, *session.generator)) return;
    const std::unique_ptr<llvm::TargetMachine> machine =
        nvptx_machine(*module, input_.context.getTargetInfo().getTargetOpts().CPU);
    if (!machine) return;
    optimise(*module, *machine);
    for (Function& function : *module) {
      if (is_kernel(function) && !function.isDeclaration())
        add_ir_facts(function, origins_, input_.context, places_, out_);
    }
    origins_.tag(*module);
    emit_ptx(*module, *machine, ptx);
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

  const GenerateInput& input_;
  Scan& scan_;
  const Places& places_;
  Translation& out_;
  clang::CodeGenOptions code_options_;
  Origins origins_;
};

std::string* said = nullptr;  // where LLVM's last words go while something runs guarded

void fatal_error(void*, const char* what, bool) {
  if (said != nullptr) *said = llvm::StringRef(what).take_until([](char c) { return c == '\n'; }).substr(0, 200).str();
  if (auto* recovery = llvm::CrashRecoveryContext::GetCurrent()) recovery->HandleExit(70);
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
  add_ast_facts(scan, input.context, places, out);
  Generator(input, scan, places, out).run();
  out.dropped.insert(out.dropped.end(), scan.dropped.begin(), scan.dropped.end());
  out.uninstantiated = scan.uninstantiated;
  out.tcgen05_statements = scan.tcgen05_statements;
}

}  // namespace tmemlint::cuda
