// The printers, fed with results made by hand: what they print does not depend on any rule.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>

#include "analyzer/report/caret.h"
#include "analyzer/report/encoding.h"
#include "analyzer/report/json.h"
#include "analyzer/report/sarif.h"
#include "analyzer/report/summary.h"
#include "analyzer/report/text.h"
#include "analyzer/report/uri.h"
#include "tests/files.h"
#include "tests/sarif_check.h"

namespace tmemlint::report {
namespace {

using test::read_file;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

std::filesystem::path golden_folder() {
  return std::filesystem::path(TMEMLINT_SOURCE_DIR) / "tests/golden";
}

std::shared_ptr<const ptx::SourceText> text_of(std::string path, std::string text) {
  return std::make_shared<const ptx::SourceText>(std::move(path), std::move(text));
}

// The place of a piece of the text.
Place at(const std::shared_ptr<const ptx::SourceText>& text, std::string_view piece) {
  const size_t begin = text->text().find(piece);
  EXPECT_NE(begin, std::string_view::npos) << piece;
  return {text, {static_cast<uint32_t>(begin), static_cast<uint32_t>(begin + piece.size())}, false, {}, {}};
}

Place from_source(Place place, SourcePosition source, std::vector<SourcePosition> inlined_at = {}) {
  place.has_source = true;
  place.source = std::move(source);
  place.inlined_at = std::move(inlined_at);
  return place;
}

// A bit of everything, over tests/golden/sample.ptx and sample.cu.
Results sample() {
  const auto ptx = text_of("sample.ptx", read_file(golden_folder() / "sample.ptx"));
  Results results;
  const Place load =
      from_source(at(ptx, "tcgen05.ld.sync.aligned.32x32b.x4.b32"), {"sample.cu", 3, 3}, {{"sample.cu", 7, 3}});
  results.findings = {
      {"tmem-missing-wait-ld",
       Level::kWarning,
       "results are used and no wait::ld follows",
       load,
       {{from_source(at(ptx, "ret"), {"/nowhere/gone.cu", 8, 0}), "the kernel ends here"}},
       "k",
       {0, 1, 2, 3, 6},
       {{at(ptx, "tcgen05.alloc"), "allocates"}, {load, "loads"}}},
      {"tmem-alloc-size",
       Level::kError,
       "nCols is 96, which is not one of 32, 64, 128, 256 and 512",
       at(ptx, "96"),
       {{at(ptx, "slot[4]"), "the address goes here"}},
       "k",
       {0},
       {}},
      {"tmem-made-up", Level::kNote, "not a rule that the tool lists", at(ptx, "tcgen05.wait::ld"), {}, "k", {}, {}},
  };
  results.incomplete = {
      {at(ptx, "ret"), "k", "the step budget ran out"},
      {at(ptx, "tcgen05.alloc"), "k", "the step budget ran out"},
      {load, "k", "the address is unknown"},
  };
  results.errors = {{"missing.ptx", nullptr, {}, "cannot read this file: No such file or directory"},
                    {"sample.ptx", ptx, at(ptx, ".address_size 64").span, "an error made up for this test"}};
  results.assumptions = {"kernel k: no block size is stated; 128 threads assumed (give --block)"};
  results.summary.files = 1;
  results.summary.kernels = 1;
  results.summary.tcgen05 = 3;
  finish(results);
  return results;
}

std::vector<RuleInfo> sample_rules() {
  return {{"tmem-alloc-size", Level::kError, "A size the ISA does not allow.", "Ask for a legal size.",
           "# tmem-alloc-size\n\nA page.\n"},
          {"tmem-missing-wait-ld", Level::kError, "A load without its wait.", "", ""}};
}

// Positions of `.loc` are relative here, so that the golden files do not name a folder of one machine.
class Golden : public ::testing::Test {
protected:
  void SetUp() override {
    before_ = std::filesystem::current_path();
    std::filesystem::current_path(golden_folder());
    SourceRoots roots;
    roots.add_input(".");
    sources_ = SourceFiles(std::move(roots));
  }
  void TearDown() override { std::filesystem::current_path(before_); }

  static void expect_golden(const std::string& actual, const std::string& name) {
    if (std::getenv("TMEMLINT_UPDATE_GOLDEN") != nullptr) std::ofstream(name, std::ios::binary) << actual;
    EXPECT_EQ(actual, read_file(name)) << "in tests/golden/" << name;
  }

