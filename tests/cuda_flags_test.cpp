// Compile commands of nvcc and of Clang, compilation databases, suppression comments: what needs no Clang.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "analyzer/cuda/compile_command.h"
#include "analyzer/cuda/database.h"
#include "analyzer/cuda/suppress.h"

namespace tmemlint::cuda {
namespace {

namespace fs = std::filesystem;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::Not;

AdaptedCommand nvcc(const std::string& flags) {
  CompileCommand command;
  command.file = "k.cu";
  command.compiler = "nvcc";
  command.arguments = split_command(flags);
  return adapt(command, {});
}

TEST(NvccOptions, ValuesGoWithTheirOptions) {
  // Each of these would be misread by Clang, or leave its value behind as a source.
  const AdaptedCommand a = nvcc(
      "-G -lineinfo -t 4 -time report.csv -diag-suppress 177 -Werror all-warnings -default-stream legacy "
      "-Xptxas -v -maxrregcount=64 -ccbin g++-12 --threads 2 -MD -MF out.d -o k.o -c k.cu");
  for (const char* word : {"4", "report.csv", "177", "all-warnings", "legacy", "-v", "g++-12", "2", "out.d", "k.o",
                           "k.cu", "-G", "-lineinfo"}) {
    EXPECT_THAT(a.clang, Not(Contains(word)));
  }
  EXPECT_THAT(a.nvcc, IsSupersetOf({"-ccbin", "g++-12", "-arch=sm_100a"}));
}

TEST(NvccOptions, IncludesDefinesAndStandard) {
  const AdaptedCommand a =
      nvcc("-Ia,b --include-path=c -isystem d,e -include f.h -DX=g(1,2) --define-macro Y -UZ --std=c++20");
  EXPECT_THAT(a.clang, IsSupersetOf({"-Ia", "-Ib", "-Ic", "-isystem", "d", "e", "-include", "f.h", "-DX=g(1,2)", "-DY",
                                     "-UZ", "-std=c++20"}));
  EXPECT_THAT(a.clang, Not(Contains("-std=c++17")));
  EXPECT_THAT(nvcc("").clang, Contains("-std=c++17"));
}

TEST(NvccOptions, Targets) {
  EXPECT_EQ(nvcc("").target, "sm_100a");
  EXPECT_EQ(nvcc("-arch=sm_103a").target, "sm_103a");
  EXPECT_EQ(nvcc("-arch sm_90a").target, "sm_90a");
  EXPECT_EQ(nvcc("-gencode arch=compute_90a,code=sm_90a -gencode=arch=compute_100a,code=[sm_100a,compute_100a]").target,
            "sm_100a");
  EXPECT_EQ(
      nvcc("--generate-code=arch=compute_120a,code=sm_120a --generate-code=arch=compute_100f,code=sm_100f").target,
      "sm_100f");
  EXPECT_EQ(nvcc("-arch=native").target, "sm_100a");
  // Clang 22 has no family targets.
  EXPECT_THAT(nvcc("-arch=sm_100f").clang, IsSupersetOf({"--cuda-gpu-arch=sm_100a", "-U__CUDA_ARCH_FEAT_SM100_ALL",
                                                         "-D__CUDA_ARCH_FAMILY_SPECIFIC__=1000"}));
}

TEST(NvccOptions, HostOptionsAndFastMath) {
  const AdaptedCommand a =
      nvcc("-Xcompiler -fPIC,-O3,-DHOST --use_fast_math -rdc=true --expt-relaxed-constexpr -fno-strict-aliasing");
  EXPECT_THAT(a.clang, IsSupersetOf({"-fPIC", "-DHOST", "-D__USE_FAST_MATH__=1", "-fgpu-rdc", "-fno-strict-aliasing"}));
  EXPECT_THAT(a.clang, Not(Contains("-ffast-math")));
  EXPECT_THAT(a.nvcc, IsSupersetOf({"-Xcompiler", "-rdc=true", "--expt-relaxed-constexpr", "-use_fast_math"}));
}

TEST(NvccOptions, OptionsFile) {
  const fs::path folder = fs::path(testing::TempDir()) / "tmemlint_options";
  fs::create_directories(folder);
  std::ofstream(folder / "includes.rsp") << "-I/one -isystem=/two\n--define-macro=\"THREE=3\"";
  CompileCommand command;
  command.file = "k.cu";
  command.compiler = "/opt/cuda/bin/nvcc";
  command.directory = folder.string();
  command.arguments = {"--options-file", "includes.rsp", "-DFOUR"};
  EXPECT_THAT(adapt(command, {}).clang, IsSupersetOf({"-I/one", "/two", "-DTHREE=3", "-DFOUR"}));
  command.arguments = {"--options-file", "gone.rsp"};
  EXPECT_THAT(adapt(command, {}).problem, HasSubstr("gone.rsp"));
}

TEST(ClangOptions, AreKept) {
  CompileCommand command;
  command.file = "k.cu";
  command.arguments = split_command("-x cuda --cuda-gpu-arch=sm_103a -O2 -c -o k.o -Iinc -D X=1 -fno-exceptions k.cu");
  const AdaptedCommand a = adapt(command, {});
  EXPECT_EQ(a.target, "sm_103a");
  EXPECT_THAT(a.clang, IsSupersetOf({"-Iinc", "-D", "X=1", "-fno-exceptions"}));
  EXPECT_THAT(a.clang, Not(Contains("k.o")));
  EXPECT_THAT(a.clang, Not(Contains("-c")));
  EXPECT_THAT(a.nvcc, Not(Contains("-fno-exceptions")));
}

TEST(Database, BothFormsAndTheClangOne) {
  const fs::path folder = fs::path(testing::TempDir()) / "tmemlint_database";
  fs::create_directories(folder);
  std::ofstream(folder / "k.cu") << "\n";
  std::ofstream(folder / "compile_commands.json")
      << R"([
    {"directory": ")"
      << folder.string() << R"(", "file": "k.cu", "command": "nvcc -arch=sm_100a \"-DA=\\\"x y\\\"\" -c k.cu -o k.o"},
    {"directory": ")"
      << folder.string() << R"(", "file": "h.cpp", "arguments": ["g++", "-c", "h.cpp"]}])";
  std::string problem;
  const std::vector<CompileCommand> commands = read_database(folder.string(), problem);
  ASSERT_EQ(problem, "");
  ASSERT_EQ(commands.size(), 2u);
  EXPECT_TRUE(compiles_cuda(commands[0]));
  EXPECT_FALSE(compiles_cuda(commands[1]));
  EXPECT_THAT(commands[0].arguments, Contains("-DA=\"x y\""));
  ASSERT_NE(command_for(commands, (folder / "." / "k.cu").string()), nullptr);
  EXPECT_EQ(command_for(commands, (folder / "other.cu").string()), nullptr);
  const std::string rewritten = clang_database(commands, {}, problem);
  EXPECT_THAT(rewritten, HasSubstr("--cuda-gpu-arch=sm_100a"));
  EXPECT_THAT(rewritten, HasSubstr("g++"));
  read_database((folder / "none").string(), problem);
  EXPECT_THAT(problem, HasSubstr("compilation database"));
}

