// Descriptors whose bits were put together by hand from the ISA's tables.
#include "analyzer/ptx/descriptor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tmemlint::ptx {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Form mma(MmaKind kind, unsigned group = 1) {
  Form form;
  form.op = Tcgen05::kMma;
  form.kind = kind;
  form.cta_group = static_cast<uint8_t>(group);
  form.block_scale = kind == MmaKind::kMxf8f6f4 || kind == MmaKind::kMxf4 || kind == MmaKind::kMxf4nvf4;
  if (form.block_scale) form.scale_factors = kind == MmaKind::kMxf8f6f4 ? 1 : 2;
  return form;
}

// f16 in, f32 out: D type 1 at bit 4, N at bit 17 in eights, M at bit 24 in sixteens.
constexpr uint32_t plain(unsigned m, unsigned n) {
  return 1u << 4 | (n / 8) << 17 | (m / 16) << 24;
}
constexpr uint32_t mx(unsigned m, unsigned n) {
  return 1u << 23 | (n / 8) << 17 | (m / 128) << 27;
}
constexpr uint32_t mx4(unsigned m, unsigned n) {
  return mx(m, n) | 1u << 7 | 1u << 10;
}

TEST(Idesc, Fields) {
  static_assert(plain(128, 128) == 0x8200010);
  std::string text;
  for (const DescriptorField& field : decode_idesc(0x8200010, MmaKind::kF16)) {
    if (field.value != 0) text += std::string(field.name) + "=" + field.meaning + " ";
  }
  EXPECT_EQ(text, "D type=f32 N=128 M=128 ");
  unsigned next = 0;  // every bit once
  for (MmaKind kind : {MmaKind::kI8, MmaKind::kMxf8f6f4, MmaKind::kMxf4nvf4}) {
    next = 0;
    for (const DescriptorField& field : decode_idesc(0, kind)) {
      EXPECT_EQ(field.lo, next);
      next = field.hi + 1;
    }
    EXPECT_EQ(next, 32u);
  }
}

TEST(Idesc, LegalShapes) {
  for (unsigned m : {64u, 128u}) {
    for (unsigned n = 8; n <= 256; n += 8) {
      EXPECT_THAT(judge_idesc(plain(m, n), mma(MmaKind::kF16), "sm_100a"), IsEmpty()) << m << " " << n;
    }
  }
  for (unsigned m : {128u, 256u}) {
    for (unsigned n = 16; n <= 256; n += 16) {
      EXPECT_THAT(judge_idesc(plain(m, n), mma(MmaKind::kF16, 2), "sm_100a"), IsEmpty()) << m << " " << n;
      EXPECT_THAT(judge_idesc(mx(m, n), mma(MmaKind::kMxf8f6f4, 2), "sm_100a"), IsEmpty()) << m << " " << n;
      EXPECT_THAT(judge_idesc(mx4(m, n), mma(MmaKind::kMxf4, 2), "sm_100a"), IsEmpty()) << m << " " << n;
    }
  }
  Form ws = mma(MmaKind::kF16);
  ws.weight_stationary = true;
  EXPECT_THAT(judge_idesc(plain(32, 256), ws, "sm_100a"), IsEmpty());
  ws.sparse = true;
  EXPECT_THAT(judge_idesc(plain(32, 256) | 4, ws, "sm_100a"), ElementsAre(HasSubstr("N = 256")));
}

