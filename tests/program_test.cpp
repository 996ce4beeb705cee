// What of a kernel its program keeps: the slice that the protocol needs.
#include "analyzer/program/program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

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

}  // namespace
}  // namespace tmemlint
