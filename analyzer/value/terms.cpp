// Hash-consing, linear forms and lane tables. What single operations simplify to is in simplify.cpp.
#include <algorithm>
#include <bit>

#include "analyzer/value/value.h"

namespace tmemlint::value {

Terms::Terms() {
  terms_.emplace_back();  // term 0: no base
  tables_.emplace_back();
  spreads_.push_back({0, 0});
}

template <typename Fill>
uint32_t Terms::intern(TermKind kind, unsigned width, Operation operation, uint64_t site, uint64_t part,
                       const Value* args, size_t arg_count, const uint64_t* coefficients, Fill&& fill) {
  uint64_t h = 0x9e3779b97f4a7c15u;
  auto mix = [&h](uint64_t w) {
    h = (h ^ w) * 0xff51afd7ed558ccdu;
    h ^= h >> 29;
  };
  mix(static_cast<uint64_t>(kind) | (static_cast<uint64_t>(width) << 8) | (static_cast<uint64_t>(operation.op) << 16) |
      (static_cast<uint64_t>(operation.width) << 24) | (static_cast<uint64_t>(operation.is_signed) << 31) |
      (static_cast<uint64_t>(operation.aux) << 32));
  mix(site);
  mix(part);
  for (size_t n = 0; n < arg_count; ++n) {
    mix(args[n].base | (static_cast<uint64_t>(args[n].table) << 32));
    mix(args[n].number ^ (static_cast<uint64_t>(args[n].plain) << 32));
    if (coefficients != nullptr) mix(coefficients[n]);
  }
  const uint32_t known = index_.find(h, [&](uint32_t found) {
    const Term& t = terms_[found];
    return t.kind == kind && t.width == width && t.operation == operation && t.site == site && t.part == part &&
           t.args.size() == arg_count && std::equal(t.args.begin(), t.args.end(), args) &&
           (coefficients == nullptr || std::equal(coefficients, coefficients + arg_count, t.coefficients));
  });
  if (known != 0) return known;
  index_.add(h);
  const auto fresh = static_cast<uint32_t>(terms_.size());
  Term& term = terms_.emplace_back();
  term.kind = kind;
  term.width = static_cast<uint8_t>(width);
  term.operation = operation;
  term.site = site;
  term.part = part;
  term.args = {args_.keep(args, arg_count), arg_count};
  if (coefficients != nullptr) term.coefficients = coefficients_.keep(coefficients, arg_count);
  fill(term);
  return fresh;
}

Value Terms::make_pure(Operation o, const Value* args, unsigned count) {
  const unsigned width = o.op == Op::kEq || o.op == Op::kLt ? 1 : o.width;
  Value out;
  out.base = intern(TermKind::kPure, width, o, 0, 0, args, count, nullptr, [this](Term& term) { describe_pure(term); });
  switch (o.op) {
    case Op::kMin:
    case Op::kMax:
    case Op::kAnd:
    case Op::kOr:
    case Op::kXor:
    case Op::kMul:
      note_commutative(out.base, args[0], args[1]);
      break;
    default:
      break;
  }
  return out;
}

// d == 1 ? x : mulhi(x, m) >> s, as quotients by a divisor that is only known at run time are computed.
void Terms::note_divisor(const Term& selection) {
  const Term& condition = terms_[selection.args[0].base];
  if (condition.kind != TermKind::kPure || condition.operation.op != Op::kEq) return;
  if (condition.args[1] != Value::of(1) || condition.args[0] != with_base({}, condition.args[0].base)) return;
  const Term* quotient = &terms_[selection.args[2].base];
  while (quotient->kind == TermKind::kPure &&
         (quotient->operation.op == Op::kShr || quotient->operation.op == Op::kZext)) {
    quotient = &terms_[quotient->args[0].base];
  }
  if (quotient->kind != TermKind::kPure || quotient->operation.op != Op::kMulHi) return;
  if (quotient->args[0].base != 0 && quotient->args[1].base != 0) terms_[condition.args[0].base].divisor = true;
}

// Bits of the lane's number that a value does not depend on.
uint8_t Terms::symmetric(const Value& value) const {
  constexpr uint8_t kAllBits = kLanes - 1;
  if (value.table != 0 || value.plain != 0) return 0;
  if (value.base == 0 || terms_[value.base].uniformity != Uniformity::kLane) return kAllBits;
  return terms_[value.base].symmetric;
}

void Terms::add_symmetric(Term& term, uint8_t lanes) {
  term.symmetric |= lanes;
  if (term.symmetric == kLanes - 1) term.uniformity = std::min(term.uniformity, Uniformity::kWarp);
}

std::optional<Value> Terms::butterfly(const Value& value, unsigned bit_of_lane) {
  if (value.base == 0 || value.table != 0 || value.plain != 0 || !std::has_single_bit(bit_of_lane)) return std::nullopt;
  if ((symmetric(value) & bit_of_lane) != 0) return value;
  const Value base = with_base({}, value.base);
  Value out = make_pure({Op::kButterfly, terms_[value.base].width, false, bit_of_lane}, &base, 1);
  out.number = value.number;
  return out;
}

void Terms::note_commutative(uint32_t term, const Value& a, const Value& b) {
  auto exchanged = [&](const Value& of, const Value& other) -> uint8_t {
    const Term& t = terms_[other.base];
    if (t.kind != TermKind::kPure || t.operation.op != Op::kButterfly) return 0;
    const bool same = t.args[0].base == of.base && other.number == of.number && of.table == 0 && other.table == 0 &&
                      of.plain == 0 && other.plain == 0;
    return same ? static_cast<uint8_t>(t.operation.aux) : 0;
  };
  if (terms_[term].uniformity != Uniformity::kLane) return;
  add_symmetric(terms_[term], static_cast<uint8_t>((symmetric(a) & symmetric(b)) | exchanged(a, b) | exchanged(b, a)));
}

// What follows from the arguments of an operation.
void Terms::describe_pure(Term& term) {
  const Operation& o = term.operation;
  for (const Value& v : term.args) {
    term.uniformity = std::max(term.uniformity, uniformity(v));
    if (v.base == 0) continue;
    term.loops |= terms_[v.base].loops;
    term.depth = std::max(term.depth, terms_[v.base].depth + 1);
  }
  uint8_t same = kLanes - 1;
  for (const Value& v : term.args) same &= symmetric(v);
  if (term.uniformity == Uniformity::kLane) add_symmetric(term, same);
  uint64_t zero = ~truncate(~uint64_t{0}, term.width);
  auto possible_ones = [&](unsigned n) { return term.args[n].table != 0 ? ~uint64_t{0} : ~zero_bits(term.args[n], 0); };
  switch (o.op) {
    case Op::kAnd:
      zero |= ~(possible_ones(0) & possible_ones(1));
      break;
    case Op::kOr:
    case Op::kXor:
    case Op::kMin:
    case Op::kMax:
      zero |= ~(possible_ones(0) | possible_ones(1));
      break;
    case Op::kZext:
      zero |= ~truncate(possible_ones(0), o.aux);
      break;
    case Op::kSext:
      // Above there are copies of the highest bit.
      zero |= truncate(~possible_ones(0), o.aux);
      break;
    case Op::kShr:
      if (!o.is_signed && term.args[1].constant() && term.args[1].number < 64) {
        zero |= ~(truncate(possible_ones(0), o.width) >> term.args[1].number);
      }
      break;
    case Op::kBfe:
      if (!o.is_signed && term.args[2].constant()) {
        zero |= ~truncate(~uint64_t{0}, static_cast<unsigned>(std::clamp<uint64_t>(term.args[2].number & 0xff, 1, 64)));
      }
      break;
    case Op::kSelect:
      note_divisor(term);
      zero |= ~(possible_ones(1) | possible_ones(2));
      break;
    case Op::kClz:
    case Op::kPopc:
      zero |= ~uint64_t{0x7f};
      break;
    default:
      break;
  }
  term.zero_bits = zero;
}

uint32_t Terms::table_of(const Lanes& offsets) {
  uint64_t any = 0;
  uint64_t total = 0;
  for (uint64_t n : offsets) {
    any |= n;
    total += n;
  }
  if (any == 0) return 0;
  // Numbers of lanes mostly follow from the bits of the lane.
  uint64_t h = total;
  for (unsigned l : {1u, 2u, 4u, 8u, 16u, 31u}) h = (h ^ offsets[l]) * 0x9e3779b97f4a7c15u + (h >> 29);
  h ^= h >> 32;
  const uint32_t known = table_index_.find(h, [&](uint32_t found) { return tables_[found] == offsets; });
  if (known != 0) return known;
  table_index_.add(h);
  const auto fresh = static_cast<uint32_t>(tables_.size());
  tables_.push_back(offsets);
  Interval spread{0, 0};
  for (uint64_t n : offsets) {
    spread.low = std::min(spread.low, static_cast<int64_t>(n));
    spread.high = std::max(spread.high, static_cast<int64_t>(n));
  }
  spreads_.push_back(spread);
  return fresh;
}

// Whether no lane of number + table leaves the numbers of this width: the table is that of the truncated numbers then.
bool Terms::fits(uint64_t number, uint32_t table, unsigned width) const {
  if (width >= 64) return true;
  const uint64_t limit = truncate(~uint64_t{0}, width);
  const Interval& spread = spreads_[table];
  if (number > limit || spread.low < -static_cast<int64_t>(limit) || spread.high > static_cast<int64_t>(limit)) {
    return false;
  }
  const auto n = static_cast<int64_t>(number);
  return width < 63 && n + spread.low >= 0 && n + spread.high <= static_cast<int64_t>(limit);
}

Lanes Terms::numbers_of(const Value& value) const {
  Lanes out = tables_[value.table];
  for (uint64_t& n : out) n += value.number;
  return out;
}

std::pair<uint64_t, uint64_t> Terms::span_of(const Value& value, uint32_t mask) const {
  const Interval& spread = spreads_[value.table];
  const auto number = static_cast<int64_t>(value.number);
  if (mask == kAllLanes && number >= 0 && number + spread.low >= 0) {
    return {static_cast<uint64_t>(number + spread.low), static_cast<uint64_t>(number + spread.high)};
  }
  uint64_t low = ~uint64_t{0};
  uint64_t high = 0;
  for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
    const uint64_t n = number_in(value, static_cast<unsigned>(std::countr_zero(rest)));
    low = std::min(low, n);
    high = std::max(high, n);
  }
  return {low, high};
}

