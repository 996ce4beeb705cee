// The life of an mbarrier and its phases: who may still wait for one when the next is over, initialised again, used
// before the init, invalidated in use; the bytes of its copies. Each kernel that must be reported stands beside the one
// that is right.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/producer_kernels.h"

namespace tmemlint {
namespace {

using namespace test;
using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;

const std::string kArriveFull = "mbarrier.arrive.shared::cta.b64 _, [full];\n";

// --- waits that a phase may overtake ---

// Warp 0 completes two phases of `full`, `between` lies between; all warps wait for the first, warp 1 for the second
// too.
std::string two_phases(const std::string& between, const std::string& first, const std::string& second) {
  return ptx_kernel(begin(32, init("full", 1)) + where("%w0", elected(kArriveFull)) +
                    wait("full", first, " // @first") + between + where("%w0", elected(kArriveFull)) +
                    where("%w1", wait("full", second, " // @second")) + end(32));
}

TEST(Overtaken, TheNextPhaseComesBehindAllWaits) {
  EXPECT_THAT(said(two_phases(join(), "0", "1")), IsEmpty());
  // Warp 2 may come to its wait when the second phase is over, and waits for the third.
  EXPECT_THAT(said(two_phases("", "0", "1")), Contains("warning tmem-mbarrier-phase @first"));
}

TEST(Overtaken, AParityThatIsNotFlipped) {
  EXPECT_THAT(said(two_phases(join(), "0", "0")), ElementsAre("warning tmem-mbarrier-phase @second"));
}

TEST(Overtaken, AFirstWaitForParityOneIsOrderedBeforeTheFirstPhase) {
  // Nobody waits for the phase before the first one unless it keeps the first one from being over.
  auto producer = [](const std::string& between) {
    return ptx_kernel(begin(32, init("full", 1)) + where("%w1", wait("full", "1", " // @wait")) + between +
                      where("%w0", elected(kArriveFull)) + wait("full", "0") + end(32));
  };
  EXPECT_THAT(said(producer(join())), IsEmpty());
  EXPECT_THAT(said(producer("")), ElementsAre("warning tmem-mbarrier-phase @wait"));
}

TEST(Overtaken, AnotherLookAtTheSamePhaseIsFine) {
  const std::string peek = "mbarrier.test_wait.parity.shared::cta.b64 %p1, [full], 0;\n";
  EXPECT_THAT(said(two_phases(peek + wait("full", "0") + join(), "0", "1")), IsEmpty());
}

TEST(Overtaken, AParityIsZeroOrOne) {
  auto waits_for = [](const std::string& parity) {
    return said(ptx_kernel(begin(32, init("full", 1)) + where("%w0", elected(kArriveFull)) + "mov.b32 %r10, " + parity +
                           ";\n" + wait("full", "%r10", " // @wait") + end(32)));
  };
  EXPECT_THAT(waits_for("0"), IsEmpty());
  EXPECT_THAT(waits_for("2"), ElementsAre("error tmem-mbarrier-phase @wait"));
}

// --- init and inval ---

TEST(Lifetime, InitialisedOnce) {
  auto by = [](const std::string& who) {
    return said(ptx_kernel(where(who, elected(init("full", 1, " // @init"))) + begin(32) +
                           where("%w0", elected(kArriveFull)) + wait("full", "0") + end(32)));
  };
  EXPECT_THAT(by("%w1"), IsEmpty());
  EXPECT_THAT(by("%yes"), ElementsAre("error tmem-mbarrier-lifetime @init"));
}

TEST(Lifetime, WhoWaitsForTheOldOneGoesOn) {
  // What comes after the second init is analysed as if all had gone on.
  auto again = [](const std::string& before) {
    return said(ptx_kernel(begin(128, init("full", 1)) + produce() + wait("full", "0") + before +
                           where("%first", init("full", 1, " // @again")) + kConsume + join() +
                           where("%w0", elected(mma("%ta", "%no") + commit("full"))) + load("%tw", " // @early") +
                           kWaitLoads + end(128)));
  };
  EXPECT_THAT(again(""), Contains("error tmem-mbarrier-lifetime @again"));
  EXPECT_THAT(again(""), Contains("error tmem-mma-completion @early"));
  EXPECT_THAT(again(""), Not(Contains("warning tmem-mbarrier-count @again")));
  const std::string inval = join() + where("%first", "mbarrier.inval.shared::cta.b64 [full];\n");
  EXPECT_THAT(again(inval), Not(Contains("error tmem-mbarrier-lifetime @again")));
}

TEST(Lifetime, UsersJoinBehindTheInit) {
  auto late = [](const std::string& between) {
    return said(ptx_kernel(begin(32) + where("%first", init("full", 1, " // @init")) + between +
                           where("%w0", elected(kArriveFull)) + wait("full", "0") + end(32)));
  };
  EXPECT_THAT(late(join()), IsEmpty());
  EXPECT_THAT(late(""), ElementsAre("error tmem-mbarrier-lifetime @init"));
}

TEST(Lifetime, InvalidatedBehindAllWaits) {
  auto gone = [](const std::string& between) {
    return said(ptx_kernel(begin(32, init("full", 1)) + where("%w0", elected(kArriveFull)) + wait("full", "0") +
                           between + where("%first", "mbarrier.inval.shared::cta.b64 [full]; // @inval\n") + end(32)));
  };
  EXPECT_THAT(gone(join()), IsEmpty());
  EXPECT_THAT(gone(""), ElementsAre("error tmem-mbarrier-lifetime @inval"));
}

TEST(Lifetime, OtherCtasAreToldOfTheInit) {
  auto told = [](const std::string& fence, const std::string& arrive) {
    return said(ptx_kernel(
        where("%first", init("full", 1, " // @init")) + fence + "barrier.cluster.arrive" + arrive +
            ".aligned;\nbarrier.cluster.wait.aligned;\n" + begin(32) +
            "mov.u32 %r10, full;\nxor.b32 %r11, %rank, 1;\n"
            "mapa.shared::cluster.u32 %remote, %r10, %r11;\n" +
            where("%first", "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%remote]; // @arrive\n") +
            wait("full", "0") + join_cluster() + end(32),
        pair()));
  };
  const std::string fence = "fence.mbarrier_init.release.cluster;\n";
  const auto untold = ElementsAre("warning tmem-mbarrier-lifetime @init");
  EXPECT_THAT(told(where("%first", fence), ".relaxed"), IsEmpty());
  EXPECT_THAT(told("", ".release"), IsEmpty());
  EXPECT_THAT(told("", ".relaxed"), untold);
  EXPECT_THAT(told(where("%w1", fence), ".relaxed"), untold);
  // A fence of all memory by another thread covers what that thread knows.
  EXPECT_THAT(told(join() + where("%w1", "fence.acq_rel.cluster;\n"), ".relaxed"), IsEmpty());
  EXPECT_THAT(told(join() + where("%w1", "fence.acq_rel.cta;\n"), ".relaxed"), untold);
}

// --- bytes ---

TEST(Bytes, AnnouncedAndCopied) {
  auto copied = [](const std::string& bytes, const std::string& size, const std::string& kind = "") {
    return said(
        ptx_kernel(begin(128, init("full", 1) + init("empty", 1)) +
                   where("%w2", elected("mbarrier.arrive.expect_tx.shared::cta.b64 _, [empty], " + bytes +
                                        "; // @announce\ncp.async.bulk.shared::cluster.global.mbarrier::complete_tx::"
                                        "bytes" +
                                        kind + " [tile_a], [%out], " + size + ", [empty];\n")) +
                   where("%w0", elected(wait("empty", "0") + mma("%ta", "%no") + commit("full"))) + wait("full", "0") +
                   kConsume + end(128)));
  };
  EXPECT_THAT(copied("16384", "16384"), IsEmpty());
  EXPECT_THAT(copied("16384", "8192"), ElementsAre("warning tmem-mbarrier-bytes @announce"));
  EXPECT_THAT(copied("4096", "8192"), ElementsAre("warning tmem-mbarrier-bytes @announce"));
  EXPECT_THAT(copied("16384", "%n"), IsEmpty());
}

}  // namespace
}  // namespace tmemlint
