#include <algorithm>
#include <bit>

#include "analyzer/assumptions/assumptions.h"
#include "analyzer/cluster/barrier_operations.h"
#include "analyzer/cluster/mbarrier_life.h"
#include "analyzer/cluster/overrun.h"
#include "analyzer/cluster/remote.h"

namespace tmemlint::cluster {

using program::Arg;
using program::MbarrierAction;
using value::Value;

bool rounds_are_guessed(const Scene& scene) {
  const bool guessed = scene.launch.cluster_is_guess() && scene.ranks > 1;
  if (guessed) scene.terms.uses().count(assumptions::Id::kRoundsInGuessedCluster);
  return guessed;
}

void finish_phases(Scene& scene, uint32_t address, Mbarrier& b) {
  scene.state.changes.phases.push_back(address);
  for (const PhaseWait& w : b.overtaken) {
    if (!rounds_are_guessed(scene)) scene.log.add(OvertakenWait{w.site, b.init, b.last_arrive, w.stale});
  }
  b.overtaken.clear();
}

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
    const Mbarrier* b = state_.mbarriers.find_any(at);
    // Another warp may still initialise it.
    if (b == nullptr || (!b->live && !b->complete(static_cast<uint32_t>(*parity)))) return WaitForInit{at};
    if (!b->live) {
      scene_.log.add(MbarrierMisuse{MbarrierMisuse::Kind::kInvalInUse, b->invalidated, e.site()});
    } else if (b->earlier == nullptr) {
      check_init(scene_, e, *b);
    }
    if (*parity > 1 && scene_.terms.lane(o.count, static_cast<unsigned>(std::countr_zero(lane))).base == 0)
      scene_.log.add(ParityOutOfRange{e.site(), *parity});
    out.push_back({group, at, static_cast<uint32_t>(*parity)});
  }
  return out;
}

// A wait for a phase that is to come, which would have passed before the phase before it was over. Whoever does not
// know that this one is over may have come as early.
void MbarrierOperations::check_last_phase(const Execution& e, const Mbarrier& b) {
  scene_.log.count_decided();
  if (b.phase == b.first || rounds_are_guessed(scene_) || b.knows_last_phase(e.warp.knowledge.any())) return;
  scene_.log.add(OvertakenWait{e.site(), b.init, b.last_arrive, b.waits_again(e.warp.index)});
}