// An operation on numbers that differ from lane to lane.
Value Terms::apply_by_lane(Operation o, const Value* args, unsigned count) {
  if (o.op == Op::kAdd && (args[0].table == 0 || args[1].table == 0)) {
    Value out = args[0].table != 0 ? args[0] : args[1];
    out.number = truncate(args[0].number + args[1].number, o.width);
    if (fits(out.number, out.table, o.width)) return out;
  }
  if (o.op == Op::kZext && fits(args[0].number, args[0].table, std::min<unsigned>(o.width, o.aux))) return args[0];
  Lanes numbers[4];
  for (unsigned n = 0; n < count; ++n) numbers[n] = numbers_of(args[n]);
  Lanes out;
  fold_lanes(o, numbers, count, out);
  return from_lanes(out, o.width);
}

Value Terms::from_lanes(const Lanes& numbers, unsigned width) {
  Value v;
  const uint64_t mask = truncate(~uint64_t{0}, width);
  v.number = numbers[0] & mask;
  Lanes offsets;
  for (unsigned l = 0; l < kLanes; ++l) offsets[l] = (numbers[l] & mask) - v.number;
  v.table = table_of(offsets);
  return v;
}

Value Terms::with_base(Value value, uint32_t base) const {
  value.base = base;
  return value;
}

