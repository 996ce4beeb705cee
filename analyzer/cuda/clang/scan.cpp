#include "analyzer/cuda/clang/scan.h"

#include <clang/AST/ASTDiagnostic.h>
#include <clang/AST/ASTLambda.h>
#include <clang/AST/DeclTemplate.h>
#include <clang/AST/RecursiveASTVisitor.h>
#include <clang/Basic/FileManager.h>
#include <clang/Basic/SourceManager.h>
#include <clang/Basic/TargetInfo.h>
#include <clang/Lex/Lexer.h>
#include <llvm/ADT/DenseSet.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/Path.h>
#include <llvm/Support/raw_ostream.h>

namespace tmemlint::cuda {
namespace {

using clang::FunctionDecl;
using clang::GCCAsmStmt;
using clang::SourceLocation;

// 0 when the asm string is one that CodeGen takes.
unsigned asm_problem(const GCCAsmStmt& statement, const clang::ASTContext& context) {
  llvm::SmallVector<GCCAsmStmt::AsmStringPiece, 8> pieces;
  unsigned offset = 0;
  return statement.AnalyzeAsmString(pieces, context, offset);
}

// nvcc takes "%clusterid" and "%tid.x" in an asm string with operands as they are; GCC and Clang want "%%clusterid".
// A single letter before a digit or '[' is an operand modifier and stays.
std::string with_escapes(llvm::StringRef text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    out += text[i];
    if (text[i] != '%' || i + 1 == text.size()) continue;
    const char next = text[i + 1];
    if (next == '%') {
      out += text[++i];
    } else if (llvm::isAlpha(next) || next == '_') {
      const char after = i + 2 < text.size() ? text[i + 2] : '\0';
      if (!llvm::isDigit(after) && after != '[') out += '%';
    }
  }
  return out;
}

bool repair(GCCAsmStmt* statement, clang::ASTContext& context, Scan& scan) {
  if (asm_problem(*statement, context) != clang::diag::err_asm_invalid_escape) return false;
  const std::string text = with_escapes(statement->getAsmString());
  const auto* written = llvm::dyn_cast<clang::StringLiteral>(statement->getAsmStringExpr());
  const clang::QualType type = context.getConstantArrayType(context.CharTy, llvm::APInt(64, text.size() + 1), nullptr,
                                                            clang::ArraySizeModifier::Normal, 0);
  auto* literal = clang::StringLiteral::Create(context, text, clang::StringLiteralKind::Ordinary, false, type,
                                               statement->getAsmStringExpr()->getBeginLoc());
  clang::Expr* before = statement->getAsmStringExpr();
  statement->setAsmStringExpr(literal);
  if (asm_problem(*statement, context) != 0) {
    statement->setAsmStringExpr(before);
    return false;
  }
  if (written != nullptr) scan.written[statement] = written;
  return true;
}

bool runs_on_device(const FunctionDecl& function) {
  return function.hasAttr<clang::CUDADeviceAttr>() || function.hasAttr<clang::CUDAGlobalAttr>();
}

bool holds_device_data(const clang::VarDecl& variable) {
  return variable.hasGlobalStorage() && !variable.isStaticLocal() && !variable.isInvalidDecl() &&
         !variable.getDeclContext()->isDependentContext() && !variable.getType()->isDependentType() &&
         !llvm::isa<clang::VarTemplatePartialSpecializationDecl>(variable) &&
         variable.getDescribedVarTemplate() == nullptr;
}

// One walk over the declarations. Bodies are looked into only where something can be found: not in host code, and in
// system headers only when there were errors.
class Collector : public clang::RecursiveASTVisitor<Collector> {
  using Base = clang::RecursiveASTVisitor<Collector>;

public:
  Collector(clang::ASTContext& context, Scan& scan, bool has_errors)
      : context_(context), scan_(scan), has_errors_(has_errors) {}

  bool shouldVisitTemplateInstantiations() const { return true; }
  bool shouldVisitImplicitCode() const { return true; }
  // Nothing that is looked for stands in a type.
  bool TraverseTypeLoc(clang::TypeLoc, bool = true) { return true; }
  bool TraverseType(clang::QualType, bool = true) { return true; }
  bool TraverseNestedNameSpecifierLoc(clang::NestedNameSpecifierLoc) { return true; }
  bool TraverseAttr(clang::Attr*) { return true; }

