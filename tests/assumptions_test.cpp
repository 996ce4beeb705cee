// The registry of assumptions and limits: docs/limits.md is written from it, each limit in the sources comes from it,
// and runs count what they relied on.
#include "analyzer/assumptions/assumptions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>

#include "analyzer/engine.h"
#include "analyzer/report/json.h"
#include "analyzer/report/text.h"
#include "tests/files.h"

namespace tmemlint {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const fs::path kRoot = TMEMLINT_SOURCE_DIR;

// The sources that analyse, by path below the root; not the registry itself, and not what kernels include.
const std::map<std::string, std::string>& sources() {
  static const std::map<std::string, std::string> all = [] {
    std::map<std::string, std::string> out;
    for (const char* top : {"analyzer", "rules"}) {
      for (const fs::directory_entry& entry : fs::recursive_directory_iterator(kRoot / top)) {
        const std::string extension = entry.path().extension().string();
        const std::string path = fs::relative(entry.path(), kRoot).generic_string();
        if (extension != ".h" && extension != ".cpp") continue;
        if (path.starts_with("analyzer/cuda/bundled/") || path.starts_with("analyzer/assumptions/")) continue;
        out[path] = test::read_file(entry.path());
      }
    }
    return out;
  }();
  return all;
}

bool has_word(const std::string& text, const std::string& word) {
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
    if (std::isalnum(static_cast<unsigned char>(text[at + word.size()])) == 0) return true;
  }
  return false;
}

std::string name_of(const std::string& id) {
  std::string out = "k";
  bool upper = true;
  for (char c : id) {
    if (c != '-') out += upper ? static_cast<char>(std::toupper(c)) : c;
    upper = c == '-';
  }
  return out;
}

TEST(Assumptions, EachRowIsComplete) {
  std::set<std::string> ids;
  for (const assumptions::Row& row : assumptions::rows()) {
    EXPECT_TRUE(ids.insert(row.id).second) << row.id << " is there twice";
    EXPECT_TRUE(row.sentence.ends_with('.') || row.sentence.ends_with("…")) << row.sentence;
    EXPECT_EQ(row.sentence.find("{}"), std::string::npos) << row.sentence;
    if (row.shown == assumptions::Shown::kSilent) {
      EXPECT_FALSE(row.how.empty()) << row.id << ": why may it be silent?";
    }
  }
  EXPECT_EQ(assumptions::rows().size(), assumptions::kRows);
  EXPECT_EQ(assumptions::row(assumptions::Id::kStatesAtABlock).id, "states-at-a-block");
  EXPECT_EQ(assumptions::row(assumptions::Id::kOtherRounds).sentence,
            "Further scenarios let them run 1, 0 and 5 times.");
}

TEST(Assumptions, TheCodeTakesItsNumbersFromTheRows) {
  std::string all;
  for (const auto& [path, text] : sources()) all += text;
  for (const assumptions::Row& row : assumptions::rows()) {
    const std::string name = name_of(row.id);
    if (!row.numbers.empty()) {
      EXPECT_TRUE(has_word(all, "assumptions::" + name)) << row.id << " is used nowhere";
    }
    if (row.not_counted.empty()) {
      EXPECT_TRUE(has_word(all, "Id::" + name)) << row.id << " is counted nowhere";
    }
  }
}

TEST(Assumptions, ThePageOfLimitsIsWrittenFromThem) {
  const fs::path page = kRoot / "docs/limits.md";
  if (std::getenv("TMEMLINT_UPDATE_GOLDEN") != nullptr) std::ofstream(page) << assumptions::page();
  EXPECT_EQ(test::read_file(page), assumptions::page())
      << "write it again: tmemlint --list-assumptions > docs/limits.md";
}

// --- limits in the sources ---

