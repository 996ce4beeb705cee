#include "analyzer/cuda/clang/scan.h"

#include <clang/AST/ASTDiagnostic.h>
#include <clang/AST/RecursiveASTVisitor.h>
#include <clang/ASTMatchers/ASTMatchFinder.h>
#include <clang/Basic/SourceManager.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/Support/raw_ostream.h>

#include <functional>
#include <memory>
#include <utility>

#include "analyzer/cuda/clang/asm_statement.h"
#include "analyzer/cuda/clang/matchers.h"

namespace tmemlint::cuda {
namespace {

using clang::FunctionDecl;
using clang::GCCAsmStmt;
using clang::SourceLocation;
using clang::VarDecl;
using clang::ast_matchers::MatchFinder;

constexpr const char* kFound = "found";  // what matchers bind the node to that they are about

// Hands the node that a matcher found to a function.
template <typename Node>
class Then : public MatchFinder::MatchCallback {
public:
  explicit Then(std::function<void(Node&)> act) : act_(std::move(act)) {}
  // Matchers see the AST as const. The scan repairs asm statements and takes away bodies, before code is generated.
  void run(const MatchFinder::MatchResult& result) override {
    if (const Node* node = result.Nodes.getNodeAs<Node>(kFound)) act_(const_cast<Node&>(*node));
  }

private:
  std::function<void(Node&)> act_;
};

// Says where is looked; what is looked for, the matchers say (`look_for` lists them). It walks over all declarations
// and hands functions, variables, asm statements and expressions to them, each with the function known that it stands
// in.
//
// Clang's own traversal (MatchFinder::matchAST) cannot do this, for two reasons. It knows no way to leave out a body,
// and those of the toolkit's and the C++ library's functions, in which there is nothing to find, are nearly all there
// is: it would cost more than ten times as much. And a statement without operands that depend on template arguments is
// one node that a template shares with all its instances, so that its ancestors do not tell which of them is looked at.
class Walk : public clang::RecursiveASTVisitor<Walk> {
  using Base = clang::RecursiveASTVisitor<Walk>;

public:
  Walk(clang::ASTContext& context, Scan& scan, const Places& places, bool has_errors)
      : context_(context), scan_(scan), places_(places), has_errors_(has_errors) {
    look_for();
    if (has_errors) look_for_traces_of_errors();
  }

  // Functions with errors that left a trace in the AST, with the first one.
  const llvm::DenseMap<FunctionDecl*, std::string>& spoiled() const { return spoiled_; }

  bool shouldVisitTemplateInstantiations() const { return true; }
  bool shouldVisitImplicitCode() const { return true; }
  // Nothing that is looked for stands in a type.
  bool TraverseTypeLoc(clang::TypeLoc, bool = true) { return true; }
  bool TraverseType(clang::QualType, bool = true) { return true; }
  bool TraverseNestedNameSpecifierLoc(clang::NestedNameSpecifierLoc) { return true; }
  bool TraverseAttr(clang::Attr*) { return true; }

  bool TraverseDecl(clang::Decl* decl) {
    if (decl == nullptr) return true;
    if (auto* variable = llvm::dyn_cast<VarDecl>(decl)) {
      variables_.match(*variable, context_);
      if (!variable->hasInit() || (current_ == nullptr && in_system_header(*variable))) return true;
      return Base::TraverseStmt(variable->getInit());
    }
    if (auto* function = llvm::dyn_cast<FunctionDecl>(decl)) {
      if (!function->doesThisDeclarationHaveABody()) return true;
      enter_ = false;
      functions_.match(*function, context_);
      return !enter_ || enter(function);
    }
    return Base::TraverseDecl(decl);
  }

  bool VisitGCCAsmStmt(GCCAsmStmt* statement) {
    if (current_ != nullptr) asm_statements_.match(*statement, context_);
    return true;
  }

  bool VisitExpr(clang::Expr* expression) {
    if (has_errors_) expressions_.match(*expression, context_);
    return true;
  }

private:
  template <typename Node, typename Matcher>
  void when(MatchFinder& finder, const Matcher& matcher, std::function<void(Node&)> act) {
    callbacks_.push_back(std::make_unique<Then<Node>>(std::move(act)));
    finder.addMatcher(matcher.bind(kFound), callbacks_.back().get());
  }