Value Terms::opaque(uint64_t site, uint64_t part, Uniformity uniformity, uint64_t loops, unsigned width,
                    uint64_t zero_bits) {
  Value v;
  v.base = intern(TermKind::kOpaque, width, {}, site, part, nullptr, 0, nullptr, [&](Term& term) {
    term.uniformity = uniformity;
    term.loops = loops;
    term.zero_bits = zero_bits | ~truncate(~uint64_t{0}, width);
  });
  return v;
}

Value Terms::allocation(uint64_t site, uint64_t part, uint64_t columns) {
  // Lane 0, a multiple of the allocation unit of 32 columns (ISA 9.7.16.1.2), with all its columns below 512.
  constexpr uint64_t kAll = 512;
  constexpr uint64_t kUnit = 32;
  Value v;
  v.base = intern(TermKind::kAllocation, 32, {}, site, part, nullptr, 0, nullptr,
                  [](Term& term) { term.zero_bits = ~(kAll - kUnit); });
  const uint64_t last = columns < kUnit ? kAll - kUnit : kAll - std::min(columns, kAll);
  uint64_t& starts = starts_[v.base];
  starts |= (std::bit_ceil(last + 1) - 1) & ~(kUnit - 1);
  return v;
}

uint64_t Terms::ones_of(const Value& value) const {
  // The sum of what has no bits in common.
  uint64_t ones = number_in(value, 0);
  bool apart = value.plain == 0;
  for (const Part part : parts(value.base)) {
    const auto starts = starts_.find(part.term);
    const uint64_t own = (starts != starts_.end() ? starts->second : ~terms_[part.term].zero_bits) * part.coefficient;
    apart = apart && std::has_single_bit(part.coefficient) && (ones & own) == 0;
    ones |= own;
  }
  return apart ? ones : ~zero_bits(value, 0);
}

