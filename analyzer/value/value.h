// What a register of one warp holds: a number per lane, or a symbolic term plus a number per lane.
//
//   lane l holds  (plain has bit l ? 0 : base) + number + lanes[l]      modulo 2^width of the register
//
// `base` is a hash-consed term (0: none), so equal bases are equal unknowns. `plain` marks lanes that the base does not
// count in: a register that one elected lane wrote and the others did not. Values are normalised: equal contents have
// equal fields, so comparison is memberwise. A predicate is a value that is 0 or 1.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace tmemlint::value {

constexpr unsigned kLanes = 32;
constexpr uint32_t kAllLanes = 0xffffffffu;
using Lanes = std::array<uint64_t, kLanes>;  // a number per lane

struct Value {
  uint32_t base = 0;
  uint32_t table = 0;  // offsets by lane, relative to lane 0; 0: every lane the same
  uint32_t plain = 0;
  uint64_t number = 0;

  static Value of(uint64_t number) {
    Value v;
    v.number = number;
    return v;
  }
  bool known() const { return base == 0; }
  bool constant() const { return base == 0 && table == 0; }
  bool operator==(const Value&) const = default;
};

// A hash of what was hashed so far and a value.
inline uint64_t hash_with(uint64_t hash, const Value& v) {
  hash = (hash ^ v.number ^ (uint64_t{v.base} << 36) ^ (uint64_t{v.table} << 20) ^ v.plain) * 0x9e3779b97f4a7c15u;
  return hash ^ (hash >> 31);
}

// Over which threads an unknown has one value.
enum class Uniformity : uint8_t { kCta, kWarp, kLane };

// Pure operations on values. The width (bits) and signedness belong to the operation, not to the values.
enum class Op : uint8_t {
  kMov,
  kAdd,
  kSub,
  kMul,
  kMulHi,
  kShl,
  kShr,
  kAnd,
  kOr,
  kXor,
  kNot,
  kNeg,
  kAbs,
  kMin,
  kMax,
  kDiv,
  kRem,
  kSelect,  // a ? b : c, a is a predicate
  kEq,
  kLt,  // comparisons; the others are made of these
  kBfe,
  kBfi,
  kPrmt,
  kLop3,
  kClz,
  kBrev,
  kBfind,
  kPopc,
  kFns,
  kSext,
  kZext,       // from `aux` bits
  kFunnel,     // shf: aux 0 left wrap, 1 right wrap, 2 left clamp, 3 right clamp
  kButterfly,  // the value of lane l ^ aux
  kGeneric,    // an operation that is not modelled: aux numbers the opcode; equal arguments give equal results
};

struct Operation {
  Op op = Op::kMov;
  uint8_t width = 32;  // 1, 8, 16, 32, 64
  bool is_signed = false;
  uint32_t aux = 0;
  bool operator==(const Operation&) const = default;
};

enum class TermKind : uint8_t {
  kNone,
  kSum,         // linear combination: coefficients in `coefficients`, terms as the bases of args
  kPure,        // operation on args
  kOpaque,      // one unknown per site: a loaded word, an atomic's result
  kJoin,        // paths met here with different values; `set` may list them
  kAllocation,  // the address that an alloc returned
};

// A vector of something that most of its owners have none of.
template <typename T>
class Rare {
public:
  size_t size() const { return values_ == nullptr ? 0 : values_->size(); }
  bool empty() const { return size() == 0; }
  const T* begin() const { return values_ == nullptr ? nullptr : values_->data(); }
  const T* end() const { return begin() + size(); }
  const T& front() const { return values_->front(); }
  void push_back(const T& value) {
    if (values_ == nullptr) values_ = std::make_unique<std::vector<T>>();
    values_->push_back(value);
  }
  void clear() { values_.reset(); }
  Rare& operator=(std::vector<T> values) {
    values_ = values.empty() ? nullptr : std::make_unique<std::vector<T>>(std::move(values));
    return *this;
  }
  bool operator==(const std::vector<T>& other) const { return std::equal(begin(), end(), other.begin(), other.end()); }

private:
  std::unique_ptr<std::vector<T>> values_;
};

