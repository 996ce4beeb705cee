// The parsed form of one PTX file: names resolved, nothing interpreted.
//
// Compact on purpose: an instruction is a few words, its opcode an index into a table of the distinct opcode spellings
// of the module ("tcgen05.ld.sync.aligned.32x32b.x4.b32" is decoded once, however often it occurs), its operands a
// range of one array. Everything carries byte offsets into the source (see source.h).
//
// Lifetimes: string_views point into the SourceText that the module was parsed from, or into the module's own storage
// (`Module::spellings`, for opcodes that were written with white space inside). Both must outlive the views.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/ptx/source.h"

namespace tmemlint::ptx {

constexpr uint32_t kNone = 0xffffffffu;  // "no index" in every index field below

// Fundamental types of registers, variables and instruction type suffixes (PTX ISA 5.2). kOther is a type that the
// parser knows to be one but that nothing here interprets (packed floats, opaque types).
enum class Type : uint8_t {
  kNone,
  kPred,
  kB8,
  kU8,
  kS8,
  kB16,
  kU16,
  kS16,
  kF16,
  kF16x2,
  kBf16,
  kBf16x2,
  kB32,
  kU32,
  kS32,
  kF32,
  kTf32,
  kB64,
  kU64,
  kS64,
  kF64,
  kB128,
  kOther
};
unsigned bits(Type type);         // width in bits; 1 for kPred, 0 for kNone and kOther
bool is_integer_type(Type type);  // .b, .u or .s, of 8 to 64 bits
// The type that a suffix without its dot names ("u32", "pred"), kNone when it names none.
Type type_from_suffix(std::string_view suffix);

// State spaces of variables (PTX ISA 5.1).
enum class Space : uint8_t { kNone, kConst, kGlobal, kLocal, kParam, kShared, kTexture };

// One distinct opcode spelling of the module.
struct Opcode {
  std::string_view text;                    // whole spelling without white space, "ld.shared.v2.b32"
  std::string_view root;                    // up to the first dot, "ld"
  std::vector<std::string_view> modifiers;  // the rest, split at dots, in order: "shared", "v2", "b32"
  bool has(std::string_view modifier) const;
};

struct Operand {
  enum class Kind : uint8_t {
    kRegister,    // ref: register index of the function; component: .x/.y/.z/.w of a vector register (0..3) or kWhole
    kInteger,     // value: the literal, two's complement (an unsigned 64-bit literal is its bit pattern)
    kFloat,       // value: bit pattern, of a double (0d and decimal literals) or of a float in the low half (0f)
    kSpecial,     // ref: offset into Module::special_registers ("%tid.x", "%laneid", "WARP_SZ", "%clock64")
    kVariable,    // ref: Module::variables index; value: constant offset in bytes (`slot+4` outside brackets)
    kLabel,       // ref: Function::labels index (branch targets, .branchtargets lists)
    kFunction,    // ref: Module::functions index
    kAddress,     // [base + value]: base tells what ref is (kRegister, kVariable, kInteger with ref == kNone)
    kVector,      // {a, b, …}: ref: first child in Module::operands, value: number of children
    kGroup,       // (a, b, …) of a call, or [a, {b, c}] of a tensor operand: as kVector
    kSink,        // _
    kUnresolved,  // a name that nothing declares: kept, not an error here (ref: offset into Module::names)
  };
  static constexpr uint8_t kWhole = 0xff;