TEST(Idesc, IllegalShapes) {
  const auto one = [](uint32_t idesc, const Form& form, const char* part) {
    EXPECT_THAT(judge_idesc(idesc, form, "sm_100a"), ElementsAre(HasSubstr(part)));
  };
  // The constants of the ptxas probes.
  one(0xc200010, mma(MmaKind::kF16), "M = 192");
  one(0x10200010, mma(MmaKind::kF16), "M = 256");
  one(0x4200010, mma(MmaKind::kF16, 2), "M = 64");
  one(0x8420010, mma(MmaKind::kF16), "N = 264");
  one(0x8020010, mma(MmaKind::kF16, 2), "N = 8 ");
  one(0x8200030, mma(MmaKind::kF16), "D type 3");
  one(0x8200390, mma(MmaKind::kF16), "A type 7");
  one(0x8200014, mma(MmaKind::kF16), "bit 2 says sparse");
  one(0x8200050, mma(MmaKind::kF16), "bit 6");
  EXPECT_THAT(judge_idesc(0, mma(MmaKind::kF16), "sm_100a"), testing::SizeIs(2));  // M and N; f16 for D is legal
  one(mx(128, 128) & ~(1u << 23), mma(MmaKind::kMxf8f6f4), "scale type");
  one(mx4(128, 128) | 1u << 15, mma(MmaKind::kMxf4), "transpose");
  one(mx4(256, 128), mma(MmaKind::kMxf4), "M = 256");
  Form shifted = mma(MmaKind::kF16);
  shifted.ashift = true;
  one(plain(64, 64), shifted, ".ashift");
  Form sparse = mma(MmaKind::kF16);
  sparse.sparse = true;
  one(plain(64, 64), sparse, "says dense");
}

TEST(Idesc, Types) {
  const uint32_t i8 = (plain(128, 24) & ~0x30u) | 2u << 4;
  EXPECT_THAT(judge_idesc(i8, mma(MmaKind::kI8), "sm_100a"), IsEmpty());
  EXPECT_THAT(judge_idesc((plain(128, 40) & ~0x30u) | 2u << 4, mma(MmaKind::kI8), "sm_100a"),
              ElementsAre(HasSubstr("N = 40")));
  EXPECT_THAT(judge_idesc(i8 | 1u << 13, mma(MmaKind::kI8), "sm_100a"), ElementsAre(HasSubstr("negate")));
  EXPECT_THAT(judge_idesc(plain(128, 128), mma(MmaKind::kTf32), "sm_100a"),
              ElementsAre(HasSubstr("A type 0"), HasSubstr("B type 0")));
  EXPECT_THAT(judge_idesc(plain(128, 128) | 2u << 7 | 2u << 10, mma(MmaKind::kTf32), "sm_100a"), IsEmpty());
  // f16 accumulator with bf16 operands
  EXPECT_THAT(judge_idesc((plain(128, 128) & ~0x30u) | 1u << 7, mma(MmaKind::kF16), "sm_100a"),
              ElementsAre(HasSubstr("bf16")));
  // e4m3 B transposed: N in steps of 16
  EXPECT_THAT(judge_idesc(plain(128, 24) | 1u << 16, mma(MmaKind::kF8f6f4), "sm_100a"),
              ElementsAre(HasSubstr("N = 24")));
}

TEST(Idesc, ScaleFactorsAndK) {
  Form form = mma(MmaKind::kMxf4nvf4);
  const uint32_t ue4m3 = mx4(128, 128) & ~(1u << 23);
  EXPECT_THAT(judge_idesc(ue4m3, form, "sm_100a"), ElementsAre(HasSubstr("ue4m3")));
  form.scale_factors = 4;
  EXPECT_THAT(judge_idesc(ue4m3, form, "sm_100a"), IsEmpty());
  EXPECT_THAT(judge_idesc(ue4m3 | 1u << 29, form, "sm_100a"), ElementsAre(HasSubstr("scale factor A id is 1")));
  const uint32_t wide = ue4m3 | 1u << 31;
  EXPECT_THAT(judge_idesc(wide, form, "sm_100a"), ElementsAre(HasSubstr("K = 96")));
  EXPECT_THAT(judge_idesc(wide, form, "sm_103a"), IsEmpty());
  EXPECT_THAT(judge_idesc(plain(128, 128) | 1u << 29, mma(MmaKind::kF16), "sm_100a"), ElementsAre(HasSubstr("bit 29")));
  EXPECT_THAT(judge_idesc(plain(128, 128) | 1u << 29, mma(MmaKind::kF8f6f4), "sm_107f"), IsEmpty());
}

