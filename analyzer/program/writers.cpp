#include "analyzer/program/writers.h"

#include "analyzer/assumptions/assumptions.h"

namespace tmemlint::program {

using kernel::Block;
using ptx::Instruction;
using ptx::Operand;
using value::truncate;

Writers::Writers(const Operands& operands) : operands_(operands) {
  const kernel::Graph& graph = operands.graph();
  const auto blocks = static_cast<uint32_t>(graph.blocks.size());
  first_.assign(graph.register_count + 1, 0);
  for (const Block& block : graph.blocks) {
    for (uint32_t i = block.first; i < block.last; ++i)
      operands.each_written(block.frame, i, [&](uint32_t r) { ++first_[r + 1]; });
  }
  for (size_t r = 1; r < first_.size(); ++r) first_[r] += first_[r - 1];
  sites_.resize(first_.back());
  std::vector<uint32_t> next(first_.begin(), first_.end() - 1);
  for (uint32_t b = 0; b < blocks; ++b) {
    const Block& block = graph.blocks[b];
    for (uint32_t i = block.first; i < block.last; ++i)
      operands.each_written(block.frame, i, [&](uint32_t r) { sites_[next[r]++] = {block.frame, i, b}; });
  }
}

const Operand* Writers::copied(const Site& site) const {
  const Instruction& instruction = operands_.module().instructions[site.instruction];
  const Operand* operands = operands_.module().operands_of(instruction);
  const bool copies = operands_.meaning(site.instruction).action == Action::kMove && instruction.operand_count == 2 &&
                      instruction.guard == kNone && operands[0].kind == Operand::Kind::kRegister;
  return copies ? &operands[1] : nullptr;
}

uint32_t Writers::original(uint32_t reg) const {
  constexpr unsigned kMostCopies = assumptions::kCopiesOfAVariable;
  for (unsigned n = 0; n < kMostCopies && has_one(reg); ++n) {
    const Site& site = of(reg).front();
    const Operand* from = copied(site);
    if (from == nullptr || from->kind != Operand::Kind::kRegister) break;
    reg = operands_.graph().register_number(site.frame, from->ref);
  }
  return reg;
}

int8_t Writers::none_yet_way(const Block& block) const {
  const uint32_t condition = original(block.condition);
  if (!has_one(condition)) return -1;
  const Site& site = of(condition).front();
  const Meaning& m = operands_.meaning(site.instruction);
  if (m.action != Action::kCompare) return -1;
  const Instruction& compare = operands_.module().instructions[site.instruction];
  const Operand* operands = operands_.module().operands_of(compare);
  if (m.operation.op != value::Op::kEq || m.combine != Meaning::Combine::kNone || compare.operand_count != 3) return -1;
  const Operand& variable = operands[1];
  if (variable.kind != Operand::Kind::kRegister || operands[2].kind != Operand::Kind::kInteger) return -1;
  // Small numbers are indexes and flags that memory may hold as well: only negative ones are taken for "none yet", and
  // the largest positive one.
  const uint64_t none = truncate(static_cast<uint64_t>(operands[2].value), m.operation.width);
  if (none < truncate(~uint64_t{0}, m.operation.width - 1u)) return -1;
  bool begins_so = false;
  bool gets_another = false;
  for (const Site& writer : of(original(operands_.graph().register_number(site.frame, variable.ref)))) {
    const Operand* from = copied(writer);
    const bool number = from != nullptr && from->kind == Operand::Kind::kInteger;
    begins_so = begins_so || (number && truncate(static_cast<uint64_t>(from->value), m.operation.width) == none);
    gets_another = gets_another || !number;
  }
  if (!begins_so || !gets_another) return -1;
  const bool first_if_equal = m.invert == block.condition_negated;
  return first_if_equal ? 0 : 1;
}

}  // namespace tmemlint::program