struct Term {
  TermKind kind = TermKind::kNone;
  Uniformity uniformity = Uniformity::kCta;
  uint8_t width = 64;
  bool listed = false;  // kJoin: `set` is what it may be
  // Of an unknown: something is divided by it, by a multiplier that is another unknown; by 1 there is none. The two
  // belong together, so that any other number for it alone is not a division.
  bool divisor = false;
  // Of a value per lane: it is the same in lanes whose numbers differ in these bits alone.
  uint8_t symmetric = 0;
  Operation operation;                     // kPure
  std::span<const Value> args;             // kPure, kSum
  const uint64_t* coefficients = nullptr;  // kSum: as many as args
  uint64_t site = 0;                       // kOpaque, kJoin, kAllocation: what makes it that one
  uint64_t part = 0;
  uint64_t loops = 0;      // set of loops that give it a new value each time round
  uint64_t zero_bits = 0;  // bits that are 0 whatever the value is
  Rare<Value> set;         // kJoin: the values it may have; meaningful when `listed`
  uint32_t generation = 0;
  uint32_t depth = 0;  // of nested operations
};

// Signed interval.
struct Interval {
  int64_t low = INT64_MIN;
  int64_t high = INT64_MAX;
  bool operator==(const Interval&) const = default;
};

inline uint64_t truncate(uint64_t number, unsigned width) {
  return width >= 64 ? number : number & ((uint64_t{1} << width) - 1);
}
inline int64_t sign_extend(uint64_t number, unsigned width) {
  if (width >= 64) return static_cast<int64_t>(number);
  const unsigned shift = 64 - width;
  return static_cast<int64_t>(number << shift) >> shift;
}

// A vector whose elements stay where they are.
template <typename T>
class Growing {
public:
  T& operator[](size_t n) { return blocks_[n / kBlock][n % kBlock]; }
  const T& operator[](size_t n) const { return blocks_[n / kBlock][n % kBlock]; }
  size_t size() const { return size_; }
  T& emplace_back() {
    if (size_ % kBlock == 0) blocks_.push_back(std::make_unique<T[]>(kBlock));
    return (*this)[size_++];
  }

private:
  static constexpr size_t kBlock = 128;
  std::vector<std::unique_ptr<T[]>> blocks_;
  size_t size_ = 0;
};

// Keeps short runs of elements that never change and stay where they are.
template <typename T>
class Kept {
public:
  const T* keep(const T* from, size_t count) {
    if (count == 0) return nullptr;
    if (blocks_.empty() || used_ + count > kBlock) {
      blocks_.push_back(std::make_unique<T[]>(std::max(count, kBlock)));
      used_ = 0;
    }
    T* to = blocks_.back().get() + used_;
    std::copy(from, from + count, to);
    used_ += count;
    return to;
  }

private:
  static constexpr size_t kBlock = 512;
  std::vector<std::unique_ptr<T[]>> blocks_;
  size_t used_ = 0;  // of the last block
};

// A table by number of which only the parts that are asked for come into being.
template <typename T>
class Sparse {
public:
  // Must hold more than any number that is asked for.
  void grow(size_t size) {
    if (blocks_.size() * kBlock < size) blocks_.resize((size + kBlock - 1) / kBlock);
  }
  T& operator[](size_t n) {
    std::unique_ptr<T[]>& block = blocks_[n / kBlock];
    if (block == nullptr) block = std::make_unique<T[]>(kBlock);
    return block[n % kBlock];
  }

private:
  static constexpr size_t kBlock = 64;
  std::vector<std::unique_ptr<T[]>> blocks_;
};

