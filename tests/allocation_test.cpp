// Allocations among several warps: who allocates and who frees, with sizes and under conditions that a parameter
// decides. Each kernel that must be reported stands beside the one that is right.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/small_kernel.h"

namespace tmemlint {
namespace {

using namespace test;
using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;

// --- which warp executes them ---

TEST(Late, ADeallocThatSeveralWarpsExecute) {
  const std::string free = release("%ta", 128, " // @dealloc");
  EXPECT_THAT(said(ptx_kernel(begin(128) + store("%tw") + kWaitStores + join() + free)),
              ElementsAre("error tmem-one-warp @dealloc"));
  EXPECT_THAT(said(ptx_kernel(begin(128) + store("%tw") + kWaitStores + free)),
              ElementsAre("error tmem-one-warp @dealloc"));
  // Two places are two frees.
  EXPECT_THAT(said(ptx_kernel(begin(128) + store("%tw") + kWaitStores + join() + where("%w0", release("%ta", 128)) +
                              join() + where("%w1", free))),
              ElementsAre("error tmem-double-dealloc @dealloc"));
}

TEST(Late, AnAllocThatAnotherWarpExecutesEachRound) {
  // Warps 0 and 1 take turns; what the last one allocated is freed and joined before the next one allocates.
  auto kernel = [](const std::string& between) {
    return said(ptx_kernel("mov.u32 %r10, 0;\nTOP:\nand.b32 %r11, %r10, 1;\nsetp.eq.u32 %p1, %w, %r11;\n" +
                           where("%p1", allocate("slot", 64, " // @alloc")) + join() + "ld.shared.b32 %ta, [slot];\n" +
                           join() + between + "add.u32 %r10, %r10, 1;\nsetp.lt.u32 %p2, %r10, 4;\n@%p2 bra TOP;\n"));
  };
  // Which of the allocations a dealloc frees is more than one warp by itself can tell.
  EXPECT_THAT(kernel(where("%p1", release("%ta", 64)) + join()), testing::Each(testing::StartsWith("incomplete ")));
  EXPECT_THAT(kernel(""), testing::Contains("error tmem-one-warp @alloc"));
}

TEST(Late, ColumnsThatAnotherWarpFreesOnSomePathsOnly) {
  auto kernel = [](const std::string& leave, const std::string& free) {
    return said(ptx_kernel(begin(128) + store("%tw") + kWaitStores + join() + leave +
                           where("%w1", free + release("%ta", 128))));
  };
  EXPECT_THAT(kernel("", ""), IsEmpty());
  const std::string none = "setp.eq.u32 %p1, %n, 0;\n";
  EXPECT_THAT(kernel(none + "@%p1 ret;\n", ""), ElementsAre("error tmem-missing-dealloc @alloc"));
  EXPECT_THAT(kernel("", none + "@%p1 ret;\n"), ElementsAre("error tmem-missing-dealloc @alloc"));
  // What is read from memory decides it.
  EXPECT_THAT(kernel("", "ld.global.u32 %r20, [%out];\nsetp.eq.u32 %p1, %r20, 0;\n@%p1 ret;\n"),
              ElementsAre("error tmem-missing-dealloc @alloc"));
}

// --- numbers that a condition selects ---

TEST(Selections, EachOfTheSizesIsTried) {
  const std::string size = "setp.gt.u32 %p1, %n, 7;\nselp.b32 %r20, 64, 128, %p1;\n";
  auto kernel = [&](const std::string& columns, const std::string& offset, const std::string& freed) {
    return said(ptx_kernel(
        size +
        where("%w0", "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], " + columns + "; // @alloc\n") +
        join() + "ld.shared.b32 %ta, [slot];\n" +
        where("%w0", "add.u32 %tw, %ta, " + offset + ";\n" + store("%tw", " // @store") + kWaitStores +
                         "tcgen05.dealloc.cta_group::1.sync.aligned.b32 %ta, " + freed + "; // @dealloc\n")));
  };
  EXPECT_THAT(kernel("%r20", "60", "%r20"), IsEmpty());
  EXPECT_THAT(kernel("%r20", "60", "64"), ElementsAre("error tmem-dealloc-mismatch @dealloc"));
  EXPECT_THAT(kernel("%r20", "60", "128"), ElementsAre("error tmem-dealloc-mismatch @dealloc"));
  EXPECT_THAT(kernel("64", "60", "%r20"), ElementsAre("error tmem-dealloc-mismatch @dealloc"));
  EXPECT_THAT(kernel("%r20", "64", "%r20"), ElementsAre("error tmem-column-bounds @store"));
}

TEST(Selections, ASizeThatIsSmallerThanALaterOne) {
  auto kernel = [](const std::string& first, const std::string& second) {
    const std::string alloc = "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], %r20;";
    const std::string free =
        "bar.warp.sync 0xffffffff;\nld.shared.b32 %ta, [slot];\n"
        "tcgen05.dealloc.cta_group::1.sync.aligned.b32 %ta, %r20;\n";
    return said(ptx_kernel("setp.gt.u32 %p1, %n, 7;\n" +
                           where("%w0", first + alloc + "\n" + free + second + alloc + " // @second\n" + free)));
  };
  EXPECT_THAT(kernel("selp.b32 %r20, 64, 128, %p1;\n", "mov.b32 %r20, 64;\n"), IsEmpty());
  EXPECT_THAT(kernel("selp.b32 %r20, 32, 128, %p1;\n", "mov.b32 %r20, 64;\n"),
              ElementsAre("error tmem-alloc-growing @second"));
}

// --- sizes that depend on a parameter ---

TEST(Growing, WhicheverSizeTheFirstAllocHas) {
  auto kernel = [](const std::string& second) {
    return ptx_kernel("setp.ne.u32 %p1, %n, 0;\nselp.u32 %r50, 256, 128, %p1;\n" + second +
                          R"(mov.u32 %r53, slot;
tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r53], %r50;
ld.shared.u32 %r52, [slot];
tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r52, %r50;
tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r53], %r51; // @second
ld.shared.u32 %r52, [slot];
tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r52, %r51;
tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;
)",
                      Setting{.threads = 32});
  };
  EXPECT_THAT(said(kernel("shl.b32 %r51, %r50, 1;\n")), ElementsAre("error tmem-alloc-growing @second"));
  EXPECT_THAT(said(kernel("shr.u32 %r51, %r50, 1;\n")), IsEmpty());
  EXPECT_THAT(said(kernel("mov.u32 %r51, %r50;\n")), IsEmpty());
}

