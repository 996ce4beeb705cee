// What a path has decided about unknowns: an interval per term, and for unknowns that differ between lanes the lanes
// in which they are true.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "analyzer/value/value.h"

namespace tmemlint::value {

struct Fact {
  uint32_t term = 0;
  Interval interval;
  uint32_t lanes = 0;  // of a truth value per lane: where it is true
  bool per_lane = false;
  bool operator==(const Fact&) const = default;
};

class Facts {
public:
  const Fact* find(uint32_t term) const;
  void set(uint32_t term, Interval interval);
  void set_lanes(uint32_t term, uint32_t lanes);
  // Forgets what is about terms that get a new value each time round the loops of the set.
  void forget(const Terms& terms, uint64_t loops);
  // Keeps what holds on both paths.
  void join(const Facts& other);
  // A truth value that was decided one way here and the other way there; 0 when there is none.
  uint32_t opposite(const Facts& other) const;
  // How many facts are not the same on both paths.
  size_t differences(const Facts& other) const;
  bool operator==(const Facts&) const = default;
  const std::vector<Fact>& list() const { return list_; }
  bool unlimited = false;  // else the oldest facts are forgotten when there are many

private:
  std::vector<Fact> list_;  // ordered by term
};

// The signed interval of a uniform value read as `width` bits.
Interval interval_of(const Terms& terms, const Facts& facts, const Value& value, unsigned width);

// Whether a truth value (a term that is 0 or 1) is decided, given the facts.
std::optional<bool> decide(const Terms& terms, const Facts& facts, uint32_t base);

// Adds that a truth value is `truth` and what follows from it; false when that contradicts what is known.
bool assume(const Terms& terms, Facts& facts, uint32_t base, bool truth);
// The same of a truth value that `decide` has just left open, given these facts: it is costly to ask again.
bool assume_undecided(const Terms& terms, Facts& facts, uint32_t base, bool truth);

// Join values that the facts rule out.
class FactsFilter : public Terms::Filter {
public:
  FactsFilter(const Terms& terms, const Facts& facts) : terms_(terms), facts_(facts) {}
  bool concerns(uint32_t join) const override { return facts_.find(join) != nullptr; }
  bool admits(uint32_t join, uint64_t number) const override;

private:
  const Terms& terms_;
  const Facts& facts_;
};

// A selection whose condition is decided is what it selects.
Value resolve(Terms& terms, const Facts& facts, const Value& value);

}  // namespace tmemlint::value
