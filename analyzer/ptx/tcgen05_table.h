// The table itself: the words that occur in tcgen05 opcodes, the grammar of each instruction and where it exists.
//
// Read by decode and roles (tcgen05.cpp), check_form (tcgen05_form.cpp), check_target (tcgen05_target.cpp) and by the
// test that generates every legal spelling. To add an instruction or a qualifier, add rows in tcgen05_table.cpp.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "analyzer/ptx/tcgen05.h"

namespace tmemlint::ptx {

// Classes of modifiers: an instruction takes at most one word of a class.
enum class Class : uint8_t {
  kCtaGroup,
  kSync,
  kAligned,
  kSpace,
  kType,
  kShape,
  kCpShape,
  kNum,
  kPack,
  kReduction,
  kAbs,
  kNan,
  kExclusive,
  kWarps,
  kDstFormat,
  kSrcFormat,
  kDown,
  kKind,
  kSparse,
  kBlockScale,
  kScaleVector,
  kAshift,
  kCollectorA,
  kCollectorB,
  kDecompress,
  kArrive,
  kMulticast,
  kSyncRestrict,
  kSpCompress,
  kSpPattern,
  kMetadataType,
};
constexpr unsigned kClassCount = static_cast<unsigned>(Class::kMetadataType) + 1;
std::string_view class_name(Class cls);  // for messages: "the shape", "`.cta_group`"

// One word that may stand between dots. `code` is the enumerator or number that it means in its class.
struct Word {
  std::string_view text;
  Class cls;
  uint16_t code = 0;
};
std::span<const Word> words();
const Word* find_word(std::string_view text);  // nullptr: no tcgen05 instruction has such a word

// What stands where among the operands.
enum class Role : uint8_t {
  kAddress,
  kColumns,
  kVector,
  kReduction,
  kHalfOffset,
  kA,
  kB,
  kIdesc,
  kMetadata,
  kScaleA,
  kScaleB,
  kEnableInputD,
  kDisableLanes,
  kScaleD,
  kDescriptor,
  kMask,
  kZeroColumnMask,
  kCompressedMetadata,
};

enum class OperandKind : uint8_t {
  kTmemAddress,     // [32-bit register ± offset]
  kTmemBase,        // 32-bit register or immediate, no brackets
  kSharedAddress,   // [32- or 64-bit register ± offset], [variable ± offset]
  kColumns,         // 32-bit integer register or immediate
  kData,            // {32-bit registers}, as many as shape and num say
  kRegister32,      // 32-bit register
  kImmediate,       // any integer immediate
  kDescriptor,      // 64-bit register or immediate
  kMatrixA,         // kDescriptor or kTmemAddress
  kIdesc,           // 32-bit register or immediate
  kPredicate,       // p, !p, 0 or 1
  kLaneMask,        // {32-bit registers}: 4 for one CTA, 8 for a pair
  kScaleInput,      // immediate 0 to 15
  kCtaMask,         // 16-bit register (32-bit for .multicast::cluster::32b)
  kSparseMetadata,  // {32-bit registers}: metadata that a compressing load produces
};

// A condition on the opcode: some modifier of the class is there (words empty) or one of these words is.
struct When {
  enum class Test : uint8_t { kAlways, kPresent, kAbsent, kOneOf } test = Test::kAlways;
  Class cls = Class::kType;
  std::span<const std::string_view> words = {};
};

struct Slot {
  Role role;
  OperandKind kind;
  std::string_view name;  // as the ISA calls it
  bool optional = false;
  When when = {};
};

// A class that an instruction takes, with the words of it that are legal there.
struct Use {
  Class cls;
  bool required;
  std::span<const std::string_view> words;
};

// When the opcode is like `when`, then `cls` must be there, must not, or must be one of `words`.
struct Combination {
  // kBefore: `cls` stands before the modifier that `when` is about.
  enum class Need : uint8_t { kRequired, kForbidden, kOneOf, kBefore };
  When when;
  Class cls;
  Need need;
  std::span<const std::string_view> words = {};
  std::string_view why = {};
};

struct InstructionForm {
  Tcgen05 op;
  std::string_view name;  // "tcgen05.mma.ws"
  std::span<const Use> uses;
  std::span<const Combination> combinations;
  std::span<const Slot> operands;
};
std::span<const InstructionForm> instruction_forms();
const InstructionForm* form_of(Tcgen05 op);  // nullptr for kNone and kUnknown

// The words of an opcode that make its name ("tcgen05.ld.red": 2), which stand first and in this order.
struct Name {
  Tcgen05 op = Tcgen05::kNone;
  unsigned modifiers = 0;  // how many modifiers the name takes
};
Name name_of(const Opcode& opcode);

// Registers of a load or store, 0 when the shape has no such .num.
unsigned data_registers(LdStShape shape, unsigned num);

// Which operand fills each slot. Goes by brackets and braces and by how many operands there are, not by types, so that
// an operand of the wrong type is still found in its place.
struct SlotMatch {
  static constexpr unsigned kMaxSlots = 12;
  uint32_t slot_operand[kMaxSlots];  // operand index by slot; kNone where the slot is empty
  uint32_t extra = kNone;            // the first operand that no slot takes
  uint32_t extra_slot = kNone;       // the slot that would take it if the opcode were another
};
// `opcode` is the instruction's own, or one that is tried in its place.
SlotMatch match_operands(const Module& module, const Instruction& instruction, const Opcode& opcode,
                         const InstructionForm& form);

bool holds(const When& when, const Opcode& opcode);

// Targets that have tcgen05 at all, as a set.
enum Target : uint16_t {
  k100a = 1,
  k100f = 2,
  k101a = 4,
  k101f = 8,
  k103a = 16,
  k103f = 32,
  k107a = 64,
  k107f = 128,
  k110a = 256,
  k110f = 512,
};
struct TargetRow {
  std::string_view name;
  Target target;
  uint16_t version;  // of PTX ISA that introduced it: 100 * major + minor
};
std::span<const TargetRow> targets();

// A word, an operand or a whole instruction that not every target has.
struct Feature {
  std::string_view what;  // for the message: ".kind::i8"
  Tcgen05 op;             // kNone: whichever instruction
  Class cls;              // the modifier it is about: one of `words`; no words: the instruction itself or `role`
  std::span<const std::string_view> words;
  When when;  // and this too
  uint16_t version;
  uint16_t targets;
  bool by_role = false;  // it is about the operand in `role`
  Role role = Role::kScaleD;
};
std::span<const Feature> features();

}  // namespace tmemlint::ptx
