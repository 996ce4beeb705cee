// The block of a kernel that states none: the smallest one that has a warp for every tcgen05 instruction.
#include "tests/small_kernel.h"

namespace tmemlint::test {
namespace {

// The block that the analysis of a kernel without .reqntid comes to, in threads.
uint32_t block_of(const std::string& body) {
  std::string text = ptx_kernel(body);
  const std::string stated = "    .reqntid 128,1,1\n";
  text.erase(text.find(stated), stated.size());
  return joint_of(text).analysis->launch.threads();
}

// Warp `number` allocates and frees by itself.
std::string role(const std::string& number) {
  const std::string out = fresh_label();
  return "setp.ne.u32 %p1, %w, " + number + ";\n@%p1 bra " + out +
         ";\ntcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 32;\nld.shared.u32 %r90, [slot];\n"
         "tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r90, 32;\n" +
         out + ":\n";
}

TEST(InferredBlock, HasAWarpForEveryRole) {
  EXPECT_EQ(block_of(role("3")), 128u);
  EXPECT_EQ(block_of(role("4")), 160u);
  EXPECT_EQ(block_of(role("5")), 192u);
  EXPECT_EQ(block_of(role("9")), 320u);
  EXPECT_EQ(block_of(role("12")), 416u);
  EXPECT_EQ(block_of(role("17")), 640u);
  EXPECT_EQ(block_of(role("31")), 1024u);
  EXPECT_EQ(block_of(role("2") + role("7") + role("11")), 384u);
}

TEST(InferredBlock, IsNotEnlargedForWhatNoBlockReaches) {
  EXPECT_EQ(block_of(role("2") + role("40")), 128u);
  EXPECT_EQ(block_of(role("6") + role("40")), 224u);
}

// The last warp is there in every block, but a larger one does not show which warp that is in a smaller one.
TEST(InferredBlock, WhereWarpsAskHowManyTheyAre) {
  const std::string last = "mov.u32 %r91, %ntid.x;\nshr.u32 %r91, %r91, 5;\nsub.u32 %r91, %r91, 1;\n";
  EXPECT_EQ(block_of(last + role("%r91")), 128u);
  EXPECT_EQ(block_of(last + role("%r91") + role("6")), 224u);
}

// What waits under a flag counts too: the scenario that takes that way starves.
TEST(InferredBlock, HasTheWarpsThatAnyScenarioWaitsFor) {
  EXPECT_EQ(block_of("setp.ne.u32 %p4, %t, 0;\n@%p4 bra READY;\nmbarrier.init.shared::cta.b64 [full], 192;\nREADY:\n"
                     "bar.sync 0;\nmbarrier.arrive.shared::cta.b64 _, [full];\nsetp.eq.u32 %p2, %n, 77;\n"
                     "@!%p2 bra SKIP;\nWAIT:\nmbarrier.try_wait.parity.shared::cta.b64 %p3, [full], 0;\n"
                     "@!%p3 bra WAIT;\nSKIP:\n" +
                     role("1")),
            192u);
}

// The cluster that the analysis of a kernel comes to that states none.
ptx::Dimensions cluster_of(const std::string& body) {
  return joint_of(ptx_kernel(body + role("1"))).analysis->launch.cluster;
}

TEST(InferredCluster, HasTheCtasThatTheCodeNames) {
  EXPECT_EQ(cluster_of("").count(), 1u);
  EXPECT_EQ(cluster_of("mapa.shared::cluster.u32 %remote, %r1, 1;\n").count(), 2u);
  EXPECT_EQ(cluster_of("mov.b32 %r1, 5;\nmapa.shared::cluster.u32 %remote, %r0, %r1;\n").count(), 8u);
  EXPECT_EQ(cluster_of("setp.eq.u32 %p5, %rank, 3;\n").count(), 4u);
  EXPECT_EQ(cluster_of("setp.lt.u32 %p5, %rank, 3;\n").count(), 1u) << "says nothing of a fourth one";
  const ptx::Dimensions both = cluster_of(
      "mov.u32 %r1, %cluster_ctaid.y;\nsetp.ne.u32 %p5, %r1, 1;\nmov.u32 %r2, %cluster_ctarank;\n"
      "setp.eq.u32 %p6, %r2, 3;\n");
  EXPECT_EQ(both.x, 2u);
  EXPECT_EQ(both.y, 2u);
}

}  // namespace
}  // namespace tmemlint::test
