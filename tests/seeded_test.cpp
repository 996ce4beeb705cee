// The mutator of the seeded faults: every mutant of a sample kernel is still a PTX file, keeps the numbers of the
// lines, and differs from the kernel in the lines that it says. What the finished tool finds is measured by
// tests/seeded/run.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <sstream>

#include "tests/files.h"
#include "tests/seeded/mutants.h"

namespace tmemlint::seeded {
namespace {

std::string read(const std::string& name) {
  return test::read_file(std::string(TMEMLINT_SOURCE_DIR) + "/fixtures/samples/" + name);
}

ptx::Module parsed(const std::string& text) {
  return ptx::parse(std::make_shared<const ptx::SourceText>("sample.ptx", text));
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) out.push_back(line);
  return out;
}

void check_mutants(const std::string& name) {
  const std::string text = read(name);
  const ptx::Module module = parsed(text);
  ASSERT_TRUE(module.errors.empty()) << name;
  const std::vector<std::string> before = lines_of(text);
  for (const Mutant& m : mutants(module)) {
    SCOPED_TRACE(name + ":" + std::to_string(m.line) + ": " + std::string(info(m.kind).name) + ": " + m.what);
    if (m.verdict != Verdict::kSeeded) {
      EXPECT_FALSE(m.reason.empty());
      continue;
    }
    EXPECT_FALSE(accepted_rules(m).empty());
    ASSERT_FALSE(m.edits.empty());
    for (size_t i = 1; i < m.edits.size(); ++i) ASSERT_LE(m.edits[i - 1].span.end, m.edits[i].span.begin);
    const std::string broken = mutated(text, m);
    EXPECT_NE(broken, text);
    const ptx::Module again = parsed(broken);
    EXPECT_TRUE(again.errors.empty()) << (again.errors.empty() ? "" : again.errors[0].message);
    const std::vector<std::string> after = lines_of(broken);
    ASSERT_EQ(before.size(), after.size());
    size_t changed = 0;
    for (size_t i = 0; i < before.size(); ++i) {
      if (before[i] == after[i]) continue;
      ++changed;
      EXPECT_EQ(m.lines.count(static_cast<uint32_t>(i + 1)), 1u) << "line " << i + 1 << ": " << after[i];
    }
    EXPECT_GT(changed, 0u);
  }
}

TEST(Seeded, MutantsOfASampleAreWhatTheySay) {
  check_mutants("two_allocations.ptx");
}
TEST(Seeded, MutantsOfAPairAreWhatTheySay) {
  check_mutants("gemm_pair.ptx");
}

TEST(Seeded, TheKindsStandInTheOrderOfTheirNames) {
  for (size_t i = 0; i < kinds().size(); ++i) EXPECT_EQ(static_cast<size_t>(kinds()[i].kind), i);
  EXPECT_EQ(kinds().back().kind, Kind::kDropFence);
}

// Between them the samples have a place for every kind.
TEST(Seeded, EveryKindIsMadeInTheSamples) {
  std::map<Kind, size_t> made;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string(TMEMLINT_SOURCE_DIR) + "/fixtures/samples")) {
    if (entry.path().extension() != ".ptx") continue;
    for (const Mutant& m : mutants(parsed(read(entry.path().filename().string()))))
      made[m.kind] += m.verdict == Verdict::kSeeded ? 1 : 0;
  }
  for (const KindInfo& kind : kinds()) {
    if (kind.kind != Kind::kDropFence) {  // allowed everywhere, see docs/seeded-faults.md
      EXPECT_GT(made[kind.kind], 0u) << kind.name;
    }
  }
}

// A wait::ld whose loads another wait::ld covers is no fault; the one before the accumulator is handed back is.
TEST(Seeded, AWaitThatAnotherOneCoversIsLeftOut) {
  const std::string text = read("gemm_tile.ptx");
  size_t seeded = 0, allowed = 0;
  for (const Mutant& m : mutants(parsed(text))) {
    if (m.kind != Kind::kDropWaitLd) continue;
    (m.verdict == Verdict::kSeeded ? seeded : allowed) += 1;
  }
  EXPECT_EQ(seeded, 1u);  // the last: no wait follows it
  EXPECT_EQ(allowed, 3u);
}

}  // namespace
}  // namespace tmemlint::seeded
