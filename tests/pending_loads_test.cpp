// Registers that a tcgen05.ld still writes, and what the loads deliver. Each kernel that must be reported stands beside
// the one that is right.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/producer_kernels.h"

namespace tmemlint {
namespace {

using namespace test;
using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;

TEST(Unknowns, ALoadThatIsUsedBehindTheArrivalIsPendingAtIt) {
  auto handed_over = [](const std::string& before, const std::string& after) {
    return said(ptx_kernel(
        begin(128, init("full", 1) + init("empty", 128)) + produce() + wait("full", "0") + load("%tw", " // @load") +
        before + "tcgen05.fence::before_thread_sync;\nmbarrier.arrive.shared::cta.b64 _, [empty]; // @arrive\n" +
        after + where("%w0", elected(wait("empty", "0") + mma("%ta", "%no") + commit("full"))) + wait("full", "1") +
        end(128)));
  };
  const std::string use = "add.u32 %r5, %r1, %r2;\nadd.u32 %r5, %r3, %r4;\nst.global.u32 [%out], %r5;\n";
  EXPECT_THAT(handed_over(kWaitLoads, use), IsEmpty());
  EXPECT_THAT(handed_over("", kWaitLoads + use), Contains("error tmem-missing-wait-ld @arrive"));
  EXPECT_THAT(handed_over("", use), Contains("error tmem-missing-wait-ld @arrive"));
  EXPECT_THAT(handed_over(use, ""), Not(Contains("error tmem-missing-wait-ld @arrive")));
}

// Each event carries all that is pending, and what that takes grows with the events and not with their square.
TEST(PendingLoads, ManyInARow) {
  constexpr size_t kLoads = 64;
  std::string body = begin(32);
  for (size_t n = 0; n < kLoads; ++n) {
    body += "tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r" + std::to_string(10 + n) + "}, [%tw];\n";
  }
  const Joint joint = joint_of(ptx_kernel(body + kWaitLoads + end(32)));
  for (const warp::WarpGraph& w : joint.analysis->warps) {
    size_t most = 0;
    for (const warp::Event& e : w.events) most = std::max(most, w.loads_before(e).size());
    EXPECT_EQ(most, kLoads);  // before the wait
    EXPECT_LE(w.protocols.loads.sets().parts(), kLoads * 7);
  }
}

TEST(PendingLoads, OfTheRoundBefore) {
  const std::string loop = store("%tw") + kWaitStores + "mov.u32 %r50, 0;\nagain:\n" + load("%tw", " // @ld");
  const std::string next = "add.u32 %r50, %r50, 1;\nsetp.lt.u32 %p1, %r50, 3;\n@%p1 bra again;\n";
  EXPECT_THAT(said(ptx_kernel(begin(32) + loop + next + kWaitLoads + end(32))),
              ElementsAre("error tmem-missing-wait-ld @ld"));
  EXPECT_THAT(said(ptx_kernel(begin(32) + loop + kWaitLoads + next + end(32))), IsEmpty());
}

// Thousands of loads into one register: what is kept of a register's loads is kept once.
TEST(PendingLoads, ManyIntoOneRegister) {
  constexpr size_t kLoads = 2000;
  std::string body = begin(32);
  for (size_t n = 0; n < kLoads; ++n) body += load("%tw") + kWaitLoads + "add.u32 %r40, %r1, %r2;\n";
  const Joint joint = joint_of(ptx_kernel(body + end(32)));
  const program::Program& program = *joint.analysis->kernel->program;
  EXPECT_EQ(program.loads.size(), kLoads);
  size_t kept = 0;
  for (const std::vector<uint32_t>& set : program.load_sets) kept += set.size();
  EXPECT_LE(kept, 4 * kLoads);
}

TEST(PendingLoads, AreNotOverwrittenByThemselves) {
  // Another load into the same registers is; the same one in the next round says so itself.
  const std::string two = load("%tw", " // @first") + load("%tw", " // @second") + kWaitLoads;
  EXPECT_THAT(said(ptx_kernel(begin(32) + store("%tw") + kWaitStores + two + end(32))),
              ElementsAre("error tmem-missing-wait-ld @second"));
}

// --- what was loaded ---

// What a tcgen05.ld delivers is not known.
TEST(LoadedData, DecidesBothWays) {
  for (const std::string registers : {"{%r10}", "{%r10, %r11}"}) {
    const std::string x = registers == "{%r10, %r11}" ? "x2" : "x1";
    const std::string load_it = store("%tw") + kWaitStores + "tcgen05.ld.sync.aligned.32x32b." + x + ".b32 " +
                                registers + ", [%tw];\n" + kWaitLoads;
    for (const std::string test : {"setp.eq.u32", "setp.ne.u32"}) {
      const std::string some = "shfl.sync.idx.b32 %r12, %r10, 0, 31, 0xffffffff;\n" + test + " %p1, %r12, 0;\n";
      const std::string free = where("%p1", release("%ta", 32));
      EXPECT_THAT(said(ptx_kernel(begin(32) + load_it + some + join() + where("%w0", free))),
                  ElementsAre("error tmem-missing-dealloc @alloc"));
      const std::string either = free + "not.pred %p2, %p1;\n" + where("%p2", release("%ta", 32));
      EXPECT_THAT(said(ptx_kernel(begin(32) + load_it + some + join() + where("%w0", either))), IsEmpty());
    }
  }
}

// Lanes that keep a result may go on without it: the others alone write its register again.
TEST(LoadedData, IsOverwrittenWhereItWasUsed) {
  auto kernel = [](const std::string& some) {
    return said(ptx_kernel(begin(32) + store("%tw") + kWaitStores + load("%tw") +
                           "ld.global.u32 %r40, [%out];\nsetp.gt.u32 %p1, %r40, %l;\n@!%p1 bra OVER;\n" + some +
                           "mov.u32 %r1, 0; // @write\nOVER:\nbar.warp.sync 0xffffffff;\n" + kWaitLoads + end(32)));
  };
  EXPECT_THAT(kernel("add.u32 %r41, %r1, 1;\nst.global.u32 [%out], %r41;\n"), IsEmpty());
  EXPECT_THAT(kernel(""), ElementsAre("error tmem-missing-wait-ld @write"));
}

}  // namespace
}  // namespace tmemlint
