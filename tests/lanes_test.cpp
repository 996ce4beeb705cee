// Conditions that are computed from the index of a thread: the same in all lanes of a warp, and not.
#include <algorithm>
#include <string>
#include <vector>

#include "tests/small_kernel.h"

namespace tmemlint::test {
namespace {

using ::testing::Contains;
using ::testing::IsEmpty;

const std::string kStore = store("%tw", " // @st") + kWaitStores;
const auto kApart = ::testing::EndsWith(" tmem-warp-collective @st");

// Stores to Tensor Memory where %p1 holds.
std::vector<std::string> where_it_holds(const std::string& condition) {
  return said(ptx_kernel(begin(32) + condition + "@!%p1 bra OVER;\n" + kStore + "OVER:\n" + end(32)));
}

// Stores to Tensor Memory round by round: %r1 begins as `first`, `next` steps it, and `again` says in %p1 whether there
// is another round.
std::vector<std::string> in_rounds(const std::string& first, const std::string& next, const std::string& again) {
  return said(ptx_kernel(begin(32) + first + again + "@!%p1 bra OVER;\nTOP:\n" + kStore + next + again +
                         "@%p1 bra TOP;\nOVER:\n" + end(32)));
}

// %r9 is %n rounded down to a multiple, the way a signed division does it.
std::string multiple_below(unsigned bits) {
  return "shr.s32 %r9, %n, 31;\nshr.u32 %r9, %r9, " + std::to_string(32 - bits) +
         ";\nadd.s32 %r9, %n, %r9;\nand.b32 %r9, %r9, " + std::to_string(-(1 << bits)) + ";\n";
}

// %r2 is %r1 / 2^bits, the way a signed division does it.
std::string signed_quotient(unsigned bits) {
  return "shr.s32 %r2, %r1, 31;\nshr.u32 %r2, %r2, " + std::to_string(32 - bits) +
         ";\nadd.s32 %r2, %r1, %r2;\nshr.s32 %r2, %r2, " + std::to_string(bits) + ";\n";
}

const std::string kIndex = "mov.u32 %r1, %ctaid.x;\nmad.lo.s32 %r1, %r1, 128, %t;\n";

TEST(ThreadIndexAgainst, AMultipleOfTheWarp) {
  for (const std::string type : {"s32", "u32"}) {
    for (const std::string value : {"%t", "%r1"}) {
      auto against = [&](const std::string& bound, const std::string& question) {
        return where_it_holds(kIndex + bound + question + "." + type + " %p1, " + value + ", %r9;\n");
      };
      const std::string blocks = "shl.b32 %r9, %n, 7;\n";
      EXPECT_THAT(against(blocks, "setp.lt"), IsEmpty()) << type << value;
      EXPECT_THAT(against(blocks, "setp.ge"), IsEmpty()) << type << value;
      EXPECT_THAT(against("mul.lo.s32 %r9, %n, 96;\n", "setp.lt"), IsEmpty()) << type << value;
      EXPECT_THAT(against("add.s32 %r9, %n, 31;\nand.b32 %r9, %r9, -32;\n", "setp.lt"), IsEmpty()) << type << value;
      EXPECT_THAT(against(multiple_below(7), "setp.lt"), IsEmpty()) << type << value;
      // The last one below a multiple.
      EXPECT_THAT(against(blocks + "sub.s32 %r9, %r9, 1;\n", "setp.le"), IsEmpty()) << type << value;
      EXPECT_THAT(against(blocks + "or.b32 %r9, %r9, 31;\n", "setp.gt"), IsEmpty()) << type << value;

      EXPECT_THAT(against("shl.b32 %r9, %n, 4;\n", "setp.lt"), Contains(kApart)) << type << value;
      EXPECT_THAT(against("mul.lo.s32 %r9, %n, 80;\n", "setp.lt"), Contains(kApart)) << type << value;
      EXPECT_THAT(against("add.s32 %r9, %n, 15;\nand.b32 %r9, %r9, -16;\n", "setp.lt"), Contains(kApart))
          << type << value;
      EXPECT_THAT(against(multiple_below(4), "setp.lt"), Contains(kApart)) << type << value;
      EXPECT_THAT(against(blocks + "sub.s32 %r9, %r9, 2;\n", "setp.le"), Contains(kApart)) << type << value;
      EXPECT_THAT(against(blocks + "or.b32 %r9, %r9, 30;\n", "setp.gt"), Contains(kApart)) << type << value;
      // Lane 0 is at the bound, the others are beyond it.
      EXPECT_THAT(against(blocks, "setp.le"), Contains(kApart)) << type << value;
      EXPECT_THAT(against(blocks, "setp.gt"), Contains(kApart)) << type << value;
    }
  }
}

TEST(ThreadIndexAgainst, ABoundThatMayBeAMultipleOfTheWarp) {
  auto against = [](const std::string& bound) { return where_it_holds(bound + "setp.lt.s32 %p1, %t, %r9;\n"); };
  EXPECT_THAT(against("shl.b32 %r9, %n, 4;\n"), Contains("warning tmem-warp-collective @st"));
  EXPECT_THAT(against("mov.b32 %r9, %n;\n"), Contains("warning tmem-warp-collective @st"));
  // 16 * n + 8 is none.
  EXPECT_THAT(against("shl.b32 %r9, %n, 4;\nadd.s32 %r9, %r9, 8;\n"), Contains("error tmem-warp-collective @st"));
  // Nor is the number of a lane.
  EXPECT_THAT(where_it_holds("setp.eq.s32 %p1, %t, %n;\n"), Contains("error tmem-warp-collective @st"));
}

TEST(ThreadIndexAgainst, AMultipleFromTheMiddleOfAWarp) {
  const std::string bound = "shl.b32 %r9, %n, 7;\n";
  // Warp 3 lies on both sides of the next multiple of 128.
  EXPECT_THAT(where_it_holds(bound + "add.s32 %r1, %t, 16;\nsetp.lt.s32 %p1, %r1, %r9;\n"), Contains(kApart));
  EXPECT_THAT(where_it_holds(bound + "sub.s32 %r1, %t, 16;\nsetp.lt.u32 %p1, %r1, %r9;\n"), Contains(kApart));
  EXPECT_THAT(where_it_holds(bound + "add.s32 %r1, %t, 128;\nsetp.lt.s32 %p1, %r1, %r9;\n"), IsEmpty());
  // Every second number of 256.
  EXPECT_THAT(where_it_holds("shl.b32 %r9, %n, 8;\nshl.b32 %r1, %t, 1;\nsetp.lt.s32 %p1, %r1, %r9;\n"), IsEmpty());
  EXPECT_THAT(where_it_holds("shl.b32 %r9, %n, 5;\nshl.b32 %r1, %t, 1;\nsetp.lt.s32 %p1, %r1, %r9;\n"),
              Contains(kApart));
}

TEST(ThreadIndexAgainst, ANumber) {
  for (const char* last : {"31", "63", "127", "255"}) {
    EXPECT_THAT(where_it_holds(kIndex + "setp.le.s32 %p1, %r1, " + last + ";\n"), IsEmpty()) << last;
    EXPECT_THAT(where_it_holds(kIndex + "setp.gt.u32 %p1, %r1, " + last + ";\n"), IsEmpty()) << last;
  }
  EXPECT_THAT(where_it_holds(kIndex + "setp.le.s32 %p1, %r1, 30;\n"), Contains(kApart));
  EXPECT_THAT(where_it_holds(kIndex + "setp.lt.s32 %p1, %r1, 80;\n"), Contains(kApart));
}

TEST(ThreadIndexAgainst, ANumberOf64Bits) {
  const std::string wide = kIndex + "cvt.s64.s32 %d1, %r1;\ncvt.s64.s32 %d2, %n;\n";
  EXPECT_THAT(where_it_holds(wide + "shl.b64 %d2, %d2, 5;\nsetp.lt.s64 %p1, %d1, %d2;\n"), IsEmpty());
  EXPECT_THAT(where_it_holds(wide + "shl.b64 %d2, %d2, 4;\nsetp.lt.s64 %p1, %d1, %d2;\n"), Contains(kApart));
  EXPECT_THAT(where_it_holds(wide + "setp.lt.s64 %p1, %d1, %d2;\n"), Contains(kApart));
  const std::string offset = "shl.b32 %r1, %n, 5;\nadd.s32 %r1, %r1, %t;\ncvt.s64.s32 %d1, %r1;\n";
  EXPECT_THAT(where_it_holds(offset + "shr.s64 %d1, %d1, 5;\nsetp.lt.s64 %p1, %d1, 7;\n"), IsEmpty());
  EXPECT_THAT(where_it_holds(offset + "shr.s64 %d1, %d1, 4;\nsetp.lt.s64 %p1, %d1, 7;\n"), Contains(kApart));
}

// An alloc and a dealloc behind the index of the thread in the grid.
TEST(ThreadIndexInTheGrid, OneWarpOfTheGridAllocates) {
  auto kernel = [](const char* last) {
    const std::string outside = std::string("setp.gt.s32 %p1, %r1, ") + last + ";\n";
    return said(ptx_kernel("mov.u32 %r1, %ctaid.x;\nmov.u32 %r2, %ntid.x;\nmad.lo.s32 %r1, %r1, %r2, %t;\n" + outside +
                           "@%p1 bra NO_ALLOC;\n" + allocate("slot", 32, " // @alloc") + "NO_ALLOC:\nbar.sync 0;\n" +
                           outside + "@%p1 bra NO_STORE;\nld.shared.b32 %ta, [slot];\n" + store("%ta", " // @st") +
                           kWaitStores + "NO_STORE:\nbar.sync 0;\n" + outside + "@%p1 bra NO_DEALLOC;\n" +
                           release("%ta", 32, " // @dealloc") + "NO_DEALLOC:\n"));
  };
  EXPECT_THAT(kernel("31"), IsEmpty());
  EXPECT_THAT(kernel("30"), Contains("error tmem-warp-collective @alloc"));
  EXPECT_THAT(kernel("63"), Contains("error tmem-one-warp @alloc"));
}

TEST(ThreadIndexInTheGrid, IsNotNegative) {
  EXPECT_THAT(where_it_holds(kIndex + signed_quotient(5) + "setp.lt.s32 %p1, %r2, %n;\n"), IsEmpty());
  EXPECT_THAT(where_it_holds(kIndex + signed_quotient(4) + "setp.lt.s32 %p1, %r2, %n;\n"), Contains(kApart));
  const std::string other_axis = "mov.u32 %r1, %ctaid.y;\nmad.lo.s32 %r1, %r1, 128, %t;\n";
  EXPECT_THAT(where_it_holds(other_axis + signed_quotient(5) + "setp.lt.s32 %p1, %r2, %n;\n"), IsEmpty());
  // What begins at a parameter may be negative: the lanes that are not at a multiple of 32 round up to another number.
  const std::string from_n = "shl.b32 %r1, %n, 7;\nadd.s32 %r1, %r1, %t;\n";
  EXPECT_THAT(where_it_holds(from_n + signed_quotient(5) + "setp.lt.s32 %p1, %r2, %m;\n"), Contains(kApart));
  const std::string back = kIndex + "shl.b32 %r3, %n, 7;\nsub.s32 %r1, %r1, %r3;\n";
  EXPECT_THAT(where_it_holds(back + signed_quotient(5) + "setp.lt.s32 %p1, %r2, %m;\n"), Contains(kApart));
  // Rounded down they are the same.
  EXPECT_THAT(where_it_holds(back + "shr.s32 %r2, %r1, 5;\nsetp.lt.s32 %p1, %r2, %m;\n"), IsEmpty());
}

TEST(ThreadIndexInRounds, TheBoundIsAMultipleOfTheWarp) {
  const std::string step = "add.s32 %r1, %r1, 128;\n";
  for (const std::string& first : {std::string("mov.b32 %r1, %t;\n"), kIndex}) {
    auto while_it = [&](const std::string& holds) { return in_rounds(first, step, holds); };
    EXPECT_THAT(while_it("sub.s32 %r2, %r1, %l;\nsetp.lt.s32 %p1, %r2, %n;\n"), IsEmpty());
    EXPECT_THAT(while_it("and.b32 %r2, %r1, -32;\nsetp.lt.s32 %p1, %r2, %n;\n"), IsEmpty());
    EXPECT_THAT(while_it("shr.s32 %r2, %r1, 5;\nsetp.lt.s32 %p1, %r2, %n;\n"), IsEmpty());
    EXPECT_THAT(while_it("shl.b32 %r2, %n, 7;\nsetp.lt.s32 %p1, %r1, %r2;\n"), IsEmpty());
    EXPECT_THAT(while_it(multiple_below(5) + "setp.lt.s32 %p1, %r1, %r9;\n"), IsEmpty());

    EXPECT_THAT(while_it("setp.lt.s32 %p1, %r1, %n;\n"), Contains(kApart));
    EXPECT_THAT(while_it("and.b32 %r2, %r1, -16;\nsetp.lt.s32 %p1, %r2, %n;\n"), Contains(kApart));
    EXPECT_THAT(while_it("shr.s32 %r2, %r1, 4;\nsetp.lt.s32 %p1, %r2, %n;\n"), Contains(kApart));
    EXPECT_THAT(while_it("shl.b32 %r2, %n, 4;\nsetp.lt.s32 %p1, %r1, %r2;\n"), Contains(kApart));
    EXPECT_THAT(while_it("shl.b32 %r2, %n, 7;\nsetp.le.s32 %p1, %r1, %r2;\n"), Contains(kApart));
    EXPECT_THAT(while_it(multiple_below(4) + "setp.lt.s32 %p1, %r1, %r9;\n"), Contains(kApart));
  }
}

// An index that starts in the grid and goes up by the grid, or by a number, is not negative.
TEST(ThreadIndexInRounds, CountsUpToWhatIsNotNegative) {
  const std::string grid = "mov.u32 %r3, %nctaid.x;\nshl.b32 %r3, %r3, 7;\nadd.s32 %r1, %r1, %r3;\n";
  const std::string warp = signed_quotient(5) + "setp.lt.s32 %p1, %r2, %n;\n";
  for (const std::string& first : {std::string("mov.b32 %r1, %t;\n"), kIndex}) {
    EXPECT_THAT(in_rounds(first, grid, warp), IsEmpty());
    EXPECT_THAT(in_rounds(first, "add.s32 %r1, %r1, 128;\n", warp), IsEmpty());
    EXPECT_THAT(in_rounds(first, grid, signed_quotient(4) + "setp.lt.s32 %p1, %r2, %n;\n"), Contains(kApart));
    // These may become negative.
    EXPECT_THAT(in_rounds(first, "sub.s32 %r1, %r1, 128;\n", warp), Contains(kApart));
    EXPECT_THAT(in_rounds(first, "shl.b32 %r3, %m, 7;\nadd.s32 %r1, %r1, %r3;\n", warp), Contains(kApart));
  }
  EXPECT_THAT(in_rounds("shl.b32 %r1, %m, 7;\nadd.s32 %r1, %r1, %t;\n", grid, warp), Contains(kApart));
}

TEST(ThreadIndexInRounds, TheStepIsAnother) {
  const std::string first = "mov.b32 %r1, %t;\n";
  const std::string aligned = "and.b32 %r2, %r1, -32;\nsetp.lt.s32 %p1, %r2, %n;\n";
  EXPECT_THAT(in_rounds(first, "add.s32 %r1, %r1, 32;\n", aligned), IsEmpty());
  EXPECT_THAT(in_rounds(first, "shl.b32 %r3, %m, 5;\nadd.s32 %r1, %r1, %r3;\n", aligned), IsEmpty());
  // From the second round on a warp lies on both sides of a multiple of 32.
  EXPECT_THAT(in_rounds(first, "add.s32 %r1, %r1, 16;\n", aligned), Contains(kApart));
  EXPECT_THAT(in_rounds(first, "add.s32 %r1, %r1, %m;\n", aligned), Contains(kApart));
  EXPECT_THAT(in_rounds(first, "add.s32 %r1, %r1, %t;\n", aligned), Contains(kApart));
  EXPECT_THAT(in_rounds(first, "shl.b32 %r1, %r1, 1;\n", aligned), Contains(kApart));
}

// Paths on which the lanes differ by other numbers have no common table.
TEST(ThreadIndexOfTwoPaths, MayDifferBetweenLanesInAnotherWay) {
  auto kernel = [](const std::string& otherwise, const std::string& condition) {
    return where_it_holds("mov.b32 %r1, %t;\nsetp.eq.u32 %p2, %m, 0;\n@%p2 bra MEET;\n" + otherwise +
                          "bar.warp.sync 0xffffffff;\nMEET:\n" + condition);
  };
  const std::string below = "shl.b32 %r2, %n, 5;\nsetp.lt.s32 %p1, %r1, %r2;\n";
  EXPECT_THAT(kernel("shl.b32 %r3, %m, 6;\nadd.s32 %r1, %t, %r3;\n", below), IsEmpty());
  EXPECT_THAT(kernel("shl.b32 %r3, %m, 4;\nadd.s32 %r1, %t, %r3;\n", below), Contains(kApart));
  EXPECT_THAT(kernel("shl.b32 %r1, %t, 1;\n", below), Contains(kApart));
  EXPECT_THAT(kernel("mov.b32 %r1, %n;\n", "setp.lt.s32 %p1, %r1, 17;\n"), Contains(kApart));
  // The same by a selection.
  auto selected = [](const std::string& other) {
    return where_it_holds("setp.eq.u32 %p2, %m, 0;\n" + other +
                          "selp.b32 %r1, %r4, %t, %p2;\nshl.b32 %r2, %n, 5;\nsetp.lt.s32 %p1, %r1, %r2;\n");
  };
  EXPECT_THAT(selected("shl.b32 %r3, %m, 6;\nadd.s32 %r4, %t, %r3;\n"), IsEmpty());
  EXPECT_THAT(selected("add.s32 %r4, %t, 16;\n"), Contains(kApart));
  EXPECT_THAT(selected("sub.s32 %r4, 127, %t;\n"), IsEmpty());
  EXPECT_THAT(selected("sub.s32 %r4, 130, %t;\n"), Contains(kApart));
}

// How often a loop from one index to another goes round, as a compiler works it out before it unrolls the loop.
TEST(ThreadIndexOfTwoPaths, TheNumberOfRounds) {
  auto kernel = [](const std::string& bound, const std::string& condition) {
    return where_it_holds("mov.u32 %r3, %ctaid.x;\nshl.b32 %r3, %r3, 7;\nor.b32 %r4, %r3, %t;\n" + bound +
                          "add.s32 %r5, %r4, 128;\nmax.s32 %r6, %r9, %r5;\nnot.b32 %r7, %t;\nadd.s32 %r8, %r6, %r7;\n"
                          "sub.s32 %r8, %r8, %r3;\n" +
                          condition);
  };
  const std::string rounds = "shr.u32 %r2, %r8, 7;\nadd.s32 %r2, %r2, 1;\n";
  for (const std::string& condition :
       {rounds + "and.b32 %r2, %r2, 15;\nsetp.eq.s32 %p1, %r2, 0;\n", std::string("setp.lt.u32 %p1, %r8, 1920;\n")}) {
    EXPECT_THAT(kernel("shl.b32 %r9, %n, 7;\n", condition), IsEmpty());
    // Five rounds at most, never a multiple of 16: that no scenario comes to the store is said, that none can is not
    // seen.
    const bool never = condition.starts_with(rounds);
    EXPECT_THAT(kernel("shl.b32 %r9, %n, 7;\nadd.s32 %r1, %r3, 512;\nmin.s32 %r9, %r9, %r1;\n", condition),
                never ? testing::Matcher<std::vector<std::string>>(testing::ElementsAre("incomplete @st")) : IsEmpty());
    EXPECT_THAT(kernel("shl.b32 %r9, %n, 4;\n", condition), Contains(kApart));
    EXPECT_THAT(kernel("mov.b32 %r9, %n;\n", condition), Contains(kApart));
    EXPECT_THAT(kernel("shl.b32 %r9, %n, 7;\nadd.s32 %r1, %r3, 500;\nmin.s32 %r9, %r9, %r1;\n", condition),
                Contains(kApart));
  }
}

}  // namespace
}  // namespace tmemlint::test