// Finds by content what is numbered 1, 2, … in the order in which it is added.
class ContentIndex {
public:
  // The number of what has this hash and `is` it, else 0; `add` then takes its place.
  template <typename Is>
  uint32_t find(uint64_t long_hash, Is&& is) {
    const uint32_t hash = folded(long_hash);
    if (hashes_.size() * 2 >= slots_.size()) grow();
    for (at_ = slot_of(hash); slots_[at_] != 0; at_ = slot_of(at_ + 1)) {
      if (hashes_[slots_[at_]] == hash && is(slots_[at_])) return slots_[at_];
    }
    return 0;
  }
  // Adds what the last `find` did not find.
  void add(uint64_t long_hash) {
    slots_[at_] = static_cast<uint32_t>(hashes_.size());
    hashes_.push_back(folded(long_hash));
  }

private:
  static uint32_t folded(uint64_t hash) { return static_cast<uint32_t>(hash ^ (hash >> 32)); }
  size_t slot_of(size_t hash) const { return hash & (slots_.size() - 1); }
  void grow() {
    slots_.assign(slots_.empty() ? 512 : slots_.size() * 2, 0);
    for (uint32_t n = 1; n < hashes_.size(); ++n) {
      size_t at = slot_of(hashes_[n]);
      while (slots_[at] != 0) at = slot_of(at + 1);
      slots_[at] = n;
    }
  }

  std::vector<uint32_t> slots_;         // open addressing: 0 is free
  std::vector<uint32_t> hashes_ = {0};  // by number
  size_t at_ = 0;
};

// Owns the terms of one kernel and knows their arithmetic.
class Terms {
public:
  Terms();

  const Term& operator[](uint32_t term) const { return terms_[term]; }
  size_t size() const { return terms_.size(); }
  bool is_selection(uint32_t term) const {
    return terms_[term].kind == TermKind::kPure && terms_[term].operation.op == Op::kSelect;
  }

  Value opaque(uint64_t site, uint64_t part, Uniformity uniformity, uint64_t loops, unsigned width,
               uint64_t zero_bits = 0);
  // The address that an alloc of that many columns writes; 0: not known how many.
  Value allocation(uint64_t site, uint64_t part, uint64_t columns);
  // The bits that a value may have in lane 0, with what is known of where its allocation starts.
  uint64_t ones_of(const Value& value) const;
  // The join term of a site; its set is empty until `widen` and `list` are used.
  uint32_t join(uint64_t site, uint64_t part, uint64_t loops, unsigned width);
  Term& mutable_term(uint32_t term) { return terms_[term]; }
  // Another number after anything that `apply` goes by has changed.
  uint64_t version() const { return zero_bits_changes_; }
  // Has to be called after a join's list became another one.
  void list_changed() { ++lists_; }
  // Gives a join its list, or takes it away.
  void set_list(uint32_t join, std::vector<Value> set, bool listed);
  // Of a join whose values changed.
  void set_zero_bits(uint32_t term, uint64_t zero_bits);

  // Any pure operation; folds what is known, keeps linear forms linear, else makes a term.
  Value apply(Operation operation, const Value* args, unsigned count);
  Value apply(Operation operation, const Value& a, const Value& b) {
    const Value args[2] = {a, b};
    return apply(operation, args, 2);
  }
  Value apply(Operation operation, const Value& a) { return apply(operation, &a, 1); }

  // Lane `lane` of a value, as a uniform value (for a kLane-uniform base: that lane's, as a term of its own).
  Value lane(const Value& value, unsigned lane) const;
  // What the lanes that differ in one bit hold (shfl.bfly); nothing where that is not one term.
  std::optional<Value> butterfly(const Value& value, unsigned bit_of_lane);
  // Has to be called of an operation that gives the same for (a, b) and (b, a): exchanged between lanes, as reductions
  // do it, its result is the same in both.
  void note_commutative(uint32_t term, const Value& a, const Value& b);
  uint64_t number_in(const Value& value, unsigned lane) const {
    return value.table == 0 ? value.number : value.number + tables_[value.table][lane];
  }
  // By lane, from the value's number.
  const Lanes& offsets(const Value& value) const { return tables_[value.table]; }
  // The smallest and the largest number of the lanes of the mask, without the base.
  std::pair<uint64_t, uint64_t> span_of(const Value& value, uint32_t mask) const;
  // `on` in the lanes of the mask, `off` in the others. When no common base can express it, an unknown per lane named
  // by the site.
  Value blend(uint32_t mask, const Value& on, const Value& off, uint64_t site, uint64_t loops, unsigned width);
  Value from_lanes(const Lanes& numbers, unsigned width);
  Value with_base(Value value, uint32_t base) const;

