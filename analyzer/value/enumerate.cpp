#include "analyzer/value/enumerate.h"

#include <algorithm>
#include <array>

namespace tmemlint::value {

std::optional<std::vector<uint64_t>> Enumerator::enumerate(const Value& value, unsigned lane, unsigned width,
                                                           const JoinFilter* filter, size_t most) {
  if (value.base == 0 || ((value.plain >> lane) & 1) != 0) {
    return std::vector<uint64_t>{truncate(terms_.tables().number_in(value, lane), width)};
  }
  if (listings_ != terms_.listings_version()) {
    closed_.clear();
    unlisted_.clear();
    listings_ = terms_.listings_version();
  }
  // What cannot be listed never can be: unknowns stay unknown, and a join that gave up its list has none again.
  if (value.base < unlisted_.size() && unlisted_[value.base]) return std::nullopt;
  constexpr size_t kRemembered = 512;
  enumerated_.resize(kRemembered);
  Enumerated& known = enumerated_[(uint64_t{value.base} * 31 + value.number * 7 + width) % kRemembered];
  auto concerned = [filter](const std::vector<uint32_t>& terms) {
    return filter != nullptr &&
           std::any_of(terms.begin(), terms.end(), [filter](uint32_t t) { return filter->concerns(t); });
  };
  const bool same = lane == 0 && known.lists == terms_.lists_version() && known.width == width && known.value == value;
  if (same && (known.most >= most || (known.numbers && known.numbers->size() > most)) && !concerned(known.joins)) {
    return known.numbers;
  }
  if (!collect(value.base)) {
    unlisted_.resize(terms_.size(), false);
    unlisted_[value.base] = true;
    return std::nullopt;
  }
  const bool filtered = concerned(joins_) || concerned(conditions_);
  std::optional<std::vector<uint64_t>> numbers = enumerate_anew(value, lane, width, filtered ? filter : nullptr, most);
  if (lane == 0 && !filtered) {
    known.value = value;
    known.width = width;
    known.most = most;
    known.lists = terms_.lists_version();
    known.joins = joins_;
    known.joins.insert(known.joins.end(), conditions_.begin(), conditions_.end());
    known.numbers = numbers;
  }
  return numbers;
}

// The joins and conditions that a base is made of; false where it cannot be enumerated.
bool Enumerator::collect(uint32_t base) {
  joins_.clear();
  cut_short_ = false;
  closed_.resize(terms_.size(), false);
  marked_.resize(terms_.size(), false);
  worked_.grow(terms_.size());
  const bool collected = collect_joins(base, 0);
  // Conditions on the way, which may be known without what they are computed from.
  conditions_.clear();
  for (uint32_t t : trail_) {
    if (terms_[t].kind == TermKind::kPure && terms_[t].width == 1 &&
        std::find(joins_.begin(), joins_.end(), t) == joins_.end()) {
      conditions_.push_back(t);
    }
  }
  unmark(0);
  return collected;
}

// What of a term has to be collected for it, without the term itself.
bool Enumerator::collect_from(const Term& term, uint32_t base, unsigned depth) {
  const auto all = [&](const auto& values) {
    return std::all_of(values.begin(), values.end(),
                       [&](const Value& v) { return v.plain == 0 && collect_joins(v.base, depth + 1); });
  };
  switch (term.kind) {
    case TermKind::kJoin:
      if (!term.listed) return false;
      joins_.push_back(base);
      return all(term.set);
    case TermKind::kSum:
    case TermKind::kPure:
      return term.operation.op != Op::kGeneric && all(term.args);
    case TermKind::kNone:
    case TermKind::kOpaque:
    case TermKind::kAllocation:
      return false;
  }
  return false;
}

bool Enumerator::collect_joins(uint32_t base, unsigned depth) {
  constexpr unsigned kDeepest = assumptions::kListedDepth;
  constexpr size_t kMostJoins = assumptions::kListedUnknowns;
  if (base == 0) return true;
  if (depth > kDeepest || joins_.size() > kMostJoins) {
    cut_short_ = true;
    terms_.uses().count(depth > kDeepest ? assumptions::Id::kListedDepth : assumptions::Id::kListedUnknowns);
    return false;
  }
  if (marked_[base]) return true;
  const Term& term = terms_[base];
  const size_t before = joins_.size();
  const size_t trail = trail_.size();
  marked_[base] = true;
  trail_.push_back(base);
  if (!closed_[base] && collect_from(term, base, depth)) return true;
  if (!cut_short_) closed_[base] = true;
  // A truth that cannot be taken apart is 0 or 1.
  joins_.resize(before);
  unmark(trail);
  if (term.width != 1 || term.kind == TermKind::kSum) return false;
  marked_[base] = true;
  trail_.push_back(base);
  joins_.push_back(base);
  return true;
}

void Enumerator::unmark(size_t trail) {
  for (size_t n = trail; n < trail_.size(); ++n) marked_[trail_[n]] = false;
  trail_.resize(trail);
}

// What a base is in a lane when every join is given one of its values. Each term is worked out once per choice.
uint64_t Enumerator::evaluate_base(uint32_t base, unsigned lane) {
  Worked& worked = worked_[base];
  if (worked.round == round_) return worked.number;
  if (worked.busy == round_) {
    cyclic_ = true;
    return 0;
  }
  worked.busy = round_;
  const Term& term = terms_[base];
  uint64_t number = 0;
  if (worked.choice != nullptr) {
    number = evaluate(*worked.choice, lane);
  } else if (term.kind == TermKind::kSum) {
    for (size_t n = 0; n < term.args.size(); ++n) {
      number += term.coefficients[n] * evaluate_base(term.args[n].base, lane);
    }
  } else {
    uint64_t args[4] = {};
    for (size_t n = 0; n < term.args.size() && n < 4; ++n) args[n] = evaluate(term.args[n], lane);
    number = fold(term.operation, args, static_cast<unsigned>(term.args.size()));
  }
  worked.round = round_;
  worked.busy = 0;
  worked.number = number;
  return number;
}

uint64_t Enumerator::evaluate(const Value& value, unsigned lane) {
  uint64_t n = terms_.tables().number_in(value, lane);
  if (value.base != 0 && ((value.plain >> lane) & 1) == 0) n += evaluate_base(value.base, lane);
  return n;
}

// Which values each join may have, and which truths each condition. Those that are numbers are admitted or not once for
// all combinations. False where a join has no values, or where there are too many combinations.
bool Enumerator::choose(const JoinFilter* filter) {
  static const std::array<Value, 2> kTruths = {Value::of(0), Value::of(1)};
  open_joins_.clear();
  choices_.clear();
  combinations_ = 1;
  for (uint32_t j : joins_) {
    Choices c;
    c.term = j;
    c.first = choices_.size();
    auto consider = [&](const Value& v) {
      if (v.base != 0 || v.table != 0) {
        c.open = true;
      } else if (filter != nullptr && !filter->admits(j, v.number)) {
        return;
      }
      choices_.push_back(&v);
    };
    const Term& term = terms_[j];
    if (term.kind == TermKind::kJoin && term.listed) {
      if (term.set.empty()) return false;
      for (const Value& v : term.set) consider(v);
    } else {
      for (const Value& v : kTruths) consider(v);
    }
    c.count = choices_.size() - c.first;
    open_joins_.push_back(c);
    combinations_ *= c.count;
    if (combinations_ > kMostCombinations) {
      terms_.uses().count(assumptions::Id::kCombinationsOfValues);
      return false;
    }
  }
  // Which truths of a condition are admitted: asked once, not for each combination.
  known_conditions_.clear();
  for (uint32_t t : conditions_) {
    if (filter == nullptr || !filter->concerns(t)) continue;
    const bool can_be[2] = {filter->admits(t, 0), filter->admits(t, 1)};
    if (!can_be[0] || !can_be[1]) known_conditions_.push_back({t, {can_be[0], can_be[1]}});
  }
  return true;
}

// Whether the filter admits the combination at hand.
bool Enumerator::admitted(const JoinFilter* filter, unsigned lane) {
  for (const Choices& c : open_joins_) {
    if (filter == nullptr || !c.open) continue;
    if (!filter->admits(c.term, evaluate_base(c.term, lane))) return false;
  }
  return std::all_of(known_conditions_.begin(), known_conditions_.end(),
                     [&](const KnownCondition& c) { return c.can_be[evaluate_base(c.term, lane) & 1]; });
}

std::optional<std::vector<uint64_t>> Enumerator::enumerate_anew(const Value& value, unsigned lane, unsigned width,
                                                                const JoinFilter* filter, size_t most) {
  if (!choose(filter)) return std::nullopt;
  std::vector<uint64_t> out;
  bool cyclic = false;
  for (size_t n = 0; n < combinations_ && !cyclic; ++n) {
    size_t rest = n;
    ++round_;
    cyclic_ = false;
    for (const Choices& c : open_joins_) {
      worked_[c.term].choice = choices_[c.first + rest % c.count];
      rest /= c.count;
    }
    if (!admitted(filter, lane)) continue;
    const uint64_t number = truncate(evaluate(value, lane), width);
    cyclic = cyclic_;  // a counter that nothing bounds
    if (std::find(out.begin(), out.end(), number) == out.end()) out.push_back(number);
    if (out.size() > most) break;
  }
  for (const Choices& c : open_joins_) worked_[c.term].choice = nullptr;
  if (cyclic) return std::nullopt;
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace tmemlint::value
