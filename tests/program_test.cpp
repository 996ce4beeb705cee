// What of a kernel its program keeps: the slice that the protocol needs.
#include "analyzer/program/program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "analyzer/program/steps.h"
#include "tests/small_kernel.h"

namespace tmemlint {
namespace {

using namespace test;
using testing::ElementsAre;
using testing::IsEmpty;

// How many stores to memory the program of a kernel keeps.
size_t kept_stores(const std::string& text) {
  const auto module = ptx::parse(std::make_shared<const ptx::SourceText>("k.ptx", text));
  EXPECT_THAT(module.errors, IsEmpty());
  const kernel::Graph graph = kernel::build_graph(module, 0);
  const program::Program program = program::compile(graph);
  size_t count = 0;
  for (const program::Step& step : program.steps) {
    if (step.kind != program::Step::Kind::kInstruction) continue;
    count += program.meanings[module.instructions[step.instruction].opcode].action == program::Action::kStore ? 1 : 0;
  }
  return count;
}

// A buffer of local memory, and its generic address in %d1.
const std::string kBuffer = ".local .align 8 .b8 buffer[32];\nmov.u64 %d0, buffer;\ncvta.local.u64 %d1, %d0;\n";

TEST(Slice, LocalMemoryThatOnlyACalleePrintsIsNotKept) {
  // The generic load is of shared memory: it cannot meet what the printing reads.
  const std::string kernel = ptx_kernel(kBuffer + begin(64) +
                                        "st.local.u32 [%d0], %t;\n{\n.param .b64 p;\nst.param.b64 [p], %d1;\n}\n"
                                        "cvt.u64.u32 %d2, %ta;\nmov.u64 %d3, slot;\ncvta.shared.u64 %d3, %d3;\n"
                                        "ld.u32 %ta, [%d3];\n" +
                                        end(64));
  EXPECT_EQ(kept_stores(kernel), 0u);
  EXPECT_THAT(said(kernel), IsEmpty());
}

TEST(Slice, WhatAGenericPointerToLocalMemoryMayMeetIsKept) {
  // 64 columns are freed only if what stands in local memory is followed.
  auto kernel = [](const std::string& through, const std::string& columns) {
    return ptx_kernel(kBuffer + begin(64) + "mov.b32 %r10, " + columns + ";\n" + through + join() +
                      where("%w0", "tcgen05.dealloc.cta_group::1.sync.aligned.b32 %ta, %r11; // @dealloc\n"));
  };
  const std::vector<std::string> ways = {
      "st.u32 [%d1], %r10;\nld.local.u32 %r11, [%d0];\n",
      "st.local.u32 [%d0], %r10;\nld.u32 %r11, [%d1];\n",
      // The pointer in a register of its own, moved and added to.
      "mov.b64 %d2, %d1;\nadd.u64 %d2, %d2, 8;\nst.u32 [%d2], %r10;\nld.local.u32 %r11, [%d0+8];\n",
      // The pointer itself is stored and loaded.
      (".local .align 8 .b64 kept;\nst.local.u64 [kept], %d1;\nld.local.u64 %d2, [kept];\nst.u32 [%d2], %r10;\n"
       "ld.local.u32 %r11, [%d0];\n"),
      // And as an argument.
      ("{\n.param .b64 p;\nst.param.b64 [p], %d1;\nld.param.b64 %d2, [p];\nst.u32 [%d2], %r10;\n}\n"
       "ld.local.u32 %r11, [%d0];\n"),
  };
  for (const std::string& way : ways) {
    EXPECT_THAT(said(kernel(way, "64")), IsEmpty()) << way;
    EXPECT_THAT(said(kernel(way, "32")), ElementsAre("error tmem-dealloc-mismatch @dealloc")) << way;
  }
}

TEST(Slice, APointerThatACalleeGetsInARegisterIsFollowed) {
  auto kernel = [](const std::string& columns) {
    std::string text =
        ptx_kernel(kBuffer + begin(64) + "mov.b32 %r10, " + columns + ";\ncall keep, (%d1, %r10);\n" +
                   "ld.local.u32 %r11, [%d0];\n" + join() +
                   where("%w0", "tcgen05.dealloc.cta_group::1.sync.aligned.b32 %ta, %r11; // @dealloc\n"));
    const std::string callee = ".func keep(.reg .b64 to, .reg .b32 what)\n{\nst.u32 [to], what;\nret;\n}\n";
    return text.insert(text.find(".visible"), callee);
  };
  EXPECT_THAT(said(kernel("64")), IsEmpty());
  EXPECT_THAT(said(kernel("32")), ElementsAre("error tmem-dealloc-mismatch @dealloc"));
}

TEST(Slice, AMarkerOfASetOfLoadsStandsOnceBetweenTwoLoads) {
  // Used thrice, then once more behind another load: what counts is each first use.
  const std::string use = "add.u32 %r20, %r1, %r2;\nst.global.u32 [%out], %r20;\n";
  const std::string kernel =
      ptx_kernel(begin(64) + load("%tw") + use + use + use + load("%tw+8") + kWaitLoads + use + end(64));
  const auto module = ptx::parse(std::make_shared<const ptx::SourceText>("k.ptx", kernel));
  const kernel::Graph graph = kernel::build_graph(module, 0);
  const program::Program program = program::compile(graph);
  size_t uses = 0;
  for (const program::Step& step : program.steps) uses += step.kind == program::Step::Kind::kUse ? 1 : 0;
  EXPECT_EQ(uses, 2u);
}

// The example of analyzer/program/README.md.
TEST(Slice, KeepsWhatTheProtocolDependsOn) {
  const std::string text = ptx_kernel(begin(64) + R"(
    add.u32 %r5, %ta, 32;
    mul.lo.u32 %r3, %r1, %r2;
    setp.eq.u32 %p1, %r9, 0;
    @%p1 bra SKIP;
    st.global.u32 [%d1], %r3;
SKIP:
    tcgen05.ld.sync.aligned.32x32b.x2.b32 {%r10, %r11}, [%r5];
    add.u32 %r12, %r10, %r11;
)" + end(64));
  const auto module = ptx::parse(std::make_shared<const ptx::SourceText>("k.ptx", text));
  ASSERT_THAT(module.errors, IsEmpty());
  const kernel::Graph graph = kernel::build_graph(module, 0);
  const program::Program program = program::compile(graph);
  auto kinds_of = [&](const std::string& line) {
    std::vector<program::Step::Kind> kinds;
    for (const program::Step& step : program.steps) {
      const ptx::Instruction& i = module.instructions[step.instruction];
      if (text.substr(i.span.begin, line.size()) == line) kinds.push_back(step.kind);
    }
    return kinds;
  };
  using Kind = program::Step::Kind;
  EXPECT_THAT(kinds_of("add.u32 %r5"), ElementsAre(Kind::kInstruction));
  EXPECT_THAT(kinds_of("mul.lo"), IsEmpty());
  EXPECT_THAT(kinds_of("setp.eq.u32 %p1, %r9"), IsEmpty());
  EXPECT_THAT(kinds_of("st.global"), IsEmpty());
  EXPECT_THAT(kinds_of("tcgen05.ld"), ElementsAre(Kind::kInstruction));
  EXPECT_THAT(kinds_of("add.u32 %r12"), ElementsAre(Kind::kUse));
  const auto pruned = std::count_if(program.code.begin(), program.code.end(),
                                    [](const program::Code& code) { return code.skip_to != program::kNone; });
  EXPECT_EQ(pruned, 1);
}

TEST(Steps, WhatARangeReadsAndOverwrites) {
  const std::string text = ptx_kernel(begin(64) + R"(
    add.u32 %r5, %ta, %r1;
    @%p1 mov.b32 %r6, %r5;
    add.u32 %r7, %r6, %r5;
    tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r10}, [%r7];
)" + end(64));
  const auto module = ptx::parse(std::make_shared<const ptx::SourceText>("k.ptx", text));
  ASSERT_THAT(module.errors, IsEmpty());
  const kernel::Graph graph = kernel::build_graph(module, 0);
  const program::Program program = program::compile(graph);
  uint32_t first = program::kNone;
  for (uint32_t s = 0; s < program.steps.size(); ++s) {
    const ptx::Instruction& i = module.instructions[program.steps[s].instruction];
    if (text.substr(i.span.begin, 11) == "add.u32 %r5") first = s;
  }
  ASSERT_NE(first, program::kNone);
  auto written = [&](uint32_t s) { return program.args[program.steps[s].first_arg].ref; };
  program::StepRange range(program);
  range.look(first, first + 3);
  // %ta, %r1, the guard, and %r6: lanes in which the guard does not hold keep what they had.
  EXPECT_EQ(range.needed().size(), 4u);
  EXPECT_THAT(range.needed(), testing::Contains(written(first + 1)));
  EXPECT_THAT(range.needed(), testing::Not(testing::Contains(written(first))));
  EXPECT_THAT(range.replaced(), ElementsAre(written(first), written(first + 2)));
  range.look(first + 2, first + 3);
  EXPECT_THAT(range.needed(), ElementsAre(written(first + 1), written(first)));
}

}  // namespace
}  // namespace tmemlint