  SourceFiles sources_;

private:
  std::filesystem::path before_;
};

TEST_F(Golden, Text) {
  expect_golden(text(sample(), 2, {}, sources_), "sample.txt");
}

TEST_F(Golden, InputErrors) {
  expect_golden(input_errors(sample(), {}, sources_), "sample-errors.txt");
}

TEST_F(Golden, Json) {
  expect_golden(json(sample()), "sample.json");
}

TEST_F(Golden, Sarif) {
  const std::string log = sarif(sample(), sample_rules(), sources_);
  expect_golden(log, "sample.sarif");
  EXPECT_THAT(test::SarifCheck::problems(nlohmann::json::parse(log)), IsEmpty());
}

TEST_F(Golden, ColourAddsOnlyEscapes) {
  std::string colored = text(sample(), 0, {.color = true}, sources_);
  EXPECT_THAT(colored, HasSubstr("\x1b[1;31merror:\x1b[0m"));
  for (size_t escape; (escape = colored.find('\x1b')) != std::string::npos;) {
    colored.erase(escape, colored.find('m', escape) - escape + 1);
  }
  EXPECT_EQ(colored, text(sample(), 0, {}, sources_));
}

TEST(Caret, UnderlinesTheSpan) {
  const CaretLines lines = caret_lines("mov.u32 %r1, 96;", 13, 15);
  EXPECT_EQ(lines.line, "mov.u32 %r1, 96;");
  EXPECT_EQ(lines.marks, "             ^~");
}

TEST(Caret, ExpandsTabs) {
  const CaretLines lines = caret_lines("\tab\tcd", 4, 6);
  EXPECT_EQ(lines.line, "        ab      cd");
  EXPECT_EQ(lines.marks, "                ^~");
}

TEST(Caret, CountsCharactersNotBytes) {
  EXPECT_EQ(caret_lines("größer x", 9, 10).marks, "       ^");
  EXPECT_EQ(caret_lines("a\xff x", 3, 4).marks, "   ^");
  EXPECT_EQ(caret_lines("a\xff x", 3, 4).line, "a\xEF\xBF\xBD x");
}

TEST(Caret, ClipsTheSpanToTheLine) {
  EXPECT_EQ(caret_lines("abc", 1, 99).marks, " ^~");
  EXPECT_EQ(caret_lines("abc", 50, 60).marks, "   ^");
  EXPECT_EQ(caret_lines("", 0, 0).marks, "^");
}

TEST(Caret, ShowsThePartOfALongLineThatMatters) {
  std::string line(3'000'000, 'x');
  line.replace(2'000'000, 4, "here");
  const CaretLines lines = caret_lines(line, 2'000'000, 2'000'004);
  EXPECT_EQ(lines.line.size(), 160u);
  EXPECT_EQ(lines.line.find("here"), lines.marks.find('^'));
  EXPECT_EQ(lines.line.substr(0, 4), "...x");
  EXPECT_EQ(lines.line.substr(156), "x...");
  EXPECT_THAT(lines.marks, HasSubstr("^~~~"));
  EXPECT_THAT(lines.marks, Not(HasSubstr("^~~~~")));
}

TEST(Caret, CutsInsideNoCharacter) {
  std::string line;
  while (line.size() < 10'000) line += "\xE2\x82\xAC";  // €
  for (size_t shift = 0; shift < 3; ++shift) {
    const CaretLines lines = caret_lines(line, 6000 + shift * 3, 6003 + shift * 3);
    EXPECT_THAT(lines.line, Not(HasSubstr("\xEF\xBF\xBD")));
    EXPECT_EQ(lines.marks.size(), 41u);
  }
}

TEST(Caret, KeepsTheCaretInViewAtEveryColumn) {
  const std::string line(400, 'x');
  for (size_t column = 0; column <= line.size(); ++column) {
    const CaretLines lines = caret_lines(line, column, column + 1);
    EXPECT_LE(lines.line.size(), 160u);
    EXPECT_LE(lines.marks.size(), 161u);
    if (column < line.size()) {
      EXPECT_EQ(lines.line.at(lines.marks.size() - 1), 'x') << column;
    }
  }
}

TEST(Encoding, CountsUtf16) {
  EXPECT_EQ(utf16_length("abc"), 3u);
  EXPECT_EQ(utf16_length("größer"), 6u);
  EXPECT_EQ(utf16_length("😀"), 2u);
  EXPECT_EQ(utf16_length("\xff\xfe"), 2u);
  EXPECT_EQ(utf16_length("\xE2\x82"), 2u);      // cut short
  EXPECT_EQ(utf16_length("\xC0\x80"), 2u);      // longer than needed
  EXPECT_EQ(utf16_length("\xED\xA0\x80"), 3u);  // a surrogate
}

TEST(Encoding, KeepsTheTerminalSafe) {
  EXPECT_EQ(printable("a\x1b[2Jb\tc\nd"), "a\xEF\xBF\xBD[2Jb c d");
  EXPECT_EQ(printable("\xE2\x80\xAE"), "\xEF\xBF\xBD");  // right-to-left override
  EXPECT_EQ(printable("größer"), "größer");
}

TEST(Uri, EncodesPaths) {
  EXPECT_EQ(uri_of("kernels/a b.ptx"), "kernels/a%20b.ptx");
  EXPECT_EQ(uri_of("./a.ptx"), "a.ptx");
  EXPECT_EQ(uri_of("../a.ptx"), "../a.ptx");
  EXPECT_EQ(uri_of("a:b%.ptx"), "a%3Ab%25.ptx");
  EXPECT_EQ(uri_of("/tmp/größer.cu"), "file:///tmp/gr%C3%B6%C3%9Fer.cu");
  EXPECT_EQ(uri_of("C:\\src\\k.cu"), "file:///C:/src/k.cu");
  EXPECT_EQ(uri_of("<stdin>"), "%3Cstdin%3E");
}

TEST(Finish, SortsUnitesAndCounts) {
  const auto ptx = text_of("a.ptx", "one two three\n");
  const auto other = text_of("A.ptx", "one\n");
  Results results;
  results.findings = {
      {"r2", Level::kWarning, "m", at(ptx, "two"), {}, "k", {3}, {}},
      {"r1", Level::kError, "m", at(ptx, "two"), {}, "k", {1}, {}},
      {"r2", Level::kWarning, "m", at(ptx, "two"), {}, "k", {0, 3}, {}},
      {"r2", Level::kWarning, "m", at(ptx, "two"), {}, "another kernel", {0}, {}},
      {"r2", Level::kWarning, "another message", at(ptx, "two"), {}, "k", {0}, {}},
      {"r1", Level::kNote, "m", at(ptx, "one"), {}, "k", {}, {}},
      {"r1", Level::kError, "m", at(other, "one"), {}, "k", {}, {}},
  };
  results.incomplete = {{at(ptx, "two"), "k", "r"}, {at(ptx, "one"), "k", "r"}, {at(ptx, "two"), "k", "r"}};
  results.assumptions = {"b", "a", "b"};
  results.summary.error = 77;
  finish(results);

  std::vector<std::string> order;
  for (const Finding& finding : results.findings) {
    order.push_back(finding.place.text->path() + " " + finding.rule + " " + finding.kernel + " " + finding.message);
  }
  EXPECT_THAT(order, ElementsAre("A.ptx r1 k m", "a.ptx r1 k m", "a.ptx r1 k m", "a.ptx r2 another kernel m",
                                 "a.ptx r2 k another message", "a.ptx r2 k m"));
  EXPECT_THAT(results.findings.back().warps, ElementsAre(0u, 3u));
  EXPECT_EQ(results.incomplete.size(), 2u);
  EXPECT_THAT(results.assumptions, ElementsAre("b", "a"));
  EXPECT_EQ(results.summary.error, 2u);
  EXPECT_EQ(results.summary.warning, 3u);
  EXPECT_EQ(results.summary.note, 1u);
  EXPECT_EQ(results.summary.incomplete, 2u);
}

TEST(Finish, FoldsCopiesOfOneStatement) {
  const auto ptx = text_of("a.ptx", "one two three four\n");
  Results results;
  auto finding = [&](std::string_view where, uint32_t column, uint32_t call_line) {
    return Finding{"r", Level::kError, "m", from_source(at(ptx, where), {"k.cu", 5, column}, {{"k.cu", call_line, 1}}),
                   {},  "k",           {1}, {}};
  };
  results.findings = {finding("two", 3, 9), finding("one", 3, 9), finding("three", 3, 10), finding("four", 4, 9)};
  finish(results);
  ASSERT_EQ(results.findings.size(), 3u);
  EXPECT_EQ(results.findings[0].place.span.begin, 0u);
  ASSERT_EQ(results.findings[0].related.size(), 1u);
  EXPECT_EQ(results.findings[0].related[0].place.span.begin, 4u);
}

TEST(Notes, AreHiddenUnlessAsked) {
  Results results = sample();
  EXPECT_EQ(results.summary.note, 1u);
  EXPECT_EQ(hide_notes(results), 1u);
  EXPECT_EQ(results.summary.note, 0u);
  EXPECT_EQ(results.findings.size(), 2u);
  EXPECT_THAT(json(results), Not(HasSubstr("tmem-made-up")));
  EXPECT_THAT(summary_line(results, 1), HasSubstr("(1 note hidden, see --notes)"));
}

TEST(SummaryLine, SaysOutLoudThatNothingWasAnalysed) {
  Results results;
  results.summary.files = 2;
  EXPECT_THAT(summary_line(results, 0), HasSubstr("no tcgen05 instruction was analysed"));
  results.summary.tcgen05 = 1;
  EXPECT_EQ(summary_line(results, 0),
            "tmemlint: 2 files, 0 kernels, 1 tcgen05 instruction: 0 errors, 0 warnings, 0 incomplete places");
}

TEST(Json, TakesAnyBytes) {
  Results results;
  const auto ptx = text_of("\xff.ptx",
                           "ab\xff\xfe"
                           "cd\n");
  results.findings = {{"r\xff", Level::kError, "m\xC3", at(ptx, "cd"), {}, "k\x80", {}, {}}};
  finish(results);
  const auto parsed = nlohmann::json::parse(json(results));
  EXPECT_EQ(parsed["findings"][0]["file"], "\xEF\xBF\xBD.ptx");
  EXPECT_EQ(parsed["findings"][0]["column"], 5);
  SourceFiles sources;
  const auto log = nlohmann::json::parse(sarif(results, {}, sources));
  EXPECT_EQ(log["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["region"]["startColumn"], 5);
}

TEST(Json, HasAPlaceEvenWhereAFileHasNone) {
  Results results;
  results.errors = {{"gone.ptx", nullptr, {}, "cannot read this file"}};
  results.findings = {{"r", Level::kError, "m", {}, {}, "", {}, {}}};
  finish(results);
  const auto parsed = nlohmann::json::parse(json(results));
  EXPECT_EQ(parsed["errors"][0]["line"], 1);
  EXPECT_EQ(parsed["errors"][0]["column"], 1);
  EXPECT_EQ(parsed["findings"][0]["line"], 1);
  SourceFiles sources;
  const auto log = nlohmann::json::parse(sarif(results, {}, sources));
  EXPECT_THAT(test::SarifCheck::problems(log), IsEmpty());
  EXPECT_FALSE(log["runs"][0]["invocations"][0]["executionSuccessful"].get<bool>());
  EXPECT_THAT(text(results, 0, {}, sources), HasSubstr("error: m [r]"));
}

// One fingerprint per finding, the same however far the line moved.
std::vector<std::string> fingerprints(const std::string& ptx_text) {
  const auto ptx = text_of("a.ptx", ptx_text);
  Results results;
  for (size_t begin = 0; (begin = ptx_text.find("bad", begin)) != std::string::npos; ++begin) {
    const ptx::Span span{static_cast<uint32_t>(begin), static_cast<uint32_t>(begin + 3)};
    results.findings.push_back({"r", Level::kError, "m", {ptx, span, false, {}, {}}, {}, "k", {}, {}});
  }
  finish(results);
  SourceFiles sources;
  std::vector<std::string> out;
  const auto log = nlohmann::json::parse(sarif(results, {}, sources));
  for (const auto& result : log["runs"][0]["results"]) {
    out.push_back(result["partialFingerprints"]["primaryLocationLineHash"]);
  }
  return out;
}

TEST(Sarif, FingerprintsSurviveMoves) {
  const auto before = fingerprints("  bad 1;\nbad 2;\nbad 2;\n");
  const auto after = fingerprints("\n\n// new\nbad 1;\n\n\tbad 2;\r\nbad 2;\n");
  EXPECT_EQ(before, after);
  ASSERT_EQ(before.size(), 3u);
  EXPECT_NE(before[1], before[2]);
  EXPECT_NE(before[0].substr(0, 16), before[1].substr(0, 16));
}

TEST(Sarif, CheckerFindsMistakes) {
  SourceFiles sources;
  auto log = nlohmann::json::parse(sarif(sample(), sample_rules(), sources));
  auto& result = log["runs"][0]["results"][0];
  result["ruleIndex"] = 99;
  result["level"] = "fatal";
  result["locations"][0]["physicalLocation"]["region"]["startLine"] = 0;
  result["typo"] = 1;
  EXPECT_GE(test::SarifCheck::problems(log).size(), 4u);
}

TEST(InputErrors, AreLimitedPerFile) {
  const auto ptx = text_of("a.ptx", "garbage\n");
  Results results;
  for (int i = 0; i < 25; ++i) results.errors.push_back({"a.ptx", ptx, {0, 7}, "no"});
  results.errors.push_back({"b.ptx", nullptr, {}, "cannot read this file"});
  SourceFiles sources;
  const std::string shown = input_errors(results, {}, sources);
  EXPECT_THAT(shown, HasSubstr("a.ptx: 5 more errors are not shown\n"));
  EXPECT_THAT(shown, HasSubstr("b.ptx: error: cannot read this file\n"));
  EXPECT_THAT(shown, HasSubstr("a.ptx:1:1: error: no\ngarbage\n^~~~~~~\n"));
}

}  // namespace
}  // namespace tmemlint::report