uint32_t Terms::join(uint64_t site, uint64_t part, uint64_t loops, unsigned width) {
  return intern(TermKind::kJoin, width, {}, site, part, nullptr, 0, nullptr, [loops](Term& term) {
    term.loops = loops;
    term.uniformity = Uniformity::kWarp;
  });
}

void Terms::set_zero_bits(uint32_t term, uint64_t zero_bits) {
  if (terms_[term].zero_bits == zero_bits) return;
  terms_[term].zero_bits = zero_bits;
  if (term + 1 != terms_.size()) ++zero_bits_changes_;  // what was made of it rests on the bits it had
}

// The base of a + b * factor.
uint32_t Terms::base_of_sum(uint32_t a, uint32_t b, uint64_t factor, unsigned width) {
  const Parts first = parts(a);
  const Parts second = parts(b);
  std::vector<Part>& merged = merged_;
  merged.clear();
  auto add = [&](uint32_t term, uint64_t coefficient) {
    coefficient = truncate(coefficient, width);
    if (coefficient != 0) merged.push_back({term, coefficient});
  };
  size_t n = 0;
  size_t m = 0;
  while (n < first.size() || m < second.size()) {
    const Part x = n < first.size() ? first[n] : Part{UINT32_MAX, 0};
    const Part y = m < second.size() ? second[m] : Part{UINT32_MAX, 0};
    if (x.term < y.term) {
      add(x.term, x.coefficient);
      ++n;
    } else if (y.term < x.term) {
      add(y.term, y.coefficient * factor);
      ++m;
    } else {
      add(x.term, x.coefficient + y.coefficient * factor);
      ++n;
      ++m;
    }
  }
  if (merged.empty()) return 0;
  if (merged.size() == 1 && merged[0].coefficient == 1) return merged[0].term;
  std::vector<Value>& args = merged_args_;
  std::vector<uint64_t>& coefficients = merged_coefficients_;
  args.assign(merged.size(), Value{});
  coefficients.resize(merged.size());
  for (size_t k = 0; k < merged.size(); ++k) {
    args[k].base = merged[k].term;
    coefficients[k] = merged[k].coefficient;
  }
  return intern(TermKind::kSum, width, {}, 0, 0, args.data(), args.size(), coefficients.data(), [&](Term& term) {
    unsigned low_zeros = 63;
    uint64_t largest = 0;
    bool bounded = true;
    for (const Part& part : merged) {
      const Term& t = terms_[part.term];
      term.uniformity = std::max(term.uniformity, t.uniformity);
      term.loops |= t.loops;
      term.depth = std::max(term.depth, t.depth + 1);
      const auto zeros = static_cast<unsigned>(std::countr_one(t.zero_bits) + std::countr_zero(part.coefficient));
      low_zeros = std::min(low_zeros, zeros);
      // No carry gets beyond the largest sum that the parts can make.
      uint64_t most = 0;
      bounded = bounded && !__builtin_mul_overflow(~t.zero_bits, part.coefficient, &most) &&
                !__builtin_add_overflow(largest, most, &largest);
    }
    if (term.uniformity == Uniformity::kLane) {
      uint8_t same = kLanes - 1;
      for (const Part& part : merged) same &= symmetric(with_base({}, part.term));
      add_symmetric(term, same);
    }
    term.zero_bits = truncate(~uint64_t{0}, low_zeros) | ~truncate(~uint64_t{0}, width);
    if (low_zeros == 0) term.zero_bits &= ~uint64_t{1};
    if (bounded && largest <= truncate(~uint64_t{0}, width)) {
      term.zero_bits |= ~truncate(~uint64_t{0}, static_cast<unsigned>(std::bit_width(largest)));
    }
  });
}

