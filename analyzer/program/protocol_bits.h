// Which bits of each register the protocol of a kernel depends on: what instructions of the protocol name and when they
// run. A counter that only the end of its loop is decided by, and coordinates and addresses of data, have none.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "analyzer/program/program.h"

namespace tmemlint::program {

// Branches of `free_blocks` (by block) decide nothing here: whether a loop goes round once more. Nor does it matter
// what is compared with a number that only the launch or memory gives, a bound of a loop or of an array: what comes of
// the comparison does. Conservative: a bit that is not set does not matter; one that is set may matter.
class ProtocolBits {
public:
  ProtocolBits(const Program& program, std::vector<bool> free_blocks);

  // A register with the bits of its value that matter, which are some.
  using Bits = std::pair<uint32_t, uint64_t>;
  // Before a step of a block, or where it ends (the step behind its last one), by register, ascending.
  const std::vector<Bits>& before(uint32_t block, uint32_t step);

private:
  friend class BitsOfBlock;
  const Program& program_;
  const std::vector<bool> free_;
  // By block, of the registers that are needed there (Code::live_in): their bits, and whether they are of the launch.
  std::vector<std::vector<uint64_t>> bits_in_;
  std::vector<std::vector<uint8_t>> of_launch_in_;
  std::map<std::pair<uint32_t, uint32_t>, std::vector<Bits>> known_;
};

}  // namespace tmemlint::program