  Kind kind = Kind::kSink;
  Kind base = Kind::kRegister;  // of kAddress
  uint8_t component = kWhole;
  bool negated : 1 = false;           // !p, or -r
  bool bracketed : 1 = false;         // of kGroup: [ ] rather than ( )
  bool joined_with_next : 1 = false;  // d|p: this operand is `d`, the next one is `p`
  uint32_t ref = kNone;
  int64_t value = 0;
  Span span;  // in the source
};

struct Instruction {
  uint32_t opcode = 0;         // Module::opcodes
  uint32_t guard = kNone;      // register index of @p, kNone when unguarded
  bool guard_negated = false;  // @!p
  uint16_t operand_count = 0;  // top-level operands only; children of vectors and groups are elsewhere in the array
  uint32_t first_operand = 0;  // Module::operands; the top-level operands of an instruction are adjacent
  uint32_t location = kNone;   // Module::locations: the .loc in force
  Span span;                   // from the guard or opcode to the semicolon
  Span opcode_span;            // of the opcode alone
};

struct Register {
  Type type = Type::kNone;
  uint8_t vector = 1;  // .v2/.v4 registers
};

// The names of registers that were declared together.
struct RegisterNames {
  std::string_view name;
  uint32_t first = 0;     // Function::registers
  bool is_range = false;  // `.reg .b32 %r<10>`: %r0 … %r9
};

struct Variable {
  std::string_view name;
  uint64_t size = 0;          // bytes; 0 for `.extern .shared x[]`
  uint32_t alignment = 1;     // bytes; the natural one where none is written
  uint32_t function = kNone;  // Module::functions that owns it; kNone at module level
  uint32_t initial = kNone;   // Module::initial_bytes; kNone without an initialiser, or with one that is not known
  Space space = Space::kNone;
  Type type = Type::kNone;
  bool is_extern = false;
  bool is_unsized = false;             // x[]
  bool is_parameter = false;           // formal parameter of its function
  bool is_return = false;              // return parameter of its function
  bool is_register_parameter = false;  // `.func f(.reg .b32 %a)`: ref'd through a register instead, see Function
  Span span;
};

struct Label {
  std::string_view name;
  uint32_t instruction = kNone;  // Module::instructions index of the first instruction at or after it; the function's
                                 // last_instruction when it stands at the end; kNone when never defined (an error)
  std::vector<Operand> targets;  // of `L: .branchtargets a, b, c;` (kLabel operands), `.calltargets` (kFunction)
  bool is_call_prototype = false;
  Span span;
};

// `.loc file line column {, function_name label+offset, inlined_at file line column}` (PTX ISA 11.5.3)
struct Location {
  uint32_t file = 0;  // the index of `.file`
  uint32_t line = 0;
  uint32_t column = 0;
  std::string_view function_name;  // of the inlined function; empty when not given or not resolvable
  uint32_t inlined_at = kNone;     // Module::locations: where it was inlined; chains
};

struct SourceFile {
  uint32_t index = 0;
  std::string path;
};

// x,y,z of `.reqntid`, `.maxntid`, `.reqnctapercluster`; missing ones are 1.
struct Dimensions {
  uint32_t x = 0, y = 1, z = 1;  // x == 0: not given
  bool given() const { return x != 0; }
  uint64_t count() const { return static_cast<uint64_t>(x) * y * z; }
};

struct Function {
  std::string_view name;
  bool is_entry = false;
  bool has_body = false;
  bool is_noreturn = false;
  Dimensions reqntid, maxntid, reqnctapercluster;
  bool explicit_cluster = false;
  uint32_t maxclusterrank = 0;                           // 0: not given
  uint32_t first_instruction = 0, last_instruction = 0;  // Module::instructions, half open
  std::vector<Register> registers;
  std::vector<RegisterNames> register_names;  // ascending by `first`
  std::vector<Label> labels;
  // Formal parameters in order: Module::variables indices, or for `.reg` parameters kNone with the register beside it.
  struct Parameter {
    uint32_t variable = kNone;
    uint32_t reg = kNone;
  };
  std::vector<Parameter> parameters;
  std::vector<Parameter> returns;
  uint32_t alias_of = kNone;  // Module::functions: `.alias this, other;`
  Span name_span;
  std::string register_name(uint32_t index) const;
};

struct Problem {
  Span span;
  std::string message;
};

struct Module {
  std::shared_ptr<const SourceText> source;

  uint32_t version_major = 0, version_minor = 0;  // .version 8.7; 0.0 when missing (an error)
  std::string_view target;                        // first word of .target, "sm_100a"; empty when missing (an error)
  std::vector<std::string_view> target_options;   // the other words of .target
  uint32_t address_size = 32;
  Span version_span, target_span;

  std::vector<Opcode> opcodes;
  std::vector<Operand> operands;
  std::vector<Instruction> instructions;
  std::vector<Function> functions;  // entries and functions in the order of their first declaration; a declaration and
                                    // its definition are one element
  std::vector<Variable> variables;
  std::vector<std::vector<uint8_t>> initial_bytes;  // of variables whose initialiser is whole numbers: all their bytes
  std::vector<std::string_view> names_in_initialisers;
  std::vector<Location> locations;
  std::vector<SourceFile> files;
  std::vector<std::string_view> special_registers;
  std::vector<std::string_view> names;  // unresolved ones
  std::vector<Problem> errors;          // in source order; an empty vector means that the file parsed
  std::deque<std::string> spellings;

  const Opcode& opcode(const Instruction& instruction) const { return opcodes[instruction.opcode]; }
  const Operand* operands_of(const Instruction& instruction) const {
    return operands.data() + instruction.first_operand;
  }
  const std::string* file_path(uint32_t index) const;  // nullptr when no `.file` has that index
};

// Parses a whole file. Never throws and never fails: errors are in Module::errors, and what stands around them is
// there.
Module parse(std::shared_ptr<const SourceText> source);

}  // namespace tmemlint::ptx