Value Terms::sum(const Value& a, const Value& b, uint64_t factor, unsigned width) {
  if (a.table == 0 && b.table == 0) {
    // Only a number is added: the base stays.
    const Value* based = b.base == 0 ? &a : a.base == 0 && factor == 1 ? &b : nullptr;
    if (based != nullptr &&
        (based->base == 0 || terms_[based->base].kind != TermKind::kSum || terms_[based->base].width == width)) {
      Value out = *based;
      out.number = truncate(a.number + b.number * factor, width);
      return out;
    }
  }
  Value out;
  out.base = base_of_sum(a.base, b.base, factor, width);
  if (factor == 1 && a.base != 0 && b.base != 0 && out.base != 0) {
    note_commutative(out.base, with_base({}, a.base), with_base({}, b.base));
  }
  out.plain = out.base == 0 ? 0 : (a.base != 0 ? a.plain : b.plain);
  if (a.table == 0 && b.table == 0) {
    out.number = truncate(a.number + b.number * factor, width);
    return out;
  }
  if (a.table == 0 ? factor == 1 : b.table == 0) {
    // A number is added in all lanes.
    out.table = a.table != 0 ? a.table : b.table;
    out.number = truncate(a.number + b.number * factor, width);
    if (fits(out.number, out.table, width)) return out;
  }
  Lanes numbers = numbers_of(a);
  const Lanes others = numbers_of(b);
  for (unsigned l = 0; l < kLanes; ++l) numbers[l] += others[l] * factor;
  const Value lanes = from_lanes(numbers, width);
  out.number = lanes.number;
  out.table = lanes.table;
  return out;
}

Value Terms::scale(const Value& a, uint64_t factor, unsigned width) {
  Value zero;
  Value out = sum(zero, a, factor, width);
  out.plain = out.base == 0 ? 0 : a.plain;
  return out;
}

Uniformity Terms::uniformity(const Value& value) const {
  if (value.table != 0 || value.plain != 0) return Uniformity::kLane;
  return value.base == 0 ? Uniformity::kCta : terms_[value.base].uniformity;
}

