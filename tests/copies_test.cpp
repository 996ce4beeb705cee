// Copies into shared memory: the bytes that complete a phase, and the proxy fence between stores and an mma. Each
// kernel that must be reported stands beside the one that is right.
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

std::string copied(const std::string& announce, const std::string& copy) {
  return ptx_kernel(begin(128, init("full", 1) + init("empty", 1, " // @init")) +
                    where("%w2", elected(announce + copy)) +
                    where("%w0", elected(wait("empty", "0", " // @wait") + mma("%ta", "%no") + commit("full"))) +
                    wait("full", "0") + kConsume + end(128));
}

const std::string kAnnounce = "mbarrier.arrive.expect_tx.shared::cta.b64 _, [empty], 16384;\n";
const std::string kCopy =
    "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [tile_a], [%out], 16384, [empty];\n";

TEST(Copies, ThePhaseIsOverWhenTheBytesAreThere) {
  EXPECT_THAT(said(copied(kAnnounce, kCopy)), IsEmpty());
  // Nobody arrives for the copy: its bytes alone complete no phase.
  EXPECT_THAT(said(copied("", kCopy)), ElementsAre("warning tmem-mbarrier-count @init"));
}

TEST(Copies, OrdinaryStoresAreBehindAProxyFence) {
  auto stored = [](const std::string& fence) {
    return ptx_kernel(begin(128, init("full", 1)) + "st.shared.b32 [tile_a], %t; // @store\n" + fence + join() +
                      where("%w0", elected(mma("%ta", "%no", " // @mma") + commit("full"))) + wait("full", "0") +
                      kConsume + end(128));
  };
  EXPECT_THAT(said(stored("fence.proxy.async.shared::cta;\n")), IsEmpty());
  EXPECT_THAT(said(stored("")), ElementsAre("warning tmem-proxy-fence @mma"));
}

TEST(Copies, WhatCountsAsAStoreAndWhatAsItsFence) {
  auto stored = [](const std::string& instruction, const std::string& fence) {
    return said(ptx_kernel(begin(128, init("full", 1)) + "shl.b32 %r10, %l, 4;\nmov.u32 %r11, tile_a;\n" +
                           "add.u32 %r11, %r11, %r10;\n" + instruction + fence + join() +
                           where("%w0", elected(mma("%ta", "%no", " // @mma") + commit("full"))) + wait("full", "0") +
                           kConsume + end(128)));
  };
  const auto missing = ElementsAre("warning tmem-proxy-fence @mma");
  for (const std::string instruction : {"st.shared.v4.b32 [%r11], {%t,%t,%t,%t};\n",
                                        "stmatrix.sync.aligned.m8n8.x4.shared.b16 [%r11], {%t,%t,%t,%t};\n",
                                        "stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r11], {%t};\n"}) {
    EXPECT_THAT(stored(instruction, ""), missing) << instruction;
    EXPECT_THAT(stored(instruction, "fence.proxy.async;\n"), IsEmpty()) << instruction;
    EXPECT_THAT(stored(instruction, "fence.proxy.async.shared::cta;\n"), IsEmpty()) << instruction;
    EXPECT_THAT(stored(instruction, "fence.proxy.async.global;\n"), missing) << instruction;
  }
}

TEST(Copies, OperandsAreStoredAlsoWhereNothingIsLoaded) {
  // A first allocation is at column 0: its slot need not be read.
  auto stored = [](const std::string& fence) {
    std::string text = ptx_kernel(begin(128, init("full", 1)) + "st.shared.b32 [tile_a], %t;\n" + fence + join() +
                                  where("%w0", elected(mma("%ta", "%no", " // @mma") + commit("full"))) +
                                  wait("full", "0") + kConsume + end(128));
    const std::string read = "ld.shared.b32 %ta, [slot];";
    return said(text.replace(text.find(read), read.size(), "mov.b32 %ta, 0;"));
  };
  EXPECT_THAT(stored("fence.proxy.async.shared::cta;\n"), IsEmpty());
  EXPECT_THAT(stored(""), ElementsAre("warning tmem-proxy-fence @mma"));
}

TEST(Copies, AnnouncedBytesThatNothingBrings) {
  const std::string announce = "mbarrier.arrive.expect_tx.shared::cta.b64 _, [empty], 16384;\n";
  EXPECT_THAT(
      said(ptx_kernel(begin(128, init("full", 1) + init("empty", 1, " // @init")) +
                      where("%w0", elected(announce + wait("empty", "0") + mma("%ta", "%no") + commit("full"))) +
                      wait("full", "0") + kConsume + end(128))),
      Contains("warning tmem-mbarrier-count @init"));
}

// --- copies of other CTAs ---

TEST(Copies, ARoundMayAlsoWaitForWhatAnotherCtaCopies) {
  // Each CTA copies half of the operands to both. Whoever has used them tells both CTAs, in three rounds.
  auto halves = [](const std::string& copy) {
    const std::string round = "and.b32 %r21, %r20, 1;\nxor.b32 %r22, %r21, 1;\n";
    const std::string next = "add.u32 %r20, %r20, 1;\nsetp.lt.u32 %p1, %r20, 3;\n";
    return ptx_kernel(
        begin(32, init("full", 1) + init("empty", 2)) + join_cluster() + "mov.b32 %r20, 0;\nmov.b16 %h1, 3;\n" +
            where("%w3", elected("FILL:\n" + round + wait("empty", "%r22") +
                                 "mbarrier.arrive.expect_tx.shared::cta.b64 _, [full], 16384;\n" + copy + next +
                                 "@%p1 bra FILL;\n")) +
            where("%w0", elected("USE:\n" + round + wait("full", "%r21") +
                                 "mov.u32 %r23, empty;\nmapa.shared::cluster.u32 %remote, %r23, 0;\n"
                                 "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%remote]; // @arrive\n"
                                 "mapa.shared::cluster.u32 %remote, %r23, 1;\n"
                                 "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%remote]; // @arrive\n" +
                                 next + "@%p1 bra USE;\n")) +
            join_cluster() + end(32),
        pair());
  };
  const std::string bulk = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes";
  EXPECT_THAT(said(halves(bulk + ".multicast::cluster [tile_a], [%out], 8192, [full], %h1;\n")), IsEmpty());
  // Without the other CTA's half nothing keeps one from arriving twice in a round of the other.
  EXPECT_THAT(said(halves(bulk + " [tile_a], [%out], 16384, [full];\n")),
              ElementsAre("warning tmem-mbarrier-count @arrive"));
}

}  // namespace
}  // namespace tmemlint
