#include "analyzer/program/liveness.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "analyzer/program/steps.h"

namespace tmemlint::program {

namespace {

uint64_t bit(uint32_t n) {
  return uint64_t{1} << (n % 64);
}

template <typename F>
void each_bit(const uint64_t* bits, size_t words, F&& f) {
  for (size_t w = 0; w < words; ++w) {
    for (uint64_t rest = bits[w]; rest != 0; rest &= rest - 1)
      f(static_cast<uint32_t>(w * 64 + static_cast<size_t>(std::countr_zero(rest))));
  }
}

}  // namespace

Liveness::Liveness(const Program& program) : program_(program), blocks_(program.graph->blocks.size()) {
  look_at_blocks();
  solve();
}

// What each block by itself reads and overwrites.
void Liveness::look_at_blocks() {
  StepRange range(program_);
  std::vector<bool> outlives(program_.register_width.size());
  std::vector<std::pair<uint32_t, uint32_t>> reads, writes;  // block and register
  for (uint32_t b = 0; b < blocks_; ++b) {
    const Code& code = program_.code[b];
    range.look(code.first, code.last);
    if (code.condition != kNone) range.need(code.condition);
    for (uint32_t r : range.needed()) {
      outlives[r] = true;
      reads.emplace_back(b, r);
    }
    for (uint32_t r : range.replaced()) writes.emplace_back(b, r);
  }
  std::vector<uint32_t> bit_of(outlives.size(), kNone);
  for (uint32_t r = 0; r < outlives.size(); ++r) {
    if (!outlives[r]) continue;
    bit_of[r] = static_cast<uint32_t>(registers_.size());
    registers_.push_back(r);
  }
  words_ = (registers_.size() + 63) / 64;
  live_.assign(blocks_ * words_, 0);
  keep_.assign(blocks_ * words_, ~uint64_t{0});
  for (const auto& [b, r] : reads) live_[b * words_ + bit_of[r] / 64] |= bit(bit_of[r]);
  for (const auto& [b, r] : writes) {
    if (bit_of[r] != kNone) keep_[b * words_ + bit_of[r] / 64] &= ~bit(bit_of[r]);
  }
}

// From each block to those before it, until nothing changes any more. Mostly what follows a block comes behind it in
// the order: so from the last to the first.
void Liveness::solve() {
  std::vector<std::vector<uint32_t>> before(blocks_);
  for (uint32_t b = 0; b < blocks_; ++b) {
    for (size_t k = 0; k < next_count(program_, b); ++k) before[next_begin(program_, b)[k]].push_back(b);
  }
  std::vector<bool> due(blocks_, true);
  for (bool any = true; any;) {
    any = false;
    for (auto b = static_cast<uint32_t>(blocks_); b-- > 0;) {
      if (!due[b]) continue;
      due[b] = false;
      if (!flow_back(b)) continue;
      for (uint32_t p : before[b]) {
        due[p] = true;
        any = any || p >= b;
      }
    }
  }
}

// True when more is alive before the block than was known.
bool Liveness::flow_back(uint32_t block) {
  const uint32_t* successors = next_begin(program_, block);
  const size_t count = next_count(program_, block);
  bool changed = false;
  for (size_t w = 0; w < words_; ++w) {
    uint64_t next = 0;
    for (size_t k = 0; k < count; ++k) next |= live_[successors[k] * words_ + w];
    uint64_t& live = live_[block * words_ + w];
    const uint64_t now = live | (next & keep_[block * words_ + w]);
    changed = changed || now != live;
    live = now;
  }
  return changed;
}

std::vector<uint32_t> Liveness::before(uint32_t block) const {
  const uint64_t* live = live_.data() + block * words_;
  size_t count = 0;
  for (size_t w = 0; w < words_; ++w) count += static_cast<size_t>(std::popcount(live[w]));
  std::vector<uint32_t> out;
  out.reserve(count);
  each_bit(live, words_, [&](uint32_t n) { out.push_back(registers_[n]); });
  return out;
}

void Liveness::behind(uint32_t block, std::vector<uint64_t>& out) const {
  out.assign((program_.register_width.size() + 63) / 64, 0);
  const uint32_t* successors = next_begin(program_, block);
  const size_t count = next_count(program_, block);
  for (size_t w = 0; w < words_; ++w) {
    uint64_t next = 0;
    for (size_t k = 0; k < count; ++k) next |= live_[successors[k] * words_ + w];
    each_bit(&next, 1, [&](uint32_t n) {
      const uint32_t r = registers_[w * 64 + n];
      out[r / 64] |= bit(r);
    });
  }
  if (const uint32_t condition = program_.code[block].condition; condition != kNone)
    out[condition / 64] |= bit(condition);
}

}  // namespace tmemlint::program
