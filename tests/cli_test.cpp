// The command as its users run it: the real binary, in a folder of its own. Of the rules only tmem-alloc-size is relied
// upon, with an immediate size that no version of the ISA allows.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "analyzer/cuda/front_end.h"
#include "tests/files.h"
#include "tests/sarif_check.h"

namespace tmemlint {
namespace {

namespace fs = std::filesystem;
using test::Ran;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;
using ::testing::Not;
using ::testing::StartsWith;

// A kernel that allocates `columns` columns in warp 0, shares the address, and frees them again.
std::string kernel(const std::string& columns) {
  return R"(.version 9.0
.target sm_100a
.address_size 64

.visible .entry k()
    .reqntid 128,1,1
{
    .shared .align 16 .b8 slot[16];
    .reg .pred %p<4>;
    .reg .b32 %r<8>;

    mov.u32 %r0, %tid.x;
    shr.u32 %r1, %r0, 5;
    mov.u32 %r2, slot;
    setp.ne.u32 %p1, %r1, 0;
    @%p1 bra done;
    tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r2], )" +
         columns + R"(;
    tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;
    ld.shared.b32 %r3, [%r2];
    tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r3, )" +
         columns + R"(;
done:
    ret;
}
)";
}

constexpr const char* kWithoutTensorMemory = R"(.version 9.0
.target sm_100a
.address_size 64
.visible .entry plain()
{
    ret;
}
)";

class Command : public ::testing::Test, protected test::ScratchFolder {
protected:
  void SetUp() override {
    write("bad.ptx", kernel("96"));
    write("good.ptx", kernel("64"));
    write("plain.ptx", kWithoutTensorMemory);
  }

  // Runs the tool by the shell, with `before` in front of it (a pipe, a variable).
  Ran run(const std::string& arguments, const std::string& before = "", const std::string& after = "") const {
    return ScratchFolder::run(before + " '" + TMEMLINT_BINARY + "' " + arguments + after);
  }

  nlohmann::json run_json(const std::string& arguments) const {
    return nlohmann::json::parse(run("--format json " + arguments).out);
  }

  static std::string last_line(std::string text) {
    if (!text.empty() && text.back() == '\n') text.pop_back();
    return text.substr(text.rfind('\n') + 1);
  }
};

TEST_F(Command, FindsNothingInAGoodKernel) {
  const Ran ran = run("good.ptx");
  EXPECT_EQ(ran.code, 0) << ran.out << ran.err;
  EXPECT_THAT(last_line(ran.out), StartsWith("tmemlint: 1 file, 1 kernel, 3 tcgen05 instructions: 0 errors, 0 warn"));
}

TEST_F(Command, ReportsLikeACompiler) {
  const Ran ran = run("bad.ptx");
  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.out, HasSubstr("bad.ptx:17:"));
  EXPECT_THAT(ran.out, HasSubstr(": error: "));
  EXPECT_THAT(ran.out, HasSubstr(" [tmem-alloc-size]\n    tcgen05.alloc.cta_group::1"));
  EXPECT_THAT(ran.out, HasSubstr("^"));
  EXPECT_THAT(last_line(ran.out), StartsWith("tmemlint: 1 file, 1 kernel"));
}

TEST_F(Command, SaysWhenThereWasNothingToAnalyse) {
  const Ran ran = run("plain.ptx");
  EXPECT_EQ(ran.code, 0);
  EXPECT_THAT(last_line(ran.out), HasSubstr("no tcgen05 instruction was analysed"));
}

TEST_F(Command, PrintsJson) {
  const Ran ran = run("--format json bad.ptx");
  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.err, HasSubstr("tmemlint: 1 file, 1 kernel"));
  const auto json = nlohmann::json::parse(ran.out);
  EXPECT_EQ(json["tool"]["name"], "tmemlint");
  const auto& findings = json["findings"];
  const auto found = std::find_if(findings.begin(), findings.end(), [](const auto& finding) {
    return finding["rule"] == "tmem-alloc-size" && finding["line"] == 17;
  });
  ASSERT_NE(found, findings.end()) << ran.out;
  EXPECT_EQ((*found)["level"], "error");
  EXPECT_EQ((*found)["file"], "bad.ptx");
  EXPECT_EQ((*found)["kernel"], "k");
  EXPECT_GE((*found)["column"], 1);
  EXPECT_TRUE((*found)["warps"].is_array());
  EXPECT_TRUE((*found)["related"].is_array());
  EXPECT_EQ(json["summary"]["files"], 1);
  EXPECT_EQ(json["summary"]["kernels"], 1);
  EXPECT_EQ(json["summary"]["tcgen05"], 3);
  EXPECT_EQ(json["summary"]["note"], 0);
}

