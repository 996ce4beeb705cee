// Which registers are alive where a block begins: some path from there reads them before it overwrites them.
#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/program/program.h"

namespace tmemlint::program {

class Liveness {
public:
  explicit Liveness(const Program& program);

  // Ascending.
  std::vector<uint32_t> before(uint32_t block) const;
  // The registers that are read behind a block's steps, by its own branch or later: a bit each.
  void behind(uint32_t block, std::vector<uint64_t>& out) const;

private:
  void look_at_blocks();
  void solve();
  bool flow_back(uint32_t block);

  const Program& program_;
  const size_t blocks_;
  // Few registers are alive where some block begins: only those have a bit in the sets of each block.
  std::vector<uint32_t> registers_;  // by bit, ascending
  size_t words_ = 0;                 // of 64 bits, per block
  std::vector<uint64_t> live_;       // where the block begins
  std::vector<uint64_t> keep_;       // what the block does not overwrite
};

}  // namespace tmemlint::program