// Numbers that are no limits of the analysis, by file and name, and why.
struct Allowed {
  const char* file;
  const char* name;
  const char* why;
};
constexpr const char* kFact = "a fact of the ISA";
constexpr const char* kNone = "says that there is none, or all bits";
constexpr const char* kHash = "of hashes";
constexpr const char* kCache = "only how much is remembered: it costs time and changes no result";
constexpr const char* kContainer = "how a container keeps its elements";
constexpr const char* kNaming = "tells unknowns of one step apart";
constexpr const char* kPrinting = "how the report or a message is laid out";
constexpr const char* kCommand = "the command line, which refuses more";
const Allowed kAllowed[] = {
    {"analyzer/ptx/", "kAnyRole", kNone},
    {"analyzer/ptx/module.cpp", "kBits", "a table that is computed"},
    {"analyzer/report/sources.cpp", "kKinds", "kinds of file systems"},
    {"analyzer/kernel/layout.h", "kWindowMask", "follows from a row"},
    {"analyzer/warp/flow.h", "kSharedBit", "follows from a row"},
    {"analyzer/cluster/observations.cpp", "kMix", kHash},
    {"analyzer/ptx/", "kClassCount", "counts an enumeration"},
    {"analyzer/ptx/", "kMaxSlots", "the most operands of an instruction in the table"},
    {"analyzer/ptx/", "kMaxCount", kFact},
    {"analyzer/ptx/", "kTmemLanes", kFact},
    {"analyzer/ptx/", "kAllocationUnit", kFact},
    {"analyzer/ptx/", "kMostTmemColumns", kFact},
    {"analyzer/ptx/", "kWarpSize", kFact},
    {"analyzer/ptx/", "kAllHalfWindows", kNone},
    {"analyzer/ptx/", "kNone", kNone},
    {"analyzer/ptx/", "kWhole", kNone},
    {"analyzer/ptx/", "kNowhere", kNone},
    {"analyzer/ptx/", "kHashSeed", kHash},
    {"analyzer/ptx/source.cpp", "kColumnBits", "a place is a line and a column in 32 bits"},
    {"analyzer/ptx/source.cpp", "kMaxColumn", "a place is a line and a column in 32 bits"},
    {"analyzer/ptx/source.cpp", "kMaxLine", "a place is a line and a column in 32 bits"},
    {"analyzer/ptx/parser_cursor.cpp", "kLongest", kPrinting},
    {"analyzer/value/", "kLanes", kFact},
    {"analyzer/value/", "kAllLanes", kNone},
    {"analyzer/value/term_store.cpp", "kUnit", kFact},
    {"analyzer/value/term_store.cpp", "kAllBits", kNone},
    {"analyzer/value/", "kRemembered", kCache},
    {"analyzer/value/containers.h", "kBlock", kContainer},
    {"analyzer/value/unknowns.h", "kSiteNumberBits", "a name of 64 bits holds a kind and a number"},
    {"analyzer/value/unknowns.h", "kSiteNumbers", "a name of 64 bits holds a kind and a number"},
    {"analyzer/program/straight_runs.cpp", "kShortest", kCache},
    {"analyzer/program/straight_runs.cpp", "kLongest", kCache},
    {"analyzer/warp/replays.h", "kMostValues", kCache},
    {"analyzer/warp/shared_sets.h", "kGroup", kContainer},
    {"analyzer/warp/shared_sets.h", "kEmpty", kNone},
    {"analyzer/warp/shared_sets.h", "kNotThere", kNone},
    {"analyzer/warp/protocol.h", "kOfPlace", kNaming},
    {"analyzer/warp/protocol.cpp", "kFactor", kHash},
    {"analyzer/warp/", "kMemoryPart", kNaming},
    {"analyzer/warp/", "kElementPart", kNaming},
    {"analyzer/warp/", "kPartlyKnownPart", kNaming},
    {"analyzer/warp/", "kMaybeWrittenPart", kNaming},
    {"analyzer/warp/", "kSomeLanePart", kNaming},
    {"analyzer/warp/", "kOldWordPart", kNaming},
    {"analyzer/warp/", "kMatrixPart", kNaming},
    {"analyzer/warp/", "kMaybeStoredPart", kNaming},
    {"analyzer/warp/joins.cpp", "kColumnBits", kFact},
    {"analyzer/cluster/branch_facts.cpp", "kNoWay", kNone},
    {"analyzer/cluster/aim.h", "kAny", kNone},
    {"analyzer/kernel/constant_registers.cpp", "kSeveral", kNone},
    {"analyzer/cluster/value_origins.cpp", "kParameter", kNaming},
    {"analyzer/cluster/last_stores.h", "kPage", kContainer},
    {"rules/column_bounds.cpp", "kColumns", kFact},
    {"rules/descriptor.cpp", "kLanesOfTensorMemory", kFact},
    {"rules/waits.h", "kFew", kCache},
    {"rules/missing_wait_ld.cpp", "kByOwnLanes", kNaming},
    {"analyzer/report/caret.cpp", "kTab", kPrinting},
    {"analyzer/report/encoding.cpp", "kLongest", kPrinting},
    {"analyzer/cli/launch_requests.cpp", "kLargestZ", kCommand},
    {"analyzer/cli/launch_requests.cpp", "kMostCtas", kCommand},
    {"analyzer/cli/rule_filter.cpp", "kMost", kPrinting},
    {"analyzer/cuda/clang/ir_facts.cpp", "kShared", "an address space of LLVM"},
    {"analyzer/cuda/clang/parse.cpp", "kFirstInstance", "a line in a generated file"},
    {"analyzer/cuda/translation.h", "kNo", kNone},
};

