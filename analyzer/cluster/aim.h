// Numbers for the unknowns of a condition, worked out backwards: what a comparison wants of its sides goes down through
// sums, products, quotients, shifts, minima and choices to the unknowns at their ends. A loop over
// `(rows / 256) * (cols / 256)` is entered like this, which no number of one size alone makes true.
#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/value/value.h"

namespace tmemlint::cluster {

class Model;

class Aim {
public:
  // Each `plan` is another way to go down where there are several: which side of a comparison, which factor.
  Aim(Model& model, uint32_t plan) : model_(model), plan_(plan) {}

  // Gives unknowns numbers with which a term should have this truth: those that an earlier call gave numbers keep them.
  // False where this plan knows no way.
  bool at_truth(uint32_t term, bool truth) { return at_truth(value_of(term), truth); }
  // Whether the plan has been used up: with a larger one nothing else comes out.
  bool repeats() const { return plan_ != 0; }

private:
  // Numbers from low to high, as signed ones.
  struct Range {
    int64_t low, high;
    bool has(int64_t n) const { return low <= n && n <= high; }
    bool empty() const { return low > high; }
  };
  static constexpr int64_t kAny = int64_t{1} << 60;  // more is "any"

  static value::Value value_of(uint32_t term);
  uint32_t choice(uint32_t ways);
  int64_t number(const value::Value& value, unsigned width, bool is_signed) const;
  bool at_truth(const value::Value& value, bool truth);
  bool at_equal(const value::Term& comparison, bool truth);
  bool at_less(const value::Term& comparison, bool truth);
  bool at(const value::Value& value, unsigned width, Range want);
  bool at_term(uint32_t term, Range want);
  bool at_unknown(uint32_t leaf, Range want);
  bool at_sum(uint32_t term, Range want);
  bool at_operation(uint32_t term, Range want);
  bool at_product(const value::Term& product, Range want);
  bool at_quotient(const value::Term& quotient, Range want);
  bool at_upper_half(const value::Term& product, Range want);
  bool at_smallest(const value::Term& minimum, Range want, bool smallest);
  bool at_choice(const value::Term& selection, Range want);
  bool at_bits(const value::Term& masked, Range want);
  static Range over(Range want, int64_t factor);

  Model& model_;
  uint32_t plan_;
  unsigned depth_ = 0;
  std::vector<uint32_t> given_;  // unknowns that have got a number
};

}  // namespace tmemlint::cluster
