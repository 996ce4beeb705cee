#include "analyzer/warp/protocol_steps.h"

#include <algorithm>
#include <bit>
#include <optional>

#include "analyzer/assumptions/assumptions.h"
#include "analyzer/ptx/effects.h"
#include "analyzer/warp/rounds.h"

namespace tmemlint::warp {

using program::Action;
using program::MbarrierAction;
using value::FactsFilter;
using value::Op;
using value::Term;
using value::TermKind;
using value::Uniformity;

namespace {

// Live allocations of one alloc are counted up to that number: one more than one, which is all that counts.
constexpr int kMostLive = assumptions::kLiveAllocations;

// The event that an instruction is; nothing for those that only compute.
std::optional<Event::Kind> event_of(Action action) {
  switch (action) {
    case Action::kTcgen05:
      return Event::Kind::kTcgen05;
    case Action::kMbarrier:
      return Event::Kind::kMbarrier;
    case Action::kBarrier:
      return Event::Kind::kBarrier;
    case Action::kClusterBarrier:
      return Event::Kind::kClusterBarrier;
    case Action::kProxyFence:
      return Event::Kind::kProxyFence;
    case Action::kAsyncCopy:
      return Event::Kind::kAsyncCopy;
    case Action::kGridDependency:
      return Event::Kind::kGridDependency;
    case Action::kNothing:
    case Action::kReleaseFence:
    case Action::kPure:
    case Action::kCompare:
    case Action::kMulAdd:
    case Action::kMove:
    case Action::kConvert:
    case Action::kToShared:
    case Action::kFromShared:
    case Action::kMapRank:
    case Action::kShuffle:
    case Action::kVote:
    case Action::kElect:
    case Action::kReduce:
    case Action::kActiveMask:
    case Action::kLoad:
    case Action::kStore:
    case Action::kGeneric:
    case Action::kFresh:
      return std::nullopt;
  }
  return std::nullopt;
}

Held& held_of(std::vector<Held>& held, uint32_t term) {
  auto at = std::lower_bound(held.begin(), held.end(), term, [](const Held& h, uint32_t t) { return h.term < t; });
  if (at == held.end() || at->term != term) {
    Held fresh;
    fresh.term = term;
    at = held.insert(at, fresh);
  }
  return *at;
}

}  // namespace

ProtocolSteps::ProtocolSteps(const Setting& setting, Machine& machine, WarpGraph& graph)
    : setting_(setting), program_(*setting.program), terms_(*setting.terms), machine_(machine), graph_(graph) {
  events_.resize(program_.graph->blocks.size());
}

std::vector<Event> ProtocolSteps::take_events() {
  size_t count = 0;
  for (const std::vector<Event>& list : events_) count += list.size();
  std::vector<Event> out;
  out.reserve(count);
  for (const std::vector<Event>& list : events_) out.insert(out.end(), list.begin(), list.end());
  return out;
}

Event& ProtocolSteps::event(Event::Kind kind, uint32_t step, uint32_t lanes) {
  Event e;
  e.kind = kind;
  e.block = block;
  e.step = step;
  e.instruction = step == kNone ? kNone : program_.steps[step].instruction;
  e.lanes = lanes;
  e.node = node;
  e.before = state;
  events_[block].push_back(e);
  return events_[block].back();
}

void ProtocolSteps::leave(uint32_t instruction, uint32_t lanes) {
  event(Event::Kind::kExit, kNone, lanes).instruction = instruction;
  change_holdings([&](Holdings& h) { h.exited |= lanes; });
}

void ProtocolSteps::run(uint32_t number) {
  const Step& step = program_.steps[number];
  switch (step.kind) {
    case Step::Kind::kUse:
    case Step::Kind::kOverwrite:
      mark_registers(number, step);
      return;
    case Step::Kind::kCopyIn:
      machine_.execute(step, number);
      return;
    case Step::Kind::kInstruction:
      break;
  }
  const Meaning& m = machine_.meaning(step);
  if (const std::optional<Event::Kind> kind = event_of(m.action)) {
    protocol_instruction(number, step, m, *kind);
  } else {
    machine_.execute(step, number);
  }
}

void ProtocolSteps::protocol_instruction(uint32_t n, const Step& step, const Meaning& m, Event::Kind kind) {
  const Truth guard = machine_.guard_of(step);
  const uint32_t lanes = guard.yes | guard.unknown;
  graph_.reached[n] = true;
  if (lanes == 0) return;
  switch (kind) {
    case Event::Kind::kTcgen05:
      tcgen05(n, step, m, lanes);
      return;
    case Event::Kind::kMbarrier:
      mbarrier(n, step, m, lanes);
      return;
    case Event::Kind::kBarrier:
      event(kind, n, lanes);
      machine_.write_unknowns(step, lanes, Uniformity::kWarp, n);
      return;
    case Event::Kind::kClusterBarrier:
    case Event::Kind::kProxyFence:
    case Event::Kind::kAsyncCopy:
    case Event::Kind::kGridDependency:
      event(kind, n, lanes);
      return;
    case Event::Kind::kOverwrite:  // of markers and of the ends of blocks
    case Event::Kind::kExit:
      return;
  }
}

void ProtocolSteps::mark_registers(uint32_t n, const Step& step) {
  const PendingLoads pending = graph_.protocols.loads[state.loads];
  if (pending.empty()) return;
  uint32_t lanes = machine_.active;
  if (step.guard != kNone) {
    const Truth guard = machine_.guard_of(step);
    lanes = guard.yes | guard.unknown;
  }
  if (lanes == 0) return;
  if (step.kind == Step::Kind::kOverwrite) {
    const bool any = for_pending_of(pending, program_.load_sets[step.loads], [&](const PendingLoad& p) {
      return program_.loads[p.load].instruction != step.instruction;  // the load judges itself
    });
    if (any) event(Event::Kind::kOverwrite, n, lanes);
    return;
  }
  for_pending_of(pending, program_.load_sets[step.loads], [&](const PendingLoad& p) {
    if ((p.used & lanes) == lanes) return false;
    PendingLoad used = p;
    used.used |= lanes;
    state.loads = graph_.protocols.loads.with(terms_, state.loads, used);
    return false;
  });
}

void ProtocolSteps::mbarrier(uint32_t n, const Step& step, const Meaning& m, uint32_t lanes) {
  Event& e = event(Event::Kind::kMbarrier, n, lanes);
  for (unsigned k = 0; k < step.argument_count; ++k) {
    const Arg& a = program_.args[step.first_arg + k];
    if (a.address) {
      e.address = machine_.shared_address(a);
      break;
    }
  }
  const bool waits = m.mbarrier == MbarrierAction::kTestWait || m.mbarrier == MbarrierAction::kTryWait;
  // Whether a phase is complete is not asked lane by lane: kernels test it in all lanes and go on together.
  machine_.write_unknowns(step, lanes, waits ? Uniformity::kWarp : Uniformity::kLane, n);
}

// A value without what the path rules out of the joins that it is made of: events outlive the facts of their path.
Value ProtocolSteps::narrowed(const Value& value) {
  Value out = value;
  const FactsFilter filter(terms_, machine_.facts);
  for (const Terms::Part part : terms_.parts(value.base)) {
    const Term& join = terms_[part.term];
    if (join.kind != TermKind::kJoin || !join.listed || !filter.concerns(part.term)) continue;
    std::vector<Value> rest;
    for (const Value& v : join.set) {
      if (!v.constant() || filter.admits(part.term, v.number)) rest.push_back(v);
    }
    if (rest.empty() || rest.size() == join.set.size()) continue;
    const uint32_t smaller =
        terms_.join(value::site_of(value::UnknownKind::kNarrowed, node), part.term, join.loops, join.width);
    terms_.mutable_term(smaller).uniformity = join.uniformity;
    terms_.mutable_term(smaller).zero_bits = join.zero_bits;
    terms_.set_list(smaller, std::move(rest), true);
    const Value difference = minus(terms_, terms_.with_base({}, smaller), terms_.with_base({}, part.term), 32);
    out = plus(terms_, out, times(terms_, difference, part.coefficient, 32), 32);
  }
  return out;
}

void ProtocolSteps::tcgen05(uint32_t n, const Step& step, const Meaning& m, uint32_t lanes) {
  const ptx::OperandRoles& roles = program_.roles[step.roles];
  const ptx::Effects& effects = ptx::effects_of(m.form);
  const auto arg = [&](uint32_t k) -> const Arg& { return program_.args[step.first_arg + k]; };
  Event& e = event(Event::Kind::kTcgen05, n, lanes);
  if (roles.address < step.argument_count) {
    e.address = effects.address_is_shared() ? machine_.shared_address(arg(roles.address))
                                            : narrowed(machine_.read(arg(roles.address)));
  }
  if (m.form.issue == ptx::Issue::kSingleThread || roles.columns != kNone) {
    e.operands = static_cast<uint32_t>(graph_.operands.size());
    e.operand_count = step.argument_count;
    for (uint32_t k = 0; k < step.argument_count; ++k) graph_.operands.push_back(machine_.read(arg(k)));
  }
  const Value address = e.address;
  const Value columns = roles.columns < e.operand_count ? graph_.operands[e.operands + roles.columns] : Value{};
  // What mma, cp, shift, commit and the fences do is no one warp's business: the joint run follows them.
  if (effects.allocates) alloc(n, address, columns, m.form.exclusive, lanes);
  if (effects.frees) dealloc(address);
  if (effects.relinquishes) change_holdings([&](Holdings& h) { h.relinquished = n; });
  if (effects.is_load()) {
    issue_load(n, step, address, lanes);
    machine_.write_unknowns(step, lanes, Uniformity::kLane, n);
  }
  if (effects.is_store()) state.stores = graph_.protocols.stores.with(terms_, state.stores, {n, address});
  if (effects.drains_loads) state.loads = SharedSets::kEmpty;
  if (effects.drains_stores) state.stores = SharedSets::kEmpty;
}

void ProtocolSteps::issue_load(uint32_t n, const Step& step, const Value& address, uint32_t lanes) {
  PendingLoad p;
  p.load = step.loads;
  p.step = n;
  p.lanes = lanes;
  p.address = address;
  state.loads = graph_.protocols.loads.with(terms_, state.loads, p);
}

void ProtocolSteps::alloc(uint32_t n, const Value& slot, const Value& columns, bool exclusive, uint32_t lanes) {
  const std::vector<int64_t> sizes = columns_of(terms_, columns, lanes);
  const Value address = terms_.allocation(
      value::site_of(value::UnknownKind::kAllocated, n), setting_.warp | (uint64_t{setting_.rank} << 32),
      sizes.empty() ? 0 : static_cast<uint64_t>(std::max<int64_t>(0, sizes.front())),
      ptx::column_capacity(program_.graph->module->target, exclusive));
  change_holdings([&](Holdings& h) {
    Held& held = held_of(h.held, address.base);
    held.step = n;
    held.live = static_cast<uint8_t>(std::min(kMostLive, held.live + 1));
    // Of several sizes that it may have, the largest: it asks for no more than that, whichever it is.
    if (!sizes.empty() && sizes.back() < h.smallest) {
      h.smallest = sizes.back();
      h.smallest_step = n;
    }
  });
  const Value generic = terms_.apply({Op::kAdd, 64, false, 0}, slot, Value::of(kernel::kSharedWindow));
  machine_.store(generic, 4, address, lanes, n);
}

void ProtocolSteps::dealloc(const Value& address) {
  change_holdings([&](Holdings& h) {
    if (address.base != 0 && terms_[address.base].kind == TermKind::kAllocation && address.without_base == 0) {
      Held& held = held_of(h.held, address.base);
      if (held.step == kNone) {
        held.foreign = true;
      } else if (held.live > 0) {
        --held.live;
      }
      return;
    }
    if (address.base == 0) {
      // A literal base: the only allocation that is live.
      Held* only = nullptr;
      unsigned live = 0;
      for (Held& held : h.held) {
        if (held.live == 0) continue;
        ++live;
        only = &held;
      }
      if (live == 1) {
        --only->live;
        return;
      }
    }
    h.unknown_dealloc = true;
  });
}

std::vector<int64_t> columns_of(const Terms& terms, const Value& operand, uint32_t lanes) {
  std::vector<int64_t> out;
  if (lanes == 0) return out;
  if (auto numbers = terms.enumerate(operand, static_cast<unsigned>(std::countr_zero(lanes)), 32)) {
    for (uint64_t n : *numbers) out.push_back(value::sign_extend(n, 32));
  }
  return out;
}

}  // namespace tmemlint::warp
