// Instruction descriptors (32 bits) and shared-memory descriptors (64 bits) of tcgen05.mma and tcgen05.cp: their fields
// and what the ISA forbids about them. An assembler looks at neither.
// PTX ISA 9.1: 9.7.16.4.2 (instruction), 9.7.16.4.1 (shared memory), 9.7.16.2.1 (shapes); additions of PTX 9.4
// (sm_107).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/ptx/tcgen05.h"

namespace tmemlint::ptx {

struct DescriptorField {
  std::string_view name;
  unsigned lo, hi;  // bits, both inclusive
  uint64_t value;
  std::string meaning;  // "128", "f32"; empty for a reserved field
};

// Empty for MmaKind::kNone.
std::vector<DescriptorField> decode_idesc(uint32_t idesc, MmaKind kind);
std::vector<DescriptorField> decode_smem_descriptor(uint64_t descriptor);

// What is wrong with it for an instruction of this form, a sentence each; with .cta_group unknown (0), what is wrong
// for both. `target` is the module's, "sm_100a".
std::vector<std::string> judge_idesc(uint32_t idesc, const Form& form, std::string_view target);

// With only some of the bits known: those in `known_mask`. Speaks only of what they decide.
std::vector<std::string> judge_smem_descriptor(uint64_t descriptor, uint64_t known_mask, std::string_view target);

// What the instruction descriptor asks of A or B and the way that the shared-memory descriptor lays it out does not
// give.
std::vector<std::string> judge_operand_layout(uint32_t idesc, const Form& form, bool is_b, uint64_t descriptor,
                                              uint64_t known_mask);

// ".kind::f16"; empty for kNone. And the other way round, from "f16", "kind::f16" or ".kind::f16".
std::string kind_text(MmaKind kind);
MmaKind kind_from(std::string_view text);
// All of them: "f16, tf32, …"
std::string kinds_text();

// Which rows and columns of Tensor Memory an mma touches; 0 where the descriptor is illegal or the ISA's text does not
// say.
struct MmaShape {
  unsigned m = 0, n = 0, k = 0;
  char layout = 0;          // of D: 'A' to 'G' (9.7.16.10.5)
  unsigned d_columns = 0;   // 32-bit columns of the accumulator in each CTA, whatever its type
  unsigned a_columns = 0;   // 32-bit columns of A when it is in Tensor Memory
  bool half_lanes = false;  // D (and A and the metadata) take 16 of every 32 lanes: base lane 0 or 16
};
MmaShape mma_shape(uint32_t idesc, const Form& form);

// Where a matrix starts in shared memory, in bytes: bits 13 to 0 of a shared-memory descriptor, in units of 16
// (9.7.16.4.1).
constexpr uint32_t matrix_start(uint64_t descriptor) {
  return static_cast<uint32_t>((descriptor & 0x3fff) << 4);
}

// Where the rows of a matrix in shared memory are, as far as its descriptor says: K-major ones, in groups of 8 rows
// (9.7.16.5.1, 9.7.16.4.1). Each row's first 16 bytes are read.
struct MatrixRows {
  uint32_t count = 0;             // 0: not known
  uint32_t start = 0, group = 0;  // bytes
  uint32_t pitch = 0;             // bytes that one row takes, of one K-major or MN-major column; 0: not known
  uint32_t swizzle = 0;           // of the address: as many bits from bit 7 on are exchanged with those from bit 4 on

  uint32_t begin_of(uint32_t row) const {
    const uint32_t plain = start + row / 8 * group + row % 8 * pitch;
    return plain ^ (((plain >> 7) & swizzle) << 4);
  }
};
MatrixRows matrix_rows(uint64_t descriptor, std::optional<uint32_t> idesc, const Form& form, bool is_b);

}  // namespace tmemlint::ptx
