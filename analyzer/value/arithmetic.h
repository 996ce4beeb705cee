// Operations on values: folds what is known, keeps linear forms linear, else makes a term.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "analyzer/value/term_store.h"

namespace tmemlint::value {

class Arithmetic {
public:
  explicit Arithmetic(TermStore& store) : store_(store) {}

  // Any pure operation, of one to four values.
  Value apply(Operation operation, const Value* args, unsigned count);
  Value apply(Operation operation, const Value& a, const Value& b) {
    const Value args[2] = {a, b};
    return apply(operation, args, 2);
  }
  Value apply(Operation operation, const Value& a) { return apply(operation, &a, 1); }

  // --- what `apply` and the simplifications are made of ---

  // a + b * factor and a * factor, as linear forms modulo 2^width. At most one of a and b may have lanes without base.
  Value sum(const Value& a, const Value& b, uint64_t factor, unsigned width);
  Value scale(const Value& a, uint64_t factor, unsigned width);
  // 1 - t of a truth value.
  Value negation(const Value& truth) { return sum(Value::of(1), truth, ~uint64_t{0}, 64); }
  // The term of an operation as it stands.
  Value make_operation(Operation operation, const Value* args, unsigned count);

  const Term& operator[](uint32_t term) const { return store_[term]; }
  TermStore& store() { return store_; }
  LaneTables& tables() { return store_.tables(); }

private:
  Value apply_anew(Operation operation, const Value* args, unsigned count);
  uint32_t base_of_sum(uint32_t a, uint32_t b, uint64_t factor, unsigned width);

  TermStore& store_;
  // The last results of `apply`, by the hash of what was asked for.
  struct Applied {
    Operation operation;
    uint64_t as_of = 0;  // TermStore::zero_bits_version
    std::array<Value, 3> args;
    Value result;
  };
  std::vector<Applied> applied_;
  // Scratch of `base_of_sum`.
  std::vector<Summand> merged_;
  std::vector<Value> merged_args_;
  std::vector<uint64_t> merged_coefficients_;
};

}  // namespace tmemlint::value
