#include "analyzer/warp/machine.h"

#include <algorithm>
#include <bit>

#include "analyzer/warp/execution.h"
#include "analyzer/warp/special_registers.h"

namespace tmemlint::warp {

using program::Action;
using ptx::kNone;
using value::Fact;
using value::kLanes;
using value::Op;
using value::site_of;
using value::UnknownKind;

using kernel::kRankShift;
using kernel::kSharedWindow;

namespace {

// The parts of a step's site that name the elements of a vector of results; below are those of its other results.
constexpr unsigned kElementPart = 16;

}  // namespace

unsigned width_of(const Arg& arg) {
  return arg.kind == Arg::Kind::kRegister || arg.kind == Arg::Kind::kSink ? arg.width : 32;
}

Machine::Machine(const Program& program, Terms& terms, const kernel::Launch& launch, uint32_t rank, uint32_t warp,
                 std::vector<const SharedWrites*> others)
    : program_(program), terms_(terms), rank_(rank), warp_(warp), others_(std::move(others)) {
  registers.resize(program.register_width.size());
  const uint32_t first = warp * kLanes;
  if (launch.threads() < first + kLanes)
    existing_ = launch.threads() <= first ? 0 : (1u << (launch.threads() - first)) - 1;
  active = existing_;
  for (size_t n = 0; n < program.specials.size(); ++n) {
    const std::string_view name = program.graph->module->special_registers[n];
    specials_.push_back(special_register(terms, launch, rank, warp, program.specials[n], name));
  }
}

Value Machine::of_lane(const Value& value, unsigned lane, unsigned width) {
  const Value v = terms_.lane(value, lane);
  if (v.base == 0 || terms_[v.base].uniformity != Uniformity::kLane) return v;
  Value picked = terms_.opaque(site_of(UnknownKind::kOneLane, v.base), lane, Uniformity::kWarp, terms_.loops(v), width);
  picked.number = v.number;
  return picked;
}

Value Machine::unknown(uint64_t site, unsigned part, Uniformity uniformity, unsigned width) {
  ++beyond_registers_;
  if (serial != nullptr) return terms_.opaque(site_of(UnknownKind::kRunStep), ++*serial, uniformity, 0, width);
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
      if (a.number != 0) v = terms_.apply(operation(Op::kAdd, a.width), v, Value::of(a.number));
      if (a.negated) v = terms_.apply(operation(a.width == 1 ? Op::kNot : Op::kNeg, a.width), v);
      return v;
    case Arg::Kind::kNumber:
      return Value::of(a.number);
    case Arg::Kind::kShared:
      return Value::of(a.number + (uint64_t{rank_} << kRankShift));
    case Arg::Kind::kSpecial:
      return specials_[a.ref];
    case Arg::Kind::kNone:
    case Arg::Kind::kSink:
      return v;
  }
  return v;
}

Value Machine::generic_address(const Arg& a, MemorySpace space) {
  Value v = read(a);
  if (space == MemorySpace::kShared) {
    v = terms_.apply(operation(Op::kZext, 64, false, 32), v);
    return terms_.apply(operation(Op::kAdd, 64), v, Value::of(kSharedWindow));
  }
  if (space == MemorySpace::kGeneric && a.kind == Arg::Kind::kShared) {
    return terms_.apply(operation(Op::kAdd, 64), v, Value::of(kSharedWindow));
  }
  return v;
}

Value Machine::shared_address(const Arg& a) {
  return terms_.apply(operation(Op::kZext, 32, false, 32), read(a));
}

void Machine::write(const Arg& a, const Value& value, uint32_t lanes, uint64_t site) {
  if (a.kind != Arg::Kind::kRegister || a.address) return;
  Value& r = registers[a.ref];
  if ((lanes & existing_ & present) == (existing_ & present)) {
    r = value;
  } else {
    ++beyond_registers_;
    const uint64_t name = serial != nullptr ? site_of(UnknownKind::kRunMixed, ++*serial)
                                            : site_of(UnknownKind::kMixedRegister, site | (uint64_t{warp_} << 40));
    r = terms_.blend(lanes, value, r, name, loops, a.width);
  }
}