bool Terms::uniform(const Value& value, uint32_t mask) const {
  if (mask == 0 || (mask & (mask - 1)) == 0) return true;
  if (value.base != 0) {
    const uint32_t plain = value.plain & mask;
    if (plain != 0 && plain != mask) return false;
    if (plain == 0 && terms_[value.base].uniformity == Uniformity::kLane) return false;
  }
  if (value.table == 0) return true;
  const auto first = static_cast<unsigned>(std::countr_zero(mask));
  for (unsigned l = first; l < kLanes; ++l) {
    if (((mask >> l) & 1) != 0 && tables_[value.table][l] != tables_[value.table][first]) return false;
  }
  return true;
}

Value Terms::lane(const Value& value, unsigned lane) const {
  Value out;
  out.number = number_in(value, lane);
  if (((value.plain >> lane) & 1) == 0) out.base = value.base;
  return out;
}

Value Terms::blend(uint32_t mask, const Value& on, const Value& off, uint64_t site, uint64_t loops, unsigned width) {
  if (mask == kAllLanes || on == off) return on;
  if (mask == 0) return off;
  // A base counts where it is not plain; sides without a base are plain everywhere.
  const uint32_t on_plain = on.base == 0 ? kAllLanes : on.plain;
  const uint32_t off_plain = off.base == 0 ? kAllLanes : off.plain;
  const uint32_t on_based = mask & ~on_plain;
  const uint32_t off_based = ~mask & ~off_plain;
  if (on_based != 0 && off_based != 0 && on.base != off.base) {
    return opaque(site, 0x626c656e64u, Uniformity::kLane, loops, width);
  }
  Lanes numbers;
  for (unsigned l = 0; l < kLanes; ++l) numbers[l] = number_in(((mask >> l) & 1) != 0 ? on : off, l);
  Value out = from_lanes(numbers, width);
  const uint32_t based = on_based | off_based;
  if (based != 0) {
    out.base = on_based != 0 ? on.base : off.base;
    out.plain = ~based;
  }
  return out;
}

uint64_t Terms::zero_bits(const Value& value, unsigned lane) const {
  const uint64_t n = number_in(value, lane);
  if (value.base == 0 || ((value.plain >> lane) & 1) != 0) return ~n;
  const uint64_t ones = ~terms_[value.base].zero_bits;
  if (ones == 0) return ~n;
  // Below the base's lowest possible one the number shows through; above the highest only if no carry can get there.
  const auto low = static_cast<unsigned>(std::countr_zero(ones));
  uint64_t zero = ~n & truncate(~uint64_t{0}, low);
  const auto top = static_cast<unsigned>(std::bit_width(ones));
  for (unsigned split = top; split <= top + 1 && split < 64; ++split) {
    const uint64_t mask = truncate(~uint64_t{0}, split);
    if ((n & mask) + ones <= mask) {
      zero |= ~n & ~mask;
      break;
    }
  }
  return zero;
}

void Terms::set_list(uint32_t join, std::vector<Value> set, bool listed) {
  Term& term = terms_[join];
  if (term.listed == listed && term.set == set) return;
  if (listed && !term.listed) {  // what could not be listed because of it now may be
    closed_.clear();
    unlisted_.clear();
  }
  term.set = std::move(set);
  term.listed = listed;
  list_changed();
}

