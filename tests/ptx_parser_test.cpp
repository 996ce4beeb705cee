#include <gtest/gtest.h>

#include <bit>
#include <string>

#include "analyzer/ptx/module.h"

namespace tmemlint::ptx {
namespace {

using Kind = Operand::Kind;

constexpr const char* kHeader = ".version 8.7\n.target sm_100a\n.address_size 64\n";

Module parse_text(std::string text) {
  return parse(std::make_shared<SourceText>("test.ptx", std::move(text)));
}

// The statements in a kernel with some registers.
Module parse_body(const std::string& statements, const std::string& before = "") {
  return parse_text(kHeader + before + ".visible .entry k(.param .u64 out)\n{\n" +
                    ".reg .pred %p<4>;\n.reg .b32 %r<100>;\n.reg .b64 %rd<10>;\n.reg .f32 %f<4>;\n" + statements +
                    "\n}\n");
}

std::string errors_of(const Module& module) {
  std::string all;
  for (const Problem& problem : module.errors) all += problem.message + "\n";
  return all;
}

std::string source_of(const Module& module, Span span) {
  return std::string(module.source->text().substr(span.begin, span.end - span.begin));
}

const Function& function_of(const Module& module, std::string_view name) {
  for (const Function& function : module.functions) {
    if (function.name == name) return function;
  }
  ADD_FAILURE() << "no function " << name;
  static const Function none;
  return none;
}

const Variable* variable_of(const Module& module, std::string_view name) {
  for (const Variable& variable : module.variables) {
    if (variable.name == name) return &variable;
  }
  ADD_FAILURE() << "no variable " << name;
  return nullptr;
}

const Operand& operand(const Module& module, size_t instruction, size_t index) {
  return module.operands_of(module.instructions.at(instruction))[index];
}

std::string register_of(const Module& module, const Operand& o) {
  return module.functions.back().register_name(o.ref);
}

// The value of the only operand after the destination in `mov.b64 %rd1, …;`.
int64_t constant(const std::string& expression) {
  Module module = parse_body("mov.b64 %rd1, " + expression + ";");
  EXPECT_EQ(errors_of(module), "") << expression;
  if (!module.errors.empty()) return 0;
  EXPECT_EQ(operand(module, 0, 1).kind, Kind::kInteger);
  return operand(module, 0, 1).value;
}

// ---- the file ----

TEST(PtxParser, ReadsTheHeader) {
  Module module = parse_text(".version 8.7\n.target sm_100a, texmode_independent, debug\n.address_size 64\n");
  EXPECT_EQ(errors_of(module), "");
  EXPECT_EQ(module.version_major, 8u);
  EXPECT_EQ(module.version_minor, 7u);
  EXPECT_EQ(module.target, "sm_100a");
  ASSERT_EQ(module.target_options.size(), 2u);
  EXPECT_EQ(module.target_options[1], "debug");
  EXPECT_EQ(module.address_size, 64u);
}

TEST(PtxParser, WhatHasNoVersionIsNotPtx) {
  EXPECT_EQ(errors_of(parse_text("")), "no .version: this is not PTX\n");
  EXPECT_EQ(errors_of(parse_text("int main() { return 0; }\n")), "no .version: this is not PTX\n");
  EXPECT_EQ(errors_of(parse_text(".version 9.0\n.entry k(){ret;}\n")), "no .target after .version\n");
}

TEST(PtxParser, BinaryFilesAreOneError) {
  std::string text = std::string(kHeader) + ".entry k(){ret;}\n";
  Module module = parse_text(text + std::string("\0\1\2", 3));
  ASSERT_EQ(module.errors.size(), 1u);
  EXPECT_EQ(module.errors[0].span.begin, text.size());
  EXPECT_EQ(errors_of(parse_text(text + std::string(2, '\0'))), "") << "NVRTC counts the terminator";
  EXPECT_EQ(errors_of(parse_text(text + std::string("\0\0\n\0 \r\n", 7))), "") << "the CuTe DSL ends its dumps so";
  EXPECT_NE(errors_of(parse_text(text + std::string("\0 x\0", 4))).find("binary file"), std::string::npos);
}

TEST(PtxParser, CommentsAndLineEndingsAreWhiteSpace) {
  Module module = parse_text(
      "// head\r\n.version 9.0\r\n.target sm_100a\r\n/* a { */ .entry k() // @k\r\n{\r\n"
      "ret /* ; */ ; // }\r\n}\r\n# 1 \"line marker\"\r\n");
  EXPECT_EQ(errors_of(module), "");
  EXPECT_EQ(module.instructions.size(), 1u);
  EXPECT_EQ(errors_of(parse_text(std::string(kHeader) + "/* open")), "comment without '*/'\n");
}

TEST(PtxParser, TypesAndWidths) {
  EXPECT_EQ(type_from_suffix("u32"), Type::kU32);
  EXPECT_EQ(type_from_suffix("global"), Type::kNone);
  EXPECT_EQ(bits(Type::kB128), 128u);
  EXPECT_EQ(bits(Type::kPred), 1u);
}

// ---- opcodes ----

TEST(PtxParser, OpcodesAreSplitAndShared) {
  Module module = parse_body(
      "tcgen05.wait::ld.sync.aligned;\nld.shared.v2.b32 {%r1, %r2}, [%r3];\n"
      "tcgen05.wait::ld.sync.aligned;");
  EXPECT_EQ(errors_of(module), "");
  EXPECT_EQ(module.opcodes.size(), 2u);
  EXPECT_EQ(module.instructions[0].opcode, module.instructions[2].opcode);
  const Opcode& wait = module.opcode(module.instructions[0]);
  EXPECT_EQ(wait.root, "tcgen05");
  ASSERT_EQ(wait.modifiers.size(), 3u);
  EXPECT_EQ(wait.modifiers[0], "wait::ld");
  EXPECT_TRUE(module.opcode(module.instructions[1]).has("v2"));
  EXPECT_FALSE(module.opcode(module.instructions[1]).has("v4"));
}

TEST(PtxParser, WhiteSpaceBeforeModifiers) {
  Module module = parse_body("ld .global\n  /* here */ .u32 %r1, [%rd1];\nld.global.u32 %r1, [%rd1];\nret ;");
  EXPECT_EQ(errors_of(module), "");
  EXPECT_EQ(module.opcode(module.instructions[0]).text, "ld.global.u32");
  EXPECT_EQ(module.instructions[0].opcode, module.instructions[1].opcode);
  EXPECT_EQ(module.opcode(module.instructions[2]).text, "ret");
  EXPECT_EQ(errors_of(parse_body("ld. global.u32 %r1, [%rd1];")).substr(0, 19), "expected a modifier");
}

TEST(PtxParser, UnknownOpcodesAreKept) {
  Module module = parse_body("frobnicate.x::y.z %r1, [%r2], {%r3};");
  EXPECT_EQ(errors_of(module), "");
  EXPECT_EQ(module.opcode(module.instructions[0]).root, "frobnicate");
  EXPECT_EQ(module.instructions[0].operand_count, 3);
}

TEST(PtxParser, SpansCoverWhatTheyName) {
  Module module = parse_body("@!%p1 tcgen05.ld.sync.aligned.32x32b.x2.b32{%r1,%r2},[ %r3 + 8 ];");
  EXPECT_EQ(errors_of(module), "");
  const Instruction& load = module.instructions[0];
  EXPECT_EQ(source_of(module, load.opcode_span), "tcgen05.ld.sync.aligned.32x32b.x2.b32");
  EXPECT_EQ(source_of(module, load.span), "@!%p1 tcgen05.ld.sync.aligned.32x32b.x2.b32{%r1,%r2},[ %r3 + 8 ];");
  EXPECT_EQ(source_of(module, operand(module, 0, 0).span), "{%r1,%r2}");
  EXPECT_EQ(source_of(module, operand(module, 0, 1).span), "[ %r3 + 8 ]");
}

// ---- operands ----

TEST(PtxParser, Guards) {
  Module module = parse_body("@%p1 bra L;\n@ ! %p2 bra L;\nbra L;\nL: ret;");
  EXPECT_EQ(errors_of(module), "");
  EXPECT_EQ(module.functions[0].register_name(module.instructions[0].guard), "%p1");
  EXPECT_FALSE(module.instructions[0].guard_negated);
  EXPECT_EQ(module.functions[0].register_name(module.instructions[1].guard), "%p2");
  EXPECT_TRUE(module.instructions[1].guard_negated);
  EXPECT_EQ(module.instructions[2].guard, kNone);
}

TEST(PtxParser, Addresses) {
  Module module = parse_body(
      "ld.shared.b32 %r1, [%r2];\nld.shared.b32 %r1, [%r2+-8];\nld.shared.b32 %r1, [slot+4*2];\n"
      "ld.local.b32 %r1, [16];\nmov.b32 %r1, slot+8;\nmov.b32 %r1, slot[3];\nld.shared.b32 %r1, slot[3];",
      ".shared .b32 slot[4];\n");
  EXPECT_EQ(errors_of(module), "");
  EXPECT_EQ(operand(module, 0, 1).kind, Kind::kAddress);
  EXPECT_EQ(operand(module, 0, 1).base, Kind::kRegister);
  EXPECT_EQ(register_of(module, operand(module, 0, 1)), "%r2");
  EXPECT_EQ(operand(module, 1, 1).value, -8);
  EXPECT_EQ(operand(module, 2, 1).base, Kind::kVariable);
  EXPECT_EQ(module.variables[operand(module, 2, 1).ref].name, "slot");
  EXPECT_EQ(operand(module, 2, 1).value, 8);
  EXPECT_EQ(operand(module, 3, 1).base, Kind::kInteger);
  EXPECT_EQ(operand(module, 3, 1).ref, kNone);
  EXPECT_EQ(operand(module, 3, 1).value, 16);
  EXPECT_EQ(operand(module, 4, 1).kind, Kind::kVariable);
  EXPECT_EQ(operand(module, 4, 1).value, 8);
  EXPECT_EQ(operand(module, 5, 1).kind, Kind::kVariable);
  EXPECT_EQ(operand(module, 5, 1).value, 12);
  EXPECT_EQ(operand(module, 6, 1).kind, Kind::kAddress);
  EXPECT_EQ(operand(module, 6, 1).value, 12);
}

TEST(PtxParser, TensorOperandsAreBracketedGroups) {
  Module module = parse_body("cp.async.bulk.tensor.2d.x [%r1], [%rd1, {%r2, 5}], [%r3+8];");
  EXPECT_EQ(errors_of(module), "");
  ASSERT_EQ(module.instructions[0].operand_count, 3);
  const Operand& tensor = operand(module, 0, 1);
  EXPECT_EQ(tensor.kind, Kind::kGroup);
  EXPECT_TRUE(tensor.bracketed);
  ASSERT_EQ(tensor.value, 2);
  EXPECT_EQ(module.operands[tensor.ref].kind, Kind::kRegister);
  EXPECT_EQ(register_of(module, module.operands[tensor.ref]), "%rd1");
  const Operand& coordinates = module.operands[tensor.ref + 1];
  EXPECT_EQ(coordinates.kind, Kind::kVector);
  ASSERT_EQ(coordinates.value, 2);
  EXPECT_EQ(module.operands[coordinates.ref + 1].value, 5);
  EXPECT_EQ(operand(module, 0, 2).kind, Kind::kAddress);
}

TEST(PtxParser, PairsSinksAndComponents) {
  Module module = parse_body(
      ".reg .v4 .f32 quad;\nelect.sync _|%p1, -1;\nsetp.eq.b32 %p1|%p2, %r1, !%p3;\n"
      "mov.f32 %f1, quad.z;\nmov.b64 {%r1, _}, %rd1;");
  EXPECT_EQ(errors_of(module), "");
  EXPECT_EQ(module.instructions[0].operand_count, 3);
  EXPECT_EQ(operand(module, 0, 0).kind, Kind::kSink);
  EXPECT_TRUE(operand(module, 0, 0).joined_with_next);
  EXPECT_FALSE(operand(module, 0, 1).joined_with_next);
  EXPECT_EQ(operand(module, 0, 2).value, -1);
  EXPECT_TRUE(operand(module, 1, 0).joined_with_next);
  EXPECT_TRUE(operand(module, 1, 3).negated);
  EXPECT_EQ(operand(module, 2, 1).component, 2);
  EXPECT_EQ(operand(module, 2, 0).component, Operand::kWhole);
  EXPECT_EQ(module.operands[operand(module, 3, 0).ref + 1].kind, Kind::kSink);
}

TEST(PtxParser, SpecialRegisters) {
  Module module = parse_body(
      "mov.u32 %r1, %tid.x;\nmov.u32 %r1, %laneid;\nmov.u32 %r1, WARP_SZ;\nmov.u32 %r1, %tid .x;\n"
      "{ .reg .b32 %laneid; mov.b32 %laneid, 1; }");
  EXPECT_EQ(errors_of(module), "");
  auto special = [&](size_t i) { return module.special_registers[operand(module, i, 1).ref]; };
  EXPECT_EQ(special(0), "%tid.x");
  EXPECT_EQ(special(1), "%laneid");
  EXPECT_EQ(special(2), "WARP_SZ");
  EXPECT_EQ(special(3), "%tid.x");
  EXPECT_EQ(operand(module, 4, 0).kind, Kind::kRegister);
}

TEST(PtxParser, IntegerLiterals) {
  EXPECT_EQ(constant("42"), 42);
  EXPECT_EQ(constant("0x1F"), 31);
  EXPECT_EQ(constant("017"), 15);
  EXPECT_EQ(constant("0b101U"), 5);
  EXPECT_EQ(constant("-1"), -1);
  EXPECT_EQ(constant("0"), 0);
  EXPECT_EQ(constant("0U"), 0);
  EXPECT_EQ(constant("42U"), 42);
  EXPECT_EQ(constant("9223372036854775807"), INT64_MAX);  // 19 digits
  EXPECT_EQ(constant("18446744073709551615"), -1);        // 20
  EXPECT_EQ(constant("18446744073709551616"), -1);        // ptxas takes what is too large for the largest
  EXPECT_EQ(constant("00000000000000000000017"), 15);
  EXPECT_EQ(constant("0xFFFFFFFFFFFFFFFF"), -1);
  EXPECT_NE(errors_of(parse_body("mov.u32 %r1, 12abc;")), "");
  EXPECT_NE(errors_of(parse_body("mov.u32 %r1, 08;")), "");
  EXPECT_NE(errors_of(parse_body("mov.u32 %r1, 1234567890123456789a;")), "");
}

TEST(PtxParser, DecimalFloats) {
  Module module = parse_body(".reg .f64 %d<4>;\nmov.f64 %d1, 1.5;\nmov.f64 %d1, 25e-1;\nmov.f64 %d1, 0.0;\n");
  EXPECT_EQ(errors_of(module), "");
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(operand(module, i, 1).kind, Kind::kFloat);
  EXPECT_EQ(operand(module, 0, 1).value, std::bit_cast<int64_t>(1.5));
  EXPECT_EQ(operand(module, 1, 1).value, std::bit_cast<int64_t>(2.5));
  EXPECT_EQ(operand(module, 2, 1).value, 0);
}

TEST(PtxParser, ConstantExpressions) {
  EXPECT_EQ(constant("(1+2)*4"), 12);
  EXPECT_EQ(constant("1+2*4-6/2"), 6);
  EXPECT_EQ(constant("~0"), -1);
  EXPECT_EQ(constant("!5"), 0);
  EXPECT_EQ(constant("(.s64) -8 >> 1"), -4);
  EXPECT_EQ(constant("1<<4|3&5^1"), 16 | ((3 & 5) ^ 1));
  EXPECT_EQ(constant("1<2 ? 3 : 4"), 3);
  EXPECT_EQ(constant("7 % 4"), 3);
  EXPECT_EQ(constant("WARP_SZ*2"), 64);
  EXPECT_EQ(constant("- -1"), 1);
  EXPECT_EQ(errors_of(parse_body("mov.u32 %r1, 5/0;")), "division by zero in a constant expression\n");
  EXPECT_EQ(errors_of(parse_body("mov.u32 %r1, " + std::string(100000, '(') + "1;")), "nested too deep\n");
  EXPECT_EQ(errors_of(parse_body("mov.u32 %r1, " + std::string(100000, '-') + "1;")), "nested too deep\n");
}

TEST(PtxParser, FloatLiterals) {
  Module module = parse_body(
      "mov.f32 %f1, 0f3F800000;\nmov.f64 %rd1, 0d3FF0000000000000;\nmov.f32 %f1, 1.5;\n"
      "mov.f32 %f1, .5;\nmov.f32 %f1, -1.5e2;");
  EXPECT_EQ(errors_of(module), "");
  EXPECT_EQ(operand(module, 0, 1).kind, Kind::kFloat);
  EXPECT_EQ(operand(module, 0, 1).value, 0x3F800000);
  EXPECT_EQ(operand(module, 1, 1).value, 0x3FF0000000000000);
  EXPECT_EQ(operand(module, 2, 1).value, 0x3FF8000000000000);
  EXPECT_EQ(operand(module, 3, 1).value, 0x3FE0000000000000);
  EXPECT_EQ(operand(module, 4, 1).value, static_cast<int64_t>(0xC062C00000000000));
  EXPECT_NE(errors_of(parse_body("mov.f32 %f1, 0f3F80;")), "");
}

// ---- names and scopes ----

TEST(PtxParser, RegisterRanges) {
  Module module = parse_body(
      ".reg .b32 %q<100000>;\nmov.b32 %q99999, %r01;\n.reg .b32 %r200, plain;\n"
      "mov.b32 %r200, plain;");
  EXPECT_EQ(errors_of(module), "");
  EXPECT_EQ(register_of(module, operand(module, 0, 0)), "%q99999");
  EXPECT_EQ(register_of(module, operand(module, 0, 1)), "%r1");
  EXPECT_EQ(register_of(module, operand(module, 1, 0)), "%r200");
  EXPECT_EQ(register_of(module, operand(module, 1, 1)), "plain");
  EXPECT_EQ(errors_of(parse_body("mov.b32 %r100, 1;")), "unknown name '%r100'\n");
  EXPECT_EQ(errors_of(parse_body("mov.b32 %r1a, 1;")), "unknown name '%r1a'\n");
  EXPECT_EQ(errors_of(parse_body(".reg .b32 %r12;")), "'%r12' is already declared in this scope\n");
}

TEST(PtxParser, BlocksShadowRegisters) {
  Module module = parse_body(
      "{\n.reg .b64 %r3;\n.reg .b16 %r<2>;\nmov.b64 %r3, 1;\nmov.b16 %r1, 1;\nmov.b32 %r2, 1;\n}\n"
      "mov.b32 %r3, 1;\nmov.b32 %r1, 1;");
  EXPECT_EQ(errors_of(module), "");
  auto type = [&](size_t i) { return module.functions[0].registers[operand(module, i, 0).ref].type; };
  EXPECT_EQ(type(0), Type::kB64);
  EXPECT_EQ(type(1), Type::kB16);
  EXPECT_EQ(type(2), Type::kB32);
  EXPECT_EQ(type(3), Type::kB32);
  EXPECT_EQ(type(4), Type::kB32);
}

TEST(PtxParser, LabelsAreFoundByScope) {
  // 0: bra to the inner L, although an outer one came before; 1 and 2: forward and backward in the second block;
  // 4: the outer one again.
  Module module = parse_body("L:\n{\nbra L;\nL: bra E;\n}\n{\nbra L;\nL: bra L;\n}\nbra L;\nE:");
  EXPECT_EQ(errors_of(module), "");
  const Function& k = module.functions[0];
  auto target = [&](size_t i) { return k.labels[operand(module, i, 0).ref].instruction; };
  EXPECT_EQ(target(0), 1u);
  EXPECT_EQ(target(1), 5u);
  EXPECT_EQ(target(2), 3u);
  EXPECT_EQ(target(3), 3u);
  EXPECT_EQ(target(4), 0u);
  EXPECT_EQ(k.last_instruction, 5u);
}

TEST(PtxParser, UndefinedNamesAreErrorsOnce) {
  EXPECT_EQ(errors_of(parse_body("bra L;\nbra L;\n{ L2: }\nbra L2;")), "undefined label 'L'\nundefined label 'L2'\n");
  EXPECT_EQ(errors_of(parse_body("mov.b32 %r1, foo;\nmov.b32 %r2, [foo];")), "unknown name 'foo'\n");
  EXPECT_EQ(errors_of(parse_body("@%zz mov.b32 %r1, 1;")), "unknown name '%zz'\n");
  EXPECT_EQ(errors_of(parse_body("mov.b32 %late, 1;\n.reg .b32 %late;")), "unknown name '%late'\n");
  EXPECT_EQ(errors_of(parse_body("L: ret;\nL: ret;")), "'L' is already declared in this scope\n");
}

TEST(PtxParser, BranchTables) {
  Module module = parse_body("T: .branchtargets A, B, C<2>;\nbrx.idx %r1, T;\nA: ret;\nB: ret;\nC0: ret;\nC1: ret;");
  EXPECT_EQ(errors_of(module), "");
  const Function& k = module.functions[0];
  EXPECT_EQ(operand(module, 0, 0).kind, Kind::kRegister);
  ASSERT_EQ(operand(module, 0, 1).kind, Kind::kLabel);
  const Label& table = k.labels[operand(module, 0, 1).ref];
  ASSERT_EQ(table.targets.size(), 4u);
  for (uint32_t i = 0; i < 4; ++i) {
    ASSERT_EQ(table.targets[i].kind, Kind::kLabel);
    EXPECT_EQ(k.labels[table.targets[i].ref].instruction, 1 + i);
  }
}

// ---- functions ----

TEST(PtxParser, KernelsAndTheirDirectives) {
  Module module = parse_text(std::string(kHeader) +
                             ".visible .entry k(\n\t.param .u64 .ptr .global .align 1 a,\n"
                             "\t.param .align 64 .b8 map[128]\n)\n.reqntid 128, 2\n.maxntid 256\n.minnctapersm 1\n"
                             ".reqnctapercluster 2, 1, 1 .explicitcluster .maxclusterrank 8 .maxnreg 64 .future 3, 4\n"
                             "{\n\tret;\n}\n.entry bare { ret; }\n");
  EXPECT_EQ(errors_of(module), "");
  const Function& k = function_of(module, "k");
  EXPECT_TRUE(k.is_entry);
  EXPECT_EQ(k.reqntid.x, 128u);
  EXPECT_EQ(k.reqntid.count(), 256u);
  EXPECT_EQ(k.maxntid.x, 256u);
  EXPECT_EQ(k.reqnctapercluster.x, 2u);
  EXPECT_TRUE(k.explicit_cluster);
  EXPECT_EQ(k.maxclusterrank, 8u);
  ASSERT_EQ(k.parameters.size(), 2u);
  const Variable& pointer = module.variables[k.parameters[0].variable];
  EXPECT_EQ(pointer.space, Space::kParam);
  EXPECT_EQ(pointer.alignment, 8u) << "the 1 is that of the memory pointed to";
  EXPECT_EQ(pointer.size, 8u);
  EXPECT_TRUE(pointer.is_parameter);
  const Variable& map = module.variables[k.parameters[1].variable];
  EXPECT_EQ(map.size, 128u);
  EXPECT_EQ(map.alignment, 64u);
  EXPECT_TRUE(function_of(module, "bare").has_body);
}

TEST(PtxParser, DeclarationAndDefinitionAreOneFunction) {
  Module module = parse_text(std::string(kHeader) +
                             ".func (.param .b32 result) f(.param .b32 a) ;\n.extern .func stop() .noreturn;\n"
                             ".entry k() { call.uni stop; ret; }\n"
                             ".func (.param .b32 result) f(.param .b32 a) { st.param.b32 [result], 1; ret; }\n");
  EXPECT_EQ(errors_of(module), "");
  ASSERT_EQ(module.functions.size(), 3u);
  EXPECT_EQ(module.functions[0].name, "f");
  EXPECT_TRUE(module.functions[0].has_body);
  ASSERT_EQ(module.functions[0].returns.size(), 1u);
  EXPECT_TRUE(module.variables[module.functions[0].returns[0].variable].is_return);
  EXPECT_FALSE(module.functions[1].has_body);
  EXPECT_TRUE(module.functions[1].is_noreturn);
}

TEST(PtxParser, Calls) {
  Module module = parse_text(
      std::string(kHeader) +
      ".func (.reg .b32 r) f(.reg .b32 a, .reg .b32 b) { add.s32 r, a, b; ret; }\n.func g() { ret; }\n"
      ".entry k() {\n.reg .b32 x;\n.reg .b64 target;\ncall (x), f, (x, 3);\ncall.uni\ng\n;\nmov.b64 target, g;\n"
      "proto: .callprototype (.param .b32 _) _ (.param .b64 _, .param .b64 _) .noreturn;\n"
      "call (_), target, (), proto;\nlist: .calltargets f, g;\n}\n");
  EXPECT_EQ(errors_of(module), "");
  const Function& f = function_of(module, "f");
  ASSERT_EQ(f.parameters.size(), 2u);
  EXPECT_EQ(f.parameters[1].variable, kNone);
  EXPECT_EQ(f.register_name(f.parameters[1].reg), "b");
  EXPECT_EQ(f.register_name(f.returns[0].reg), "r");
  size_t first = function_of(module, "k").first_instruction;
  EXPECT_EQ(operand(module, first, 0).kind, Kind::kGroup);
  EXPECT_FALSE(operand(module, first, 0).bracketed);
  EXPECT_EQ(operand(module, first, 1).kind, Kind::kFunction);
  EXPECT_EQ(operand(module, first, 2).value, 2);
  EXPECT_EQ(module.functions[operand(module, first + 1, 0).ref].name, "g");
  EXPECT_EQ(operand(module, first + 2, 1).kind, Kind::kFunction);
  EXPECT_EQ(module.instructions[first + 3].operand_count, 4);
  const Operand& prototype = operand(module, first + 3, 3);
  ASSERT_EQ(prototype.kind, Kind::kLabel);
  const Function& k = function_of(module, "k");
  EXPECT_TRUE(k.labels[prototype.ref].is_call_prototype);
  EXPECT_EQ(k.labels.back().targets.size(), 2u);
  EXPECT_EQ(k.labels.back().targets[0].kind, Kind::kFunction);
}

TEST(PtxParser, Aliases) {
  Module module = parse_text(std::string(kHeader) + ".func f() { ret; }\n.func g();\n.alias g, f;\n");
  EXPECT_EQ(errors_of(module), "");
  EXPECT_EQ(function_of(module, "g").alias_of, 0u);
  EXPECT_EQ(function_of(module, "f").alias_of, kNone);
}

// ---- variables ----

TEST(PtxParser, ModuleVariables) {
  Module module =
      parse_text(std::string(kHeader) +
                 ".extern .shared .align 16 .b8 dynamic[];\n.global .align 1 .b8 text[3] = {95, 95, 0};\n"
                 ".global .b32 rows[][2] = {{1, 2}, {3, 4}, {5, 6}}, one = 7;\n"
                 ".global .b64 where = generic(text) + 8;\n.global .b8 masked[2] = {mask(text+1, 0xff), 1};\n"
                 ".const .v4 .f32 quad;\n.global .texref image;\n.shared .b32 many<3>;\n"
                 ".visible .global .attribute(.managed) .u16 managed;\n");
  EXPECT_EQ(errors_of(module), "");
  const Variable& dynamic = *variable_of(module, "dynamic");
  EXPECT_TRUE(dynamic.is_extern);
  EXPECT_TRUE(dynamic.is_unsized);
  EXPECT_EQ(dynamic.size, 0u);
  EXPECT_EQ(dynamic.alignment, 16u);
  EXPECT_EQ(dynamic.space, Space::kShared);
  EXPECT_EQ(variable_of(module, "text")->size, 3u);
  EXPECT_EQ(variable_of(module, "rows")->size, 24u);
  EXPECT_FALSE(variable_of(module, "rows")->is_unsized);
  EXPECT_EQ(variable_of(module, "one")->size, 4u);
  EXPECT_EQ(variable_of(module, "where")->size, 8u);
  EXPECT_EQ(variable_of(module, "quad")->size, 16u);
  EXPECT_EQ(variable_of(module, "quad")->alignment, 16u);
  EXPECT_EQ(variable_of(module, "image")->type, Type::kOther);
  EXPECT_EQ(variable_of(module, "many2")->size, 4u);
  EXPECT_EQ(variable_of(module, "managed")->alignment, 2u);
}

// The bytes that a variable of a module begins with; empty where they are not known.
std::vector<uint8_t> initial_bytes(const std::string& declaration) {
  const Module module = parse_text(kHeader + declaration + ";\n");
  EXPECT_EQ(errors_of(module), "");
  EXPECT_EQ(module.variables.size(), 1u);
  const uint32_t initial = module.variables[0].initial;
  return initial == kNone ? std::vector<uint8_t>{} : module.initial_bytes[initial];
}

TEST(PtxParser, InitialBytesOfVariables) {
  using Bytes = std::vector<uint8_t>;
  EXPECT_EQ(initial_bytes(".const .b8 a[4] = {1, 0x20, 3}"), (Bytes{1, 0x20, 3, 0}));
  EXPECT_EQ(initial_bytes(".global .align 4 .u16 a[2][3] = {{1, 2}, {3, 4, 5}}"),
            (Bytes{1, 0, 2, 0, 0, 0, 3, 0, 4, 0, 5, 0}));
  EXPECT_EQ(initial_bytes(".global .s32 a[] = {-1, 2}"), (Bytes{255, 255, 255, 255, 2, 0, 0, 0}));
  EXPECT_EQ(initial_bytes(".global .v2 .u16 a[2] = {{1}, {2, 3}}"), (Bytes{1, 0, 0, 0, 2, 0, 3, 0}));
  EXPECT_EQ(initial_bytes(".const .u16 a = 258"), (Bytes{2, 1}));
  EXPECT_EQ(initial_bytes(".const .u32 a"), Bytes{}) << "nothing says what it begins with";
  EXPECT_EQ(initial_bytes(".const .f32 a = 0f3f800000"), Bytes{});
  EXPECT_EQ(initial_bytes(".const .u32 a[2] = {1 + 2, 3}"), Bytes{}) << "an expression";
  EXPECT_EQ(initial_bytes(".const .u32 a[1] = {1, 2}"), Bytes{}) << "more than there is room for";
}

TEST(PtxParser, VariablesOfFunctions) {
  Module module = parse_body(
      ".local .align 16 .b8 __local_depot0[64];\n.shared .b64 outer;\n{\n.shared .b32 outer;\n"
      "mov.b32 %r1, outer;\n.param .b32 argument;\n}\nmov.b32 %r1, outer;");
  EXPECT_EQ(errors_of(module), "");
  EXPECT_EQ(variable_of(module, "__local_depot0")->space, Space::kLocal);
  EXPECT_EQ(variable_of(module, "argument")->function, 0u);
  EXPECT_EQ(module.variables[operand(module, 0, 1).ref].size, 4u);
  EXPECT_EQ(module.variables[operand(module, 1, 1).ref].size, 8u);
}

// ---- source locations ----

TEST(PtxParser, LocationsWithInlining) {
  Module module = parse_text(
      std::string(kHeader) +
      ".file 1 \"dir/a.cu\", 1700000000, 99\n.file 2 \"b.h\"\n.entry k() {\nbar.sync 0;\n.loc 1 7 0\nbar.sync 0;\n"
      ".loc 2 20 5, function_name $L__info_string0, inlined_at 1 7 0\nbar.sync 0;\n"
      ".loc 2 30 1, function_name $L__info_string0+3, inlined_at 2 20 5\nret;\n}\n"
      ".section .debug_info { .b32 5 \n .b8 1 }\n.section .debug_str\n{\n$L__info_string0:\n.b8 102,111\n.b8 111\n.b8 "
      "98\n.b8 0\n}\n");
  EXPECT_EQ(errors_of(module), "");
  EXPECT_EQ(*module.file_path(1), "dir/a.cu");
  EXPECT_EQ(*module.file_path(2), "b.h");
  EXPECT_EQ(module.file_path(3), nullptr);
  EXPECT_EQ(module.instructions[0].location, kNone);
  const Location& outer = module.locations[module.instructions[1].location];
  EXPECT_EQ(outer.line, 7u);
  const Location& middle = module.locations[module.instructions[2].location];
  EXPECT_EQ(middle.function_name, "foob");
  EXPECT_EQ(middle.inlined_at, module.instructions[1].location);
  const Location& inner = module.locations[module.instructions[3].location];
  EXPECT_EQ(inner.function_name, "b");
  EXPECT_EQ(inner.inlined_at, module.instructions[2].location);
}

// ---- errors ----

TEST(PtxParser, AMissingSemicolonCostsNothingElse) {
  Module module = parse_body("mov.b32 %r1, %r2\nmov.b32 %r3, 1;");
  ASSERT_EQ(module.errors.size(), 1u);
  EXPECT_EQ(module.errors[0].message, "expected ';' before 'mov'");
  EXPECT_EQ(module.source->position(module.errors[0].span.begin).line, 10u) << "where it is missing";
  EXPECT_EQ(module.instructions.size(), 2u);
}

TEST(PtxParser, AllErrorsAreReported) {
  Module module = parse_body(
      "mov.b32 %r1 %r2;\nmov.b32 %r1, {%r2, ];\nmov.b32 %r3, 1;\nmov.b32 , %r1;\n}\n"
      ".visible .entry second() { ret ret; ");
  EXPECT_EQ(errors_of(module),
            "expected ';' before '%r2'\nexpected an operand before ']'\nexpected an operand before ','\n"
            "unknown name 'ret'\n");
  EXPECT_EQ(source_of(module, module.errors[0].span), "%r2");
}

TEST(PtxParser, UnbalancedBracesCostOneError) {
  std::string next = "ret;\n}\n.visible .entry next() {\nret;\n}\n";
  Module module = parse_text(std::string(kHeader) + ".entry k() {\nret;\n}\nret;\nbar.sync 0;\n" + next);
  EXPECT_EQ(errors_of(module), "expected a directive before 'ret'\n");
  EXPECT_TRUE(function_of(module, "next").has_body);
  module = parse_text(std::string(kHeader) + ".entry k() {\n{\n{\n" + next);
  EXPECT_EQ(errors_of(module), "expected '}' before '.visible'\n");
  EXPECT_EQ(function_of(module, "k").last_instruction, 1u);
  EXPECT_TRUE(function_of(module, "next").has_body);
}

TEST(PtxParser, ErrorsAreCapped) {
  std::string statements;
  for (int i = 0; i < 500; ++i) statements += "mov.b32 %r1 %r2;\n";
  Module module = parse_body(statements);
  ASSERT_EQ(module.errors.size(), 101u);
  EXPECT_EQ(module.errors.back().message, "too many errors");
}

TEST(PtxParser, DeepNestingIsOneError) {
  EXPECT_EQ(parse_body(std::string(200000, '{')).errors.size(), 1u);
  EXPECT_EQ(errors_of(parse_body(std::string(1000, '{') + std::string(1000, '}'))), "");
  EXPECT_EQ(parse_body("mov.b32 %r1, " + std::string(200000, '{') + ";").errors.size(), 1u);
  EXPECT_EQ(parse_body("mov.b32 %r1, " + std::string(200000, '[') + ";").errors.size(), 1u);
}

TEST(PtxParser, TruncatedFilesSayWhatIsOpen) {
  std::string text = std::string(kHeader) + ".visible .entry k()\n{\n\tret;\n";
  EXPECT_EQ(errors_of(parse_text(text)), "expected '}' before the end of the file: the body of 'k' is not closed\n");
  EXPECT_NE(errors_of(parse_text(std::string(kHeader) + ".visible .entry k(.param .b32")), "");
}

}  // namespace
}  // namespace tmemlint::ptx
