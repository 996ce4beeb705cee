// Numbers for what a scenario does not know (parameters, loaded words), so that its decisions can all hold at once.
//
// A decision that the numbers at hand make true needs nothing; for the other way, other numbers are looked for that
// also agree with every decision before. Where none are found the decision goes the way that the numbers say: a
// scenario never takes a path that arithmetic rules out.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "analyzer/value/value.h"

namespace tmemlint::cluster {

class Model {
public:
  explicit Model(const value::Terms& terms) : terms_(&terms) {}
  const value::Terms& terms() const { return *terms_; }

  // The truth value that a term has with the numbers at hand.
  bool holds(uint32_t term);
  // Decides it: changes the numbers if that is needed. False when no numbers were found; nothing has changed then.
  bool decide(uint32_t term, bool truth);

  uint64_t attempts = 0;  // sets of numbers that were tried: what deciding cost

  // The unknowns that a value is computed from; the first ones of many.
  std::vector<uint32_t> leaves_of(uint32_t term) const;
  // Whether a value is computed from kernel parameters and the launch alone.
  bool of_parameters(uint32_t term) const;
  // The same, or from words of global memory that are the same for all threads that read them.
  bool of_words(uint32_t term) const;
  uint64_t number(const value::Value& value) {
    known_.grow(terms_->size());
    return evaluate(value);
  }

private:
  friend class Aim;
  // The number of a term, remembered (memoised): right until one of the unknowns that the term is computed from gets
  // another number.
  struct Known {
    uint64_t at = 0;  // when, in counts of `clock_`; 0: never
    uint64_t number = 0;
    uint64_t leaves = 0;  // which unknowns, as bits: every 64th shares one
    bool leaf = false;
    bool decided = false;  // is one of `decisions_`
  };
  const Known& evaluate(uint32_t term);
  uint64_t evaluate(const value::Value& value);
  bool stands(Known& known);
  using Numbers = std::vector<std::vector<uint64_t>>;  // that unknowns may take, by unknown
  bool find_numbers(uint32_t term, bool truth);
  bool decide_parts(uint32_t term, bool truth);
  bool search(uint32_t term, bool truth);
  bool search_one(uint32_t term, bool truth, const std::vector<uint32_t>& leaves, Numbers& numbers);
  bool search_repairs(uint32_t term, bool truth, const std::vector<uint32_t>& leaves, const Numbers& numbers);
  bool search_aims(uint32_t term, bool truth);
  bool search_pairs(uint32_t term, bool truth, const std::vector<uint32_t>& leaves, const Numbers& numbers);
  void set(uint32_t leaf, uint64_t number);
  void put(uint32_t leaf, uint64_t number);
  void take_back(size_t changes);
  bool keeps(std::pair<uint32_t, bool> decision, uint64_t changed);
  bool agrees(uint32_t term, bool truth, uint64_t changed);
  bool attempt(uint32_t leaf, uint64_t number, uint32_t term, bool truth, uint64_t changed = 0);
  std::optional<uint64_t> distance(uint32_t term, bool truth);
  bool from_alike(uint64_t size, uint32_t term, bool truth, const std::vector<uint32_t>& leaves);
  bool approach(uint32_t term, bool truth, const std::vector<uint32_t>& leaves);
  void add_decision(uint32_t term, bool truth);
  void forget_decisions(size_t from);
  void collect_leaves(uint32_t term, std::vector<uint32_t>& leaves) const;
  std::vector<uint64_t> candidates(uint32_t leaf, uint32_t term);
  uint64_t usual(uint32_t leaf) const;
  bool is_leaf(uint32_t term) const;
  bool is_negative(uint32_t leaf, uint64_t number) const;
  bool is_launch(uint32_t leaf) const;
  bool is_parameter(uint32_t leaf) const;
  bool is_size(uint32_t leaf) const;
  bool is_position(uint32_t leaf) const;
  bool can_be(uint32_t leaf, uint64_t number) const;
  bool is_plausible(uint32_t leaf, uint64_t number) const;

  const value::Terms* terms_;
  value::Sparse<Known> known_;          // by term; a leaf's number is what it is given
  std::array<uint64_t, 64> changed_{};  // by bit of `Known::leaves`: when an unknown with this bit last got a number
  uint64_t clock_ = 1;
  uint64_t began_ = 1;          // when the decision under way began
  uint64_t changed_since_ = 0;  // unknowns that got another number since then
  uint32_t leaf_count_ = 0;
  std::vector<std::pair<uint32_t, uint64_t>> changes_;  // of the decision under way: leaf, its number before
  std::vector<std::pair<uint32_t, bool>> decisions_;
  std::set<std::pair<uint32_t, bool>> failed_;  // decisions that no numbers were found for: more decisions do not help
  std::vector<std::pair<uint32_t, bool>> failures_;  // the same, in the order in which they failed
  mutable std::vector<bool> seen_;                   // scratch of leaves_of, by term
  mutable std::vector<uint32_t> trail_;
};

}  // namespace tmemlint::cluster