// --- the columns and the slot ---

TEST(Columns, TheFirstOneIsCertainWhateverTheDescriptor) {
  const std::string unknown = "tcgen05.mma.cta_group::1.kind::f16 [%r60], %a, %b, %n, %no; // @mma\n";
  auto kernel = [&](const std::string& offset) {
    return ptx_kernel(begin(64, init("full", 1)) + "add.u32 %r60, %ta, " + offset + ";\n" +
                      where("%w0", elected(unknown + commit("full"))) + wait("full", "0") + end(64));
  };
  EXPECT_THAT(said(kernel("64")), Contains("error tmem-column-bounds @mma"));
  EXPECT_THAT(said(kernel("32")), IsEmpty());
}

TEST(Slots, AreWrittenByTheAllocAlone) {
  auto written = [](const std::string& where_to) {
    return said(ptx_kernel(where("%w3", "st.shared.b32 [" + where_to + "], %t; // @over\n") + begin(32) + end(32)));
  };
  EXPECT_THAT(written("slot"), Contains("error tmem-slot-race @over"));
  EXPECT_THAT(written("slot+8"), IsEmpty());
}

// --- conditions that are combined ---

TEST(Flags, GuardTheDeallocHoweverTheyAreCombined) {
  // The columns are freed early where both conditions hold, else at the end.
  const std::string conditions = "setp.ne.s32 %p1, %n, 0;\nsetp.eq.s32 %p2, %m, 1;\n";
  const std::string free = "tcgen05.dealloc.cta_group::1.sync.aligned.b32 %ta, 32;\n";
  const std::string allocate =
      "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 32; // @alloc\nld.shared.b32 %ta, [slot];\n";
  const std::vector<std::string> both = {
      "and.pred %p3, %p1, %p2;\n@!%p3 bra LATER;\n" + free + "LATER:\n",
      "not.pred %p4, %p1;\nnot.pred %p5, %p2;\nor.pred %p3, %p4, %p5;\n@%p3 bra LATER;\n" + free + "LATER:\n",
      "@!%p1 bra LATER;\n@!%p2 bra LATER;\n" + free + "LATER:\n",
      "selp.u32 %r1, 1, 0, %p1;\nselp.u32 %r2, %r1, 0, %p2;\nsetp.eq.u32 %p3, %r2, 0;\n@%p3 bra LATER;\n" + free +
          "LATER:\n"};
  const std::vector<std::string> rest = {
      "and.pred %p6, %p1, %p2;\n@%p6 bra OVER;\n" + free + "OVER:\n",
      "not.pred %p7, %p1;\nnot.pred %p8, %p2;\nor.pred %p6, %p7, %p8;\n@!%p6 bra OVER;\n" + free + "OVER:\n",
      "@!%p1 bra FREE;\n@%p2 bra OVER;\nFREE:\n" + free + "OVER:\n",
      "selp.u32 %r3, 1, 0, %p1;\nselp.u32 %r4, %r3, 0, %p2;\nsetp.ne.u32 %p6, %r4, 0;\n@%p6 bra OVER;\n" + free +
          "OVER:\n"};
  Setting one_warp;
  one_warp.threads = 32;
  for (const std::string& early : both) {
    for (const std::string& late : rest) {
      const std::string body = conditions + allocate + early + "bar.warp.sync 0xffffffff;\n" + late;
      EXPECT_THAT(said(ptx_kernel(body, one_warp)), IsEmpty()) << body;
    }
    // At the end only where the first does not hold: leaked where it alone does.
    const std::string leak =
        conditions + allocate + early + "bar.warp.sync 0xffffffff;\n@%p1 bra OVER;\n" + free + "OVER:\n";
    EXPECT_THAT(said(ptx_kernel(leak, one_warp)), ElementsAre("error tmem-missing-dealloc @alloc")) << leak;
  }
}