bool Terms::collect_joins(uint32_t base, std::vector<uint32_t>& joins, unsigned depth) const {
  if (base == 0) return true;
  if (depth > 24 || joins.size() > 8) {
    cut_short_ = true;
    return false;
  }
  if (marked_[base]) return true;
  const Term& term = terms_[base];
  const size_t before = joins.size();
  const size_t trail = trail_.size();
  marked_[base] = true;
  trail_.push_back(base);
  bool found = false;
  switch (closed_[base] ? TermKind::kNone : term.kind) {
    case TermKind::kJoin:
      if (!term.listed) break;
      joins.push_back(base);
      found = std::all_of(term.set.begin(), term.set.end(),
                          [&](const Value& v) { return v.plain == 0 && collect_joins(v.base, joins, depth + 1); });
      break;
    case TermKind::kSum:
    case TermKind::kPure:
      if (term.operation.op == Op::kGeneric) break;
      found = std::all_of(term.args.begin(), term.args.end(),
                          [&](const Value& v) { return v.plain == 0 && collect_joins(v.base, joins, depth + 1); });
      break;
    default:
      break;
  }
  if (found) return true;
  if (!cut_short_) closed_[base] = true;
  // A truth that cannot be taken apart is 0 or 1.
  joins.resize(before);
  unmark(trail);
  if (term.width != 1 || term.kind == TermKind::kSum) return false;
  marked_[base] = true;
  trail_.push_back(base);
  joins.push_back(base);
  return true;
}

void Terms::unmark(size_t trail) const {
  for (size_t n = trail; n < trail_.size(); ++n) marked_[trail_[n]] = false;
  trail_.resize(trail);
}