TEST_F(Command, PrintsSarif) {
  const Ran ran = run("--format sarif --notes bad.ptx plain.ptx missing.ptx");
  EXPECT_EQ(ran.code, 2);
  const auto log = nlohmann::json::parse(ran.out);
  EXPECT_THAT(test::SarifCheck::problems(log), IsEmpty());
  EXPECT_FALSE(log["runs"][0]["results"].empty());
  for (const auto& rule : log["runs"][0]["tool"]["driver"]["rules"]) {
    EXPECT_FALSE(rule["help"]["markdown"].get<std::string>().empty()) << rule["id"];
  }
}

TEST_F(Command, IsDeterministic) {
  for (const char* format : {"text", "json", "sarif"}) {
    const std::string arguments = std::string("--notes bad.ptx good.ptx --format ") + format;
    EXPECT_EQ(run(arguments).out, run(arguments).out);
  }
}

TEST_F(Command, GoesOnAfterAMissingFile) {
  const Ran ran = run("missing.ptx bad.ptx");
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, HasSubstr("missing.ptx: error: cannot read this file: No such file"));
  EXPECT_THAT(ran.out, HasSubstr("[tmem-alloc-size]"));
}

TEST_F(Command, GoesOnAfterAnUnparsableFile) {
  write("broken.ptx", ".version 9.0\n.target sm_100a\n.address_size 64\n.visible .entry k()\n{\n  @@@ ;;; {\n");
  const Ran ran = run("broken.ptx bad.ptx");
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, HasSubstr("broken.ptx:"));
  EXPECT_THAT(ran.err, HasSubstr(": error: "));
  EXPECT_THAT(ran.out, HasSubstr("[tmem-alloc-size]"));
}

// Errors do not hide that the rest of a source was analysed.
TEST_F(Command, CountsASourceThatIsTakenInPart) {
  std::string problem;
  if (cuda::clang_front_end(problem) == nullptr) GTEST_SKIP() << "the Clang front end was not built";
  write("part.cu", R"(
__global__ void good(unsigned* out) { asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, 96;" ::"r"(*out)); }
template <int N> __global__ void picky(unsigned* out) { static_assert(N > 4, "too small"); *out = N; }
)");
  const Ran ran = run("--via clang --cuda-path none --instantiate 'picky<3>' part.cu --format json");
  EXPECT_EQ(ran.code, 2);
  const auto json = nlohmann::json::parse(ran.out);
  EXPECT_FALSE(json["errors"].empty());
  EXPECT_EQ(json["summary"]["kernels"], 1);
  EXPECT_EQ(json["summary"]["files"], 1);
  // What could not be taken at all was not looked at.
  write("none.cu", "no source");
  EXPECT_EQ(run_json("--via clang --cuda-path none none.cu")["summary"]["files"], 0);
}

TEST_F(Command, TakesNoBinaries) {
  write("k.cubin", std::string("\x7f"
                               "ELF\0\0",
                               6));
  const Ran ran = run("k.cubin");
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, HasSubstr("cuobjdump -ptx"));
}

TEST_F(Command, TakesAnyBytes) {
  write("odd.ptx", "// \xff\xfe\xc3 \x1b[31m\n" + kernel("96"));
  for (const char* format : {"text", "json", "sarif"}) {
    const Ran ran = run(std::string("odd.ptx --format ") + format);
    EXPECT_EQ(ran.code, 1) << format << ran.err;
    EXPECT_THAT(ran.out, Not(HasSubstr("\x1b")));
  }
}

