// Conditions that nothing known decides: flags, words of memory, calls. Both ways are tried, the same way everywhere.
// Each kernel that must be reported stands beside the one that is right.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/producer_kernels.h"

namespace tmemlint {
namespace {

using namespace test;
using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;

// --- flags ---

TEST(Flags, BothWaysOfAnUnknownFlagAreTried) {
  for (const char* const relation : {"eq", "ne"}) {
    const std::string test = std::string("setp.") + relation + ".u32 %p1, %m, 0;\n";
    // The wait is left out where the load is not.
    EXPECT_THAT(said(ptx_kernel(begin(128, init("full", 1)) + produce() + test + where("%p1", wait("full", "0")) +
                                kConsume + join() + wait("full", "0") + end(128))),
                ElementsAre("error tmem-mma-completion @load"))
        << relation;
    EXPECT_THAT(said(ptx_kernel(begin(128, init("full", 1)) + produce() + test +
                                where("%p1", wait("full", "0") + kConsume) + join() + wait("full", "0") + end(128))),
                IsEmpty())
        << relation;
  }
}

TEST(Flags, OneConditionIsWrittenInTwoWays) {
  // n > 4 and n >= 5 are the same; n >= 4 is not, and with n = 4 the columns are read that no mma has written.
  auto read = [](const std::string& condition) {
    return ptx_kernel(begin(128, init("full", 1)) + "setp.gt.s32 %p1, %n, 4;\n" + condition +
                      where("%p1", produce() + wait("full", "0")) + where("%p2", kConsume) + end(128));
  };
  EXPECT_THAT(said(read("setp.ge.s32 %p2, %n, 5;\n")), IsEmpty());
  EXPECT_THAT(said(read("setp.ge.s32 %p2, %n, 4;\n")), ElementsAre("warning tmem-uninitialized @load"));
}

TEST(Flags, OneDecisionHoldsEverywhere) {
  // Warp 0 issues the mma and the others wait for it on the same condition, which each of them computes for itself.
  auto flagged = [](const std::string& second) {
    return ptx_kernel(begin(128, init("full", 1)) + "setp.gt.s32 %p1, %m, 4;\n" + where("%p1", produce()) + second +
                      where("%p2", wait("full", "0", " // @wait") + kConsume) + end(128));
  };
  EXPECT_THAT(said(flagged("setp.le.s32 %p3, %m, 4;\nnot.pred %p2, %p3;\n")), IsEmpty());
  // With m = 4 the others wait for what is never issued: a value that such a kernel may never be given, so nothing is
  // said of that. With larger numbers both do, with smaller ones neither.
  EXPECT_THAT(said(flagged("setp.ge.s32 %p2, %m, 4;\n")), IsEmpty());
}

// Where m is 0 something is written to Tensor Memory: that makes a decision about where the flag comes from.
std::string flagged_two_rounds(const std::string& flag) {
  const std::string decision =
      flag + "setp.eq.u32 %p1, %m, 0;\n" + where("%p1", store("%tw+64") + kWaitStores) + join();
  return ptx_kernel(begin(128, init("full", 1) + init("empty", 33, " // @init")) + decision + produce() +
                    where("%w1", wait("full", "0") + kConsume + "mbarrier.arrive.shared::cta.b64 _, [empty];\n" +
                                     wait("full", "1") + kConsume) +
                    where("%w0", elected(wait("empty", "0") + mma("%ta", "%no") + commit("full"))) + end(128));
}

TEST(Hangs, AreFindingsWhereOnlyParametersDecide) {
  EXPECT_THAT(said(flagged_two_rounds("")), ElementsAre("warning tmem-mbarrier-count @init"));
  // A word from memory may be related to what the count stands for.
  const std::vector<std::string> loaded = said(flagged_two_rounds("ld.global.u32 %m, [%out];\n"));
  ASSERT_EQ(loaded.size(), 1u);
  EXPECT_THAT(loaded[0], testing::StartsWith("incomplete "));
}

TEST(Hangs, AreFindingsForAFlagThatDecidesTheArrival) {
  // Where m is 0 nobody arrives, and the wait does not ask for m.
  auto arrives = [](const std::string& condition) {
    return ptx_kernel(
        begin(128, init("full", 1) + init("empty", 32, " // @init")) + produce() + "setp.ne.u32 %p1, %m, 0;\n" +
        where("%w1", wait("full", "0") + kConsume + where(condition, "mbarrier.arrive.shared::cta.b64 _, [empty];\n")) +
        where("%w0", wait("empty", "0")) + join() + wait("full", "0") + end(128));
  };
  EXPECT_THAT(said(arrives("%yes")), IsEmpty());
  EXPECT_THAT(said(arrives("%p1")), ElementsAre("warning tmem-mbarrier-count @init"));
}

// --- what a scenario takes unknowns for ---

TEST(Unknowns, TheFirstCtaIsOneOfThem) {
  auto skipped = [](const std::string& condition) {
    return said(ptx_kernel(begin(128, init("full", 1)) + produce() + "mov.u32 %r20, %ctaid.x;\n" + condition +
                           "@%p1 bra EARLY;\n" + wait("full", "0") + "EARLY:\n" + kConsume + join() +
                           wait("full", "0") + end(128)));
  };
  for (const std::string condition : {"setp.eq.u32 %p1, %r20, 0;\n", "setp.ne.u32 %p1, %r20, 0;\n",
                                      "setp.eq.u32 %p1, %r20, 7;\n", "setp.gt.s32 %p1, %r20, 2;\n"}) {
    EXPECT_THAT(skipped(condition), ElementsAre("error tmem-mma-completion @load")) << condition;
  }
  EXPECT_THAT(skipped("setp.lt.s32 %p1, %r20, 0;\n"), IsEmpty());
}

TEST(Unknowns, AConditionThatComesTrueInALaterRound) {
  // 64 * (round + 1) > n is not possible for the first two of four rounds where n > 128.
  auto rounds = [](const std::string& last) {
    return said(ptx_kernel(begin(128, init("full", 1)) + "setp.le.s32 %p1, %n, 128;\n@%p1 bra OUT;\n" + produce() +
                           "mov.b32 %r20, 64;\nTOP:\nsetp.gt.s32 %p2, %r20, %n;\n@%p2 bra PAST;\n" + wait("full", "0") +
                           "PAST:\n" + last + kConsume +
                           "add.u32 %r20, %r20, 64;\nsetp.le.s32 %p3, %r20, 256;\n@%p3 bra TOP;\n" + "OUT:\n" + join() +
                           where("%p1", "bra OVER;\n") + wait("full", "0") + "OVER:\n" + end(128)));
  };
  EXPECT_THAT(rounds(wait("full", "0")), IsEmpty());
}

TEST(Unknowns, ALoadIsExtendedByItsSign) {
  // What is negative as 32 bits is negative as 64: either both the mma and the wait are skipped, or none.
  auto tile = [](const std::string& type) {
    return said(ptx_kernel(begin(128, init("full", 1)) + where("%w0", "st.shared.b32 [ring], %n;\n") + join() +
                           "ld.volatile.shared.b32 %r20, [ring];\nsetp.lt.s32 %p1, %r20, 0;\n" + "ld.volatile.shared." +
                           type + " %d1, [ring];\nsetp.lt.s64 %p2, %d1, 0;\n" + "@%p2 bra NONE;\n" + produce() +
                           "NONE:\n@%p1 bra OVER;\n" + wait("full", "0") + kConsume + "OVER:\n" + end(128)));
  };
  EXPECT_THAT(tile("s32"), IsEmpty());
  EXPECT_THAT(tile("u32"), Not(IsEmpty()));
}

// --- calls that cannot be followed ---

TEST(UnknownCalls, MayWaitJoinAndFree) {
  auto with_call = [](std::string text) {
    text.insert(text.find(".visible"), ".extern .func other;\n");
    return text;
  };
  const std::string call = "call.uni other;\n";
  // Whether columns are read too early, or freed, depends on what the function does.
  EXPECT_THAT(said(with_call(ptx_kernel(begin(128, init("full", 1)) + produce() + call + kConsume))),
              testing::Each(testing::StartsWith("incomplete")));
  // A size is wrong whatever it does.
  EXPECT_THAT(said(with_call(ptx_kernel(begin(96) + call + end(96)))),
              Contains(testing::HasSubstr("error tmem-alloc-size")));
}

}  // namespace
}  // namespace tmemlint