bool is_allowed(const std::string& path, const std::string& name) {
  return std::any_of(std::begin(kAllowed), std::end(kAllowed),
                     [&](const Allowed& a) { return path.starts_with(a.file) && name == a.name; });
}

// Constants of a source, by name, whose numbers it says itself.
std::vector<std::string> own_constants(const std::string& text) {
  static const std::regex constant(
      R"(constexpr (?:const )?(?:u?int\d*_t|(?:std::)?size_t|uintmax_t|ptrdiff_t|unsigned(?: \w+)?|int|long|auto|std::array<u?int[^>]*>)\s+(k\w+)(?:\[\])?\s*=\s*([^;]*);)");
  static const std::regex number(R"((^|[^\w])(0x[0-9a-f']+|\d[\d']*)u?\b)");
  std::vector<std::string> out;
  for (std::sregex_iterator at(text.begin(), text.end(), constant), end; at != end; ++at) {
    const std::string value = (*at)[2];
    if (value.find("assumptions::") == std::string::npos && std::regex_search(value, number)) out.push_back((*at)[1]);
  }
  return out;
}

// Comparisons with a number, and defaults of budgets, that look like a limit.
std::vector<std::string> own_limits(const std::string& text) {
  static const std::regex limit(
      R"(\b(?:size\(\)|steps|depth|rounds|times|tries|tried|repeats|budget)\s*(?:<|<=|>|>=)\s*(?:[3-9]|[1-9][0-9'][0-9']*)u?\b)"
      R"(|\b\w*(?:budget|limit)\w* = [1-9][0-9']+)");
  std::vector<std::string> out;
  for (std::sregex_iterator at(text.begin(), text.end(), limit), end; at != end; ++at) out.push_back(at->str());
  return out;
}

TEST(Assumptions, ThereIsARowForEachLimit) {
  for (const auto& [path, text] : sources()) {
    for (const std::string& name : own_constants(text)) {
      EXPECT_TRUE(is_allowed(path, name))
          << path << ": " << name << " is a number of its own. A limit, or an assumption, is a row of "
          << "analyzer/assumptions/assumptions.def; what is neither is listed in this test, with the reason.";
    }
    // What is spelled in an input, or asked of the command line, has sizes that are no limits of the analysis.
    if (path.starts_with("analyzer/ptx/") || path.starts_with("analyzer/cli/")) continue;
    std::vector<std::string> limits = own_limits(text);
    // Operations have up to four operands; what has more is not modelled.
    if (path == "analyzer/cluster/model.cpp") std::erase(limits, "size() > 4");
    EXPECT_THAT(limits, IsEmpty()) << path << ": a limit is a row of analyzer/assumptions/assumptions.def";
  }
}

