// The labelled kernels: each bad one is reported as the comments beside its code ask for, on those lines and with
// nothing else, each correct one is quiet and fully analysed (tests/expectations.h).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "analyzer/engine.h"
#include "rules/rule.h"
#include "tests/expectations.h"

namespace tmemlint {
namespace {

using testing::IsEmpty;

const std::string kFolder = std::string(TMEMLINT_SOURCE_DIR) + "/fixtures/cases/";

const std::map<std::string, test::Expectations>& kernels() {
  static const std::map<std::string, test::Expectations> all = test::labelled_kernels(kFolder, ".ptx");
  return all;
}

report::Results run(const std::string& name) {
  std::ifstream in(kFolder + name, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  report::Results results;
  lint(std::make_shared<const ptx::SourceText>(name, text.str()), Options{}, results);
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

std::string test_name(const testing::TestParamInfo<std::string>& info) {
  std::string out = info.param;
  std::replace_if(
      out.begin(), out.end(), [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '_');
  return out;
}

INSTANTIATE_TEST_SUITE_P(Cases, Labelled, testing::ValuesIn(names()), test_name);

TEST(Rules, EachHasABadKernelAGoodTwinAndAPage) {
  for (const rules::Rule* rule : rules::registry()) {
    const test::Covered covered = test::covered(kernels(), rule->id);
    // What only sources show has its samples in fixtures/cuda.
    EXPECT_TRUE(covered.bad || rule->source_only) << rule->id << " has no bad kernel";
    EXPECT_TRUE(covered.twin || rule->source_only) << rule->id << " has no good twin";
    std::ifstream page(std::string(TMEMLINT_SOURCE_DIR) + "/docs/rules/" + std::string(rule->id) + ".md");
    std::stringstream text;
    text << page.rdbuf();
    EXPECT_NE(text.str().find(rule->summary), std::string::npos)
        << rule->id << "'s page does not have its summary sentence";
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
