// Who writes each register, over all paths of a kernel.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "analyzer/program/operands.h"

namespace tmemlint::program {

class Writers {
public:
  explicit Writers(const Operands& operands);

  std::span<const Site> of(uint32_t reg) const {
    return {sites_.data() + first_[reg], sites_.data() + first_[reg + 1]};
  }
  bool has_one(uint32_t reg) const { return first_[reg + 1] - first_[reg] == 1; }
  // The register that a register is a copy of, as far as unconditional moves lead; itself when it is none.
  uint32_t original(uint32_t reg) const;

  // The way (0 or 1, in Block::successors) of a branch that asks whether a variable still has the number that it began
  // with; -1 for any other branch. See Code::none_yet.
  int8_t none_yet_way(const kernel::Block& block) const;

private:
  // What an unconditional `mov` copies.
  const ptx::Operand* copied(const Site& site) const;

  const Operands& operands_;
  std::vector<Site> sites_;      // those of register r are at first_[r] …
  std::vector<uint32_t> first_;  // … up to first_[r + 1]
};

}  // namespace tmemlint::program
