#include <algorithm>
#include <bit>

#include "analyzer/assumptions/assumptions.h"
#include "analyzer/cluster/barrier_operations.h"
#include "analyzer/cluster/remote.h"

namespace tmemlint::cluster {

using program::Arg;
using program::MbarrierAction;
using value::Value;

MbarrierOperations::Operands MbarrierOperations::operands_of(Execution& e) const {
  Operands o;
  o.at = scene_.addresses_of(e.step).first;
  if (o.at == kNone) return o;
  o.address = e.machine.shared_address(*scene_.arg(e.step, o.at));
  const Arg* count = scene_.arg(e.step, o.at + 1);
  o.has_count = count != nullptr && count->kind != Arg::Kind::kNone;
  if (o.has_count) o.count = e.machine.read(*count);
  return o;
}

void MbarrierOperations::write_result(Execution& e, const Operands& o, const Value& value, uint32_t lanes) {
  for (uint32_t d = 0; d < o.at; ++d) {
    const Arg& a = *scene_.arg(e.step, d);
    if (a.kind == Arg::Kind::kRegister) e.machine.write(a, value, lanes, e.number);
  }
}

Outcome MbarrierOperations::execute(Execution& e) {
  const Operands o = operands_of(e);
  if (o.at == kNone) return Done{};
  e.warp.knowledge.tick();
  switch (e.meaning.mbarrier) {
    case MbarrierAction::kTestWait:
    case MbarrierAction::kTryWait:
      return wait(e, o);
    case MbarrierAction::kPendingCount:
      write_result(e, o, e.machine.unknown(e.number, 0, value::Uniformity::kWarp, 32), e.lanes);
      return Done{};
    case MbarrierAction::kInit:
    case MbarrierAction::kInvalidate:
    case MbarrierAction::kArrive:
    case MbarrierAction::kArriveDrop:
    case MbarrierAction::kExpectTx:
    case MbarrierAction::kArriveExpectTx:
    case MbarrierAction::kCompleteTx:
    case MbarrierAction::kAsyncArrive:
      return signal(e, o);
  }
  return Done{};
}

// --- waits ---

// The barriers and parities that the lanes of a test_wait or try_wait ask for: lanes may wait for barriers of their
// own.
std::variant<std::vector<MbarrierOperations::Asked>, Wait, Unknown> MbarrierOperations::asked_phases(
    Execution& e, const Operands& o) {
  std::vector<Asked> out;
  for (uint32_t rest = e.lanes; rest != 0;) {
    const uint32_t lane = rest & (~rest + 1);
    const bool same = scene_.terms.uniform(o.address, rest) && scene_.terms.uniform(o.count, rest);
    const uint32_t group = same ? rest : lane;
    rest &= ~group;
    const auto address = decisions_.number(e.machine, o.address, lane, 32, Decisions::Pick::kParameters);
    const auto parity = decisions_.number(e.machine, o.count, lane, 32, Decisions::Pick::kWords);
    if (!address) return Unknown{e.instruction(), "which mbarrier is waited on is not known"};
    if (!parity) return Unknown{e.instruction(), "the phase that is waited for is not known"};
    const auto at = static_cast<uint32_t>(*address);
    state_.waited.insert(at);
    // Another warp may still initialise it.
    if (state_.mbarriers.find(at) == nullptr) return WaitForInit{at};
    out.push_back({group, at, static_cast<uint32_t>(*parity)});
  }
  return out;
}

// The warp has waited for a phase that is complete: it learns what those knew who arrived in this phase and before.
void MbarrierOperations::learn(Execution& e, Mbarrier& b) {
  if (b.phase == 0) return;  // the phase before the first one is complete at once
  WarpState& w = e.warp;
  w.knowledge.learn(b.done, e.meaning.relaxed);
  if (e.meaning.relaxed || b.relaxed_arrive != kNone)
    w.last_relaxed_wait = e.meaning.relaxed ? e.instruction() : b.relaxed_arrive;
  b.seen = std::max(b.seen, b.phase);
  // Copies whose first bytes something else wrote over since matter no more.
  std::erase_if(b.brought, [&](uint32_t n) {
    const LastStore* last = state_.stored.find(state_.copies[n].begin);
    if (last == nullptr || !last->is_copy || last->copy() != n) return true;
    state_.copies.observe(n, e.event());
    return false;
  });
  for (uint32_t r : b.seen_from_afar) state_.signals[r].observed = true;
  b.seen_from_afar.clear();
}

Outcome MbarrierOperations::wait(Execution& e, const Operands& o) {
  WarpState& w = e.warp;
  auto phases = asked_phases(e, o);
  if (const auto* open = std::get_if<Unknown>(&phases)) return *open;
  if (const auto* blocked = std::get_if<Wait>(&phases)) return *blocked;
  const std::vector<Asked>& asked = std::get<std::vector<Asked>>(phases);
  scene_.log.count(asked.size(), asked.size());
  const auto has = [](const std::vector<AskedPhase>& list, const AskedPhase& one) {
    return std::find(list.begin(), list.end(), one) != list.end();
  };
  const auto is_over = [&](const AskedPhase& p) { return state_.mbarriers.is_over(p.address, p.phase); };
  for (const Asked& a : asked) {
    // A loop may ask several mbarriers until all are complete: one that is complete again, as it was the last time, is
    // no progress.
    const Mbarrier& b = *state_.mbarriers.find(a.address);
    const AskedPhase now{e.number, a.address, b.phase};
    if (!b.complete(a.parity) || has(w.passed, now)) continue;
    std::erase_if(w.passed, is_over);
    w.passed.push_back(now);
    w.failed.clear();
  }
  for (const Asked& a : asked) {
    Mbarrier& b = *state_.mbarriers.find(a.address);
    if (b.complete(a.parity)) {
      learn(e, b);
      write_result(e, o, Value::of(1), a.lanes);
      scene_.log.add_line(w.id, e.instruction(),
                          [&] { return "waited for phase " + std::to_string(b.phase == 0 ? 0 : b.phase - 1); });
      continue;
    }
    const AskedPhase now{e.number, a.address, b.phase};
    if (has(w.failed, now)) return WaitForPhase{a.address, b.phase};
    // Phases that are over by now are no failures any more.
    std::erase_if(w.failed, is_over);
    w.failed.push_back(now);
    write_result(e, o, Value::of(0), a.lanes);
  }
  return Done{};
}

// --- everything else ---

// Lanes may name barriers of different CTAs: one group after the other.
Outcome MbarrierOperations::signal(Execution& e, const Operands& o) {
  const uint32_t all = e.lanes;
  for (uint32_t rest = all; rest != 0;) {
    const bool same = scene_.terms.uniform(o.address, rest) && (!o.has_count || scene_.terms.uniform(o.count, rest));
    const uint32_t group = same ? rest : rest & (~rest + 1);
    Outcome outcome = signal_one(e, o, group, rest == all);
    if (!std::holds_alternative<Done>(outcome)) return outcome;
    rest &= ~group;
  }
  switch (e.meaning.mbarrier) {
    case MbarrierAction::kArrive:
    case MbarrierAction::kArriveExpectTx:
    case MbarrierAction::kArriveDrop:
      state_.tensor_memory.note_arrival(e.warp, e.instruction());
      scene_.log.add_line(e.warp.id, e.instruction());
      break;
    case MbarrierAction::kInit:
    case MbarrierAction::kInvalidate:
    case MbarrierAction::kExpectTx:
    case MbarrierAction::kCompleteTx:
    case MbarrierAction::kTestWait:
    case MbarrierAction::kTryWait:
    case MbarrierAction::kPendingCount:
    case MbarrierAction::kAsyncArrive:
      break;
  }
  return Done{};
}

Outcome MbarrierOperations::signal_one(Execution& e, const Operands& o, uint32_t group, bool first) {
  const MbarrierAction action = e.meaning.mbarrier;
  const auto address = decisions_.number(e.machine, o.address, group & (~group + 1), 32, Decisions::Pick::kParameters);
  if (!address) return Unknown{e.instruction(), "which mbarrier this is about is not known"};
  const auto at = static_cast<uint32_t>(*address);
  if (action == MbarrierAction::kInit) return init(e, o, group, at);
  const bool own = rank_of(at) == e.warp.id.rank;
  if (!own) {
    const auto reached = reach(scene_, e, at);
    if (const auto* unknown = std::get_if<Unknown>(&reached)) return *unknown;
  }
  Mbarrier* b = state_.mbarriers.find(at);
  if (b == nullptr) {
    if (action == MbarrierAction::kInvalidate) return Done{};
    if (first && own) return WaitForInit{at};
    return Unknown{e.instruction(), "the mbarrier was not seen to be initialised"};
  }
  switch (action) {
    case MbarrierAction::kInvalidate:
      b->live = false;
      return Done{};
    case MbarrierAction::kCompleteTx:
      b->copied = true;
      if (b->settle()) state_.changes.phases.push_back(at);
      return Done{};
    case MbarrierAction::kExpectTx:
      b->expects = true;
      b->announced = e.instruction();
      return Done{};
    case MbarrierAction::kAsyncArrive:
      arrive_asynchronously(e, group, at, *b);
      return Done{};
    case MbarrierAction::kArriveExpectTx:
      b->expects = true;
      b->announced = e.instruction();
      return arrive(e, o, group, at, *b);
    case MbarrierAction::kArrive:
    case MbarrierAction::kArriveDrop:
      return arrive(e, o, group, at, *b);
    case MbarrierAction::kInit:
    case MbarrierAction::kTestWait:
    case MbarrierAction::kTryWait:
    case MbarrierAction::kPendingCount:
      break;
  }
  return Done{};
}

Outcome MbarrierOperations::init(Execution& e, const Operands& o, uint32_t group, uint32_t address) {
  const auto count = decisions_.number(e.machine, o.count, group & (~group + 1), 32);
  if (!count || *count == 0)
    return Unknown{e.instruction(), "the count that the mbarrier is initialised with is not known"};
  Mbarrier b;
  b.live = true;
  b.count = static_cast<uint32_t>(*count);
  b.pending = b.count;
  b.init = e.instruction();
  b.initialised = e.event();
  b.arriving = Knowledge(state_.warps.size());
  b.done = Knowledge(state_.warps.size());
  state_.mbarriers.init(address, std::move(b));
  state_.changes.init = true;
  scene_.log.add_line(e.warp.id, e.instruction(), [&] { return "count " + std::to_string(*count); });
  return Done{};
}

void MbarrierOperations::arrive_asynchronously(Execution& e, uint32_t group, uint32_t address, Mbarrier& b) {
  AsyncArrival a;
  a.kind = AsyncArrival::Kind::kArrive;
  a.targets = {address};
  a.warp = e.warp.index;
  a.site = e.site();
  a.knowledge = e.warp.knowledge.hand_on();
  a.count = static_cast<uint32_t>(std::popcount(group));
  if (!e.meaning.no_increment) b.pending += a.count;
  for (const PendingCopy& p : e.warp.copies) {
    if ((p.lanes & ~group) == 0) a.brings.push_back(p.copy);
  }
  e.warp.copy_is_open = false;
  state_.under_way.push_back(std::move(a));
}

// Writes down how an arrival fits the mbarrier's round. It comes too early if its thread does not know of all arrivals
// of the round before; and so do arrivals that are more at once than the round still expects.
void MbarrierOperations::check_round(const Execution& e, const Mbarrier& b, uint32_t address, uint32_t arrivals) {
  scene_.log.count_decided();
  if (scene_.launch.cluster_is_guess() && scene_.ranks > 1) {  // how many arrive is not known
    scene_.terms.uses().count(assumptions::Id::kRoundsInGuessedCluster);
    return;
  }
  Arrival seen;
  seen.arrival = e.site();
  seen.barrier_rank = rank_of(address);
  seen.init = b.init;
  seen.count = b.count;
  seen.knows_last_round = std::all_of(b.previous.begin(), b.previous.end(), [&](const WarpEvent& before) {
    return e.warp.knowledge.any().knows(before.warp, before.event);
  });
  seen.more_than_pending = arrivals > b.pending && b.pending > 0;
  if (!seen.knows_last_round || seen.more_than_pending) scene_.log.add(seen);
}

Outcome MbarrierOperations::arrive(Execution& e, const Operands& o, uint32_t group, uint32_t address, Mbarrier& b) {
  uint32_t count = 1;
  const Arg* count_arg = scene_.arg(e.step, o.at + 1);
  if (e.meaning.mbarrier != MbarrierAction::kArriveExpectTx && o.has_count && count_arg->kind != Arg::Kind::kSink) {
    const auto c = decisions_.number(e.machine, o.count, group & (~group + 1), 32);
    if (!c) return Unknown{e.instruction(), "how many arrivals this is is not known"};
    count = static_cast<uint32_t>(*c);
  }
  count *= static_cast<uint32_t>(std::popcount(group));
  // Each lane is given the state of the barrier that it arrived on.
  write_result(e, o, Value::of(b.phase & 1), group);
  if (e.meaning.relaxed) b.relaxed_arrive = e.instruction();
  check_round(e, b, address, count);
  b.current.push_back(e.event());
  e.warp.knowledge.lanes().arrive(e.warp.knowledge.now(), group, e.instruction());
  if (e.meaning.mbarrier == MbarrierAction::kArriveDrop) b.count -= count;
  if (b.arrive(count, e.warp.knowledge.hand_on(e.meaning.relaxed), e.instruction()))
    state_.changes.phases.push_back(address);
  return Done{};
}

}  // namespace tmemlint::cluster