// The CuTe DSL ends its dumps with NUL bytes.
TEST_F(Command, TakesNulBytesBehindTheEndOnly) {
  const std::string bad = kernel("96");
  for (const std::string& end : {std::string(1, '\0'), std::string("\0\0\n\0 \n", 6), std::string(5000, '\0')}) {
    write("dump.ptx", bad + end);
    for (const bool piped : {false, true}) {
      const Ran ran = piped ? run("-", "cat dump.ptx |") : run("dump.ptx");
      EXPECT_EQ(ran.code, 1) << ran.err;
      EXPECT_THAT(ran.out, HasSubstr(":17:5: error: "));
    }
  }
  for (const std::string& text : {bad + std::string("\0x", 2), std::string(16, '\0'), std::string("\0", 1) + bad}) {
    write("binary.ptx", text);
    for (const bool piped : {false, true}) {
      const Ran ran = piped ? run("-", "cat binary.ptx |") : run("binary.ptx");
      EXPECT_EQ(ran.code, 2);
      EXPECT_THAT(ran.err, HasSubstr("this is a binary file, not PTX"));
    }
  }
}

TEST_F(Command, TakesAnEmptyFile) {
  write("empty.ptx", "");
  const Ran ran = run("empty.ptx");
  EXPECT_TRUE(ran.code == 0 || ran.code == 2) << ran.code;
  EXPECT_THAT(last_line(ran.out), HasSubstr("no tcgen05 instruction was analysed"));
}

TEST_F(Command, ReadsFoldersAndEachFileOnce) {
  write("folder/b.ptx", kernel("64"));
  write("folder/deep/a.ptx", kernel("64"));
  write("folder/not.txt", "no PTX");
  EXPECT_EQ(run_json("folder")["summary"]["files"], 2);
  EXPECT_EQ(run_json("folder folder/b.ptx ./folder/../folder/b.ptx")["summary"]["files"], 2);
  fs::create_directories(path() / "none");
  const Ran ran = run("none good.ptx");
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, HasSubstr("none: error: there is no .ptx file"));
}

TEST_F(Command, ReadsStandardInput) {
  const Ran ran = run("-", "cat bad.ptx |");
  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.out, HasSubstr("<stdin>:17:"));
}

TEST_F(Command, WritesToAFile) {
  const Ran ran = run("--output report.json --format json bad.ptx");
  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.out, IsEmpty());
  EXPECT_EQ(nlohmann::json::parse(read("report.json"))["tool"]["name"], "tmemlint");
}

TEST_F(Command, SaysWhenItCannotWrite) {
  Ran ran = run("--output no/such/folder/x good.ptx");
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, HasSubstr("cannot write no/such/folder/x"));
  ran = run("--output good.ptx good.ptx");
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, HasSubstr("overwrite the input"));
  EXPECT_EQ(read("good.ptx"), kernel("64"));
  if (fs::exists("/dev/full")) {
    ran = run("good.ptx", "", " >/dev/full");
    EXPECT_EQ(ran.code, 2);
    EXPECT_THAT(ran.err, HasSubstr("cannot write to standard output"));
  }
}

TEST_F(Command, KeepsPtxOutOfItsInputs) {
  const std::string source = "// a source\n";
  write("k.cu", source);
  write("deep/other.ptx", kernel("64"));
  fs::create_symlink("k.cu", path() / "symbolic");
  fs::create_hard_link(path() / "k.cu", path() / "hard");
  for (const char* name : {"k.cu", "./deep/../k.cu", "symbolic", "hard"}) {
    const Ran ran = run(std::string("--cuda-path none good.ptx k.cu --keep-ptx ") + name);
    EXPECT_EQ(ran.code, 2) << name;
    EXPECT_THAT(ran.err, HasSubstr("--keep-ptx would overwrite the input k.cu")) << name;
    EXPECT_EQ(read("k.cu"), source) << name;
  }
  EXPECT_EQ(run("--cuda-path none k.cu deep --keep-ptx deep/other.ptx").code, 2);
  // Nor may one output replace the other, or what says how the sources are compiled.
  EXPECT_EQ(run("--cuda-path none k.cu --keep-ptx out.txt --output out.txt").code, 2);
  EXPECT_EQ(run("--explain-kernel good.ptx --output good.ptx").code, 2);
  write("db/compile_commands.json", "[]");
  EXPECT_THAT(run("-p db k.cu --keep-ptx db/compile_commands.json").err,
              HasSubstr("would overwrite the compile commands"));
  EXPECT_THAT(run("-p db k.cu --output db/compile_commands.json").err,
              HasSubstr("would overwrite the compile commands"));
  EXPECT_EQ(read("deep/other.ptx"), kernel("64"));
}

