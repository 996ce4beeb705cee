// What straight runs were seen to do is done again only where it would come out the same.
#include "analyzer/warp/replays.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "analyzer/kernel/launch.h"
#include "analyzer/warp/machine.h"
#include "tests/small_kernel.h"

namespace tmemlint::warp {
namespace {

using test::ptx_kernel;

struct Built {
  std::unique_ptr<ptx::Module> module;
  kernel::Graph graph;
  std::unique_ptr<Program> program;
  kernel::Launch launch;
  Terms terms;
  Replays replays;

  explicit Built(const std::string& body)
      : module(std::make_unique<ptx::Module>(
            ptx::parse(std::make_shared<const ptx::SourceText>("k.ptx", ptx_kernel(body))))) {
    EXPECT_THAT(module->errors, testing::IsEmpty());
    graph = kernel::build_graph(*module, 0);
    program = std::make_unique<Program>(program::compile(graph));
    launch = kernel::launch_of(*module, module->functions[0], {}, {}, false);
  }

  Machine machine(uint32_t warp, bool with_replays) {
    Machine m(*program, terms, launch, 0, warp, {});
    if (with_replays) m.replays = &replays;
    return m;
  }
  // The steps of a block, and after each straight run what it wrote.
  std::vector<Value> go(Machine& m, uint32_t block = 0) {
    std::vector<Value> out;
    for (uint32_t n = program->code[block].first; n < program->code[block].last;) {
      const uint32_t straight = program->steps[n].straight;
      if (straight == ptx::kNone) {
        m.execute(program->steps[n], n);
        ++n;
        continue;
      }
      const Straight& s = program->straights[straight];
      m.run(s);
      for (uint32_t r = s.writes; r < s.end; ++r) out.push_back(m.registers[program->straight_refs[r]]);
      n = s.last;
    }
    return out;
  }
};

// What all of it is computed for.
const std::string kUse = "st.shared.u32 [slot], %r9;\nld.shared.u32 %ta, [slot];\n" + test::mma("%ta", "%no");

TEST(Replays, GiveWhatExecutingGives) {
  Built k(
      "mul.lo.u32 %r1, %n, 12;\nmov.u32 %r2, tile_a;\nadd.u32 %r3, %r1, %r2;\nshl.b32 %r4, %w, 4;\n"
      "add.u32 %r5, %r3, %r4;\n@%w1 add.u32 %r5, %r5, 1;\nsetp.lt.u32 %p1, %l, 7;\n@%p1 xor.b32 %r5, %r5, 64;\n"
      "mov.u32 %r6, %nctaid.x;\nadd.u32 %r9, %r5, %r6;\n" +
      kUse);
  ASSERT_FALSE(k.program->straights.empty());
  for (uint32_t round = 0; round < 2; ++round) {
    for (uint32_t warp = 0; warp < 4; ++warp) {
      Machine plain = k.machine(warp, false);
      Machine with = k.machine(warp, true);
      EXPECT_EQ(k.go(with), k.go(plain)) << warp;
    }
  }
}

TEST(Replays, AskFactsAnew) {
  Built k("setp.lt.u32 %p1, %n, 4;\nselp.u32 %r1, 1, 2, %p1;\nadd.u32 %r9, %r1, 3;\n@%p1 add.u32 %r9, %r9, 8;\n" +
          kUse);
  Machine open = k.machine(0, true);
  const std::vector<Value> unknown = k.go(open);
  // The truth value that the selection is made by.
  uint32_t condition = 0;
  for (uint32_t t = 1; t < k.terms.size() && condition == 0; ++t) {
    if (k.terms.is_selection(t)) condition = k.terms[t].args[0].base;
  }
  ASSERT_NE(condition, 0u);
  for (const bool truth : {true, false, true}) {
    Machine plain = k.machine(0, false);
    Machine with = k.machine(0, true);
    for (Machine* m : {&plain, &with}) ASSERT_TRUE(assume(k.terms, m->facts, condition, truth));
    const std::vector<Value> known = k.go(with);
    EXPECT_EQ(known, k.go(plain));
    EXPECT_NE(known, unknown);
  }
}

TEST(Replays, KnowWhichLanesExecute) {
  Built k(
      "mov.u32 %r1, %l;\nadd.u32 %r9, %r1, 3;\nvote.sync.ballot.b32 %r2, %yes, 0xffffffff;\nadd.u32 %r9, %r9, %r2;\n" +
      kUse);
  for (const uint32_t active : {kAllLanes, 0xffffu, kAllLanes}) {
    Machine plain = k.machine(0, false);
    Machine with = k.machine(0, true);
    plain.active = with.active = active;
    EXPECT_EQ(k.go(with), k.go(plain));
  }
}

}  // namespace
}  // namespace tmemlint::warp
