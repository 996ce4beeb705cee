// tmem-descriptor over small kernels: descriptors that are known whole, in part, or in several values, and the lanes of
// operands in Tensor Memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "analyzer/engine.h"

namespace tmemlint {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// What the rule says of these instructions. %ta is the address of 256 columns, %id a legal descriptor of .kind::f16
// (M = 128, N = 128, bf16), %a and %b are legal descriptors of shared memory whose lower half is unknown, %n is a
// parameter, %p false.
std::vector<std::string> said(const std::string& body, const std::string& target = "sm_100a") {
  const std::string text = ".version 9.0\n.target " + target + R"(
.address_size 64
.visible .entry k(.param .u32 n)
    .reqntid 32,1,1
{
    .shared .align 16 .b8 slot[16];
    .reg .pred %p, %q;
    .reg .b32 %ta, %id, %n, %lo, %r<20>;
    .reg .b64 %a, %b, %d<10>;
    tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 256;
    ld.shared.b32 %ta, [slot];
    ld.param.u32 %n, [n];
    setp.ne.u32 %q, %n, 0;
    setp.ne.b32 %p, 0, 0;
    mov.b32 %id, 0x08200490;
    and.b32 %lo, %n, 0x3fff;
    cvt.u64.u32 %a, %lo;
    or.b64 %a, %a, 0x4000404000010000;
    mov.b64 %b, %a;
)" + body + R"(
    tcgen05.dealloc.cta_group::1.sync.aligned.b32 %ta, 256;
    ret;
}
)";
  Options options;
  options.enabled = [](std::string_view rule) { return rule == "tmem-descriptor"; };
  report::Results results;
  lint(std::make_shared<const ptx::SourceText>("k.ptx", text), options, results);
  EXPECT_THAT(results.errors, IsEmpty()) << text;
  std::vector<std::string> out;
  for (const report::Finding& f : results.findings) {
    EXPECT_EQ(f.level, report::Level::kError);
    out.push_back(f.message);
  }
  return out;
}

const std::string kF16 = "tcgen05.mma.cta_group::1.kind::f16 [%ta], %a, %b, %id, %p;";

TEST(DescriptorRule, LegalOnesAreQuiet) {
  EXPECT_THAT(said(kF16), IsEmpty());
  EXPECT_THAT(said("tcgen05.cp.cta_group::1.128x256b [%ta], %a;"), IsEmpty());
}

TEST(DescriptorRule, ImmediatesAndRegisters) {
  EXPECT_THAT(said("tcgen05.mma.cta_group::1.kind::f16 [%ta], %a, %b, 0xc200490, %p;"),
              ElementsAre(AllOf(HasSubstr("0xc200490"), HasSubstr("M = 192"), HasSubstr("64 or 128"))));
  EXPECT_THAT(said("or.b32 %id, %id, 4;" + kF16), ElementsAre(HasSubstr("says sparse")));
  // All that is wrong with one descriptor is one finding.
  EXPECT_THAT(said("mov.b32 %id, 0x10;" + kF16), ElementsAre(AllOf(HasSubstr("M = 0"), HasSubstr("N = 0"))));
  EXPECT_THAT(said("tcgen05.cp.cta_group::1.128x256b [%ta], 0;"), ElementsAre(HasSubstr("bits 46 to 48")));
}

TEST(DescriptorRule, UnknownIsSilent) {
  EXPECT_THAT(said("mov.b32 %id, %n;" + kF16), IsEmpty());
  EXPECT_THAT(said("cvt.u64.u32 %a, %n; shl.b64 %a, %a, 32;" + kF16), IsEmpty());
}

TEST(DescriptorRule, SeveralValues) {
  // M = 192 or M = 128: it may be legal.
  EXPECT_THAT(said("selp.b32 %id, 0x0c200490, %id, %q;" + kF16), IsEmpty());
  // M = 192 either way.
  EXPECT_THAT(said("selp.b32 %id, 0x0c200490, 0x0c100490, %q;" + kF16), ElementsAre(HasSubstr("M = 192")));
  // M = 192, or N = 264: illegal for different reasons.
  EXPECT_THAT(said("selp.b32 %id, 0x0c200490, 0x08420490, %q;" + kF16),
              ElementsAre(HasSubstr("whichever of its 2 values")));
  // By a branch instead of a selection: legal on one way; illegal on both.
  EXPECT_THAT(said("@%q bra OVER;\nmov.b32 %id, 0x0c200490;\nOVER:\n" + kF16), IsEmpty());
  EXPECT_THAT(said("mov.b32 %id, 0x0c100490;\n@%q bra OVER;\nmov.b32 %id, 0x0c200490;\nOVER:\n" + kF16),
              ElementsAre(HasSubstr("M = 192")));
}

