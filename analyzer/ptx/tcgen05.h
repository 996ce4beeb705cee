// The instruction table: every fact about a tcgen05 instruction that follows from its spelling, in one place.
//
// `decode` turns an opcode spelling into a Form; the engine evaluates Forms, the rules explain them, `check_form` and
// `check_target` judge them. To add an instruction or a qualifier, edit the table in tcgen05_table.cpp and nothing
// else; a test walks the table. Facts are from PTX ISA 9.1 section 9.7.16 (tcgen05), additions of PTX 9.4 where marked.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/ptx/module.h"

namespace tmemlint::ptx {

enum class Tcgen05 : uint8_t {
  kNone,     // not a tcgen05 instruction
  kUnknown,  // begins with tcgen05. but is none that the ISA defines
  kAlloc,
  kDealloc,
  kRelinquish,  // relinquish_alloc_permit
  kLd,
  kLdRed,
  kSt,
  kWaitLd,
  kWaitSt,
  kCp,
  kShift,
  kMma,
  kMmaWs,
  kCommit,
  kFenceBefore,
  kFenceAfter,  // fence::before_thread_sync, fence::after_thread_sync
};

// Who executes it (ISA 9.7.16.3, table of issue granularity).
enum class Issue : uint8_t { kWarp, kSingleThread, kEachThread };

// How its effect becomes complete.
enum class Completion : uint8_t { kSynchronous, kWaitLd, kWaitSt, kCommit };

enum class LdStShape : uint8_t { kNone, k32x32b, k16x64b, k16x128b, k16x256b, k16x32bx2 };
enum class MmaKind : uint8_t { kNone, kF16, kTf32, kF8f6f4, kI8, kMxf8f6f4, kMxf4, kMxf4nvf4, kTi16 };
enum class CpShape : uint8_t { kNone, k128x256b, k4x256b, k128x128b, k64x128b, k32x128b };

struct Form {
  Tcgen05 op = Tcgen05::kNone;
  Issue issue = Issue::kEachThread;
  Completion completion = Completion::kSynchronous;
  bool is_load() const { return completion == Completion::kWaitLd; }  // ld and ld.red
  uint8_t cta_group = 0;  // 1 or 2; 0 when the instruction has none (or it is missing)

  // ld, ld.red, st
  LdStShape shape = LdStShape::kNone;
  uint16_t num = 0;        // the N of .xN
  bool pack = false;       // .pack::16b or .unpack::16b
  uint16_t registers = 0;  // 32-bit registers of the vector (ISA tables 49 and 50); 0 when not a legal combination
  uint8_t lanes = 0;       // lanes touched from the address's lane on: 32 or 16
  uint16_t columns = 0;    // 32-bit columns touched from the address's column on (for .16x32bx2: per half)

  // cp, mma, commit, alloc
  CpShape cp_shape = CpShape::kNone;
  MmaKind kind = MmaKind::kNone;
  bool sparse = false;  // .sp
  bool weight_stationary = false;
  bool block_scale = false;
  bool ashift = false;
  uint8_t scale_factors = 0;  // of a row of K with block scaling: 1, 2 or 4 (.scale_vec::NX, .block16, .block32)
  bool multicast = false;     // commit: .multicast::cluster; cp: any .warpx
  bool exclusive = false;     // alloc, dealloc (PTX 9.4)
  bool compress = false;      // ld.spcompress (PTX 9.4): `registers` counts the values, not the metadata before them

  bool operator==(const Form&) const = default;
};

// From the spelling alone. Tolerant: what is misspelt or missing is left at its default, so that the engine can go on;
// check_form says what is wrong with it.
Form decode(const Opcode& opcode);

// Where the operands of a form stand: indices into the instruction's top-level operands, kNone when it has none.
struct OperandRoles {
  uint32_t address = kNone;      // ld, st, cp, shift: [taddr]; mma: [d]; dealloc: taddr; alloc: [dst]; commit: [mbar]
  uint32_t columns = kNone;      // alloc, dealloc: nCols
  uint32_t vector = kNone;       // ld: destination; st: source
  uint32_t reduction = kNone;    // ld.red: redval
  uint32_t half_offset = kNone;  // .16x32bx2: immHalfSplitoff
  uint32_t a = kNone, b = kNone, idesc = kNone, metadata = kNone, scale_a = kNone, scale_b = kNone;
  uint32_t enable_input_d = kNone, disable_lanes = kNone, scale_d = kNone;
  uint32_t descriptor = kNone;           // cp: s-desc
  uint32_t mask = kNone;                 // commit: ctaMask
  uint32_t zero_column_mask = kNone;     // mma.ws: zero-column-mask-desc
  uint32_t compressed_metadata = kNone;  // ld.spcompress: mdata
};
OperandRoles roles(const Module& module, const Instruction& instruction, const Form& form);

// One thing the ISA forbids about an instruction as written.
struct FormProblem {
  Span span;            // the narrow thing that is wrong
  std::string message;  // what was found and what is legal there
  std::string fix;      // the opcode or operand to write instead when one change makes it legal; empty otherwise
  // The number of columns of an alloc or dealloc, written as an immediate: an assembler rejects it like the others, but
  // the rule about allocation sizes says it too, for immediates and registers alike.
  bool is_column_count = false;
  // About the module's .target and .version as a pair: the same for every instruction, and at the span of .target.
  bool is_about_module = false;
};

// What has been judged already and found legal, by the module's opcode: compilers write the same few spellings again
// and again. One for each module and check; empty at first.
using LegalOpcodes = std::vector<bool>;

// Qualifiers, their combinations, operand kinds and types, vector lengths, immediate ranges. Also judges the spellings
// of the barriers the protocol reads (mbarrier, barrier, elect, fence) as far as the table holds them.
std::vector<FormProblem> check_form(const Module& module, const Function& function, const Instruction& instruction,
                                    LegalOpcodes& legal);
// Whether check_form has anything to say about instructions with this opcode: of most there are it has not.
bool has_judged_form(const Opcode& opcode);

// Whether the module's .target and .version have the instruction; the message says from which on they do.
std::vector<FormProblem> check_target(const Module& module, const Instruction& instruction, LegalOpcodes& legal);

// Where the modifier of that index stands in the source, with its dot; the whole opcode when that cannot be told.
Span modifier_span(const Module& module, const Instruction& instruction, size_t index);

// Allocation capacity of one CTA in columns for a target: 512; 576 with `.exclusive` on sm_107.
uint32_t column_capacity(std::string_view target, bool exclusive);
// Whether alloc/dealloc may ask for that many columns: 32, 64, 128, 256, 512; with `.exclusive` any multiple of 32 up
// to the capacity.
bool legal_columns(std::string_view target, bool exclusive, int64_t columns);

}  // namespace tmemlint::ptx
