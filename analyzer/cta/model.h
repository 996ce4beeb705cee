// Numbers for what a scenario does not know (parameters, loaded words), so that its decisions can all hold at once.
//
// A decision that the numbers at hand make true needs nothing; for the other way, other numbers are looked for that
// also agree with every decision before. Where none are found the decision goes the way that the numbers say: a
// scenario never takes a path that arithmetic rules out.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analyzer/warp/value.h"

namespace tmemlint::cta {

class Model {
public:
  explicit Model(const warp::Terms& terms) : terms_(terms) {}

  // The truth value that a term has with the numbers at hand.
  bool holds(uint32_t term);
  // Decides it: changes the numbers if that is needed. False when no numbers were found; nothing has changed then.
  bool decide(uint32_t term, bool truth);

  uint64_t attempts = 0;  // sets of numbers that were tried: what deciding cost

  // Whether a value is computed from kernel parameters and the launch alone.
  bool of_parameters(uint32_t term) const;
  uint64_t number(const warp::Value& value) {
    if (known_.size() < terms_.size()) known_.resize(terms_.size());
    return evaluate(value);
  }

private:
  struct Known {
    uint64_t round = 0;
    uint64_t number = 0;
  };
  uint64_t evaluate(uint32_t term);
  uint64_t evaluate(const warp::Value& value);
  bool agrees(uint32_t term, bool truth);
  bool attempt(uint32_t leaf, uint64_t number, uint32_t term, bool truth);
  void leaves_of(uint32_t term, std::vector<uint32_t>& leaves, std::vector<bool>& seen) const;
  std::vector<uint64_t> candidates(uint32_t leaf, uint32_t term);
  uint64_t usual(uint32_t leaf) const;
  bool is_leaf(uint32_t term) const;
  bool is_negative(uint32_t leaf, uint64_t number) const;

  const warp::Terms& terms_;
  std::unordered_map<uint32_t, uint64_t> numbers_;  // by leaf
  std::vector<std::pair<uint32_t, bool>> decisions_;
  std::set<std::pair<uint32_t, bool>> failed_;  // decisions that no numbers were found for: more decisions do not help
  std::vector<Known> known_;                    // by term
  uint64_t round_ = 1;
};

}  // namespace tmemlint::cta
