// The terms of one kernel: kept once each, so that equal unknowns have equal numbers, and what can be told of a value
// by looking at its term.
#pragma once

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "analyzer/assumptions/assumptions.h"
#include "analyzer/value/lane_tables.h"
#include "analyzer/value/term.h"

namespace tmemlint::value {

class TermStore {
public:
  TermStore();
  TermStore(const TermStore&) = delete;
  TermStore& operator=(const TermStore&) = delete;

  const Term& operator[](uint32_t term) const { return terms_[term]; }
  Term& mutable_term(uint32_t term) { return terms_[term]; }
  size_t size() const { return terms_.size(); }
  assumptions::Uses& uses() const { return uses_; }
  LaneTables& tables() { return tables_; }
  const LaneTables& tables() const { return tables_; }

  // --- making terms ---

  // What makes a term the one it is.
  struct Content {
    TermKind kind;
    unsigned width;
    Operation operation = {};
    uint64_t site = 0;
    uint64_t part = 0;
    const Value* args = nullptr;
    size_t arg_count = 0;
    const uint64_t* coefficients = nullptr;  // nullptr, or as many as args
  };
  // The term with this content, made when there is none yet: `fill` then completes what is known of it.
  template <typename Fill>
  uint32_t intern(const Content& content, Fill&& fill);

  Value opaque(uint64_t site, uint64_t part, Uniformity uniformity, uint64_t loops, unsigned width, uint64_t zero_bits);
  Value allocation(uint64_t site, uint64_t part, uint64_t columns, uint64_t capacity);
  uint32_t join(uint64_t site, uint64_t part, uint64_t loops, unsigned width);

  // --- what becomes known of them ---

  void set_list(uint32_t join, std::vector<Value> set, bool listed);
  void list_changed() { ++lists_; }
  void set_zero_bits(uint32_t term, uint64_t zero_bits);
  // Adds bits of the lane's number that a term does not depend on; of what depends on none, each warp has one value.
  static void add_symmetric(Term& term, uint8_t bits_of_lane);

  // Numbers that change when something changes that an earlier answer may rest on.
  uint64_t zero_bits_version() const { return zero_bits_version_; }  // zero bits of joins
  uint64_t lists_version() const { return lists_; }                  // lists of joins
  uint64_t listings_version() const { return listings_; }            // a join got a list that had none

  // --- what a value is ---

  bool is_selection(uint32_t term) const {
    return terms_[term].kind == TermKind::kPure && terms_[term].operation.op == Op::kSelect;
  }
  // The value of one lane, as if all lanes had it.
  Value lane(const Value& value, unsigned lane) const {
    Value out;
    out.number = tables_.number_in(value, lane);
    if (((value.plain >> lane) & 1) == 0) out.base = value.base;
    return out;
  }
  Summands summands(uint32_t base) const { return {base, terms_[base]}; }
  Uniformity uniformity(const Value& value) const {
    if (value.table != 0 || value.plain != 0) return Uniformity::kLane;
    return value.base == 0 ? Uniformity::kCta : terms_[value.base].uniformity;
  }
  bool uniform(const Value& value, uint32_t mask) const;
  uint8_t symmetric(const Value& value) const;
  uint64_t zero_bits(const Value& value, unsigned lane) const;
  uint64_t ones_of(const Value& value) const;

private:
  Growing<Term> terms_;
  ContentIndex index_;
  Kept<Value> args_;  // of all terms
  Kept<uint64_t> coefficients_;
  LaneTables tables_;
  std::unordered_map<uint32_t, uint64_t> starts_;  // of allocations: the bits of the columns that they may start at
  uint64_t zero_bits_version_ = 1;
  uint64_t lists_ = 1;
  uint64_t listings_ = 1;
  mutable assumptions::Uses uses_;
};

template <typename Fill>
uint32_t TermStore::intern(const Content& c, Fill&& fill) {
  uint64_t h = 0x9e3779b97f4a7c15u;
  auto mix = [&h](uint64_t w) {
    h = (h ^ w) * 0xff51afd7ed558ccdu;
    h ^= h >> 29;
  };
  mix(static_cast<uint64_t>(c.kind) | (static_cast<uint64_t>(c.width) << 8) |
      (static_cast<uint64_t>(c.operation.op) << 16) | (static_cast<uint64_t>(c.operation.width) << 24) |
      (static_cast<uint64_t>(c.operation.is_signed) << 31) | (static_cast<uint64_t>(c.operation.aux) << 32));
  mix(c.site);
  mix(c.part);
  for (size_t n = 0; n < c.arg_count; ++n) {
    mix(c.args[n].base | (static_cast<uint64_t>(c.args[n].table) << 32));
    mix(c.args[n].number ^ (static_cast<uint64_t>(c.args[n].plain) << 32));
    if (c.coefficients != nullptr) mix(c.coefficients[n]);
  }
  const uint32_t known = index_.find(h, [&](uint32_t found) {
    const Term& t = terms_[found];
    return t.kind == c.kind && t.width == c.width && t.operation == c.operation && t.site == c.site &&
           t.part == c.part && t.args.size() == c.arg_count && std::equal(t.args.begin(), t.args.end(), c.args) &&
           (c.coefficients == nullptr || std::equal(c.coefficients, c.coefficients + c.arg_count, t.coefficients));
  });
  if (known != 0) return known;
  index_.add(h);
  const auto fresh = static_cast<uint32_t>(terms_.size());
  Term& term = terms_.emplace_back();
  term.kind = c.kind;
  term.width = static_cast<uint8_t>(c.width);
  term.operation = c.operation;
  term.site = c.site;
  term.part = c.part;
  term.args = {args_.keep(c.args, c.arg_count), c.arg_count};
  if (c.coefficients != nullptr) term.coefficients = coefficients_.keep(c.coefficients, c.arg_count);
  fill(term);
  return fresh;
}

}  // namespace tmemlint::value
