// Every probe of fixtures/ptxas-probes: what ptxas 13.0.88 rejects in an instruction is a problem on that line, what it
// accepts is none, apart from differences.tsv.
#include <gtest/gtest.h>

#include "tests/tcgen05_judge.h"

namespace tmemlint::test {
namespace {

const std::filesystem::path kProbes = std::filesystem::path(TMEMLINT_SOURCE_DIR) / "fixtures" / "ptxas-probes";

// Columns of verdicts.tsv.
enum Column { kProbe, kGroup, kArch, kFlags, kVerdict, kAbout, kLines, kDescription, kMessages };

std::set<unsigned> numbers(const std::string& list) {
  std::set<unsigned> out;
  std::istringstream in(list);
  for (std::string number; std::getline(in, number, ',');) {
    if (number != "-") out.insert(static_cast<unsigned>(std::stoul(number)));
  }
  return out;
}

TEST(Tcgen05Probes, AgreeWithPtxas) {
  std::set<std::string> differences;
  for (const auto& row : read_table(kProbes / "differences.tsv")) {
    if (row.at(0) == "probe") differences.insert(row.at(1));
  }
  std::set<std::string> differing;
  unsigned compared = 0;
  const auto verdicts = read_table(kProbes / "verdicts.tsv");
  ASSERT_GT(verdicts.size(), 900u);
  for (size_t i = 1; i < verdicts.size(); ++i) {
    const auto& row = verdicts[i];
    const std::string& verdict = row.at(kVerdict);
    const std::string& about = row.at(kAbout);
    const Judged judged = judge(read_file(kProbes / (row[kProbe] + ".ptx")));
    const std::set<unsigned> lines = judged.lines();
    std::string said;
    for (unsigned line : lines) said += "line " + std::to_string(line) + ": " + judged.about(line);
    if (about == "assembler") continue;  // what this ptxas, or the -arch it was called with, cannot do
    ++compared;
    if (verdict == "accept" || about == "cta-group") {
      // Mixed .cta_group values are a fact about the whole kernel: each instruction by itself is legal.
      if (lines.empty()) continue;
      differing.insert(row[kProbe]);
      EXPECT_TRUE(differences.contains(row[kProbe])) << row[kProbe] << " is legal for ptxas; " << said;
    } else if (verdict == "reject") {
      const std::set<unsigned> wanted = numbers(row.at(kLines));
      ASSERT_FALSE(wanted.empty()) << row[kProbe];
      if (lines == wanted) continue;
      differing.insert(row[kProbe]);
      EXPECT_TRUE(differences.contains(row[kProbe]))
          << row[kProbe] << ": ptxas rejects line(s) " << row[kLines] << ": " << row[kMessages] << "\nhere: " << said;
    } else {
      EXPECT_EQ(verdict, "crash");
      EXPECT_FALSE(lines.empty()) << row[kProbe] << " crashes ptxas";
    }
  }
  EXPECT_EQ(differing, differences) << "a row of differences.tsv is no difference any more";
  RecordProperty("compared", static_cast<int>(compared));
  RecordProperty("differences", static_cast<int>(differing.size()));
}

}  // namespace
}  // namespace tmemlint::test
