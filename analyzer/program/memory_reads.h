// Which memory the loads of the slice may read, and so which stores belong to the slice.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_set>
#include <vector>

#include "analyzer/program/operands.h"

namespace tmemlint::program {

class MemoryReads {
public:
  explicit MemoryReads(const Operands& operands);

  // Something in the slice reads this: a load; a `.param` variable as a callee's result; any shared memory, through a
  // descriptor.
  void add_load(uint32_t frame, uint32_t instruction);
  void add_parameter(uint64_t address) { parameters_read_.insert(address); }
  void add_shared() { read_ |= bit_of(MemorySpace::kShared); }

  // Whether any of that may read what a store writes.
  bool read(uint32_t frame, uint32_t store) const;
  bool reads_parameter(uint64_t address) const { return parameters_read_.contains(address); }
  // Whether a store may write shared memory, and cannot write local memory.
  bool is_shared_only(uint32_t frame, uint32_t store) const;
  // The address of the `.param` variable that a load or store names.
  std::optional<uint64_t> parameter(uint32_t frame, uint32_t instruction) const;

private:
  using Spaces = uint8_t;  // a bit for each state space
  static constexpr Spaces bit_of(MemorySpace s) { return static_cast<Spaces>(1u << static_cast<unsigned>(s)); }

  void find_taken_parameters();
  Spaces spaces_of(uint32_t frame, uint32_t instruction) const;
  bool may_point_to_local(uint32_t frame, uint32_t instruction) const;

  const Operands& operands_;
  std::vector<bool> to_local_;  // by register: may hold an address of local memory
  // Read in the slice; of `.param` only what is not read by its name. Never global memory: what it holds is unknown,
  // whoever writes it.
  Spaces read_ = 0;
  std::unordered_set<uint64_t> parameters_read_;  // addresses of `.param` variables that are read by their names
  // `.param` variables whose address is computed with: formal parameters that are reached through their address as well
  // as by their name (PTX ISA 5.1.6.4). An argument of a call has only its name: what is stored to it is read by its
  // callee alone.
  std::unordered_set<uint64_t> parameters_taken_;
};

}  // namespace tmemlint::program
