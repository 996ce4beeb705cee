// Where variables live: windows of state spaces, alignment, activations.
#include "analyzer/kernel/layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace tmemlint::kernel {
namespace {

class Laid {
public:
  explicit Laid(const std::string& body)
      : module_(ptx::parse(std::make_shared<const ptx::SourceText>(
            "k.ptx", ".version 9.0\n.target sm_100a\n.address_size 64\n" + body))) {
    EXPECT_TRUE(module_.errors.empty());
    for (uint32_t f = 0; f < module_.functions.size(); ++f) {
      if (module_.functions[f].name == "k") graph_ = build_graph(module_, f);
    }
    layout_ = std::make_unique<Layout>(graph_);
  }
  uint32_t variable(std::string_view name) const {
    for (uint32_t v = 0; v < module_.variables.size(); ++v) {
      if (module_.variables[v].name == name) return v;
    }
    ADD_FAILURE() << "no variable " << name;
    return 0;
  }
  uint64_t address(std::string_view name, uint32_t frame = 0) const { return layout_->address(frame, variable(name)); }
  const Graph& graph() const { return graph_; }
  Layout& layout() { return *layout_; }

private:
  ptx::Module module_;
  Graph graph_;
  std::unique_ptr<Layout> layout_;
};

TEST(Layout, SharedVariablesAreAlignedAndApart) {
  const Laid l(R"(
.shared .align 4 .b8 outer[5];
.visible .entry k() {
    .shared .align 16 .b8 slot[4];
    .shared .align 1024 .b8 tile[2048];
    .shared .align 8 .b64 bar;
    ret;
})");
  EXPECT_EQ(l.address("slot") % 16, 0u);
  EXPECT_EQ(l.address("tile") % 1024, 0u);
  EXPECT_EQ(l.address("bar") % 8, 0u);
  EXPECT_GE(l.address("slot"), l.address("outer") + 5);
  EXPECT_GE(l.address("tile"), l.address("slot") + 4);
  EXPECT_GE(l.address("bar"), l.address("tile") + 2048);
  EXPECT_LT(l.address("bar") + 8, uint64_t{1} << kRankShift);  // the rank of the CTA is above
}

TEST(Layout, DynamicSharedVariablesAreOneMemoryBehindTheOthers) {
  const Laid l(R"(
.extern .shared .align 16 .b8 first[];
.extern .shared .align 1024 .b8 second[];
.visible .entry k() {
    .shared .align 8 .b8 fixed[24];
    ret;
})");
  EXPECT_EQ(l.address("first"), l.address("second"));
  EXPECT_EQ(l.address("first") % 1024, 0u);  // as aligned as the strictest of them
  EXPECT_GE(l.address("first"), l.address("fixed") + 24);
}

TEST(Layout, SharedVariablesOfOtherKernelsTakeNoPlace) {
  const std::string mine = ".visible .entry k() { .shared .align 16 .b8 slot[16]; ret; }\n";
  const Laid alone(mine);
  const Laid after(".visible .entry other() { .shared .align 1024 .b8 big[65536]; ret; }\n" + mine);
  EXPECT_EQ(alone.address("slot"), after.address("slot"));
}

TEST(Layout, KernelParametersAreInDeclarationOrder) {
  Laid l(".visible .entry k(.param .u32 a, .param .u64 b, .param .align 64 .b8 map[128]) { ret; }");
  EXPECT_EQ(l.address("a"), kParamWindow);
  EXPECT_EQ(l.address("b"), kParamWindow + 8);
  EXPECT_EQ(l.address("map"), kParamWindow + 64);
  EXPECT_EQ(l.layout().kernel_parameters(), 192u);
}

TEST(Layout, WindowsTellTheStateSpace) {
  const Laid l(R"(
.global .align 4 .u32 g;
.const .align 4 .u32 c;
.visible .entry k() {
    .local .align 8 .b8 stack[16];
    ret;
})");
  EXPECT_EQ(window_of(l.address("g")), kGlobalWindow);
  EXPECT_EQ(window_of(l.address("c")), kConstWindow);
  EXPECT_EQ(window_of(l.address("stack")), kLocalWindow);
}

TEST(Layout, EachActivationHasItsOwnVariables) {
  Laid l(R"(
.func f(.param .b32 x) {
    .local .align 4 .b8 mine[4];
    ret;
}
.visible .entry k() {
    .param .b32 p;
    call f, (p);
    call f, (p);
    ret;
})");
  ASSERT_EQ(l.graph().frames.size(), 3u);
  EXPECT_NE(l.address("mine", 1), l.address("mine", 2));
  EXPECT_NE(l.address("x", 1), l.address("x", 2));
  // Passed in the caller's variable, it is that variable.
  l.layout().alias(1, l.variable("x"), l.address("p"));
  EXPECT_EQ(l.address("x", 1), l.address("p"));
  EXPECT_NE(l.address("x", 2), l.address("p"));
}

}  // namespace
}  // namespace tmemlint::kernel
