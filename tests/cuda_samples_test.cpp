// The labelled CUDA sources: what their comments ask for, and the agreement between the PTX of Clang and that of nvcc.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>

#include "analyzer/cuda/nvcc.h"
#include "rules/rule.h"
#include "tests/cuda_run.h"
#include "tests/expectations.h"

namespace tmemlint::cuda {
namespace {

using namespace test;
namespace fs = std::filesystem;
using ::testing::IsEmpty;

const std::string kFolder = std::string(TMEMLINT_SOURCE_DIR) + "/fixtures/cuda/";

const std::map<std::string, test::Expectations>& samples() {
  static const std::map<std::string, test::Expectations> all = test::labelled_kernels(kFolder, ".cu");
  return all;
}

class CudaSample : public testing::TestWithParam<std::string> {};

TEST_P(CudaSample, SaysWhatItsCommentsAskFor) {
  NEEDS_FRONT_END();
  const std::string name = GetParam();
  const test::Expectations& asked = samples().at(name);
  const report::Results results = run_clang(kFolder + name, asked.texts(test::Asked::kFlags));
  EXPECT_TRUE(results.errors.empty()) << results.errors.front().message;
  EXPECT_GT(results.summary.tcgen05, 0u);
  EXPECT_THAT(test::disagreements(asked, results, kFolder + name), IsEmpty());
}

// Without the front end too: the comments are well-formed.
TEST(CudaSamples, HaveCommentsThatAreUnderstood) {
  for (const auto& [name, asked] : samples()) EXPECT_THAT(asked.problems, IsEmpty()) << name;
}

std::vector<std::string> sample_names() {
  std::vector<std::string> out;
  for (const auto& [name, asked] : samples()) out.push_back(name);
  return out;
}

INSTANTIATE_TEST_SUITE_P(Cases, CudaSample, testing::ValuesIn(sample_names()), test::name_of_file);

TEST(CudaSamples, EachRuleHasABadOneAndItsGoodTwin) {
  for (const rules::Rule* rule : rules::registry()) {
    const bool twin = test::covered(samples(), rule->id).twin;
    EXPECT_TRUE(twin) << rule->id << " has no bad CUDA sample with a good twin";
  }
}

// --- the same from Clang's PTX and from nvcc's

// Only the source shows these, and how nvcc ordered reads it does not say.
bool source_only(const Said& said) {
  const rules::Rule* rule = rules::find(said.rule);
  return rule != nullptr && rule->source_only;
}

// Differences that are there for a reason: a sample's file name and the rule.
const std::map<std::pair<std::string, std::string>, std::string>& explained() {
  static const std::map<std::pair<std::string, std::string>, std::string> all = {
      {{"read-before-wait-bad.cu", "tmem-missing-wait-ld"},
       "a warning only where the author's order is known; a note in PTX"},
      {{"mbarrier-count-bad.cu", "tmem-mbarrier-count"},
       "the wrong count is found in both; that it ends in a hang is seen only where nvcc has unrolled the stages"},
      {{"asm-volatile-bad.cu", "tmem-missing-wait-ld"}, "nvcc moves the load that is not volatile behind its wait"},
  };
  return all;
}

void compare(const std::string& file, const std::vector<std::string>& flags, const Toolkit& toolkit) {
  SourceOptions options;
  options.toolkit = toolkit;
  options.via = Via::kClang;
  const report::Results by_clang = run(file, flags, options);
  options.via = Via::kNvcc;
  const report::Results by_nvcc = run(file, flags, options);
  ASSERT_TRUE(by_clang.errors.empty()) << file << ": " << by_clang.errors.front().message;
  ASSERT_TRUE(by_nvcc.errors.empty()) << file << ": " << by_nvcc.errors.front().message;
  EXPECT_EQ(by_clang.summary.kernels, by_nvcc.summary.kernels) << file;
  auto comparable = [&](const report::Results& results) {
    std::set<Said> out;
    for (const Said& said : loud(results)) {
      if (!source_only(said) && explained().count({fs::path(file).filename().string(), said.rule}) == 0)
        out.insert(said);
    }
    return out;
  };
  EXPECT_EQ(comparable(by_clang), comparable(by_nvcc)) << file;
}

// More sources to compare, of projects that are not part of this one: paths separated by ':', and their flags.
std::vector<std::string> more_sources() {
  std::vector<std::string> out;
  const char* list = std::getenv("TMEMLINT_COMPARE");
  std::istringstream in(list != nullptr ? list : "");
  for (std::string path; std::getline(in, path, ':');) out.push_back(path);
  return out;
}

TEST(CudaAgreement, WithNvcc) {
  NEEDS_FRONT_END();
  std::string problem;
  const Toolkit toolkit = find_toolkit("", problem);
  if (find_nvcc({}, toolkit).empty()) GTEST_SKIP() << "there is no nvcc on this machine";
  for (const auto& [name, asked] : samples()) compare(kFolder + name, asked.texts(test::Asked::kFlags), toolkit);
  const char* flags = std::getenv("TMEMLINT_COMPARE_FLAGS");
  for (const std::string& file : more_sources()) compare(file, split_command(flags != nullptr ? flags : ""), toolkit);
}

}  // namespace
}  // namespace tmemlint::cuda