// A toolkit whose nvcc only copies: what matters here is what becomes of its output.
TEST_F(Command, SaysWhenPtxCannotBeKept) {
  write("k.cu", "// a source\n");
  write("toolkit/include/cuda_runtime.h", "");
  write("toolkit/bin/nvcc", "#!/bin/sh\nwhile [ $# -gt 1 ]; do [ \"$1\" = -o ] && cp '" + path().string() +
                                "/bad.ptx' \"$2\"; shift; done\n");
  fs::permissions(path() / "toolkit/bin/nvcc", fs::perms::owner_all);
  const std::string command = "--via nvcc --cuda-path toolkit k.cu --keep-ptx ";
  EXPECT_EQ(run(command + "kept.ptx").code, 1);
  EXPECT_EQ(read("kept.ptx"), kernel("96"));
  std::vector<std::string> names{"no/such/folder/kept.ptx", "toolkit"};
  if (fs::exists("/dev/full")) names.emplace_back("/dev/full");
  for (const std::string& name : names) {
    const Ran ran = run(command + name);
    EXPECT_EQ(ran.code, 2) << name;
    EXPECT_THAT(ran.err, HasSubstr(name + ": error: cannot write the PTX here: "));
    EXPECT_THAT(ran.out, HasSubstr("[tmem-alloc-size]")) << "the findings are printed all the same";
  }
}

TEST_F(Command, IsQuietAboutABrokenPipe) {
  const Ran ran = run("--format sarif bad.ptx", "(", "; echo code $? >&2) | true");
  EXPECT_THAT(ran.err, HasSubstr("code 1\n"));
  EXPECT_THAT(ran.err, Not(HasSubstr("cannot write")));
}

TEST_F(Command, SelectsRules) {
  EXPECT_THAT(run("--no-rule tmem-alloc-size bad.ptx").out, Not(HasSubstr("[tmem-alloc-size]")));
  EXPECT_THAT(run("--no-rule 'tmem-alloc-*' bad.ptx").out, Not(HasSubstr("[tmem-alloc-size]")));
  EXPECT_THAT(run("--rule tmem-alloc-size bad.ptx").out, HasSubstr("[tmem-alloc-size]"));
  const Ran none = run("--rule 'tmem-*' --no-rule '*' bad.ptx");
  EXPECT_EQ(none.code, 0) << none.out;
  const Ran unknown = run("--rule tmem-alloc-sise bad.ptx");
  EXPECT_EQ(unknown.code, 2);
  EXPECT_THAT(unknown.err, HasSubstr("no rule 'tmem-alloc-sise'; did you mean tmem-alloc-size"));
}

TEST_F(Command, ListsAndExplainsRules) {
  EXPECT_THAT(run("--list-rules").out, HasSubstr("tmem-alloc-size"));
  const auto listed = nlohmann::json::parse(run("--list-rules --format json").out);
  EXPECT_FALSE(listed["rules"].empty());
  const Ran page = run("--explain tmem-alloc-size");
  EXPECT_EQ(page.code, 0);
  EXPECT_THAT(page.out, HasSubstr("tmem-alloc-size"));
  const Ran unknown = run("--explain alloc-size");
  EXPECT_EQ(unknown.code, 2);
  EXPECT_THAT(unknown.err, HasSubstr("did you mean tmem-alloc-size"));
}

TEST_F(Command, RefusesWrongUsage) {
  for (const char* arguments : {"",
                                "--format xml good.ptx",
                                "--no-such-option good.ptx",
                                "--block 0 good.ptx",
                                "--block 1,2,3,4 good.ptx",
                                "--block 2048 good.ptx",
                                "--block x good.ptx",
                                "--cluster 0 good.ptx",
                                "--cluster -1 good.ptx",
                                "--cluster 17 good.ptx",
                                "--launch good.ptx",
                                "--launch 'k=128' good.ptx",
                                "--launch '=block:128' good.ptx",
                                "--launch 'k=block:0' good.ptx",
                                "--launch 'k=block:64;block:64' good.ptx",
                                "--launch 'k=grid:4' good.ptx",
                                "--launch 'other=block:128' good.ptx",
                                "--color maybe good.ptx",
                                "--list-rules --format sarif",
                                "--block"}) {
    const Ran ran = run(arguments);
    EXPECT_EQ(ran.code, 2) << arguments;
    EXPECT_THAT(ran.err, StartsWith("tmemlint: ")) << arguments;
    EXPECT_THAT(ran.out, IsEmpty()) << arguments;
  }
}

