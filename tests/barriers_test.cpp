// Named barriers, and the tcgen05 fences around what hands columns from one warp to another. Each kernel that must be
// reported stands beside the one that is right.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/producer_kernels.h"

namespace tmemlint {
namespace {

using namespace test;
using testing::ElementsAre;
using testing::IsEmpty;

// --- named barriers ---

// Warp 1 writes columns of its lanes, warp 5 (of the next warpgroup, of the same lanes) reads them.
std::string passed_on(const std::string& writer, const std::string& reader) {
  Setting s;
  s.threads = 192;
  const std::string fence = "tcgen05.fence::before_thread_sync;\n";
  return ptx_kernel(
      begin(32) + where("%w1", store("%tw", " // @store") + kWaitStores + fence + writer) +
          where("%w5", reader + "tcgen05.fence::after_thread_sync;\n" + load("%tw", " // @load") + kWaitLoads) +
          end(32),
      s);
}

TEST(NamedBarriers, OrderThoseThatMeetThere) {
  EXPECT_THAT(said(passed_on("bar.sync 1, 64;\n", "bar.sync 1, 64;\n")), IsEmpty());
  EXPECT_THAT(said(passed_on("", "")), ElementsAre("error tmem-handoff-race @load"));
  // Each at a barrier of its own.
  EXPECT_THAT(said(passed_on("bar.sync 1, 32;\n", "bar.sync 2, 32;\n")), ElementsAre("error tmem-handoff-race @load"));
}

TEST(NamedBarriers, TheOneThatArrivesNeedNotWait) {
  EXPECT_THAT(said(passed_on("bar.arrive 1, 64;\n", "bar.sync 1, 64;\n")), IsEmpty());
  // The other way round it is the writer that waits for the reader.
  EXPECT_THAT(said(passed_on("bar.sync 1, 64;\n", "bar.arrive 1, 64;\n")),
              ElementsAre("error tmem-handoff-race @load"));
}

TEST(NamedBarriers, AreReusedRoundByRound) {
  // The reader answers at barrier 2, and the writer writes again.
  const std::string again = store("%tw", " // @again") + kWaitStores + "tcgen05.fence::before_thread_sync;\n";
  const std::string read =
      "tcgen05.fence::after_thread_sync;\n" + load("%tw") + kWaitLoads + "tcgen05.fence::before_thread_sync;\n";
  EXPECT_THAT(said(passed_on("bar.arrive 1, 64;\nbar.sync 2, 64;\ntcgen05.fence::after_thread_sync;\n" + again +
                                 "bar.arrive 1, 64;\n",
                             "bar.sync 1, 64;\n" + read + "bar.arrive 2, 64;\nbar.sync 1, 64;\n")),
              IsEmpty());
  EXPECT_THAT(said(passed_on("bar.arrive 1, 64;\n" + again + "bar.arrive 2, 64;\n",
                             "bar.sync 1, 64;\n" + read + "bar.sync 2, 64;\n")),
              ElementsAre("error tmem-handoff-race @again"));
}

TEST(NamedBarriers, CountedForMoreThanCome) {
  auto counted = [](const std::string& threads) {
    return ptx_kernel("bar.sync 1, " + threads + "; // @short\n" + begin(32) + end(32));
  };
  EXPECT_THAT(said(counted("128")), IsEmpty());
  // What hangs at a named barrier is said as a question: nothing tells which of its sides is wrong.
  EXPECT_THAT(said(counted("160")), ElementsAre("incomplete @short"));
}

TEST(NamedBarriers, WarpsThatHaveExitedAreNotWaitedFor) {
  Setting s;
  s.threads = 192;
  const std::string leaves = "@%w4 bra GONE;\n@%w5 bra GONE;\n";
  EXPECT_THAT(
      said(ptx_kernel(
          begin(128, init("full", 1)) + leaves + produce() + wait("full", "0") + kConsume + end(128) + "GONE:\n", s)),
      IsEmpty());
  // With a count of all threads of the block the two are missing.
  EXPECT_THAT(said(ptx_kernel(begin(128, init("full", 1)) + leaves + produce() + wait("full", "0") + kConsume +
                                  "bar.sync 3, 192; // @short\n" + end(128) + "GONE:\n",
                              s)),
              ElementsAre("incomplete @short"));
}

// --- fences ---

TEST(Fences, ARelaxedArriveOrdersNothingOfTensorMemoryByItself) {
  auto relaxed = [](const std::string& before, const std::string& after) {
    Setting s;
    s.threads = 192;
    return ptx_kernel(begin(32, init("empty", 32)) +
                          where("%w1", store("%tw", " // @store") + kWaitStores + before +
                                           "mbarrier.arrive.relaxed.cta.shared::cta.b64 _, [empty]; // @arrive\n") +
                          where("%w5",
                                "AGAIN: mbarrier.try_wait.parity.relaxed.cta.shared::cta.b64 %over, [empty], 0; // "
                                "@wait\n@!%over bra AGAIN;\n" +
                                    after + load("%tw", " // @load") + kWaitLoads) +
                          end(32),
                      s);
  };
  const std::string before = "tcgen05.fence::before_thread_sync;\n";
  const std::string after = "tcgen05.fence::after_thread_sync;\n";
  EXPECT_THAT(said(relaxed(before, after)), IsEmpty());
  EXPECT_THAT(said(relaxed("", after)), ElementsAre("error tmem-missing-fence @wait"));
  EXPECT_THAT(said(relaxed(before, "")), ElementsAre("error tmem-missing-fence @wait"));
}

TEST(Fences, AReleasingArriveWithoutThemIsANote) {
  auto released = [](const std::string& before, const std::string& after) {
    Setting s;
    s.threads = 192;
    return ptx_kernel(
        begin(32, init("empty", 32)) +
            where("%w1",
                  store("%tw", " // @store") + kWaitStores + before + "mbarrier.arrive.shared::cta.b64 _, [empty];\n") +
            where("%w5", "AGAIN: mbarrier.try_wait.parity.shared::cta.b64 %over, [empty], 0;\n@!%over bra AGAIN;\n" +
                             after + load("%tw", " // @load") + kWaitLoads) +
            end(32),
        s);
  };
  EXPECT_THAT(said(released("tcgen05.fence::before_thread_sync;\n", "tcgen05.fence::after_thread_sync;\n"), true),
              IsEmpty());
  EXPECT_THAT(said(released("", "")), IsEmpty());
  EXPECT_THAT(said(released("", ""), true), ElementsAre("note tmem-missing-fence @load"));
}

}  // namespace
}  // namespace tmemlint