TEST(Assumptions, NothingIsAllowedThatIsNotThere) {
  for (const Allowed& a : kAllowed) {
    bool there = false;
    for (const auto& [path, text] : sources()) {
      if (!path.starts_with(a.file)) continue;
      for (const std::string& name : own_constants(text)) there = there || name == a.name;
    }
    EXPECT_TRUE(there) << a.file << " has no " << a.name << " any more";
  }
}

TEST(Assumptions, LimitsAreFoundInSources) {
  EXPECT_THAT(own_constants("constexpr size_t kMostStates = 48;"), ::testing::ElementsAre("kMostStates"));
  EXPECT_THAT(own_constants("  static constexpr uint64_t kSome =\n      uint64_t{1} << 20;"),
              ::testing::ElementsAre("kSome"));
  EXPECT_THAT(own_constants("constexpr std::array<uint32_t, 2> kBlocks = {256, 512};"),
              ::testing::ElementsAre("kBlocks"));
  EXPECT_THAT(own_constants("constexpr size_t kMostStates = assumptions::kStatesAtABlock;"), IsEmpty());
  EXPECT_EQ(own_limits("if (out.size() >= 12) break; for (; steps < 4096;) {}\nuint64_t step_budget = 200'000;").size(),
            3u);
  EXPECT_THAT(own_limits("if (sizes.size() > 1) return; steps < kMost; depth < limit"), IsEmpty());
}

// --- what runs count ---

report::Results lint_text(const std::string& ptx) {
  report::Results results;
  Options options;
  options.stats = true;
  lint(std::make_shared<const ptx::SourceText>("k.ptx", ptx), options, results);
  report::finish(results);
  return results;
}

// A kernel whose block nothing states.
constexpr const char* kKernel = R"(.version 8.7
.target sm_100a
.address_size 64
.visible .entry k(.param .u32 n) {
  .shared .align 4 .b32 slot;
  .reg .b32 %r<4>;
  .reg .pred %p<4>;
  mov.u32 %r1, %tid.x;
  setp.ge.u32 %p1, %r1, 32;
  @%p1 bra DONE;
  mov.u32 %r2, slot;
  tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r2], 64;
  tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;
  ld.shared.b32 %r3, [%r2];
  tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r3, 64;
DONE:
  ret;
}
)";

TEST(Assumptions, ARunCountsWhatItReliedOn) {
  const report::Results results = lint_text(kKernel);
  EXPECT_EQ(results.assumed.of(assumptions::Id::kThreadsOfABlock), 1u);
  EXPECT_EQ(results.assumed.of(assumptions::Id::kPairOfCtas), 0u);
  const auto json = nlohmann::json::parse(report::json(results));
  EXPECT_THAT(json["assumed"].dump(), HasSubstr(R"({"count":1,"id":"threads-of-a-block"})"));
  EXPECT_THAT(json["assumed"].dump(), ::testing::Not(HasSubstr("pair-of-ctas")));
  report::SourceFiles shown;
  EXPECT_THAT(report::text(results, 0, {}, shown), HasSubstr("assumed 1 time: threads-of-a-block\n"));
}

TEST(Assumptions, AReportWithoutAssumptionsHasNoneInJson) {
  std::string stated = kKernel;
  stated.replace(stated.find(") {"), 3, ") .reqntid 128 {");
  const report::Results results = lint_text(stated);
  EXPECT_EQ(results.assumed.of(assumptions::Id::kThreadsOfABlock), 0u);
}