TEST_F(Command, TakesLaunchShapes) {
  EXPECT_EQ(run("--block 128 good.ptx").code, 0);
  EXPECT_EQ(run("--block 32,2,2 --cluster 2 good.ptx").code, 0);
  EXPECT_EQ(run("--launch 'k=block:128' good.ptx").code, 0);
  EXPECT_EQ(run("--launch 'k*=cluster:2,2,1' --launch '*=block:128,1,1' good.ptx").code, 0);
}

TEST_F(Command, RefusesALaunchThatTheKernelContradicts) {
  const std::string stated = ".reqntid 128,1,1";
  std::string text = kernel("64");
  text.replace(text.find(stated), stated.size(), ".maxntid 128");
  write("most.ptx", text);
  EXPECT_EQ(run("--block 128 most.ptx").code, 0);
  const Ran larger = run("--block 256 most.ptx");
  EXPECT_EQ(larger.code, 2);
  EXPECT_THAT(larger.err, HasSubstr("kernel k cannot be launched with a block of 256 threads: it states .maxntid 128"));
  text.replace(text.find(".maxntid"), 8, ".maxclusterrank 2\n    .maxntid");
  write("rank.ptx", text);
  EXPECT_THAT(run("--cluster 4 rank.ptx").err, HasSubstr("a cluster of 4,1,1 CTAs: it states .maxclusterrank 2"));
  // What is said of all kernels is for those that state nothing; what is said of one is wrong there.
  EXPECT_EQ(run("--block 256 good.ptx").code, 0);
  const Ran named = run("--launch 'k=block:256' good.ptx");
  EXPECT_EQ(named.code, 2);
  EXPECT_THAT(named.err, HasSubstr("it states .reqntid 128,1,1"));
  std::string pairs = kernel("64");
  for (size_t at = 0; (at = pairs.find("cta_group::1", at)) != std::string::npos;)
    pairs.replace(at, 12, "cta_group::2");
  write("pairs.ptx", pairs);
  EXPECT_THAT(run("--cluster 3 pairs.ptx").err, HasSubstr("its cta_group::2 instructions need pairs of CTAs"));
}

TEST_F(Command, HelpsAndNamesItsVersion) {
  const Ran help = run("--help");
  EXPECT_EQ(help.code, 0);
  for (const char* option : {"--format", "--output", "--notes", "--rule", "--no-rule", "--list-rules", "--block",
                             "--cluster", "--launch", "--strict", "--color", "--version", "--explain", "Examples:"}) {
    EXPECT_THAT(help.out, HasSubstr(option));
  }
  EXPECT_THAT(run("--version").out, MatchesRegex("tmemlint [0-9.]+\n"));
}

TEST_F(Command, ColoursOnRequest) {
  EXPECT_THAT(run("bad.ptx").out, Not(HasSubstr("\x1b[")));
  EXPECT_THAT(run("--color always bad.ptx").out, HasSubstr("\x1b["));
  EXPECT_THAT(run("--color never bad.ptx").out, Not(HasSubstr("\x1b[")));
}

