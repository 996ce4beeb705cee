// Shared memory that mma reads: what writes it, and when it may be written again. Each kernel that must be reported
// stands beside the one that is right.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "analyzer/ptx/descriptor.h"
#include "tests/producer_kernels.h"

namespace tmemlint {
namespace {

using namespace test;
using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;

// Each lane stores 16 bytes of A: the first rows of its first bytes.
std::string fill(const std::string& mark = " // @store") {
  return "mov.u32 %r40, tile_a;\nmad.lo.u32 %r40, %l, 16, %r40;\nst.shared.v4.b32 [%r40], {%t,%t,%t,%t};" + mark +
         "\nfence.proxy.async.shared::cta;\n";
}

std::string announce(const std::string& barrier) {
  return "mbarrier.arrive.expect_tx.shared::cta.b64 _, [" + barrier + "], 4096;\n";
}
std::string copy_to(const std::string& barrier) {
  return "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [tile_a], [%out, {%r1, "
         "%r1}], [" +
         barrier + "]; // @copy\n";
}

TEST(OperandRace, AStoreOfAnotherWarpIsOrderedBeforeTheMma) {
  auto kernel_with = [](const std::string& between) {
    return ptx_kernel(begin(128, init("full", 1)) + where("%w1", fill()) + between + produce() + wait("full", "0") +
                      kConsume + end(128));
  };
  EXPECT_THAT(said(kernel_with(join())), IsEmpty());
  EXPECT_THAT(said(kernel_with("")), ElementsAre("error tmem-operand-race @mma"));
}

TEST(OperandRace, AnArriveOfTheIssuerDoesNotGiveTheOperandBack) {
  auto given_back_by = [](const std::string& barrier) {
    return ptx_kernel(
        begin(128, init("full", 1) + init("empty", 1)) + where("%w1", fill()) + join() +
        where("%w0", elected(mma("%ta", "%no") + commit("full") + "mbarrier.arrive.shared::cta.b64 _, [empty];\n")) +
        where("%w1", wait(barrier, "0") + fill(" // @again")) + wait("full", "0") + kConsume + end(128));
  };
  EXPECT_THAT(said(given_back_by("full")), IsEmpty());
  EXPECT_THAT(said(given_back_by("empty")), ElementsAre("error tmem-operand-race @again"));
}

TEST(OperandRace, ACopyIsCompleteWhenItsPhaseWasSeen) {
  auto simple = [](const std::string& seen) {
    return ptx_kernel(begin(128, init("full", 1) + init("empty", 1)) +
                      where("%w0", elected(announce("empty") + copy_to("empty") + seen + mma("%ta", "%no", " // @mma") +
                                           commit("full"))) +
                      wait("full", "0") + kConsume + end(128));
  };
  EXPECT_THAT(said(simple(wait("empty", "0"))), IsEmpty());
  EXPECT_THAT(said(simple("")), ElementsAre("error tmem-operand-race @mma"));
}

TEST(OperandRace, ThatACopyIsCompleteIsHandedOnByWhoSawIt) {
  auto kernel_with = [](const std::string& seen) {
    return ptx_kernel(begin(128, init("full", 1) + init("empty", 1)) +
                      where("%w1", elected(announce("empty") + copy_to("empty") + seen)) + join() + produce() +
                      wait("full", "0") + kConsume + end(128));
  };
  EXPECT_THAT(said(kernel_with(wait("empty", "0"))), IsEmpty());
  EXPECT_THAT(said(kernel_with("")), ElementsAre("error tmem-operand-race @mma"));
}

TEST(OperandRace, AGroupIsCompleteWhenFewEnoughAreLeft) {
  auto waited = [](const std::string& how) {
    const std::string copies =
        "mov.u32 %r40, tile_a;\nmad.lo.u32 %r40, %l, 16, %r40;\nmul.wide.u32 %d1, %l, 16;\nadd.u64 %d1, %d1, %out;\n"
        "cp.async.cg.shared.global [%r40], [%d1], 16;\ncp.async.commit_group;\n"
        "cp.async.cg.shared.global [%r40+8192], [%d1], 16;\ncp.async.commit_group;\n";
    return ptx_kernel(begin(128, init("full", 1) + init("empty", 32)) + where("%w1", copies + how) + join() +
                      where("%w0", elected(wait("empty", "0") + mma("%ta", "%no", " // @mma") + commit("full"))) +
                      wait("full", "0") + kConsume + end(128));
  };
  const std::string arrive = "mbarrier.arrive.shared::cta.b64 _, [empty];\n";
  EXPECT_THAT(said(waited("cp.async.wait_group 1;\n" + arrive)), IsEmpty());
  EXPECT_THAT(said(waited("cp.async.wait_all;\n" + arrive)), IsEmpty());
  EXPECT_THAT(said(waited("cp.async.mbarrier.arrive.noinc.shared.b64 [empty];\n")), IsEmpty());
  EXPECT_THAT(said(waited("cp.async.wait_group 2;\n" + arrive)), ElementsAre("error tmem-operand-race @mma"));
  EXPECT_THAT(said(waited(arrive)), ElementsAre("error tmem-operand-race @mma"));
}

TEST(OperandRace, AnArriveStandsForTheLanesThatAreTogether) {
  // Lanes 16 to 31 store where lane 0 does not come; lane 0 arrives for all.
  auto kernel_with = [](const std::string& lanes, const std::string& between) {
    const std::string over = fresh_label();
    return ptx_kernel(begin(128, init("full", 1) + init("empty", 1)) +
                      where("%w1", "setp.ge.u32 %p1, %l, " + lanes + ";\n@!%p1 bra " + over +
                                       ";\nmov.u32 %r40, tile_a;\nst.shared.b32 [%r40], %l;\n" + over +
                                       ":\nfence.proxy.async.shared::cta;\n" + between +
                                       "setp.eq.u32 %p2, %l, 0;\n@%p2 mbarrier.arrive.shared::cta.b64 _, [empty]; // "
                                       "@arrive\n") +
                      where("%w0", elected(wait("empty", "0") + mma("%ta", "%no", " // @mma") + commit("full"))) +
                      wait("full", "0") + kConsume + end(128));
  };
  EXPECT_THAT(said(kernel_with("16", "bar.warp.sync 0xffffffff;\n")), IsEmpty());
  EXPECT_THAT(said(kernel_with("0", "")), IsEmpty());
  EXPECT_THAT(said(kernel_with("16", "")), ElementsAre("error tmem-operand-race @arrive"));
}

TEST(OperandRace, AProxyFenceCoversTheLanesThatExecuteIt) {
  auto kernel_with = [](const std::string& before, const std::string& guard) {
    return ptx_kernel(begin(128, init("full", 1)) +
                      where("%w1",
                            "mov.u32 %r40, tile_a;\nmad.lo.u32 %r40, %l, 4, %r40;\nst.shared.b32 [%r40], %t;\n"
                            "setp.eq.u32 %p2, %l, 0;\n" +
                                before + guard + "fence.proxy.async.shared::cta;\n") +
                      join() + produce() + wait("full", "0") + kConsume + end(128));
  };
  EXPECT_THAT(said(kernel_with("", "")), IsEmpty());
  EXPECT_THAT(said(kernel_with("bar.warp.sync 0xffffffff;\n", "@%p2 ")), IsEmpty());
  EXPECT_THAT(said(kernel_with("", "@%p2 ")), ElementsAre("warning tmem-proxy-fence @mma"));
}

TEST(MatrixRows, FollowTheSwizzleOfAKMajorMatrix) {
  ptx::Form form;
  form.op = ptx::Tcgen05::kMma;
  form.kind = ptx::MmaKind::kF16;
  form.cta_group = 1;
  constexpr uint32_t kPlain = 0x08200490;  // M = 128, N = 128, both K-major
  const ptx::MatrixRows a = ptx::matrix_rows(0x4000404000010040, kPlain, form, false);
  EXPECT_EQ(a.count, 128u);
  EXPECT_EQ(a.begin_of(0), 0x400u);
  EXPECT_EQ(a.begin_of(1), 0x400u + 128 + 16);
  EXPECT_EQ(a.begin_of(9), 0x400u + 1024 + 128 + 16);
  EXPECT_EQ(ptx::matrix_rows(0x4000404000010040, kPlain | (1u << 15), form, false).count, 0u);
  EXPECT_EQ(ptx::matrix_rows(0x4000404000010040, std::nullopt, form, false).count, 0u);
}

}  // namespace
}  // namespace tmemlint
