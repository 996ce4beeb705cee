// What each operation makes of values that are not all numbers.
#include <algorithm>
#include <bit>

#include "analyzer/value/value.h"

namespace tmemlint::value {

namespace {

bool is_truth(const Term& term) {
  return term.width == 1 ||
         (term.kind == TermKind::kPure && (term.operation.op == Op::kEq || term.operation.op == Op::kLt));
}

constexpr Operation op(Op o, unsigned width, bool is_signed = false, uint32_t aux = 0) {
  return Operation{o, static_cast<uint8_t>(width), is_signed, aux};
}

}  // namespace

Value Terms::apply(Operation o, const Value* args, unsigned count) {
  bool constant = true;
  for (unsigned n = 0; n < count; ++n) constant = constant && args[n].constant();
  if (constant && o.op != Op::kGeneric) {
    uint64_t numbers[4];
    for (unsigned n = 0; n < count; ++n) numbers[n] = args[n].number;
    return Value::of(fold(o, numbers, count));
  }
  if (count > 3) return apply_anew(o, args, count);
  // Warps, rounds of loops and scenarios ask the same again and again.
  constexpr size_t kRemembered = 512;
  if (applied_.empty()) applied_.resize(kRemembered);
  uint64_t h =
      static_cast<uint64_t>(o.op) ^ (uint64_t{o.width} << 8) ^ (uint64_t{o.is_signed} << 16) ^ (uint64_t{o.aux} << 20);
  for (unsigned n = 0; n < count; ++n) h = hash_with(h, args[n]);
  const size_t place = h % kRemembered;
  if (const Applied& known = applied_[place];
      known.as_of == zero_bits_changes_ && known.operation == o && std::equal(args, args + count, known.args.begin())) {
    return known.result;
  }
  const Value result = apply_anew(o, args, count);
  Applied& known = applied_[place];
  known.operation = o;
  known.as_of = zero_bits_changes_;
  std::copy(args, args + count, known.args.begin());
  known.result = result;
  return result;
}

Value Terms::apply_anew(Operation o, const Value* args, unsigned count) {
  if (o.op == Op::kGeneric) return make_pure(o, args, count);
  bool known = true;
  bool mixed = false;
  for (unsigned n = 0; n < count; ++n) {
    known = known && args[n].known();
    mixed = mixed || args[n].plain != 0;
  }
  if (known) return apply_by_lane(o, args, count);
  if (o.op == Op::kMov) return args[0];
  if (mixed) return by_groups(o, args, count);

  // Linear forms stay linear: the arithmetic is modulo 2^width.
  const unsigned w = o.width;
  switch (o.op) {
    case Op::kAdd:
      return sum(args[0], args[1], 1, w);
    case Op::kSub:
      return sum(args[0], args[1], ~uint64_t{0}, w);
    case Op::kNeg:
      return scale(args[0], ~uint64_t{0}, w);
    case Op::kNot:
      return w == 1 ? sum(Value::of(1), args[0], ~uint64_t{0}, 64)
                    : sum(Value::of(~uint64_t{0}), args[0], ~uint64_t{0}, w);
    case Op::kMul:
      if (args[1].constant()) return scale(args[0], args[1].number, w);
      if (args[0].constant()) return scale(args[1], args[0].number, w);
      break;
    case Op::kShl:
      if (args[1].constant()) {
        return args[1].number >= w ? Value::of(0) : scale(args[0], uint64_t{1} << args[1].number, w);
      }
      break;
    default:
      break;
  }
  if (std::optional<Value> simple = simplify(o, args, count)) return *simple;
  bool lanes = false;
  for (unsigned n = 0; n < count; ++n) lanes = lanes || args[n].table != 0;
  if (lanes && (o.op == Op::kZext || o.op == Op::kSext) && args[0].plain == 0) {
    // Nothing is cut off in any lane.
    const uint64_t limit = truncate(~uint64_t{0}, std::min(o.op == Op::kSext ? o.aux - 1 : o.aux, w));
    const uint64_t ones = ~terms_[args[0].base].zero_bits;
    uint64_t largest = 0;
    for (unsigned l = 0; l < kLanes; ++l) largest = std::max(largest, number_in(args[0], l));
    if (ones <= limit && largest <= limit && ones + largest <= limit) return args[0];
  }
  if (lanes) {
    if (std::optional<Value> apart = beside_base(o, args)) return *apart;
  }
  if (std::optional<Value> chosen = by_choice(o, args, count)) return *chosen;
  return lanes ? by_groups(o, args, count) : make_pure(o, args, count);
}

// What the numbers by lane do not interfere with is worked out once for all lanes.
std::optional<Value> Terms::beside_base(Operation o, const Value* args) {
  switch (o.op) {
    case Op::kShr:
    case Op::kAnd:
    case Op::kOr:
    case Op::kXor:
      if (args[1].constant()) return of_parts(o, args[0], args[1], o.width - 1u);
      if (args[0].constant() && o.op != Op::kShr) return of_parts(o, args[1], args[0], o.width - 1u);
      return std::nullopt;
    case Op::kZext:
    case Op::kSext:
      return of_parts(o, args[0], {}, std::min<unsigned>(o.width, o.op == Op::kSext ? o.aux - 1 : o.aux));
    case Op::kLt:
      return of_upper_bits(o, args);
    case Op::kSelect: {
      // Both differ from lane to lane in the same way.
      if (args[0].table != 0 || args[1].table != args[2].table) return std::nullopt;
      Value stripped[3] = {args[0], args[1], args[2]};
      stripped[1].table = stripped[2].table = 0;
      return sum(apply(o, stripped, 3), from_lanes(offsets(args[1]), o.width), 1, o.width);
    }
    case Op::kMin:
    case Op::kMax: {
      // All lanes choose the same side.
      const Operation less = op(Op::kLt, o.width, o.is_signed);
      const Value turned[2] = {args[1], args[0]};
      const std::optional<Value> first = of_upper_bits(less, args);
      const std::optional<Value> second = first ? std::nullopt : of_upper_bits(less, turned);
      if (!first && !second) return std::nullopt;
      const bool takes_first = first.has_value() == (o.op == Op::kMin);
      const Value choice[3] = {first ? *first : *second, args[takes_first ? 0 : 1], args[takes_first ? 1 : 0]};
      return apply(op(Op::kSelect, o.width), choice, 3);
    }
    default:
      return std::nullopt;
  }
}

// A shift, a mask or an extension of a base and numbers that differ from lane to lane only in bits that the base has
// none of, at most the lowest `most`.
std::optional<Value> Terms::of_parts(Operation o, const Value& x, const Value& other, unsigned most) {
  const auto low = std::min(most, static_cast<unsigned>(std::countr_one(terms_[x.base].zero_bits)));
  const uint64_t mask = truncate(~uint64_t{0}, low);
  Lanes numbers = numbers_of(x);
  const uint64_t rest = numbers[0] & ~mask;
  for (uint64_t& n : numbers) {
    if ((n & ~mask) != rest) return std::nullopt;
    n &= mask;
  }
  const unsigned count = o.op == Op::kZext || o.op == Op::kSext ? 1 : 2;
  Value base_args[2] = {with_base(Value::of(rest), x.base), other};
  Value lane_args[2] = {from_lanes(numbers, o.width), other};
  if (o.op == Op::kOr || o.op == Op::kXor) {  // each bit of the mask is set in one of the parts
    base_args[1].number &= ~mask;
    lane_args[1].number &= mask;
  }
  const Value base = apply(o, base_args, count);
  return sum(base, apply_by_lane(o, lane_args, count), 1, o.width);
}

// A comparison of values of which the upper bits are the same in all lanes, where the lower ones, which the bases have
// none of, compare the same way in all lanes: then the upper ones decide it alone.
std::optional<Value> Terms::of_upper_bits(Operation o, const Value* args) {
  unsigned low = o.width - 1u;
  for (unsigned n = 0; n < 2; ++n) {
    if (args[n].base == 0) continue;
    low = std::min(low, static_cast<unsigned>(std::countr_one(terms_[args[n].base].zero_bits)));
  }
  const uint64_t mask = truncate(~uint64_t{0}, low);
  const uint64_t upper = truncate(~mask, o.width);
  const bool less = (args[0].number & mask) < (args[1].number & mask);
  for (unsigned l = 0; l < kLanes; ++l) {
    const uint64_t a = number_in(args[0], l);
    const uint64_t b = number_in(args[1], l);
    if (((a ^ args[0].number) & upper) != 0 || ((b ^ args[1].number) & upper) != 0) return std::nullopt;
    if (((a & mask) < (b & mask)) != less) return std::nullopt;
  }
  const Value first = with_base(Value::of(args[0].number & upper), args[0].base);
  const Value second = with_base(Value::of(args[1].number & upper), args[1].base);
  return less ? apply(op(Op::kNot, 1), apply(o, second, first)) : apply(o, first, second);
}

// An operation on a choice that all lanes make in the same way, between values that differ from lane to lane: the
// choice between its results, where these do not differ.
std::optional<Value> Terms::by_choice(Operation o, const Value* args, unsigned count) {
  unsigned width = o.width;
  switch (o.op) {
    case Op::kShr:
    case Op::kAnd:
    case Op::kOr:
    case Op::kXor:
    case Op::kEq:
    case Op::kLt:
    case Op::kMin:
    case Op::kMax:
      break;
    case Op::kZext:
    case Op::kSext:
      width = o.aux;
      break;
    default:
      return std::nullopt;
  }
  constexpr uint32_t kDeepest = 8;  // a choice between choices is worked out for all of them
  Part choice{0, 0};
  unsigned place = 0;
  for (unsigned n = 0; n < count; ++n) {
    if (args[n].base == 0 || terms_[args[n].base].uniformity != Uniformity::kLane) continue;
    for (const Part part : parts(args[n].base)) {
      const Term& term = terms_[part.term];
      if (term.uniformity != Uniformity::kLane) continue;
      if (choice.term != 0 || !is_selection(part.term) || term.width != width || term.depth > kDeepest) {
        return std::nullopt;
      }
      choice = part;
      place = n;
    }
  }
  if (choice.term == 0) return std::nullopt;
  const std::span<const Value> sides = terms_[choice.term].args;
  if (uniformity(sides[0]) == Uniformity::kLane) return std::nullopt;
  const Value rest = sum(args[place], with_base({}, choice.term), ~choice.coefficient + 1, width);
  Value results[3] = {sides[0]};
  for (unsigned n = 1; n < 3; ++n) {
    Value side[3] = {args[0], count > 1 ? args[1] : Value{}};
    side[place] = sum(rest, sides[n], choice.coefficient, width);
    results[n] = apply(o, side, count);
    const Value& r = results[n];
    if (r.plain != 0 || terms_[r.base].uniformity == Uniformity::kLane || r.table != results[1].table) {
      return std::nullopt;
    }
  }
  return apply(op(Op::kSelect, o.op == Op::kEq || o.op == Op::kLt ? 1 : o.width), results, 3);
}

// Lanes with the same arguments are worked out together; the results are put together again if one base can express
// them, else the operation is kept as a term with a value per lane.
Value Terms::by_groups(Operation o, const Value* args, unsigned count) {
  Value out;
  uint32_t done = 0;
  unsigned groups = 0;
  while (done != kAllLanes) {
    const auto first = static_cast<unsigned>(std::countr_zero(~done));
    uint32_t group = 0;
    for (unsigned l = first; l < kLanes; ++l) {
      bool same = ((done >> l) & 1) == 0;
      for (unsigned n = 0; n < count && same; ++n) same = lane(args[n], l) == lane(args[n], first);
      if (same) group |= uint32_t{1} << l;
    }
    Value part[4];
    for (unsigned n = 0; n < count; ++n) part[n] = lane(args[n], first);
    const Value result = apply(o, part, count);
    const uint32_t before = out.base == 0 || out.plain == kAllLanes ? 0 : out.base;
    if (groups != 0 && result.base != 0 && before != 0 && result.base != before) return make_pure(o, args, count);
    out = groups == 0 ? result : blend(group, result, out, 0, 0, o.width);
    done |= group;
    ++groups;
  }
  return out;
}

namespace {

// Where the bits of base + number are known: below `low` they are the number's, from `high` on as well.
struct Known {
  unsigned low = 0;
  unsigned high = 64;
  uint64_t mask(unsigned width) const {
    return truncate(truncate(~uint64_t{0}, low) | (high >= 64 ? 0 : ~truncate(~uint64_t{0}, high)), width);
  }
};

Known known_bits(uint64_t base_zeros, uint64_t number, unsigned width) {
  Known out;
  const uint64_t ones = truncate(~base_zeros, width);
  if (ones == 0) return {64, 0};
  out.low = static_cast<unsigned>(std::countr_zero(ones));
  const auto top = static_cast<unsigned>(std::bit_width(ones));
  for (unsigned split = top; split < width; ++split) {
    const uint64_t mask = truncate(~uint64_t{0}, split);
    if ((number & mask) + ones <= mask) {
      out.high = split;
      break;
    }
  }
  return out;
}

}  // namespace

// A sum shifted to the right whose parts lie on one side of where it is cut each: words packed into a longer one, a
// scaled term shifted back.
std::optional<Value> Terms::upper_parts(const Value& x, unsigned by, Operation o) {
  if (terms_[x.base].kind != TermKind::kSum || by >= o.width || by >= 64) return std::nullopt;
  const uint64_t unit = uint64_t{1} << by;
  __extension__ using Wide = unsigned __int128;
  const Wide limit = Wide{1} << (o.is_signed ? o.width - 1u : o.width);
  Wide below = x.number & (unit - 1);
  Wide all = x.number;
  Value out = Value::of(x.number >> by);
  for (const Part part : parts(x.base)) {
    const Wide most = Wide{part.coefficient} * Wide{~terms_[part.term].zero_bits};
    all += most;
    if (all >= limit) return std::nullopt;
    if (part.coefficient % unit != 0) {
      below += most;
      if (below >= unit) return std::nullopt;
      continue;
    }
    out = sum(out, with_base({}, part.term), part.coefficient / unit, o.width);
  }
  return out;
}

std::optional<Value> Terms::simplify(Operation o, const Value* a, unsigned count) {
  const unsigned w = o.width;
  const uint64_t all = truncate(~uint64_t{0}, w);
  for (unsigned n = 0; n < count; ++n) {
    if (a[n].table != 0) return std::nullopt;  // by_groups comes back with one lane at a time
  }
  const bool binary = count == 2;
  const Value& x = a[0];

  // A truth value with a number: work the operation out for both truths.
  {
    unsigned based = 0;
    unsigned which = 0;
    for (unsigned n = 0; n < count; ++n) {
      if (a[n].base != 0) {
        ++based;
        which = n;
      }
    }
    if (based == 1 && o.op != Op::kSelect) {
      const Term& term = terms_[a[which].base];
      uint64_t when[2] = {};  // [0]: false
      uint32_t truth = 0;
      if (is_truth(term)) {
        truth = a[which].base;
        when[0] = 0;
        when[1] = 1;
      } else if (term.kind == TermKind::kSum && term.args.size() == 1 && is_truth(terms_[term.args[0].base])) {
        truth = term.args[0].base;
        when[1] = term.coefficients[0];
      } else if (term.kind == TermKind::kPure && term.operation.op == Op::kSelect && term.args[1].constant() &&
                 term.args[2].constant() && is_truth(terms_[term.args[0].base]) && term.args[0].number == 0) {
        truth = term.args[0].base;
        when[0] = term.args[2].number;
        when[1] = term.args[1].number;
      }
      if (truth != 0) {
        uint64_t result[2];
        for (unsigned t = 0; t < 2; ++t) {
          uint64_t numbers[4];
          for (unsigned n = 0; n < count; ++n) numbers[n] = n == which ? a[n].number + when[t] : a[n].number;
          result[t] = fold(o, numbers, count);
        }
        if (result[0] == result[1]) return Value::of(result[0]);
        Value t;
        t.base = truth;
        if (result[0] == 0 && result[1] == 1) return t;
        if (result[0] == 1 && result[1] == 0) return sum(Value::of(1), t, ~uint64_t{0}, 64);
        const Value arms[3] = {t, Value::of(result[1]), Value::of(result[0])};
        return apply(op(Op::kSelect, w), arms, 3);
      }
    }
  }

  switch (o.op) {
    case Op::kAnd:
    case Op::kOr:
    case Op::kXor: {
      const bool swap = x.base == 0;
      const Value& s = swap ? a[1] : a[0];  // has a base
      const Value& t = swap ? a[0] : a[1];
      if (w == 1) {
        const Value inverse = sum(Value::of(1), s, ~uint64_t{0}, 64);
        if (t == s) return o.op == Op::kXor ? Value::of(0) : s;
        if (t == inverse) return o.op == Op::kAnd ? Value::of(0) : Value::of(1);
        if (o.op == Op::kOr && t.base != 0) {
          // One form for conditions that are combined: a or b is not (not a and not b).
          const Value other = sum(Value::of(1), t, ~uint64_t{0}, 64);
          return sum(Value::of(1), apply(op(Op::kAnd, 1), inverse, other), ~uint64_t{0}, 64);
        }
      }
      if (s != t && o.op != Op::kAnd && (ones_of(s) & ones_of(t) & all) == 0) return sum(s, t, 1, w);
      if (t.base != 0) {
        if (s == t) return o.op == Op::kXor ? Value::of(0) : s;
        // Operands in one order, so that equal operations are equal terms.
        if (s.base > t.base || (s.base == t.base && s.number > t.number)) {
          const Value ordered[2] = {t, s};
          return make_pure(o, ordered, 2);
        }
        return std::nullopt;
      }
      const uint64_t m = t.number & all;
      const Known known = known_bits(terms_[s.base].zero_bits, s.number, w);
      const uint64_t certain = known.mask(w);
      const uint64_t middle = all & ~certain;
      if (o.op == Op::kAnd) {
        if (m == all) return s;
        if ((m & middle) == 0) return Value::of(s.number & m);
        if ((m & middle) == middle) {
          Value out = s;
          out.number = (s.number & middle) | (s.number & certain & m);
          return out;
        }
        if (const uint64_t low = s.number & truncate(~uint64_t{0}, known.low); low != 0) {
          Value rest = s;
          rest.number -= low;
          return sum(apply(o, rest, t), Value::of(low & m), 1, w);
        }
      } else if ((m & middle) == 0) {
        Value out = s;
        const uint64_t n = s.number;
        out.number = o.op == Op::kOr ? ((n & middle) | ((n | m) & certain)) : ((n & middle) | ((n ^ m) & certain));
        return out;
      } else if (o.op == Op::kXor && m == all) {
        return apply(op(Op::kNot, w), s);
      }
      if (swap) {
        const Value ordered[2] = {s, t};
        return make_pure(o, ordered, 2);
      }
      return std::nullopt;
    }
    case Op::kShr:
      if (x.base != 0 && binary && a[1].constant()) {
        const Known known = known_bits(terms_[x.base].zero_bits, x.number, w);
        if (known.low >= w || (a[1].number >= known.high && !o.is_signed))
          return Value::of(fold(o, std::array<uint64_t, 2>{x.number, a[1].number}.data(), 2));
        if (a[1].number == 0) return x;
        // Not negative: its sign shifts zeros in.
        if (o.is_signed && known.high < w && ((x.number >> (w - 1)) & 1) == 0) {
          return apply(op(Op::kShr, w), x, a[1]);
        }
        // Bits that the base has none of stay apart: what is left is the same term whatever they are.
        if (const uint64_t low = x.number & truncate(~uint64_t{0}, known.low); low != 0 && a[1].number < w) {
          Value rest = x;
          rest.number -= low;
          return sum(apply(o, rest, a[1]), Value::of(low >> a[1].number), 1, w);
        }
        if (std::optional<Value> upper = upper_parts(x, static_cast<unsigned>(a[1].number), o)) return upper;
      }
      return std::nullopt;
    case Op::kBfe:
      if (!o.is_signed && a[1].constant() && a[2].constant()) {
        const unsigned length = static_cast<unsigned>(a[2].number & 0xff);
        if (length == 0) return Value::of(0);
        const Value shifted = apply(op(Op::kShr, w), x, a[1]);
        return apply(op(Op::kAnd, w), shifted, Value::of(truncate(~uint64_t{0}, std::min(length, w))));
      }
      return std::nullopt;
    case Op::kBfi:
      if (a[2].constant() && a[3].constant()) {
        const uint64_t position = a[2].number & 0xff;
        const unsigned length = static_cast<unsigned>(a[3].number & 0xff);
        if (position >= w || length == 0) return a[1];
        const uint64_t mask = truncate(~uint64_t{0}, std::min(length, 64u));
        const Value field = apply(op(Op::kAnd, w), x, Value::of(mask));
        const Value moved = apply(op(Op::kShl, w), field, Value::of(position));
        const Value rest = apply(op(Op::kAnd, w), a[1], Value::of(truncate(~(mask << position), w)));
        return apply(op(Op::kOr, w), rest, moved);
      }
      return std::nullopt;
    case Op::kPrmt:
      if (a[2].constant() && a[2].number == 0x3210) return x;
      if (a[2].constant() && a[2].number == 0x7654) return a[1];
      if (a[2].constant()) {
        // Halves that stay whole: the idiom that puts a lane over a column.
        auto half = [&](unsigned selector) -> std::optional<Value> {
          const unsigned low = selector & 0xf;
          if (low % 2 != 0 || low > 6 || ((selector >> 4) & 0xf) != low + 1) return std::nullopt;
          const Value& from = low < 4 ? x : a[1];
          return (low & 2) != 0 ? apply(op(Op::kShr, 32), from, Value::of(16))
                                : apply(op(Op::kAnd, 32), from, Value::of(0xffff));
        };
        const std::optional<Value> low = half(a[2].number & 0xff);
        const std::optional<Value> high = half((a[2].number >> 8) & 0xff);
        if (low && high) return apply(op(Op::kOr, 32), *low, apply(op(Op::kShl, 32), *high, Value::of(16)));
      }
      return std::nullopt;
    case Op::kLop3: {
      // The rows of the table that occur in practice, as the operations they are.
      const uint32_t table = o.aux & 0xff;
      auto both = [&](Op outer, Op inner) { return apply(op(outer, w), apply(op(inner, w), a[0], a[1]), a[2]); };
      if (table == 0x80) return both(Op::kAnd, Op::kAnd);
      if (table == 0xfe) return both(Op::kOr, Op::kOr);
      if (table == 0x96) return both(Op::kXor, Op::kXor);
      if (table == 0xea) return both(Op::kOr, Op::kAnd);  // (a & b) | c
      if (table == 0xf8) return apply(op(Op::kOr, w), a[0], apply(op(Op::kAnd, w), a[1], a[2]));
      if (table == 0xa8) return both(Op::kAnd, Op::kOr);  // (a | b) & c
      if (table == 0xe0) return apply(op(Op::kAnd, w), a[0], apply(op(Op::kOr, w), a[1], a[2]));
      if (table == 0x6a) return both(Op::kXor, Op::kAnd);
      if (table == 0x78) return apply(op(Op::kXor, w), a[0], apply(op(Op::kAnd, w), a[1], a[2]));
      if (table == 0xc0) return apply(op(Op::kAnd, w), a[0], a[1]);
      if (table == 0xfc) return apply(op(Op::kOr, w), a[0], a[1]);
      if (table == 0x3c) return apply(op(Op::kXor, w), a[0], a[1]);
      return std::nullopt;
    }
    case Op::kZext:
    case Op::kSext: {
      if (x.base == 0) return std::nullopt;
      const Term& term = terms_[x.base];
      const unsigned from = o.aux;
      const uint64_t ones = ~term.zero_bits;
      const uint64_t limit = o.op == Op::kSext ? from - 1 : from;
      if (ones <= truncate(~uint64_t{0}, from) &&
          (x.number & truncate(~uint64_t{0}, from)) + ones <= truncate(~uint64_t{0}, static_cast<unsigned>(limit)) &&
          (w <= from || x.number <= truncate(~uint64_t{0}, from))) {
        Value out = x;
        out.number = truncate(x.number, from);
        return out;
      }
      if (term.kind == TermKind::kPure && x.number == 0 &&
          (term.operation.op == Op::kZext || term.operation.op == Op::kSext) && term.operation.aux == from &&
          w <= from) {
        return term.args[0];
      }
      if (w <= from && o.op == Op::kZext) {
        // Dropping high bits distributes over a linear form; what is extended from as many bits is taken as it was.
        Value out = Value::of(truncate(x.number, w));
        for (const Part part : parts(x.base)) {
          const Term& t = terms_[part.term];
          Value piece;
          piece.base = part.term;
          if (t.width > w) {
            if (t.kind == TermKind::kPure && (t.operation.op == Op::kZext || t.operation.op == Op::kSext) &&
                t.operation.aux == w) {
              piece = t.args[0];
            } else {
              piece = make_pure(o, &piece, 1);
            }
          }
          out = sum(out, piece, part.coefficient, w);
        }
        return out;
      }
      return std::nullopt;
    }
    case Op::kSelect: {
      const Value& p = a[0];
      if (p.base == 0) return (p.number & 1) != 0 ? a[1] : a[2];
      if (a[1] == a[2]) return a[1];
      const Term& term = terms_[p.base];
      if (term.kind == TermKind::kSum && term.args.size() == 1 && p.number == 1 &&
          term.coefficients[0] == ~uint64_t{0}) {  // 1 - t
        Value t;
        t.base = term.args[0].base;
        const Value swapped[3] = {t, a[2], a[1]};
        return apply(o, swapped, 3);
      }
      if (p.number == 0 && a[1].constant() && a[2].constant()) {
        if (a[1].number == 1 && a[2].number == 0) return p;
        if (a[1].number == 0 && a[2].number == 1) return sum(Value::of(1), p, ~uint64_t{0}, 64);
      }
      // The larger or the smaller of two values per lane, which is the same whichever of them comes first.
      if (term.kind == TermKind::kPure && term.operation.op == Op::kLt && term.operation.width == w && p.number == 0 &&
          term.uniformity == Uniformity::kLane) {
        const Operation smaller = op(Op::kMin, w, term.operation.is_signed);
        const Operation larger = op(Op::kMax, w, term.operation.is_signed);
        if (term.args[0] == a[1] && term.args[1] == a[2]) return apply(smaller, a[1], a[2]);
        if (term.args[0] == a[2] && term.args[1] == a[1]) return apply(larger, a[2], a[1]);
      }
      // A choice between a condition and a constant is a conjunction or a disjunction.
      auto is_condition = [&](const Value& v) {
        const Parts of = parts(v.base);
        if (of.size() != 1 || !is_truth(terms_[of[0].term])) return false;
        return of[0].coefficient == 1 ? v.number == 0 : of[0].coefficient == ~uint64_t{0} && v.number == 1;
      };
      if (p.number == 0 && (is_condition(a[1]) || is_condition(a[2])) && (a[1].constant() || a[2].constant())) {
        const bool first = a[1].constant();
        const uint64_t n = first ? a[1].number : a[2].number;
        const Value& condition = first ? a[2] : a[1];
        if (n == 0) return apply(op(Op::kAnd, 1), first ? apply(op(Op::kNot, 1), p) : p, condition);
        if (n == 1) return apply(op(Op::kOr, 1), first ? p : apply(op(Op::kNot, 1), p), condition);
      }
      return std::nullopt;
    }
    case Op::kEq: {
      // One form for a == b: the linear form of the difference against a number.
      const Value difference = sum(a[0], a[1], ~uint64_t{0}, w);
      if (difference.base == 0) return Value::of(truncate(difference.number, w) == 0 ? 1 : 0);
      Value left;
      left.base = difference.base;
      uint64_t right = truncate(~difference.number + 1, w);
      const Parts list = parts(difference.base);
      if (list.size() != 0 && (list[0].coefficient >> (w - 1)) != 0) {
        left = scale(left, ~uint64_t{0}, w);
        right = truncate(~right + 1, w);
      }
      if (a[1] == Value::of(right) && a[0] == left) {
        const uint64_t ones = ~terms_[left.base].zero_bits;
        if ((right & ~ones) != 0 && (terms_[left.base].kind != TermKind::kSum || w >= 32)) {
          if ((right & ~ones & all) != 0) return Value::of(0);  // asks for a bit that is never set
        }
        return std::nullopt;
      }
      const Value normal[2] = {left, Value::of(right)};
      return apply(o, normal, 2);
    }
    case Op::kLt:
      if (a[0] == a[1]) return Value::of(0);
      if (a[0].base == a[1].base && o.is_signed) {
        return Value::of(sign_extend(a[0].number, w) < sign_extend(a[1].number, w) ? 1 : 0);
      }
      if (!o.is_signed && a[1].constant()) {
        if (a[1].number == 0) return Value::of(0);
        if (a[1].number == 1) return apply(op(Op::kEq, w), a[0], Value::of(0));
        const uint64_t ones = truncate(~terms_[a[0].base].zero_bits, w);
        if (ones + a[0].number >= ones && ones + a[0].number < a[1].number) return Value::of(1);
      }
      if (!o.is_signed && a[0].constant()) {
        if (a[0].number == all) return Value::of(0);
        if (a[0].number == 0) {
          return apply(op(Op::kNot, 1), apply(op(Op::kEq, w), a[1], Value::of(0)));
        }
        const uint64_t ones = truncate(~terms_[a[1].base].zero_bits, w);
        if (ones + a[1].number >= ones && ones + a[1].number <= a[0].number) return Value::of(0);
      }
      return std::nullopt;
    case Op::kMin:
    case Op::kMax:
      if (x == a[1]) return x;
      return std::nullopt;
    case Op::kMul:
      if (a[0].base > a[1].base) {
        const Value ordered[2] = {a[1], a[0]};
        return make_pure(o, ordered, 2);
      }
      return std::nullopt;
    case Op::kRem:
    case Op::kDiv:
      // By a power of two, of something that is not negative.
      if (a[1].constant() && std::has_single_bit(a[1].number) &&
          (!o.is_signed || (~zero_bits(x, 0) & (uint64_t{1} << (w - 1))) == 0)) {
        if (o.op == Op::kRem) return apply(op(Op::kAnd, w), x, Value::of(a[1].number - 1));
        return apply(op(Op::kShr, w), x, Value::of(static_cast<uint64_t>(std::countr_zero(a[1].number))));
      }
      return std::nullopt;
    default:
      return std::nullopt;
  }
}

}  // namespace tmemlint::value
