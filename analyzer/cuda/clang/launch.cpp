#include "analyzer/cuda/clang/launch.h"

#include <clang/AST/Attr.h>
#include <clang/AST/Expr.h>
#include <clang/ASTMatchers/ASTMatchFinder.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "analyzer/cuda/clang/matchers.h"

namespace tmemlint::cuda {
namespace {

// Up to three sizes as an attribute of the back end has them: "2,1,1". Nothing where one is not a number.
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

}  // namespace

void state_launch(const clang::FunctionDecl& kernel, clang::ASTContext& context, llvm::Function& function) {
  using namespace clang::ast_matchers;
  // What is stated first counts.
  auto state = [&](const char* name, const std::optional<std::string>& sizes) {
    if (sizes && !function.hasFnAttribute(name)) function.addFnAttr(name, *sizes);
  };
  auto each = [&](const AttrMatcher& attribute) {
    return match(decl(matchers::forEachAttribute(attribute)), kernel, context);
  };
  for (const BoundNodes& nodes : each(matchers::statedClusterSize().bind("attribute"))) {
    const auto* cluster = nodes.getNodeAs<clang::CUDAClusterDimsAttr>("attribute");
    state("nvvm.cluster_dim", listed(std::array{cluster->getX(), cluster->getY(), cluster->getZ()}, context));
  }
  for (const BoundNodes& nodes : each(matchers::annotatedBlockSize().bind("attribute")))
    state("nvvm.reqntid", listed(nodes.getNodeAs<clang::AnnotateAttr>("attribute")->args(), context));
  for (const BoundNodes& nodes : each(matchers::annotatedClusterSize().bind("attribute")))
    state("nvvm.cluster_dim", listed(nodes.getNodeAs<clang::AnnotateAttr>("attribute")->args(), context));
}

}  // namespace tmemlint::cuda
