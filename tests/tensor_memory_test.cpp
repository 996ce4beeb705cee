// What instructions touch in Tensor Memory and in what order that may be: columns by shape, half windows of lanes,
// pairs that execute in issue order, allocations and the slots that their addresses are passed on in.
#include "analyzer/cluster/tensor_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/small_kernel.h"

namespace tmemlint {
namespace {

using namespace test;
using testing::ElementsAre;
using testing::IsEmpty;

std::string number(unsigned n) {
  return std::to_string(n);
}

// --- runs of columns ---

TEST(Columns, RunsAreSplitWhereAnAccessBeginsAndEnds) {
  cluster::Columns columns;
  auto lengths = [&](uint32_t begin, uint32_t end, uint8_t mark) {
    std::vector<int> before;  // what stood in each of its runs
    columns.each(begin, end, [&](cluster::Column& c) {
      before.push_back(c.written);
      c.written = mark;
    });
    return before;
  };
  EXPECT_THAT(lengths(0, 512, 1), ElementsAre(0));
  EXPECT_THAT(lengths(60, 70, 2), ElementsAre(1));  // over the end of a word of 64 columns
  EXPECT_THAT(lengths(0, 512, 3), ElementsAre(1, 2, 1));
  EXPECT_THAT(lengths(64, 65, 4), ElementsAre(3));
  EXPECT_THAT(lengths(60, 70, 5), ElementsAre(3, 4, 3));
  EXPECT_THAT(lengths(500, 2000, 6), ElementsAre(3, 0));  // the columns behind 512 were never touched
  EXPECT_THAT(lengths(575, 576, 7), ElementsAre(6));
  EXPECT_THAT(lengths(576, 600, 8), IsEmpty());
  columns.clear(0, 512);
  EXPECT_THAT(lengths(0, 576, 9), ElementsAre(0, 6, 7));
}

// --- pairs that execute in issue order (ISA 9.7.16.6.2) ---

// One thread, by its opcode; an mma has its accumulator at column 0.
cluster::Operation operation(const std::string& opcode, uint32_t idesc = 0x08200490, uint32_t column = 0) {
  const std::string text =
      ".version 9.0\n.target sm_100a\n.address_size 64\n.visible .entry k() { " + opcode + " ; ret; }\n";
  const ptx::Module module = ptx::parse(std::make_shared<const ptx::SourceText>("k.ptx", text));
  cluster::Operation out;
  out.form = ptx::decode(module.opcodes.front());
  out.idesc = idesc;
  out.d_column = column;
  return out;
}

const char* const kMmaF16 = "tcgen05.mma.cta_group::1.kind::f16";
const char* const kCp = "tcgen05.cp.cta_group::1.128x256b";
const char* const kShift = "tcgen05.shift.cta_group::1.down";
const char* const kLd = "tcgen05.ld.sync.aligned.32x32b.x1.b32";
const char* const kSt = "tcgen05.st.sync.aligned.32x32b.x1.b32";

TEST(Pipelined, MmaBehindMmaOnOneAccumulator) {
  using Role = ptx::TmemRole;
  const cluster::Operation first = operation(kMmaF16);
  EXPECT_TRUE(executes_in_order(first, Role::kAccumulator, operation(kMmaF16), Role::kAccumulator));
  // Another N, another M, another kind, another accumulator, the other group.
  EXPECT_FALSE(executes_in_order(first, Role::kAccumulator, operation(kMmaF16, 0x08100490), Role::kAccumulator));
  EXPECT_FALSE(executes_in_order(first, Role::kAccumulator, operation(kMmaF16, 0x04200490), Role::kAccumulator));
  EXPECT_FALSE(
      executes_in_order(first, Role::kAccumulator, operation("tcgen05.mma.cta_group::1.kind::tf32"), Role::kAccumulator));
  EXPECT_FALSE(executes_in_order(first, Role::kAccumulator, operation(kMmaF16, 0x08200490, 8), Role::kAccumulator));
  EXPECT_FALSE(
      executes_in_order(first, Role::kAccumulator, operation("tcgen05.mma.cta_group::2.kind::f16"), Role::kAccumulator));
  // What the first one computes is the second one's A.
  EXPECT_FALSE(executes_in_order(first, Role::kAccumulator, operation(kMmaF16, 0x08200490, 128), Role::kOperandA));
}

TEST(Pipelined, CpAndShiftAroundMma) {
  using Role = ptx::TmemRole;
  EXPECT_TRUE(executes_in_order(operation(kCp), Role::kData, operation(kMmaF16), Role::kScale));
  EXPECT_TRUE(executes_in_order(operation(kCp), Role::kData, operation(kMmaF16), Role::kOperandA));
  EXPECT_TRUE(executes_in_order(operation(kShift), Role::kData, operation(kMmaF16), Role::kAccumulator));
  EXPECT_TRUE(executes_in_order(operation(kMmaF16), Role::kAccumulator, operation(kShift), Role::kData));
  EXPECT_TRUE(executes_in_order(operation(kShift), Role::kData, operation("tcgen05.cp.cta_group::1.4x256b"), Role::kData));
  EXPECT_FALSE(executes_in_order(operation(kShift), Role::kData, operation(kCp), Role::kData));
  EXPECT_FALSE(executes_in_order(operation(kMmaF16), Role::kScale, operation(kCp), Role::kData));
  EXPECT_FALSE(executes_in_order(operation(kMmaF16), Role::kAccumulator, operation(kCp), Role::kData));
  EXPECT_FALSE(executes_in_order(operation(kCp), Role::kData, operation(kShift), Role::kData));
}

TEST(Pipelined, LoadsAndStoresAreInNoPair) {
  using Role = ptx::TmemRole;
  for (const char* const other : {kMmaF16, kCp, kShift, kLd, kSt}) {
    for (const char* const access : {kLd, kSt}) {
      EXPECT_FALSE(executes_in_order(operation(other), Role::kData, operation(access), Role::kData)) << other << ", " << access;
      EXPECT_FALSE(executes_in_order(operation(access), Role::kData, operation(other), Role::kData)) << access << ", " << other;
    }
  }
}

TEST(Pipelined, InKernels) {
  // Two operations of one thread, with what they work on complete before the end.
  auto pair = [](const std::string& first, const std::string& second) {
    return ptx_kernel(begin(256, init("full", 1)) + where("%w0", elected(first + second + commit("full"))) +
                      wait("full", "0") + end(256));
  };
  const std::string copy = "tcgen05.cp.cta_group::1.128x256b [%ta], %a; // @cp\n";
  const std::string wide =
      "mov.b32 %r10, 0x08400490;\ntcgen05.mma.cta_group::1.kind::f16 [%ta], %a, %b, %r10, %no; // @wide\n";
  EXPECT_THAT(said(pair(mma("%ta", "%no"), mma("%ta", "%yes", " // @second"))), IsEmpty());
  EXPECT_THAT(said(pair(mma("%ta", "%no"), mma("%ta+64", "%no", " // @second"))),
              ElementsAre("error tmem-async-overlap @second"));
  EXPECT_THAT(said(pair(mma("%ta", "%no"), mma("%ta+128", "%no", " // @second"))), IsEmpty());
  EXPECT_THAT(said(pair(mma("%ta", "%no"), wide)), ElementsAre("error tmem-async-overlap @wide"));
  EXPECT_THAT(said(pair(copy, mma("%ta", "%yes"))), IsEmpty());
  EXPECT_THAT(said(pair(mma("%ta", "%no"), copy)), ElementsAre("error tmem-async-overlap @cp"));
}

TEST(Pipelined, AnOperandInTensorMemoryMustBeComplete) {
  // The second mma takes the first one's result as its A.
  auto chain = [](const std::string& between) {
    return ptx_kernel(
        begin(256, init("full", 1) + init("empty", 1)) +
        where("%w0", elected(mma("%ta", "%no") + between +
                             "tcgen05.mma.cta_group::1.kind::f16 [%ta+128], [%ta], %b, %id, %no; // @second\n" +
                             commit("full"))) +
        wait("full", "0") + end(256));
  };
  EXPECT_THAT(said(chain(commit("empty") + wait("empty", "0"))), IsEmpty());
  EXPECT_THAT(said(chain("")), ElementsAre("error tmem-async-overlap @second"));
}

// --- columns ---

struct Shape {
  const char* name;
  unsigned columns_per_num;
  unsigned registers_per_num;
};

// Registers are those of tables 49 and 50 of the ISA.
const Shape kShapes[] = {{"32x32b", 1, 1}, {"16x64b", 2, 1}, {"16x128b", 4, 2}, {"16x256b", 8, 4}};

std::string vector_of(unsigned registers, const std::string& name) {
  std::string out = "{";
  for (unsigned r = 0; r < registers; ++r) out += (r == 0 ? "" : ",") + (name.empty() ? "%r" + number(r) : name);
  return out + "}";
}

TEST(Columns, OfLoadsAndStoresByShape) {
  for (const Shape& shape : kShapes) {
    for (unsigned num : {1u, 2u, 4u, 8u}) {
      for (bool packed : {false, true}) {
        const unsigned columns = shape.columns_per_num * num * (packed ? 2 : 1);
        auto at = [&](unsigned column) {
          const std::string opcode = std::string(".sync.aligned.") + shape.name + ".x" + number(num);
          const std::string address = "[%tw+" + number(column) + "]";
          const unsigned registers = shape.registers_per_num * num;
          return ptx_kernel(begin(128) + "tcgen05.st" + opcode + (packed ? ".unpack::16b" : "") + ".b32 " + address +
                            ", " + vector_of(registers, "%t") + "; // @store\n" + kWaitStores + "tcgen05.ld" + opcode +
                            (packed ? ".pack::16b" : "") + ".b32 " + vector_of(registers, "") + ", " + address +
                            "; // @load\n" + kWaitLoads + end(128));
        };
        const std::string what = std::string(shape.name) + ".x" + number(num) + (packed ? " packed" : "");
        EXPECT_THAT(said(at(128 - columns)), IsEmpty()) << what;
        EXPECT_THAT(said(at(129 - columns)),
                    ElementsAre("error tmem-column-bounds @load", "error tmem-column-bounds @store"))
            << what;
      }
    }
  }
}

TEST(Columns, OfTheTwoHalvesOf16x32bx2) {
  auto at = [](unsigned column, unsigned half) {
    return ptx_kernel(begin(64) + "tcgen05.st.sync.aligned.16x32bx2.x4.b32 [%tw+" + number(column) + "], " +
                      number(half) + ", {%t,%t,%t,%t}; // @store\n" + kWaitStores + end(64));
  };
  EXPECT_THAT(said(at(60, 0)), IsEmpty());
  EXPECT_THAT(said(at(28, 32)), IsEmpty());
  EXPECT_THAT(said(at(29, 32)), ElementsAre("error tmem-column-bounds @store"));  // 61 to 64
}

TEST(Columns, OfCp) {
  const auto columns = [](ptx::CpShape shape) {
    ptx::Form form;
    form.op = ptx::Tcgen05::kCp;
    form.cp_shape = shape;
    return ptx::columns_of(ptx::effects_of(form).accesses.front(), form).columns;
  };
  EXPECT_EQ(columns(ptx::CpShape::k128x256b), 8u);  // 256 bits are 8 columns of 32
  EXPECT_EQ(columns(ptx::CpShape::k4x256b), 8u);
  EXPECT_EQ(columns(ptx::CpShape::k128x128b), 4u);
  EXPECT_EQ(columns(ptx::CpShape::k64x128b), 4u);
  EXPECT_EQ(columns(ptx::CpShape::k32x128b), 4u);
  auto copy = [](const std::string& shape, unsigned column) {
    return ptx_kernel(begin(32, init("full", 1)) +
                      where("%w0", elected("tcgen05.cp.cta_group::1." + shape + " [%ta+" + number(column) +
                                           "], %a; // @cp\n" + commit("full"))) +
                      wait("full", "0") + end(32));
  };
  EXPECT_THAT(said(copy("128x256b", 24)), IsEmpty());
  EXPECT_THAT(said(copy("128x256b", 25)), ElementsAre("error tmem-column-bounds @cp"));
  EXPECT_THAT(said(copy("32x128b.warpx4", 28)), IsEmpty());
  EXPECT_THAT(said(copy("32x128b.warpx4", 29)), ElementsAre("error tmem-column-bounds @cp"));
  EXPECT_THAT(said(copy("64x128b.warpx2::02_13", 28)), IsEmpty());
  EXPECT_THAT(said(copy("64x128b.warpx2::02_13", 29)), ElementsAre("error tmem-column-bounds @cp"));
}

// An mma with that descriptor on a number of columns.
std::string one_mma(const std::string& opcode, const std::string& idesc, unsigned columns, unsigned column) {
  return ptx_kernel(begin(columns, init("full", 1)) +
                    where("%w0", elected("mov.b32 %r10, " + idesc + ";\n" + opcode + " [%ta+" + number(column) +
                                         "], %a, %b, %r10, %no; // @mma\n" + commit("full"))) +
                    wait("full", "0") + end(columns));
}

TEST(Columns, OfAnAccumulatorByLayout) {
  const std::string f16 = "tcgen05.mma.cta_group::1.kind::f16";
  const std::string ws = "tcgen05.mma.ws.cta_group::1.kind::f16";
  // Layout D, M = 128: N columns, here 64.
  EXPECT_THAT(said(one_mma(f16, "0x08100490", 64, 0)), IsEmpty());
  EXPECT_THAT(said(one_mma(f16, "0x08100490", 64, 8)), ElementsAre("error tmem-column-bounds @mma"));
  // An f16 accumulator (D type 0) is not packed: N columns too.
  EXPECT_THAT(said(one_mma(f16, "0x08100000", 64, 8)), ElementsAre("error tmem-column-bounds @mma"));
  // Layout F, M = 64: N columns in half of the lanes.
  EXPECT_THAT(said(one_mma(f16, "0x04100490", 64, 0)), IsEmpty());
  EXPECT_THAT(said(one_mma(f16, "0x04100490", 64, 8)), ElementsAre("error tmem-column-bounds @mma"));
  // Layout E, weight stationary with M = 64: N / 2.
  EXPECT_THAT(said(one_mma(ws, "0x04100490", 64, 32)), IsEmpty());
  EXPECT_THAT(said(one_mma(ws, "0x04100490", 64, 40)), ElementsAre("error tmem-column-bounds @mma"));
  // Layout G, weight stationary with M = 32: N / 4.
  EXPECT_THAT(said(one_mma(ws, "0x02100490", 64, 48)), IsEmpty());
  EXPECT_THAT(said(one_mma(ws, "0x02100490", 64, 56)), ElementsAre("error tmem-column-bounds @mma"));
}

TEST(Columns, OfAnAccumulatorOfAPair) {
  // The leader of the pair issues one mma on 64 columns of both CTAs.
  auto in_pair = [](const std::string& idesc, unsigned column) {
    Setting s;
    s.cluster = 2;
    const std::string alloc = where("%first", init("full", 1) + "fence.mbarrier_init.release.cluster;\n") +
                              join_cluster() +
                              where("%w0", "tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [slot], 64;\n") +
                              join() + "ld.shared.b32 %ta, [slot];\n";
    return ptx_kernel(
        alloc +
            where("%cta0",
                  where("%w0", elected("mov.b32 %r10, " + idesc +
                                       ";\nmov.b16 %h1, 3;\ntcgen05.mma.cta_group::2.kind::f16 [%ta+" + number(column) +
                                       "], %a, %b, %r10, %no; // @mma\n"
                                       "tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::"
                                       "cluster.b64 [full], %h1;\n"))) +
            wait("full", "0") + join_cluster() +
            where("%w0", "tcgen05.dealloc.cta_group::2.sync.aligned.b32 %ta, 64;\n"),
        s);
  };
  // Layout A, M = 256: N columns, here 64. Layout B, M = 128: N / 2.
  EXPECT_THAT(said(in_pair("0x10100490", 0)), IsEmpty());
  EXPECT_THAT(said(in_pair("0x10100490", 16)), ElementsAre("error tmem-column-bounds @mma"));
  EXPECT_THAT(said(in_pair("0x08100490", 32)), IsEmpty());
  EXPECT_THAT(said(in_pair("0x08100490", 48)), ElementsAre("error tmem-column-bounds @mma"));
}

TEST(Columns, OfAnAInTensorMemory) {
  // 16 elements of 16 bits are 8 columns.
  auto from = [](unsigned column) {
    return ptx_kernel(begin(256, init("full", 1)) + "tcgen05.st.sync.aligned.32x32b.x8.b32 [%tw+" +
                      number(column & ~7u) + "], {%t,%t,%t,%t,%t,%t,%t,%t};\n" + kWaitStores + join() +
                      where("%w0", elected("tcgen05.mma.cta_group::1.kind::f16 [%ta], [%ta+" + number(column) +
                                           "], %b, %id, %no; // @mma\n" + commit("full"))) +
                      wait("full", "0") + end(256));
  };
  EXPECT_THAT(said(from(248)), IsEmpty());
  EXPECT_THAT(said(from(249)), ElementsAre("error tmem-column-bounds @mma"));
}

TEST(Columns, BetweenTwoAllocations) {
  // 32 columns at 0 and 32 behind them: what runs past the end of the first is in the second, and still wrong.
  auto two = [](unsigned column) {
    return ptx_kernel(
        where("%w0",
              "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], "
              "32;\ntcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot+4], 32;\n") +
        join() +
        "ld.shared.b32 %ta, [slot];\nld.shared.b32 %r50, [slot+4];\nand.b32 %tw, %w, 3;\nshl.b32 %tw, %tw, "
        "21;\nadd.u32 %tw, %tw, %ta;\n" +
        store("%tw+" + number(column), " // @store") + kWaitStores + join() +
        where("%w0", release("%r50", 32) + release("%ta", 32)));
  };
  EXPECT_THAT(said(two(28)), IsEmpty());
  EXPECT_THAT(said(two(30)), ElementsAre("error tmem-column-bounds @store"));
}

// --- half windows ---

TEST(HalfLanes, TwoTilesOf64RowsShareTheirColumns) {
  // M = 64 takes 16 of every 32 lanes: a second tile of another shape fits into the other ones.
  auto tiles = [](const std::string& offset) {
    return ptx_kernel(
        begin(128, init("full", 1)) + "add.u32 %r11, %ta, " + offset +
        ";\nmov.b32 %r12, 0x04200490;\nmov.b32 %r13, 0x04100490;\n" +
        where("%w0", elected("tcgen05.mma.cta_group::1.kind::f16 [%ta], %a, %b, %r12, "
                             "%no;\ntcgen05.mma.cta_group::1.kind::f16 [%r11], %a, %b, %r13, %no; // @second\n" +
                             commit("full"))) +
        wait("full", "0") + end(128));
  };
  EXPECT_THAT(said(tiles("0x00100000")), IsEmpty());
  EXPECT_THAT(said(tiles("0")), ElementsAre("error tmem-async-overlap @second"));
}

TEST(HalfLanes, A16LaneAccessTouchesItsHalfOnly) {
  // The store of the first half is not waited for; the load is of the other half, or of the same.
  auto halves = [](const std::string& offset) {
    return ptx_kernel(
        begin(32) + "add.u32 %r11, %tw, 0x00100000;\nadd.u32 %r12, %tw, " + offset + ";\n" +
        "tcgen05.st.sync.aligned.16x64b.x1.b32 [%r11], {%t};\n" + kWaitStores +
        "tcgen05.st.sync.aligned.16x64b.x1.b32 [%tw], {%t}; // @store\ntcgen05.ld.sync.aligned.16x64b.x1.b32 "
        "{%r20}, [%r12]; // @load\n" +
        kWaitLoads + kWaitStores + end(32));
  };
  EXPECT_THAT(said(halves("0x00100000")), IsEmpty());
  EXPECT_THAT(said(halves("0")), ElementsAre("error tmem-missing-wait-st @store"));
}

TEST(HalfLanes, WarpsOfOneWindowMeetOthersDoNot) {
  // Warp 0 stores again while another warp reads: warp 4 has the same lanes, warp 1 others.
  auto reader = [](const std::string& who) {
    Setting s;
    s.threads = 160;
    return ptx_kernel(begin(32) + "@%w4 bra OVER;\n" + store("%tw+8") + kWaitStores + "OVER:\n" + join() +
                          where("%w0", store("%tw+8", " // @store") + kWaitStores) +
                          where(who, load("%tw+8", " // @load") + kWaitLoads) + end(32),
                      s);
  };
  EXPECT_THAT(said(reader("%w1")), IsEmpty());
  EXPECT_THAT(said(reader("%w4")), ElementsAre("error tmem-handoff-race @store"));
}

// --- waits ---

TEST(Waits, AMmaOverColumnsThatAWarpIsReading) {
  // Warp 1 reads, warp 0 overwrites behind a barrier. The wait stands before the barrier, or behind it.
  auto after = [](const std::string& before, const std::string& behind) {
    return ptx_kernel(
        begin(128, init("full", 1)) + where("%w0", elected(mma("%ta", "%no") + commit("full"))) +
        where("%w1", wait("full", "0") + load("%tw", " // @load") + before) +
        "tcgen05.fence::before_thread_sync;\nbar.sync 0; // @barrier\ntcgen05.fence::after_thread_sync;\n" +
        where("%w1", behind) + where("%w0", elected(mma("%ta", "%no", " // @again") + commit("full"))) +
        wait("full", "1") + end(128));
  };
  EXPECT_THAT(said(after(kWaitLoads, "")), IsEmpty());
  EXPECT_THAT(said(after("", kWaitLoads)), ElementsAre("error tmem-missing-wait-ld @barrier"));
}

TEST(Waits, AMmaOfColumnsThatAWarpHasStored) {
  auto after = [](const std::string& before, const std::string& behind) {
    return ptx_kernel(
        begin(256, init("full", 1)) +
        "tcgen05.st.sync.aligned.32x32b.x8.b32 [%tw+128], {%t,%t,%t,%t,%t,%t,%t,%t}; // @store\n" + before + join() +
        behind +
        where("%w0", elected("tcgen05.mma.cta_group::1.kind::f16 [%ta], [%ta+128], %b, %id, %no; // @mma\n" +
                             commit("full"))) +
        wait("full", "0") + end(256));
  };
  EXPECT_THAT(said(after(kWaitStores, "")), IsEmpty());
  // Behind the barrier a warp waits for its own stores only.
  EXPECT_THAT(said(after("", kWaitStores)), ElementsAre("error tmem-missing-wait-st @store"));
}

// --- initial contents ---

TEST(Initial, TheFirstMmaOfAnAccumulatorOverwritesIt) {
  auto first = [](const std::string& accumulate) {
    return ptx_kernel(begin(128, init("full", 1)) +
                      where("%w0", elected(mma("%ta", accumulate, " // @mma") + commit("full"))) + wait("full", "0") +
                      end(128));
  };
  EXPECT_THAT(said(first("%no")), IsEmpty());
  EXPECT_THAT(said(first("%yes")), ElementsAre("warning tmem-uninitialized @mma"));
}

TEST(Initial, FreedAndAllocatedAgainIsUnwritten) {
  auto again = [](const std::string& write) {
    return ptx_kernel(begin(32) + store("%tw") + kWaitStores + load("%tw") + kWaitLoads + end(32) +
                      where("%w0", "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot+8], 32;\n") + join() +
                      "ld.shared.b32 %ta, [slot+8];\nadd.u32 %tw, %tw, 0;\n" +
                      "and.b32 %tw, %w, 3;\nshl.b32 %tw, %tw, 21;\nadd.u32 %tw, %tw, %ta;\n" + write +
                      load("%tw", " // @load") + kWaitLoads + join() + where("%w0", release("%ta", 32)));
  };
  // (The permit was given up before: that is another rule's finding, in both.)
  EXPECT_THAT(said(again(store("%tw") + kWaitStores)),
              testing::Not(testing::Contains(testing::HasSubstr("tmem-uninitialized"))));
  EXPECT_THAT(said(again("")), testing::Contains("warning tmem-uninitialized @load"));
}

// --- allocations ---

TEST(Capacity, IsThatOfTheCta) {
  auto two = [](unsigned first, unsigned second) {
    return ptx_kernel(where("%w0", allocate("slot", first) + allocate("slot+4", second, " // @second") +
                                       "ld.shared.b32 %r50, [slot];\nld.shared.b32 %r51, [slot+4];\n" +
                                       release("%r51", second) + release("%r50", first)));
  };
  EXPECT_THAT(said(two(256, 256)), IsEmpty());
  EXPECT_THAT(said(two(512, 32)), ElementsAre("error tmem-alloc-capacity @second"));
}

TEST(Capacity, WhatAnotherWarpFreesIsWaitedFor) {
  // Warp 1 asks for the last columns while warp 0 holds them all: alloc blocks until they are free.
  auto wait_for = [](const std::string& free_first, const std::string& free_last) {
    return ptx_kernel(
        where("%w0", allocate("slot", 512) + "ld.shared.b32 %r50, [slot];\n") + join() + where("%w0", free_first) +
        where("%w1", allocate("slot+4", 32, " // @blocked") + "ld.shared.b32 %r51, [slot+4];\n" + release("%r51", 32)) +
        join() + where("%w0", free_last));
  };
  EXPECT_THAT(said(wait_for(release("%r50", 512), "")), IsEmpty());
  // Freed behind a barrier that warp 1 never comes to.
  EXPECT_THAT(said(wait_for("", release("%r50", 512))), ElementsAre("error tmem-alloc-capacity @blocked"));
}

TEST(Capacity, FreedColumnsAreUsedAgain) {
  auto loop = [](const std::string& inside) {
    return ptx_kernel(where("%w0", "mov.b32 %r10, 0;\nTOP:\n" + allocate("slot", 256, " // @alloc") +
                                       "ld.shared.b32 %r50, [slot];\n" + inside +
                                       "add.u32 %r10, %r10, 1;\nsetp.lt.u32 %p1, %r10, 3;\n@%p1 bra TOP;\n"));
  };
  EXPECT_THAT(said(loop(release("%r50", 256))), IsEmpty());
  EXPECT_THAT(said(loop("")), testing::Contains("error tmem-alloc-capacity @alloc"));
}

TEST(Dealloc, NamesTheAllocationAndItsSize) {
  auto freed = [](const std::string& address, unsigned columns) {
    return ptx_kernel(where("%w0", allocate("slot", 64) + "ld.shared.b32 %r50, [slot];\nadd.u32 %r51, %r50, 32;\n" +
                                       release(address, columns, " // @dealloc")));
  };
  EXPECT_THAT(said(freed("%r50", 64)), IsEmpty());
  EXPECT_THAT(said(freed("%r50", 32)), ElementsAre("error tmem-dealloc-mismatch @dealloc"));
  EXPECT_THAT(said(freed("%r51", 64)), testing::Contains("error tmem-dealloc-mismatch @dealloc"));
}

TEST(Dealloc, OnceAndAfterTheLastAccess) {
  auto order = [](const std::string& last) {
    return ptx_kernel(begin(32) + store("%tw", " // @store") + kWaitStores + join() + where("%w0", release("%ta", 32)) +
                      last);
  };
  EXPECT_THAT(said(order("")), IsEmpty());
  EXPECT_THAT(said(order(join() + where("%w0", release("%ta", 32, " // @twice")))),
              ElementsAre("error tmem-double-dealloc @twice"));
  EXPECT_THAT(said(order(join() + load("%tw", " // @load") + kWaitLoads)),
              ElementsAre("error tmem-use-after-dealloc @load"));
}

TEST(Dealloc, WaitsForTheWarpsThatUseTheColumns) {
  auto joined = [](const std::string& barrier) {
    return ptx_kernel(begin(32) + store("%tw", " // @store") + kWaitStores + load("%tw", " // @load") + kWaitLoads +
                      barrier + where("%w0", release("%ta", 32, " // @dealloc")));
  };
  EXPECT_THAT(said(joined(join())), IsEmpty());
  const std::vector<std::string> without = said(joined(""));
  EXPECT_THAT(without, testing::Contains("error tmem-dealloc-race @dealloc"));
}

TEST(Use, NeedsAnAllocation) {
  const std::string access = "and.b32 %tw, %w, 3;\nshl.b32 %tw, %tw, 21;\n" + store("%tw", " // @store") + kWaitStores;
  EXPECT_THAT(said(ptx_kernel(begin(32) + store("%tw") + kWaitStores + end(32))), IsEmpty());
  EXPECT_THAT(said(ptx_kernel(access)), ElementsAre("error tmem-use-unallocated @store"));
}

// --- the slot that an address is passed on in ---

TEST(Slots, AreReadBehindABarrier) {
  auto read = [](const std::string& barrier) {
    return ptx_kernel(where("%w0", allocate("slot", 32)) + barrier + "ld.shared.b32 %ta, [slot]; // @read\n" + join() +
                      where("%w0", release("%ta", 32)));
  };
  EXPECT_THAT(said(read("bar.sync 0;\n")), IsEmpty());
  // A barrier of two warps does not order it for the other two.
  EXPECT_THAT(said(read("")), testing::Contains("error tmem-slot-race @read"));
}

TEST(Slots, AreNotOverwrittenBeforeTheyAreRead) {
  // A second alloc writes its address to the place of the first one.
  auto reused = [](const std::string& barrier) {
    return ptx_kernel(where("%w0", allocate("slot", 64)) + join() + "ld.shared.b32 %ta, [slot]; // @read\n" + barrier +
                      where("%w0", allocate("slot", 32, " // @again")) + join() + "ld.shared.b32 %r50, [slot];\n" +
                      join() + where("%w0", release("%r50", 32) + release("%ta", 64)));
  };
  EXPECT_THAT(said(reused(join())), IsEmpty());
  EXPECT_THAT(said(reused("")), ElementsAre("error tmem-slot-race @again"));
}

TEST(Slots, OneAllocForTheCta) {
  auto by = [](const std::string& who) {
    return ptx_kernel(where(who, allocate("slot", 32, " // @alloc") + "ld.shared.b32 %r50, [slot];\n" +
                                     release("%r50", 32, " // @dealloc")));
  };
  EXPECT_THAT(said(by("%w0")), IsEmpty());
  EXPECT_THAT(said(by("%yes")), testing::Contains("error tmem-one-warp @alloc"));
}

}  // namespace
}  // namespace tmemlint
