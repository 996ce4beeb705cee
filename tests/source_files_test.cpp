// Which source text a report may show. `.file` may name anything, and a report may be public: each test asks that a
// line of a file that is not to be shown is in no format, that its place is, and that the run says so.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>

#include "analyzer/cuda/front_end.h"
#include "analyzer/report/sources.h"
#include "analyzer/report/text.h"
#include "tests/files.h"
#include "tests/sarif_check.h"

namespace tmemlint {
namespace {

namespace fs = std::filesystem;
using test::Ran;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr const char* kSecret = "secret_of_this_test";
constexpr const char* kNotice =
    "source not shown: outside the folders of the inputs and the repository, use --source-root DIR";

// A kernel with an error that `.loc` places in line 1 of `file`.
std::string kernel_of(const std::string& file) {
  return R"(.version 9.0
.target sm_100a
.address_size 64
.visible .entry k()
    .reqntid 32,1,1
{
    .shared .align 16 .b8 slot[16];
    .reg .b32 %r<8>;
    mov.u32 %r2, slot;
    .loc 1 1 1
    tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r2], 96;
    ret;
}
.file 1 ")" +
         file + "\"\n";
}

// Folders: `in` has the input, `outside` what it must not show.
class SourceText : public ::testing::Test, protected test::ScratchFolder {
protected:
  void SetUp() override {
    write("in/own.cu", "an own line\n");
    write("outside/secret.cu", std::string(kSecret) + "\n");
  }

  // From the folder `from`. A run that hangs is ended, with code 124.
  Ran run(const std::string& arguments, const std::string& from = "in", const std::string& before = "") const {
    return ScratchFolder::run(before + " SECRET=" + kSecret + " timeout 60 '" + TMEMLINT_BINARY + "' " + arguments,
                              from);
  }

