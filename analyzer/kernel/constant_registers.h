// Registers of a function that hold one number whenever they are read: written once, with a constant, or with what is
// computed from such registers.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "analyzer/ptx/module.h"

namespace tmemlint::kernel {

class ConstantRegisters {
public:
  ConstantRegisters(const ptx::Module& module, const ptx::Function& function);

  // The number that a register holds, of its own width; a predicate: 0 or 1.
  std::optional<uint64_t> of(uint32_t reg) const { return of(reg, 0); }
  // The same of an operand; an integer is itself.
  std::optional<uint64_t> of(const ptx::Operand& operand) const { return of(operand, 0); }
  // The special register (Module::special_registers) that a register is a copy of; kNone for another one.
  uint32_t special(uint32_t reg) const;

private:
  std::optional<uint64_t> of(uint32_t reg, unsigned depth) const;
  std::optional<uint64_t> of(const ptx::Operand& operand, unsigned depth) const;
  std::optional<uint64_t> compared(const ptx::Instruction& instruction, unsigned depth) const;
  void note_writers();

  const ptx::Module& module_;
  const ptx::Function& function_;
  std::vector<uint32_t> writer_;  // by register: the instruction; kNone where there is none, or more than one
};

}  // namespace tmemlint::kernel
