// What the front end looks for in the AST, one named matcher per thing. The command and the clang-tidy module share
// them (through scan.h), and they are spelled as Clang's own matchers are, since they are composed with those.
//
// Three things are not said here. Which bodies are looked into, and in which function a statement stands: see Walk in
// scan.cpp. The slot of an alloc, which is the shared variable that its address leads to through casts and calls: the
// AST does not follow those, the IR after inlining does (ir_facts.cpp). Launches of kernels: only the sizes that a
// kernel itself states are used (statedClusterSize and its like); host code is not compiled.
#pragma once

#include <clang/AST/ASTContext.h>
#include <clang/AST/Attr.h>
#include <clang/AST/DeclCXX.h>
#include <clang/AST/DeclTemplate.h>
#include <clang/AST/Expr.h>
#include <clang/AST/Stmt.h>
#include <clang/ASTMatchers/ASTMatchers.h>
#include <clang/Basic/SourceManager.h>

#include <string>

namespace tmemlint::cuda::matchers {

// Matchers that a name can be bound to.
using Declaration = clang::ast_matchers::internal::BindableMatcher<clang::Decl>;
using Statement = clang::ast_matchers::internal::BindableMatcher<clang::Stmt>;
using Attribute = clang::ast_matchers::internal::BindableMatcher<clang::Attr>;

// ---- Properties that Clang has no matcher for.

// The declared name stands in a system header: one of the toolkit, of the C++ library, or bundled with tmemlint.
// (Clang's isExpansionInSystemHeader asks where the declaration begins, which may be a macro such as __global__.)
AST_MATCHER(clang::Decl, isInSystemHeader) {
  return Finder->getASTContext().getSourceManager().isInSystemHeader(Node.getLocation());
}

AST_MATCHER(clang::Decl, isInvalid) {
  return Node.isInvalidDecl();
}

// A __global__ function.
AST_MATCHER(clang::FunctionDecl, isKernel) {
  return Node.hasAttr<clang::CUDAGlobalAttr>();
}

AST_MATCHER(clang::FunctionDecl, runsOnDevice) {
  return Node.hasAttr<clang::CUDADeviceAttr>() || Node.hasAttr<clang::CUDAGlobalAttr>();
}

// This very declaration has a body. (Clang's isDefinition is also true of deleted and defaulted functions.)
AST_MATCHER(clang::FunctionDecl, hasBodyHere) {
  return Node.doesThisDeclarationHaveABody();
}

// The function depends on template arguments that are not given yet: no code can be generated for it.
AST_MATCHER(clang::FunctionDecl, isTemplatePattern) {
  return Node.isDependentContext();
}

// The function is that of a template of which no instance exists.
AST_MATCHER(clang::FunctionDecl, hasNoInstances) {
  const clang::FunctionTemplateDecl* described = Node.getDescribedFunctionTemplate();
  return described != nullptr && described->spec_begin() == described->spec_end();
}

// Storage that lasts as long as the program, other than a function's static variables: CodeGen makes those with the
// function.
AST_MATCHER(clang::VarDecl, hasStorageOfItsOwn) {
  return Node.hasGlobalStorage() && !Node.isStaticLocal();
}

// The variable, or its type, depends on template arguments that are not given yet.
AST_MATCHER(clang::VarDecl, isVariablePattern) {
  return Node.getDeclContext()->isDependentContext() || Node.getType()->isDependentType() ||
         llvm::isa<clang::VarTemplatePartialSpecializationDecl>(Node) || Node.getDescribedVarTemplate() != nullptr;
}

AST_MATCHER(clang::VarDecl, hasUndeducedType) {
  return Node.getType()->isUndeducedType();
}

AST_MATCHER(clang::Expr, hasErrors) {
  return Node.containsErrors();
}

AST_MATCHER_P(clang::GCCAsmStmt, hasTextWith, std::string, part) {
  return llvm::StringRef(Node.getAsmString()).contains(part);
}

AST_MATCHER(clang::GCCAsmStmt, isVolatileStatement) {
  return Node.isVolatile();
}

AST_MATCHER(clang::GCCAsmStmt, hasResults) {
  return Node.getNumOutputs() != 0;
}

// CodeGen cannot take the asm string apart into text and operands.
AST_MATCHER(clang::GCCAsmStmt, hasMalformedText) {
  llvm::SmallVector<clang::GCCAsmStmt::AsmStringPiece, 8> pieces;
  unsigned offset = 0;
  return Node.AnalyzeAsmString(pieces, Finder->getASTContext(), offset) != 0;
}

AST_MATCHER_P(clang::Attr, isAnnotation, std::string, text) {
  const auto* annotation = llvm::dyn_cast<clang::AnnotateAttr>(&Node);
  return annotation != nullptr && annotation->getAnnotation() == text;
}

AST_MATCHER(clang::Attr, isClusterSize) {
  return llvm::isa<clang::CUDAClusterDimsAttr>(Node);
}

// One match for each attribute that the inner matcher takes. (Clang's hasAttr knows only kinds of attributes, and
// cannot bind the attribute.)
AST_MATCHER_P(clang::Decl, forEachAttribute, clang::ast_matchers::AttrMatcher, inner) {
  clang::ast_matchers::internal::BoundNodesTreeBuilder all;
  bool any = false;
  for (const clang::Attr* attribute : Node.attrs()) {
    clang::ast_matchers::internal::BoundNodesTreeBuilder one(*Builder);
    if (!inner.matches(*attribute, Finder, &one)) continue;
    any = true;
    all.addMatch(one);
  }
  *Builder = std::move(all);
  return any;
}

// ---- Functions.

// A function to generate code for.
inline Declaration deviceFunction() {
  using namespace clang::ast_matchers;
  return functionDecl(runsOnDevice(), hasBodyHere(), unless(isTemplatePattern()));
}

// A device function whose declaration Clang refused in part.
inline Declaration deviceFunctionWithErrors() {
  using namespace clang::ast_matchers;
  return functionDecl(isInvalid(), deviceFunction());
}

// Nothing instantiates this kernel template, so that it is not compiled at all.
inline Declaration kernelWithoutInstances() {
  using namespace clang::ast_matchers;
  return functionDecl(isKernel(), hasBodyHere(), isTemplatePattern(), hasNoInstances(), unless(isInSystemHeader()));
}

// Functions of the author, which may hold asm statements, errors, lambdas and local classes. A host function is one of
// them: a lambda in it can be device code.
inline Declaration functionOfTheAuthor() {
  using namespace clang::ast_matchers;
  return functionDecl(unless(isInSystemHeader()), hasBodyHere(), unless(isTemplatePattern()));
}

// ---- Variables.

// A variable to generate code for; CodeGen itself leaves out those that are not the device's.
inline Declaration deviceVariable() {
  using namespace clang::ast_matchers;
  return varDecl(hasStorageOfItsOwn(), unless(isInvalid()), unless(isVariablePattern()));
}

inline Declaration variableWithErrors() {
  using namespace clang::ast_matchers;
  return varDecl(isInvalid());
}

// `auto` of which Clang could not find out what it stands for.
inline Declaration variableWithoutType() {
  using namespace clang::ast_matchers;
  return varDecl(hasUndeducedType());
}

// ---- Statements and expressions.

inline const clang::ast_matchers::internal::VariadicDynCastAllOfMatcher<clang::Stmt, clang::GCCAsmStmt> gccAsmStmt;

inline Statement asmStatement() {
  return gccAsmStmt();
}

// CodeGen would not take it, at least not as it is.
inline Statement malformedAsmStatement() {
  return gccAsmStmt(hasMalformedText());
}

inline Statement tcgen05Statement() {
  return gccAsmStmt(hasTextWith("tcgen05."));
}

// A tcgen05 statement of the author's with results that is not volatile: the compiler may remove it or move it.
inline Statement removableTcgen05Statement() {
  using namespace clang::ast_matchers;
  return gccAsmStmt(tcgen05Statement(), unless(isVolatileStatement()), hasResults(),
                    unless(isExpansionInSystemHeader()));
}

// One without results, which is volatile by the rules of GCC and Clang although it does not say so.
inline Statement implicitlyVolatileTcgen05Statement() {
  using namespace clang::ast_matchers;
  return gccAsmStmt(tcgen05Statement(), unless(isVolatileStatement()), unless(hasResults()),
                    unless(isExpansionInSystemHeader()));
}

inline Statement expressionWithErrors() {
  using namespace clang::ast_matchers;
  return expr(hasErrors());
}

// ---- Launch sizes that a kernel states.

// __cluster_dims__ as Clang knows it.
inline Attribute statedClusterSize() {
  using namespace clang::ast_matchers;
  return attr(isClusterSize());
}

// __block_size__ of the bundled header: the block, and the cluster if it is given.
inline Attribute annotatedBlockSize() {
  using namespace clang::ast_matchers;
  return attr(isAnnotation("tmemlint.block_size"));
}

inline Attribute annotatedClusterSize() {
  using namespace clang::ast_matchers;
  return attr(isAnnotation("tmemlint.cluster_size"));
}

}  // namespace tmemlint::cuda::matchers
