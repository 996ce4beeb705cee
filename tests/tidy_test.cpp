// The clang-tidy module in clang-tidy 22 itself, with all its symbols bound at once. Skipped where there is no
// clang-tidy 22 or the module was not built. The PTX path is checked to know nothing of LLVM.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "analyzer/cuda/compile_command.h"

namespace tmemlint {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;

struct Ran {
  std::string output;  // both streams
  int status = -1;
};

Ran shell(const std::string& command) {
  Ran out;
  FILE* pipe = ::popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return out;
  std::array<char, 4096> buffer;
  for (size_t n = 0; (n = std::fread(buffer.data(), 1, buffer.size(), pipe)) != 0;) out.output.append(buffer.data(), n);
  const int status = ::pclose(pipe);
  out.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return out;
}

const fs::path kBuild = fs::path(TMEMLINT_BINARY).parent_path();
const std::string kSamples = std::string(TMEMLINT_SOURCE_DIR) + "/fixtures/cuda/";

class Tidy : public testing::Test {
protected:
  void SetUp() override {
    if (!fs::exists(kBuild / "TmemTidy.so")) GTEST_SKIP() << "the clang-tidy module was not built";
    if (shell("clang-tidy-22 --version").status != 0) GTEST_SKIP() << "there is no clang-tidy-22";
    folder_ = fs::path(testing::TempDir()) /
              ("tmemlint_tidy_" + std::string(testing::UnitTest::GetInstance()->current_test_info()->name()));
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    fs::copy(kSamples + "sync.cuh", folder_);
    // What `tmemlint compdb` writes for these, with the bundled headers on disk.
    fs::copy(std::string(TMEMLINT_SOURCE_DIR) + "/analyzer/cuda/bundled/alone", folder_ / "alone");
  }

  std::string sample(const std::string& name) {
    fs::copy(kSamples + name, folder_, fs::copy_options::overwrite_existing);
    return (folder_ / name).string();
  }

  Ran tidy(const std::string& file, const std::string& options, const std::string& checks = "-*,tmem-*") {
    return shell("cd " + folder_.string() +
                 " && LD_BIND_NOW=1 clang-tidy-22 --load=" + (kBuild / "TmemTidy.so").string() +
                 (checks.empty() ? "" : " '--checks=" + checks + "'") + " " + options + " " + file +
                 " -- -x cuda --cuda-device-only --cuda-gpu-arch=sm_100a -Xclang -target-feature -Xclang +ptx90 "
                 "-nocudainc -nocudalib -std=c++17 -isystem "
                 "alone -include "
                 "alone/tmemlint_cuda.h");
  }