TEST(Flags, GuardTheDeallocBehindALoopThatAsksThem) {
  // Allocated where p1, or p2 and p3; the loop, whose end is not known, decides about more and more.
  auto kernel = [](const std::string& not_freed) {
    Setting one_warp;
    one_warp.threads = 32;
    return said(ptx_kernel(
        "setp.eq.s32 %p1, %m, 7;\nsetp.eq.s32 %p2, %m, 2;\nsetp.gt.s32 %p3, %n, 4;\nmov.b32 %ta, 0;\n"
        "@%p1 bra TAKE;\nnot.pred %p4, %p2;\nnot.pred %p5, %p3;\nor.pred %p6, %p4, %p5;\n@%p6 bra START;\nTAKE:\n"
        "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 32; // @alloc\nld.shared.b32 %ta, [slot];\n"
        "START:\nmov.b32 %r20, 0;\nsetp.le.s32 %p7, %n, 0;\n@%p7 bra DONE;\n"
        "TOP:\nst.global.u32 [%out], %r20;\nadd.u32 %r20, %r20, 1;\nsetp.lt.s32 %p8, %r20, %n;\n@%p8 bra "
        "TOP;\nDONE:\n" +
            not_freed + "@%p9 bra OUT;\ntcgen05.dealloc.cta_group::1.sync.aligned.b32 %ta, 32;\nOUT:\n",
        one_warp));
  };
  EXPECT_THAT(kernel("not.pred %p10, %p1;\nnot.pred %p11, %p2;\nnot.pred %p12, %p3;\nor.pred %p13, %p11, %p12;\n"
                     "and.pred %p9, %p10, %p13;\n"),
              IsEmpty());
  EXPECT_THAT(kernel("not.pred %p10, %p1;\nnot.pred %p11, %p2;\nsetp.le.s32 %p12, %n, 5;\n"
                     "or.pred %p13, %p11, %p12;\nand.pred %p9, %p10, %p13;\n"),
              ElementsAre("error tmem-missing-dealloc @alloc"));
}

// --- the last warp to come frees ---

// One thread asks, for all, whether its CTA is the last one.
TEST(LastOneFrees, OfTheGridOneThreadAsks) {
  EXPECT_THAT(said(ptx_kernel(begin(32) + store("%tw") + kWaitStores +
                              where("%first",
                                    "membar.gl;\natom.global.add.u32 %r20, [%out], 1;\nmov.u32 %r21, %nctaid.x;\n"
                                    "add.u32 %r20, %r20, 1;\nsetp.eq.u32 %p3, %r20, %r21;\nselp.u32 %r22, 1, 0, %p3;\n"
                                    "st.shared.u32 [slot+8], %r22;\n") +
                              "bar.sync 0;\nld.shared.u32 %r23, [slot+8];\nsetp.ne.u32 %p4, %r23, 0;\n" +
                              where("%p4", load("%tw") + kWaitLoads) + end(32))),
              IsEmpty());
}

// The last warp to come frees: the one that finds the count that all others have left behind.
TEST(LastOneFrees, OnlyIfSomeWarpIsTheLast) {
  auto kernel = [](const std::string& before_last,
                   const std::string& add = "atom.shared.acq_rel.cta.add.u32 %r20, [slot+8], 1;\n") {
    return said(
        ptx_kernel(where("%first", "st.shared.u32 [slot+8], 0;\n") + begin(32) + store("%tw") + kWaitStores +
                   "setp.eq.u32 %p3, %l, 0;\nmov.u32 %r20, 0;\n" + where("%p3", add) +
                   "bar.warp.sync 0xffffffff;\nredux.sync.max.u32 %r21, %r20, 0xffffffff;\nsetp.eq.u32 %p4, %r21, " +
                   before_last + ";\n" + where("%p4", release("%ta", 32, " // @dealloc"))));
  };
  EXPECT_THAT(kernel("3"), IsEmpty());
  EXPECT_THAT(kernel("4"), ElementsAre("incomplete @dealloc", "warning tmem-missing-dealloc @alloc"));
  EXPECT_THAT(kernel("2"), Contains("error tmem-dealloc-race @dealloc"));
  // Counted down from 3 to 0, and round again.
  EXPECT_THAT(kernel("0", "atom.shared.acq_rel.cta.dec.u32 %r20, [slot+8], 3;\n"),
              Not(Contains("warning tmem-missing-dealloc @alloc")));
  EXPECT_THAT(kernel("3", "atom.shared.acq_rel.cta.inc.u32 %r20, [slot+8], 7;\n"), IsEmpty());
  EXPECT_THAT(kernel("4", "atom.shared.acq_rel.cta.inc.u32 %r20, [slot+8], 7;\n"),
              ElementsAre("incomplete @dealloc", "warning tmem-missing-dealloc @alloc"));
}

}  // namespace
}  // namespace tmemlint