  void look_for() {
    when<VarDecl>(variables_, matchers::deviceVariable(), [&](VarDecl& v) { scan_.variables.push_back(&v); });
    when<VarDecl>(variables_, matchers::variableWithErrors(),
                  [&](VarDecl&) { spoil(current_, "a variable has errors"); });

    when<FunctionDecl>(functions_, matchers::deviceFunction(), [&](FunctionDecl& f) { scan_.functions.push_back(&f); });
    when<FunctionDecl>(functions_, matchers::deviceFunctionWithErrors(),
                       [&](FunctionDecl& f) { spoil(&f, "its declaration has errors"); });
    when<FunctionDecl>(functions_, matchers::kernelWithoutInstances(), [&](FunctionDecl& f) {
      scan_.uninstantiated.push_back({f.getQualifiedNameAsString(), places_.of(f.getLocation())});
    });
    when<FunctionDecl>(functions_, matchers::functionOfTheAuthor(), [&](FunctionDecl&) { enter_ = true; });

    when<GCCAsmStmt>(asm_statements_, matchers::malformedAsmStatement(), [&](GCCAsmStmt& s) { repair_or_spoil(s); });
    when<GCCAsmStmt>(asm_statements_, matchers::asmStatement(),
                     [&](GCCAsmStmt& s) { scan_.statements[Scan::key(s)] = &s; });
    when<GCCAsmStmt>(asm_statements_, matchers::tcgen05Statement(), [&](GCCAsmStmt&) { ++scan_.tcgen05_statements; });
    when<GCCAsmStmt>(asm_statements_, matchers::removableTcgen05Statement(), [&](GCCAsmStmt& s) {
      scan_.not_volatile[Scan::key(s)] = {&s, SourceFact::Kind::kNotVolatile};
    });
    when<GCCAsmStmt>(asm_statements_, matchers::implicitlyVolatileTcgen05Statement(), [&](GCCAsmStmt& s) {
      scan_.not_volatile[Scan::key(s)] = {&s, SourceFact::Kind::kImplicitlyVolatile};
    });
  }

  // An error can be in the instance of a template of a system header, so that all device functions are entered.
  void look_for_traces_of_errors() {
    when<FunctionDecl>(functions_, matchers::deviceFunction(), [&](FunctionDecl&) { enter_ = true; });
    when<VarDecl>(variables_, matchers::variableWithoutType(),
                  [&](VarDecl&) { spoil(current_, "a variable has errors"); });
    when<clang::Expr>(expressions_, matchers::expressionWithErrors(),
                      [&](clang::Expr&) { spoil(current_, "it has errors"); });
  }

  void repair_or_spoil(GCCAsmStmt& statement) {
    const auto* written = llvm::dyn_cast<clang::StringLiteral>(statement.getAsmStringExpr());
    if (!repair(statement, context_)) {
      spoil(current_, "Clang refuses an asm statement in it");
    } else if (written != nullptr) {
      scan_.written[&statement] = written;
    }
  }

  // The first reason is kept.
  void spoil(FunctionDecl* function, std::string reason) {
    if (function != nullptr) spoiled_.try_emplace(function, std::move(reason));
  }

  bool in_system_header(const clang::Decl& decl) const {
    return context_.getSourceManager().isInSystemHeader(decl.getLocation());
  }

  bool enter(FunctionDecl* function) {
    FunctionDecl* outer = std::exchange(current_, function);
    bool go_on = true;
    if (auto* constructor = llvm::dyn_cast<clang::CXXConstructorDecl>(function)) {
      for (clang::CXXCtorInitializer* initializer : constructor->inits())
        go_on = go_on && Base::TraverseConstructorInitializer(initializer);
    }
    go_on = go_on && Base::TraverseStmt(function->getBody());
    current_ = outer;
    return go_on;
  }

