#include "analyzer/value/by_lane.h"

#include "analyzer/assumptions/assumptions.h"

#include <algorithm>
#include <bit>

namespace tmemlint::value {

Value apply_by_lane(LaneTables& tables, Operation o, const Value* args, unsigned count) {
  if (o.op == Op::kAdd && (args[0].table == 0 || args[1].table == 0)) {
    Value out = args[0].table != 0 ? args[0] : args[1];
    out.number = truncate(args[0].number + args[1].number, o.width);
    if (tables.fits(out.number, out.table, o.width)) return out;
  }
  if (o.op == Op::kZext && tables.fits(args[0].number, args[0].table, std::min<unsigned>(o.width, o.aux)))
    return args[0];
  Lanes numbers[4];
  for (unsigned n = 0; n < count; ++n) numbers[n] = tables.numbers_of(args[n]);
  Lanes out;
  fold_lanes(o, numbers, count, out);
  return tables.from_lanes(out, o.width);
}

namespace {

// A shift, a mask or an extension of a base and numbers that differ from lane to lane only in bits that the base has
// none of, at most the lowest `most`.
std::optional<Value> of_parts(Arithmetic& terms, Operation o, const Value& x, const Value& other, unsigned most) {
  const auto low = std::min(most, static_cast<unsigned>(std::countr_one(terms[x.base].zero_bits)));
  const uint64_t mask = truncate(~uint64_t{0}, low);
  Lanes numbers = terms.tables().numbers_of(x);
  const uint64_t rest = numbers[0] & ~mask;
  for (uint64_t& n : numbers) {
    if ((n & ~mask) != rest) return std::nullopt;
    n &= mask;
  }
  const unsigned count = o.op == Op::kZext || o.op == Op::kSext ? 1 : 2;
  Value base_args[2] = {with_base(Value::of(rest), x.base), other};
  Value lane_args[2] = {terms.tables().from_lanes(numbers, o.width), other};
  if (o.op == Op::kOr || o.op == Op::kXor) {  // each bit of the mask is set in one of the parts
    base_args[1].number &= ~mask;
    lane_args[1].number &= mask;
  }
  const Value base = terms.apply(o, base_args, count);
  return terms.sum(base, apply_by_lane(terms.tables(), o, lane_args, count), 1, o.width);
}

// A comparison of values of which the upper bits are the same in all lanes, where the lower ones, which the bases have
// none of, compare the same way in all lanes: then the upper ones decide it alone.
std::optional<Value> of_upper_bits(Arithmetic& terms, Operation o, const Value* args) {
  unsigned low = o.width - 1u;
  for (unsigned n = 0; n < 2; ++n) {
    if (args[n].base == 0) continue;
    low = std::min(low, static_cast<unsigned>(std::countr_one(terms[args[n].base].zero_bits)));
  }
  const uint64_t mask = truncate(~uint64_t{0}, low);
  const uint64_t upper = truncate(~mask, o.width);
  const bool less = (args[0].number & mask) < (args[1].number & mask);
  for (unsigned l = 0; l < kLanes; ++l) {
    const uint64_t a = terms.tables().number_in(args[0], l);
    const uint64_t b = terms.tables().number_in(args[1], l);
    if (((a ^ args[0].number) & upper) != 0 || ((b ^ args[1].number) & upper) != 0) return std::nullopt;
    if (((a & mask) < (b & mask)) != less) return std::nullopt;
  }
  const Value first = with_base(Value::of(args[0].number & upper), args[0].base);
  const Value second = with_base(Value::of(args[1].number & upper), args[1].base);
  return less ? terms.apply(operation(Op::kNot, 1), terms.apply(o, second, first)) : terms.apply(o, first, second);
}

// The smaller or the larger of two values, where all lanes choose the same side.
std::optional<Value> same_side(Arithmetic& terms, Operation o, const Value* args) {
  const Operation less = operation(Op::kLt, o.width, o.is_signed);
  const Value turned[2] = {args[1], args[0]};
  const std::optional<Value> first = of_upper_bits(terms, less, args);
  const std::optional<Value> second = first ? std::nullopt : of_upper_bits(terms, less, turned);
  if (!first && !second) return std::nullopt;
  const bool takes_first = first.has_value() == (o.op == Op::kMin);
  const Value choice[3] = {first ? *first : *second, args[takes_first ? 0 : 1], args[takes_first ? 1 : 0]};
  return terms.apply(operation(Op::kSelect, o.width), choice, 3);
}

// Whether an extension leaves a value as it is in every lane.
bool cuts_nothing_off(Arithmetic& terms, Operation o, const Value& x) {
  const uint64_t limit = truncate(~uint64_t{0}, std::min<unsigned>(o.op == Op::kSext ? o.aux - 1 : o.aux, o.width));
  const uint64_t ones = ~terms[x.base].zero_bits;
  uint64_t largest = 0;
  for (unsigned l = 0; l < kLanes; ++l) largest = std::max(largest, terms.tables().number_in(x, l));
  return ones <= limit && largest <= limit && ones + largest <= limit;
}

}  // namespace

std::optional<Value> beside_base(Arithmetic& terms, Operation o, const Value* args) {
  switch (o.op) {
    case Op::kShr:
    case Op::kAnd:
    case Op::kOr:
    case Op::kXor:
      if (args[1].constant()) return of_parts(terms, o, args[0], args[1], o.width - 1u);
      if (args[0].constant() && o.op != Op::kShr) return of_parts(terms, o, args[1], args[0], o.width - 1u);
      return std::nullopt;
    case Op::kZext:
    case Op::kSext:
      if (cuts_nothing_off(terms, o, args[0])) return args[0];
      return of_parts(terms, o, args[0], {}, std::min<unsigned>(o.width, o.op == Op::kSext ? o.aux - 1 : o.aux));
    case Op::kLt:
      return of_upper_bits(terms, o, args);
    case Op::kSelect: {
      // Both differ from lane to lane in the same way.
      if (args[0].table != 0 || args[1].table != args[2].table) return std::nullopt;
      Value stripped[3] = {args[0], args[1], args[2]};
      stripped[1].table = stripped[2].table = 0;
      const Value offsets = terms.tables().from_lanes(terms.tables()[args[1].table], o.width);
      return terms.sum(terms.apply(o, stripped, 3), offsets, 1, o.width);
    }
    case Op::kMin:
    case Op::kMax:
      return same_side(terms, o, args);
    case Op::kMov:
    case Op::kAdd:
    case Op::kSub:
    case Op::kMul:
    case Op::kMulHi:
    case Op::kShl:
    case Op::kNot:
    case Op::kNeg:
    case Op::kAbs:
    case Op::kDiv:
    case Op::kRem:
    case Op::kEq:
    case Op::kBfe:
    case Op::kBfi:
    case Op::kPrmt:
    case Op::kLop3:
    case Op::kClz:
    case Op::kBrev:
    case Op::kBfind:
    case Op::kPopc:
    case Op::kFns:
    case Op::kFunnel:
    case Op::kButterfly:
    case Op::kGeneric:
      return std::nullopt;
  }
  return std::nullopt;
}

std::optional<Value> by_choice(Arithmetic& terms, Operation o, const Value* args, unsigned count) {
  if (!traits(o.op).of_both_sides) return std::nullopt;
  const unsigned width = o.op == Op::kZext || o.op == Op::kSext ? o.aux : o.width;
  constexpr uint32_t kDeepest =
      assumptions::kChoicesWorkedOut;  // a choice between choices is worked out for all of them
  Summand choice{0, 0};
  unsigned place = 0;
  for (unsigned n = 0; n < count; ++n) {
    if (args[n].base == 0 || terms[args[n].base].uniformity != Uniformity::kLane) continue;
    for (const Summand part : terms.store().summands(args[n].base)) {
      const Term& term = terms[part.term];
      if (term.uniformity != Uniformity::kLane) continue;
      if (choice.term != 0 || !terms.store().is_selection(part.term) || term.width != width || term.depth > kDeepest) {
        return std::nullopt;
      }
      choice = part;
      place = n;
    }
  }
  if (choice.term == 0) return std::nullopt;
  const std::span<const Value> sides = terms[choice.term].args;
  if (terms.store().uniformity(sides[0]) == Uniformity::kLane) return std::nullopt;
  const Value rest = terms.sum(args[place], Value::of_term(choice.term), ~choice.coefficient + 1, width);
  Value results[3] = {sides[0]};
  for (unsigned n = 1; n < 3; ++n) {
    Value side[3] = {args[0], count > 1 ? args[1] : Value{}};
    side[place] = terms.sum(rest, sides[n], choice.coefficient, width);
    results[n] = terms.apply(o, side, count);
    const Value& r = results[n];
    if (r.plain != 0 || terms[r.base].uniformity == Uniformity::kLane || r.table != results[1].table) {
      return std::nullopt;
    }
  }
  return terms.apply(operation(Op::kSelect, is_comparison(o.op) ? 1 : o.width), results, 3);
}

Value by_groups(Arithmetic& terms, Operation o, const Value* args, unsigned count) {
  Value out;
  uint32_t done = 0;
  unsigned groups = 0;
  while (done != kAllLanes) {
    const auto first = static_cast<unsigned>(std::countr_zero(~done));
    uint32_t group = 0;
    for (unsigned l = first; l < kLanes; ++l) {
      bool same = ((done >> l) & 1) == 0;
      for (unsigned n = 0; n < count && same; ++n)
        same = terms.store().lane(args[n], l) == terms.store().lane(args[n], first);
      if (same) group |= uint32_t{1} << l;
    }
    Value part[4];
    for (unsigned n = 0; n < count; ++n) part[n] = terms.store().lane(args[n], first);
    const Value result = terms.apply(o, part, count);
    const uint32_t before = out.base == 0 || out.plain == kAllLanes ? 0 : out.base;
    if (groups != 0 && result.base != 0 && before != 0 && result.base != before)
      return terms.make_operation(o, args, count);
    out = groups == 0 ? result : blend(terms.store(), group, result, out, 0, 0, o.width);
    done |= group;
    ++groups;
  }
  return out;
}

Value blend(TermStore& terms, uint32_t mask, const Value& on, const Value& off, uint64_t site, uint64_t loops,
            unsigned width) {
  if (mask == kAllLanes || on == off) return on;
  if (mask == 0) return off;
  // A base counts where it is not plain; sides without a base are plain everywhere.
  const uint32_t on_plain = on.base == 0 ? kAllLanes : on.plain;
  const uint32_t off_plain = off.base == 0 ? kAllLanes : off.plain;
  const uint32_t on_based = mask & ~on_plain;
  const uint32_t off_based = ~mask & ~off_plain;
  if (on_based != 0 && off_based != 0 && on.base != off.base) {
    return terms.opaque(site, 0x626c656e64u, Uniformity::kLane, loops, width, 0);
  }
  Lanes numbers;
  for (unsigned l = 0; l < kLanes; ++l) numbers[l] = terms.tables().number_in(((mask >> l) & 1) != 0 ? on : off, l);
  Value out = terms.tables().from_lanes(numbers, width);
  const uint32_t based = on_based | off_based;
  if (based != 0) {
    out.base = on_based != 0 ? on.base : off.base;
    out.plain = ~based;
  }
  return out;
}

std::optional<Value> butterfly(Arithmetic& terms, const Value& value, unsigned bit_of_lane) {
  if (value.base == 0 || value.table != 0 || value.plain != 0 || !std::has_single_bit(bit_of_lane)) return std::nullopt;
  if ((terms.store().symmetric(value) & bit_of_lane) != 0) return value;
  const Value base = Value::of_term(value.base);
  Value out = terms.make_operation({Op::kButterfly, terms[value.base].width, false, bit_of_lane}, &base, 1);
  out.number = value.number;
  return out;
}

}  // namespace tmemlint::value
