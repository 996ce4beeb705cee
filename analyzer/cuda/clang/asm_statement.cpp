#include "analyzer/cuda/clang/asm_statement.h"

#include <clang/AST/ASTDiagnostic.h>
#include <clang/AST/Expr.h>
#include <clang/Basic/SourceManager.h>
#include <clang/Basic/TargetInfo.h>
#include <clang/Lex/Lexer.h>
#include <llvm/ADT/StringExtras.h>

namespace tmemlint::cuda {
namespace {

using clang::GCCAsmStmt;
using clang::SourceLocation;

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

bool repair(GCCAsmStmt& statement, clang::ASTContext& context) {
  auto problem = [&] {
    llvm::SmallVector<GCCAsmStmt::AsmStringPiece, 8> pieces;
    unsigned offset = 0;
    return statement.AnalyzeAsmString(pieces, context, offset);
  };
  if (problem() != clang::diag::err_asm_invalid_escape) return false;
  clang::Expr* before = statement.getAsmStringExpr();
  const std::string text = with_escapes(statement.getAsmString());
  const clang::QualType type = context.getConstantArrayType(context.CharTy, llvm::APInt(64, text.size() + 1), nullptr,
                                                            clang::ArraySizeModifier::Normal, 0);
  statement.setAsmStringExpr(clang::StringLiteral::Create(context, text, clang::StringLiteralKind::Ordinary, false,
                                                          type, before->getBeginLoc()));
  if (problem() == 0) return true;
  statement.setAsmStringExpr(before);
  return false;
}

AsmStatement describe(const GCCAsmStmt& statement, const clang::StringLiteral* written,
                      const clang::ASTContext& context, const Places& places) {
  AsmStatement out;
  out.at = places.of(statement.getAsmLoc());
  const auto* literal =
      written != nullptr ? written : llvm::dyn_cast<clang::StringLiteral>(statement.getAsmStringExpr());
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

}  // namespace tmemlint::cuda