  bool TraverseDecl(clang::Decl* decl) {
    if (decl == nullptr) return true;
    if (auto* variable = llvm::dyn_cast<clang::VarDecl>(decl)) {
      if (holds_device_data(*variable)) scan_.variables.push_back(variable);
      if (variable->isInvalidDecl() || (has_errors_ && variable->getType()->isUndeducedType()))
        spoil("a variable has errors");
      if (!variable->hasInit() || (current_ == nullptr && in_system_header(*variable))) return true;
      return Base::TraverseStmt(variable->getInit());
    }
    if (auto* function = llvm::dyn_cast<FunctionDecl>(decl)) return take(function);
    return Base::TraverseDecl(decl);
  }

  bool VisitExpr(clang::Expr* expression) {
    if (has_errors_ && expression->containsErrors()) spoil("it has errors");
    return true;
  }

  bool VisitGCCAsmStmt(GCCAsmStmt* statement) {
    const bool mentions = tcgen05_in(statement->getAsmString()).offset != llvm::StringRef::npos;
    if (current_ == nullptr || current_->isDependentContext()) return true;
    if (asm_problem(*statement, context_) != 0 && !repair(statement, context_, scan_))
      spoil("Clang refuses an asm statement in it");
    scan_.statements[statement->getAsmStringExpr()->getBeginLoc().getRawEncoding()] = statement;
    if (mentions) ++scan_.tcgen05_statements;
    return true;
  }

  const llvm::DenseMap<FunctionDecl*, std::string>& spoiled() const { return spoiled_; }

private:
  bool in_system_header(const clang::Decl& decl) const {
    return context_.getSourceManager().isInSystemHeader(decl.getLocation());
  }

  void spoil(std::string reason) {
    if (current_ != nullptr) spoiled_.try_emplace(current_, std::move(reason));
  }

  bool take(FunctionDecl* function) {
    if (!function->doesThisDeclarationHaveABody() || !runs_on_device(*function)) {
      // A local class or lambda of a host function can still hold device code.
      if (!function->doesThisDeclarationHaveABody() || in_system_header(*function) || function->isDependentContext())
        return true;
      return walk(function);
    }
    if (function->isDependentContext()) return pattern(function);
    scan_.functions.push_back(function);
    if (function->isInvalidDecl()) spoiled_.try_emplace(function, "its declaration has errors");
    if (!has_errors_ && in_system_header(*function)) return true;
    return walk(function);
  }

  // A kernel template that nothing instantiates is not compiled at all, which is worth a word.
  bool pattern(FunctionDecl* function) {
    if (in_system_header(*function)) return true;
    const clang::FunctionTemplateDecl* primary = function->getDescribedFunctionTemplate();
    if (!function->hasAttr<clang::CUDAGlobalAttr>() || primary == nullptr ||
        primary->spec_begin() != primary->spec_end())
      return true;
    uninstantiated.push_back(function);
    return true;
  }

