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

}  // namespace
}  // namespace tmemlint::test