// --- limits that make a place incomplete ---

std::vector<std::string> reasons_of(const report::Results& results) {
  std::vector<std::string> out;
  for (const report::Incomplete& i : results.incomplete) out.push_back(i.reason);
  return out;
}

void replace(std::string& text, const std::string& what, const std::string& by) {
  const size_t at = text.find(what);
  ASSERT_NE(at, std::string::npos) << what;
  text.replace(at, what.size(), by);
}

// All warps store to the place that the mma reads, fence and meet; warp 3, the last one, then fences often before
// warp 0 issues the mma.
TEST(Assumptions, AProxyFenceThatIsForgottenMakesThePlaceIncomplete) {
  for (const unsigned fences : {1u, 20u}) {
    std::string ptx = test::read_file(kRoot / "fixtures/cases/38-smem-operand-no-proxy-fence-good.ptx");
    replace(ptx, "shl.b32 %r46, %t, 2;", "and.b32 %r46, %t, 31; shl.b32 %r46, %r46, 2;");
    std::string more = "M_done: @!%p6 bra W0;\n";
    for (unsigned n = 0; n < fences; ++n) more += "fence.proxy.async.shared::cta;\n";
    replace(ptx, "M_done:\n", more);
    const report::Results results = lint_text(ptx);
    EXPECT_THAT(results.findings, IsEmpty()) << fences;
    if (fences == 1) {
      EXPECT_THAT(reasons_of(results), IsEmpty());
    } else {
      EXPECT_THAT(reasons_of(results), ::testing::Contains(HasSubstr("only the last 8 of each warp are remembered")));
      EXPECT_GT(results.assumed.of(assumptions::Id::kProxyFences), 0u);
    }
  }
}

// Warp 7 writes a word, each other warp one that it computes from the word of the next warp; the columns that warp 0
// reads are computed from the last one.
std::string chain(unsigned warps) {
  return R"(.version 8.7
.target sm_100a
.address_size 64
.visible .entry k() .reqntid )" +
         std::to_string(32 * warps) + R"( {
  .shared .align 4 .b32 slot;
  .shared .align 4 .b8 x[64];
  .reg .b32 %r<20>;
  .reg .pred %p<4>;
  mov.u32 %r1, %tid.x;
  shr.u32 %r2, %r1, 5;
  mov.u32 %r3, x;
  shl.b32 %r4, %r2, 2;
  add.u32 %r5, %r3, %r4;
  setp.ne.u32 %p1, %r2, )" +
         std::to_string(warps - 1) + R"(;
  @%p1 bra READ;
  st.shared.b32 [%r5], 1;
  bra STORED;
READ:
  ld.shared.b32 %r6, [%r5+4];
  add.u32 %r6, %r6, 1;
  st.shared.b32 [%r5], %r6;
STORED:
  setp.ne.u32 %p2, %r2, 0;
  @%p2 bra DONE;
  mov.u32 %r7, slot;
  tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r7], 64;
  tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;
  ld.shared.b32 %r8, [%r7];
  ld.shared.b32 %r9, [%r3];
  add.u32 %r10, %r8, %r9;
  tcgen05.st.sync.aligned.32x32b.x1.b32 [%r10], {%r1};
  tcgen05.wait::st.sync.aligned;
  tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r8, 64;
DONE:
  ret;
}
)";
}

TEST(Assumptions, WarpsThatStillLearnFromEachOtherMakeThePlaceIncomplete) {
  EXPECT_THAT(reasons_of(lint_text(chain(3))), ::testing::Not(::testing::Contains(HasSubstr("exchanges"))));
  const report::Results results = lint_text(chain(12));
  EXPECT_THAT(reasons_of(results), ::testing::Contains(HasSubstr("still changes after 4 exchanges")));
  EXPECT_EQ(results.assumed.of(assumptions::Id::kExchanges), 1u);
}

}  // namespace
}  // namespace tmemlint