  fs::path folder_;
};

TEST_F(Tidy, FindsWithNotesForTheCalls) {
  const Ran ran = tidy(sample("alloc-size-bad.cu"), "");
  EXPECT_THAT(ran.output, HasSubstr("alloc-size-bad.cu:8:19: warning: tcgen05.alloc of 96 columns"));
  EXPECT_THAT(ran.output, HasSubstr("[tmem-alloc-size]"));
  EXPECT_THAT(ran.output, HasSubstr("note: in TensorMemory<96>::TensorMemory, called here"));
  EXPECT_EQ(ran.status, 0);
  EXPECT_THAT(tidy(sample("alloc-size-good.cu"), "").output, Not(HasSubstr("tmem-")));
}

TEST_F(Tidy, WarningsAsErrors) {
  EXPECT_EQ(tidy(sample("alloc-size-bad.cu"), "'--warnings-as-errors=tmem-*'").status, 1);
}

TEST_F(Tidy, OnlyTheChecksThatAreAskedFor) {
  EXPECT_THAT(tidy(sample("alloc-size-bad.cu"), "", "-*,tmem-target").output, Not(HasSubstr("tmem-alloc-size")));
}

TEST_F(Tidy, Fixes) {
  const std::string file = sample("asm-volatile-bad.cu");
  EXPECT_THAT(tidy(file, "--fix").output, HasSubstr("applied 1 of 1"));
  std::ifstream in(file);
  const std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  EXPECT_THAT(text, HasSubstr("asm volatile(\"tcgen05.ld"));
  EXPECT_THAT(text, Not(HasSubstr("asm(\"tcgen05.ld")));
}

TEST_F(Tidy, FixForTheClobberAndExport) {
  const std::string file = sample("asm-memory-bad.cu");
  tidy(file, "--export-fixes=fixes.yaml");
  std::ifstream fixes(folder_ / "fixes.yaml");
  const std::string yaml{std::istreambuf_iterator<char>(fixes), std::istreambuf_iterator<char>()};
  EXPECT_THAT(yaml, HasSubstr("tmem-asm-memory"));
  EXPECT_THAT(tidy(file, "--fix").output, HasSubstr("applied 1 of 1"));
  EXPECT_THAT(tidy(file, "").output, Not(HasSubstr("tmem-asm-memory")));
}

TEST_F(Tidy, NolintAndConfiguration) {
  const std::string file = (folder_ / "k.cu").string();
  std::ofstream(file) << "__global__ void k(unsigned a) {\n"
                         "  asm volatile(\"tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, 96;\" ::\"r\"(a));  // "
                         "NOLINT(tmem-alloc-size)\n"
                         "  // NOLINTNEXTLINE(tmem-*)\n"
                         "  asm volatile(\"tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, 33;\" ::\"r\"(a));\n"
                         "  asm volatile(\"tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, 65;\" ::\"r\"(a));\n"
                         "}\n";
  std::ofstream(folder_ / ".clang-tidy")
      << "Checks: '-*,tmem-alloc-size'\nCheckOptions:\n  tmem-alloc-size.Block: '32'\n";
  const Ran ran = tidy(file, "", "");
  EXPECT_THAT(ran.output, HasSubstr("of 65 columns"));
  EXPECT_THAT(ran.output, Not(HasSubstr("of 96 columns")));
  EXPECT_THAT(ran.output, Not(HasSubstr("of 33 columns")));
  EXPECT_THAT(tidy(file, "--verify-config", "").output, HasSubstr("No config errors"));
}

TEST_F(Tidy, ListsEveryRule) {
  const std::string list = tidy(sample("alloc-size-good.cu"), "--list-checks").output;
  for (const char* check : {"tmem-alloc-size", "tmem-asm-volatile", "tmem-incomplete"})
    EXPECT_THAT(list, HasSubstr(check));
}

// The names of the libraries alone: the folder of the build may be called anything.
std::vector<std::string> libraries_of(const std::string& output, const std::string& before) {
  std::vector<std::string> out;
  for (size_t at = output.find(before); at != std::string::npos; at = output.find(before, at + 1)) {
    const size_t begin = at + before.size();
    const std::string path = output.substr(begin, output.find_first_of(" \n", begin) - begin);
    out.push_back(fs::path(path).filename().string());
  }
  return out;
}

TEST(PtxPath, LoadsNoLlvm) {
  const auto other = testing::AnyOf(HasSubstr("LLVM"), HasSubstr("clang"), HasSubstr("tidy"));
  const auto linked = libraries_of(shell("ldd " TMEMLINT_BINARY).output, "\t");
  EXPECT_THAT(linked, testing::Contains(HasSubstr("libc.so")));
  EXPECT_THAT(linked, Not(testing::Contains(other)));
  const Ran ran = shell("LD_DEBUG=files " TMEMLINT_BINARY " " TMEMLINT_SOURCE_DIR
                        "/fixtures/cases/14-alloc-ncols-not-power-of-two-bad.ptx");
  EXPECT_THAT(ran.output, HasSubstr("tmem-alloc-size"));
  const auto loaded = libraries_of(ran.output, "file=");
  EXPECT_THAT(loaded, testing::Contains(HasSubstr("libc.so")));
  EXPECT_THAT(loaded, Not(testing::Contains(other)));
}

TEST(CudaCommand, CompdbWritesClangCommands) {
  const fs::path folder = fs::path(testing::TempDir()) / "tmemlint_compdb";
  fs::create_directories(folder / "out");
  std::ofstream(folder / "compile_commands.json")
      << R"([{"directory": ")" << folder.string()
      << R"(", "file": "k.cu", "command": "nvcc -G -t 4 -gencode=arch=compute_100a,code=sm_100a -c k.cu"}])";
  const Ran ran = shell(TMEMLINT_BINARY " compdb --in " + folder.string() + " --out " + (folder / "out").string() +
                        " --cuda-path none");
  EXPECT_EQ(ran.status, 0) << ran.output;
  std::ifstream in(folder / "out" / "compile_commands.json");
  const std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  EXPECT_THAT(text, HasSubstr("--cuda-gpu-arch=sm_100a"));
  EXPECT_THAT(text, Not(HasSubstr("\"-G\"")));
}

