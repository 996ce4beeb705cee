// The documents agree with the code, as far as that can be checked: files, constants and types that they name exist,
// links lead somewhere, each folder's README names its files, pages name the levels that their rules report.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "analyzer/cluster/global_words.h"
#include "analyzer/cluster/policy.h"
#include "rules/rule.h"
#include "tests/files.h"

namespace tmemlint {
namespace {

namespace fs = std::filesystem;

const fs::path kRoot = TMEMLINT_SOURCE_DIR;

bool is_of_repository(const fs::path& path) {
  const std::string relative = fs::relative(path, kRoot).generic_string();
  return !relative.starts_with("build/") && !relative.starts_with("shared/") && !relative.starts_with(".");
}

// All documents, by path below the root.
std::map<std::string, std::string> documents() {
  std::map<std::string, std::string> out;
  for (const char* top : {"analyzer", "docs", "rules", "tests", "fixtures", "scripts"}) {
    for (const fs::directory_entry& e : fs::recursive_directory_iterator(kRoot / top)) {
      if (e.path().extension() == ".md" && is_of_repository(e.path()))
        out[fs::relative(e.path(), kRoot).generic_string()] = test::read_file(e.path());
    }
  }
  out["README.md"] = test::read_file(kRoot / "README.md");
  return out;
}

// All code, one text.
const std::string& code() {
  static const std::string all = [] {
    std::string out;
    for (const char* top : {"analyzer", "rules", "tests"}) {
      for (const fs::directory_entry& e : fs::recursive_directory_iterator(kRoot / top)) {
        const std::string extension = e.path().extension().string();
        if (extension == ".h" || extension == ".cpp" || extension == ".def") out += test::read_file(e.path());
      }
    }
    return out;
  }();
  return all;
}

// What stands in `code` in a document, but for the blocks between ```.
std::vector<std::string> quoted(const std::string& document) {
  std::vector<std::string> out;
  std::istringstream lines(document);
  bool in_block = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.find("```") != std::string::npos) in_block = !in_block;
    if (in_block) continue;
    for (size_t at = 0; (at = line.find('`', at)) != std::string::npos;) {
      const size_t end = line.find('`', at + 1);
      if (end == std::string::npos) break;
      out.push_back(line.substr(at + 1, end - at - 1));
      at = end + 1;
    }
  }
  return out;
}

// Whether a name with one * in it, or none, is that of a file of a folder; the ending may be left out.
bool names_file(const fs::path& folder, const std::string& name) {
  const fs::path path = folder / name;
  if (fs::exists(path) || fs::exists(path.string() + ".h") || fs::exists(path.string() + ".cpp")) return true;
  const std::string pattern = path.filename().string();
  const size_t star = pattern.find('*');
  if (star == std::string::npos || !fs::exists(path.parent_path())) return false;
  const std::string begin = pattern.substr(0, star);
  const std::string end = pattern.substr(star + 1);
  return std::any_of(fs::directory_iterator(path.parent_path()), fs::directory_iterator(), [&](const auto& e) {
    const std::string file = e.path().filename().string();
    return file.starts_with(begin) && file.ends_with(end);
  });
}

TEST(Documents, FilesThatTheyNameExist) {
  // A path with a folder, or a name with an ending of this repository.
  const std::regex path(
      R"((?:[a-z0-9_.*-]+/)*[A-Za-z0-9_*-]+\.(?:h|cpp|md|ptx|cu|tsv|def)|(?:[a-z0-9_]+/)+[a-z0-9_]*)");
  size_t found = 0;
  for (const auto& [name, text] : documents()) {
    const fs::path folder = (kRoot / name).parent_path();
    for (const std::string& word : quoted(text)) {
      if (!std::regex_match(word, path) || word.starts_with("build/")) continue;
      // Examples of what a user has.
      if (word.starts_with("kernel.") || word.starts_with("src/") || word.find("compile_commands") == 0) continue;
      const bool exists =
          names_file(folder, word) || names_file(kRoot, word) || names_file(kRoot / "analyzer", word) ||
          names_file(kRoot / "tests", word) || names_file(kRoot / "tests/seeded", word) ||
          names_file(kRoot / "fixtures/cases", word) || word.starts_with("_") ||
          std::any_of(fs::recursive_directory_iterator(kRoot / "analyzer"), fs::recursive_directory_iterator(),
                      [&](const auto& e) { return e.path().filename() == word; });
      EXPECT_TRUE(exists) << name << " names " << word;
      ++found;
    }
  }
  EXPECT_GT(found, 100u);
}

TEST(Documents, ConstantsTypesAndFunctionsThatTheyNameExist) {
  // kConstants, CamelCase (also Type::member) and snake_case.
  const std::regex name(R"(k[A-Z][A-Za-z0-9]+|[A-Z]+[a-z][A-Za-z0-9]*(?:::[A-Za-z_]+)?|[a-z0-9]+(?:_[a-z0-9]+)+)");
  const std::set<std::string> not_ours = {"NOLINTNEXTLINE", "WarningsAsErrors", "CuTe", "Debian"};
  size_t found = 0;
  for (const auto& [document, text] : documents()) {
    for (const std::string& word : quoted(text)) {
      if (!std::regex_match(word, name) || not_ours.contains(word)) continue;
      const size_t member = word.rfind("::");
      const std::string last = member == std::string::npos ? word : word.substr(member + 2);
      const bool is_file = names_file((kRoot / document).parent_path(), word) ||
                           names_file(kRoot / "tests", word + "_test") || word == "tmemlint_tests";
      EXPECT_TRUE(is_file || code().find(last) != std::string::npos) << document << " names " << word;
      ++found;
    }
  }
  EXPECT_GT(found, 100u);
}