// What a base is in a lane when every join is given one of its values. Each term is worked out once per choice.
uint64_t Terms::evaluate_base(uint32_t base, unsigned lane) const {
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

uint64_t Terms::evaluate(const Value& value, unsigned lane) const {
  uint64_t n = number_in(value, lane);
  if (value.base != 0 && ((value.plain >> lane) & 1) == 0) n += evaluate_base(value.base, lane);
  return n;
}

std::optional<std::vector<uint64_t>> Terms::enumerate(const Value& value, unsigned lane, unsigned width,
                                                      const Filter* filter, size_t most) const {
  if (value.base == 0 || ((value.plain >> lane) & 1) != 0) {
    return std::vector<uint64_t>{truncate(number_in(value, lane), width)};
  }
  // What cannot be listed never can be: unknowns stay unknown, and a join that gave up its list has none again.
  if (value.base < unlisted_.size() && unlisted_[value.base]) return std::nullopt;
  constexpr size_t kRemembered = 512;
  enumerated_.resize(kRemembered);
  Enumerated& known = enumerated_[(uint64_t{value.base} * 31 + value.number * 7 + width) % kRemembered];
  auto concerned = [filter](const std::vector<uint32_t>& joins) {
    return filter != nullptr &&
           std::any_of(joins.begin(), joins.end(), [filter](uint32_t j) { return filter->concerns(j); });
  };
  const bool same = lane == 0 && known.lists == lists_ && known.width == width && known.value == value;
  if (same && (known.most >= most || (known.numbers && known.numbers->size() > most)) && !concerned(known.joins)) {
    return known.numbers;
  }
  joins_.clear();
  cut_short_ = false;
  closed_.resize(terms_.size(), false);
  marked_.resize(terms_.size(), false);
  worked_.grow(terms_.size());
  const bool collected = collect_joins(value.base, joins_, 0);
  // Conditions on the way, which may be known without what they are computed from.
  conditions_.clear();
  for (uint32_t t : trail_) {
    if (terms_[t].kind == TermKind::kPure && terms_[t].width == 1 &&
        std::find(joins_.begin(), joins_.end(), t) == joins_.end()) {
      conditions_.push_back(t);
    }
  }
  unmark(0);
  if (!collected) {
    unlisted_.resize(terms_.size(), false);
    unlisted_[value.base] = true;
    return std::nullopt;
  }
  const bool filtered = concerned(joins_) || concerned(conditions_);
  std::optional<std::vector<uint64_t>> numbers =
      enumerate_anew(value, lane, width, filtered ? filter : nullptr, most, joins_);
  if (lane == 0 && !filtered) {
    known.value = value;
    known.width = width;
    known.most = most;
    known.lists = lists_;
    known.joins = joins_;
    known.joins.insert(known.joins.end(), conditions_.begin(), conditions_.end());
    known.numbers = numbers;
  }
  return numbers;
}

std::optional<std::vector<uint64_t>> Terms::enumerate_anew(const Value& value, unsigned lane, unsigned width,
                                                           const Filter* filter, size_t most,
                                                           const std::vector<uint32_t>& joins) const {
  // Choices of a join: its list; of a truth: no and yes. Those that are numbers are admitted or not once for all.
  static const std::array<Value, 2> kTruths = {Value::of(0), Value::of(1)};
  std::vector<Choices>& all = open_joins_;
  all.clear();
  choices_.clear();
  size_t combinations = 1;
  for (uint32_t j : joins) {
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
      if (term.set.empty()) return std::nullopt;
      for (const Value& v : term.set) consider(v);
    } else {
      for (const Value& v : kTruths) consider(v);
    }
    c.count = choices_.size() - c.first;
    all.push_back(c);
    combinations *= c.count;
    if (combinations > kMostCombinations) return std::nullopt;
  }
  // Which truths of a condition are admitted: asked once, not for each combination.
  known_conditions_.clear();
  for (uint32_t t : conditions_) {
    if (filter == nullptr || !filter->concerns(t)) continue;
    const bool can_be[2] = {filter->admits(t, 0), filter->admits(t, 1)};
    if (!can_be[0] || !can_be[1]) known_conditions_.push_back({t, {can_be[0], can_be[1]}});
  }
  std::vector<uint64_t> out;
  bool cyclic = false;
  for (size_t n = 0; n < combinations && !cyclic; ++n) {
    size_t rest = n;
    ++round_;
    cyclic_ = false;
    for (const Choices& c : all) {
      worked_[c.term].choice = choices_[c.first + rest % c.count];
      rest /= c.count;
    }
    bool admitted = true;
    for (const Choices& c : all) {
      if (filter == nullptr || !c.open) continue;
      admitted = filter->admits(c.term, evaluate_base(c.term, lane));
      if (!admitted) break;
    }
    for (size_t c = 0; c < known_conditions_.size() && admitted; ++c) {
      admitted = known_conditions_[c].can_be[evaluate_base(known_conditions_[c].term, lane) & 1];
    }
    if (!admitted) continue;
    const uint64_t number = truncate(evaluate(value, lane), width);
    cyclic = cyclic_;  // a counter that nothing bounds
    if (std::find(out.begin(), out.end(), number) == out.end()) out.push_back(number);
    if (out.size() > most) break;
  }
  for (const Choices& c : all) worked_[c.term].choice = nullptr;
  if (cyclic) return std::nullopt;
  std::sort(out.begin(), out.end());
  return out;
}

std::string Terms::describe(const Value& value) const {
  std::string out;
  if (value.base != 0) {
    for (const Part part : parts(value.base)) {
      const Term& term = terms_[part.term];
      if (!out.empty()) out += "+";
      if (part.coefficient != 1) out += std::to_string(static_cast<int64_t>(part.coefficient)) + "*";
      switch (term.kind) {
        case TermKind::kAllocation:
          out += "alloc" + std::to_string(term.site & 0xffffff);
          break;
        case TermKind::kJoin:
          out += "join" + std::to_string(part.term);
          break;
        case TermKind::kOpaque:
          out += "x" + std::to_string(part.term);
          break;
        default:
          out += "op" + std::to_string(static_cast<int>(term.operation.op)) + "(";
          for (const Value& v : term.args) out += describe(v) + ",";
          out += ")";
      }
    }
  }
  if (out.empty() || value.number != 0) {
    if (!out.empty()) out += "+";
    out += std::to_string(value.number);
  }
  if (value.table != 0) out += "[+lane]";
  if (value.plain != 0) out += "/plain" + std::to_string(value.plain);
  return out;
}

}  // namespace tmemlint::value