// Which kernels are incomplete depends on the engine: an address out of nowhere is one that nothing can follow.
// Whatever it is, the exit code must agree with what was reported.
TEST_F(Command, StrictAgreesWithWhatIsReported) {
  write("unknown.ptx", R"(.version 9.0
.target sm_100a
.address_size 64
.visible .entry k(.param .u64 p)
    .reqntid 128,1,1
{
    .reg .b32 %r<8>;
    .reg .b64 %d<4>;
    ld.param.u64 %d1, [p];
    ld.global.u32 %r1, [%d1];
    tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r2}, [%r1];
    tcgen05.wait::ld.sync.aligned;
    ret;
}
)");
  const auto summary = run_json("unknown.ptx")["summary"];
  const bool found = summary["error"] != 0 || summary["warning"] != 0;
  const Ran strict = run("--strict unknown.ptx");
  const Ran lax = run("unknown.ptx");
  EXPECT_EQ(lax.code, found ? 1 : 0);
  EXPECT_EQ(strict.code, found ? 1 : summary["incomplete"] != 0 ? 3 : 0);
  if (summary["incomplete"] != 0) {
    EXPECT_THAT(lax.out, HasSubstr(": incomplete: "));
    EXPECT_THAT(lax.err, HasSubstr("incomplete"));
  }
}

TEST_F(Command, DecodesDescriptors) {
  // M = 192 in bits 24 to 28, N = 128 in bits 17 to 22, bf16 in and f32 out.
  Ran ran = run("--decode-descriptor idesc 0xc200490 --kind f16");
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, StartsWith("instruction descriptor 0x0c200490 of .kind::f16\n"));
  EXPECT_THAT(ran.out, HasSubstr("  bits 24-28  M                  12  192\n"));
  EXPECT_THAT(ran.out, HasSubstr("  bits 17-22  N                  16  128\n"));
  EXPECT_THAT(ran.out, HasSubstr("  bits   7-9  A type              1  bf16\n"));
  EXPECT_THAT(ran.out, HasSubstr("not legal: M = 192"));
  EXPECT_EQ(run("--decode-descriptor idesc 203424912 --kind .kind::f16").out, ran.out);
  EXPECT_THAT(run("--decode-descriptor idesc 203424912").out, HasSubstr("read as .kind::f16 (--kind names another)"));
  ran = run("--decode-descriptor smem 0x4000404000010040");
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("start address                  64  1024\n"));
  EXPECT_THAT(ran.out, HasSubstr("  bits 61-63  swizzle                         2  128 bytes\n"));
  EXPECT_THAT(ran.out, Not(HasSubstr("not legal")));
}

TEST_F(Command, SaysWhatIsWrongWithADescriptorThatCannotBeDecoded) {
  const std::pair<const char*, const char*> wrong[] = {
      {"idesc twelve", "'twelve' is no number"},
      {"idesc 0x", "'0x' is no number"},
      {"idesc -5", "'-5' is no number"},
      {"idesc 0x100000000", "has 32 bits"},
      {"smem 0x10000000000000000", "at most 64 bits"},
      {"desc 5", "'desc' is not idesc"},
      {"idesc 5 --kind f17", "'f17' is no kind of mma; it is one of f16, tf32"},
      {"smem 5 --kind f16", "--kind is for idesc"},
      {"idesc 5 --format json", "prints text only"},
      {"idesc", "2 required"},
  };
  for (const auto& [arguments, message] : wrong) {
    const Ran ran = run(std::string("--decode-descriptor ") + arguments);
    EXPECT_EQ(ran.code, 2) << arguments;
    EXPECT_THAT(ran.err, HasSubstr(message)) << arguments;
    EXPECT_THAT(ran.out, IsEmpty()) << arguments;
  }
  EXPECT_EQ(run("--kind f16 good.ptx").code, 2);
  EXPECT_EQ(run("--decode-descriptor idesc 5 -- good.ptx").code, 2);
}

TEST_F(Command, SaysOnceThatTheVersionLacksTheTarget) {
  std::string text = kernel("64");
  text.replace(text.find("9.0"), 3, "8.5");
  text += text.substr(text.find(".visible"));
  text.replace(text.rfind("k()"), 3, "second()");
  write("old.ptx", text);
  const nlohmann::json findings = run_json("--rule tmem-target old.ptx")["findings"];
  size_t of_module = 0, of_instructions = 0;
  for (const nlohmann::json& finding : findings) {
    const bool at_target = finding["line"] == 2;
    (at_target ? of_module : of_instructions) += 1;
    EXPECT_EQ(finding["kernel"] == "", at_target);
  }
  EXPECT_EQ(of_module, 1u);
  EXPECT_EQ(of_instructions, 6u);  // three in each kernel
}

}  // namespace
}  // namespace tmemlint
