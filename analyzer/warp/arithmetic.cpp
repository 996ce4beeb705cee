#include <algorithm>

#include "analyzer/assumptions/assumptions.h"
#include "analyzer/warp/execution.h"

namespace tmemlint::warp {

using value::Op;
using value::Operation;
using value::truncate;
using value::Uniformity;
using value::Value;

using kernel::kRankShift;
using kernel::kSharedWindow;

namespace {

// Operands of an operation that is not modelled that its result is named by; what stands behind them does not tell two
// results apart.
constexpr unsigned kMostGenericOperands = assumptions::kOperandsOfUnknownOpcode;
// The part of a step's site that names a register which may or may not have been written.
constexpr unsigned kMaybeWrittenPart = 100;

}  // namespace

void Execution::result(unsigned n, const Value& value) {
  const Arg& a = arg(n);
  if (a.kind != Arg::Kind::kRegister) return;
  if (guard_.unknown == 0) {
    machine_.write(a, value, guard_.yes, number_);
    return;
  }
  const Value old = machine_.read_register(a.ref);
  if (guard_.term == 0) {
    // Several unknowns decide: the register is the new or the old value, lane by lane.
    if (value != old) machine_.registers[a.ref] = unknown(kMaybeWrittenPart + n, Uniformity::kLane, a.width);
    return;
  }
  Value condition;
  condition.base = guard_.term;
  const Value choices[3] = {condition, guard_.inverted ? old : value, guard_.inverted ? value : old};
  machine_.write(a, terms_.apply(operation(Op::kSelect, a.width), choices, 3), guard_.unknown, number_);
  if (guard_.yes != 0) machine_.write(a, value, guard_.yes, number_);
}

void Arithmetic::pure() {
  Value args[4];
  unsigned count = 0;
  Operation o = meaning_.operation;
  for (unsigned n = 1; n < step_.argument_count && count < 4; ++n) args[count++] = read(arg(n));
  const Arg& last = arg(step_.argument_count - 1u);
  if (o.op == Op::kLop3) {
    o.aux = static_cast<uint32_t>(last.number & 0xff);
    count = 3;
  } else if (o.op == Op::kSelect && count == 3) {
    // selp d, a, b, p
    const Value p = args[2];
    args[2] = args[1];
    args[1] = args[0];
    args[0] = p;
  }
  // A number that is wider than the operation is cut to it, as the assembler does.
  if (o.op != Op::kSelect) {
    for (unsigned n = 0; n < count; ++n) {
      if (args[n].constant()) args[n].number = truncate(args[n].number, std::max<unsigned>(o.width, 32));
    }
  }
  result(0, terms_.apply(o, args, count));
}

void Arithmetic::compare() {
  const unsigned predicates = step_.destinations;
  if (step_.argument_count < predicates + 2u) return;
  Value a = read(arg(predicates));
  Value b = read(arg(predicates + 1));
  for (Value* v : {&a, &b}) {
    if (v->constant()) v->number = truncate(v->number, meaning_.operation.width);
  }
  if (meaning_.swap) std::swap(a, b);
  Value p = apply(meaning_.operation, a, b);
  const Operation negate = operation(Op::kNot, 1);
  if (meaning_.invert) p = apply(negate, p);
  Value q = apply(negate, p);
  if (meaning_.combine != Meaning::Combine::kNone && step_.argument_count > predicates + 2u) {
    const Value c = read(arg(predicates + 2));
    const Op o = meaning_.combine == Meaning::Combine::kAnd  ? Op::kAnd
                 : meaning_.combine == Meaning::Combine::kOr ? Op::kOr
                                                             : Op::kXor;
    p = apply(operation(o, 1), p, c);
    q = apply(operation(o, 1), q, c);
  }
  result(0, p);
  if (predicates > 1) result(1, q);
}

void Arithmetic::multiply() {
  if (step_.argument_count < 3) return;
  Value a = read(arg(1));
  Value b = read(arg(2));
  const unsigned w = meaning_.operation.width;
  Value r;
  unsigned out = w;
  if (meaning_.half == Meaning::Half::kWide) {
    out = w * 2;
    const Operation extend = operation(meaning_.operation.is_signed ? Op::kSext : Op::kZext, out, false, w);
    r = apply(operation(Op::kMul, out), apply(extend, a), apply(extend, b));
  } else if (meaning_.half == Meaning::Half::kHigh) {
    r = apply(operation(Op::kMulHi, w, meaning_.operation.is_signed), a, b);
  } else {
    r = apply(operation(Op::kMul, w), a, b);
  }
  if (meaning_.adds && step_.argument_count > 3) r = apply(operation(Op::kAdd, out), r, read(arg(3)));
  result(0, r);
}

void Arithmetic::move() {
  if (step_.vector_count == 0) {
    const Arg& from = arg(1);
    Value v = read(from);
    if (v.constant() && arg(0).kind == Arg::Kind::kRegister) v.number = truncate(v.number, arg(0).width);
    result(0, v);
    return;
  }
  const unsigned part = meaning_.operation.width / step_.vector_count;
  if (has_vector_results()) {  // unpack
    const Value v = read(arg(1));
    for (unsigned n = 0; n < step_.vector_count; ++n) {
      const Arg& to = element(n);
      if (to.kind != Arg::Kind::kRegister) continue;
      Value piece = v;
      if (n != 0) piece = apply(operation(Op::kShr, meaning_.operation.width), v, Value::of(uint64_t{n} * part));
      piece = apply(operation(Op::kZext, part, false, part), piece);
      element_result(to, piece);
    }
    return;
  }
  Value v;
  for (unsigned n = 0; n < step_.vector_count; ++n) {
    Value piece = apply(operation(Op::kZext, meaning_.operation.width, false, part), read(element(n)));
    if (n != 0) piece = apply(operation(Op::kShl, meaning_.operation.width), piece, Value::of(uint64_t{n} * part));
    v = n == 0 ? piece : apply(operation(Op::kOr, meaning_.operation.width), v, piece);
  }
  result(0, v);
}

void Arithmetic::convert() {
  const unsigned to = meaning_.operation.width;
  const unsigned from = meaning_.from_width;
  // Widened by the source's sign, then cut to the destination's type, then to fill a wider register by its sign.
  const unsigned keep = std::min(to, from);
  const unsigned reg = std::max<unsigned>(to, width_of(arg(0)));
  Value v = read(arg(1));
  if (from >= to) {
    v = apply(operation(meaning_.operation.is_signed && reg > to ? Op::kSext : Op::kZext, reg, false, keep), v);
  } else {
    v = apply(operation(meaning_.from_signed ? Op::kSext : Op::kZext, to, false, from), v);
  }
  result(0, v);
}

void Arithmetic::map_rank() {
  if (step_.argument_count < 3) return;
  const Value a = read(arg(1));
  const Value rank = read(arg(2));
  const unsigned w = std::max(32u, width_of(arg(0)));
  const Value offset = apply(operation(Op::kAnd, w), a, Value::of(truncate(~(uint64_t{0xff} << kRankShift), w)));
  const Value window =
      apply(operation(Op::kShl, w), apply(operation(Op::kZext, w, false, 32), rank), Value::of(kRankShift));
  result(0, apply(operation(Op::kOr, w), offset, window));
}

void Arithmetic::generic() {
  Value args[kMostGenericOperands + 1];  // and the number of the result
  unsigned count = 0;
  bool complete = step_.vector_count == 0;
  for (unsigned n = step_.destinations; n < step_.argument_count && count < kMostGenericOperands; ++n) {
    const Arg& a = arg(n);
    complete = complete && a.kind != Arg::Kind::kNone && !a.address;
    args[count++] = read(a);
  }
  const Uniformity uniformity = complete ? Uniformity::kCta : uniformity_of_operands(args, count);
  const bool vector_results = has_vector_results();
  const unsigned results = vector_results ? step_.vector_count : step_.destinations;
  for (unsigned n = 0; n < results; ++n) {
    const Arg& to = vector_results ? element(n) : arg(n);
    if (to.kind != Arg::Kind::kRegister) continue;
    Value v;
    if (complete && !vector_results) {
      args[count] = Value::of(n);
      Operation o = meaning_.operation;
      o.op = Op::kGeneric;
      o.aux = machine_.program().graph->module->instructions[step_.instruction].opcode;
      o.width = to.width;
      v = terms_.apply(o, args, count + 1);
      if (meaning_.commutative && count == 2) terms_.note_commutative(v.base, args[0], args[1]);
    } else {
      v = unknown(n, uniformity, to.width);
    }
    if (vector_results) {
      element_result(to, v);
    } else {
      result(n, v);
    }
  }
}

void Arithmetic::fresh() {
  const bool vector_results = has_vector_results();
  const unsigned results = vector_results ? step_.vector_count : step_.destinations;
  for (unsigned n = 0; n < results; ++n) {
    const Arg& to = vector_results ? element(n) : arg(n);
    if (to.kind != Arg::Kind::kRegister) continue;
    const bool uniform = step_.kind == Step::Kind::kInstruction && meaning_.uniform_result;
    const Value v = unknown(n, uniform ? Uniformity::kWarp : Uniformity::kLane, to.width);
    if (vector_results) {
      element_result(to, v);
    } else {
      result(n, v);
    }
  }
}

void Arithmetic::to_shared() {
  result(0, apply(operation(Op::kZext, width_of(arg(0)), false, 32), read(arg(1))));
}

void Arithmetic::from_shared() {
  result(0, apply(operation(Op::kAdd, 64), read(arg(1)), Value::of(kSharedWindow)));
}

Uniformity Arithmetic::uniformity_of_operands(const Value* args, unsigned count) {
  Uniformity u = Uniformity::kCta;
  for (unsigned n = 0; n < count; ++n) u = std::max(u, terms_.uniformity(args[n]));
  for (unsigned n = 0; n < step_.vector_count; ++n) {
    const Arg& a = element(n);
    if (a.kind == Arg::Kind::kRegister) u = std::max(u, terms_.uniformity(machine_.read_register(a.ref)));
  }
  return u;
}

}  // namespace tmemlint::warp