  clang::ASTContext& context_;
  Scan& scan_;
  const Places& places_;
  bool has_errors_;
  // One for each kind of node: a finder asks all its matchers whether they are for the kind of the node at hand.
  MatchFinder functions_, variables_, asm_statements_, expressions_;
  std::vector<std::unique_ptr<MatchFinder::MatchCallback>> callbacks_;
  FunctionDecl* current_ = nullptr;  // the innermost one that is being walked through
  bool enter_ = false;               // a matcher's answer to whether the function at hand is to be walked through
  llvm::DenseMap<FunctionDecl*, std::string> spoiled_;
};

// The functions around each error: some errors leave no trace in the AST (a refused asm statement is simply gone).
// Every instance of a template is at the error's place.
class ErrorFinder {
public:
  ErrorFinder(const clang::SourceManager& sources, const std::vector<FunctionDecl*>& functions) : sources_(sources) {
    for (FunctionDecl* function : functions) {
      const SourceLocation begin = sources.getExpansionLoc(function->getBeginLoc());
      const SourceLocation end = sources.getExpansionLoc(function->getSourceRange().getEnd());
      if (begin.isInvalid() || sources.getFileID(begin) != sources.getFileID(end)) continue;
      extents_[sources.getFileID(begin)].push_back(
          {sources.getFileOffset(begin), sources.getFileOffset(end), function});
    }
  }

  void around(SourceLocation location, llvm::SmallVectorImpl<FunctionDecl*>& out) const {
    const SourceLocation at = sources_.getExpansionLoc(location);
    auto found = extents_.find(sources_.getFileID(at));
    if (at.isInvalid() || found == extents_.end()) return;
    const unsigned offset = sources_.getFileOffset(at);
    unsigned smallest = ~0u;
    for (const Extent& e : found->second) {
      if (e.begin > offset || offset > e.end || e.end - e.begin > smallest) continue;
      if (e.end - e.begin < smallest) out.clear();
      smallest = e.end - e.begin;
      out.push_back(e.function);
    }
  }

private:
  struct Extent {
    unsigned begin, end;
    FunctionDecl* function;
  };
  const clang::SourceManager& sources_;
  llvm::DenseMap<clang::FileID, std::vector<Extent>> extents_;
};

void drop_spoiled(const Walk& walk, const std::vector<ParseError>& errors, const Places& places, Scan& scan) {
  struct Why {
    std::string reason;
    SourceLocation at;
  };
  llvm::DenseMap<FunctionDecl*, Why> why;
  for (const auto& [function, reason] : walk.spoiled()) why[function] = {reason, {}};
  const ErrorFinder finder(places.sources(), scan.functions);
  for (const ParseError& error : errors) {
    if (error.at.isInvalid()) continue;
    llvm::SmallVector<FunctionDecl*, 8> around;
    finder.around(error.at, around);
    for (FunctionDecl* function : around) {
      auto found = why.find(function);
      // An escape that was repaired is no reason; if it could not be, the walk has said so.
      if (found == why.end() && error.id == clang::diag::err_asm_invalid_escape) continue;
      if (found == why.end() || found->second.at.isInvalid()) why[function] = {error.message, error.at};
    }
  }
  std::vector<FunctionDecl*> kept;
  for (FunctionDecl* function : scan.functions) {
    auto found = why.find(function);
    if (found == why.end()) {
      kept.push_back(function);
      continue;
    }
    Dropped dropped;
    dropped.name = readable_name(*function);
    dropped.at = places.of(function->getLocation());
    dropped.reason = found->second.reason;
    dropped.reason_at = places.of(found->second.at);
    dropped.is_kernel = function->hasAttr<clang::CUDAGlobalAttr>();
    scan.dropped.push_back(std::move(dropped));
    scan.dropped_functions.push_back(function);
    function->setBody(nullptr);
  }
  scan.functions = std::move(kept);
}

}  // namespace

Scan scan(clang::ASTContext& context, const std::vector<ParseError>& errors, const Places& places) {
  Scan out;
  Walk walk(context, out, places, !errors.empty());
  walk.TraverseDecl(context.getTranslationUnitDecl());
  if (!errors.empty() || !walk.spoiled().empty()) drop_spoiled(walk, errors, places, out);
  return out;
}

void scan_body(clang::ASTContext& context, FunctionDecl& function, Scan& scan) {
  using namespace clang::ast_matchers;
  for (const BoundNodes& nodes :
       match(functionDecl(forEachDescendant(matchers::asmStatement().bind(kFound))), function, context)) {
    const auto& statement = *nodes.getNodeAs<GCCAsmStmt>(kFound);
    scan.statements[Scan::key(statement)] = &statement;
  }
}

std::string readable_name(const FunctionDecl& function) {
  std::string out;
  llvm::raw_string_ostream stream(out);
  function.getNameForDiagnostic(stream, clang::PrintingPolicy(function.getASTContext().getLangOpts()), true);
  return out;
}

}  // namespace tmemlint::cuda