TEST(CudaCommand, CompdbMakesTheFolder) {
  const fs::path folder = fs::path(testing::TempDir()) / "tmemlint_compdb_new";
  fs::remove_all(folder);
  fs::create_directories(folder);
  std::ofstream(folder / "compile_commands.json")
      << R"([{"directory": ")" << folder.string() << R"(", "file": "k.cu", "command": "nvcc -c k.cu"}])";
  auto compdb = [&](const std::string& out) {
    return shell("cd " + folder.string() + " && " TMEMLINT_BINARY " compdb --in . --cuda-path none --out " + out)
        .status;
  };
  for (const char* out : {"new/clang", "other/", "new/clang"}) {
    EXPECT_EQ(compdb(out), 0) << out;
    EXPECT_TRUE(fs::is_regular_file(folder / out / "compile_commands.json")) << out;
  }
  EXPECT_EQ(compdb("new/file.json"), 0);
  EXPECT_TRUE(fs::is_regular_file(folder / "new/file.json"));
  EXPECT_EQ(compdb("./"), 2);  // its own input
  EXPECT_EQ(compdb("compile_commands.json/sub"), 2);
}

TEST(CudaCommand, CompdbServesLaunches) {
  if (!fs::exists(kBuild / "TmemTidy.so")) GTEST_SKIP() << "the clang-tidy module was not built";
  if (shell("clang-tidy-22 --version").status != 0) GTEST_SKIP() << "there is no clang-tidy-22";
  std::string problem;
  const cuda::Toolkit toolkit = cuda::find_toolkit("", problem);
  if (!toolkit.found()) GTEST_SKIP() << "there is no CUDA toolkit on this machine";
  const fs::path folder = fs::path(testing::TempDir()) / "tmemlint_compdb_launch";
  fs::create_directories(folder);
  std::ofstream(folder / "k.cu") << "#include <cuda_runtime.h>\n"
                                    "__global__ void k(float* o) { o[0] = 1; }\n"
                                    "void go(float* o) { k<<<1, 128>>>(o); }\n";
  std::ofstream(folder / "compile_commands.json")
      << R"([{"directory": ")" << folder.string() << R"(", "file": "k.cu", "command": "nvcc -arch=sm_100a -c k.cu"}])";
  const Ran ran =
      shell("cd " + folder.string() + " && " TMEMLINT_BINARY " compdb --in . --out clang --cuda-path " + toolkit.path +
            " && clang-tidy-22 --load=" + (kBuild / "TmemTidy.so").string() + " -p clang '--checks=-*,tmem-*' k.cu");
  EXPECT_THAT(ran.output, Not(HasSubstr("clang-diagnostic-error")));
  EXPECT_EQ(ran.status, 0) << ran.output;
}

