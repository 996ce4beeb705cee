#include "analyzer/value/term_store.h"

#include <algorithm>
#include <bit>

namespace tmemlint::value {

TermStore::TermStore() {
  terms_.emplace_back();  // term 0: no base
}

Value TermStore::opaque(uint64_t site, uint64_t part, Uniformity uniformity, uint64_t loops, unsigned width,
                        uint64_t zero_bits) {
  return Value::of_term(intern({TermKind::kOpaque, width, {}, site, part}, [&](Term& term) {
    term.uniformity = uniformity;
    term.loops = loops;
    term.zero_bits = zero_bits | ~truncate(~uint64_t{0}, width);
  }));
}

Value TermStore::allocation(uint64_t site, uint64_t part, uint64_t columns, uint64_t capacity) {
  // Lane 0, a multiple of the allocation unit of 32 columns (ISA 9.7.16.1.2), with all its columns below the capacity.
  constexpr uint64_t kUnit = 32;
  const uint32_t base = intern({TermKind::kAllocation, 32, {}, site, part}, [capacity](Term& term) {
    term.zero_bits = ~((std::bit_ceil(capacity) - 1) & ~(kUnit - 1));
  });
  const uint64_t last = capacity - std::min(std::max(columns, kUnit), capacity);
  uint64_t& starts = starts_[base];
  starts |= (std::bit_ceil(last + 1) - 1) & ~(kUnit - 1);
  return Value::of_term(base);
}

uint32_t TermStore::join(uint64_t site, uint64_t part, uint64_t loops, unsigned width) {
  return intern({TermKind::kJoin, width, {}, site, part}, [loops](Term& term) {
    term.loops = loops;
    term.uniformity = Uniformity::kWarp;
  });
}

void TermStore::set_list(uint32_t join, std::vector<Value> set, bool listed) {
  Term& term = terms_[join];
  if (term.listed == listed && term.set == set) return;
  if (listed && !term.listed) ++listings_;  // what could not be listed because of it now may be
  term.set = std::move(set);
  term.listed = listed;
  list_changed();
}

void TermStore::set_zero_bits(uint32_t term, uint64_t zero_bits) {
  if (terms_[term].zero_bits == zero_bits) return;
  terms_[term].zero_bits = zero_bits;
  if (term + 1 != terms_.size()) ++zero_bits_version_;  // what was made of it rests on the bits it had
}

void TermStore::add_symmetric(Term& term, uint8_t bits_of_lane) {
  term.symmetric |= bits_of_lane;
  if (term.symmetric == kLanes - 1) term.uniformity = std::min(term.uniformity, Uniformity::kWarp);
}

uint8_t TermStore::symmetric(const Value& value) const {
  constexpr uint8_t kAllBits = kLanes - 1;
  if (value.table != 0 || value.without_base != 0) return 0;
  if (value.base == 0 || terms_[value.base].uniformity != Uniformity::kLane) return kAllBits;
  return terms_[value.base].symmetric;
}

bool TermStore::uniform(const Value& value, uint32_t mask) const {
  if (mask == 0 || (mask & (mask - 1)) == 0) return true;
  if (value.base != 0) {
    const uint32_t without = value.without_base & mask;
    if (without != 0 && without != mask) return false;
    if (without == 0 && terms_[value.base].uniformity == Uniformity::kLane) return false;
  }
  if (value.table == 0) return true;
  const auto first = static_cast<unsigned>(std::countr_zero(mask));
  for (unsigned l = first; l < kLanes; ++l) {
    if (((mask >> l) & 1) != 0 && tables_[value.table][l] != tables_[value.table][first]) return false;
  }
  return true;
}

uint64_t TermStore::zero_bits(const Value& value, unsigned lane) const {
  const uint64_t n = tables_.number_in(value, lane);
  if (value.base == 0 || ((value.without_base >> lane) & 1) != 0) return ~n;
  const uint64_t ones = ~terms_[value.base].zero_bits;
  if (ones == 0) return ~n;
  // Below the base's lowest possible one the number shows through; above the highest only if no carry can get there.
  const auto low = static_cast<unsigned>(std::countr_zero(ones));
  uint64_t zero = ~n & truncate(~uint64_t{0}, low);
  const auto top = static_cast<unsigned>(std::bit_width(ones));
  for (unsigned split = top; split <= top + 1 && split < 64; ++split) {
    const uint64_t mask = truncate(~uint64_t{0}, split);
    if ((n & mask) + ones <= mask) {
      zero |= ~n & ~mask;
      break;
    }
  }
  return zero;
}

uint64_t TermStore::ones_of(const Value& value) const {
  // The sum of what has no bits in common.
  uint64_t ones = tables_.number_in(value, 0);
  bool apart = value.without_base == 0;
  for (const Summand part : summands(value.base)) {
    const auto starts = starts_.find(part.term);
    const uint64_t own = (starts != starts_.end() ? starts->second : ~terms_[part.term].zero_bits) * part.coefficient;
    apart = apart && std::has_single_bit(part.coefficient) && (ones & own) == 0;
    ones |= own;
  }
  return apart ? ones : ~zero_bits(value, 0);
}

}  // namespace tmemlint::value