  bool uniform(const Value& value, uint32_t mask) const;  // the same in all lanes of the mask, for sure
  Uniformity uniformity(const Value& value) const;
  uint64_t loops(const Value& value) const { return value.base == 0 ? 0 : terms_[value.base].loops; }

  // Every constant a uniform value may be (through join sets), ascending, without duplicates; nothing when it cannot be
  // enumerated within the limit. `lane` picks the lane of a per-lane number. `filter` may rule out values of joins.
  // Who only asks whether there are more than `most` gets no more than one beyond that.
  // Rules out values of joins.
  class Filter {
  public:
    virtual ~Filter() = default;
    virtual bool concerns(uint32_t join) const = 0;  // whether it may rule out any value of this join
    virtual bool admits(uint32_t join, uint64_t number) const = 0;
  };
  std::optional<std::vector<uint64_t>> enumerate(const Value& value, unsigned lane, unsigned width) const {
    return enumerate(value, lane, width, nullptr, kMostCombinations);
  }
  std::optional<std::vector<uint64_t>> enumerate(const Value& value, unsigned lane, unsigned width,
                                                 const Filter& filter, size_t most = kMostCombinations) const {
    return enumerate(value, lane, width, &filter, most);
  }

  // Sum form: the terms and coefficients that a base is made of.
  struct Part {
    uint32_t term;
    uint64_t coefficient;
    bool operator==(const Part&) const = default;
  };
  // Ascending by term. It looks at the terms themselves, which stay where they are.
  class Parts {
  public:
    class Iterator {
    public:
      using value_type = Part;
      using difference_type = std::ptrdiff_t;
      Iterator() = default;
      Iterator(const Parts* of, size_t at) : of_(of), at_(at) {}
      Part operator*() const { return (*of_)[at_]; }
      Iterator& operator++() {
        ++at_;
        return *this;
      }
      Iterator operator++(int) { return {of_, at_++}; }
      bool operator==(const Iterator& other) const { return at_ == other.at_; }

    private:
      const Parts* of_ = nullptr;
      size_t at_ = 0;
    };
    Parts(uint32_t base, const Term& term)
        : sum_(term.kind == TermKind::kSum ? &term : nullptr),
          base_(base),
          size_(base == 0         ? 0
                : sum_ == nullptr ? 1
                                  : term.args.size()) {}
    size_t size() const { return size_; }
    Part operator[](size_t n) const {
      return sum_ == nullptr ? Part{base_, 1} : Part{sum_->args[n].base, sum_->coefficients[n]};
    }
    Iterator begin() const { return {this, 0}; }
    Iterator end() const { return {this, size_}; }

  private:
    const Term* sum_;
    uint32_t base_;
    size_t size_;
  };
  Parts parts(uint32_t base) const { return Parts(base, terms_[base]); }
  uint64_t zero_bits(const Value& value, unsigned lane) const;

  std::string describe(const Value& value) const;  // for debugging and --explain

private:
  // The term with this content, made when there is none yet: `fill` completes the fields that follow from the content.
  template <typename Fill>
  uint32_t intern(TermKind kind, unsigned width, Operation operation, uint64_t site, uint64_t part, const Value* args,
                  size_t arg_count, const uint64_t* coefficients, Fill&& fill);
  uint32_t table_of(const Lanes& offsets);
  Lanes numbers_of(const Value& value) const;
  bool fits(uint64_t number, uint32_t table, unsigned width) const;
  Value apply_by_lane(Operation operation, const Value* args, unsigned count);
  Value apply_anew(Operation operation, const Value* args, unsigned count);
  Value sum(const Value& a, const Value& b, uint64_t b_factor, unsigned width);
  Value scale(const Value& a, uint64_t factor, unsigned width);
  uint32_t base_of_sum(uint32_t a, uint32_t b, uint64_t factor, unsigned width);
  Value make_pure(Operation operation, const Value* args, unsigned count);
  void describe_pure(Term& term);
  void note_divisor(const Term& selection);
  uint8_t symmetric(const Value& value) const;
  void add_symmetric(Term& term, uint8_t lanes);
  std::optional<Value> simplify(Operation operation, const Value* args, unsigned count);
  Value by_groups(Operation operation, const Value* args, unsigned count);
  std::optional<Value> upper_parts(const Value& x, unsigned by, Operation operation);
  std::optional<Value> beside_base(Operation operation, const Value* args);
  std::optional<Value> of_parts(Operation operation, const Value& x, const Value& other, unsigned most);
  std::optional<Value> of_upper_bits(Operation operation, const Value* args);
  std::optional<Value> by_choice(Operation operation, const Value* args, unsigned count);
  static constexpr size_t kMostCombinations = 256;
  std::optional<std::vector<uint64_t>> enumerate(const Value& value, unsigned lane, unsigned width,
                                                 const Filter* filter, size_t most) const;
  std::optional<std::vector<uint64_t>> enumerate_anew(const Value& value, unsigned lane, unsigned width,
                                                      const Filter* filter, size_t most,
                                                      const std::vector<uint32_t>& joins) const;
  uint64_t evaluate_base(uint32_t base, unsigned lane) const;
  uint64_t evaluate(const Value& value, unsigned lane) const;
  void unmark(size_t trail) const;
  bool collect_joins(uint32_t base, std::vector<uint32_t>& joins, unsigned depth) const;

