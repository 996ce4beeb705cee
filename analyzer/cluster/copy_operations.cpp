#include <algorithm>
#include <bit>

#include "analyzer/assumptions/assumptions.h"
#include "analyzer/cluster/barrier_operations.h"
#include "analyzer/cluster/mbarrier_life.h"
#include "analyzer/cluster/remote.h"

namespace tmemlint::cluster {

using program::Arg;

namespace {

// Bytes that a copy is taken to overwrite at most, where its size is in a tensor map.
constexpr uint32_t kMostCopied = assumptions::kBytesACopyOverwrites;
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

Outcome CopyOperations::copy(Execution& e) {
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
  // The asynchronous proxy writes these bytes: what ordinary stores left there is gone.
  if (written && !e.meaning.copy.launch_control) {
    state_.stored.erase(a.written, kMostCopied);
    scene_.terms.uses().count(assumptions::Id::kBytesACopyOverwrites);
  }
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
  e.warp.proxy_fences.push_back({e.warp.knowledge.now(), e.warp.knowledge.any()});
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
      settled(b.settle());
      return;
    case AsyncArrival::Kind::kArrive: {
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