TEST(DescriptorRule, PartsOfASharedMemoryDescriptor) {
  // The upper half alone, put together as two registers.
  EXPECT_THAT(said("mov.b32 %r1, 0x60004040; mov.b64 %a, {%n, %r1};" + kF16), ElementsAre(HasSubstr("mode 3")));
  EXPECT_THAT(said("mov.b32 %r1, 0x40004040; mov.b64 %a, {%n, %r1};" + kF16), IsEmpty());
  // Advanced along K: a carry out of the lower half cannot reach what is judged.
  EXPECT_THAT(said("add.s64 %a, %a, 2;" + kF16), IsEmpty());
  EXPECT_THAT(said("or.b64 %d1, %a, 0x2000000000000000; add.s64 %b, %d1, 2;" + kF16),
              ElementsAre(AllOf(HasSubstr("descriptor of B"), HasSubstr("mode 3"))));
  // One bit that may be set.
  EXPECT_THAT(said("and.b32 %r1, %n, 1; cvt.u64.u32 %d1, %r1; shl.b64 %d1, %d1, 61; or.b64 %a, %a, %d1;" + kF16),
              IsEmpty());
  // Wrong whichever value that bit has: modes 5 and 7.
  EXPECT_THAT(
      said("and.b32 %r1, %n, 1; cvt.u64.u32 %d1, %r1; shl.b64 %d1, %d1, 62; or.b64 %a, %d1, 0xa000404000010000;" +
           kF16),
      ElementsAre(AllOf(HasSubstr("whichever of its 2 values"), HasSubstr("mode 5"))));
  EXPECT_THAT(said("or.b64 %a, %a, 0x0010000000000000;" + kF16), ElementsAre(HasSubstr("bit 52")));
  EXPECT_THAT(said("or.b64 %a, %a, 0x0010000000000000;" + kF16, "sm_103a"), IsEmpty());
}

TEST(DescriptorRule, TransposedOperands) {
  const std::string tf32 = "tcgen05.mma.cta_group::1.kind::tf32 [%ta], %a, %b, %id, %p;";
  // tf32 for A, B and f32 for D; bit 15 transposes A.
  EXPECT_THAT(said("mov.b32 %id, 0x08200910;" + tf32), IsEmpty());
  EXPECT_THAT(said("mov.b32 %id, 0x08208910;" + tf32), ElementsAre(HasSubstr("descriptor of A")));
  EXPECT_THAT(said("mov.b32 %id, 0x08208910; xor.b64 %a, %a, 0x6000000000000000;" + tf32), IsEmpty());  // mode 1
  EXPECT_THAT(said("mov.b32 %id, 0x08210490; xor.b64 %b, %b, 0x6000000000000000;" + kF16),
              ElementsAre(HasSubstr("descriptor of B")));
}

TEST(DescriptorRule, ScaleFactorIdsMayBeOpen) {
  const std::string mx =
      "tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale [%ta], %a, %b, %id, [%ta+128], [%ta+132], %p;";
  // Scale type ue8m0, M = 128; the ids come from a parameter.
  const std::string ids = "and.b32 %r1, %n, 3; shl.b32 %r2, %r1, 29; or.b32 %id, %r2, ";
  EXPECT_THAT(said(ids + "0x08a00000;" + mx), IsEmpty());
  EXPECT_THAT(said(ids + "0x08200000;" + mx), ElementsAre(HasSubstr("scale type")));
}

TEST(DescriptorRule, LanesOfOperands) {
  const std::string at16 = "add.u32 %r1, %ta, 0x00100000;";
  const std::string m64 = "mov.b32 %id, 0x04200490;";
  EXPECT_THAT(said(at16 + "tcgen05.mma.cta_group::1.kind::f16 [%r1], %a, %b, %id, %p;"),
              ElementsAre(AllOf(HasSubstr("`d-tmem`"), HasSubstr("lane 16"), HasSubstr("M = 128"))));
  EXPECT_THAT(said(m64 + at16 + "tcgen05.mma.cta_group::1.kind::f16 [%r1], %a, %b, %id, %p;"), IsEmpty());
  EXPECT_THAT(said(m64 + "add.u32 %r1, %ta, 0x00080000; tcgen05.mma.cta_group::1.kind::f16 [%r1], %a, %b, %id, %p;"),
              ElementsAre(HasSubstr("0 or 16")));
  // D in the upper half and A in the lower one.
  EXPECT_THAT(said(m64 + at16 + "tcgen05.mma.cta_group::1.kind::f16 [%r1], [%ta+128], %b, %id, %p;"),
              ElementsAre(AllOf(HasSubstr("`a-tmem`"), HasSubstr("same half"))));
  EXPECT_THAT(said(m64 + at16 + "tcgen05.mma.cta_group::1.kind::f16 [%r1], [%r1+128], %b, %id, %p;"), IsEmpty());
  // With an unknown shape, what no shape allows.
  EXPECT_THAT(said("mov.b32 %id, %n;" + at16 + "tcgen05.mma.cta_group::1.kind::f16 [%r1], %a, %b, %id, %p;"),
              IsEmpty());
  EXPECT_THAT(said("mov.b32 %id, %n; add.u32 %r1, %ta, 0x00200000;"
                   "tcgen05.mma.cta_group::1.kind::f16 [%r1], %a, %b, %id, %p;"),
              ElementsAre(HasSubstr("lane 32")));
  EXPECT_THAT(said("tcgen05.shift.cta_group::1.down [%ta];"), IsEmpty());
  EXPECT_THAT(said(at16 + "tcgen05.shift.cta_group::1.down [%r1];"), ElementsAre(HasSubstr("multiple of 32")));
}

}  // namespace
}  // namespace tmemlint