  Growing<Term> terms_;
  std::unordered_map<uint32_t, uint64_t> starts_;  // of allocations: the bits of the columns that they may start at
  Kept<Value> args_;                               // of all terms
  Kept<uint64_t> coefficients_;
  std::vector<Lanes> tables_;
  std::vector<Interval> spreads_;  // by table: its smallest and largest offset
  // The last results of `apply`, by the hash of what was asked for.
  struct Applied {
    Operation operation;
    uint64_t as_of = 0;  // which zero bits of joins
    std::array<Value, 3> args;
    Value result;
  };
  std::vector<Applied> applied_;
  uint64_t zero_bits_changes_ = 1;  // of joins
  // Scratch of `base_of_sum`.
  std::vector<Part> merged_;
  std::vector<Value> merged_args_;
  std::vector<uint64_t> merged_coefficients_;
  ContentIndex index_;        // of terms
  ContentIndex table_index_;  // of tables
  // Scratch of `enumerate`, by term.
  struct Worked {
    uint64_t round = 0;
    uint64_t busy = 0;  // the round in which it is being worked out
    uint64_t number = 0;
    const Value* choice = nullptr;  // of a join: which of its values is being tried
  };
  mutable std::vector<bool> unlisted_;
  mutable std::vector<bool> closed_;  // what it is computed from cannot all be listed
  mutable bool cut_short_ = false;
  mutable std::vector<bool> marked_;
  mutable std::vector<uint32_t> trail_;
  mutable Sparse<Worked> worked_;
  // The choices of the joins at hand, one join after the other.
  struct Choices {
    uint32_t term = 0;
    size_t first = 0;  // of choices_
    size_t count = 0;
    bool open = false;  // some of them depend on other choices
  };
  mutable std::vector<Choices> open_joins_;
  mutable std::vector<const Value*> choices_;
  mutable std::vector<uint32_t> joins_;
  mutable std::vector<uint32_t> conditions_;
  struct KnownCondition {
    uint32_t term;
    bool can_be[2];  // false, true
  };
  mutable std::vector<KnownCondition> known_conditions_;
  // The last results of `enumerate` in lane 0 without a filter that concerns them.
  struct Enumerated {
    Value value;
    unsigned width = 0;
    size_t most = 0;
    uint64_t lists = 0;           // as of which lists of joins
    std::vector<uint32_t> joins;  // and conditions, which facts may be about
    std::optional<std::vector<uint64_t>> numbers;
  };
  mutable std::vector<Enumerated> enumerated_;
  uint64_t lists_ = 1;
  mutable uint64_t round_ = 0;
  mutable bool cyclic_ = false;
};

// The arithmetic on numbers alone, of one lane and of all.
uint64_t fold(Operation operation, const uint64_t* args, unsigned count);
void fold_lanes(Operation operation, const Lanes* args, unsigned count, Lanes& out);

}  // namespace tmemlint::value
