// What is decoded once from the spelling of an opcode, or the name of a special register.
#include "analyzer/program/meaning.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "analyzer/program/special.h"
#include "analyzer/ptx/parser.h"

namespace tmemlint::program {
namespace {

// The meaning of one instruction, written without its operands: opcodes are decoded whatever stands behind them.
Meaning meaning_of(const std::string& opcode) {
  const std::string text =
      ".version 9.0\n.target sm_100a\n.address_size 64\n.visible .entry k()\n{\n.reg .b32 %r<2>;\n" + opcode +
      " %r0, [%r1];\nret;\n}\n";
  const ptx::Module module = ptx::parse(std::make_shared<const ptx::SourceText>("k.ptx", text));
  const ptx::Opcode& o = module.opcode(module.instructions.front());
  EXPECT_EQ(o.text, opcode);
  return decode_meaning(o, 0);
}

TEST(Meaning, OfAtomics) {
  struct Row {
    const char* opcode;
    Atomic atomic;
    unsigned width;
    bool is_signed = false;
  };
  for (const Row& row : {
           Row{"atom.shared.add.u32", Atomic::kAdd, 32},
           Row{"atom.global.add.u64", Atomic::kAdd, 64},
           Row{"atom.exch.b64", Atomic::kExchange, 64},
           Row{"atom.shared::cta.and.b32", Atomic::kAnd, 32},
           Row{"atom.or.b32", Atomic::kOr, 32},
           Row{"atom.xor.b32", Atomic::kXor, 32},
           Row{"atom.global.min.s64", Atomic::kMin, 64, true},
           Row{"red.relaxed.gpu.global.max.u32", Atomic::kMax, 32},
           Row{"atom.acq_rel.gpu.global.cas.b32", Atomic::kCompareSwap, 32},
           Row{"atom.cas.b16", Atomic::kCompareSwap, 16},
           Row{"atom.inc.u32", Atomic::kIncrement, 32},
           Row{"red.dec.u32", Atomic::kDecrement, 32},
           // Whose result is not followed.
           Row{"atom.global.cas.b128", Atomic::kOther, 128},
           Row{"atom.global.add.f32", Atomic::kOther, 32},
           Row{"red.global.add.noftz.bf16", Atomic::kOther, 16},
           Row{"atom.add.noftz.f16x2", Atomic::kOther, 32},
           Row{"red.global.v2.bf16x2.add.noftz", Atomic::kOther, 32},
           // No atomics: an asynchronous one completes on an mbarrier.
           Row{"st.shared.u32", Atomic::kNone, 32},
           Row{"red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32", Atomic::kNone, 32},
       }) {
    SCOPED_TRACE(row.opcode);
    const Meaning m = meaning_of(row.opcode);
    EXPECT_EQ(m.atomic, row.atomic);
    EXPECT_EQ(m.access_width, row.width);
    if (row.atomic != Atomic::kNone) {
      EXPECT_EQ(m.access_signed, row.is_signed);
    }
  }
}

TEST(Meaning, OfOrderBetweenThreads) {
  struct Row {
    const char* opcode;
    bool strong, acquires, releases, fence;
  };
  for (const Row& row : {
           Row{"ld.global.u32", false, false, false, false},
           Row{"ld.acquire.gpu.global.u32", false, true, false, false},
           Row{"ld.relaxed.gpu.u32", true, false, false, false},
           Row{"st.volatile.global.u32", true, false, false, false},
           Row{"st.release.gpu.global.u32", false, false, true, false},
           Row{"atom.global.add.u32", true, false, false, false},
           Row{"atom.acq_rel.gpu.global.add.u32", true, true, true, false},
           Row{"atom.acquire.gpu.global.add.u32", true, true, false, false},
           // A reduction reads nothing that its thread sees.
           Row{"red.acq_rel.gpu.global.add.u32", true, false, true, false},
           Row{"membar.gl", false, false, false, true},
           Row{"fence.acq_rel.gpu", false, false, false, true},
           Row{"fence.sc.cta", false, false, false, true},
           Row{"fence.mbarrier_init.release.cluster", false, false, false, false},
           Row{"mbarrier.try_wait.relaxed.cluster.shared::cta.b64", false, false, false, false},
       }) {
    SCOPED_TRACE(row.opcode);
    const Meaning m = meaning_of(row.opcode);
    EXPECT_EQ(m.strong, row.strong);
    EXPECT_EQ(m.acquires, row.acquires);
    EXPECT_EQ(m.releases, row.releases);
    EXPECT_EQ(m.memory_fence, row.fence);
  }
}

TEST(Meaning, OfCopies) {
  struct Row {
    const char* opcode;
    bool on_mbarrier, multicast, to_all, launch_control;
    unsigned bytes;
  };
  for (const Row& row : {
           Row{"cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes", true, false, false,
               false, 0},
           Row{"cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster", true, true,
               false, false, 0},
           Row{"cp.async.bulk.global.shared::cta.bulk_group", false, false, false, false, 0},
           Row{"st.async.shared::cluster.mbarrier::complete_tx::bytes.u32", true, false, false, false, 4},
           Row{"st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.b64", true, false, false, false, 16},
           Row{"st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.f32", true, false, false, false, 16},
           Row{"clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.multicast::cluster::"
               "all.b128",
               true, true, true, true, 16},
       }) {
    SCOPED_TRACE(row.opcode);
    const Meaning m = meaning_of(row.opcode);
    EXPECT_EQ(m.action, Action::kAsyncCopy);
    EXPECT_EQ(m.copy.on_mbarrier, row.on_mbarrier);
    EXPECT_EQ(m.copy.multicast, row.multicast);
    EXPECT_EQ(m.copy.to_all, row.to_all);
    EXPECT_EQ(m.copy.launch_control, row.launch_control);
    EXPECT_EQ(m.copy.bytes, row.bytes);
  }
}

TEST(Meaning, OfBarriersAndFences) {
  EXPECT_TRUE(meaning_of("bar.sync").aligned);
  EXPECT_TRUE(meaning_of("barrier.sync.aligned").aligned);
  EXPECT_FALSE(meaning_of("barrier.sync").aligned);
  EXPECT_TRUE(meaning_of("tcgen05.wait::ld.sync.aligned").aligned);
  EXPECT_TRUE(meaning_of("fence.proxy.async").fences_shared);
  EXPECT_TRUE(meaning_of("fence.proxy.async.shared::cta").fences_shared);
  EXPECT_FALSE(meaning_of("fence.proxy.async.global").fences_shared);
  EXPECT_FALSE(meaning_of("fence.proxy.alias").fences_shared);
  EXPECT_TRUE(meaning_of("cp.async.mbarrier.arrive.noinc.shared.b64").no_increment);
  EXPECT_FALSE(meaning_of("cp.async.mbarrier.arrive.shared.b64").no_increment);
  EXPECT_TRUE(meaning_of("mapa.shared::cluster.u32").may_leave_cta);
  EXPECT_TRUE(meaning_of("barrier.cluster.wait").may_leave_cta);
  EXPECT_TRUE(meaning_of("tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32").may_leave_cta);
  EXPECT_FALSE(meaning_of("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32").may_leave_cta);
}

TEST(Special, OfNames) {
  using Axis = SpecialRegister::Axis;
  EXPECT_EQ(decode_special("%tid.y").what, Special::kThread);
  EXPECT_EQ(decode_special("%tid.y").axis, Axis::kY);
  EXPECT_EQ(decode_special("%nctaid.x").what, Special::kGridSize);
  EXPECT_EQ(decode_special("%cluster_ctarank").what, Special::kClusterRank);
  EXPECT_EQ(decode_special("%cluster_ctarank").axis, Axis::kNone);
  EXPECT_EQ(decode_special("WARP_SZ").what, Special::kWarpSize);
  EXPECT_EQ(decode_special("%clock64").what, Special::kTime);
  EXPECT_EQ(decode_special("%globaltimer_lo").what, Special::kTime);
  EXPECT_EQ(decode_special("%smid").what, Special::kOther);
}

}  // namespace
}  // namespace tmemlint::program
