#include <algorithm>
#include <bit>

#include "analyzer/assumptions/assumptions.h"
#include "analyzer/cluster/barrier_operations.h"
#include "analyzer/cluster/mbarrier_life.h"
#include "analyzer/cluster/operand_order.h"
#include "analyzer/cluster/remote.h"

namespace tmemlint::cluster {

using program::Arg;

namespace {

// Proxy fences of a warp that an operand may rely on: the last ones.
constexpr size_t kMostProxyFences = assumptions::kProxyFences;

}  // namespace

// The mbarriers that a copy completes on: that of one CTA, or those of the CTAs that a multicast names.
std::vector<uint32_t> CopyOperations::targets_of(Execution& e, uint32_t target, uint32_t barrier_operand) {
  if (!e.meaning.copy.multicast) return {target};
  uint32_t mask = (1u << scene_.ranks) - 1;
  if (!e.meaning.copy.to_all) {
    for (uint32_t k = barrier_operand + 1; k < e.step.argument_count; ++k) {
      const Arg& candidate = *scene_.arg(e.step, k);
      if (candidate.kind != Arg::Kind::kRegister && candidate.kind != Arg::Kind::kNumber) continue;
      if (const auto value = decisions_.number(e.machine, e.machine.read(candidate), e.lanes, 16))
        mask = static_cast<uint32_t>(*value);
      break;
    }
  }
  return in_ranks(target, mask, scene_.ranks);
}

// How many bytes a copy brings to each of its mbarriers, where that is known.
std::optional<uint64_t> CopyOperations::size_of(Execution& e) const {
  if (!std::has_single_bit(e.lanes)) return std::nullopt;  // each lane copies
  if (e.meaning.copy.bytes != 0) return e.meaning.copy.bytes;
  if (!e.meaning.copy.sized) return std::nullopt;
  // Behind the two addresses.
  const Arg* size = scene_.arg(e.step, scene_.addresses_of(e.step).first + 2);
  if (size == nullptr || size->address || (size->kind != Arg::Kind::kRegister && size->kind != Arg::Kind::kNumber))
    return std::nullopt;
  const value::Value v = scene_.terms.lane(e.machine.read(*size), static_cast<unsigned>(std::countr_zero(e.lanes)));
  if (v.base != 0) return std::nullopt;
  return value::truncate(v.number, 32);
}

// A copy writes operands of its CTA, and with a multicast of others. Where its size is not known, its first bytes stand
// for the rest.
void CopyOperations::note_written(const Execution& e, AsyncArrival& a) {
  // More than all shared memory of a CTA is a number that means nothing.
  const uint64_t most = in_rank(UINT32_MAX, 0);
  const auto bytes = static_cast<uint32_t>(std::clamp<uint64_t>(a.size.value_or(0), LastStores::kBytes, most));
  for (uint32_t t : a.targets) {
    OperandCopy copy;
    copy.site = a.site;
    copy.begin = a.targets.size() > 1 ? in_rank(a.written, rank_of(t)) : a.written;
    // A phase that waits for what several CTAs copy may be over too early here.
    copy.traced = rank_of(t) == e.warp.id.rank && rank_of(copy.begin) == e.warp.id.rank;
    overwrite_operands(scene_, {e.warp, e.instruction(), true}, copy.begin, copy.begin + bytes);
    const uint32_t begin = copy.begin;
    const uint32_t number = state_.copies.add(std::move(copy));
    a.brings.push_back(number);
    state_.stored.set(begin, bytes, LastStore::by_copy(e.event(), e.instruction(), number));
    if (a.size) continue;
    std::vector<uint32_t> events;
    events.reserve(state_.warps.size());
    for (const WarpState& w : state_.warps) events.push_back(w.knowledge.now());
    state_.copies.note_unsized(begin, std::move(events));
  }
}

// --- cp.async: groups of a thread (ISA 9.7.9.25.3) ---

void CopyOperations::copy_in_group(Execution& e) {
  WarpState& w = e.warp;
  // Lanes that do not do the same have groups of their own: what is not told apart here is not followed.
  const auto lose = [&](auto&& which) {
    std::erase_if(w.copies, [&](const PendingCopy& p) {
      if (!which(p)) return false;
      state_.copies[p.copy].traced = false;
      return true;
    });
  };
  const auto of_other_lanes = [&](const PendingCopy& p) { return (p.lanes & ~e.lanes) != 0; };
  const auto wait_for = [&](auto&& which) {
    lose(of_other_lanes);
    std::erase_if(w.copies, [&](const PendingCopy& p) {
      if (!which(p)) return false;
      state_.copies.observe(p.copy, {w.index, w.knowledge.now()});
      return true;
    });
  };
  w.knowledge.tick();
  switch (e.meaning.copy.group) {
    case program::Copy::Group::kNone:
      return;
    case program::Copy::Group::kMember:
      take_in(e, e.machine.shared_address(*scene_.arg(e.step, 0)));
      return;
    case program::Copy::Group::kCommit:
      lose(of_other_lanes);
      w.copy_is_open = false;
      for (PendingCopy& p : w.copies) {
        if (p.group == kNone) p.group = w.copy_groups;
      }
      ++w.copy_groups;
      return;
    case program::Copy::Group::kWaitAll:
      w.copy_is_open = false;
      wait_for([](const PendingCopy&) { return true; });
      return;
    case program::Copy::Group::kWait: {
      const Arg* arg = scene_.arg(e.step, 0);
      const auto most = arg == nullptr ? std::nullopt : decisions_.number(e.machine, e.machine.read(*arg), e.lanes, 32);
      if (!most) return lose([](const PendingCopy&) { return true; });
      wait_for([&](const PendingCopy& p) { return p.group != kNone && p.group + *most < w.copy_groups; });
      return;
    }
  }
}

// cp.async of one instruction: 16 bytes or less in each lane.
void CopyOperations::take_in(Execution& e, const value::Value& to) {
  WarpState& w = e.warp;
  if (!to.known()) return;
  const bool goes_on = w.copy_is_open && w.copies.back().lanes == e.lanes;
  if (!goes_on) {
    OperandCopy copy;
    copy.site = e.site();
    copy.begin = static_cast<uint32_t>(scene_.terms.number_in(to, static_cast<unsigned>(std::countr_zero(e.lanes))));
    w.copies.push_back({state_.copies.add(std::move(copy)), e.lanes, kNone});
    w.copy_is_open = true;
  }
  const uint32_t number = w.copies.back().copy;
  const LastStore last = LastStore::by_copy(e.event(), e.instruction(), number);
  for (uint32_t rest = e.lanes; rest != 0; rest &= rest - 1) {
    const auto at = static_cast<uint32_t>(scene_.terms.number_in(to, static_cast<unsigned>(std::countr_zero(rest))));
    overwrite_operands(scene_, {w, e.instruction(), true}, at, at + 1);
    state_.stored.set(at, 1, last);
  }
}

Outcome CopyOperations::copy(Execution& e) {
  if (e.meaning.copy.group != program::Copy::Group::kNone) {
    copy_in_group(e);
    return Done{};
  }
  const auto [first, last] = scene_.addresses_of(e.step);
  if (!e.meaning.copy.on_mbarrier || first == last) return Done{};
  e.warp.knowledge.tick();
  const auto target = decisions_.number(e.machine, e.machine.shared_address(*scene_.arg(e.step, last)), e.lanes, 32,
                                        Decisions::Pick::kParameters);
  if (!target) return Unknown{e.instruction(), "the mbarrier that this copy completes on is not known"};
  const auto written = decisions_.number(e.machine, e.machine.shared_address(*scene_.arg(e.step, first)), e.lanes, 32);
  AsyncArrival a;
  a.kind = AsyncArrival::Kind::kCopy;
  a.warp = e.warp.index;
  a.site = e.site();
  a.targets = targets_of(e, static_cast<uint32_t>(*target), last);
  a.knowledge = e.warp.knowledge.hand_on();
  a.bytes = e.meaning.copy.bytes;
  a.size = size_of(e);
  if (written) a.written = static_cast<uint32_t>(*written);
  if (written && !e.meaning.copy.launch_control) note_written(e, a);
  for (uint32_t t : a.targets) {
    const auto reached = reach(scene_, e, t);
    if (const auto* unknown = std::get_if<Unknown>(&reached)) return *unknown;
    const uint32_t signal = std::get<uint32_t>(reached);
    a.signals.push_back(signal);
    if (signal != kNone) state_.signals[signal].is_copy = true;
    if (Mbarrier* b = state_.mbarriers.find(t)) {
      if (rank_of(t) == e.warp.id.rank) check_init(scene_, e, *b);
      ++b->under_way;
      b->from_afar = b->from_afar || rank_of(t) != e.warp.id.rank;
      b->multicast = b->multicast || e.meaning.copy.multicast;
    }
  }
  scene_.log.add_line(e.warp.id, e.instruction());
  state_.under_way.push_back(std::move(a));
  return Done{};
}

Outcome CopyOperations::proxy_fence(Execution& e) {
  if (!e.meaning.fences_shared) return Done{};
  e.warp.knowledge.tick();
  e.warp.proxy_fences.push_back(
      {e.warp.knowledge.now(), e.warp.knowledge.any(), e.lanes, e.warp.knowledge.lanes().joined()});
  if (e.warp.proxy_fences.size() > kMostProxyFences) {
    if (e.warp.forgotten_fence == 0) e.warp.forgotten_fence = e.warp.proxy_fences.front().event;
    e.warp.proxy_fences.pop_front();
  }
  return Done{};
}

// --- arrivals ---

void CopyOperations::write_copied(const AsyncArrival& a) {
  if (a.bytes == 0 || a.kind != AsyncArrival::Kind::kCopy) return;
  const uint64_t serial = ++state_.serial;
  for (uint32_t t : a.targets) {
    const uint32_t begin = a.targets.size() > 1 ? in_rank(a.written, rank_of(t)) : a.written;
    state_.words.put_copied(begin, begin + a.bytes, serial);
  }
}

// A copy is complete, in the current phase of its mbarrier. One that was not announced may be of another phase.
void CopyOperations::bring(uint32_t copy, Mbarrier& b) {
  if (b.expects) {
    b.brings.push_back(copy);
  } else {
    state_.copies[copy].traced = false;
  }
}

void CopyOperations::arrive(const AsyncArrival& a, size_t target, Mbarrier& b) {
  const auto settled = [&](bool over) {
    if (over) finish_phases(scene_, a.targets[target], b);
  };
  switch (a.kind) {
    case AsyncArrival::Kind::kCopy:
      if (b.under_way > 0) --b.under_way;
      b.copied = true;
      b.current.copies = true;
      b.bytes.known = b.bytes.known && a.size;
      b.bytes.brought += a.size.value_or(0);
      // Who issued it had reached its instruction: whoever sees it complete knows what that warp knew.
      b.arriving.join(a.knowledge);
      if (target < a.brings.size()) bring(a.brings[target], b);
      settled(b.settle());
      return;
    case AsyncArrival::Kind::kArrive: {
      b.brings.insert(b.brings.end(), a.brings.begin(), a.brings.end());
      Arrival seen;
      seen.arrival = a.site;
      seen.barrier_rank = rank_of(a.targets[target]);
      seen.init = b.init;
      seen.count = b.count;
      seen.knows_last_round = b.previous.arrivals_are_known(a.knowledge.any);
      if (!seen.knows_last_round) scene_.log.add(seen);
      b.current.arrivals.push_back({a.warp, a.knowledge.any.event(a.warp)});
      break;
    }
    case AsyncArrival::Kind::kCommit:
      b.current.commits.push_back(a.commit);
      break;
  }
  settled(b.arrive(a.count, a.knowledge, a.site));
}

bool CopyOperations::deliver() {
  if (state_.under_way.empty()) return false;
  const AsyncArrival a = std::move(state_.under_way.front());
  state_.under_way.pop_front();
  ++state_.progress;
  write_copied(a);
  for (size_t n = 0; n < a.targets.size(); ++n) {
    Mbarrier* b = state_.mbarriers.find(a.targets[n]);
    if (b == nullptr) continue;
    if (n < a.signals.size() && a.signals[n] != kNone) b->copied_from_afar.push_back(a.signals[n]);
    arrive(a, n, *b);
  }
  return true;
}

}  // namespace tmemlint::cluster
