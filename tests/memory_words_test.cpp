// Words of shared and global memory that several warps read or change: what they hold, and what they order. Each kernel
// that must be reported stands beside the one that is right.
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

// --- words of global memory ---

// Warp 1 issues an mma for item n + 1 and warp 0 waits for it, each if what `first` and `second` leave in %r30 and %r31
// says so. %d1 and %d2 are the item's address with its number extended by its sign and by zeros.
std::string for_an_item(const std::string& first, const std::string& second, const std::string& between = "") {
  return ptx_kernel(
      begin(128, init("full", 1)) +
      "add.u32 %r20, %n, 1;\nmul.wide.s32 %d1, %r20, 4;\nadd.s64 %d1, %out, %d1;\nmul.wide.u32 %d2, %r20, "
      "4;\nadd.s64 %d2, %out, %d2;\n" +
      between +
      where("%w1", first + "setp.gt.s32 %p1, %r30, 0;\n" +
                       where("%p1", elected(mma("%ta", "%no", " // @mma") + commit("full")))) +
      where("%w0", second + "setp.gt.s32 %p2, %r31, 0;\n" + where("%p2", wait("full", "0", " // @wait") + kConsume)) +
      end(128));
}

TEST(GlobalWords, AreTheSameHoweverTheirAddressIsComputed) {
  const std::string first = "ld.global.u32 %r30, [%d1];\n";
  EXPECT_THAT(said(for_an_item(first, "ld.global.u32 %r31, [%d2];\n")), IsEmpty());
  // The second word of a pair, and the one behind the first.
  EXPECT_THAT(said(for_an_item("ld.global.v2.u32 {%r32, %r30}, [%d1];\n", "ld.global.u32 %r31, [%d2+4];\n")),
              IsEmpty());
  // The word is the same, but what is asked of it is not.
  EXPECT_THAT(said(for_an_item(first, "ld.global.u32 %r31, [%d2];\nsub.u32 %r31, %r31, 4;\n")),
              ElementsAre("error tmem-mma-completion @dealloc", "warning tmem-exit-in-flight `    ret;`"));
}

TEST(GlobalWords, ThatWarpsGuessApartProveNothing) {
  // Two words that may well be one count, of which each warp reads one: there may be no launch with a guess for each.
  const std::string first = "ld.global.u32 %r30, [%d1];\n";
  const std::string second = "ld.global.u32 %r31, [%d2+64];\n";
  for (const std::string& s : said(for_an_item(first, second))) EXPECT_THAT(s, testing::StartsWith("incomplete "));
  // What happens before the guesses does not depend on them.
  const std::string early = where("%w1", elected(mma("%ta", "%no") + commit("full"))) + where("%w0", kConsume);
  EXPECT_THAT(said(for_an_item(first, second, early)), Contains("error tmem-mma-completion @load"));
  // Nor does what one warp does wrong by itself.
  EXPECT_THAT(said(for_an_item(first, second + load("%tw+127", " // @bounds") + kWaitLoads)),
              Contains("error tmem-column-bounds @bounds"));
  // Where both warps read both words, one of them is a condition of its own.
  const std::string both = "ld.global.u32 %r30, [%d1];\nld.global.u32 %r31, [%d2+64];\n";
  EXPECT_THAT(said(for_an_item(both, both)),
              ElementsAre("error tmem-mma-completion @dealloc", testing::StartsWith("incomplete "),
                          "warning tmem-exit-in-flight `    ret;`"));
}

// --- joins by words of memory ---

// Warp 1 issues an mma, and `before` and `after` the wait for it lets the other warps know; all wait with `poll`.
std::string by_flag(const std::string& before, const std::string& after, const std::string& poll) {
  return ptx_kernel(
      begin(128, init("full", 1) + "st.shared.u32 [ring], 0;\n") +
      where("%w1", elected(mma("%ta", "%no", " // @mma") + commit("full") + before + wait("full", "0") + after)) +
      poll + "tcgen05.fence::after_thread_sync;\n" + kConsume + end(128));
}

