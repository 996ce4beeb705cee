// The effects table: each row fits the instruction's operands, and what it says of columns, lanes and order.
#include "analyzer/ptx/effects.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "analyzer/ptx/tcgen05_table.h"

namespace tmemlint::ptx {
namespace {

Form form_of_text(std::string_view text) {
  Opcode opcode;
  opcode.text = text;
  size_t dot = text.find('.');
  opcode.root = text.substr(0, dot);
  while (dot != std::string_view::npos) {
    const size_t next = text.find('.', dot + 1);
    opcode.modifiers.push_back(text.substr(dot + 1, next - dot - 1));
    dot = next;
  }
  return decode(opcode);
}

// The roles of operands that a row of effects may name.
struct Named {
  Role role;
  OperandRole operand;
};
constexpr Named kNamed[] = {
    {Role::kAddress, &OperandRoles::address},
    {Role::kVector, &OperandRoles::vector},
    {Role::kReduction, &OperandRoles::reduction},
    {Role::kHalfOffset, &OperandRoles::half_offset},
    {Role::kA, &OperandRoles::a},
    {Role::kB, &OperandRoles::b},
    {Role::kMetadata, &OperandRoles::metadata},
    {Role::kScaleA, &OperandRoles::scale_a},
    {Role::kScaleB, &OperandRoles::scale_b},
    {Role::kDescriptor, &OperandRoles::descriptor},
    {Role::kCompressedMetadata, &OperandRoles::compressed_metadata},
};
bool is(Role role, OperandRole operand) {
  return std::ranges::any_of(kNamed, [&](const Named& n) { return n.role == role && n.operand == operand; });
}

TEST(Effects, EveryOperandInTensorMemoryIsAnAccess) {
  for (const InstructionForm& form : instruction_forms()) {
    const Effects& effects = effects_of(form.op);
    for (const Slot& slot : form.operands) {
      if (slot.kind != OperandKind::kTmemAddress && slot.kind != OperandKind::kMatrixA) continue;
      EXPECT_TRUE(std::ranges::any_of(effects.accesses, [&](const TmemAccess& a) { return is(slot.role, a.address); }))
          << form.name << " " << slot.name;
    }
  }
}

TEST(Effects, EveryDescriptorOfAMatrixIsARead) {
  for (const InstructionForm& form : instruction_forms()) {
    const Effects& effects = effects_of(form.op);
    for (const Slot& slot : form.operands) {
      const bool matrix = slot.kind == OperandKind::kMatrixA ||
                          (slot.kind == OperandKind::kDescriptor && slot.role != Role::kZeroColumnMask);
      if (!matrix) continue;
      EXPECT_TRUE(
          std::ranges::any_of(effects.shared_reads, [&](const SharedRead& r) { return is(slot.role, r.descriptor); }))
          << form.name << " " << slot.name;
    }
  }
}

// What a row names is an operand of some instruction that has the row.
TEST(Effects, RowsNameOperandsThatThereAre) {
  auto exists = [](const Effects& effects, OperandRole operand) {
    for (const InstructionForm& form : instruction_forms()) {
      if (&effects_of(form.op) != &effects) continue;
      if (std::ranges::any_of(form.operands, [&](const Slot& s) { return is(s.role, operand); })) return true;
    }
    return false;
  };
  for (const InstructionForm& form : instruction_forms()) {
    const Effects& effects = effects_of(form.op);
    for (const TmemAccess& a : effects.accesses) {
      EXPECT_TRUE(exists(effects, a.address)) << form.name;
      EXPECT_TRUE(a.offset == nullptr || exists(effects, a.offset)) << form.name;
      EXPECT_TRUE(a.writes || a.reads != TmemReads::kNo) << form.name;
    }
    for (const SharedRead& r : effects.shared_reads) EXPECT_TRUE(exists(effects, r.descriptor)) << form.name;
    for (OperandRole d : effects.destinations) EXPECT_TRUE(exists(effects, d)) << form.name;
    // What touches Tensor Memory is asynchronous, and nothing else is.
    EXPECT_EQ(effects.touches_tmem(), effects.completion != Completion::kSynchronous) << form.name;
    EXPECT_EQ(effects.pipeline != Pipeline::kNone, effects.by_commit()) << form.name;
  }
}

TEST(Effects, WhatIsNoInstructionDoesNothing) {
  for (Tcgen05 op : {Tcgen05::kNone, Tcgen05::kUnknown}) {
    const Effects& effects = effects_of(op);
    EXPECT_FALSE(effects.touches_tmem() || effects.allocates || effects.frees || effects.signals_completion);
    EXPECT_EQ(effects.issue, Issue::kEachThread);
  }
}

TEST(Effects, Columns) {
  auto first = [](std::string_view text, const MmaShape& shape = {}) {
    const Form form = form_of_text(text);
    return columns_of(effects_of(form).accesses.back(), form, shape);
  };
  EXPECT_EQ(first("tcgen05.ld.sync.aligned.16x256b.x2.b32").columns, 16u);
  EXPECT_EQ(first("tcgen05.st.sync.aligned.32x32b.x4.unpack::16b.b32").columns, 8u);
  EXPECT_EQ(first("tcgen05.cp.cta_group::1.128x256b").columns, 8u);
  EXPECT_EQ(first("tcgen05.cp.cta_group::1.32x128b.warpx4").columns, 4u);
  EXPECT_FALSE(first("tcgen05.shift.cta_group::1.down").certain);
  MmaShape shape;
  shape.d_columns = 64;
  EXPECT_EQ(first("tcgen05.mma.cta_group::1.kind::f16", shape).columns, 64u);
  EXPECT_FALSE(first("tcgen05.mma.cta_group::1.kind::f16").certain);
  EXPECT_EQ(first("tcgen05.mma.cta_group::1.kind::f16").columns, 1u);
}

TEST(Effects, HalfWindows) {
  auto of = [](std::string_view text, uint32_t lane, uint32_t warp, bool half_lanes = false) {
    const Form form = form_of_text(text);
    MmaShape shape;
    shape.half_lanes = half_lanes;
    return half_windows_of(effects_of(form).accesses.back(), form, shape, lane, warp);
  };
  EXPECT_EQ(of("tcgen05.ld.sync.aligned.32x32b.x1.b32", 64, 6), 0x30);
  EXPECT_EQ(of("tcgen05.ld.sync.aligned.16x64b.x1.b32", 32, 1), 0x04);
  EXPECT_EQ(of("tcgen05.st.sync.aligned.16x64b.x1.b32", 48, 1), 0x08);
  EXPECT_EQ(of("tcgen05.cp.cta_group::1.128x256b", 0, 0), 0xff);
  EXPECT_EQ(of("tcgen05.mma.cta_group::1.kind::f16", 0, 0), 0xff);
  EXPECT_EQ(of("tcgen05.mma.cta_group::1.kind::f16", 0, 0, true), 0x55);
  EXPECT_EQ(of("tcgen05.mma.cta_group::1.kind::f16", 16, 0, true), 0xaa);
}

// The pairs of ISA 9.7.16.6.2, and some that are not among them.
TEST(Effects, IssueOrder) {
  const std::string_view mma = "tcgen05.mma.cta_group::1.kind::f16";
  const std::string_view cp = "tcgen05.cp.cta_group::1.128x256b";
  const std::string_view cp4 = "tcgen05.cp.cta_group::1.4x256b";
  const std::string_view shift = "tcgen05.shift.cta_group::1.down";
  const std::string_view ld = "tcgen05.ld.sync.aligned.32x32b.x1.b32";
  const std::string_view st = "tcgen05.st.sync.aligned.32x32b.x1.b32";
  const TmemRole d = TmemRole::kAccumulator, a = TmemRole::kOperandA, data = TmemRole::kData;
  struct Row {
    std::string_view first;
    TmemRole first_role;
    std::string_view second;
    TmemRole second_role;
    IssueOrder order;
  };
  const Row rows[] = {
      {mma, d, mma, d, IssueOrder::kIfSameAccumulator},
      {mma, d, mma, a, IssueOrder::kNone},
      {mma, a, mma, d, IssueOrder::kAlways},
      {mma, TmemRole::kScale, mma, d, IssueOrder::kAlways},
      {cp, data, mma, TmemRole::kScale, IssueOrder::kAlways},
      {cp, data, cp, data, IssueOrder::kAlways},
      {shift, data, mma, a, IssueOrder::kAlways},
      {shift, data, cp4, data, IssueOrder::kAlways},
      {shift, data, cp, data, IssueOrder::kNone},
      {mma, a, shift, data, IssueOrder::kAlways},
      {mma, TmemRole::kScale, cp, data, IssueOrder::kNone},
      {cp, data, shift, data, IssueOrder::kNone},
      {shift, data, shift, data, IssueOrder::kNone},
      {mma, d, ld, data, IssueOrder::kNone},
      {ld, data, mma, d, IssueOrder::kNone},
      {st, data, mma, a, IssueOrder::kNone},
      {ld, data, st, data, IssueOrder::kNone},
      {"tcgen05.mma.cta_group::2.kind::f16", d, mma, d, IssueOrder::kNone},
      {"tcgen05.mma.ws.cta_group::1.kind::f16", d, mma, d, IssueOrder::kIfSameAccumulator},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(issue_order(form_of_text(row.first), row.first_role, form_of_text(row.second), row.second_role),
              row.order)
        << row.first << " then " << row.second;
  }
}

TEST(Effects, AddressesOfTensorMemory) {
  const TmemCell cell = decode_tmem_address(0x00a00123);
  EXPECT_EQ(cell.lane, 160u);
  EXPECT_EQ(cell.lane_in_memory(), 32u);
  EXPECT_EQ(cell.column, 0x123u);
}

}  // namespace
}  // namespace tmemlint::ptx