TEST(Documents, LinksLeadSomewhere) {
  const std::regex link(R"(\]\(([^)#: ]+)(?:#[^)]*)?\))");
  for (const auto& [name, text] : documents()) {
    for (std::sregex_iterator at(text.begin(), text.end(), link), end; at != end; ++at) {
      const std::string target = (*at)[1];
      EXPECT_TRUE(fs::exists((kRoot / name).parent_path() / target)) << name << " links to " << target;
    }
  }
}

TEST(Documents, EachFolderHasAReadmeThatNamesItsFiles) {
  for (const char* folder :
       {"analyzer/ptx", "analyzer/report", "analyzer/value", "analyzer/kernel", "analyzer/program", "analyzer/warp",
        "analyzer/cluster", "analyzer/cuda", "analyzer/cuda/clang", "analyzer/tidy", "analyzer/cli", "rules"}) {
    const std::string readme = test::read_file(kRoot / folder / "README.md");
    EXPECT_FALSE(readme.empty()) << folder << " has no README.md";
    std::vector<std::regex> names;
    for (const std::string& word : quoted(readme)) {
      std::string pattern;
      for (const char c : word) {
        if (c == '*') {
          pattern += "[a-z0-9_.]*";
        } else if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_') {
          pattern += c;
        } else {
          pattern += std::string("\\") + c;
        }
      }
      names.emplace_back(pattern + "(?:\\.h|\\.cpp)?");
    }
    const bool one_per_rule = readme.find("| the others |") != std::string::npos;
    for (const fs::directory_entry& e : fs::directory_iterator(kRoot / folder)) {
      const std::string file = e.path().filename().string();
      if (!file.ends_with(".h") && !file.ends_with(".cpp")) continue;
      if (one_per_rule && test::read_file(e.path()).find("const Rule k") != std::string::npos) continue;
      EXPECT_TRUE(std::any_of(names.begin(), names.end(), [&](const auto& n) { return std::regex_match(file, n); }))
          << folder << "/README.md does not name " << file;
    }
  }
}

TEST(Documents, TheReadmeNamesAllOptions) {
  const std::string readme = test::read_file(kRoot / "README.md");
  const std::string options = test::read_file(kRoot / "analyzer/cli/options.cpp");
  const std::regex option("\"(--?[a-z-]+)\"");
  for (std::sregex_iterator at(options.begin(), options.end(), option), end; at != end; ++at) {
    const std::string name = (*at)[1];
    EXPECT_NE(readme.find(name), std::string::npos) << "README.md does not name " << name;
  }
}

// How often scenarios let loops run, in the words of the documents: "0, 1, 2 and 5".
TEST(Documents, NumbersOfRoundsAreThoseOfThePolicies) {
  std::set<uint32_t> rounds(cluster::kOtherTrips.begin(), cluster::kOtherTrips.end());
  rounds.insert(cluster::Policy{}.trips);
  std::string expected;
  for (const uint32_t n : rounds) {
    expected += (expected.empty() ? "" : n == *rounds.rbegin() ? " and " : ", ") + std::to_string(n);
  }
  const std::regex said(R"((\d+(?:,\s+\d+)+\s+and\s+\d+)\s+times)");
  size_t found = 0;
  for (const auto& [name, text] : documents()) {
    if (name == "docs/limits.md") continue;  // written from the numbers themselves
    for (std::sregex_iterator at(text.begin(), text.end(), said), end; at != end; ++at) {
      EXPECT_EQ(std::regex_replace((*at)[1].str(), std::regex(R"(\s+)"), " "), expected) << name;
      ++found;
    }
    if (text.find("more than sixteen CTAs") != std::string::npos) {
      EXPECT_EQ(cluster::kMaxRanks, 16u) << name;
    }
  }
  EXPECT_GT(found, 10u);
}

// A page says the loudest level of its rule first, and names every level that the rule reports.
TEST(Documents, PagesNameTheLevelsOfTheirRules) {
  for (const rules::Rule* rule : rules::registry()) {
    const std::string id(rule->id);
    const std::string page = test::read_file(kRoot / "docs/rules" / (id + ".md"));
    const std::string loudest(report::to_string(rule->level));
    EXPECT_NE(page.find("\nLevel: " + loudest), std::string::npos) << id << " is at most: " << loudest;
    std::string file = id.substr(std::string("tmem-").size());
    std::replace(file.begin(), file.end(), '-', '_');
    const std::string source = test::read_file(kRoot / "rules" / (file + ".cpp"));
    ASSERT_FALSE(source.empty()) << "rules/" << file << ".cpp";
    for (const auto& [level, word] : std::map<std::string, std::string>{
             {"Level::kError", "error"}, {"Level::kWarning", "warning"}, {"Level::kNote", "note"}}) {
      if (source.find(level) == std::string::npos) continue;
      EXPECT_NE(page.find(word), std::string::npos) << id << "'s page does not say what is of level " << word;
    }
  }
}

}  // namespace
}  // namespace tmemlint