TEST(CudaCommand, AnInstanceHasToBeInOneOfTheSources) {
  if (!fs::exists(kBuild / "tmemlint_clang.so")) GTEST_SKIP() << "the Clang front end was not built";
  const fs::path folder = fs::path(testing::TempDir()) / "tmemlint_instances";
  fs::create_directories(folder);
  std::ofstream(folder / "a.cu") << "template <int N> __global__ void a(int* o) { o[0] = N; }\n";
  std::ofstream(folder / "b.cu") << "__global__ void b(int* o) { o[0] = 1; }\n";
  auto lint = [&](const std::string& instance) {
    return shell("cd " + folder.string() + " && " TMEMLINT_BINARY " --cuda-path none a.cu b.cu --instantiate '" +
                 instance + "'");
  };
  EXPECT_EQ(lint("a<3>").status, 0);
  const Ran ran = lint("c<3>");
  EXPECT_EQ(ran.status, 2);
  EXPECT_THAT(ran.output, HasSubstr("error: --instantiate 'c<3>' is not possible"));
  EXPECT_THAT(lint("a<int>").output, HasSubstr("error: --instantiate 'a<int>' is not possible"));
}

TEST(CudaCommand, ExitCodeOfWhatIsNoSource) {
  if (!fs::exists(kBuild / "tmemlint_clang.so")) GTEST_SKIP() << "the Clang front end was not built";
  const fs::path file = fs::path(testing::TempDir()) / "tmemlint_no_source.cu";
  std::ofstream(file) << "__global__ void k( {\n int x = ;\n";
  const Ran text = shell(TMEMLINT_BINARY " " + file.string());
  EXPECT_EQ(text.status, 2);
  EXPECT_THAT(text.output, HasSubstr("tmemlint_no_source.cu:2:"));
  const Ran sarif = shell(TMEMLINT_BINARY " --format sarif " + file.string());
  EXPECT_EQ(sarif.status, 2);
  EXPECT_THAT(sarif.output, HasSubstr("\"executionSuccessful\": false"));
  std::ofstream(file) << "__global__ void k(int* o) { o[0] = 1; }\n";
  EXPECT_EQ(shell(TMEMLINT_BINARY " " + file.string()).status, 0);
  const Ran target = shell(TMEMLINT_BINARY " " + file.string() + " -- -arch=sm_999");
  EXPECT_EQ(target.status, 2);
  EXPECT_THAT(target.output, HasSubstr("sm_999"));
}

TEST(CudaCommand, DatabaseAndFlags) {
  if (!fs::exists(kBuild / "tmemlint_clang.so")) GTEST_SKIP() << "the Clang front end was not built";
  const fs::path folder = fs::path(testing::TempDir()) / "tmemlint_database_run";
  fs::create_directories(folder);
  for (const char* name : {"alloc-size-bad.cu", "sync.cuh"})
    fs::copy(kSamples + name, folder, fs::copy_options::overwrite_existing);
  std::ofstream(folder / "compile_commands.json")
      << R"([{"directory": ")" << folder.string()
      << R"(", "file": "alloc-size-bad.cu", "command": "nvcc -arch=sm_100a -c alloc-size-bad.cu"}])";
  // A relative path of the user's and a folder of the command's: two different things.
  const Ran ran = shell("cd " + folder.parent_path().string() +
                        " && " TMEMLINT_BINARY " --cuda-path none -p tmemlint_database_run");
  EXPECT_THAT(ran.output, HasSubstr("\ntmemlint_database_run/alloc-size-bad.cu:8:19: error"));
  EXPECT_THAT(ran.output, HasSubstr("asm volatile(\"tcgen05.alloc"));
  EXPECT_EQ(ran.status, 1);
  EXPECT_THAT(ran.output, HasSubstr("[tmem-alloc-size]"));
  const Ran flags =
      shell(TMEMLINT_BINARY " --cuda-path none " + (folder / "alloc-size-bad.cu").string() + " -- -arch=sm_100a -DX");
  EXPECT_THAT(flags.output, HasSubstr("[tmem-alloc-size]"));
  EXPECT_EQ(shell(TMEMLINT_BINARY " -p " + folder.string() + " -- -DX").status, 2);
}

}  // namespace
}  // namespace tmemlint
