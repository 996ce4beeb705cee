// Simplification of operations on bits: logic, shifts, fields, bytes, extensions.
#include <algorithm>
#include <array>
#include <bit>

#include "analyzer/value/simplify.h"

namespace tmemlint::value {

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

// A sum shifted to the right whose parts lie on one side of where it is cut each: words packed into a longer one, a
// scaled term shifted back.
std::optional<Value> upper_parts(Arithmetic& terms, const Value& x, unsigned by, Operation o) {
  if (terms[x.base].kind != TermKind::kSum || by >= o.width || by >= 64) return std::nullopt;
  const uint64_t unit = uint64_t{1} << by;
  __extension__ using Wide = unsigned __int128;
  const Wide limit = Wide{1} << (o.is_signed ? o.width - 1u : o.width);
  Wide below = x.number & (unit - 1);
  Wide all = x.number;
  Value out = Value::of(x.number >> by);
  for (const Summand part : terms.store().summands(x.base)) {
    const Wide most = Wide{part.coefficient} * Wide{~terms[part.term].zero_bits};
    all += most;
    if (all >= limit) return std::nullopt;
    if (part.coefficient % unit != 0) {
      below += most;
      if (below >= unit) return std::nullopt;
      continue;
    }
    out = terms.sum(out, Value::of_term(part.term), part.coefficient / unit, o.width);
  }
  return out;
}

}  // namespace

std::optional<Value> simplify_logic(Arithmetic& terms, Operation o, const Value* a) {
  const unsigned w = o.width;
  const uint64_t all = truncate(~uint64_t{0}, w);
  const Value& x = a[0];
  const bool swap = x.base == 0;
  const Value& s = swap ? a[1] : a[0];  // has a base
  const Value& t = swap ? a[0] : a[1];
  if (w == 1) {
    const Value inverse = terms.negation(s);
    if (t == s) return o.op == Op::kXor ? Value::of(0) : s;
    if (t == inverse) return o.op == Op::kAnd ? Value::of(0) : Value::of(1);
    if (o.op == Op::kOr && t.base != 0) {
      // One form for conditions that are combined: a or b is not (not a and not b).
      const Value other = terms.negation(t);
      return terms.sum(Value::of(1), terms.apply(operation(Op::kAnd, 1), inverse, other), ~uint64_t{0}, 64);
    }
  }
  if (s != t && o.op != Op::kAnd && (terms.store().ones_of(s) & terms.store().ones_of(t) & all) == 0)
    return terms.sum(s, t, 1, w);
  if (t.base != 0) {
    if (s == t) return o.op == Op::kXor ? Value::of(0) : s;
    // Operands in one order, so that equal operations are equal terms.
    if (s.base > t.base || (s.base == t.base && s.number > t.number)) {
      const Value ordered[2] = {t, s};
      return terms.make_operation(o, ordered, 2);
    }
    return std::nullopt;
  }
  const uint64_t m = t.number & all;
  const Known known = known_bits(terms[s.base].zero_bits, s.number, w);
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
      return terms.sum(terms.apply(o, rest, t), Value::of(low & m), 1, w);
    }
  } else if ((m & middle) == 0) {
    Value out = s;
    const uint64_t n = s.number;
    out.number = o.op == Op::kOr ? ((n & middle) | ((n | m) & certain)) : ((n & middle) | ((n ^ m) & certain));
    return out;
  } else if (o.op == Op::kXor && m == all) {
    return terms.apply(operation(Op::kNot, w), s);
  }
  if (swap) {
    const Value ordered[2] = {s, t};
    return terms.make_operation(o, ordered, 2);
  }
  return std::nullopt;
}

std::optional<Value> simplify_shift_right(Arithmetic& terms, Operation o, const Value* a) {
  const unsigned w = o.width;
  const Value& x = a[0];
  if (x.base != 0 && a[1].constant()) {
    const Known known = known_bits(terms[x.base].zero_bits, x.number, w);
    if (known.low >= w || (a[1].number >= known.high && !o.is_signed))
      return Value::of(fold(o, std::array<uint64_t, 2>{x.number, a[1].number}.data(), 2));
    if (a[1].number == 0) return x;
    // Not negative: its sign shifts zeros in.
    if (o.is_signed && known.high < w && ((x.number >> (w - 1)) & 1) == 0) {
      return terms.apply(operation(Op::kShr, w), x, a[1]);
    }
    // Bits that the base has none of stay apart: what is left is the same term whatever they are.
    if (const uint64_t low = x.number & truncate(~uint64_t{0}, known.low); low != 0 && a[1].number < w) {
      Value rest = x;
      rest.number -= low;
      return terms.sum(terms.apply(o, rest, a[1]), Value::of(low >> a[1].number), 1, w);
    }
    if (std::optional<Value> upper = upper_parts(terms, x, static_cast<unsigned>(a[1].number), o)) return upper;
  }
  return std::nullopt;
}

std::optional<Value> simplify_extract(Arithmetic& terms, Operation o, const Value* a) {
  const unsigned w = o.width;
  const Value& x = a[0];
  if (!o.is_signed && a[1].constant() && a[2].constant()) {
    const unsigned length = static_cast<unsigned>(a[2].number & 0xff);
    if (length == 0) return Value::of(0);
    const Value shifted = terms.apply(operation(Op::kShr, w), x, a[1]);
    return terms.apply(operation(Op::kAnd, w), shifted, Value::of(truncate(~uint64_t{0}, std::min(length, w))));
  }
  return std::nullopt;
}