report::Finding finding_at(const std::string& text, uint32_t line) {
  report::Finding finding;
  finding.rule = "tmem-alloc-size";
  finding.place.text = std::make_shared<const ptx::SourceText>("k.cu", text);
  finding.place.span.begin = finding.place.text->offset_of(line, 1);
  return finding;
}

TEST(Suppression, SameCommentsAsClangTidy) {
  EXPECT_TRUE(is_suppressed(finding_at("x; // NOLINT\n", 1)));
  EXPECT_TRUE(is_suppressed(finding_at("x; // NOLINT(tmem-alloc-size)\n", 1)));
  EXPECT_TRUE(is_suppressed(finding_at("x; // NOLINT(other, tmem-*)\n", 1)));
  EXPECT_FALSE(is_suppressed(finding_at("x; // NOLINT(tmem-target)\n", 1)));
  EXPECT_FALSE(is_suppressed(finding_at("x; // NOLINTNEXTLINE\n", 1)));
  EXPECT_TRUE(is_suppressed(finding_at("// NOLINTNEXTLINE(tmem-alloc-size)\nx;\n", 2)));
  EXPECT_TRUE(is_suppressed(finding_at("// NOLINTBEGIN(tmem-alloc-size)\nx;\n// NOLINTEND(tmem-alloc-size)\n", 2)));
  EXPECT_FALSE(is_suppressed(finding_at("// NOLINTBEGIN\n// NOLINTEND\nx;\n", 3)));
  EXPECT_FALSE(is_suppressed(finding_at("f(\"NOLINT\");\n", 1)));
  EXPECT_TRUE(is_suppressed(finding_at("x; /* NOLINT */ y;  // and more\n", 1)));
}

}  // namespace
}  // namespace tmemlint::cuda
