// What values are computed from, over all of a kernel's paths.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "analyzer/program/program.h"

namespace tmemlint::cluster {

class ValueOrigins {
public:
  explicit ValueOrigins(const program::Program& program);
  // Adds what a register may be computed from: registers that loads and the like write, and parameters. Loads of one
  // parameter are one origin.
  void collect(uint32_t reg, std::set<uint64_t>& out) const;
  // Whether it may be computed from the place of a thread or a CTA in its block or cluster.
  bool of_place(uint32_t reg) const;
  // Whether an address of a step is computed from a register that counts up in a loop: one that is computed there from
  // what it was itself the round before.
  bool address_counts_in(uint32_t step, const kernel::Loop& loop) const;
  // Whether an address of a step and a register are computed from the same parameter.
  bool address_shares_parameter(uint32_t step, uint32_t reg) const;

private:
  // Calls `f` with each step that a register may be computed by, through computations, and the register it writes
  // there.
  template <typename F>
  void walk(uint32_t reg, F&& f) const;
  bool computes(const program::Step& step) const;
  uint64_t origin(const program::Step& step, uint32_t reg) const;
  template <typename F>
  void each(const program::Step& step, bool written, F&& f) const;

  const program::Program& program_;
  std::vector<std::vector<uint32_t>> writers_;  // steps, by register
};

}  // namespace tmemlint::cluster
