// The arithmetic of values in one place, as the rest of the program uses it.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/value/arithmetic.h"
#include "analyzer/value/by_lane.h"
#include "analyzer/value/derive.h"
#include "analyzer/value/describe.h"
#include "analyzer/value/enumerate.h"
#include "analyzer/value/term_store.h"

namespace tmemlint::value {

// A truth value, or the opposite of one.
struct Literal {
  uint32_t term = 0;
  bool positive = true;
  // Whether it holds when the term has this truth.
  bool holds(bool truth) const { return truth == positive; }
};

// Owns the terms of one kernel and knows their arithmetic. Each member says here what it does; the work is done by the
// parts: TermStore keeps the terms, Arithmetic applies operations, Enumerator lists numbers.
class Terms {
public:
  Terms() = default;
  Terms(const Terms&) = delete;
  Terms& operator=(const Terms&) = delete;

  const Term& operator[](uint32_t term) const { return store_[term]; }
  size_t size() const { return store_.size(); }

  // --- unknowns ---

  // A number that nothing tells, named by its site (unknowns.h) and part. `loops`: those that give it another value
  // each time round; `width` in bits; `zero_bits`: bits that are 0 all the same.
  Value opaque(uint64_t site, uint64_t part, Uniformity uniformity, uint64_t loops, unsigned width,
               uint64_t zero_bits = 0) {
    return store_.opaque(site, part, uniformity, loops, width, zero_bits);
  }
  // The address that an alloc of that many columns writes, 0: not known how many. `capacity`: the columns that there
  // are for such an alloc.
  Value allocation(uint64_t site, uint64_t part, uint64_t columns, uint64_t capacity) {
    return store_.allocation(site, part, columns, capacity);
  }
  // The join term of a site; nothing is known of it until `set_list` and `set_zero_bits` are used.
  uint32_t join(uint64_t site, uint64_t part, uint64_t loops, unsigned width) {
    return store_.join(site, part, loops, width);
  }
  // Gives a join its list, or takes it away.
  void set_list(uint32_t join, std::vector<Value> set, bool listed) { store_.set_list(join, std::move(set), listed); }
  // Of a join whose values changed.
  void set_zero_bits(uint32_t term, uint64_t zero_bits) { store_.set_zero_bits(term, zero_bits); }
  // For what has no member of its own. Who changes a list that way has to call `list_changed`.
  Term& mutable_term(uint32_t term) { return store_.mutable_term(term); }
  void list_changed() { store_.list_changed(); }
  // Another number after anything that `apply` goes by has changed.
  uint64_t version() const { return store_.zero_bits_version(); }

  // --- operations ---

  // Any pure operation; folds what is known, keeps linear forms linear, else makes a term.
  Value apply(Operation operation, const Value* args, unsigned count) {
    return arithmetic_.apply(operation, args, count);
  }
  Value apply(Operation operation, const Value& a, const Value& b) { return arithmetic_.apply(operation, a, b); }
  Value apply(Operation operation, const Value& a) { return arithmetic_.apply(operation, a); }
  // What the lanes that differ in one bit hold (shfl.bfly); nothing where that is not one term.
  std::optional<Value> butterfly(const Value& value, unsigned bit_of_lane) {
    return value::butterfly(arithmetic_, value, bit_of_lane);
  }
  // Has to be called of an operation that gives the same for (a, b) and (b, a): exchanged between lanes, as reductions
  // do it, its result is the same in both.
  void note_commutative(uint32_t term, const Value& a, const Value& b) { value::note_commutative(store_, term, a, b); }
  // `on` in the lanes of the mask, `off` in the others. When no common base can express it, an unknown per lane named
  // by the site.
  Value blend(uint32_t mask, const Value& on, const Value& off, uint64_t site, uint64_t loops, unsigned width) {
    return value::blend(store_, mask, on, off, site, loops, width);
  }
  // These numbers, of which the lowest `width` bits count.
  Value from_lanes(const Lanes& numbers, unsigned width) { return store_.tables().from_lanes(numbers, width); }
  Value with_base(Value value, uint32_t base) const { return value::with_base(value, base); }

  // --- what a value is ---

  // Lane `lane` of a value, as a value that all lanes have. Where the base differs between lanes, so does the result.
  Value lane(const Value& value, unsigned lane) const { return store_.lane(value, lane); }
  // The number of a lane, without the base; modulo 2^64: of a narrower register, the lowest bits count.
  uint64_t number_in(const Value& value, unsigned lane) const { return store_.tables().number_in(value, lane); }
  // By lane, from the value's number.
  const Lanes& offsets(const Value& value) const { return store_.tables()[value.table]; }
  // The smallest and the largest number of the lanes of the mask, without the base.
  std::pair<uint64_t, uint64_t> span_of(const Value& value, uint32_t mask) const {
    return store_.tables().span_of(value, mask);
  }
  bool uniform(const Value& value, uint32_t mask) const {  // the same in all lanes of the mask, for sure
    return store_.uniform(value, mask);
  }
  Uniformity uniformity(const Value& value) const { return store_.uniformity(value); }
  // The loops that give it a new value each time round.
  uint64_t loops(const Value& value) const { return value.base == 0 ? 0 : store_[value.base].loops; }
  // Bits of a lane that are 0 whatever the value is.
  uint64_t zero_bits(const Value& value, unsigned lane) const { return store_.zero_bits(value, lane); }
  // The bits that a value may have in lane 0, with what is known of where its allocation starts.
  uint64_t ones_of(const Value& value) const { return store_.ones_of(value); }
  bool is_selection(uint32_t term) const { return store_.is_selection(term); }

  // The terms and coefficients that a base is made of, ascending by term.
  using Part = Summand;
  using Parts = Summands;
  Parts parts(uint32_t base) const { return store_.summands(base); }
  // What a condition is the truth of. Nothing where it is more than one truth value, or differs from lane to lane in
  // more than that.
  std::optional<Literal> literal_of(const Value& condition) const {
    const Parts of = parts(condition.base);
    if (of.size() != 1 || !condition.same_in_lanes()) return std::nullopt;
    return Literal{of[0].term, of[0].coefficient == 1};
  }

  // --- the numbers that a value may have ---

  // Rules out values of joins.
  using Filter = JoinFilter;
  static constexpr size_t kMostCombinations = Enumerator::kMostCombinations;
  // Every constant a uniform value may be (through join sets), ascending, without duplicates; nothing when it cannot be
  // enumerated within the limits. `lane` picks the lane of a per-lane number. `filter` may rule out values of joins.
  // Who only asks whether there are more than `most` gets no more than one beyond that.
  std::optional<std::vector<uint64_t>> enumerate(const Value& value, unsigned lane, unsigned width) const {
    return enumerator_.enumerate(value, lane, width, nullptr, kMostCombinations);
  }
  std::optional<std::vector<uint64_t>> enumerate(const Value& value, unsigned lane, unsigned width,
                                                 const Filter& filter, size_t most = kMostCombinations) const {
    return enumerator_.enumerate(value, lane, width, &filter, most);
  }

  // How often what the analysis of this kernel assumes was relied on. No part of what terms are: anything that works on
  // a kernel counts here.
  assumptions::Uses& uses() const { return store_.uses(); }

  std::string describe(const Value& value) const { return value::describe(store_, value); }  // for debugging

private:
  TermStore store_;
  Arithmetic arithmetic_{store_};
  mutable Enumerator enumerator_{store_};  // remembers what it found out, and has scratch of its own
};

}  // namespace tmemlint::value
