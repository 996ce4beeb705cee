// The instruction table: spellings decoded by hand, messages and their places, and every spelling that the table can
// produce, with every single change of it, against ptxas where that is installed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "analyzer/ptx/tcgen05_table.h"
#include "tests/ptxas_oracle.h"

namespace tmemlint::test {
namespace {

using namespace tmemlint::ptx;
using testing::HasSubstr;
using sv = std::string_view;

std::vector<FormProblem> problems(const std::string& line, const std::string& target = "sm_100a",
                                  const std::string& version = "9.0") {
  Judged judged = judge(kernel({line}, target, version));
  std::vector<FormProblem> out = judged.form[kFirstLine];
  for (auto& [at, list] : judged.target) out.insert(out.end(), list.begin(), list.end());
  EXPECT_TRUE(judged.parse.empty()) << judged.about(kFirstLine);
  return out;
}

Opcode opcode_of(const std::string& text, std::vector<std::string>& storage) {
  storage.clear();
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, '.');) storage.push_back(part);
  Opcode opcode;
  opcode.text = text;
  opcode.root = storage.front();
  for (size_t i = 1; i < storage.size(); ++i) opcode.modifiers.push_back(storage[i]);
  return opcode;
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

// ---- every spelling of the table

struct Spelling {
  const InstructionForm* form;
  std::vector<sv> modifiers;  // after the name
  std::string opcode() const {
    std::string out(form->name);
    for (sv modifier : modifiers) out += "." + std::string(modifier);
    return out;
  }
};

bool legal(const Spelling& spelling) {
  std::vector<std::string> storage;
  const std::string text = spelling.opcode();
  const Opcode opcode = opcode_of(text, storage);
  for (const Combination& rule : spelling.form->combinations) {
    if (!holds(rule.when, opcode)) continue;
    sv there;
    for (sv modifier : spelling.modifiers) {
      if (find_word(modifier)->cls == rule.cls) there = modifier;
    }
    switch (rule.need) {
      case Combination::Need::kRequired:
        if (there.empty()) return false;
        break;
      case Combination::Need::kForbidden:
        if (!there.empty()) return false;
        break;
      case Combination::Need::kOneOf:
        if (!there.empty() && std::ranges::find(rule.words, there) == rule.words.end()) return false;
        break;
      case Combination::Need::kBefore:
        break;  // the ISA's order is the table's
    }
  }
  return true;
}

const std::vector<Spelling>& spellings(const InstructionForm& form) {
  static std::map<const InstructionForm*, std::vector<Spelling>> all;
  std::vector<Spelling>& out = all[&form];
  if (!out.empty()) return out;
  Spelling now{&form, {}};
  const std::function<void(size_t)> extend = [&](size_t use) {
    if (use == form.uses.size()) {
      if (legal(now)) out.push_back(now);
      return;
    }
    if (!form.uses[use].required) extend(use + 1);
    for (sv word : form.uses[use].words) {
      now.modifiers.push_back(word);
      extend(use + 1);
      now.modifiers.pop_back();
    }
  };
  extend(0);
  return out;
}

std::string register_list(unsigned count) {
  std::string out = "{";
  for (unsigned i = 0; i < count; ++i) out += (i ? ",%r" : "%r") + std::to_string(i);
  return out + "}";
}

bool has_wide_mask(const Spelling& spelling) {
  return std::ranges::find(spelling.modifiers, "multicast::cluster::32b") != spelling.modifiers.end();
}

// What may stand in a slot; the first is the plain one.
std::vector<std::string> legal_operands(const Slot& slot, const Form& form, bool wide) {
  switch (slot.kind) {
    case OperandKind::kTmemAddress:
      return {"[%r150]", "[%r150+4]", "[%r150+-4]"};
    case OperandKind::kMatrixA:
      if (form.ashift) return {"[%r151]"};
      return {"%rd1", "[%r151]", "[%r151+8]", "0x40"};
    case OperandKind::kTmemBase:
      return {"%r152", "0"};
    case OperandKind::kSharedAddress:
      return {"[%r153]", "[%rd3]", "[%r153+8]", form.op == Tcgen05::kCommit ? "[mbar]" : "[slot]"};
    case OperandKind::kColumns:
      return {"64", "%r152", "512"};
    case OperandKind::kData:
      return {register_list(form.registers)};
    case OperandKind::kSparseMetadata:
      return {register_list((form.num + 31u) / 32u)};
    case OperandKind::kRegister32:
      return {"%r154", "%f1"};
    case OperandKind::kImmediate:
      return {"1", "0", "-1"};
    case OperandKind::kDescriptor:
      return {"%rd2", "0x4000"};
    case OperandKind::kIdesc:
      return {"%r155", "0x8200010"};
    case OperandKind::kPredicate:
      return {"%p1", "!%p1", "0", "1"};
    case OperandKind::kLaneMask:
      return {register_list(4u * form.cta_group)};
    case OperandKind::kScaleInput:
      return {"1", "0", "15"};
    case OperandKind::kCtaMask:
      return {wide ? "%r156" : "%h1"};
  }
  return {};
}

struct Operands {
  std::vector<const Slot*> slots;
  std::vector<std::string> texts;
  std::string text() const {
    std::string out;
    for (const std::string& text : texts) out += (out.empty() ? " " : ", ") + text;
    return out + ";";
  }
};

// Legal ones for a spelling, without the optional ones unless asked for.
Operands operands_of(const Spelling& spelling, bool optional = false) {
  std::vector<std::string> storage;
  const std::string text = spelling.opcode();
  const Opcode opcode = opcode_of(text, storage);
  Operands out;
  for (const Slot& slot : spelling.form->operands) {
    if ((slot.optional && !optional) || !holds(slot.when, opcode)) continue;
    out.slots.push_back(&slot);
    out.texts.push_back(legal_operands(slot, decode(opcode), has_wide_mask(spelling)).front());
  }
  return out;
}

// The opcode with operands that are legal for `as`.
std::string with_operands(const std::string& opcode, const Spelling& as) {
  return opcode + operands_of(as).text();
}

// Every way to fill the operands that changes one of them, and with the optional ones one by one and all together.
std::vector<std::string> legal_lines(const Spelling& spelling) {
  std::vector<std::string> storage;
  const std::string text = spelling.opcode();
  const Form form = decode(opcode_of(text, storage));
  const Operands all = operands_of(spelling, true);
  std::vector<std::string> out = {text + operands_of(spelling).text(), text + all.text()};
  for (size_t i = 0; i < all.slots.size(); ++i) {
    Operands changed = all;
    for (const std::string& operand : legal_operands(*all.slots[i], form, has_wide_mask(spelling))) {
      changed.texts[i] = operand;
      out.push_back(text + changed.text());
    }
    if (!all.slots[i]->optional) continue;
    changed.texts.erase(changed.texts.begin() + static_cast<ptrdiff_t>(i));
    out.push_back(text + changed.text());
  }
  return out;
}

// Of all spellings as many as show every two words together that stand together in some, words that are left out
// counted as words.
std::vector<Spelling> covering_pairs(const InstructionForm& form) {
  std::vector<Spelling> out;
  std::set<std::pair<sv, sv>> seen;
  for (const Spelling& spelling : spellings(form)) {
    std::vector<sv> here;
    for (const Use& use : form.uses) {
      sv word = class_name(use.cls);
      for (sv modifier : spelling.modifiers) {
        if (find_word(modifier)->cls == use.cls) word = modifier;
      }
      here.push_back(word);
    }
    bool is_new = here.empty();
    for (size_t i = 0; i < here.size(); ++i) {
      for (size_t j = 0; j <= i; ++j) is_new = seen.insert({here[j], here[i]}).second || is_new;
    }
    if (is_new) out.push_back(spelling);
  }
  return out;
}

TEST(Tcgen05Table, EverySpellingIsLegalSomewhere) {
  size_t count = 0;
  for (const InstructionForm& form : instruction_forms()) {
    const auto& all = spellings(form);
    EXPECT_FALSE(all.empty()) << form.name;
    EXPECT_LE(form.operands.size(), size_t{SlotMatch::kMaxSlots});
    std::vector<std::string> lines;
    for (const Spelling& spelling : all) lines.push_back(with_operands(spelling.opcode(), spelling));
    for (const Spelling& spelling : covering_pairs(form)) {
      for (std::string& line : legal_lines(spelling)) lines.push_back(std::move(line));
    }
    count += lines.size();
    const Judged blackwell = judge(kernel(lines, "sm_100a", "9.4"));
    const Judged rubin = judge(kernel(lines, "sm_107a", "9.4"));
    EXPECT_TRUE(rubin.parse.empty()) << rubin.parse.begin()->second;
    for (const auto& [line, problems] : rubin.form) {
      ADD_FAILURE() << lines.at(line - kFirstLine) << "\n" << problems.front().message;
    }
    for (const auto& [line, problems] : rubin.target) {
      if (blackwell.target.contains(line)) {
        ADD_FAILURE() << lines.at(line - kFirstLine) << "\n" << problems.front().message;
      }
    }
  }
  RecordProperty("spellings", static_cast<int>(count));
}

// ---- against ptxas

bool in_ptx_90(const Spelling& spelling) {
  for (const Feature& feature : features()) {
    if (feature.version <= 900) continue;
    for (sv modifier : spelling.modifiers) {
      if (std::ranges::find(feature.words, modifier) != feature.words.end()) return false;
    }
  }
  return true;
}

TEST(Tcgen05Table, LegalSpellingsAgreeWithPtxas) {
  if (const std::string why = no_ptxas(); !why.empty()) GTEST_SKIP() << why;
  Differences differences("spelling");
  std::vector<Change> all, operands, pairs;
  for (const InstructionForm& form : instruction_forms()) {
    size_t ratios = 0;
    for (const Spelling& spelling : spellings(form)) {
      // A syntax error for ptxas 13.0, after which it must be called again: once is enough.
      const bool ratio = std::ranges::find(spelling.modifiers, "sp::2:4") != spelling.modifiers.end();
      if (ratio && ++ratios > 1) continue;
      all.push_back({with_operands(spelling.opcode(), spelling), "as it is", std::string(form.name)});
    }
    for (const Spelling& spelling : covering_pairs(form)) {
      if (!in_ptx_90(spelling)) continue;
      for (std::string& line : legal_lines(spelling)) {
        operands.push_back({std::move(line), "as it is", std::string(form.name)});
      }
      for (bool optional : {false, true}) {
        pairs.push_back(
            {spelling.opcode() + operands_of(spelling, optional).text(), "as it is", std::string(form.name)});
      }
    }
  }
  compare(all, "sm_100a", differences);
  compare(operands, "sm_100a", differences);
  // Which target has a feature depends on one word, or on two together.
  for (const char* target : {"sm_100f", "sm_103a", "sm_103f", "sm_110a", "sm_110f"}) {
    compare(pairs, target, differences);
  }
  RecordProperty("spellings", static_cast<int>(all.size()));
  RecordProperty("lines", static_cast<int>(all.size() + operands.size() + 5 * pairs.size()));
}

// Each operand replaced by everything that some operand may be, left out, written twice.
TEST(Tcgen05Table, ChangedOperandsAgreeWithPtxas) {
  if (const std::string why = no_ptxas(); !why.empty()) GTEST_SKIP() << why;
  Differences differences("operand");
  std::map<std::string, std::vector<Change>> by_target;
  for (const InstructionForm& form : instruction_forms()) {
    std::vector<Change>& changes = by_target[form.op == Tcgen05::kLdRed ? "sm_103a" : "sm_100a"];
    const std::string name(form.name);
    std::set<sv> words_seen;
    for (const Spelling& spelling : covering_pairs(form)) {
      if (!in_ptx_90(spelling)) continue;
      // Once with each word is enough here.
      bool is_new = form.uses.empty();
      for (sv word : spelling.modifiers) is_new = words_seen.insert(word).second || is_new;
      if (!is_new) continue;
      const Operands legal = operands_of(spelling, true);
      const auto add = [&](const Operands& operands, const std::string& what) {
        changes.push_back({spelling.opcode() + operands.text(), what, name});
      };
      for (size_t i = 0; i < legal.slots.size(); ++i) {
        const std::string slot(legal.slots[i]->name);
        Operands changed = legal;
        for (const char* other : {"%r1",
                                  "%rd1",
                                  "%f1",
                                  "%h1",
                                  "%p1",
                                  "!%p1",
                                  "[%r1]",
                                  "[%rd1]",
                                  "[%f1]",
                                  "[%r1+4]",
                                  "[mbar]",
                                  "[mbar+4]",
                                  "0",
                                  "2",
                                  "33",
                                  "-1",
                                  "0x123456789",
                                  "0x7fffffff",
                                  "1.5",
                                  "{%r1}",
                                  "{%r1,%r2,%r3}",
                                  "{%r1,%r2,%r3,%r4}",
                                  "{%h1,%h2,%h3,%h4}",
                                  "{1,2,3,4}",
                                  "mbar",
                                  "WARP_SZ",
                                  "%tid.x"}) {
          changed.texts[i] = other;
          add(changed, slot + " " + other);
        }
        changed.texts[i] = legal.texts[i] + ", " + legal.texts[i];
        add(changed, slot + " twice");
        changed = legal;
        changed.texts.erase(changed.texts.begin() + static_cast<ptrdiff_t>(i));
        changed.slots.erase(changed.slots.begin() + static_cast<ptrdiff_t>(i));
        add(changed, slot + " missing");
      }
      Operands more = legal;
      more.texts.push_back("%r1");
      add(more, "one more");
    }
  }
  size_t count = 0;
  for (const auto& [target, changes] : by_target) {
    count += changes.size();
    compare(changes, target, differences);
  }
  EXPECT_EQ(differences.unused(), "");
  RecordProperty("changes", static_cast<int>(count));
}

TEST(Tcgen05Table, ChangedSpellingsAgreeWithPtxas) {
  if (const std::string why = no_ptxas(); !why.empty()) GTEST_SKIP() << why;
  Differences differences("spelling");
  std::map<std::string, std::vector<Change>> by_target;
  for (const InstructionForm& form : instruction_forms()) {
    std::set<std::string> misspelt;
    std::vector<Change>& changes = by_target[form.op == Tcgen05::kLdRed ? "sm_103a" : "sm_100a"];
    std::set<sv> words_seen;
    for (const Spelling& spelling : spellings(form)) {
      if (!in_ptx_90(spelling)) continue;
      const auto add = [&](const std::vector<sv>& modifiers, const std::string& what) {
        const Spelling changed{&form, modifiers};
        changes.push_back({with_operands(changed.opcode(), spelling), what, std::string(form.name)});
      };
      // What no spelling has: each word of the table added, neighbours the other way round. Once with each word.
      bool is_new = form.uses.empty();
      for (sv word : spelling.modifiers) is_new = words_seen.insert(word).second || is_new;
      for (const Word& word : words()) {
        if (!is_new || word.text.find("2:4") != sv::npos) continue;  // a syntax error
        std::vector<sv> modifiers = spelling.modifiers;
        modifiers.push_back(word.text);
        add(modifiers, "add ." + std::string(word.text));
      }
      for (size_t i = 1; is_new && i < spelling.modifiers.size(); ++i) {
        std::vector<sv> modifiers = spelling.modifiers;
        std::swap(modifiers[i - 1], modifiers[i]);
        add(modifiers, "swap ." + std::string(modifiers[i]) + " with ." + std::string(modifiers[i - 1]));
      }
      for (size_t i = 0; i < spelling.modifiers.size(); ++i) {
        const sv word = spelling.modifiers[i];
        const std::string name = " ." + std::string(word);
        std::vector<sv> modifiers = spelling.modifiers;
        modifiers.erase(modifiers.begin() + static_cast<ptrdiff_t>(i));
        add(modifiers, "drop" + name);
        modifiers = spelling.modifiers;
        modifiers.insert(modifiers.begin() + static_cast<ptrdiff_t>(i), word);
        add(modifiers, "duplicate" + name);
        for (const Word& other : words()) {
          if (other.cls != find_word(word)->cls || other.text == word) continue;
          modifiers = spelling.modifiers;
          modifiers[i] = other.text;
          add(modifiers, "replace" + name);
        }
        // One of each is enough, and a misspelt number is a syntax error, after which ptxas must be called again.
        if (!misspelt.insert(std::string(word)).second) continue;
        const std::string wrong = std::string(word) + "z";
        modifiers = spelling.modifiers;
        modifiers[i] = wrong;
        add(modifiers, "misspell" + name);
      }
    }
  }
  size_t count = 0;
  for (const auto& [target, changes] : by_target) {
    count += changes.size();
    compare(changes, target, differences);
  }
  EXPECT_EQ(differences.unused(), "");
  RecordProperty("changes", static_cast<int>(count));
}

}  // namespace
}  // namespace tmemlint::test
