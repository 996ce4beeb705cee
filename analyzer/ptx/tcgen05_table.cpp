// The words, the instructions, where they exist and what they exist on, row by row (tcgen05_table.h says how they are
// read).
// Long because it is one table.
#include "analyzer/ptx/tcgen05_table.h"

#include <algorithm>
#include <array>
#include <vector>

namespace tmemlint::ptx {
namespace {

using sv = std::string_view;
using Test = When::Test;
using Need = Combination::Need;

template <typename Enum>
constexpr uint16_t code(Enum value) {
  return static_cast<uint16_t>(value);
}

constexpr Word kWords[] = {
    {"cta_group::1", Class::kCtaGroup, 1},
    {"cta_group::2", Class::kCtaGroup, 2},
    {"sync", Class::kSync},
    {"aligned", Class::kAligned},
    {"shared", Class::kSpace},
    {"shared::cta", Class::kSpace},
    {"shared::cluster", Class::kSpace},
    {"global", Class::kSpace},
    {"local", Class::kSpace},
    {"const", Class::kSpace},
    {"param", Class::kSpace},
    {"b8", Class::kType},
    {"b16", Class::kType},
    {"b32", Class::kType},
    {"b64", Class::kType},
    {"b128", Class::kType},
    {"u8", Class::kType},
    {"u16", Class::kType},
    {"u32", Class::kType},
    {"u64", Class::kType},
    {"s8", Class::kType},
    {"s16", Class::kType},
    {"s32", Class::kType},
    {"s64", Class::kType},
    {"f16", Class::kType},
    {"bf16", Class::kType},
    {"f16x2", Class::kType},
    {"bf16x2", Class::kType},
    {"tf32", Class::kType},
    {"f32", Class::kType},
    {"f64", Class::kType},
    {"pred", Class::kType},
    {"32x32b", Class::kShape, code(LdStShape::k32x32b)},
    {"16x64b", Class::kShape, code(LdStShape::k16x64b)},
    {"16x128b", Class::kShape, code(LdStShape::k16x128b)},
    {"16x256b", Class::kShape, code(LdStShape::k16x256b)},
    {"16x32bx2", Class::kShape, code(LdStShape::k16x32bx2)},
    {"128x256b", Class::kCpShape, code(CpShape::k128x256b)},
    {"4x256b", Class::kCpShape, code(CpShape::k4x256b)},
    {"128x128b", Class::kCpShape, code(CpShape::k128x128b)},
    {"64x128b", Class::kCpShape, code(CpShape::k64x128b)},
    {"32x128b", Class::kCpShape, code(CpShape::k32x128b)},
    {"x1", Class::kNum, 1},
    {"x2", Class::kNum, 2},
    {"x4", Class::kNum, 4},
    {"x8", Class::kNum, 8},
    {"x16", Class::kNum, 16},
    {"x32", Class::kNum, 32},
    {"x64", Class::kNum, 64},
    {"x128", Class::kNum, 128},
    {"pack::16b", Class::kPack},
    {"unpack::16b", Class::kPack},
    {"min", Class::kReduction},
    {"max", Class::kReduction},
    {"abs", Class::kAbs},
    {"NaN", Class::kNan},
    {"exclusive", Class::kExclusive},
    {"warpx2::02_13", Class::kWarps},
    {"warpx2::01_23", Class::kWarps},
    {"warpx4", Class::kWarps},
    {"b8x16", Class::kDstFormat},
    {"b6x16_p32", Class::kSrcFormat},
    {"b4x16_p64", Class::kSrcFormat},
    {"down", Class::kDown},
    {"kind::f16", Class::kKind, code(MmaKind::kF16)},
    {"kind::tf32", Class::kKind, code(MmaKind::kTf32)},
    {"kind::f8f6f4", Class::kKind, code(MmaKind::kF8f6f4)},
    {"kind::i8", Class::kKind, code(MmaKind::kI8)},
    {"kind::mxf8f6f4", Class::kKind, code(MmaKind::kMxf8f6f4)},
    {"kind::mxf4", Class::kKind, code(MmaKind::kMxf4)},
    {"kind::mxf4nvf4", Class::kKind, code(MmaKind::kMxf4nvf4)},
    {"kind::ti16", Class::kKind, code(MmaKind::kTi16)},
    {"sp", Class::kSparse},
    {"block_scale", Class::kBlockScale},
    {"scale_vec::1X", Class::kScaleVector, 1},
    {"scale_vec::2X", Class::kScaleVector, 2},
    {"scale_vec::4X", Class::kScaleVector, 4},
    {"block16", Class::kScaleVector, 4},
    {"block32", Class::kScaleVector},
    {"ashift", Class::kAshift},
    {"collector::a::fill", Class::kCollectorA},
    {"collector::a::use", Class::kCollectorA},
    {"collector::a::lastuse", Class::kCollectorA},
    {"collector::a::discard", Class::kCollectorA},
    {"collector::b::fill", Class::kCollectorB},
    {"collector::b::use", Class::kCollectorB},
    {"collector::b::lastuse", Class::kCollectorB},
    {"collector::b::discard", Class::kCollectorB},
    {"collector::b0::fill", Class::kCollectorB},
    {"collector::b0::use", Class::kCollectorB},
    {"collector::b0::lastuse", Class::kCollectorB},
    {"collector::b0::discard", Class::kCollectorB},
    {"collector::b1::fill", Class::kCollectorB},
    {"collector::b1::use", Class::kCollectorB},
    {"collector::b1::lastuse", Class::kCollectorB},
    {"collector::b1::discard", Class::kCollectorB},
    {"collector::b2::fill", Class::kCollectorB},
    {"collector::b2::use", Class::kCollectorB},
    {"collector::b2::lastuse", Class::kCollectorB},
    {"collector::b2::discard", Class::kCollectorB},
    {"collector::b3::fill", Class::kCollectorB},
    {"collector::b3::use", Class::kCollectorB},
    {"collector::b3::lastuse", Class::kCollectorB},
    {"collector::b3::discard", Class::kCollectorB},
    {"decompress::lut::b", Class::kDecompress},
    {"mbarrier::arrive::one", Class::kArrive},
    {"multicast::cluster", Class::kMulticast, 16},
    {"multicast::cluster::16b", Class::kMulticast, 16},
    {"multicast::cluster::32b", Class::kMulticast, 32},
    {"sync_restrict::shared::read::mma::a", Class::kSyncRestrict},
    {"spcompress", Class::kSpCompress},
    {"sp::2:4", Class::kSpPattern},
    {"b2", Class::kMetadataType},
};

// Sets of words.
constexpr sv kGroups[] = {"cta_group::1", "cta_group::2"};
constexpr sv kGroup1[] = {"cta_group::1"};
constexpr sv kSync[] = {"sync"};
constexpr sv kAligned[] = {"aligned"};
constexpr sv kSharedCta[] = {"shared::cta"};
constexpr sv kSharedCluster[] = {"shared::cluster"};
constexpr sv kB32[] = {"b32"};
constexpr sv kB64[] = {"b64"};
constexpr sv kF32[] = {"f32"};
constexpr sv kB32F32[] = {"b32", "f32"};
constexpr sv kRedTypes[] = {"f32", "u32", "s32"};
constexpr sv kIntTypes[] = {"u32", "s32"};
constexpr sv kLdShapes[] = {"32x32b", "16x64b", "16x128b", "16x256b", "16x32bx2"};
constexpr sv kRedShapes[] = {"32x32b", "16x32bx2"};
constexpr sv k32x32b[] = {"32x32b"};
constexpr sv k16x128b[] = {"16x128b"};
constexpr sv k16x256b[] = {"16x256b"};
constexpr sv k16x32bx2[] = {"16x32bx2"};
constexpr sv kNums[] = {"x1", "x2", "x4", "x8", "x16", "x32", "x64", "x128"};
constexpr sv kNumsFrom2[] = {"x2", "x4", "x8", "x16", "x32", "x64", "x128"};
constexpr sv kNumsFrom4[] = {"x4", "x8", "x16", "x32", "x64", "x128"};
constexpr sv kNumsTo64[] = {"x1", "x2", "x4", "x8", "x16", "x32", "x64"};
constexpr sv kNumsTo32[] = {"x1", "x2", "x4", "x8", "x16", "x32"};
constexpr sv kPack[] = {"pack::16b"};
constexpr sv kUnpack[] = {"unpack::16b"};
constexpr sv kRedOps[] = {"min", "max"};
constexpr sv kAbs[] = {"abs"};
constexpr sv kNan[] = {"NaN"};
constexpr sv kExclusive[] = {"exclusive"};
constexpr sv kCpShapes[] = {"128x256b", "4x256b", "128x128b", "64x128b", "32x128b"};
constexpr sv kCpFullShapes[] = {"128x256b", "4x256b", "128x128b"};
constexpr sv kCp64[] = {"64x128b"};
constexpr sv kCp32[] = {"32x128b"};
constexpr sv kWarps[] = {"warpx2::02_13", "warpx2::01_23", "warpx4"};
constexpr sv kWarpx2[] = {"warpx2::02_13", "warpx2::01_23"};
constexpr sv kWarpx4[] = {"warpx4"};
constexpr sv kDstFormats[] = {"b8x16"};
constexpr sv kSrcFormats[] = {"b6x16_p32", "b4x16_p64"};
constexpr sv kDown[] = {"down"};
constexpr sv kKinds[] = {"kind::f16",      "kind::tf32", "kind::f8f6f4",   "kind::i8",
                         "kind::mxf8f6f4", "kind::mxf4", "kind::mxf4nvf4", "kind::ti16"};
constexpr sv kWsKinds[] = {"kind::f16", "kind::tf32", "kind::f8f6f4", "kind::i8"};
constexpr sv kKindsBesidesI8[] = {"kind::f16",      "kind::tf32", "kind::f8f6f4",  "kind::ti16",
                                  "kind::mxf8f6f4", "kind::mxf4", "kind::mxf4nvf4"};
constexpr sv kPlainKinds[] = {"kind::f16", "kind::tf32", "kind::f8f6f4", "kind::i8", "kind::ti16"};
constexpr sv kMxKinds[] = {"kind::mxf8f6f4", "kind::mxf4", "kind::mxf4nvf4"};
constexpr sv kMxf8f6f4[] = {"kind::mxf8f6f4"};
constexpr sv kMxf4[] = {"kind::mxf4"};
constexpr sv kMxf4nvf4[] = {"kind::mxf4nvf4"};
constexpr sv kF8Kinds[] = {"kind::f8f6f4", "kind::mxf8f6f4"};
constexpr sv kF16Tf32[] = {"kind::f16", "kind::tf32"};
constexpr sv kSparse[] = {"sp"};
constexpr sv kBlockScale[] = {"block_scale"};
constexpr sv kScaleVectors[] = {"scale_vec::1X", "scale_vec::2X", "scale_vec::4X", "block16", "block32"};
constexpr sv kScalesOfMxf8[] = {"scale_vec::1X", "block32"};
constexpr sv kScalesOfMxf4[] = {"scale_vec::2X", "block32"};
constexpr sv kScalesOfNvf4[] = {"scale_vec::2X", "scale_vec::4X", "block16", "block32"};
constexpr sv kAshift[] = {"ashift"};
constexpr sv kCollectorA[] = {"collector::a::fill", "collector::a::use", "collector::a::lastuse",
                              "collector::a::discard"};
constexpr sv kCollectorAWithAshift[] = {"collector::a::lastuse", "collector::a::discard"};
constexpr sv kCollectorB[] = {"collector::b::fill", "collector::b::use", "collector::b::lastuse",
                              "collector::b::discard"};
constexpr sv kCollectorBn[] = {
    "collector::b0::fill", "collector::b0::use", "collector::b0::lastuse", "collector::b0::discard",
    "collector::b1::fill", "collector::b1::use", "collector::b1::lastuse", "collector::b1::discard",
    "collector::b2::fill", "collector::b2::use", "collector::b2::lastuse", "collector::b2::discard",
    "collector::b3::fill", "collector::b3::use", "collector::b3::lastuse", "collector::b3::discard"};
constexpr sv kDecompress[] = {"decompress::lut::b"};
constexpr sv kArrive[] = {"mbarrier::arrive::one"};
constexpr sv kMulticast[] = {"multicast::cluster", "multicast::cluster::16b", "multicast::cluster::32b"};
constexpr sv kSyncRestrict[] = {"sync_restrict::shared::read::mma::a"};
constexpr sv kSpCompress[] = {"spcompress"};
constexpr sv kSpPattern[] = {"sp::2:4"};
constexpr sv kB2[] = {"b2"};

constexpr When present(Class cls) {
  return {Test::kPresent, cls, {}};
}
constexpr When absent(Class cls) {
  return {Test::kAbsent, cls, {}};
}
constexpr When one_of(Class cls, std::span<const sv> set) {
  return {Test::kOneOf, cls, set};
}

// ---- alloc, dealloc, relinquish_alloc_permit (9.7.16.7)

constexpr Use kAllocUses[] = {
    {Class::kExclusive, false, kExclusive}, {Class::kCtaGroup, true, kGroups},  {Class::kSync, true, kSync},
    {Class::kAligned, true, kAligned},      {Class::kSpace, false, kSharedCta}, {Class::kType, true, kB32},
};
constexpr Use kDeallocUses[] = {
    {Class::kExclusive, false, kExclusive}, {Class::kCtaGroup, true, kGroups}, {Class::kSync, true, kSync},
    {Class::kAligned, true, kAligned},      {Class::kType, true, kB32},
};
constexpr Use kRelinquishUses[] = {
    {Class::kCtaGroup, true, kGroups},
    {Class::kSync, true, kSync},
    {Class::kAligned, true, kAligned},
};
constexpr Slot kAllocOperands[] = {
    {Role::kAddress, OperandKind::kSharedAddress, "dst"},
    {Role::kColumns, OperandKind::kColumns, "nCols"},
};
constexpr Slot kDeallocOperands[] = {
    {Role::kAddress, OperandKind::kTmemBase, "taddr"},
    {Role::kColumns, OperandKind::kColumns, "nCols"},
};

// ---- ld, ld.red, st, wait (9.7.16.8)

constexpr Use kLdUses[] = {
    {Class::kSpCompress, false, kSpCompress},
    {Class::kSync, true, kSync},
    {Class::kAligned, true, kAligned},
    {Class::kShape, true, kLdShapes},
    {Class::kNum, true, kNums},
    {Class::kReduction, false, kRedOps},
    {Class::kSpPattern, false, kSpPattern},
    {Class::kAbs, false, kAbs},
    {Class::kNan, false, kNan},
    {Class::kPack, false, kPack},
    {Class::kType, true, kB32F32},
    {Class::kMetadataType, false, kB2},
};
constexpr Use kLdRedUses[] = {
    {Class::kSpCompress, false, kSpCompress}, {Class::kSync, true, kSync},        {Class::kAligned, true, kAligned},
    {Class::kShape, true, kRedShapes},        {Class::kNum, true, kNumsFrom2},    {Class::kReduction, true, kRedOps},
    {Class::kSpPattern, false, kSpPattern},   {Class::kAbs, false, kAbs},         {Class::kNan, false, kNan},
    {Class::kType, true, kRedTypes},          {Class::kMetadataType, false, kB2},
};
constexpr Use kStUses[] = {
    {Class::kSync, true, kSync}, {Class::kAligned, true, kAligned}, {Class::kShape, true, kLdShapes},
    {Class::kNum, true, kNums},  {Class::kPack, false, kUnpack},    {Class::kType, true, kB32},
};
constexpr Use kWaitUses[] = {
    {Class::kSync, true, kSync},
    {Class::kAligned, true, kAligned},
};
constexpr sv kOnlyFloats = "`.abs` and `.NaN` exist for .f32 only";
constexpr sv kOnlyCompressing = "only a load with .spcompress has it";
constexpr Combination kLdCombinations[] = {
    {one_of(Class::kShape, k16x128b), Class::kNum, Need::kOneOf, kNumsTo64, "more would need over 128 registers"},
    {one_of(Class::kShape, k16x256b), Class::kNum, Need::kOneOf, kNumsTo32, "more would need over 128 registers"},
    {absent(Class::kSpCompress), Class::kType, Need::kOneOf, kB32},
    {absent(Class::kSpCompress), Class::kReduction, Need::kForbidden, {}, "only tcgen05.ld.red reduces"},
    {absent(Class::kSpCompress), Class::kSpPattern, Need::kForbidden, {}, kOnlyCompressing},
    {absent(Class::kSpCompress), Class::kAbs, Need::kForbidden, {}, "only tcgen05.ld.red has it"},
    {absent(Class::kSpCompress), Class::kNan, Need::kForbidden, {}, "only tcgen05.ld.red has it"},
    {absent(Class::kSpCompress), Class::kMetadataType, Need::kForbidden, {}, kOnlyCompressing},
    {present(Class::kSpCompress), Class::kShape, Need::kOneOf, k32x32b},
    {present(Class::kSpCompress), Class::kNum, Need::kOneOf, kNumsFrom4},
    {present(Class::kSpCompress), Class::kReduction, Need::kRequired},
    {present(Class::kSpCompress), Class::kSpPattern, Need::kRequired},
    {present(Class::kSpCompress), Class::kPack, Need::kForbidden},
    {present(Class::kSpCompress), Class::kType, Need::kOneOf, kF32},
    {present(Class::kSpCompress), Class::kMetadataType, Need::kRequired},
};
constexpr Combination kLdRedCombinations[] = {
    {one_of(Class::kType, kIntTypes), Class::kAbs, Need::kForbidden, {}, kOnlyFloats},
    {one_of(Class::kType, kIntTypes), Class::kNan, Need::kForbidden, {}, kOnlyFloats},
    {absent(Class::kSpCompress), Class::kSpPattern, Need::kForbidden, {}, kOnlyCompressing},
    {absent(Class::kSpCompress), Class::kMetadataType, Need::kForbidden, {}, kOnlyCompressing},
    {present(Class::kSpCompress), Class::kShape, Need::kOneOf, k32x32b},
    {present(Class::kSpCompress), Class::kNum, Need::kOneOf, kNumsFrom4},
    {present(Class::kSpCompress), Class::kSpPattern, Need::kRequired},
    {present(Class::kSpCompress), Class::kType, Need::kOneOf, kF32},
    {present(Class::kSpCompress), Class::kMetadataType, Need::kRequired},
};
constexpr Combination kStCombinations[] = {
    {one_of(Class::kShape, k16x128b), Class::kNum, Need::kOneOf, kNumsTo64, "more would need over 128 registers"},
    {one_of(Class::kShape, k16x256b), Class::kNum, Need::kOneOf, kNumsTo32, "more would need over 128 registers"},
};
constexpr Slot kLdOperands[] = {
    {Role::kCompressedMetadata, OperandKind::kSparseMetadata, "mdata", false, present(Class::kSpCompress)},
    {Role::kVector, OperandKind::kData, "r"},
    {Role::kAddress, OperandKind::kTmemAddress, "taddr"},
    {Role::kHalfOffset, OperandKind::kImmediate, "immHalfSplitoff", false, one_of(Class::kShape, k16x32bx2)},
};
constexpr Slot kLdRedOperands[] = {
    {Role::kCompressedMetadata, OperandKind::kSparseMetadata, "mdata", false, present(Class::kSpCompress)},
    {Role::kVector, OperandKind::kData, "r"},
    {Role::kReduction, OperandKind::kRegister32, "redval"},
    {Role::kAddress, OperandKind::kTmemAddress, "taddr"},
    {Role::kHalfOffset, OperandKind::kImmediate, "immHalfSplitoff", false, one_of(Class::kShape, k16x32bx2)},
};
constexpr Slot kStOperands[] = {
    {Role::kAddress, OperandKind::kTmemAddress, "taddr"},
    {Role::kHalfOffset, OperandKind::kImmediate, "immHalfSplitoff", false, one_of(Class::kShape, k16x32bx2)},
    {Role::kVector, OperandKind::kData, "r"},
};

// ---- cp, shift (9.7.16.9)

constexpr Use kCpUses[] = {
    {Class::kCtaGroup, true, kGroups},       {Class::kCpShape, true, kCpShapes},      {Class::kWarps, false, kWarps},
    {Class::kDstFormat, false, kDstFormats}, {Class::kSrcFormat, false, kSrcFormats},
};
constexpr Use kShiftUses[] = {
    {Class::kCtaGroup, true, kGroups},
    {Class::kDown, true, kDown},
};
constexpr Combination kCpCombinations[] = {
    {one_of(Class::kCpShape, kCpFullShapes),
     Class::kWarps,
     Need::kForbidden,
     {},
     "only .64x128b and .32x128b multicast"},
    {one_of(Class::kCpShape, kCp64), Class::kWarps, Need::kRequired, kWarpx2},
    {one_of(Class::kCpShape, kCp64), Class::kWarps, Need::kOneOf, kWarpx2},
    {one_of(Class::kCpShape, kCp32), Class::kWarps, Need::kRequired, kWarpx4},
    {one_of(Class::kCpShape, kCp32), Class::kWarps, Need::kOneOf, kWarpx4},
    {present(Class::kDstFormat), Class::kSrcFormat, Need::kRequired, kSrcFormats},
    {present(Class::kSrcFormat), Class::kDstFormat, Need::kRequired, kDstFormats},
    {present(Class::kSrcFormat), Class::kDstFormat, Need::kBefore},
};
constexpr Slot kCpOperands[] = {
    {Role::kAddress, OperandKind::kTmemAddress, "taddr"},
    {Role::kDescriptor, OperandKind::kDescriptor, "s-desc"},
};
constexpr Slot kShiftOperands[] = {
    {Role::kAddress, OperandKind::kTmemAddress, "taddr"},
};

// ---- mma, mma.ws (9.7.16.10)

constexpr Use kMmaUses[] = {
    {Class::kSparse, false, kSparse},
    {Class::kCtaGroup, true, kGroups},
    {Class::kKind, true, kKinds},
    {Class::kBlockScale, false, kBlockScale},
    {Class::kScaleVector, false, kScaleVectors},
    {Class::kAshift, false, kAshift},
    {Class::kCollectorA, false, kCollectorA},
    {Class::kCollectorB, false, kCollectorB},
    {Class::kDecompress, false, kDecompress},
};
constexpr Use kMmaWsUses[] = {
    {Class::kSparse, false, kSparse},
    {Class::kCtaGroup, true, kGroup1},
    {Class::kKind, true, kWsKinds},
    {Class::kCollectorB, false, kCollectorBn},
};
constexpr sv kScalesAreMx = "only block-scaled kinds have scale factors";
constexpr Combination kMmaCombinations[] = {
    {one_of(Class::kKind, kMxKinds), Class::kBlockScale, Need::kRequired, kBlockScale},
    {one_of(Class::kKind, kPlainKinds), Class::kBlockScale, Need::kForbidden, {}, kScalesAreMx},
    {absent(Class::kBlockScale), Class::kScaleVector, Need::kForbidden, {}, kScalesAreMx},
    {one_of(Class::kKind, kMxf8f6f4), Class::kScaleVector, Need::kOneOf, kScalesOfMxf8},
    {one_of(Class::kKind, kMxf4), Class::kScaleVector, Need::kOneOf, kScalesOfMxf4},
    {one_of(Class::kKind, kMxf4nvf4), Class::kScaleVector, Need::kRequired, kScalesOfNvf4},
    {one_of(Class::kKind, kMxf4nvf4), Class::kScaleVector, Need::kOneOf, kScalesOfNvf4},
    {present(Class::kBlockScale), Class::kAshift, Need::kForbidden, {}, "A is not shifted by block-scaled kinds"},
    {present(Class::kAshift), Class::kCollectorA, Need::kOneOf, kCollectorAWithAshift},
    {one_of(Class::kCollectorB, kCollectorB), Class::kKind, Need::kOneOf, kKindsBesidesI8, "no target has both"},
    {present(Class::kDecompress), Class::kKind, Need::kOneOf, kF8Kinds},
    {present(Class::kDecompress), Class::kSparse, Need::kForbidden},
};
constexpr Slot kMmaOperands[] = {
    {Role::kAddress, OperandKind::kTmemAddress, "d-tmem"},
    {Role::kA, OperandKind::kMatrixA, "a"},
    {Role::kB, OperandKind::kDescriptor, "b-desc"},
    {Role::kMetadata, OperandKind::kTmemAddress, "sp-meta-tmem", false, present(Class::kSparse)},
    {Role::kMetadata, OperandKind::kTmemAddress, "lut-meta-tmem", false, present(Class::kDecompress)},
    {Role::kIdesc, OperandKind::kIdesc, "idesc"},
    {Role::kScaleA, OperandKind::kTmemAddress, "scale-A-tmem", false, present(Class::kBlockScale)},
    {Role::kScaleB, OperandKind::kTmemAddress, "scale-B-tmem", false, present(Class::kBlockScale)},
    {Role::kDisableLanes, OperandKind::kLaneMask, "disable-output-lane", true, absent(Class::kBlockScale)},
    {Role::kEnableInputD, OperandKind::kPredicate, "enable-input-d"},
    {Role::kScaleD, OperandKind::kScaleInput, "scale-input-d", true, one_of(Class::kKind, kF16Tf32)},
};
constexpr Slot kMmaWsOperands[] = {
    {Role::kAddress, OperandKind::kTmemAddress, "d-tmem"},
    {Role::kA, OperandKind::kMatrixA, "a"},
    {Role::kB, OperandKind::kDescriptor, "b-desc"},
    {Role::kMetadata, OperandKind::kTmemAddress, "sp-meta-tmem", false, present(Class::kSparse)},
    {Role::kIdesc, OperandKind::kIdesc, "idesc"},
    {Role::kEnableInputD, OperandKind::kPredicate, "enable-input-d"},
    {Role::kZeroColumnMask, OperandKind::kDescriptor, "zero-column-mask-desc", true},
};

// ---- commit, fence (9.7.16.11, 9.7.16.12)

constexpr Use kCommitUses[] = {
    {Class::kCtaGroup, true, kGroups},
    {Class::kArrive, true, kArrive},
    {Class::kSyncRestrict, false, kSyncRestrict},
    {Class::kSpace, false, kSharedCluster},
    {Class::kMulticast, false, kMulticast},
    {Class::kType, true, kB64},
};
constexpr Slot kCommitOperands[] = {
    {Role::kAddress, OperandKind::kSharedAddress, "mbar"},
    {Role::kMask, OperandKind::kCtaMask, "ctaMask", false, present(Class::kMulticast)},
};

constexpr InstructionForm kForms[] = {
    {Tcgen05::kAlloc, "tcgen05.alloc", kAllocUses, {}, kAllocOperands},
    {Tcgen05::kDealloc, "tcgen05.dealloc", kDeallocUses, {}, kDeallocOperands},
    {Tcgen05::kRelinquish, "tcgen05.relinquish_alloc_permit", kRelinquishUses, {}, {}},
    {Tcgen05::kLdRed, "tcgen05.ld.red", kLdRedUses, kLdRedCombinations, kLdRedOperands},
    {Tcgen05::kLd, "tcgen05.ld", kLdUses, kLdCombinations, kLdOperands},
    {Tcgen05::kSt, "tcgen05.st", kStUses, kStCombinations, kStOperands},
    {Tcgen05::kWaitLd, "tcgen05.wait::ld", kWaitUses, {}, {}},
    {Tcgen05::kWaitSt, "tcgen05.wait::st", kWaitUses, {}, {}},
    {Tcgen05::kCp, "tcgen05.cp", kCpUses, kCpCombinations, kCpOperands},
    {Tcgen05::kShift, "tcgen05.shift", kShiftUses, {}, kShiftOperands},
    {Tcgen05::kMmaWs, "tcgen05.mma.ws", kMmaWsUses, {}, kMmaWsOperands},
    {Tcgen05::kMma, "tcgen05.mma", kMmaUses, kMmaCombinations, kMmaOperands},
    {Tcgen05::kCommit, "tcgen05.commit", kCommitUses, {}, kCommitOperands},
    {Tcgen05::kFenceBefore, "tcgen05.fence::before_thread_sync", {}, {}, {}},
    {Tcgen05::kFenceAfter, "tcgen05.fence::after_thread_sync", {}, {}, {}},
};

// One row for each Tcgen05 but kNone and kUnknown: without a row, an opcode would decode as kUnknown.
static_assert(std::size(kForms) == static_cast<size_t>(Tcgen05::kFenceAfter) - static_cast<size_t>(Tcgen05::kUnknown),
              "an instruction of Tcgen05 has no row in kForms, or kFenceAfter is not the last one any more");

// ---- availability (target notes of each section; release notes)

constexpr uint16_t kAll = k100a | k100f | k101a | k101f | k103a | k103f | k107a | k107f | k110a | k110f;
constexpr uint16_t kArchitectureSpecific = k100a | k101a | k103a | k107a | k110a;
constexpr uint16_t k107 = k107a | k107f;

constexpr TargetRow kTargets[] = {
    {"sm_100a", k100a, 806}, {"sm_100f", k100f, 808}, {"sm_101a", k101a, 806}, {"sm_101f", k101f, 808},
    {"sm_103a", k103a, 808}, {"sm_103f", k103f, 808}, {"sm_107a", k107a, 904}, {"sm_107f", k107f, 904},
    {"sm_110a", k110a, 900}, {"sm_110f", k110f, 900},
};

constexpr sv kNvf4[] = {"kind::mxf4nvf4"};
constexpr sv kI8[] = {"kind::i8"};
constexpr sv kTi16[] = {"kind::ti16"};
constexpr sv kFourBitKinds[] = {"kind::mxf4", "kind::mxf4nvf4"};
constexpr sv kScaleVecAny[] = {"scale_vec::1X", "scale_vec::2X", "scale_vec::4X"};
constexpr sv kScaleVec4[] = {"scale_vec::4X"};
constexpr sv kBlocks[] = {"block16", "block32"};
constexpr sv kMulticast16[] = {"multicast::cluster::16b"};
constexpr sv kMulticast32[] = {"multicast::cluster::32b"};

constexpr Feature kFeatures[] = {
    {"", Tcgen05::kNone, Class::kType, {}, {}, 806, kAll},
    {"tcgen05.ld.red",
     Tcgen05::kLdRed,
     Class::kType,
     {},
     {},
     808,
     k101a | k101f | k103a | k103f | k107a | k107f | k110a | k110f},
    {"tcgen05.shift", Tcgen05::kShift, Class::kType, {}, {}, 806, kArchitectureSpecific},
    {".kind::i8", Tcgen05::kNone, Class::kKind, kI8, {}, 806, k100a | k101a | k110a},
    {".kind::mxf4nvf4", Tcgen05::kNone, Class::kKind, kNvf4, {}, 807, kAll},
    {".kind::ti16", Tcgen05::kNone, Class::kKind, kTi16, {}, 904, k107},
    {".scale_vec::4X", Tcgen05::kNone, Class::kScaleVector, kScaleVec4, {}, 807, kAll},
    {".scale_vec", Tcgen05::kNone, Class::kScaleVector, kScaleVecAny, {}, 806, kArchitectureSpecific},
    {".block16 and .block32", Tcgen05::kNone, Class::kScaleVector, kBlocks, {}, 808, kAll},
    {".sp", Tcgen05::kNone, Class::kSparse, kSparse, one_of(Class::kKind, kFourBitKinds), 806, kArchitectureSpecific},
    {"scale-input-d",
     Tcgen05::kMma,
     Class::kType,
     {},
     {},
     806,
     k100a | k100f | k103a | k103f | k107a | k107f,
     true,
     Role::kScaleD},
    {".exclusive", Tcgen05::kNone, Class::kExclusive, kExclusive, {}, 904, kAll},
    {".spcompress", Tcgen05::kNone, Class::kSpCompress, kSpCompress, {}, 904, k107a},
    {".decompress::lut::b", Tcgen05::kNone, Class::kDecompress, kDecompress, {}, 904, k107},
    {".collector::b", Tcgen05::kNone, Class::kCollectorB, kCollectorB, {}, 904, k107},
    {".multicast::cluster::16b", Tcgen05::kNone, Class::kMulticast, kMulticast16, {}, 904, kAll},
    {".multicast::cluster::32b", Tcgen05::kNone, Class::kMulticast, kMulticast32, {}, 904, k107},
    {".sync_restrict", Tcgen05::kNone, Class::kSyncRestrict, kSyncRestrict, {}, 904, k107},
};

}  // namespace

std::span<const TargetRow> targets() {
  return kTargets;
}

std::span<const Feature> features() {
  return kFeatures;
}

std::span<const Word> words() {
  return kWords;
}

const Word* find_word(std::string_view text) {
  if (text.empty()) return nullptr;
  // Asked for each modifier by each condition of an instruction: a hash of two letters and the length is quick.
  auto bucket = [](sv word) {
    return (word.size() * 37 + static_cast<unsigned char>(word.front()) * size_t{5} +
            static_cast<unsigned char>(word.back()) * size_t{11}) %
           128;
  };
  static const std::array<std::vector<const Word*>, 128> by_text = [&bucket] {
    std::array<std::vector<const Word*>, 128> out;
    for (const Word& word : kWords) out[bucket(word.text)].push_back(&word);
    return out;
  }();
  for (const Word* word : by_text[bucket(text)]) {
    if (word->text == text) return word;
  }
  return nullptr;
}

std::string_view class_name(Class cls) {
  switch (cls) {
    case Class::kCtaGroup:
      return ".cta_group";
    case Class::kSync:
      return ".sync";
    case Class::kAligned:
      return ".aligned";
    case Class::kSpace:
      return "state space";
    case Class::kType:
      return "type";
    case Class::kShape:
    case Class::kCpShape:
      return "shape";
    case Class::kNum:
      return ".num";
    case Class::kPack:
      return "packing";
    case Class::kReduction:
      return "reduction";
    case Class::kAbs:
      return ".abs";
    case Class::kNan:
      return ".NaN";
    case Class::kExclusive:
      return ".exclusive";
    case Class::kWarps:
      return "warp multicast";
    case Class::kDstFormat:
      return "destination format";
    case Class::kSrcFormat:
      return "source format";
    case Class::kDown:
      return "direction";
    case Class::kKind:
      return ".kind";
    case Class::kSparse:
      return ".sp";
    case Class::kBlockScale:
      return ".block_scale";
    case Class::kScaleVector:
      return "scale vector size";
    case Class::kAshift:
      return ".ashift";
    case Class::kCollectorA:
      return "collector of A";
    case Class::kCollectorB:
      return "collector of B";
    case Class::kDecompress:
      return "decompression";
    case Class::kArrive:
      return "completion mechanism";
    case Class::kMulticast:
      return "multicast";
    case Class::kSyncRestrict:
      return ".sync_restrict";
    case Class::kSpCompress:
      return ".spcompress";
    case Class::kSpPattern:
      return "sparsity pattern";
    case Class::kMetadataType:
      return "metadata type";
  }
  return "modifier";
}

std::span<const InstructionForm> instruction_forms() {
  return kForms;
}

const InstructionForm* form_of(Tcgen05 op) {
  const auto* found = std::ranges::find(kForms, op, &InstructionForm::op);
  return found == std::end(kForms) ? nullptr : found;
}

Name name_of(const Opcode& opcode) {
  if (opcode.root != "tcgen05") return {};
  Name best{Tcgen05::kUnknown, 0};
  for (const InstructionForm& form : kForms) {
    sv rest = form.name.substr(sv("tcgen05.").size());
    unsigned taken = 0;
    bool matches = true;
    while (matches && !rest.empty()) {
      const size_t dot = rest.find('.');
      matches = taken < opcode.modifiers.size() && opcode.modifiers[taken] == rest.substr(0, dot);
      ++taken;
      rest = dot == sv::npos ? sv{} : rest.substr(dot + 1);
    }
    if (matches && taken > best.modifiers) best = {form.op, taken};
  }
  return best;
}

bool holds(const When& when, const Opcode& opcode) {
  if (when.test == Test::kAlways) return true;
  bool found = false;
  for (sv modifier : opcode.modifiers) {
    if (when.test == Test::kOneOf) {
      found = found || std::ranges::find(when.words, modifier) != when.words.end();
    } else {
      const Word* word = find_word(modifier);
      found = found || (word && word->cls == when.cls);
    }
  }
  return when.test == Test::kAbsent ? !found : found;
}

unsigned data_registers(LdStShape shape, unsigned num) {
  unsigned per_num = 0;
  switch (shape) {
    case LdStShape::kNone:
      return 0;
    case LdStShape::k32x32b:
    case LdStShape::k16x64b:
    case LdStShape::k16x32bx2:
      per_num = 1;
      break;
    case LdStShape::k16x128b:
      per_num = 2;
      break;
    case LdStShape::k16x256b:
      per_num = 4;
      break;
  }
  return per_num * num <= 128 ? per_num * num : 0;
}

}  // namespace tmemlint::ptx