void Machine::write_unknowns(const Step& step, uint32_t lanes, Uniformity uniformity, uint64_t site) {
  const bool vector_results = step.destinations > 0 && program_.args[step.first_arg].kind == Arg::Kind::kNone;
  for (unsigned n = 0; n < step.destinations; ++n) {
    const Arg& a = program_.args[step.first_arg + n];
    if (a.kind == Arg::Kind::kRegister) write(a, unknown(site, n, uniformity, a.width), lanes, site);
  }
  for (unsigned n = 0; vector_results && n < step.vector_count; ++n) {
    const Arg& a = program_.args[step.vector_first + n];
    if (a.kind == Arg::Kind::kRegister) write(a, unknown(site, kElementPart + n, uniformity, a.width), lanes, site);
  }
}

Truth Machine::truth_of(const Value& p, uint32_t lanes) {
  Truth out;
  if (p.constant()) {
    ((p.number & 1) != 0 ? out.yes : out.no) = lanes;
    return out;
  }
  const uint32_t based = p.base == 0 ? 0 : lanes & ~p.without_base;
  for (uint32_t rest = lanes & ~based; rest != 0; rest &= rest - 1) {
    const auto l = static_cast<unsigned>(std::countr_zero(rest));
    ((terms_.number_in(p, l) & 1) != 0 ? out.yes : out.no) |= 1u << l;
  }
  if (based == 0) return out;
  ++beyond_registers_;
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
  if (step.guard_negated) p = terms_.apply(operation(Op::kNot, 1), p);
  return truth_of(p, active);
}

// --- steps ---

void Machine::execute(const Step& step, uint32_t number) {
  const Truth guard = guard_of(step);
  if (guard.yes == 0 && guard.unknown == 0) return;
  if (step.kind == Step::Kind::kCopyIn) {
    static const Meaning none;
    return Storing(*this, step, none, number, guard).copy_in();
  }
  const Meaning& m = meaning(step);
  if (m.atomic != program::Atomic::kNone && common == nullptr)
    Storing(*this, step, m, number, guard).change_atomically();
  const auto arithmetic = [&] { return Arithmetic(*this, step, m, number, guard); };
  const auto exchange = [&] { return Exchange(*this, step, m, number, guard); };
  switch (m.action) {
    case Action::kPure:
      return arithmetic().pure();
    case Action::kCompare:
      return arithmetic().compare();
    case Action::kMulAdd:
      return arithmetic().multiply();
    case Action::kMove:
      return arithmetic().move();
    case Action::kConvert:
      return arithmetic().convert();
    case Action::kToShared:
      return arithmetic().to_shared();
    case Action::kFromShared:
      return arithmetic().from_shared();
    case Action::kMapRank:
      return arithmetic().map_rank();
    case Action::kGeneric:
      return step.as_data ? arithmetic().fresh() : arithmetic().generic();
    case Action::kFresh:
      return arithmetic().fresh();
    case Action::kShuffle:
      return exchange().shuffle();
    case Action::kVote:
      return exchange().vote();
    case Action::kElect:
      return exchange().elect();
    case Action::kReduce:
      return exchange().reduce();
    case Action::kActiveMask:
      return exchange().active_mask();
    case Action::kLoad:
      return Loading(*this, step, m, number, guard).load();
    case Action::kStore:
      return Storing(*this, step, m, number, guard).store();
    case Action::kNothing:
    // Events of the protocol: what drives the machine sees to them.
    case Action::kTcgen05:
    case Action::kMbarrier:
    case Action::kBarrier:
    case Action::kClusterBarrier:
    case Action::kProxyFence:
    case Action::kReleaseFence:
    case Action::kAsyncCopy:
    case Action::kGridDependency:
      return;
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
  const uint64_t asked = beyond_registers_;
  const uint64_t version = terms_.version();
  for (uint32_t n = s.first; n < s.last; ++n) execute(program_.steps[n], n);
  if (beyond_registers_ != asked || terms_.version() != version) return false;
  to_.clear();
  for (uint32_t n = s.writes; n < s.end; ++n) to_.push_back(registers[refs[n]]);
  replays->add(number, from_, to_, version);
  return false;
}

}  // namespace tmemlint::warp
