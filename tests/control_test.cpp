// Post-dominators and control dependence of small kernels, the branches that evaluation leaves out because of them, and
// where lanes that branched apart meet again.
#include "analyzer/kernel/control.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "analyzer/program/program.h"
#include "analyzer/warp/lanes.h"
#include "tests/small_kernel.h"

namespace tmemlint::kernel {
namespace {

using ptx::kNone;
using testing::ElementsAre;
using testing::IsEmpty;

// A kernel whose blocks are named by the marks of their lines, `// @name`.
struct Built {
  std::unique_ptr<ptx::Module> module;
  Graph graph;
  Control control;

  explicit Built(const std::string& text)
      : module(std::make_unique<ptx::Module>(ptx::parse(std::make_shared<const ptx::SourceText>("k.ptx", text)))) {
    EXPECT_THAT(module->errors, IsEmpty());
    graph = build_graph(*module, 0);
    EXPECT_THAT(graph.gaps, IsEmpty());
    control = control_of(graph);
  }
  uint32_t block(const std::string& mark) const {
    const size_t at = module->source->text().find("// @" + mark + "\n");
    const uint32_t line = module->source->position(static_cast<ptx::Offset>(at)).line;
    for (uint32_t b = 0; b < graph.blocks.size(); ++b) {
      for (uint32_t i = graph.blocks[b].first; i < graph.blocks[b].last; ++i) {
        if (module->source->position(module->instructions[i].span.begin).line == line) return b;
      }
    }
    ADD_FAILURE() << "no block has " << mark;
    return kNone;
  }
  uint32_t after(const std::string& mark) const { return control.after[block(mark)]; }
  const std::vector<uint32_t>& deciders(const std::string& mark) const { return control.deciders[block(mark)]; }
};

// %p and %q are parameters, so that nothing is known of them.
std::string with(const std::string& body) {
  return R"(.version 9.0
.target sm_100a
.address_size 64
.visible .entry k(.param .u32 n, .param .u64 out)
    .reqntid 128,1,1
{
    .shared .align 16 .b8 slot[16];
    .reg .pred %p, %q, %e;
    .reg .b32 %r<20>, %ta, %n;
    .reg .b64 %out;
    ld.param.u32 %n, [n];
    ld.param.u64 %out, [out];
    setp.lt.u32 %p, %n, 4;
    setp.lt.u32 %q, %n, 8;
)" + body +
         "}\n";
}

// --- post-dominators and deciders ---

TEST(Control, BothWaysOfABranchMeet) {
  const Built k(with(R"(
    mov.u32 %r1, 0; // @fork
    @%p bra RIGHT;
    mov.u32 %r1, 1; // @left
    bra MEET;
RIGHT:
    mov.u32 %r1, 2; // @right
MEET:
    mov.u32 %r2, 3; // @meet
    ret;
)"));
  EXPECT_EQ(k.after("fork"), k.block("meet"));
  EXPECT_EQ(k.after("left"), k.block("meet"));
  EXPECT_EQ(k.after("meet"), kNone);  // the end of the kernel
  EXPECT_THAT(k.deciders("left"), ElementsAre(k.block("fork")));
  EXPECT_THAT(k.deciders("right"), ElementsAre(k.block("fork")));
  EXPECT_THAT(k.deciders("meet"), IsEmpty());
  EXPECT_THAT(k.deciders("fork"), IsEmpty());
}

TEST(Control, ABranchInsideAWayIsDecidedByTheOuterOne) {
  const Built k(with(R"(
    mov.u32 %r1, 0; // @outer
    @%p bra MEET;
    mov.u32 %r1, 1; // @inner
    @%q bra JOIN;
    mov.u32 %r1, 2; // @deep
JOIN:
    mov.u32 %r1, 3; // @join
MEET:
    mov.u32 %r2, 3; // @meet
    ret;
)"));
  EXPECT_EQ(k.after("outer"), k.block("meet"));
  EXPECT_EQ(k.after("inner"), k.block("join"));
  EXPECT_THAT(k.deciders("inner"), ElementsAre(k.block("outer")));
  EXPECT_THAT(k.deciders("deep"), ElementsAre(k.block("inner")));
  // Whichever way the inner branch goes.
  EXPECT_THAT(k.deciders("join"), ElementsAre(k.block("outer")));
}

TEST(Control, ALoopDecidesWhetherItRunsAgain) {
  const Built k(with(R"(
    mov.u32 %r1, 0; // @before
TOP:
    mov.u32 %r2, 0; // @head
    @%p bra OUT;
    mov.u32 %r3, 0; // @body
    bra TOP;
OUT:
    mov.u32 %r4, 0; // @behind
AGAIN:
    mov.u32 %r5, 0; // @bottom
    @%q bra AGAIN;
    mov.u32 %r6, 0; // @last
    ret;
)"));
  EXPECT_EQ(k.after("head"), k.block("behind"));
  EXPECT_EQ(k.after("body"), k.block("head"));
  EXPECT_THAT(k.deciders("head"), ElementsAre(k.block("head")));
  EXPECT_THAT(k.deciders("body"), ElementsAre(k.block("head")));
  EXPECT_THAT(k.deciders("behind"), IsEmpty());
  EXPECT_THAT(k.deciders("bottom"), ElementsAre(k.block("bottom")));
  EXPECT_THAT(k.deciders("last"), IsEmpty());
}

TEST(Control, WhatFollowsAnEarlyExitDependsOnIt) {
  const Built k(with(R"(
    mov.u32 %r1, 0; // @fork
    @%p bra GONE;
    mov.u32 %r2, 0; // @rest
    ret;
GONE:
    mov.u32 %r3, 0; // @gone
    exit;
)"));
  EXPECT_EQ(k.after("fork"), kNone);
  EXPECT_THAT(k.deciders("rest"), ElementsAre(k.block("fork")));
  EXPECT_THAT(k.deciders("gone"), ElementsAre(k.block("fork")));
  EXPECT_TRUE(k.control.can_exit[k.block("gone")]);
}

TEST(Control, PathsThatTrapDoNotCount) {
  const Built k(with(R"(
    mov.u32 %r1, 0; // @fork
    @%p bra BAD;
    mov.u32 %r2, 0; // @rest
    ret;
BAD:
    mov.u32 %r3, 0; // @bad
    trap;
)"));
  EXPECT_EQ(k.after("fork"), k.block("rest"));
  EXPECT_FALSE(k.control.can_exit[k.block("bad")]);
  EXPECT_TRUE(k.control.can_exit[k.block("fork")]);
  EXPECT_THAT(k.deciders("rest"), IsEmpty());
  EXPECT_THAT(k.deciders("bad"), ElementsAre(k.block("fork")));
}

TEST(Control, BlocksThatOnlyLeadToTraps) {
  const Built k(with(R"(
    mov.u32 %r1, 0; // @fork
    @%p bra BAD;
    mov.u32 %r1, 1; // @good
    @%q bra FOREVER;
    ret;
BAD:
    mov.u32 %r2, 0; // @bad
    @%q bra WORSE;
    mov.u32 %r2, 1; // @first
    trap;
WORSE:
    mov.u32 %r2, 2; // @second
    trap;
FOREVER:
    mov.u32 %r3, 0; // @forever
    bra FOREVER;
)"));
  const std::vector<bool> traps = leads_only_to_traps(k.graph);
  for (const char* name : {"bad", "first", "second"}) EXPECT_TRUE(traps[k.block(name)]) << name;
  for (const char* name : {"fork", "good", "forever"}) EXPECT_FALSE(traps[k.block(name)]) << name;
}

TEST(Control, ALoopWithoutAnEndDependsOnWhatLeadsThere) {
  const Built k(with(R"(
    mov.u32 %r1, 0; // @fork
    @%p bra REST;
SPIN:
    mov.u32 %r2, 0; // @spin
    bra NEXT;
NEXT:
    mov.u32 %r3, 0; // @next
    bra SPIN;
REST:
    mov.u32 %r4, 0; // @rest
    ret;
)"));
  EXPECT_FALSE(k.control.can_exit[k.block("spin")]);
  EXPECT_EQ(k.after("fork"), k.block("rest"));
  EXPECT_THAT(k.deciders("spin"), ElementsAre(k.block("fork")));
  EXPECT_THAT(k.deciders("next"), ElementsAre(k.block("fork")));
}

TEST(Control, ReachesThroughCalls) {
  const std::string text = with(R"(
    mov.u32 %r1, 0; // @fork
    @%p bra OVER;
    call f, ();
OVER:
    mov.u32 %r2, 0; // @meet
    ret;
)") + R"(
.func f()
{
    .reg .pred %p;
    .reg .b32 %r<4>;
    mov.u32 %r1, %clock;
    setp.eq.u32 %p, %r1, 0; // @inside
    @%p bra OVER;
    mov.u32 %r2, 0; // @deep
OVER:
    ret;
}
)";
  std::string declared = text;
  declared.insert(declared.find(".visible"), ".func f();\n");
  const auto module = std::make_shared<const ptx::SourceText>("k.ptx", declared);
  ptx::Module parsed = ptx::parse(module);
  ASSERT_THAT(parsed.errors, IsEmpty());
  uint32_t entry = 0;
  while (!parsed.functions[entry].is_entry) ++entry;
  const Graph graph = build_graph(parsed, entry);
  const Control control = control_of(graph);
  auto block = [&](const std::string& mark) {
    const uint32_t line = parsed.source->position(static_cast<ptx::Offset>(declared.find("// @" + mark + "\n"))).line;
    for (uint32_t b = 0; b < graph.blocks.size(); ++b) {
      for (uint32_t i = graph.blocks[b].first; i < graph.blocks[b].last; ++i) {
        if (parsed.source->position(parsed.instructions[i].span.begin).line == line) return b;
      }
    }
    return kNone;
  };
  EXPECT_EQ(control.after[block("fork")], block("meet"));
  EXPECT_THAT(control.deciders[block("inside")], ElementsAre(block("fork")));
  EXPECT_THAT(control.deciders[block("deep")], ElementsAre(block("inside")));
}

// --- branches that nothing of the protocol depends on ---

// Where evaluation goes from a block without looking at its branch; kNone where the branch counts.
uint32_t skipped_to(const Built& k, const std::string& mark) {
  return program::compile(k.graph).code[k.block(mark)].skip_to;
}

const std::string kAlloc =
    "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 32;\nld.shared.b32 %ta, [slot];\n";
const std::string kFree = "tcgen05.dealloc.cta_group::1.sync.aligned.b32 %ta, 32;\nret;\n";

std::string around(const std::string& inside, const std::string& behind = "") {
  return with(kAlloc + "mov.u32 %r10, 0;\nmov.u32 %r9, 0; // @fork\n@%p bra OVER;\n" + inside +
              "\nOVER:\nmov.u32 %r11, 0; // @meet\n" + behind + kFree);
}

TEST(Pruning, ABranchAroundDataIsLeftOut) {
  const Built data(around("mov.u32 %r10, 1;\nst.global.u32 [%out], %r10;"));
  EXPECT_EQ(skipped_to(data, "fork"), data.block("meet"));
}

TEST(Pruning, ABranchAroundTheProtocolCounts) {
  for (const char* const inside :
       {"tcgen05.st.sync.aligned.32x32b.x1.b32 [%ta], {%r1};", "bar.sync 0;",
        "mbarrier.arrive.shared::cta.b64 _, [slot];", "barrier.cluster.arrive.aligned;", "fence.proxy.async;"}) {
    EXPECT_EQ(skipped_to(Built(around(inside)), "fork"), kNone) << inside;
  }
}

TEST(Pruning, ABranchThatMakesAnAddressCounts) {
  const std::string use = "add.u32 %r12, %ta, %r10;\ntcgen05.st.sync.aligned.32x32b.x1.b32 [%r12], {%r1};\n";
  EXPECT_EQ(skipped_to(Built(around("mov.u32 %r10, 8;", use)), "fork"), kNone);
  const std::string data = "tcgen05.st.sync.aligned.32x32b.x1.b32 [%ta], {%r10};\n";
  const Built stored(around("mov.u32 %r10, 8;", data));
  EXPECT_EQ(skipped_to(stored, "fork"), stored.block("meet"));
}

TEST(Pruning, ABranchThatMakesAConditionCounts) {
  const std::string use = "setp.eq.u32 %e, %r10, 0;\n@%e bra LAST;\nbar.sync 0;\nLAST:\n";
  EXPECT_EQ(skipped_to(Built(around("mov.u32 %r10, 8;", use)), "fork"), kNone);
}

TEST(Pruning, AnAssertionIsLeftOut) {
  const Built k(
      with(kAlloc + "mov.u32 %r9, 0; // @fork\n@%p bra BAD;\nmov.u32 %r11, 0; // @rest\n" + kFree + "BAD:\ntrap;\n"));
  EXPECT_EQ(skipped_to(k, "fork"), k.block("rest"));
}

TEST(Pruning, AnEarlyExitCounts) {
  const Built k(with(kAlloc + "mov.u32 %r9, 0; // @fork\n@%p bra GONE;\n" + kFree + "GONE:\nret;\n"));
  EXPECT_EQ(skipped_to(k, "fork"), kNone);
}

TEST(Pruning, ALoopOverDataIsLeftOutAsAWhole) {
  auto loop = [](const std::string& inside) {
    return with(kAlloc + "mov.u32 %r1, 0;\nTOP:\nsetp.ge.u32 %e, %r1, %n; // @head\n@%e bra OUT;\n" + inside +
                "\nadd.u32 %r1, %r1, 1;\nbra TOP;\nOUT:\nmov.u32 %r11, 0; // @behind\n" + kFree);
  };
  const Built data(loop("st.global.u32 [%out], %r1;"));
  EXPECT_EQ(skipped_to(data, "head"), data.block("behind"));
  EXPECT_EQ(skipped_to(Built(loop("bar.sync 0;")), "head"), kNone);
}

TEST(Pruning, LeavesNothingToDecide) {
  // Sixteen conditions on data; none of them is a scenario of its own.
  std::string body;
  for (int n = 0; n < 16; ++n) {
    const std::string label = "D" + std::to_string(n);
    body += "ld.global.u32 %r20, [%out+" + std::to_string(4 * n) + "];\nsetp.eq.u32 %p1, %r20, 0;\n@%p1 bra " + label +
            ";\nst.global.u32 [%out], %t;\n" + label + ":\n";
  }
  const std::string text = test::ptx_kernel(test::begin(32) + body + test::end(32));
  EXPECT_THAT(test::said(text), IsEmpty());
  EXPECT_EQ(test::joint_of(text).run.scenarios, 1u);
}

// --- where lanes wait for each other ---

TEST(Meeting, InTheOrderOfTheBlocks) {
  const Built k(with(R"(
    mov.u32 %r1, 0; // @before
TOP:
    mov.u32 %r2, 0; // @head
    @%p bra OUT;
    mov.u32 %r3, 0; // @body
    bra TOP;
OUT:
    mov.u32 %r4, 0; // @behind
    ret;
)"));
  std::vector<warp::Waiting> list;
  warp::add_waiting(k.graph, list, k.block("head"), k.block("behind"), 0x1);
  warp::add_waiting(k.graph, list, k.block("head"), k.block("body"), 0x6);
  // Lanes that come round the loop wait for those still inside it, and run before those that have left it.
  warp::add_waiting(k.graph, list, k.block("body"), k.block("head"), 0x8);
  ASSERT_EQ(list.size(), 3u);
  EXPECT_EQ(list[0], (warp::Waiting{k.block("body"), 0x6, false}));
  EXPECT_EQ(list[1], (warp::Waiting{k.block("head"), 0x8, true}));
  EXPECT_EQ(list[2], (warp::Waiting{k.block("behind"), 0x1, false}));
  // Those that come to the same place are one group again.
  warp::add_waiting(k.graph, list, k.block("head"), k.block("behind"), 0x30);
  warp::add_waiting(k.graph, list, k.block("body"), k.block("head"), 0x2);
  ASSERT_EQ(list.size(), 3u);
  EXPECT_EQ(list[1].lanes, 0xau);
  EXPECT_EQ(list[2].lanes, 0x31u);
  // No lanes, no group.
  warp::add_waiting(k.graph, list, k.block("before"), k.block("head"), 0);
  EXPECT_EQ(list.size(), 3u);
}

TEST(Meeting, EnteringALoopIsNotComingRoundIt) {
  const Built k(with(R"(
    mov.u32 %r1, 0; // @before
TOP:
    mov.u32 %r2, 0; // @head
    @%p bra TOP;
    mov.u32 %r4, 0; // @behind
    ret;
)"));
  EXPECT_FALSE(warp::waiting_at(k.graph, k.block("before"), k.block("head"), 1).again);
  EXPECT_TRUE(warp::waiting_at(k.graph, k.block("head"), k.block("head"), 1).again);
  EXPECT_NE(warp::headed(k.graph, k.block("head")), kNone);
  EXPECT_EQ(warp::headed(k.graph, k.block("before")), kNone);
}

}  // namespace
}  // namespace tmemlint::kernel