  bool walk(FunctionDecl* function) {
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
  bool has_errors_;
  FunctionDecl* current_ = nullptr;
  llvm::DenseMap<FunctionDecl*, std::string> spoiled_;

public:
  std::vector<FunctionDecl*> uninstantiated;
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

void drop_spoiled(const Collector& collector, const std::vector<ParseError>& errors, const Places& places, Scan& scan) {
  struct Why {
    std::string reason;
    SourceLocation at;
  };
  llvm::DenseMap<FunctionDecl*, Why> why;
  for (const auto& [function, reason] : collector.spoiled()) why[function] = {reason, {}};
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

class BodyCollector : public clang::RecursiveASTVisitor<BodyCollector> {
public:
  explicit BodyCollector(Scan& scan) : scan_(scan) {}
  bool shouldVisitTemplateInstantiations() const { return true; }
  bool shouldVisitImplicitCode() const { return true; }
  bool VisitGCCAsmStmt(GCCAsmStmt* statement) {
    scan_.statements[statement->getAsmStringExpr()->getBeginLoc().getRawEncoding()] = statement;
    return true;
  }

private:
  Scan& scan_;
};

bool from_macro(const GCCAsmStmt& statement) {
  return statement.getAsmLoc().isMacroID() || statement.getRParenLoc().isMacroID();
}

// How many ':' stand between the string and the closing parenthesis: how many of the lists are there.
int colons(const GCCAsmStmt& statement, const clang::ASTContext& context) {
  const clang::SourceManager& sources = context.getSourceManager();
  const SourceLocation begin = statement.getAsmStringExpr()->getBeginLoc();
  if (begin.isMacroID()) return -1;
  const SourceLocation end = statement.getRParenLoc();
  const auto [file, offset] = sources.getDecomposedLoc(begin);
  const llvm::StringRef buffer = sources.getBufferData(file);
  clang::Lexer lexer(sources.getLocForStartOfFile(file), context.getLangOpts(), buffer.begin(), buffer.data() + offset,
                     buffer.end());
  int count = 0;
  int depth = 0;
  for (clang::Token token; !lexer.LexFromRawLexer(token);) {
    if (token.getLocation() == end) return count;
    if (token.isOneOf(clang::tok::l_paren, clang::tok::l_square, clang::tok::l_brace)) ++depth;
    if (token.isOneOf(clang::tok::r_paren, clang::tok::r_square, clang::tok::r_brace)) --depth;
    if (depth < 0) break;
    if (depth == 0 && token.is(clang::tok::colon)) ++count;
    if (depth == 0 && token.is(clang::tok::coloncolon)) count += 2;
  }
  return -1;
}

}  // namespace

Places::Places(const clang::SourceManager& sources, std::string main_file, std::string directory)
    : sources_(sources), main_file_(std::move(main_file)), directory_(std::move(directory)) {
  llvm::SmallString<256> current;
  (void)llvm::sys::fs::current_path(current);  // empty when there is none
  current_ = current.str().str();
  if (directory_.empty()) directory_ = current_;
  llvm::SmallString<256> path(main_file_);
  llvm::sys::path::make_absolute(current_, path);
  llvm::sys::path::remove_dots(path, true);
  main_path_ = path.str().str();
}

std::string Places::spelled(llvm::StringRef given) const {
  for (const auto& [path, spelling] : known_) {
    if (path == given) return spelling;
  }
  llvm::SmallString<256> path(given);
  llvm::sys::path::make_absolute(directory_, path);
  llvm::sys::path::remove_dots(path, true);
  std::string out = path.str().str();
  if (out == main_path_) {
    out = main_file_;
  } else if (out.size() > current_.size() + 1 && out.compare(0, current_.size(), current_) == 0 &&
             out[current_.size()] == '/') {
    out.erase(0, current_.size() + 1);
  }
  known_.emplace_back(given.str(), out);
  return out;
}

Position Places::of(SourceLocation location) const {
  if (location.isInvalid()) return {};
  // #line directives are not followed: what is shown must be a line that can be opened.
  const auto [file, offset] = sources_.getDecomposedExpansionLoc(location);
  const clang::OptionalFileEntryRef entry = sources_.getFileEntryRefForID(file);
  if (!entry) return {};
  return {spelled(entry->getName()), sources_.getLineNumber(file, offset), sources_.getColumnNumber(file, offset)};
}

Position Places::of(llvm::StringRef directory, llvm::StringRef file, unsigned line, unsigned column) const {
  llvm::SmallString<256> path(file);
  if (!directory.empty() && !llvm::sys::path::is_absolute(file)) {
    path = directory;
    llvm::sys::path::append(path, file);
  }
  return {spelled(path), line, column};
}

bool Places::in_system_header(llvm::StringRef directory, llvm::StringRef file) const {
  llvm::SmallString<256> path(file);
  if (!directory.empty() && !llvm::sys::path::is_absolute(file)) {
    path = directory;
    llvm::sys::path::append(path, file);
  }
  const auto [found, added] = system_.try_emplace(path, false);
  if (!added) return found->second;
  if (const auto entry = sources_.getFileManager().getOptionalFileRef(path)) {
    const clang::FileID id = sources_.translateFile(*entry);
    found->second = id.isValid() && sources_.isInSystemHeader(sources_.getLocForStartOfFile(id));
  }
  return found->second;
}

Scan scan(clang::ASTContext& context, const std::vector<ParseError>& errors, const Places& places) {
  Scan out;
  Collector collector(context, out, !errors.empty());
  collector.TraverseDecl(context.getTranslationUnitDecl());
  for (FunctionDecl* pattern : collector.uninstantiated) {
    out.uninstantiated.push_back({pattern->getQualifiedNameAsString(), places.of(pattern->getLocation())});
  }
  if (!errors.empty() || !collector.spoiled().empty()) drop_spoiled(collector, errors, places, out);
  return out;
}

void scan_body(clang::ASTContext&, FunctionDecl* function, Scan& scan) {
  BodyCollector(scan).TraverseDecl(function);
}

AsmStatement describe(const GCCAsmStmt& statement, const Scan& scan, const clang::ASTContext& context,
                      const Places& places) {
  AsmStatement out;
  out.at = places.of(statement.getAsmLoc());
  const auto* literal = llvm::dyn_cast<clang::StringLiteral>(statement.getAsmStringExpr());
  if (auto found = scan.written.find(&statement); found != scan.written.end()) literal = found->second;
  out.text = literal != nullptr ? literal->getString().str() : statement.getAsmString();
  auto start_of = [&](size_t offset) {
    while (offset < out.text.size() && (out.text[offset] == ' ' || out.text[offset] == '\t')) ++offset;
    if (literal == nullptr || offset >= out.text.size()) return out.at;
    return places.of(literal->getLocationOfByte(static_cast<unsigned>(offset), context.getSourceManager(),
                                                context.getLangOpts(), context.getTargetInfo()));
  };
  out.pieces.push_back(start_of(0));
  for (size_t i = 0; i < out.text.size(); ++i) {
    if (out.text[i] == ';' || out.text[i] == '\n') out.pieces.push_back(start_of(i + 1));
  }
  return out;
}

Tcgen05Mention tcgen05_in(llvm::StringRef text) {
  Tcgen05Mention out;
  out.offset = text.find("tcgen05.");
  if (out.offset == llvm::StringRef::npos) return out;
  const llvm::StringRef rest = text.substr(out.offset);
  size_t end = llvm::StringRef("tcgen05.").size();
  while (end < rest.size() && (llvm::isAlnum(rest[end]) || rest[end] == '_' || rest[end] == ':')) ++end;
  out.opcode = rest.substr(0, end).str();
  return out;
}

Edit volatile_edit(const GCCAsmStmt& statement, const clang::ASTContext& context, const Places& places) {
  if (from_macro(statement)) return {};
  const SourceLocation end =
      clang::Lexer::getLocForEndOfToken(statement.getAsmLoc(), 0, context.getSourceManager(), context.getLangOpts());
  return {places.of(end), " volatile"};
}

Edit memory_edit(const GCCAsmStmt& statement, const clang::ASTContext& context, const Places& places) {
  if (from_macro(statement)) return {};
  if (statement.getNumClobbers() != 0) return {places.of(statement.getRParenLoc()), ", \"memory\""};
  const int present = colons(statement, context);
  if (present < 0 || present > 3) return {};
  return {places.of(statement.getRParenLoc()),
          " " + std::string(static_cast<size_t>(3 - present), ':') + (present == 3 ? "" : " ") + "\"memory\""};
}

bool clobbers_memory(const GCCAsmStmt& statement) {
  for (unsigned i = 0; i < statement.getNumClobbers(); ++i) {
    if (statement.getClobber(i) == "memory") return true;
  }
  return false;
}

std::string readable_name(const FunctionDecl& function) {
  std::string out;
  llvm::raw_string_ostream stream(out);
  function.getNameForDiagnostic(stream, clang::PrintingPolicy(function.getASTContext().getLangOpts()), true);
  return out;
}

}  // namespace tmemlint::cuda