TEST(MmaShape, Columns) {
  const auto shape = [](uint32_t idesc, const Form& form) { return mma_shape(idesc, form); };
  MmaShape s = shape(plain(128, 128), mma(MmaKind::kF16));
  EXPECT_EQ(s.layout, 'D');
  EXPECT_EQ(s.d_columns, 128u);
  EXPECT_EQ(s.k, 16u);
  EXPECT_EQ(s.a_columns, 8u);
  EXPECT_FALSE(s.half_lanes);
  s = shape(plain(64, 128), mma(MmaKind::kF16));
  EXPECT_EQ(s.layout, 'F');
  EXPECT_EQ(s.d_columns, 128u);
  EXPECT_TRUE(s.half_lanes);
  s = shape(plain(128, 256), mma(MmaKind::kF16, 2));
  EXPECT_EQ(s.layout, 'B');
  EXPECT_EQ(s.d_columns, 128u);
  s = shape(plain(256, 256), mma(MmaKind::kF16, 2));
  EXPECT_EQ(s.layout, 'A');
  EXPECT_EQ(s.d_columns, 256u);
  Form sparse = mma(MmaKind::kTf32, 2);
  sparse.sparse = true;
  s = shape(plain(128, 64) | 4, sparse);
  EXPECT_EQ(s.layout, 'C');
  EXPECT_EQ(s.d_columns, 64u);
  EXPECT_EQ(s.k, 16u);
  Form ws = mma(MmaKind::kI8);
  ws.weight_stationary = true;
  s = shape(plain(64, 128), ws);
  EXPECT_EQ(s.layout, 'E');
  EXPECT_EQ(s.d_columns, 64u);
  s = shape(plain(32, 128), ws);
  EXPECT_EQ(s.layout, 'G');
  EXPECT_EQ(s.d_columns, 32u);
  EXPECT_EQ(s.k, 32u);
  s = shape(mx4(128, 64) | 1u << 31, mma(MmaKind::kMxf4));
  EXPECT_EQ(s.k, 96u);
  EXPECT_EQ(s.a_columns, 12u);
  EXPECT_EQ(shape(0, mma(MmaKind::kF16)).d_columns, 0u);
}

TEST(SmemDescriptor, FieldsAndProblems) {
  // 128-byte swizzle, 1024 bytes between groups of eight rows, leading offset 16 bytes, start at 0x400.
  const uint64_t good = uint64_t{2} << 61 | uint64_t{1} << 46 | uint64_t{1024 / 16} << 32 | uint64_t{1} << 16 | 0x40;
  EXPECT_THAT(judge_smem_descriptor(good, ~uint64_t{0}, "sm_100a"), IsEmpty());
  std::string text;
  for (const DescriptorField& field : decode_smem_descriptor(good)) {
    if (!field.meaning.empty()) text += field.meaning + ";";
  }
  EXPECT_EQ(text, "1024;16;1024;0;relative offset;128 bytes;");
  EXPECT_THAT(judge_smem_descriptor(uint64_t{3} << 61, ~uint64_t{0}, "sm_100a"),
              ElementsAre(HasSubstr("bits 46 to 48"), HasSubstr("swizzle mode 3")));
  // Only the upper half is known.
  EXPECT_THAT(judge_smem_descriptor(uint64_t{5} << 61 | uint64_t{1} << 46, 0xffffffff00000000, "sm_100a"),
              ElementsAre(HasSubstr("swizzle mode 5")));
  // Nothing that would decide anything is known.
  EXPECT_THAT(judge_smem_descriptor(0, 0xffffffff, "sm_100a"), IsEmpty());
  EXPECT_THAT(judge_smem_descriptor(uint64_t{7} << 61, uint64_t{3} << 61, "sm_100a"), IsEmpty());
  const uint64_t absolute = good | uint64_t{1} << 52;
  EXPECT_THAT(judge_smem_descriptor(absolute, ~uint64_t{0}, "sm_100a"), ElementsAre(HasSubstr("bit 52")));
  EXPECT_THAT(judge_smem_descriptor(absolute, ~uint64_t{0}, "sm_103a"), IsEmpty());
  EXPECT_THAT(judge_smem_descriptor(absolute ^ uint64_t{6} << 61, ~uint64_t{0}, "sm_103a"),
              ElementsAre(HasSubstr("128-byte swizzle")));
}

}  // namespace
}  // namespace tmemlint::ptx
