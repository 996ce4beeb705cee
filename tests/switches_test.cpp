// scripts/switches: no switch over an enumeration has a `default:`, so that the compiler asks for each kind that is
// new.
#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

namespace tmemlint {
namespace {

namespace fs = std::filesystem;

struct Output {
  std::string text;
  bool failed = false;
};

Output switches(const std::string& arguments) {
  Output out;
  FILE* pipe = ::popen((TMEMLINT_SOURCE_DIR "/scripts/switches " + arguments + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return {"no shell", true};
  for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) out.text += static_cast<char>(c);
  out.failed = ::pclose(pipe) != 0;
  return out;
}

std::string written(const std::string& name, const std::string& code) {
  const fs::path path = fs::path(::testing::TempDir()) / name;
  std::ofstream(path) << code;
  return path;
}

TEST(Switches, NoneOverAnEnumerationHasADefault) {
  const Output found = switches("");
  EXPECT_FALSE(found.failed) << found.text;
  EXPECT_EQ(found.text, "");
}

TEST(Switches, ADefaultIsFoundWhereverItStands) {
  const std::string file = written("switches_bad.cpp", R"(
int f(ptx::Kind kind, char c) {
  switch (c) {  // no enumeration: default: is right here
    case '{':
      return 1;
    default:
      break;
  }
  switch (kind) {
    case ptx::Kind::kOne: {
      switch (c) {
        case ':':
        default:
          return 2;
      }
    }
    case ptx::Kind::kTwo: return 3; default: return 4;
  }
}
)");
  const Output found = switches(file);
  EXPECT_TRUE(found.failed);
  EXPECT_EQ(found.text, file + ":17: default: in a switch over ptx::Kind\n");
}

TEST(Switches, OthersAreOnlyListed) {
  const std::string file = written("switches_good.cpp", R"(
/* switch (kind) { case Kind::kOne: default: } */
int f(Kind kind) {
  switch (kind) {
    case Kind::kOne:  // default: one
      return text == "default:";
  }
}
)");
  EXPECT_FALSE(switches(file).failed);
  EXPECT_EQ(switches("--list " + file).text, file + ":4: Kind\n");
}

}  // namespace
}  // namespace tmemlint
