// Variables of constant and global memory that hold what the text initialises them with, all through a launch: tables.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "analyzer/kernel/layout.h"
#include "analyzer/program/meaning.h"

namespace tmemlint::program {

class ConstantTables {
public:
  ConstantTables() = default;
  // Of the variables that the kernel of a graph names. `meanings`: by Module::opcodes.
  ConstantTables(const kernel::Graph& graph, const kernel::Layout& layout, const std::vector<Meaning>& meanings);

  struct Table {
    uint64_t begin = 0;  // generic address
    const std::vector<uint8_t>* bytes = nullptr;
    uint64_t end() const { return begin + bytes->size(); }
  };
  // The table that an address lies in.
  const Table* find(uint64_t address) const;
  // The number that stands at an address, of up to 8 bytes that all lie in one table.
  std::optional<uint64_t> word(uint64_t address, unsigned bytes) const;
  bool empty() const { return tables_.empty(); }

private:
  std::vector<Table> tables_;  // ascending
};

}  // namespace tmemlint::program
