// The numbers that a value may have, by trying all that the joins in it list.
#pragma once

#include <optional>
#include <vector>

#include "analyzer/assumptions/assumptions.h"
#include "analyzer/value/term_store.h"

namespace tmemlint::value {

// Rules out values of joins, and of truth values.
class JoinFilter {
public:
  virtual ~JoinFilter() = default;
  virtual bool concerns(uint32_t term) const = 0;  // whether it may rule out any value of this join or truth value
  virtual bool admits(uint32_t term, uint64_t number) const = 0;
};

class Enumerator {
public:
  // More combinations of values of joins than this are not tried: then the value cannot be enumerated.
  static constexpr size_t kMostCombinations = assumptions::kCombinationsOfValues;

  explicit Enumerator(const TermStore& terms) : terms_(terms) {}

  // Terms::enumerate; `filter` may be nullptr.
  std::optional<std::vector<uint64_t>> enumerate(const Value& value, unsigned lane, unsigned width,
                                                 const JoinFilter* filter, size_t most);

private:
  std::optional<std::vector<uint64_t>> enumerate_anew(const Value& value, unsigned lane, unsigned width,
                                                      const JoinFilter* filter, size_t most);
  bool choose(const JoinFilter* filter);
  bool admitted(const JoinFilter* filter, unsigned lane);
  uint64_t evaluate_base(uint32_t base, unsigned lane);
  uint64_t evaluate(const Value& value, unsigned lane);
  bool collect(uint32_t base);
  bool collect_joins(uint32_t base, unsigned depth);
  bool collect_from(const Term& term, uint32_t base, unsigned depth);
  void unmark(size_t trail);

  const TermStore& terms_;

  // --- what was found out before ---

  std::vector<bool> unlisted_;  // by base: it cannot be enumerated, and never will be
  std::vector<bool> closed_;    // by term: what it is computed from cannot all be listed
  uint64_t listings_ = 0;       // TermStore::listings_version that the two are of
  // The last results in lane 0 without a filter that concerns them.
  struct Enumerated {
    Value value;
    unsigned width = 0;
    size_t most = 0;
    uint64_t lists = 0;           // TermStore::lists_version
    std::vector<uint32_t> joins;  // and conditions, which facts may be about
    std::optional<std::vector<uint64_t>> numbers;
  };
  std::vector<Enumerated> enumerated_;

  // --- the joins that the value at hand is made of ---

  std::vector<uint32_t> joins_;       // also truth values that cannot be taken apart
  std::vector<uint32_t> conditions_;  // truth values on the way, made of the joins
  bool cut_short_ = false;            // too deep, or too many
  std::vector<bool> marked_;          // by term: seen
  std::vector<uint32_t> trail_;       // the marked ones

  // --- the combination of their values at hand ---

  // By term: what it is in this combination.
  struct Worked {
    uint64_t round = 0;  // the combination that `number` is of
    uint64_t busy = 0;   // the combination in which it is being worked out
    uint64_t number = 0;
    const Value* choice = nullptr;  // of a join: which of its values is being tried
  };
  Sparse<Worked> worked_;
  uint64_t round_ = 0;  // counts combinations
  bool cyclic_ = false;
  // The choices of the joins at hand, one join after the other.
  struct Choices {
    uint32_t term = 0;
    size_t first = 0;  // of choices_
    size_t count = 0;
    bool open = false;  // some of them depend on other choices
  };
  std::vector<Choices> open_joins_;
  std::vector<const Value*> choices_;
  size_t combinations_ = 0;
  // Conditions of which the filter admits one truth only.
  struct KnownCondition {
    uint32_t term;
    bool can_be[2];  // false, true
  };
  std::vector<KnownCondition> known_conditions_;
};

}  // namespace tmemlint::value
