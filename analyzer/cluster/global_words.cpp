#include "analyzer/cluster/global_words.h"

#include <algorithm>

namespace tmemlint::cluster {

using value::TermKind;
using value::Value;

namespace {

constexpr uint32_t kNoWord = UINT32_MAX;

// The pointers that an address is made of: its summands with the coefficient 1 that are as wide as a pointer. Indexes
// are scaled or extended, so they do not look like that.
std::vector<uint32_t> pointers_of(const value::Terms& terms, uint32_t base) {
  std::vector<uint32_t> out;
  for (const value::Terms::Part part : terms.parts(base)) {
    const value::Term& t = terms[part.term];
    if (part.coefficient == 1 && t.kind == TermKind::kOpaque && t.width == 64) out.push_back(part.term);
  }
  return out;
}

}  // namespace

Value& GlobalWords::read(value::Terms& terms, Model& model, const Value& address, unsigned width, uint32_t warp,
                         uint64_t& serial) {
  const auto [at, fresh] = at_.try_emplace({address.base, address.number, width}, kNoWord);
  if (fresh) at->second = find(terms, model, address, width, serial);
  Word& word = words_[at->second];
  word.readers.set(warp);
  return word.value;
}

uint32_t GlobalWords::find(value::Terms& terms, Model& model, const Value& address, unsigned width, uint64_t& serial) {
  const std::vector<uint32_t> pointers = pointers_of(terms, address.base);
  std::vector<uint32_t>* candidates = pointers.empty() ? nullptr : &behind_[pointers];
  if (candidates != nullptr) {
    if (const uint32_t word = same_place(terms, model, address, width, *candidates); word != kNoWord) return word;
  }
  Word word;
  word.address = address;
  word.width = width;
  word.value =
      terms.opaque(value::site_of(value::UnknownKind::kRunGlobal), ++serial, value::Uniformity::kCta, 0, width);
  const auto number = static_cast<uint32_t>(words_.size());
  of_term_[word.value.base] = number;
  words_.push_back(word);
  if (candidates != nullptr) candidates->push_back(number);
  return number;
}

// A word that was read before at what is the same place in this scenario: its address is made of the same pointer and
// the same unknowns and is the same number, as with an index that one warp extends by its sign and another by zeros.
// That the two are equal is decided from now on. Addresses of different unknowns do not count: their numbers are equal
// only as long as nothing is decided about them.
uint32_t GlobalWords::same_place(value::Terms& terms, Model& model, const Value& address, unsigned width,
                                 const std::vector<uint32_t>& candidates) const {
  if (candidates.empty()) return kNoWord;
  const uint64_t number = model.number(address);
  std::vector<uint32_t> leaves = model.leaves_of(address.base);
  std::sort(leaves.begin(), leaves.end());
  for (const uint32_t n : candidates) {
    const Word& word = words_[n];
    if (word.width != width || model.number(word.address) != number) continue;
    std::vector<uint32_t> others = model.leaves_of(word.address.base);
    std::sort(others.begin(), others.end());
    if (!std::includes(leaves.begin(), leaves.end(), others.begin(), others.end()) &&
        !std::includes(others.begin(), others.end(), leaves.begin(), leaves.end()))
      continue;
    const Value same = terms.apply({value::Op::kEq, 64, false, 0}, address, word.address);
    if (same.base != 0 && same.number == 0 && terms.parts(same.base).size() == 1) model.decide(same.base, true);
    return n;
  }
  return kNoWord;
}

void GlobalWords::guess(const Model& model, uint32_t term) {
  if (words_.empty()) return;
  for (const uint32_t leaf : model.leaves_of(term)) {
    const auto at = of_term_.find(leaf);
    if (at == of_term_.end() || words_[at->second].guessed) continue;
    words_[at->second].guessed = true;
    guesses_.push_back(at->second);
  }
}

size_t GlobalWords::first_contradiction() const {
  for (size_t n = 1; n < guesses_.size(); ++n) {
    const auto& mine = words_[guesses_[n]].readers;
    for (size_t k = 0; k < n; ++k) {
      const auto& other = words_[guesses_[k]].readers;
      if ((mine & ~other).any() && (other & ~mine).any()) return n;
    }
  }
  return SIZE_MAX;
}

}  // namespace tmemlint::cluster