// The warp has waited for a phase that is complete: it learns what those knew who arrived in this phase and before.
void MbarrierOperations::learn(Execution& e, Mbarrier& b) {
  b.note_wait({e.event(), e.site()});
  if (b.phase == b.first) return;  // the phase before the first one is complete at once
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
    const Mbarrier& b = *state_.mbarriers.find_any(a.address);
    const AskedPhase now{e.number, a.address, b.phase};
    if (!b.complete(a.parity) || has(w.passed, now)) continue;
    std::erase_if(w.passed, is_over);
    w.passed.push_back(now);
    w.failed.clear();
  }
  for (const Asked& a : asked) {
    Mbarrier& b = *state_.mbarriers.find_any(a.address);
    if (b.earlier != nullptr && !w.knowledge.knows(b.initialised.warp, b.initialised.event) &&
        (b.earlier->phase & 1) != (a.parity & 1)) {
      // It came for a phase of the mbarrier as it was before it was initialised again.
      w.knowledge.learn(b.earlier->done, e.meaning.relaxed);
      write_result(e, o, Value::of(1), a.lanes);
      continue;
    }
    if (b.complete(a.parity)) {
      learn(e, b);
      write_result(e, o, Value::of(1), a.lanes);
      scene_.log.add_line(w.id, e.instruction(),
                          [&] { return "waited for phase " + std::to_string(std::max(b.phase - b.first, 1u) - 1); });
      continue;
    }
    const AskedPhase now{e.number, a.address, b.phase};
    if (has(w.failed, now)) {
      check_last_phase(e, b);
      return WaitForPhase{a.address, b.phase};
    }
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
    if (const Mbarrier* gone = state_.mbarriers.find_any(at)) {
      scene_.log.add(MbarrierMisuse{MbarrierMisuse::Kind::kInvalInUse, gone->invalidated, e.site()});
      return Done{};
    }
    if (first && own) return WaitForInit{at};
    return Unknown{e.instruction(), "the mbarrier was not seen to be initialised"};
  }
  if (own) check_init(scene_, e, *b);
  switch (action) {
    case MbarrierAction::kInvalidate:
      invalidate(e, at, *b);
      return Done{};
    case MbarrierAction::kCompleteTx:
      b->copied = true;
      b->bytes.known = false;
      if (b->settle()) finish_phases(scene_, at, *b);
      return Done{};
    case MbarrierAction::kExpectTx:
      expect(e, o, group, *b);
      return Done{};
    case MbarrierAction::kAsyncArrive:
      arrive_asynchronously(e, group, at, *b);
      return Done{};
    case MbarrierAction::kArriveExpectTx:
      expect(e, o, group, *b);
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

// Whether an mbarrier is initialised over another one that nobody has used, by the same warp, one of the two in a loop,
// and after something was decided that is not known: rather a number of stages that is too large for the room of its
// mbarriers than a fault.
bool MbarrierOperations::overlaps(const Execution& e, const Mbarrier& before) const {
  if (!before.untouched() || before.initialised.warp != e.warp.index || state_.decisions.ways.empty()) return false;
  const std::vector<kernel::Block>& blocks = scene_.kernel.graph.blocks;
  return std::any_of(blocks.begin(), blocks.end(), [&](const kernel::Block& b) {
    const auto has = [&](uint32_t i) { return i >= b.first && i < b.last; };
    return b.loop != kNone && (has(before.init) || has(e.instruction()));
  });
}

Outcome MbarrierOperations::init(Execution& e, const Operands& o, uint32_t group, uint32_t address) {
  const auto count = decisions_.number(e.machine, o.count, group & (~group + 1), 32);
  if (!count || *count == 0)
    return Unknown{e.instruction(), "the count that the mbarrier is initialised with is not known"};
  const Mbarrier* before = state_.mbarriers.find_any(address);
  if (before != nullptr && before->live && before->init != e.instruction() && ends_by_overrun(scene_, e.warp))
    return Done{};
  Mbarrier b;
  if (before != nullptr) {
    if (before->live && overlaps(e, *before)) {
      scene_.terms.uses().count(assumptions::Id::kMbarriersThatOverlap);
      if (!scene_.policy.usual()) return Unknown{e.instruction(), ""};
      return Unknown{e.instruction(),
                     "in the usual scenario two mbarriers overlap here: a number that it picks may be too large"};
    }
    if (before->live) {
      const Site other{before->init, scene_.warp(before->initialised.warp).id};
      scene_.log.add(MbarrierMisuse{MbarrierMisuse::Kind::kInitAgain, e.site(), other});
      b.earlier = std::make_shared<const EarlierLife>(EarlierLife{before->phase, before->done});
      state_.changes.phases.push_back(address);
    }
    b.phase = b.first = b.seen = (before->phase + 2) & ~1u;
  }
  b.live = true;
  b.count = static_cast<uint32_t>(*count);
  b.pending = b.count;
  b.init = e.instruction();
  b.initialised = e.event();
  b.init_lanes = group;
  if (scene_.ranks > 1) state_.unreleased.push_back(address);
  b.arriving = Knowledge(state_.warps.size());
  b.done = Knowledge(state_.warps.size());
  state_.mbarriers.init(address, std::move(b));
  state_.changes.init = true;
  scene_.log.add_line(e.warp.id, e.instruction(), [&] { return "count " + std::to_string(*count); });
  return Done{};
}

// Whoever invalidates an mbarrier knows that all arrivals have come, and that nobody waits for a phase any more.
void MbarrierOperations::invalidate(const Execution& e, uint32_t address, Mbarrier& b) {
  const Clock& known = e.warp.knowledge.any();
  const auto add = [&](const Site& other) {
    scene_.log.add(MbarrierMisuse{MbarrierMisuse::Kind::kInvalInUse, e.site(), other});
  };
  scene_.log.count_decided();
  for (const AsyncArrival& a : state_.under_way) {
    if (a.kind == AsyncArrival::Kind::kCommit && known.knows_commit(a.commit)) continue;
    if (std::find(a.targets.begin(), a.targets.end(), address) != a.targets.end()) add(a.site);
  }
  for (const PhaseWait& w : b.seen_by) {
    if (!e.warp.knowledge.knows(w.event.warp, w.event.event)) add(w.site);
  }
  if (b.phase != b.first && b.seen_by.empty() && !b.knows_last_phase(known)) add(b.last_arrive);
  if (!b.current.arrivals_are_known(known)) add(b.last_arrive);
  for (const WarpState& w : state_.warps) {
    const auto* waits = w.wait ? std::get_if<WaitForPhase>(&*w.wait) : nullptr;
    if (waits != nullptr && waits->address == address) add({scene_.instruction_of(w.step), w.id});
  }
  b.live = false;
  b.invalidated = e.site();
}

// An announcement by several lanes is one by each.
void MbarrierOperations::expect(const Execution& e, const Operands& o, uint32_t group, Mbarrier& b) {
  std::optional<uint64_t> bytes;
  const Value each = scene_.terms.lane(o.count, static_cast<unsigned>(std::countr_zero(group)));
  if (o.has_count && each.base == 0) bytes = each.number * static_cast<uint64_t>(std::popcount(group));
  b.expect(e.site(), bytes);
}

void MbarrierOperations::arrive_asynchronously(Execution& e, uint32_t group, uint32_t address, Mbarrier& b) {
  scene_.footprints.arrivals[e.instruction()].insert(address);
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
  if (rounds_are_guessed(scene_)) return;
  Arrival seen;
  seen.arrival = e.site();
  seen.barrier_rank = rank_of(address);
  seen.init = b.init;
  seen.count = b.count;
  seen.knows_last_round = b.previous.arrivals_are_known(e.warp.knowledge.any());
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
  if (rank_of(address) != e.warp.id.rank) release_inits_by_arrival(scene_, e);
  scene_.footprints.arrivals[e.instruction()].insert(address);
  // Each lane is given the state of the barrier that it arrived on.
  write_result(e, o, Value::of(b.phase & 1), group);
  if (e.meaning.relaxed) b.relaxed_arrive = e.instruction();
  check_round(e, b, address, count);
  b.current.arrivals.push_back(e.event());
  e.warp.knowledge.lanes().arrive(e.warp.knowledge.now(), group, e.instruction());
  if (e.meaning.mbarrier == MbarrierAction::kArriveDrop) b.count -= count;
  if (b.arrive(count, e.warp.knowledge.hand_on(e.meaning.relaxed), e.site())) finish_phases(scene_, address, b);
  return Done{};
}

}  // namespace tmemlint::cluster