TEST(Atomics, JoinThoseThatChangeAWordAndThoseThatReadIt) {
  const std::vector<std::string> sets = {
      "fence.acq_rel.cta;\natom.shared.exch.b32 %r20, [ring], 1;\n", "red.release.cta.shared.add.u32 [ring], 1;\n",
      "atom.release.cta.shared.cas.b32 %r20, [ring], 0, 1;\n", "st.release.cta.shared.u32 [ring], 1;\n"};
  const std::vector<std::string> polls = {
      "POLL: atom.shared.add.u32 %r21, [ring], 0;\nsetp.eq.u32 %p1, %r21, 0;\n@%p1 bra POLL;\nfence.acq_rel.cta;\n",
      "POLL: atom.shared.or.b32 %r21, [ring], 0;\nsetp.eq.u32 %p1, %r21, 0;\n@%p1 bra POLL;\nfence.acq_rel.cta;\n",
      "POLL: atom.acquire.cta.shared.cas.b32 %r21, [ring], 1, 1;\nsetp.ne.u32 %p1, %r21, 1;\n@%p1 bra POLL;\n",
      "POLL: ld.acquire.cta.shared.u32 %r21, [ring];\nsetp.eq.u32 %p1, %r21, 0;\n@%p1 bra POLL;\n"};
  for (const std::string& set : sets) {
    for (const std::string& poll : polls) {
      EXPECT_THAT(said(by_flag("", set, poll)), IsEmpty()) << set << poll;
      // The flag is set before the mma is known to be complete.
      EXPECT_THAT(said(by_flag(set, "", poll)), Contains("error tmem-mma-completion @load")) << set << poll;
    }
  }
}

TEST(Atomics, ThroughGlobalMemoryJoinToo) {
  const std::string set = "st.release.gpu.global.u32 [%out], 1;\n";
  const std::string poll = "POLL: ld.acquire.gpu.global.u32 %r21, [%out];\nsetp.eq.u32 %p1, %r21, 0;\n@%p1 bra POLL;\n";
  EXPECT_THAT(said(by_flag("", set, poll)), IsEmpty());
  EXPECT_THAT(said(by_flag("", "fence.acq_rel.gpu;\nred.global.add.u32 [%out], 1;\n",
                           "POLL: ld.volatile.global.u32 %r21, [%out];\nsetp.eq.u32 %p1, %r21, 0;\n@%p1 bra "
                           "POLL;\nfence.acq_rel.gpu;\n")),
              IsEmpty());
  EXPECT_THAT(said(by_flag(set, "", poll)), Contains("error tmem-mma-completion @load"));
  // Nothing is released, or nothing acquired.
  EXPECT_THAT(said(by_flag("", "st.global.u32 [%out], 1;\n", poll)), Contains("error tmem-mma-completion @load"));
  EXPECT_THAT(said(by_flag("", set, "ld.global.u32 %r21, [%out];\n")), Contains("error tmem-mma-completion @load"));
}

// Each warp stores and loads its lanes and counts itself; the one whose count is `last` frees.
std::string by_last(const std::string& count, const std::string& last) {
  return ptx_kernel(begin(32, "st.shared.u32 [ring], 0;\n") + store("%tw") + kWaitStores + load("%tw", " // @load") +
                    kWaitLoads +
                    "tcgen05.fence::before_thread_sync;\nbar.warp.sync 0xffffffff;\nmov.u32 %r21, 1000;\n" + count +
                    "setp.eq.u32 %p1, %r21, " + last +
                    ";\nvote.sync.any.pred %p2, %p1, 0xffffffff;\ntcgen05.fence::after_thread_sync;\n" +
                    where("%p2", release("%ta", 32, " // @dealloc")));
}

TEST(Atomics, GiveEachThreadAValueOfItsOwn) {
  const std::string alone = "setp.eq.u32 %p3, %l, 0;\n@%p3 atom.acq_rel.cta.shared.add.u32 %r21, [ring], 1;\n";
  EXPECT_THAT(said(by_last(alone, "3")), IsEmpty());
  EXPECT_THAT(said(by_last("atom.acq_rel.cta.shared.add.u32 %r21, [ring], 1;\n", "127")), IsEmpty());
  // The first one that comes knows nothing of the others.
  EXPECT_THAT(said(by_last(alone, "0")), Contains("error tmem-dealloc-race @dealloc"));
  // What a word of global memory held before is not known, and who comes last neither.
  const std::string global = "setp.eq.u32 %p3, %l, 0;\n@%p3 atom.acq_rel.gpu.global.add.u32 %r21, [%out], 1;\n";
  for (const std::string& s : said(by_last(global, "3"))) {
    EXPECT_THAT(s, testing::AnyOf(testing::StartsWith("incomplete "), testing::HasSubstr("missing-dealloc"))) << s;
  }
}

}  // namespace
}  // namespace tmemlint
