#include "analyzer/warp/machine.h"

#include <algorithm>
#include <bit>

namespace tmemlint::warp {

using program::Action;
using program::Arg;
using program::Meaning;
using program::MemorySpace;
using program::Program;
using program::Step;
using program::Straight;
using value::Fact;
using value::FactsFilter;
using value::kAllLanes;
using value::kLanes;
using value::Lanes;
using value::Op;
using value::Operation;
using value::Term;
using value::TermKind;
using value::Terms;
using value::truncate;
using value::Uniformity;
using value::Value;

using kernel::kLocalWindow;
using kernel::kParamWindow;
using kernel::kRankShift;
using kernel::kSharedWindow;

namespace {

constexpr Operation op(Op o, unsigned width, bool is_signed = false, uint32_t aux = 0) {
  return Operation{o, static_cast<uint8_t>(width), is_signed, aux};
}

// Kinds of opaque terms that are not named by a step.
constexpr uint64_t kParameterSite = uint64_t{1} << 60;
constexpr uint64_t kSpecialSite = uint64_t{2} << 60;
constexpr uint64_t kSizeSite = kSpecialSite | 1;  // of what there is at least one of
constexpr uint64_t kUnwrittenSite = uint64_t{3} << 60;
constexpr uint64_t kLaneSite = uint64_t{4} << 60;
constexpr uint64_t kSerialSite = uint64_t{7} << 60;

// A grid is taken to have fewer than 2^30 threads: the index of a thread in it is a number of 32 bits that is not
// negative, also a stride further.
constexpr unsigned kThreadIndexBits = 30;

}  // namespace

unsigned width_of(const Arg& arg) {
  return arg.kind == Arg::Kind::kRegister || arg.kind == Arg::Kind::kSink ? arg.width : 32;
}

Machine::Machine(const Program& program, Terms& terms, const kernel::Launch& launch, uint32_t rank, uint32_t warp,
                 std::vector<const SharedWrites*> others)
    : program_(program), terms_(terms), launch_(launch), rank_(rank), warp_(warp), others_(std::move(others)) {
  registers.resize(program.register_width.size());
  const uint32_t first = warp * kLanes;
  if (launch.threads() < first + kLanes)
    existing_ = launch.threads() <= first ? 0 : (1u << (launch.threads() - first)) - 1;
  active = existing_;
  for (std::string_view name : program.graph->module->special_registers) specials_.push_back(special(name));
}

Value Machine::special(std::string_view name) {
  const ptx::Dimensions& b = launch_.block;
  const ptx::Dimensions& c = launch_.cluster;
  auto lanes = [&](auto&& f) {
    Lanes n;
    for (unsigned l = 0; l < kLanes; ++l) n[l] = f(warp_ * kLanes + l, l);
    return terms_.from_lanes(n, 32);
  };
  const char axis = name.size() > 2 && name[name.size() - 2] == '.' ? name.back() : '\0';
  const std::string_view stem = axis != '\0' ? name.substr(0, name.size() - 2) : name;
  auto pick = [&](uint32_t x, uint32_t y, uint32_t z) -> uint64_t {
    return axis == 'x' ? x : axis == 'y' ? y : axis == 'z' ? z : 0;
  };
  const std::array<uint32_t, 3> in_cluster = {rank_ % std::max(1u, c.x), rank_ / std::max(1u, c.x) % std::max(1u, c.y),
                                              rank_ / std::max(1u, c.x * c.y)};
  auto term = [&](std::string_view of, Uniformity u, uint64_t zero = 0) {
    uint64_t part = 0;
    for (char ch : of) part = part * 131 + static_cast<unsigned char>(ch);
    const bool size = of.starts_with("%nctaid") || of.starts_with("%nclusterid") || of.starts_with("%nsmid");
    return terms_.opaque(size ? kSizeSite : kSpecialSite, part, u, 0, 32, zero);
  };
  // In y and z there are at most 65535 blocks (CUDA C++ Programming Guide, compute capabilities).
  auto grid_bits = [&](char of) -> unsigned {
    return of != 'x' ? 16 : kThreadIndexBits - static_cast<unsigned>(std::bit_width(launch_.threads() - 1));
  };
  if (stem == "%tid") {
    return lanes([&](uint32_t t, unsigned) -> uint64_t { return pick(t % b.x, t / b.x % b.y, t / (b.x * b.y)); });
  }
  if (stem == "%ntid") return Value::of(pick(b.x, b.y, b.z));
  if (stem == "%laneid") return lanes([](uint32_t, unsigned l) -> uint64_t { return l; });
  if (stem == "%warpid") return Value::of(warp_);
  if (stem == "%nwarpid") return Value::of(launch_.warps());
  if (stem == "WARP_SZ") return Value::of(kLanes);
  if (stem == "%lanemask_eq") return lanes([](uint32_t, unsigned l) -> uint64_t { return 1u << l; });
  if (stem == "%lanemask_lt") return lanes([](uint32_t, unsigned l) -> uint64_t { return (1u << l) - 1; });
  if (stem == "%lanemask_le") return lanes([](uint32_t, unsigned l) -> uint64_t { return (2ull << l) - 1; });
  if (stem == "%lanemask_gt") return lanes([](uint32_t, unsigned l) -> uint64_t { return ~((2ull << l) - 1); });
  if (stem == "%lanemask_ge") return lanes([](uint32_t, unsigned l) -> uint64_t { return ~((1ull << l) - 1); });
  if (stem == "%cluster_ctarank") return Value::of(rank_);
  if (stem == "%cluster_nctarank") return Value::of(launch_.ctas());
  if (stem == "%cluster_ctaid") return Value::of(pick(in_cluster[0], in_cluster[1], in_cluster[2]));
  if (stem == "%cluster_nctaid") return Value::of(pick(c.x, c.y, c.z));
  if (stem == "%is_explicit_cluster" && launch_.ctas() > 1) return Value::of(1);
  if (stem == "%ctaid" || stem == "%clusterid") {
    const uint64_t size = std::max<uint64_t>(1, pick(c.x, c.y, c.z));
    const unsigned bits = grid_bits(axis) - static_cast<unsigned>(std::bit_width(size - 1));
    const uint64_t zero = ~truncate(~uint64_t{0}, bits);
    const Value cluster = term(std::string("%clusterid.") + axis, Uniformity::kCta, zero);
    if (stem == "%clusterid") return cluster;
    // The cluster's number times its size plus the place in it, so that the parity of the rank is known.
    const Value scaled = terms_.apply(op(Op::kMul, 32), cluster, Value::of(size));
    return terms_.apply(op(Op::kAdd, 32), scaled, Value::of(pick(in_cluster[0], in_cluster[1], in_cluster[2])));
  }
  // What indexes go up by from round to round.
  if (name == "%nctaid.x") return term(name, Uniformity::kCta, ~truncate(~uint64_t{0}, grid_bits(axis)));
  if (stem.starts_with("%clock") || stem.starts_with("%globaltimer") || stem.starts_with("%pm")) {
    return terms_.opaque(kSpecialSite, 1, Uniformity::kLane, ~uint64_t{0}, 64);
  }
  return term(name, Uniformity::kCta);
}

Value Machine::of_lane(const Value& value, unsigned lane, unsigned width) {
  const Value v = terms_.lane(value, lane);
  if (v.base == 0 || terms_[v.base].uniformity != Uniformity::kLane) return v;
  Value picked = terms_.opaque(kLaneSite | v.base, lane, Uniformity::kWarp, terms_.loops(v), width);
  picked.number = v.number;
  return picked;
}

Value Machine::unknown(uint64_t site, unsigned part, Uniformity uniformity, unsigned width) {
  ++others_asked_;
  if (serial != nullptr) return terms_.opaque(kSerialSite, ++*serial, uniformity, 0, width);
  return terms_.opaque(site, (uint64_t{warp_} << 40) | (uint64_t{rank_} << 56) | part, uniformity, loops, width);
}

const Meaning& Machine::meaning(const Step& step) const {
  return program_.meanings[program_.graph->module->instructions[step.instruction].opcode];
}

// --- operands ---

Value Machine::read(const Arg& a) {
  Value v;
  switch (a.kind) {
    case Arg::Kind::kRegister:
      v = read_register(a.ref);
      if (a.number != 0) v = terms_.apply(op(Op::kAdd, a.width), v, Value::of(a.number));
      if (a.negated) v = terms_.apply(op(a.width == 1 ? Op::kNot : Op::kNeg, a.width), v);
      return v;
    case Arg::Kind::kNumber:
      return Value::of(a.number);
    case Arg::Kind::kShared:
      return Value::of(a.number + (uint64_t{rank_} << kRankShift));
    case Arg::Kind::kSpecial:
      return specials_[a.ref];
    default:
      return v;
  }
}

Value Machine::generic_address(const Arg& a, MemorySpace space) {
  Value v = read(a);
  if (space == MemorySpace::kShared) {
    v = terms_.apply(op(Op::kZext, 64, false, 32), v);
    return terms_.apply(op(Op::kAdd, 64), v, Value::of(kSharedWindow));
  }
  if (space == MemorySpace::kGeneric && a.kind == Arg::Kind::kShared) {
    return terms_.apply(op(Op::kAdd, 64), v, Value::of(kSharedWindow));
  }
  return v;
}

Value Machine::shared_address(const Arg& a) {
  return terms_.apply(op(Op::kZext, 32, false, 32), read(a));
}

void Machine::write(const Arg& a, const Value& value, uint32_t lanes, uint64_t site) {
  if (a.kind != Arg::Kind::kRegister || a.address) return;
  Value& r = registers[a.ref];
  if ((lanes & existing_ & present) == (existing_ & present)) {
    r = value;
  } else {
    ++others_asked_;
    const uint64_t name = serial != nullptr ? kSerialSite | ++*serial : site | (uint64_t{warp_} << 40);
    r = terms_.blend(lanes, value, r, name, loops, a.width);
  }
}

void Machine::write_unknowns(const Step& step, uint32_t lanes, Uniformity uniformity, uint64_t site) {
  const bool vector_results = step.destinations > 0 && arg(step, 0).kind == Arg::Kind::kNone;
  for (unsigned n = 0; n < step.destinations; ++n) {
    const Arg& a = arg(step, n);
    if (a.kind == Arg::Kind::kRegister) write(a, unknown(site, n, uniformity, a.width), lanes, site);
  }
  for (unsigned n = 0; vector_results && n < step.vector_count; ++n) {
    const Arg& a = program_.args[step.vector_first + n];
    if (a.kind == Arg::Kind::kRegister) write(a, unknown(site, 16 + n, uniformity, a.width), lanes, site);
  }
}

void Machine::result(const Step& step, unsigned n, const Value& value) {
  const Arg& a = arg(step, n);
  if (a.kind != Arg::Kind::kRegister) return;
  if (guard_.unknown == 0) {
    write(a, value, guard_.yes, step_);
    return;
  }
  const Value old = read_register(a.ref);
  if (guard_.term == 0) {
    // Several unknowns decide: the register is the new or the old value, lane by lane.
    if (value != old) registers[a.ref] = unknown(step_, 100 + n, Uniformity::kLane, a.width);
    return;
  }
  Value condition;
  condition.base = guard_.term;
  const Value selected_args[3] = {condition, guard_.inverted ? old : value, guard_.inverted ? value : old};
  const Value selected = terms_.apply(op(Op::kSelect, a.width), selected_args, 3);
  write(a, selected, guard_.unknown, step_);
  if (guard_.yes != 0) write(a, value, guard_.yes, step_);
}

Truth Machine::truth_of(const Value& p, uint32_t lanes) {
  Truth out;
  if (p.constant()) {
    ((p.number & 1) != 0 ? out.yes : out.no) = lanes;
    return out;
  }
  const uint32_t based = p.base == 0 ? 0 : lanes & ~p.plain;
  for (uint32_t rest = lanes & ~based; rest != 0; rest &= rest - 1) {
    const auto l = static_cast<unsigned>(std::countr_zero(rest));
    ((terms_.number_in(p, l) & 1) != 0 ? out.yes : out.no) |= 1u << l;
  }
  if (based == 0) return out;
  ++others_asked_;
  const Terms::Parts parts = terms_.parts(p.base);
  const uint64_t offset = terms_.number_in(p, static_cast<unsigned>(std::countr_zero(based)));
  const bool plain = parts.size() == 1 && parts[0].coefficient == 1 && (offset & 1) == 0;
  const bool inverse = parts.size() == 1 && parts[0].coefficient != 1 && (offset & 1) == 1;
  if (!plain && !inverse) {
    out.unknown = based;
    return out;
  }
  const uint32_t term = parts[0].term;
  if (const Fact* fact = facts.find(term); fact != nullptr && fact->per_lane) {
    const uint32_t yes = inverse ? ~fact->lanes : fact->lanes;
    out.yes |= based & yes;
    out.no |= based & ~yes;
    return out;
  }
  if (std::optional<bool> known = decide(terms_, facts, term)) {
    (*known != inverse ? out.yes : out.no) |= based;
    return out;
  }
  out.unknown = based;
  out.term = term;
  out.inverted = inverse;
  return out;
}

Truth Machine::guard_of(const Step& step) {
  if (step.guard == kNone) {
    Truth all;
    all.yes = active;
    return all;
  }
  Value p = read_register(step.guard);
  if (step.guard_negated) p = terms_.apply(op(Op::kNot, 1), p);
  return truth_of(p, active);
}

// --- instructions ---

void Machine::execute(const Step& step, uint32_t number) {
  step_ = number;
  guard_ = guard_of(step);
  if (guard_.yes == 0 && guard_.unknown == 0) return;
  if (step.kind == Step::Kind::kCopyIn) {
    copy_in(step);
    return;
  }
  const Meaning& m = meaning(step);
  if (m.atomic && common == nullptr) change_atomically(step, m);
  switch (m.action) {
    case Action::kPure:
      pure(step, m);
      break;
    case Action::kCompare:
      compare(step, m);
      break;
    case Action::kMulAdd:
      multiply(step, m);
      break;
    case Action::kMove:
      move(step, m);
      break;
    case Action::kConvert:
      convert(step, m);
      break;
    case Action::kToShared:
      result(step, 0, terms_.apply(op(Op::kZext, width_of(arg(step, 0)), false, 32), read(arg(step, 1))));
      break;
    case Action::kFromShared:
      result(step, 0, terms_.apply(op(Op::kAdd, 64), read(arg(step, 1)), Value::of(kSharedWindow)));
      break;
    case Action::kMapRank:
      map_rank(step, m);
      break;
    case Action::kShuffle:
      shuffle(step, m);
      break;
    case Action::kVote:
      vote(step, m);
      break;
    case Action::kElect:
      elect(step);
      break;
    case Action::kReduce:
      reduce(step, m);
      break;
    case Action::kActiveMask:
      result(step, 0, Value::of(active));
      break;
    case Action::kLoad:
      load(step, m);
      break;
    case Action::kStore:
      store_step(step, m);
      break;
    case Action::kGeneric:
      if (step.as_data) {
        fresh(step);
      } else {
        generic(step, m);
      }
      break;
    case Action::kFresh:
      fresh(step);
      break;
    default:
      break;
  }
}

bool Machine::run(const Straight& s) {
  const std::vector<uint32_t>& refs = program_.straight_refs;
  const uint32_t number = program_.steps[s.first].straight;
  // Where some lanes' registers stay as they are, more goes in than what the steps read.
  const bool whole = (active & existing_ & present) == (existing_ & present);
  if (replays == nullptr || !whole) {
    for (uint32_t n = s.first; n < s.last; ++n) execute(program_.steps[n], n);
    return false;
  }
  from_.clear();
  from_.push_back(Value::of(active));
  if (s.of_rank) from_.push_back(Value::of(rank_));
  for (uint32_t n = s.reads; n < s.specials; ++n) from_.push_back(registers[refs[n]]);
  for (uint32_t n = s.specials; n < s.writes; ++n) from_.push_back(specials_[refs[n]]);
  if (const Value* known = replays->find(number, from_, terms_.version())) {
    for (uint32_t n = s.writes; n < s.end; ++n) registers[refs[n]] = *known++;
    return true;
  }
  const uint64_t asked = others_asked_;
  const uint64_t version = terms_.version();
  for (uint32_t n = s.first; n < s.last; ++n) execute(program_.steps[n], n);
  if (others_asked_ != asked || terms_.version() != version) return false;
  to_.clear();
  for (uint32_t n = s.writes; n < s.end; ++n) to_.push_back(registers[refs[n]]);
  replays->add(number, from_, to_, version);
  return false;
}

void Machine::pure(const Step& step, const Meaning& m) {
  Value args[4];
  unsigned count = 0;
  Operation o = m.operation;
  for (unsigned n = 1; n < step.argument_count && count < 4; ++n) args[count++] = read(arg(step, n));
  const Arg& last = arg(step, step.argument_count - 1u);
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
  result(step, 0, terms_.apply(o, args, count));
}

void Machine::compare(const Step& step, const Meaning& m) {
  const unsigned predicates = step.destinations;
  if (step.argument_count < predicates + 2u) return;
  Value a = read(arg(step, predicates));
  Value b = read(arg(step, predicates + 1));
  for (Value* v : {&a, &b}) {
    if (v->constant()) v->number = truncate(v->number, m.operation.width);
  }
  if (m.swap) std::swap(a, b);
  Value p = terms_.apply(m.operation, a, b);
  const Operation negate = op(Op::kNot, 1);
  if (m.invert) p = terms_.apply(negate, p);
  Value q = terms_.apply(negate, p);
  if (m.combine != Meaning::Combine::kNone && step.argument_count > predicates + 2u) {
    const Value c = read(arg(step, predicates + 2));
    const Op o = m.combine == Meaning::Combine::kAnd  ? Op::kAnd
                 : m.combine == Meaning::Combine::kOr ? Op::kOr
                                                      : Op::kXor;
    p = terms_.apply(op(o, 1), p, c);
    q = terms_.apply(op(o, 1), q, c);
  }
  result(step, 0, p);
  if (predicates > 1) result(step, 1, q);
}

void Machine::multiply(const Step& step, const Meaning& m) {
  if (step.argument_count < 3) return;
  Value a = read(arg(step, 1));
  Value b = read(arg(step, 2));
  const unsigned w = m.operation.width;
  Value r;
  unsigned out = w;
  if (m.half == Meaning::Half::kWide) {
    out = w * 2;
    const Operation extend = op(m.operation.is_signed ? Op::kSext : Op::kZext, out, false, w);
    r = terms_.apply(op(Op::kMul, out), terms_.apply(extend, a), terms_.apply(extend, b));
  } else if (m.half == Meaning::Half::kHigh) {
    r = terms_.apply(op(Op::kMulHi, w, m.operation.is_signed), a, b);
  } else {
    r = terms_.apply(op(Op::kMul, w), a, b);
  }
  if (m.adds && step.argument_count > 3) r = terms_.apply(op(Op::kAdd, out), r, read(arg(step, 3)));
  result(step, 0, r);
}

void Machine::move(const Step& step, const Meaning& m) {
  if (step.vector_count == 0) {
    const Arg& from = arg(step, 1);
    Value v = read(from);
    if (v.constant() && arg(step, 0).kind == Arg::Kind::kRegister) v.number = truncate(v.number, arg(step, 0).width);
    result(step, 0, v);
    return;
  }
  const unsigned part = m.operation.width / step.vector_count;
  if (arg(step, 0).kind == Arg::Kind::kNone) {  // unpack
    const Value v = read(arg(step, 1));
    for (unsigned n = 0; n < step.vector_count; ++n) {
      const Arg& to = program_.args[step.vector_first + n];
      if (to.kind != Arg::Kind::kRegister) continue;
      Value piece = v;
      if (n != 0) piece = terms_.apply(op(Op::kShr, m.operation.width), v, Value::of(uint64_t{n} * part));
      piece = terms_.apply(op(Op::kZext, part, false, part), piece);
      write(to, piece, guard_.yes | guard_.unknown, step_);
    }
    return;
  }
  Value v;
  for (unsigned n = 0; n < step.vector_count; ++n) {
    Value piece =
        terms_.apply(op(Op::kZext, m.operation.width, false, part), read(program_.args[step.vector_first + n]));
    if (n != 0) piece = terms_.apply(op(Op::kShl, m.operation.width), piece, Value::of(uint64_t{n} * part));
    v = n == 0 ? piece : terms_.apply(op(Op::kOr, m.operation.width), v, piece);
  }
  result(step, 0, v);
}

void Machine::convert(const Step& step, const Meaning& m) {
  const unsigned to = m.operation.width;
  const unsigned from = m.from_width;
  // Widened by the source's sign, then cut to the destination's type, then to fill a wider register by its sign.
  const unsigned keep = std::min(to, from);
  const unsigned reg = std::max<unsigned>(to, width_of(arg(step, 0)));
  Value v = read(arg(step, 1));
  if (from >= to) {
    v = terms_.apply(op(m.operation.is_signed && reg > to ? Op::kSext : Op::kZext, reg, false, keep), v);
  } else {
    v = terms_.apply(op(m.from_signed ? Op::kSext : Op::kZext, to, false, from), v);
  }
  result(step, 0, v);
}

void Machine::map_rank(const Step& step, const Meaning&) {
  if (step.argument_count < 3) return;
  const Value a = read(arg(step, 1));
  const Value rank = read(arg(step, 2));
  const unsigned w = std::max(32u, width_of(arg(step, 0)));
  const Value offset = terms_.apply(op(Op::kAnd, w), a, Value::of(truncate(~(uint64_t{0xff} << kRankShift), w)));
  const Value window =
      terms_.apply(op(Op::kShl, w), terms_.apply(op(Op::kZext, w, false, 32), rank), Value::of(kRankShift));
  result(step, 0, terms_.apply(op(Op::kOr, w), offset, window));
}

void Machine::shuffle(const Step& step, const Meaning& m) {
  const unsigned d = step.destinations;
  if (step.argument_count < d + 3u) return;
  const Value a = read(arg(step, d));
  const Value b = read(arg(step, d + 1));
  const Value c = read(arg(step, d + 2));
  const unsigned w = width_of(arg(step, 0));
  const bool whole = c.constant() && ((c.number >> 8) & 0x1f) == 0;
  Value v;
  Value in_range = Value::of(1);
  if (terms_.uniform(a, existing_)) {
    v = a;
  } else if (whole && m.shuffle == Meaning::Shuffle::kIdx && !b.constant() && terms_.uniform(b, active)) {
    // Every lane gets the word of one lane, whichever it is.
    v = unknown(step_, 0, Uniformity::kWarp, w);
    in_range = unknown(step_, 1, Uniformity::kWarp, 1);
  } else if (!b.constant() || !whole) {
    v = unknown(step_, 0, Uniformity::kLane, w);
    in_range = unknown(step_, 1, Uniformity::kLane, 1);
  } else {
    const unsigned limit = static_cast<unsigned>(c.number & 0x1f);
    auto source = [&](unsigned l) -> unsigned {
      const auto by = static_cast<unsigned>(b.number & 0x1f);
      switch (m.shuffle) {
        case Meaning::Shuffle::kIdx:
          return by <= limit ? by : l;
        case Meaning::Shuffle::kUp:
          return l >= by + limit && l >= by ? l - by : l;
        case Meaning::Shuffle::kDown:
          return l + by <= limit ? l + by : l;
        default:
          return (l ^ by) <= limit ? l ^ by : l;
      }
    };
    const bool one = m.shuffle == Meaning::Shuffle::kIdx;
    if (a.base == 0) {
      Lanes n;
      for (unsigned l = 0; l < kLanes; ++l) n[l] = terms_.number_in(a, source(l));
      v = terms_.from_lanes(n, w);
    } else if (one) {
      v = of_lane(a, source(0), w);
    } else {
      std::optional<Value> exchanged;
      const bool everywhere = limit == kLanes - 1 && (guard_.yes & existing_) == kAllLanes;
      if (m.shuffle == Meaning::Shuffle::kBfly && everywhere) exchanged = terms_.butterfly(a, b.number & 0x1f);
      v = exchanged ? *exchanged : unknown(step_, 0, Uniformity::kLane, w);
    }
    const bool always = m.shuffle == Meaning::Shuffle::kBfly && limit == kLanes - 1;
    if (!one && !always) in_range = unknown(step_, 1, Uniformity::kLane, 1);
  }
  result(step, 0, v);
  if (d > 1) result(step, 1, in_range);
}

void Machine::vote(const Step& step, const Meaning& m) {
  const unsigned d = step.destinations;
  if (step.argument_count < d + 1u) return;
  const uint32_t lanes = guard_.yes | guard_.unknown;
  const Truth t = truth_of(read(arg(step, d)), lanes);
  const bool one_unknown = t.unknown == lanes && t.term != 0 && terms_[t.term].uniformity != Uniformity::kLane;
  Value condition;
  condition.base = t.term;
  if (t.inverted) condition = terms_.apply(op(Op::kNot, 1), condition);
  const bool ballot = m.vote == Meaning::Vote::kBallot;
  Value v;
  if (t.unknown == 0) {
    switch (m.vote) {
      case Meaning::Vote::kAny:
        v = Value::of(t.yes != 0 ? 1 : 0);
        break;
      case Meaning::Vote::kAll:
        v = Value::of(t.no == 0 ? 1 : 0);
        break;
      case Meaning::Vote::kUni:
        v = Value::of(t.yes == 0 || t.no == 0 ? 1 : 0);
        break;
      default:
        v = Value::of(t.yes);
        break;
    }
  } else if (one_unknown && ballot) {
    const Value args[3] = {condition, Value::of(lanes), Value::of(0)};
    v = terms_.apply(op(Op::kSelect, 32), args, 3);
  } else if (one_unknown) {
    v = m.vote == Meaning::Vote::kUni ? Value::of(1) : condition;
  } else if ((m.vote == Meaning::Vote::kAny && t.yes != 0) || (m.vote == Meaning::Vote::kAll && t.no != 0)) {
    v = Value::of(m.vote == Meaning::Vote::kAny ? 1 : 0);
  } else {
    v = unknown(step_, 0, Uniformity::kWarp, ballot ? 32 : 1);
  }
  result(step, 0, v);
}

void Machine::reduce(const Step& step, const Meaning& m) {
  if (step.argument_count < 3) return;
  const Value a = read(arg(step, 1));
  const Value mask = read(arg(step, 2));
  const uint32_t lanes = guard_.yes;
  Value v = unknown(step_, 0, Uniformity::kWarp, m.operation.width);
  // All of them together, or the groups of the mask are not known.
  const bool together = guard_.unknown == 0 && mask.constant() && (mask.number & lanes) == lanes;
  const auto first = static_cast<unsigned>(std::countr_zero(lanes));
  if (together && a.base == 0) {
    uint64_t all = terms_.number_in(a, first);
    for (uint32_t rest = lanes & (lanes - 1); rest != 0; rest &= rest - 1) {
      const std::array<uint64_t, 2> both = {all, terms_.number_in(a, static_cast<unsigned>(std::countr_zero(rest)))};
      all = fold(m.operation, both.data(), 2);
    }
    v = Value::of(all);
  } else if (together && terms_.uniform(a, lanes)) {
    const Value one = terms_.lane(a, first);
    const auto count = static_cast<uint64_t>(std::popcount(lanes));
    switch (m.operation.op) {
      case Op::kAdd:
        v = terms_.apply(op(Op::kMul, m.operation.width), one, Value::of(count));
        break;
      case Op::kXor:
        v = count % 2 != 0 ? one : Value::of(0);
        break;
      default:
        v = one;
        break;
    }
  }
  result(step, 0, v);
}

void Machine::elect(const Step& step) {
  // One lane of the mask, the same each time; which one is the implementation's choice.
  uint32_t lanes = guard_.yes | guard_.unknown;
  if (step.argument_count > step.destinations) {
    const Value mask = read(arg(step, step.destinations));
    if (mask.constant() && (mask.number & lanes) != 0) lanes &= static_cast<uint32_t>(mask.number);
  }
  const auto leader = static_cast<unsigned>(std::countr_zero(lanes));
  Lanes p{};
  p[leader] = 1;
  const Value elected = terms_.from_lanes(p, 1);
  if (step.destinations > 1) {
    result(step, 0, Value::of(leader));
    result(step, 1, elected);
  } else {
    result(step, 0, elected);
  }
}

void Machine::generic(const Step& step, const Meaning& m) {
  Value args[8];
  unsigned count = 0;
  bool complete = step.vector_count == 0;
  for (unsigned n = step.destinations; n < step.argument_count && count < 6; ++n) {
    const Arg& a = arg(step, n);
    complete = complete && a.kind != Arg::Kind::kNone && !a.address;
    args[count++] = read(a);
  }
  Uniformity u = Uniformity::kCta;
  for (unsigned n = 0; n < count; ++n) u = std::max(u, terms_.uniformity(args[n]));
  for (unsigned n = 0; n < step.vector_count; ++n) {
    const Arg& a = program_.args[step.vector_first + n];
    if (a.kind == Arg::Kind::kRegister) u = std::max(u, terms_.uniformity(read_register(a.ref)));
  }
  const bool vector_results = step.destinations > 0 && arg(step, 0).kind == Arg::Kind::kNone;
  const unsigned results = vector_results ? step.vector_count : step.destinations;
  for (unsigned n = 0; n < results; ++n) {
    const Arg& to = vector_results ? program_.args[step.vector_first + n] : arg(step, n);
    if (to.kind != Arg::Kind::kRegister) continue;
    Value v;
    if (complete && !vector_results) {
      args[count] = Value::of(n);
      Operation o = m.operation;
      o.op = Op::kGeneric;
      o.aux = program_.graph->module->instructions[step.instruction].opcode;
      o.width = to.width;
      v = terms_.apply(o, args, count + 1);
      if (m.commutative && count == 2) terms_.note_commutative(v.base, args[0], args[1]);
    } else {
      v = unknown(step_, n, u, to.width);
    }
    if (vector_results) {
      write(to, v, guard_.yes | guard_.unknown, step_);
    } else {
      result(step, n, v);
    }
  }
}

void Machine::fresh(const Step& step) {
  const bool vector_results = step.destinations > 0 && arg(step, 0).kind == Arg::Kind::kNone;
  const unsigned results = vector_results ? step.vector_count : step.destinations;
  for (unsigned n = 0; n < results; ++n) {
    const Arg& to = vector_results ? program_.args[step.vector_first + n] : arg(step, n);
    if (to.kind != Arg::Kind::kRegister) continue;
    const bool uniform = step.kind == Step::Kind::kInstruction && meaning(step).uniform_result;
    const Value v = unknown(step_, n, uniform ? Uniformity::kWarp : Uniformity::kLane, to.width);
    if (vector_results) {
      write(to, v, guard_.yes | guard_.unknown, step_);
    } else {
      result(step, n, v);
    }
  }
}

// --- memory ---

void Machine::note_read(uint64_t address, unsigned bytes) {
  const Extent extent{address, address + bytes};
  if (std::find(shared_reads.begin(), shared_reads.end(), extent) == shared_reads.end()) shared_reads.push_back(extent);
}

Value Machine::load_known(uint64_t address, const Meaning& m, unsigned bytes, uint64_t site, unsigned index) {
  const uint64_t window = kernel::window_of(address);
  std::optional<Value> own = memory.load(terms_, address, bytes);
  if (window == kSharedWindow && common != nullptr) return common->load_shared(address, bytes, m.fresh);
  if (window == kSharedWindow) {
    note_read(address, bytes);
    std::vector<Value> candidates;
    bool listed = true;
    if (own) candidates.push_back(*own);
    const bool own_unknown = !own && memory.touches(address, bytes);
    for (const SharedWrites* other : others_) {
      for (const auto& [at, record] : other->overlapping(address, bytes)) {
        if (record.unknown || at > address || at + record.bytes < address + bytes) {
          listed = false;
          continue;
        }
        const Value v = extract(terms_, record.value, record.bytes, static_cast<unsigned>(address - at), bytes);
        if (std::find(candidates.begin(), candidates.end(), v) == candidates.end()) candidates.push_back(v);
      }
    }
    if (candidates.size() == 1 && listed && !own_unknown) return candidates[0];
    if (candidates.empty() && listed && !own_unknown && !m.fresh) {
      // Never written by a thread: asynchronous copies may change it, so it is another word each time it is read.
      return unknown(kUnwrittenSite | site, index, Uniformity::kWarp, bytes * 8);
    }
    const uint32_t join = terms_.join(
        kUnwrittenSite | site, (generation << 48) | (uint64_t{warp_} << 40) | index | (1u << 20), loops, bytes * 8);
    const bool closed = listed && !own_unknown && !candidates.empty();
    terms_.set_list(join, candidates, closed && candidates.size() <= 8);
    uint64_t zero = closed ? ~uint64_t{0} : 0;
    for (const Value& c : candidates) zero &= c.table != 0 ? 0 : terms_.zero_bits(c, 0);
    terms_.set_zero_bits(join, zero | ~truncate(~uint64_t{0}, bytes * 8));
    Value v;
    v.base = join;
    return v;
  }
  if (own) return *own;
  if (memory.touches(address, bytes)) return unknown(site, 200 + index, Uniformity::kLane, bytes * 8);
  if (window == kParamWindow && address - kParamWindow < program_.layout.kernel_parameters()) {
    return terms_.opaque(kParameterSite, (address << 4) | bytes, Uniformity::kCta, 0, bytes * 8);
  }
  return unknown(site, 200 + index, window == kLocalWindow ? Uniformity::kLane : Uniformity::kWarp, bytes * 8);
}

// An element of a small array, at an index that may be one of a few: one of the words that stand there.
std::optional<Value> Machine::load_listed(const Value& address, const Meaning& m, unsigned bytes, unsigned index,
                                          uint64_t site) {
  constexpr size_t kMost = 8;
  if (!terms_.uniform(address, kAllLanes)) return std::nullopt;
  const auto places = terms_.enumerate(address, 0, 64, FactsFilter(terms_, facts));
  if (!places || places->empty() || places->size() > kMost) return std::nullopt;
  std::vector<Value> words;
  for (uint64_t at : *places) {
    const uint64_t window = kernel::window_of(at);
    if (window != kLocalWindow && window != kSharedWindow) return std::nullopt;
    words.push_back(load_known(at, m, bytes, site, index));
  }
  const Value& first = words.front();
  if (std::all_of(words.begin(), words.end(), [&](const Value& w) { return w == first; })) return first;
  const bool one_base = std::all_of(words.begin(), words.end(), [&](const Value& w) {
    return w.base == first.base && w.table == 0 && w.plain == first.plain;
  });
  // One base and another offset each (stages of one allocation): the offset is what is listed.
  const unsigned width = bytes * 8;
  const uint32_t join = terms_.join(
      kUnwrittenSite | site, (uint64_t{warp_} << 40) | (uint64_t{rank_} << 56) | index | (2u << 20), loops, width);
  std::vector<Value> set;
  for (const Value& w : words) {
    const Value item = one_base ? Value::of(w.number) : w;
    if (std::find(set.begin(), set.end(), item) == set.end()) set.push_back(item);
  }
  const bool lists = std::all_of(words.begin(), words.end(), [&](const Value& w) { return one_base || w.base == 0; });
  terms_.set_list(join, std::move(set), lists);
  terms_.set_zero_bits(join, ~truncate(~uint64_t{0}, width));
  Value offset;
  offset.base = join;
  if (!one_base || first.base == 0) return offset;
  Value base = first;
  base.number = 0;
  return terms_.apply(op(Op::kAdd, width), base, offset);
}

Value Machine::load_one(const Value& address, const Meaning& m, unsigned index, uint64_t site) {
  const unsigned bytes = m.access_width / 8;
  const uint32_t lanes = guard_.yes | guard_.unknown;
  if (common != nullptr && address.known() && terms_.uniform(address, lanes)) {
    const uint64_t at = terms_.number_in(address, static_cast<unsigned>(std::countr_zero(lanes)));
    if (kernel::window_of(at) == kSharedWindow) return common->load_shared(at, bytes, m.fresh);
  }
  if (bytes > 8)
    return unknown(site, index, terms_.uniform(address, lanes) ? Uniformity::kWarp : Uniformity::kLane, 64);
  Value v;
  if (address.known() && terms_.uniform(address, lanes)) {
    const uint64_t at = terms_.number_in(address, static_cast<unsigned>(std::countr_zero(lanes)));
    const bool global = kernel::window_of(at) == kernel::kGlobalWindow || kernel::window_of(at) == kernel::kConstWindow;
    v = global ? unknown(site, index, Uniformity::kWarp, m.access_width) : load_known(at, m, bytes, site, index);
  } else if (address.known() && kernel::window_of(address.number) != kernel::kGlobalWindow) {
    // Another word per lane; worth reading one by one only if all of them are numbers.
    Lanes n{};
    bool numbers = true;
    for (unsigned l = 0; l < kLanes && numbers; ++l) {
      if (((lanes >> l) & 1) == 0) continue;
      const Value one = load_known(terms_.number_in(address, l), m, bytes, site, index);
      const Value mine = terms_.lane(one, l);
      numbers = mine.base == 0;
      n[l] = mine.number;
    }
    v = numbers ? terms_.from_lanes(n, m.access_width) : unknown(site, index, Uniformity::kLane, m.access_width);
  } else if (std::optional<Value> one = load_listed(address, m, bytes, index, site)) {
    v = *one;
  } else {
    const bool same = terms_.uniform(address, lanes);
    if (same && common != nullptr && !m.fresh && bytes <= 8) {
      v = common->load_global(terms_.lane(address, static_cast<unsigned>(std::countr_zero(lanes))), index,
                              m.access_width);
    } else {
      v = unknown(site, index, same ? Uniformity::kWarp : Uniformity::kLane, m.access_width);
    }
  }
  return v;
}

void Machine::load(const Step& step, const Meaning& m) {
  const unsigned last = step.argument_count - 1u;
  // ld d, [a] {, cache policy}: the address is the bracketed operand.
  unsigned at = last;
  for (unsigned n = 0; n < step.argument_count; ++n) {
    if (arg(step, n).address) at = n;
  }
  // An unknown address of global memory stays one.
  Value address = read(arg(step, at));
  if (address.known() || m.space != MemorySpace::kGlobal) address = generic_address(arg(step, at), m.space);
  const bool vector = step.vector_count != 0 && arg(step, 0).kind == Arg::Kind::kNone;
  const unsigned count = vector ? step.vector_count : 1;
  for (unsigned n = 0; n < count; ++n) {
    const Arg& to = vector ? program_.args[step.vector_first + n] : arg(step, 0);
    if (to.kind != Arg::Kind::kRegister) continue;
    const Value where = n == 0 || (!address.known() && m.space == MemorySpace::kGlobal)
                            ? address
                            : terms_.apply(op(Op::kAdd, 64), address, Value::of(uint64_t{n} * m.access_width / 8));
    Value v = load_one(where, m, n, step_);
    if (m.access_signed && to.width > m.access_width) {
      v = terms_.apply(op(Op::kSext, to.width, false, m.access_width), v);
    }
    if (v.constant()) v.number = truncate(v.number, to.width);
    if (vector) {
      write(to, v, guard_.yes | guard_.unknown, step_);
    } else {
      result(step, 0, v);
    }
  }
}

// Another unknown in each of the lanes.
bool Machine::is_data(const Value& value, uint32_t lanes) const {
  return value.base != 0 && (value.plain & lanes) == 0 && terms_[value.base].uniformity == Uniformity::kLane;
}

void Machine::store(const Value& address, unsigned bytes, const Value& value, uint32_t lanes, uint64_t site) {
  if (!address.known() || lanes == 0) return;  // assumed not to touch what the protocol is made of
  const bool same_place = terms_.uniform(address, lanes);
  const uint64_t at = terms_.number_in(address, static_cast<unsigned>(std::countr_zero(lanes)));
  const uint64_t window = kernel::window_of(at);
  if (window == kernel::kGlobalWindow || window == kernel::kConstWindow) return;
  if (window == kSharedWindow && common != nullptr) {
    if (same_place && !terms_.uniform(value, lanes)) {
      common->store_shared(at, bytes, nullptr);  // which of them stays there is not known
      return;
    }
    if (!same_place) {
      if (is_data(value, lanes)) {
        common->store_data(address, lanes, bytes);
        return;
      }
      for (uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
        const auto l = static_cast<unsigned>(std::countr_zero(rest));
        const Value one = terms_.lane(value, l);
        const bool known = one.base == 0 || terms_[one.base].uniformity != Uniformity::kLane;
        common->store_shared(terms_.number_in(address, l), bytes, known ? &one : nullptr);
      }
      return;
    }
    const Value one = of_lane(value, static_cast<unsigned>(std::countr_zero(lanes)), std::min(64u, bytes * 8));
    common->store_shared(at, bytes, &one);
    return;
  }
  if (!same_place) {
    const auto [low, high] = terms_.span_of(address, lanes);
    if (!memory.touches(low, high - low + bytes)) return;
    for (uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
      memory.clobber(terms_.number_in(address, static_cast<unsigned>(std::countr_zero(rest))), bytes);
    }
    return;
  }
  if (bytes > 8) {
    memory.clobber(at, bytes);
    return;
  }
  Value stored = value;
  const unsigned width = bytes * 8;
  if (stored.constant()) stored.number = truncate(stored.number, width);
  if (window == kSharedWindow) {
    // One word for all: some lane's value.
    if (!terms_.uniform(stored, lanes)) {
      stored = unknown(site, 300, Uniformity::kWarp, width);
    } else {
      stored = of_lane(stored, static_cast<unsigned>(std::countr_zero(lanes)), width);
    }
    SharedWrites::Record record;
    record.bytes = static_cast<uint8_t>(bytes);
    record.value = stored;
    // Terms of this warp's paths mean nothing to another warp.
    bool nameable = true;
    for (const Terms::Part part : terms_.parts(stored.base)) {
      const Term& t = terms_[part.term];
      nameable = nameable && (t.kind == TermKind::kAllocation || (t.loops == 0 && t.uniformity == Uniformity::kCta));
    }
    if (!nameable) {
      if (auto numbers = terms_.enumerate(stored, 0, width, FactsFilter(terms_, facts));
          numbers && numbers->size() <= 8) {
        for (uint64_t n : *numbers) {
          record.value = Value::of(n);
          writes.add(at, record);
        }
      } else {
        record.value = Value{};
        record.unknown = true;
        writes.add(at, record);
      }
    } else {
      writes.add(at, record);
    }
  } else if (const uint32_t others = memory.writers(at, bytes) & ~lanes; (others & existing_) != 0) {
    // Private memory of some lanes only, which others have written as well.
    const std::optional<Value> old = memory.load(terms_, at, bytes);
    stored = terms_.blend(lanes, stored, old ? *old : unknown(site, 301, Uniformity::kLane, width), site, loops, width);
  }
  memory.store(terms_, at, bytes, stored,
               window == kSharedWindow ? kAllLanes : lanes | memory.writers(at, bytes) | ~existing_);
}

// The word at a known shared address holds something unknown from now on, for every warp.
void Machine::change_atomically(const Step& step, const Meaning& m) {
  for (unsigned n = 0; n < step.argument_count; ++n) {
    if (!arg(step, n).address) continue;
    const Value address = generic_address(arg(step, n), m.space);
    if (!address.constant() || kernel::window_of(address.number) != kSharedWindow) return;
    SharedWrites::Record record;
    record.bytes = 8;
    record.unknown = true;
    writes.add(address.number, record);
    memory.clobber(address.number, record.bytes);
    return;
  }
}

void Machine::store_step(const Step& step, const Meaning& m) {
  unsigned at = 0;
  while (at < step.argument_count && !arg(step, at).address) ++at;
  if (at >= step.argument_count) return;
  if (!read(arg(step, at)).known()) return;  // as in `store`
  const Value address = generic_address(arg(step, at), m.space);
  const unsigned bytes = m.access_width / 8;
  const uint32_t lanes = guard_.yes | guard_.unknown;
  if (m.address_lanes != 0) {
    const uint32_t rows = static_cast<uint32_t>(truncate(kAllLanes, m.address_lanes));
    store(address, bytes, unknown(step_, 302, Uniformity::kLane, 64), lanes & rows, step_);
    return;
  }
  const unsigned count = step.vector_count != 0 ? step.vector_count : 1;
  if (common != nullptr && count > 1 && bytes * count <= 16 && guard_.unknown == 0) {
    // A vector of data is one piece of data.
    bool data = true;
    for (unsigned n = 0; n < count && data; ++n) data = is_data(read(program_.args[step.vector_first + n]), lanes);
    if (data) return store(address, bytes * count, read(program_.args[step.vector_first]), lanes, step_);
  }
  for (unsigned n = 0; n < count; ++n) {
    if (step.vector_count == 0 && at + 1u >= step.argument_count) return;
    const Arg& from = step.vector_count != 0 ? program_.args[step.vector_first + n] : arg(step, at + 1);
    Value v = read(from);
    if (guard_.unknown != 0) v = unknown(step_, 302 + n, Uniformity::kWarp, std::min(m.access_width, uint8_t{64}));
    const Value where = n == 0 ? address : terms_.apply(op(Op::kAdd, 64), address, Value::of(uint64_t{n} * bytes));
    store(where, bytes, v, lanes, step_ | (uint64_t{n} << 32));
  }
}

void Machine::copy_in(const Step& step) {
  const Arg& to = arg(step, 0);
  const Arg& from = arg(step, 1);
  Value v;
  if (from.address) {
    Meaning m;
    m.access_width = from.width;
    v = load_one(Value::of(from.number), m, 0, step_);
  } else {
    v = read(from);
  }
  if (to.address) {
    store(Value::of(to.number), to.width / 8, v, active, step_);
  } else {
    write(to, v, active, step_);
  }
}

}  // namespace tmemlint::warp
