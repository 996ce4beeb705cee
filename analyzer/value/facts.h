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
  Interval interval;      // of the term's value, signed, in the term's own width; a truth value is 0 or 1
  uint32_t lanes = 0;     // of a truth value per lane: where it is true
  bool per_lane = false;  // then `lanes` tells, and `interval` does not
  // Whether it is known which number the term is, the same in all lanes.
  bool decided() const { return interval.one_number() && !per_lane; }
  bool operator==(const Fact&) const = default;
};

// Forgets the oldest unknowns when there are many, unless it is `unlimited`.
class Facts {
public:
  // nullptr where nothing is known of the term. It is good until the facts change.
  const Fact* find(uint32_t term) const;
  // Adds that a term lies in an interval, beside what is known of it. True where the oldest unknown was forgotten for
  // it: then less is known, and more stays open.
  bool set(uint32_t term, Interval interval);
  // Says in which lanes a truth value per lane is true, whatever was known of it.
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
  bool unlimited = false;

private:
  std::vector<Fact> list_;  // ordered by term
};

// The signed interval of a uniform value read as `width` bits.
Interval interval_of(const Terms& terms, const Facts& facts, const Value& value, unsigned width);
// Whether a sum cannot be a number modulo 2^width, however far it goes: from what its parts can be.
bool never_is(const Terms& terms, const Facts& facts, const Value& value, uint64_t number, unsigned width);

// Whether a truth value (a term that is 0 or 1) is decided, given the facts; nothing where it is open.
std::optional<bool> decide(const Terms& terms, const Facts& facts, uint32_t base);

// Adds that a truth value is `truth` and what follows from it; false when that contradicts what is known.
bool assume(const Terms& terms, Facts& facts, uint32_t base, bool truth);
// The same of a truth value that `decide` has just left open, given these facts: it is costly to ask again.
bool assume_undecided(const Terms& terms, Facts& facts, uint32_t base, bool truth);

// Rules out values of joins that the facts rule out.
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
