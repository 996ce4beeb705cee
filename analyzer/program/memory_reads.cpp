#include "analyzer/program/memory_reads.h"

#include "analyzer/program/local_pointers.h"

namespace tmemlint::program {

using ptx::Instruction;
using ptx::Operand;

namespace {

// The address that a load or store names; nullptr where it has none.
const Operand* first_address(const ptx::Module& module, uint32_t i) {
  const Instruction& instruction = module.instructions[i];
  const Operand* operands = module.operands_of(instruction);
  for (unsigned n = 0; n < instruction.operand_count; ++n) {
    if (operands[n].kind == Operand::Kind::kAddress) return &operands[n];
  }
  return nullptr;
}

}  // namespace

MemoryReads::MemoryReads(const Operands& operands) : operands_(operands), to_local_(find_local_pointers(operands)) {
  find_taken_parameters();
}

void MemoryReads::find_taken_parameters() {
  const ptx::Module& module = operands_.module();
  for (const kernel::Block& block : operands_.graph().blocks) {
    for (uint32_t i = block.first; i < block.last; ++i) {
      const Instruction& instruction = module.instructions[i];
      const Operand* operands = module.operands_of(instruction);
      for (unsigned n = 0; n < instruction.operand_count; ++n) {
        const Operand& o = operands[n];
        if (o.kind == Operand::Kind::kVariable && module.variables[o.ref].space == ptx::Space::kParam)
          parameters_taken_.insert(operands_.layout().address(block.frame, o.ref));
      }
    }
  }
}

void MemoryReads::add_load(uint32_t frame, uint32_t instruction) {
  if (operands_.meaning(instruction).space == MemorySpace::kParam) {
    if (const std::optional<uint64_t> p = parameter(frame, instruction)) {
      parameters_read_.insert(*p);
      if (!parameters_taken_.contains(*p)) return;
    }
  }
  read_ |= spaces_of(frame, instruction) & ~bit_of(MemorySpace::kGlobal);
}

bool MemoryReads::read(uint32_t frame, uint32_t store) const {
  const bool any = (read_ & spaces_of(frame, store)) != 0;
  if (operands_.meaning(store).space != MemorySpace::kParam) return any;
  const std::optional<uint64_t> p = parameter(frame, store);
  if (!p) return any || !parameters_read_.empty();
  return parameters_read_.contains(*p) || (any && parameters_taken_.contains(*p));
}

bool MemoryReads::is_shared_only(uint32_t frame, uint32_t store) const {
  const Spaces spaces = spaces_of(frame, store);
  return (spaces & bit_of(MemorySpace::kShared)) != 0 && (spaces & bit_of(MemorySpace::kLocal)) == 0;
}

std::optional<uint64_t> MemoryReads::parameter(uint32_t frame, uint32_t i) const {
  const ptx::Module& module = operands_.module();
  const Operand* o = first_address(module, i);
  if (o == nullptr || o->base != Operand::Kind::kVariable) return std::nullopt;
  if (module.variables[o->ref].space != ptx::Space::kParam) return std::nullopt;
  return operands_.layout().address(frame, o->ref);
}

// The state spaces that a load or store may be about.
MemoryReads::Spaces MemoryReads::spaces_of(uint32_t frame, uint32_t instruction) const {
  const MemorySpace s = operands_.meaning(instruction).space;
  if (s != MemorySpace::kGeneric) return bit_of(s);
  constexpr Spaces others = bit_of(MemorySpace::kShared) | bit_of(MemorySpace::kParam) | bit_of(MemorySpace::kConst);
  return may_point_to_local(frame, instruction) ? others | bit_of(MemorySpace::kLocal) : others;
}

bool MemoryReads::may_point_to_local(uint32_t frame, uint32_t i) const {
  const ptx::Module& module = operands_.module();
  const Operand* o = first_address(module, i);
  if (o == nullptr) return true;
  if (o->base == Operand::Kind::kVariable) return module.variables[o->ref].space == ptx::Space::kLocal;
  return o->base != Operand::Kind::kRegister || to_local_[operands_.graph().register_number(frame, o->ref)];
}

}  // namespace tmemlint::program
