// The labelled kernels: each bad one is reported as the comments beside its code ask for, on those lines and with
// nothing else, each correct one is quiet and fully analysed (tests/expectations.h).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <regex>
#include <string>
#include <vector>

#include "analyzer/engine.h"
#include "rules/rule.h"
#include "tests/expectations.h"
#include "tests/files.h"

namespace tmemlint {
namespace {

using testing::IsEmpty;

const std::string kFolder = std::string(TMEMLINT_SOURCE_DIR) + "/fixtures/cases/";

const std::map<std::string, test::Expectations>& kernels() {
  static const std::map<std::string, test::Expectations> all = test::labelled_kernels(kFolder, ".ptx");
  return all;
}

report::Results run(const std::string& name) {
  report::Results results;
  lint(std::make_shared<const ptx::SourceText>(name, test::read_file(kFolder + name)), Options{}, results);
  return results;
}

class Labelled : public testing::TestWithParam<std::string> {};

TEST_P(Labelled, SaysWhatItsCommentsAskFor) {
  const std::string name = GetParam();
  const report::Results results = run(name);
  EXPECT_TRUE(results.errors.empty());
  EXPECT_THAT(test::disagreements(kernels().at(name), results, name), IsEmpty());
}

std::vector<std::string> names() {
  std::vector<std::string> out;
  for (const auto& [name, asked] : kernels()) out.push_back(name);
  return out;
}

INSTANTIATE_TEST_SUITE_P(Cases, Labelled, testing::ValuesIn(names()), test::name_of_file);

TEST(Rules, EachHasABadKernelAGoodTwinAndAPage) {
  for (const rules::Rule* rule : rules::registry()) {
    const test::Covered covered = test::covered(kernels(), rule->id);
    // What only sources show has its samples in fixtures/cuda.
    EXPECT_TRUE(covered.bad || rule->source_only) << rule->id << " has no bad kernel";
    EXPECT_TRUE(covered.twin || rule->source_only) << rule->id << " has no good twin";
    const std::string page =
        test::read_file(std::string(TMEMLINT_SOURCE_DIR) + "/docs/rules/" + std::string(rule->id) + ".md");
    EXPECT_NE(page.find(rule->summary), std::string::npos) << rule->id << "'s page does not have its summary sentence";
  }
}

// The texts of the files in rules/, by name.
const std::map<std::string, std::string>& rule_files() {
  static const std::map<std::string, std::string> all = [] {
    std::map<std::string, std::string> out;
    for (const auto& e : std::filesystem::directory_iterator(std::string(TMEMLINT_SOURCE_DIR) + "/rules")) {
      out[e.path().filename()] = test::read_file(e.path());
    }
    return out;
  }();
  return all;
}

// What the first group of a pattern matches, everywhere in a text.
std::vector<std::string> all_of(const std::string& text, const std::string& pattern) {
  const std::regex regex(pattern);
  std::vector<std::string> out;
  for (std::sregex_iterator at(text.begin(), text.end(), regex), end; at != end; ++at) out.push_back((*at)[1]);
  return out;
}

// A rule that no line of the registry names is compiled, and nobody runs it.
TEST(Rules, AreAllInTheRegistry) {
  size_t found = 0;
  for (const auto& [name, text] : rule_files()) {
    for (const std::string& id : all_of(text, R"re(const Rule k\w+ = \{\s*"([a-z-]+)")re")) {
      EXPECT_NE(rules::find(id), nullptr)
          << "rules/" << name << " defines " << id << ", which rules/registry.cpp does not list";
      ++found;
    }
  }
  EXPECT_EQ(found, rules::registry().size());
}

TEST(Rules, StandInTheTableOfTheReadme) {
  const std::string readme = test::read_file(std::string(TMEMLINT_SOURCE_DIR) + "/README.md");
  for (const rules::Rule* rule : rules::registry()) {
    EXPECT_NE(readme.find("`" + std::string(rule->id) + "`"), std::string::npos)
        << "README.md, what it judges: " << rule->id << " is missing";
  }
}

// A kind of problem that no rule reports is found and never printed.
TEST(Rules, ReportEveryKindOfProblem) {
  const std::string& header = rule_files().at("problems.h");
  const size_t begin = header.find("enum class ProblemKind");
  const std::vector<std::string> kinds =
      all_of(header.substr(begin, header.find("};", begin) - begin), R"re(\n  (k\w+),)re");
  EXPECT_GT(kinds.size(), 40u) << "the list in rules/problems.h was not understood";
  for (const std::string& kind : kinds) {
    const bool reported = std::ranges::any_of(rule_files(), [&kind](const auto& file) {
      return file.second.find("const Rule k") != std::string::npos &&
             std::regex_search(file.second, std::regex("ProblemKind::" + kind + "\\b"));
    });
    EXPECT_TRUE(reported) << "no rule reports ProblemKind::" << kind;
  }
}

TEST(Rules, StandInTheOrderOfTheirIds) {
  const std::vector<const rules::Rule*>& all = rules::registry();
  EXPECT_TRUE(std::is_sorted(all.begin(), all.end(), [](const auto* a, const auto* b) { return a->id < b->id; }));
  for (const rules::Rule* rule : all) EXPECT_EQ(rules::find(rule->id), rule);
  EXPECT_EQ(rules::find("tmem-no-such-rule"), nullptr);
}

}  // namespace
}  // namespace tmemlint
