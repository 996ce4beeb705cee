// The layers: README.md lists the folders, lowest first, and a file may include what lies in its own folder or in one
// above it in that list. docs/design.md and CMakeLists.txt name them in the same order.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <regex>

#include "tests/files.h"

namespace tmemlint {
namespace {

namespace fs = std::filesystem;

const fs::path kRoot = TMEMLINT_SOURCE_DIR;

std::vector<std::string> matches(const std::string& text, const char* pattern) {
  const std::regex expression(pattern);
  std::vector<std::string> out;
  for (std::sregex_iterator at(text.begin(), text.end(), expression), end; at != end; ++at) out.push_back((*at)[1]);
  return out;
}

// The folders of sources in README's list, lowest first, without the slash at the end; `analyzer/engine.*` as it is.
std::vector<std::string> layers() {
  const std::string readme = test::read_file(kRoot / "README.md");
  const size_t begin = readme.find("## Working on it");
  return matches(readme.substr(begin, readme.find("fixtures/", begin) - begin),
                 "(?:^|\n)(analyzer/[a-z_/]+[a-z]|analyzer/engine\\.\\*|rules)(?:/ |  )");
}

// The layer that a path below the root lies in: the longest folder that matches.
size_t layer_of(const std::vector<std::string>& all, const std::string& path) {
  size_t found = all.size();
  size_t length = 0;
  for (size_t n = 0; n < all.size(); ++n) {
    std::string prefix = all[n];
    if (prefix.ends_with(".*")) {
      // Files of the root folder itself.
      if (path.find('/', std::string("analyzer/").size()) == std::string::npos && length == 0) found = n;
      continue;
    }
    prefix += '/';
    if (path.starts_with(prefix) && prefix.size() > length) {
      found = n;
      length = prefix.size();
    }
  }
  return found;
}

TEST(Layers, EachFileIncludesOnlyWhatItsLayerMayUse) {
  const std::vector<std::string> all = layers();
  ASSERT_GE(all.size(), 11u) << "the list in README.md was not understood";
  size_t includes = 0;
  for (const char* top : {"analyzer", "rules"}) {
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(kRoot / top)) {
      const std::string extension = entry.path().extension().string();
      if (extension != ".h" && extension != ".cpp") continue;
      const std::string path = fs::relative(entry.path(), kRoot).generic_string();
      if (path.starts_with("analyzer/cuda/bundled/")) continue;  // headers for the kernels, not ours to include
      const size_t own = layer_of(all, path);
      ASSERT_LT(own, all.size()) << path << " is in none of the layers";
      for (const std::string& used :
           matches(test::read_file(entry.path()), "#include \"((?:analyzer|rules)/[^\"]+)\"")) {
        ++includes;
        const size_t other = layer_of(all, used);
        ASSERT_LT(other, all.size()) << path << " includes " << used << ", which is in none of the layers";
        EXPECT_LE(other, own) << path << " includes " << used << ", of a layer that lies above its own";
      }
    }
  }
  EXPECT_GT(includes, 100u);
}

TEST(Layers, DocumentsAndBuildNameThemInTheSameOrder) {
  const std::vector<std::string> all = layers();
  const auto in_order = [&](const std::string& text, const std::string& before, const std::string& behind,
                            const char* where) {
    size_t at = 0;
    for (const std::string& layer : all) {
      const size_t found = text.find(before + layer + behind, at);
      EXPECT_NE(found, std::string::npos) << layer << " does not come in its place in " << where;
      if (found != std::string::npos) at = found;
    }
  };
  const std::string design = test::read_file(kRoot / "docs/design.md");
  in_order(design.substr(design.find("## 1. Layers")), "`", "", "docs/design.md");
  std::vector<std::string> built;
  for (const std::string& folder :
       matches(test::read_file(kRoot / "CMakeLists.txt"), "tmemlint_layer\\([a-z]+ ([a-z_/]+)")) {
    built.push_back(folder);
  }
  ASSERT_GE(built.size(), 7u);
  EXPECT_TRUE(std::is_sorted(built.begin(), built.end(), [&](const std::string& a, const std::string& b) {
    return layer_of(all, a + "/x") < layer_of(all, b + "/x");
  })) << "CMakeLists.txt";
}

}  // namespace
}  // namespace tmemlint