std::optional<Value> simplify_insert(Arithmetic& terms, Operation o, const Value* a) {
  const unsigned w = o.width;
  const Value& x = a[0];
  if (a[2].constant() && a[3].constant()) {
    const uint64_t position = a[2].number & 0xff;
    const unsigned length = static_cast<unsigned>(a[3].number & 0xff);
    if (position >= w || length == 0) return a[1];
    const uint64_t mask = truncate(~uint64_t{0}, std::min(length, 64u));
    const Value field = terms.apply(operation(Op::kAnd, w), x, Value::of(mask));
    const Value moved = terms.apply(operation(Op::kShl, w), field, Value::of(position));
    const Value rest = terms.apply(operation(Op::kAnd, w), a[1], Value::of(truncate(~(mask << position), w)));
    return terms.apply(operation(Op::kOr, w), rest, moved);
  }
  return std::nullopt;
}

std::optional<Value> simplify_permute(Arithmetic& terms, const Value* a) {
  const Value& x = a[0];
  if (a[2].constant() && a[2].number == 0x3210) return x;
  if (a[2].constant() && a[2].number == 0x7654) return a[1];
  if (a[2].constant()) {
    // Halves that stay whole: the idiom that puts a lane over a column.
    auto half = [&](unsigned selector) -> std::optional<Value> {
      const unsigned low = selector & 0xf;
      if (low % 2 != 0 || low > 6 || ((selector >> 4) & 0xf) != low + 1) return std::nullopt;
      const Value& from = low < 4 ? x : a[1];
      return (low & 2) != 0 ? terms.apply(operation(Op::kShr, 32), from, Value::of(16))
                            : terms.apply(operation(Op::kAnd, 32), from, Value::of(0xffff));
    };
    const std::optional<Value> low = half(a[2].number & 0xff);
    const std::optional<Value> high = half((a[2].number >> 8) & 0xff);
    if (low && high)
      return terms.apply(operation(Op::kOr, 32), *low, terms.apply(operation(Op::kShl, 32), *high, Value::of(16)));
  }
  return std::nullopt;
}

std::optional<Value> simplify_lop3(Arithmetic& terms, Operation o, const Value* a) {
  const unsigned w = o.width;
  // The rows of the table that occur in practice, as the operations they are.
  const uint32_t table = o.aux & 0xff;
  auto both = [&](Op outer, Op inner) {
    return terms.apply(operation(outer, w), terms.apply(operation(inner, w), a[0], a[1]), a[2]);
  };
  if (table == 0x80) return both(Op::kAnd, Op::kAnd);
  if (table == 0xfe) return both(Op::kOr, Op::kOr);
  if (table == 0x96) return both(Op::kXor, Op::kXor);
  if (table == 0xea) return both(Op::kOr, Op::kAnd);  // (a & b) | c
  if (table == 0xf8) return terms.apply(operation(Op::kOr, w), a[0], terms.apply(operation(Op::kAnd, w), a[1], a[2]));
  if (table == 0xa8) return both(Op::kAnd, Op::kOr);  // (a | b) & c
  if (table == 0xe0) return terms.apply(operation(Op::kAnd, w), a[0], terms.apply(operation(Op::kOr, w), a[1], a[2]));
  if (table == 0x6a) return both(Op::kXor, Op::kAnd);
  if (table == 0x78) return terms.apply(operation(Op::kXor, w), a[0], terms.apply(operation(Op::kAnd, w), a[1], a[2]));
  if (table == 0xc0) return terms.apply(operation(Op::kAnd, w), a[0], a[1]);
  if (table == 0xfc) return terms.apply(operation(Op::kOr, w), a[0], a[1]);
  if (table == 0x3c) return terms.apply(operation(Op::kXor, w), a[0], a[1]);
  return std::nullopt;
}

std::optional<Value> simplify_extension(Arithmetic& terms, Operation o, const Value* a) {
  const unsigned w = o.width;
  const Value& x = a[0];
  if (x.base == 0) return std::nullopt;
  const Term& term = terms[x.base];
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
      (term.operation.op == Op::kZext || term.operation.op == Op::kSext) && term.operation.aux == from && w <= from) {
    return term.args[0];
  }
  if (w <= from && o.op == Op::kZext) {
    // Dropping high bits distributes over a linear form; what is extended from as many bits is taken as it was.
    Value out = Value::of(truncate(x.number, w));
    for (const Summand part : terms.store().summands(x.base)) {
      const Term& t = terms[part.term];
      Value piece;
      piece.base = part.term;
      if (t.width > w) {
        if (t.kind == TermKind::kPure && (t.operation.op == Op::kZext || t.operation.op == Op::kSext) &&
            t.operation.aux == w) {
          piece = t.args[0];
        } else {
          piece = terms.make_operation(o, &piece, 1);
        }
      }
      out = terms.sum(out, piece, part.coefficient, w);
    }
    return out;
  }
  return std::nullopt;
}

}  // namespace tmemlint::value
