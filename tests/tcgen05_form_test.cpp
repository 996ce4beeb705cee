// The instruction table: spellings decoded by hand, messages and their places.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyzer/ptx/tcgen05_table.h"
#include "tests/ptxas_oracle.h"
#include "tests/tcgen05_spellings.h"

namespace tmemlint::test {
namespace {

using namespace tmemlint::ptx;
using testing::HasSubstr;

std::vector<FormProblem> problems(const std::string& line, const std::string& target = "sm_100a",
                                  const std::string& version = "9.0") {
  Judged judged = judge(kernel({line}, target, version));
  std::vector<FormProblem> out = judged.form[kFirstLine];
  for (auto& [at, list] : judged.target) out.insert(out.end(), list.begin(), list.end());
  EXPECT_TRUE(judged.parse.empty()) << judged.about(kFirstLine);
  return out;
}

Form decoded(const std::string& text) {
  std::vector<std::string> storage;
  return decode(opcode_of(text, storage));
}

// ---- decode and roles

TEST(Tcgen05Decode, Load) {
  const Form form = decoded("tcgen05.ld.sync.aligned.16x128b.x4.pack::16b.b32");
  EXPECT_EQ(form.op, Tcgen05::kLd);
  EXPECT_EQ(form.issue, Issue::kWarp);
  EXPECT_EQ(form.completion, Completion::kWaitLd);
  EXPECT_EQ(form.cta_group, 0);
  EXPECT_EQ(form.shape, LdStShape::k16x128b);
  EXPECT_EQ(form.num, 4);
  EXPECT_TRUE(form.pack);
  EXPECT_EQ(form.registers, 8);
  EXPECT_EQ(form.lanes, 16);
  EXPECT_EQ(form.columns, 32);  // 4 for each .num, twice as many packed
}

TEST(Tcgen05Decode, RegistersAndColumns) {
  const auto check = [](const std::string& spelling, unsigned registers, unsigned columns, unsigned lanes) {
    const Form form = decoded("tcgen05.ld.sync.aligned." + spelling + ".b32");
    EXPECT_EQ(form.registers, registers) << spelling;
    EXPECT_EQ(form.columns, columns) << spelling;
    EXPECT_EQ(form.lanes, lanes) << spelling;
  };
  check("32x32b.x1", 1, 1, 32);
  check("32x32b.x128", 128, 128, 32);
  check("16x64b.x1", 1, 2, 16);
  check("16x64b.x128", 128, 256, 16);
  check("16x128b.x64", 128, 256, 16);
  check("16x256b.x1", 4, 8, 16);
  check("16x256b.x32", 128, 256, 16);
  check("16x32bx2.x8", 8, 8, 16);
  check("16x256b.x64", 0, 0, 16);  // would be 256 registers
  check("16x128b.x128", 0, 0, 16);
}

TEST(Tcgen05Decode, OrderAndErrorsAreTolerated) {
  EXPECT_EQ(decoded("tcgen05.alloc.sync.aligned.cta_group::2.shared::cta.b32").cta_group, 2);
  EXPECT_EQ(decoded("tcgen05.mma.ws.sp.cta_group::1.kind::tf32").op, Tcgen05::kMmaWs);
  EXPECT_TRUE(decoded("tcgen05.mma.ws.sp.cta_group::1.kind::tf32").sparse);
  EXPECT_EQ(decoded("tcgen05.ld.red.sync.aligned.32x32b.x2.max.f32").op, Tcgen05::kLdRed);
  EXPECT_EQ(decoded("tcgen05.wait::st.sync.aligned").op, Tcgen05::kWaitSt);
  EXPECT_EQ(decoded("tcgen05.fence::after_thread_sync").op, Tcgen05::kFenceAfter);
  EXPECT_EQ(decoded("tcgen05.frobnicate").op, Tcgen05::kUnknown);
  EXPECT_EQ(decoded("ld.shared.b32").op, Tcgen05::kNone);
  EXPECT_EQ(decoded("tcgen05.ld.sync.aligned.32x32b.x3.b32").num, 0);
  EXPECT_EQ(decoded("tcgen05.mma.cta_group::1.kind::mxf4nvf4.block_scale.block16").scale_factors, 4);
}

OperandRoles roles_of(const std::string& line) {
  const Module module = parse(std::make_shared<const SourceText>("t.ptx", kernel({line}, "sm_100a", "9.0")));
  const Instruction& instruction = module.instructions.front();
  return roles(module, instruction, decode(module.opcode(instruction)));
}

TEST(Tcgen05Roles, Mma) {
  OperandRoles r =
      roles_of("tcgen05.mma.sp.cta_group::1.kind::f16 [%r1], [%r2], %rd2, [%r3], %r4, {%r5,%r6,%r7,%r8}, %p1, 3;");
  EXPECT_EQ(r.address, 0u);
  EXPECT_EQ(r.a, 1u);
  EXPECT_EQ(r.b, 2u);
  EXPECT_EQ(r.metadata, 3u);
  EXPECT_EQ(r.idesc, 4u);
  EXPECT_EQ(r.disable_lanes, 5u);
  EXPECT_EQ(r.enable_input_d, 6u);
  EXPECT_EQ(r.scale_d, 7u);
  r = roles_of("tcgen05.mma.cta_group::1.kind::mxf4.block_scale [%r1], %rd1, %rd2, %r4, [%r5], [%r6], %p1;");
  EXPECT_EQ(r.idesc, 3u);
  EXPECT_EQ(r.scale_a, 4u);
  EXPECT_EQ(r.scale_b, 5u);
  EXPECT_EQ(r.enable_input_d, 6u);
  EXPECT_EQ(r.disable_lanes, kNone);
  r = roles_of("tcgen05.mma.ws.cta_group::1.kind::i8 [%r1], %rd1, %rd2, %r4, %p1, %rd3;");
  EXPECT_EQ(r.zero_column_mask, 5u);
}

TEST(Tcgen05Roles, Others) {
  OperandRoles r = roles_of("tcgen05.st.sync.aligned.16x32bx2.x1.b32 [%r1], 2, {%r2};");
  EXPECT_EQ(r.address, 0u);
  EXPECT_EQ(r.half_offset, 1u);
  EXPECT_EQ(r.vector, 2u);
  r = roles_of("tcgen05.ld.red.sync.aligned.32x32b.x2.max.f32 {%f1,%f2}, %f3, [%r1];");
  EXPECT_EQ(r.vector, 0u);
  EXPECT_EQ(r.reduction, 1u);
  EXPECT_EQ(r.address, 2u);
  r = roles_of("tcgen05.commit.cta_group::2.mbarrier::arrive::one.multicast::cluster.b64 [%rd1], %h1;");
  EXPECT_EQ(r.address, 0u);
  EXPECT_EQ(r.mask, 1u);
}

TEST(Tcgen05Columns, Legal) {
  for (int64_t n : {32, 64, 128, 256, 512}) EXPECT_TRUE(legal_columns("sm_100a", false, n)) << n;
  for (int64_t n : {-32, 0, 1, 16, 33, 96, 384, 576, 1024}) EXPECT_FALSE(legal_columns("sm_100a", false, n)) << n;
  EXPECT_TRUE(legal_columns("sm_100a", true, 96));
  EXPECT_FALSE(legal_columns("sm_100a", true, 576));
  EXPECT_TRUE(legal_columns("sm_107a", true, 576));
  EXPECT_FALSE(legal_columns("sm_107a", false, 576));
  EXPECT_EQ(column_capacity("sm_107f", true), 576u);
  EXPECT_EQ(column_capacity("sm_107f", false), 512u);
}

// ---- messages, places, fixes

struct Expected {
  const char* line;
  const char* place;    // what the span covers
  const char* message;  // part of it
  const char* fix;
};

TEST(Tcgen05Form, SaysWhatIsLegal) {
  const Expected table[] = {
      {"tcgen05.ld.sync.aligned.32x32b.x3.b32 {%r1,%r2,%r3}, [%r9];", ".x3", "legal as .num are `.x1`, `.x2`", ""},
      {"tcgen05.ld.sync.aligned.32x32b.x2.b32 {%r1,%r2,%r3,%r4}, [%r9];", "{%r1,%r2,%r3,%r4}", "4 registers here",
       "tcgen05.ld.sync.aligned.32x32b.x4.b32"},
      {"tcgen05.ld.sync.aligned.cta_group::1.32x32b.x1.b32 {%r1}, [%r9];", ".cta_group::1", "takes no `.cta_group::1`",
       "tcgen05.ld.sync.aligned.32x32b.x1.b32"},
      {"tcgen05.ld.sync.32x32b.x1.b32 {%r1}, [%r9];", "tcgen05.ld.sync.32x32b.x1.b32", "needs `.aligned`",
       "tcgen05.ld.sync.aligned.32x32b.x1.b32"},
      {"tcgen05.ld.sync.aligned.32x32b.x1.b32 %r1, [%r9];", "%r1", "in braces", "{%r1}"},
      {"tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r1}, %r9;", "%r9", "in brackets", "[%r9]"},
      {"tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r1}, [slot];", "[slot]", "load that into a 32-bit register", ""},
      {"tcgen05.ld.sync.aligned.16x256b.x64.b32 {%r1}, [%r9];", ".x64", "with `.16x256b`", ""},
      {"tcgen05.ld.sync.aligned.16x32bx2.x1.b32 {%r1}, [%r9];", nullptr, "needs the operand `immHalfSplitoff`", ""},
      {"tcgen05.dealloc.cta_group::1.sync.aligned.b32 [%r1], 32;", "[%r1]", "without brackets", "%r1"},
      {"tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 33;", "33", "32, 64, 128, 256 and 512", ""},
      {"tcgen05.alloc.cta_group::1.sync.aligned.shared.b32 [slot], 32;", ".shared", "`.shared::cta`",
       "tcgen05.alloc.cta_group::1.sync.aligned.b32"},
      {"tcgen05.wait.sync.aligned;", ".wait", "`.wait::ld` or `.wait::st`", ""},
      {"tcgen05.aloc.cta_group::1.sync.aligned.b32 [slot], 32;", ".aloc", "is `tcgen05.alloc` meant?",
       "tcgen05.alloc.cta_group::1.sync.aligned.b32"},
      {"tcgen05.cp.cta_group::1.64x128b.warpx4 [%r1], %rd1;", ".warpx4", "`.warpx2::02_13`", ""},
      {"tcgen05.cp.cta_group::1.32x128b [%r1], %rd1;", nullptr, "needs `.warpx4`",
       "tcgen05.cp.cta_group::1.32x128b.warpx4"},
      {"tcgen05.mma.cta_group::1.kind::mxf4nvf4.block_scale [%r1], %rd1, %rd2, %r2, [%r3], [%r4], %p1;", nullptr,
       "needs a scale vector size", ""},
      {"tcgen05.mma.cta_group::1.kind::f16.block_scale [%r1], %rd1, %rd2, %r2, %p1;", ".block_scale",
       "with `.kind::f16` takes no `.block_scale`", "tcgen05.mma.cta_group::1.kind::f16"},
      {"tcgen05.mma.cta_group::1.kind::f16.ashift [%r1], %rd1, %rd2, %r2, %p1;", "%rd1", "A is `[taddr]`", ""},
      {"tcgen05.mma.cta_group::1.kind::f8f6f4 [%r1], %rd1, %rd2, %r2, %p1, 1;", "1", "only with `.kind::f16` or", ""},
      {"tcgen05.mma.cta_group::2.kind::f16 [%r1], %rd1, %rd2, %r2, {%r1,%r2,%r3,%r4}, %p1;", "{%r1,%r2,%r3,%r4}",
       "has 8", ""},
      {"tcgen05.mma.cta_group::1.kind::f16 [%r1], %rd1, %rd2, [%r3], %r2, %p1;", "[%r3]", "only with `.sp`", ""},
      {"tcgen05.commit.cta_group::1.mbarrier::arrive::one.multicast::cluster.b64 [mbar], %r1;", "%r1",
       "a 16-bit register", ""},
      {"mbarrier.arrive.relaxed.shared::cta.b64 %rd1, [%r1];", nullptr, "scope", ""},
      {"elect.sync %r1, 0xffffffff;", "%r1", "predicate", ""},
  };
  for (const Expected& expected : table) {
    const std::string text = kernel({expected.line}, "sm_100a", "9.0");
    const auto found = problems(expected.line);
    ASSERT_FALSE(found.empty()) << expected.line;
    const FormProblem& problem = found.front();
    EXPECT_THAT(problem.message, HasSubstr(expected.message)) << expected.line;
    EXPECT_EQ(problem.fix, expected.fix) << expected.line;
    if (expected.place) {
      EXPECT_EQ(text.substr(problem.span.begin, problem.span.end - problem.span.begin), expected.place);
    }
  }
}

TEST(Tcgen05Form, ColumnCountsAreMarked) {
  const auto found = problems("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r1, 96;");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_TRUE(found[0].is_column_count);
}

TEST(Tcgen05Target, SaysFromWhichOn) {
  // What is said about the instruction itself, or about the module's target and version.
  const auto said = [](bool about_module, const std::string& line, const std::string& target,
                       const std::string& version) {
    auto found = problems(line, target, version);
    std::erase_if(found, [&](const FormProblem& problem) { return problem.is_about_module != about_module; });
    return found.size() == 1 ? found[0].message : std::to_string(found.size()) + " problems";
  };
  const auto one = [&](const std::string& line, const std::string& target, const std::string& version) {
    return said(false, line, target, version);
  };
  const std::string ld = "tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r1}, [%r9];";
  const std::string red = "tcgen05.ld.red.sync.aligned.32x32b.x2.max.f32 {%r1,%r2}, %r3, [%r9];";
  const std::string shift = "tcgen05.shift.cta_group::1.down [%r1];";
  EXPECT_THAT(one(ld, "sm_90a", "9.0"), HasSubstr("does not exist on `sm_90a`"));
  EXPECT_THAT(one(ld, "sm_100", "9.0"), HasSubstr("it exists on `sm_100a` and `sm_100f`"));
  EXPECT_THAT(one(ld, "sm_120a", "9.0"), HasSubstr("does not exist on `sm_120a`"));
  EXPECT_THAT(one(ld, "sm_100a", "8.5"), HasSubstr("exists from PTX ISA 8.6 on"));
  EXPECT_THAT(said(true, ld, "sm_100a", "8.5"), HasSubstr("`sm_100a` exists from PTX ISA 8.6 on"));
  EXPECT_THAT(said(true, ld, "sm_103a", "8.7"), HasSubstr("`sm_103a` exists from PTX ISA 8.8 on"));
  EXPECT_EQ(one(ld, "sm_103a", "8.7"), "0 problems");  // the instruction is in 8.6
  EXPECT_THAT(one(red, "sm_100a", "9.0"), HasSubstr("it exists on `sm_103a`, `sm_103f`"));
  EXPECT_THAT(one(shift, "sm_110f", "9.0"), HasSubstr("`sm_110a`"));
  EXPECT_EQ(problems(ld, "sm_101a", "8.6").size(), 0u);
  EXPECT_EQ(problems(ld, "sm_150a", "12.0").size(), 0u);  // not known here
  const std::string exclusive = "tcgen05.alloc.exclusive.cta_group::1.sync.aligned.b32 [slot], 576;";
  EXPECT_EQ(problems(exclusive, "sm_107a", "9.4").size(), 0u);
  EXPECT_THAT(one("tcgen05.alloc.exclusive.cta_group::1.sync.aligned.b32 [slot], 96;", "sm_100a", "9.0"),
              HasSubstr("`.exclusive` exists from PTX ISA 9.4 on"));
}

TEST(Tcgen05Target, Additions94) {
  const std::string lines[] = {
      "tcgen05.ld.spcompress.sync.aligned.32x32b.x4.max.sp::2:4.abs.f32.b2 {%r1}, {%f1,%f2}, [%r9];",
      "tcgen05.ld.spcompress.sync.aligned.32x32b.x64.min.sp::2:4.NaN.f32.b2 {%r1,%r2}, "
      "{%r3,%r4,%r5,%r6,%r7,%r8,%r9,%r10,"
      "%r11,%r12,%r13,%r14,%r15,%r16,%r17,%r18,%r19,%r20,%r21,%r22,%r23,%r24,%r25,%r26,%r27,%r28,%r29,%r30,%r31,%r32,"
      "%r33,%r34}, [%r99];",
      "tcgen05.ld.red.spcompress.sync.aligned.32x32b.x4.max.sp::2:4.abs.NaN.f32.b2 {%r1}, {%f1,%f2}, %f3, [%r9];",
      "tcgen05.mma.cta_group::1.kind::ti16 [%r1], %rd1, %rd2, %r2, %p1;",
      "tcgen05.mma.cta_group::1.kind::f8f6f4.decompress::lut::b [%r1], %rd1, %rd2, [%r3], %r2, %p1;",
      "tcgen05.mma.cta_group::1.kind::tf32.collector::a::use.collector::b::fill [%r1], %rd1, %rd2, %r2, %p1;",
      "tcgen05.commit.cta_group::1.mbarrier::arrive::one.sync_restrict::shared::read::mma::a.shared::cluster"
      ".multicast::cluster::32b.b64 [%r1], %r2;",
      "tcgen05.dealloc.exclusive.cta_group::1.sync.aligned.b32 %r1, 544;",
  };
  for (const std::string& line : lines) {
    const auto found = problems(line, "sm_107a", "9.4");
    EXPECT_TRUE(found.empty()) << line << "\n" << (found.empty() ? "" : found[0].message);
    EXPECT_FALSE(problems(line, "sm_107a", "9.3").empty()) << line;
  }
}

// A spelling that has been found legal is not judged again; its operands are, and a wrong one is said each time.
TEST(Tcgen05Form, TheSameSpellingAgain) {
  const std::string ld = "tcgen05.ld.sync.aligned.32x32b.x2.b32 ";
  const std::string wrong = "tcgen05.ld.sync.aligned.32x32b.x3.b32 ";
  const Judged judged = judge(kernel({ld + "{%r1,%r2}, [%r9];", ld + "{%r1}, [%r9];", ld + "{%r1,%r2}, [%r9];",
                                      wrong + "{%r1,%r2}, [%r9];", wrong + "{%r1,%r2}, [%r9];"},
                                     "sm_100a", "9.0"));
  EXPECT_EQ(judged.lines(), (std::set<unsigned>{kFirstLine + 1, kFirstLine + 3, kFirstLine + 4}));
}

TEST(Tcgen05Target, TheSameSpellingAgain) {
  // scale-input-d is an operand that sm_110f has not; the spelling is the same with it and without.
  const std::string mma = "tcgen05.mma.cta_group::1.kind::f16 [%r1], %rd1, %rd2, %r2, %p1";
  const std::string shift = "tcgen05.shift.cta_group::1.down [%r1];";
  const Judged judged =
      judge(kernel({mma + ";", mma + ", 3;", mma + ";", mma + ", 3;", shift, shift}, "sm_110f", "9.0"));
  EXPECT_EQ(judged.lines(), (std::set<unsigned>{kFirstLine + 1, kFirstLine + 3, kFirstLine + 4, kFirstLine + 5}));
}

}  // namespace
}  // namespace tmemlint::test