  // The input's `.file` is `file`. Its text must not be shown; whether the run says so is `is_said`.
  void expect_not_shown(const std::string& file, bool is_said, const std::string& options = "") const {
    SCOPED_TRACE(file);
    write("in/k.ptx", kernel_of(file));
    for (const char* format : {"text", "json", "sarif"}) {
      SCOPED_TRACE(format);
      const Ran ran = run(options + " --format " + format + " k.ptx");
      EXPECT_EQ(ran.code, 1) << ran.err;
      for (const std::string& printed : {ran.out, ran.err}) {
        EXPECT_THAT(printed, Not(HasSubstr(kSecret)));
        EXPECT_THAT(printed, Not(HasSubstr("root:")));
        EXPECT_LT(printed.size(), 200'000u);
      }
      EXPECT_THAT(ran.out, HasSubstr("tmem-alloc-size")) << "the finding itself is there";
      EXPECT_EQ(notices(ran, format), is_said ? 1u : 0u) << ran.out << ran.err;
      if (std::string(format) == "text") {
        // What is there keeps its place; what is no file that could be shown is named behind the place in the PTX.
        EXPECT_THAT(ran.out, HasSubstr(is_said ? file + ":1:1: error: " : "k.ptx:11:5: error: "));
        EXPECT_THAT(ran.out, HasSubstr(is_said ? "k.ptx:11:5: note: in the PTX:"
                                               : file + ":1:1: note: from this line, which cannot be read here"));
      } else {
        EXPECT_THAT(ran.out, HasSubstr(fs::path(file).filename().string())) << "so is the place";
      }
    }
  }

  void expect_shown(const std::string& file, const std::string& line, const Ran& ran) const {
    EXPECT_EQ(ran.code, 1) << ran.err;
    EXPECT_THAT(ran.out, HasSubstr(file + ":1:1: error: "));
    EXPECT_THAT(ran.out, HasSubstr("\n" + line + "\n^\n"));
    EXPECT_EQ(notices(ran, "text"), 0u);
  }

  // How often the run says that something is not shown, in the way of this format.
  static size_t notices(const Ran& ran, const std::string& format) {
    size_t count = 0;
    if (format == "text") {
      for (size_t at = 0; (at = ran.err.find(kNotice, at)) != std::string::npos; ++at) ++count;
    } else if (format == "json") {
      count = nlohmann::json::parse(ran.out).value("notices", nlohmann::json::array()).size();
    } else {
      const auto log = nlohmann::json::parse(ran.out);
      EXPECT_THAT(test::SarifCheck::problems(log), IsEmpty());
      for (const auto& item : log["runs"][0]["invocations"][0]["toolExecutionNotifications"]) {
        if (item["message"]["text"].get<std::string>().find(kNotice) != std::string::npos) ++count;
      }
    }
    return count;
  }
};

TEST_F(SourceText, IsNotShownFromOutside) {
  expect_not_shown("/etc/passwd", fs::exists("/etc/passwd"));
  expect_not_shown((path() / "outside/secret.cu").string(), true);
  expect_not_shown("../outside/secret.cu", true);
  expect_not_shown("../in/../outside/secret.cu", true);
  expect_not_shown("../outside/none.cu", false);
}

// A folder whose name begins like that of an allowed one.
TEST_F(SourceText, IsComparedByWholeNames) {
  write("in-and-more/secret.cu", std::string(kSecret) + "\n");
  expect_not_shown("../in-and-more/secret.cu", true);
}

TEST_F(SourceText, IsNotShownThroughASymbolicLink) {
  fs::create_symlink(path() / "outside/secret.cu", path() / "in/innocent.cu");
  fs::create_directory_symlink(path() / "outside", path() / "in/folder");
  expect_not_shown("innocent.cu", true);
  expect_not_shown("folder/secret.cu", true);
  // `..` of a linked folder is the folder around what it leads to.
  write("secret.cu", std::string(kSecret) + "\n");
  expect_not_shown("folder/../secret.cu", true);
}

TEST_F(SourceText, IsNeverTheKernels) {
  if (!fs::exists("/proc/self/environ")) GTEST_SKIP() << "there is no /proc";
  expect_not_shown("/proc/self/environ", true);
  expect_not_shown("/proc/self/pagemap", true);
  expect_not_shown("/proc/kmsg", fs::is_regular_file("/proc/kmsg"));
  // Not even where the user allows everything.
  for (const char* file : {"/proc/self/environ", "/proc/self/pagemap", "/proc/kmsg", "/sys/kernel/uevent_seqnum"}) {
    expect_not_shown(file, false, "--source-root /");
  }
  // The link that proc is not: it leads to a file that is allowed.
  write("in/k.ptx", kernel_of("/proc/self/cwd/own.cu"));
  expect_shown("/proc/self/cwd/own.cu", "an own line", run("k.ptx"));
}

TEST_F(SourceText, IsNeverADeviceOrAFifo) {
  ASSERT_EQ(::mkfifo((path() / "in/fifo.cu").c_str(), 0600), 0);
  expect_not_shown("fifo.cu", false);
  expect_not_shown("/dev/zero", false, "--source-root /");
  expect_not_shown("/dev/tty", false, "--source-root /");
  expect_not_shown(".", false);
}

TEST_F(SourceText, IsShownBelowTheInputsFolder) {
  write("in/k.ptx", kernel_of("own.cu"));
  expect_shown("own.cu", "an own line", run("k.ptx"));
  // From elsewhere, by names that are relative to where the run stands.
  write("in/k.ptx", kernel_of("../in/own.cu"));
  expect_shown("../in/own.cu", "an own line", run("../in/k.ptx", "outside"));
  // By its folder, and from a pipe, which stands in the current folder.
  write("in/deep/k.ptx", kernel_of("own.cu"));
  expect_shown("own.cu", "an own line", run("../in"));
  expect_shown("own.cu", "an own line", run("-", "in", "cat deep/k.ptx |"));
  // A file below that links to another one below.
  fs::create_symlink("own.cu", path() / "in/link.cu");
  write("in/k.ptx", kernel_of("link.cu"));
  expect_shown("link.cu", "an own line", run("k.ptx"));
}

TEST_F(SourceText, IsShownFromTheRepositoryAround) {
  write("repository/.git/HEAD", "");
  write("repository/source/k.cu", "a line of the repository\n");
  write("repository/build/ptx/k.ptx", kernel_of("../../source/k.cu"));
  expect_shown("../../source/k.cu", "a line of the repository", run("k.ptx", "repository/build/ptx"));
  // A repository is where the run stands, not where a PTX lies.
  write("repository/build/ptx/k.ptx", kernel_of("../repository/source/k.cu"));
  const Ran ran = run("../repository/build/ptx/k.ptx");
  EXPECT_THAT(ran.out, Not(HasSubstr("a line of the repository")));
  EXPECT_EQ(notices(ran, "text"), 1u);
}

TEST_F(SourceText, IsShownBelowASourceRoot) {
  write("in/k.ptx", kernel_of("../outside/secret.cu"));
  fs::create_directory_symlink(path() / "outside", path() / "in/link");
  for (const char* root : {"../outside", "..", "link", "/", "../logs --source-root ../outside"}) {
    SCOPED_TRACE(root);
    expect_shown("../outside/secret.cu", kSecret, run(std::string("--source-root ") + root + " k.ptx"));
  }
  const Ran ran = run("--source-root no-folder k.ptx");
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, HasSubstr("--source-root: there is no folder no-folder"));
}

TEST_F(SourceText, IsMissedOncePerRun) {
  write("in/a.ptx", kernel_of("../outside/secret.cu"));
  write("in/b.ptx", kernel_of("../outside/secret.cu"));
  write("in/c.ptx", kernel_of("../logs/out"));
  const Ran ran = run("a.ptx b.ptx c.ptx");
  EXPECT_EQ(notices(ran, "text"), 1u);
  EXPECT_THAT(ran.err, HasSubstr("(../outside/secret.cu and 1 more)"));
}

// A line's hash would be found by trying: the fingerprint of a file that is not shown does not depend on its text.
TEST_F(SourceText, IsNotInAFingerprint) {
  write("in/k.ptx", kernel_of("../outside/secret.cu"));
  auto fingerprint = [&] {
    const auto log = nlohmann::json::parse(run("--format sarif k.ptx").out);
    return log["runs"][0]["results"][0]["partialFingerprints"]["primaryLocationLineHash"].get<std::string>();
  };
  const std::string before = fingerprint();
  write("outside/secret.cu", "another line\n");
  EXPECT_EQ(fingerprint(), before);
}

// Headers of CUDA sources are texts of their own, which a place may stand in.
TEST_F(SourceText, OfAHeaderIsShownByTheSameRule) {
  report::Results results;
  const std::string header = (path() / "outside/secret.cu").string();
  const auto text = std::make_shared<const ptx::SourceText>(
      ptx::SourceText::named_by_input(header, *report::read_regular_file(header)));
  const report::Place place{text, {0, 6}, false, {}, {}};
  results.findings = {{"tmem-made-up", report::Level::kError, "a message", place, {}, "k", {}, {}}};
  results.errors = {{header, text, {0, 6}, "an error"}};
  report::SourceRoots roots;
  report::SourceFiles closed(roots);
  EXPECT_THAT(report::text(results, 0, {}, closed), HasSubstr(header + ":1:1: error: a message"));
  EXPECT_THAT(report::text(results, 0, {}, closed), Not(HasSubstr(kSecret)));
  EXPECT_THAT(report::input_errors(results, {}, closed), Not(HasSubstr(kSecret)));
  EXPECT_THAT(closed.notice(results), HasSubstr(header));
  ASSERT_TRUE(roots.add_folder((path() / "outside").string()));
  report::SourceFiles open(roots);
  EXPECT_THAT(report::text(results, 0, {}, open), HasSubstr(kSecret));
  EXPECT_THAT(report::input_errors(results, {}, open), HasSubstr(kSecret));
  EXPECT_THAT(open.notice(results), IsEmpty());
}

TEST_F(SourceText, OfAHeaderThatClangReads) {
  std::string problem;
  if (cuda::clang_front_end(problem) == nullptr) GTEST_SKIP() << "the Clang front end was not built";
  write("outside/header.cuh",
        "__device__ inline void give_back(unsigned a) {\n  asm volatile("
        "\"tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, 96;\" ::\"r\"(a));  // secret_of_this_test\n}\n");
  write("in/k.cu", "#include \"header.cuh\"\n__global__ void k(unsigned* out) { give_back(*out); }\n");
  const std::string place = (path() / "outside/header.cuh").string() + ":2:17: error: ";
  const std::string arguments = "--via clang --cuda-path none k.cu -- -I../outside";
  Ran ran = run(arguments);
  EXPECT_THAT(ran.out, HasSubstr(place));
  EXPECT_THAT(ran.out, HasSubstr("give_back(*out)")) << "the source itself is shown";
  EXPECT_THAT(ran.out, Not(HasSubstr(kSecret)));
  EXPECT_EQ(notices(ran, "text"), 1u);
  for (const char* format : {"json", "sarif"}) {
    ran = run(std::string("--format ") + format + " " + arguments);
    EXPECT_THAT(ran.out, Not(HasSubstr(kSecret)));
    EXPECT_EQ(notices(ran, format), 1u);
  }
  ran = run("--source-root ../outside " + arguments);
  EXPECT_THAT(ran.out, HasSubstr(place));
  EXPECT_THAT(ran.out, HasSubstr(kSecret));
  // A compiler's error in what is no source quotes it otherwise.
  write("in/k.cu", "#include \"../outside/secret.cu\"\n");
  ran = run("--via clang --cuda-path none k.cu");
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, HasSubstr("outside/secret.cu:1:1: error: "));
  EXPECT_THAT(ran.err, Not(HasSubstr(std::string("\n") + kSecret)));
  // The repository of a source, wherever the run stands.
  write("in/k.cu", "#include \"header.cuh\"\n__global__ void k(unsigned* out) { give_back(*out); }\n");
  write(".git/HEAD", "");
  fs::create_directories(path().string() + "-elsewhere");
  ran = run("--via clang --cuda-path none '" + (path() / "in/k.cu").string() + "' -- -I../outside -I'" +
                (path() / "outside").string() + "'",
            "../" + path().filename().string() + "-elsewhere");
  fs::remove_all(path().string() + "-elsewhere");
  EXPECT_THAT(ran.out, HasSubstr(kSecret));
}

TEST(SourceTextWithoutText, KeepsItsPlaces) {
  const ptx::SourceText text = ptx::SourceText::without_text("/gone.cuh");
  const ptx::LineColumn at = text.position(text.offset_of(70'000, 81));
  EXPECT_EQ(at.line, 70'000u);
  EXPECT_EQ(at.column, 81u);
  EXPECT_EQ(text.position(text.offset_of(3, 0)).column, 1u);
  EXPECT_LT(text.offset_of(3, 4'000'000), text.offset_of(4, 1));
  EXPECT_EQ(text.line(70'000), "");
}

TEST(ReadRegularFile, NeverReadsWhatIsNone) {
  for (const char* name : {"", "/", "/nowhere/gone", "/dev/null", "/proc/self/environ", "/proc/self/mem",
                           "/proc/self/pagemap", "/proc/kmsg", "/sys/kernel/uevent_seqnum"}) {
    EXPECT_EQ(report::read_regular_file(name), std::nullopt) << name;
  }
  EXPECT_EQ(report::read_regular_file(std::string(100'000, 'x')), std::nullopt);
}

}  // namespace
}  // namespace tmemlint
