// What a value's base stands for: one unknown, and what is known of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "analyzer/value/containers.h"
#include "analyzer/value/operation.h"
#include "analyzer/value/unknowns.h"
#include "analyzer/value/warp_value.h"

namespace tmemlint::value {

// Over which threads an unknown has one value.
enum class Uniformity : uint8_t { kCta, kWarp, kLane };

enum class TermKind : uint8_t {
  kNone,        // term 0
  kSum,         // linear combination of terms, without a number: `args` (bases only) times `coefficients`
  kPure,        // an operation on args
  kOpaque,      // one unknown per site: a loaded word, an atomic's result
  kJoin,        // paths met here with different values; `set` may list them
  kAllocation,  // the address that an alloc returned
};

// Two terms are the same one exactly when kind, width, operation, args, coefficients, site and part are equal. All else
// is known of the term, and may become more exact, or for a join less.
struct Term {
  // --- what it is ---
  TermKind kind = TermKind::kNone;
  uint8_t width = 64;                      // in bits, of its numbers; of a sum, of the arithmetic
  Operation operation;                     // kPure
  std::span<const Value> args;             // kPure, kSum
  const uint64_t* coefficients = nullptr;  // kSum: as many as args
  uint64_t site = 0;                       // of an unknown: its kind, and which one of that kind (unknowns.h)
  uint64_t part = 0;                       // of an unknown: which one of its site; what that means is up to the kind

  // --- what is known of it ---
  Uniformity uniformity = Uniformity::kCta;
  // Of an unknown: something is divided by it, by a multiplier that is another unknown; by 1 there is none. The two
  // belong together, so that any other number for it alone is not a division.
  bool divisor = false;
  // Of a term per lane: bits of the lane's number (1, 2, 4, 8, 16). It is the same in lanes that differ in these alone.
  uint8_t symmetric = 0;
  uint64_t loops = 0;       // loops, a bit each as their user numbers them, that give it a new value each time round
  uint64_t zero_bits = 0;   // bits that are 0 whatever the value is; those above the width among them
  bool listed = false;      // kJoin: `set` is all that it may be
  Rare<Value> set;          // kJoin: the values it may have; meaningful when `listed`
  uint32_t generation = 0;  // kJoin: 0 as long as nothing has been said of it
  uint32_t depth = 0;       // of nested operations; 0 of an unknown
};

// A truth value: 0 or 1 whatever it is.
inline bool is_truth(const Term& term) {
  return term.width == 1 || (term.kind == TermKind::kPure && is_comparison(term.operation.op));
}

// One term of a sum, and how often it counts.
struct Summand {
  uint32_t term;
  uint64_t coefficient;  // modulo 2^width of the sum: -1 is all ones
  bool operator==(const Summand&) const = default;
};

// The summands that a base is made of, ascending by term: one, itself, if it is not a sum; none of base 0. It looks at
// the terms themselves, which stay where they are.
class Summands {
public:
  class Iterator {
  public:
    using value_type = Summand;
    using difference_type = std::ptrdiff_t;
    Iterator() = default;
    Iterator(const Summands* of, size_t at) : of_(of), at_(at) {}
    Summand operator*() const { return (*of_)[at_]; }
    Iterator& operator++() {
      ++at_;
      return *this;
    }
    Iterator operator++(int) { return {of_, at_++}; }
    bool operator==(const Iterator& other) const { return at_ == other.at_; }

  private:
    const Summands* of_ = nullptr;
    size_t at_ = 0;
  };
  Summands(uint32_t base, const Term& term)
      : sum_(term.kind == TermKind::kSum ? &term : nullptr),
        base_(base),
        size_(base == 0         ? 0
              : sum_ == nullptr ? 1
                                : term.args.size()) {}
  size_t size() const { return size_; }
  Summand operator[](size_t n) const {
    return sum_ == nullptr ? Summand{base_, 1} : Summand{sum_->args[n].base, sum_->coefficients[n]};
  }
  Iterator begin() const { return {this, 0}; }
  Iterator end() const { return {this, size_}; }

private:
  const Term* sum_;
  uint32_t base_;
  size_t size_;
};

}  // namespace tmemlint::value
