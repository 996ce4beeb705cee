// How many columns an alloc may ask for depends on the target and on .exclusive (PTX ISA 9.4, 9.7.18.7), and the
// dealloc is judged by the same numbers.
#include "analyzer/explain.h"
#include "tests/small_kernel.h"

namespace tmemlint::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::string alloc(unsigned columns, bool exclusive) {
  return "tcgen05.alloc" + std::string(exclusive ? ".exclusive" : "") +
         ".cta_group::1.sync.aligned.shared::cta.b32 [slot], " + std::to_string(columns) + "; // @alloc\n";
}
std::string dealloc(unsigned columns, bool exclusive) {
  return "tcgen05.dealloc" + std::string(exclusive ? ".exclusive" : "") + ".cta_group::1.sync.aligned.b32 %ta, " +
         std::to_string(columns) + "; // @dealloc\n";
}

// Warp 0 allocates, all warps do `body`, warp 0 frees.
std::string kernel(const std::string& allocs, const std::string& frees, const std::string& target,
                   const std::string& body = "") {
  Setting setting;
  setting.target = target;
  std::string text = ptx_kernel(
      where("%w0", allocs) + join() + "ld.shared.b32 %ta, [slot];\n" + body + join() + where("%w0", frees), setting);
  return text.replace(text.find("9.0"), 3, "9.4");
}

TEST(Capacity, ExclusiveOnSm107HasMoreColumns) {
  for (unsigned columns : {544u, 576u}) {
    EXPECT_THAT(said(kernel(alloc(columns, true), dealloc(columns, true), "sm_107a")), IsEmpty()) << columns;
  }
  EXPECT_THAT(said(kernel(alloc(96, true), dealloc(96, true), "sm_100f")), IsEmpty());
}

TEST(Capacity, OthersHave512) {
  const std::vector<std::string> both = {"error tmem-alloc-size @alloc", "error tmem-alloc-size @dealloc"};
  EXPECT_THAT(said(kernel(alloc(544, true), dealloc(544, true), "sm_100f")), testing::IsSupersetOf(both));
  EXPECT_THAT(said(kernel(alloc(544, false), dealloc(544, false), "sm_107a")), testing::IsSupersetOf(both));
  EXPECT_THAT(said(kernel(alloc(608, true), dealloc(608, true), "sm_107a")), testing::IsSupersetOf(both));
}

TEST(Capacity, AllColumnsOfAnExclusiveAllocationMayBeTouched) {
  const std::string lanes = "and.b32 %tw, %w, 3;\nshl.b32 %tw, %tw, 21;\nadd.u32 %tw, %tw, %ta;\n";
  auto at = [&](unsigned column) {
    return kernel(
        alloc(576, true), dealloc(576, true), "sm_107a",
        lanes + "add.u32 %tw, %tw, " + std::to_string(column) + ";\n" + store("%tw", " // @store") + kWaitStores);
  };
  EXPECT_THAT(said(at(572)), IsEmpty());
  EXPECT_THAT(said(at(573)), ElementsAre("error tmem-column-bounds @store"));
}

// A second alloc that the first leaves no room for: the message names the columns that there are for it.
TEST(Capacity, TheMessageNamesTheCapacityOfTheAlloc) {
  auto message = [](const std::string& second) {
    report::Results results;
    const std::string text = kernel(alloc(512, false) + second, dealloc(512, false), "sm_107a");
    lint(std::make_shared<const ptx::SourceText>("k.ptx", text), Options{}, results);
    std::string out;
    for (const report::Finding& f : results.findings) {
      if (f.rule == "tmem-alloc-capacity") out += f.message;
    }
    return out;
  };
  EXPECT_THAT(message("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot+4], 32;\n"),
              HasSubstr("holds 512 of the 512"));
  EXPECT_THAT(message("tcgen05.alloc.exclusive.cta_group::1.sync.aligned.shared::cta.b32 [slot+4], 96;\n"),
              HasSubstr("holds 512 of the 576"));
}

TEST(Capacity, AllocAndDeallocAreExclusiveTogether) {
  EXPECT_THAT(said(kernel(alloc(64, true), dealloc(64, false), "sm_107a")),
              ElementsAre("error tmem-dealloc-mismatch @dealloc"));
  EXPECT_THAT(said(kernel(alloc(64, false), dealloc(64, true), "sm_100f")),
              ElementsAre("error tmem-dealloc-mismatch @dealloc"));
  EXPECT_THAT(said(kernel(alloc(64, false), dealloc(64, false), "sm_107a")), IsEmpty());
}

TEST(Capacity, ExplainedKernelsNameIt) {
  auto heading = [](const std::string& text) {
    report::Results results;
    const std::string out = explain_kernels(std::make_shared<const ptx::SourceText>("k.ptx", text), Options{}, results);
    const size_t at = out.find("at most");
    return out.substr(at, out.find('\n', at) - at);
  };
  EXPECT_EQ(heading(kernel(alloc(576, true), dealloc(576, true), "sm_107a")), "at most 576 of 576 columns in use");
  EXPECT_EQ(heading(kernel(alloc(512, false), dealloc(512, false), "sm_107a")), "at most 512 of 512 columns in use");
}

}  // namespace
}  // namespace tmemlint::test
