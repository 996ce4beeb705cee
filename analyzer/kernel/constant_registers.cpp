#include "analyzer/kernel/constant_registers.h"

#include <algorithm>

#include "analyzer/assumptions/assumptions.h"

namespace tmemlint::kernel {

using ptx::Instruction;
using ptx::kNone;
using ptx::Opcode;
using ptx::Operand;

namespace {

constexpr uint32_t kSeveral = kNone - 1;

int64_t as_signed(uint64_t number, unsigned width) {
  const unsigned shift = 64 - width;
  return static_cast<int64_t>(number << shift) >> shift;
}

}  // namespace

ConstantRegisters::ConstantRegisters(const ptx::Module& module, const ptx::Function& function)
    : module_(module), function_(function), writer_(function.registers.size(), kNone) {
  note_writers();
}

// Whatever stands where results stand counts as written, so that a register is rather taken for one that changes.
void ConstantRegisters::note_writers() {
  const auto note = [&](const Operand& o, uint32_t i) {
    if (o.kind != Operand::Kind::kRegister || o.ref >= writer_.size()) return;
    writer_[o.ref] = writer_[o.ref] == kNone ? i : kSeveral;
  };
  for (const ptx::Function::Parameter& p : function_.parameters) {
    if (p.reg < writer_.size()) writer_[p.reg] = kSeveral;
  }
  for (uint32_t i = function_.first_instruction; i < function_.last_instruction; ++i) {
    const Instruction& instruction = module_.instructions[i];
    const Operand* operands = module_.operands_of(instruction);
    for (unsigned n = 0; n < instruction.operand_count; ++n) {
      if (n != 0 && !operands[n - 1].joined_with_next) break;
      const Operand& o = operands[n];
      note(o, i);
      if (o.kind != Operand::Kind::kVector && o.kind != Operand::Kind::kGroup) continue;
      for (int64_t k = 0; k < o.value; ++k) note(module_.operands[o.ref + static_cast<uint32_t>(k)], i);
    }
  }
  std::replace(writer_.begin(), writer_.end(), kSeveral, kNone);
}

std::optional<uint64_t> ConstantRegisters::of(const Operand& operand, unsigned depth) const {
  if (operand.kind == Operand::Kind::kInteger) return static_cast<uint64_t>(operand.value);
  if (operand.kind != Operand::Kind::kRegister || operand.component != Operand::kWhole) return std::nullopt;
  std::optional<uint64_t> number = of(operand.ref, depth + 1);
  if (number && operand.negated)
    number = function_.registers[operand.ref].type == ptx::Type::kPred ? 1 - *number : 0 - *number;
  return number;
}

std::optional<uint64_t> ConstantRegisters::of(uint32_t reg, unsigned depth) const {
  if (depth > assumptions::kCopiesOfAVariable || reg >= writer_.size() || writer_[reg] == kNone) return std::nullopt;
  const Instruction& instruction = module_.instructions[writer_[reg]];
  if (instruction.guard != kNone) return std::nullopt;
  const Operand* operands = module_.operands_of(instruction);
  const std::string_view root = module_.opcode(instruction).root;
  if (root == "setp" && operands[0].ref == reg) return compared(instruction, depth);
  if (instruction.operand_count != 2 || operands[0].kind != Operand::Kind::kRegister) return std::nullopt;
  std::optional<uint64_t> number;
  if (root == "mov" || root == "not") number = of(operands[1], depth);
  if (!number) return std::nullopt;
  const ptx::Register& r = function_.registers[reg];
  const unsigned width = ptx::bits(r.type);
  if (width == 1) {
    if (operands[1].kind == Operand::Kind::kInteger) *number = *number != 0 ? 1 : 0;
    return root == "not" ? 1 - *number : *number;
  }
  if (root == "not") number = ~*number;
  return width == 0 || width >= 64 ? *number : *number & ((uint64_t{1} << width) - 1);
}

// setp of two numbers.
std::optional<uint64_t> ConstantRegisters::compared(const Instruction& instruction, unsigned depth) const {
  const Opcode& opcode = module_.opcode(instruction);
  const Operand* operands = module_.operands_of(instruction);
  if (instruction.operand_count != 3 || opcode.modifiers.size() != 2 || operands[0].joined_with_next)
    return std::nullopt;
  const ptx::Type type = ptx::type_from_suffix(opcode.modifiers[1]);
  if (!ptx::is_integer_type(type)) return std::nullopt;
  const auto left = of(operands[1], depth);
  const auto right = of(operands[2], depth);
  if (!left || !right) return std::nullopt;
  const unsigned width = ptx::bits(type);
  const uint64_t mask = width >= 64 ? ~uint64_t{0} : (uint64_t{1} << width) - 1;
  const uint64_t a = *left & mask;
  const uint64_t b = *right & mask;
  const bool is_signed = opcode.modifiers[1].starts_with("s");
  const bool less = is_signed ? as_signed(a, width) < as_signed(b, width) : a < b;
  const std::string_view relation = opcode.modifiers[0];
  if (relation == "eq") return a == b;
  if (relation == "ne") return a != b;
  if (relation == "lt" || relation == "lo") return less;
  if (relation == "le" || relation == "ls") return less || a == b;
  if (relation == "gt" || relation == "hi") return !less && a != b;
  if (relation == "ge" || relation == "hs") return !less;
  return std::nullopt;
}

uint32_t ConstantRegisters::special(uint32_t reg) const {
  for (unsigned depth = 0; depth < assumptions::kCopiesOfAVariable; ++depth) {
    if (reg >= writer_.size() || writer_[reg] == kNone) return kNone;
    const Instruction& instruction = module_.instructions[writer_[reg]];
    const Operand* operands = module_.operands_of(instruction);
    if (module_.opcode(instruction).root != "mov" || instruction.guard != kNone || instruction.operand_count != 2)
      return kNone;
    if (operands[1].kind == Operand::Kind::kSpecial) return operands[1].ref;
    if (operands[1].kind != Operand::Kind::kRegister) return kNone;
    reg = operands[1].ref;
  }
  return kNone;
}

}  // namespace tmemlint::kernel
