// The labelled kernels: each bad one is reported by its rule on its line and by no other, each correct one is quiet and
// fully analysed. The labels are data (fixtures/cases/cases.json); rules that are not registered yet are not asked for.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "analyzer/engine.h"
#include "rules/rule.h"

namespace tmemlint {
namespace {

using nlohmann::json;

const std::string kFolder = std::string(TMEMLINT_SOURCE_DIR) + "/fixtures/cases/";

json labels() {
  std::ifstream in(kFolder + "cases.json");
  return json::parse(in);
}

report::Results run(const std::string& name) {
  std::ifstream in(kFolder + name, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  report::Results results;
  lint(std::make_shared<const ptx::SourceText>(name, text.str()), Options{}, results);
  return results;
}

struct Said {
  std::string rule;
  uint32_t line;
};

std::vector<Said> loud(const report::Results& results) {
  std::vector<Said> out;
  for (const report::Finding& f : results.findings) {
    if (f.level == report::Level::kNote) continue;
    out.push_back({f.rule, f.place.text->position(f.place.span.begin).line});
  }
  return out;
}

class Labelled : public testing::TestWithParam<std::string> {};

TEST_P(Labelled, SaysWhatItsLabelAsksFor) {
  const std::string name = GetParam();
  const json label = labels()[name];
  const report::Results results = run(name);
  EXPECT_TRUE(results.errors.empty());
  const std::vector<Said> said = loud(results);

  std::set<std::string> allowed;
  for (const json& r : label["expect"]) allowed.insert(r.get<std::string>());
  if (label.contains("allow")) {
    for (const json& r : label["allow"]) allowed.insert(r.get<std::string>());
  }
  for (const Said& s : said)
    EXPECT_TRUE(allowed.count(s.rule) != 0) << s.rule << " at line " << s.line << " is not labelled";

  std::set<uint32_t> lines;
  if (label.contains("line") && !label["line"].is_null()) lines.insert(label["line"].get<uint32_t>());
  if (label.contains("alt_lines") && !label["alt_lines"].is_null()) {
    for (const json& l : label["alt_lines"]) lines.insert(l.get<uint32_t>());
  }
  for (const json& r : label["expect"]) {
    const std::string rule = r.get<std::string>();
    if (rules::find(rule) == nullptr) continue;
    const bool there = std::any_of(said.begin(), said.end(),
                                   [&](const Said& s) { return s.rule == rule && lines.count(s.line) != 0; });
    EXPECT_TRUE(there) << rule << " is expected at line " << label["line"];
  }
  for (const json& r : label.value("notes", json::array())) {
    const std::string rule = r.get<std::string>();
    EXPECT_TRUE(
        std::any_of(results.findings.begin(), results.findings.end(),
                    [&](const report::Finding& f) { return f.rule == rule && f.level == report::Level::kNote; }))
        << rule << " is expected as a note";
  }
  if (label["expect"].empty()) {
    EXPECT_TRUE(results.incomplete.empty()) << results.incomplete.front().reason;
  }
}

std::vector<std::string> names() {
  std::vector<std::string> out;
  const json all = labels();
  for (const auto& [name, label] : all.items()) out.push_back(name);
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
  const json all = labels();
  for (const rules::Rule* rule : rules::registry()) {
    bool bad = false;
    bool twin = false;
    for (const auto& [name, label] : all.items()) {
      json expect = label["expect"];
      for (const json& note : label.value("notes", json::array())) expect.push_back(note);
      if (std::find(expect.begin(), expect.end(), std::string(rule->id)) == expect.end()) continue;
      bad = true;
      std::string good = name;
      const size_t at = good.find("-bad.");
      if (at == std::string::npos) continue;
      good.replace(at, 5, "-good.");
      twin = twin || all.contains(good);
    }
    // What only sources show has its samples in fixtures/cuda.
    EXPECT_TRUE(bad || rule->source_only) << rule->id << " has no bad kernel";
    EXPECT_TRUE(twin || rule->source_only) << rule->id << " has no good twin";
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
