#include "analyzer/cluster/ending.h"

#include "analyzer/assumptions/assumptions.h"

#include <algorithm>
#include <map>

namespace tmemlint::cluster {

namespace {

WaitKind kind_of(const Wait& wait) {
  struct Visitor {
    WaitKind operator()(const WaitForPhase&) const { return WaitKind::kMbarrier; }
    WaitKind operator()(const WaitForInit&) const { return WaitKind::kMbarrierInit; }
    WaitKind operator()(const WaitForNamedBarrier&) const { return WaitKind::kNamedBarrier; }
    WaitKind operator()(const WaitForClusterBarrier&) const { return WaitKind::kClusterBarrier; }
    WaitKind operator()(const WaitForColumns&) const { return WaitKind::kColumns; }
    WaitKind operator()(const WaitForWord&) const { return WaitKind::kPolledWord; }
    WaitKind operator()(const WaitForLanes&) const { return WaitKind::kPolledWord; }
  };
  return std::visit(Visitor{}, wait);
}

uint32_t address_of(const Wait& wait) {
  const auto* phase = std::get_if<WaitForPhase>(&wait);
  return phase == nullptr ? 0 : phase->address;
}

// How much an mbarrier that a warp waits for says about the cause of a hang. Most: two rounds are over since the last
// one that was waited for. Less: a part of its arrivals came, or all but its bytes. Least: none came, which may only be
// a consequence of the hang, since those who would arrive hang elsewhere.
int says(const Mbarrier& b) {
  return b.phase > b.seen + 1 ? 2 : b.pending < int64_t{b.count} ? 1 : 0;
}

}  // namespace

void ScenarioEnding::note_hang() {
  for (const WarpState& w : state_.warps) {
    const auto* columns = w.wait ? std::get_if<WaitForColumns>(&*w.wait) : nullptr;
    if (columns == nullptr) continue;
    scene_.log.add(
        BlockedAlloc{{scene_.instruction_of(w.step), w.id}, columns->asked, columns->live, columns->capacity});
    return;
  }
  Hang hang;
  std::vector<uint32_t> addresses;  // of mbarriers, by blocked
  const auto add = [&](const WarpState& w, uint32_t step, const Wait& wait) {
    // Lanes that wait for others of their own warp: what those others wait for is the cause.
    if (std::holds_alternative<WaitForLanes>(wait)) return;
    hang.blocked.push_back({{scene_.instruction_of(step), w.id}, kind_of(wait)});
    addresses.push_back(address_of(wait));
  };
  for (const WarpState& w : state_.warps) {
    if (w.over || !w.wait) continue;
    add(w, w.step, *w.wait);
    for (const LaneGroup& g : w.groups) {
      if (g.parked) add(w, g.parked->step, g.parked->wait);
    }
  }
  note_hang_of(std::move(hang), addresses);
}

void ScenarioEnding::note_hang_of(Hang hang, const std::vector<uint32_t>& addresses) {
  int most = -1;
  for (size_t n = 0; n < hang.blocked.size(); ++n) {
    if (hang.blocked[n].kind != WaitKind::kMbarrier) continue;
    const Mbarrier* b = state_.mbarriers.find(addresses[n]);
    if (b == nullptr) continue;
    LackingBarrier lacking;
    lacking.waiter = n;
    lacking.address = addresses[n];
    lacking.init = b->init;
    lacking.count = b->count;
    lacking.arrivals = int64_t{b->count} - b->pending;
    lacking.all_arrived = b->pending <= 0;
    lacking.overtaken = b->phase > b->seen + 1;
    lacking.multicast = b->multicast;
    lacking.announced = b->announced.instruction;
    lacking.last_arrival = b->last_arrive.instruction;
    hang.lacking.push_back(lacking);
    if (says(*b) <= most) continue;
    most = says(*b);
    static_cast<LackingBarrier&>(hang) = lacking;
  }
  hang.has_barrier = !hang.lacking.empty();
  const DecisionState& decisions = state_.decisions;
  const kernel::Launch& launch = scene_.launch;
  hang.guessed_data = decisions.guessed_data;
  hang.policy_may_cause_it = !scene_.policy.flipped.empty() || scene_.policy.toward ||
                             scene_.policy.gives_up != UINT32_MAX || (scene_.policy.selection && decisions.differs) ||
                             (decisions.chose_trips && scene_.policy.trips < Policy{}.trips);
  hang.ctas = scene_.ranks;
  hang.cluster_is_guess = launch.cluster_is_guess();
  hang.block_is_guess = launch.block_is_guess();
  scene_.log.add(std::move(hang));
}

void ScenarioEnding::note_end(bool complete) {
  note_unwritten_reads();
  note_allocs_beside();
  note_arrivals();
  if (!complete) return;
  note_bytes();
  note_in_flight();
  note_late_reaches();
  note_allocations();
  note_one_sided_pairs();
}

void ScenarioEnding::note_unwritten_reads() {
  // This scenario never enters some loop that writes Tensor Memory.
  const std::vector<std::vector<uint32_t>>& loops = scene_.facts.branches.loop_writers();
  const bool loop_never_ran = std::any_of(loops.begin(), loops.end(), [&](const std::vector<uint32_t>& writers) {
    return !state_.tensor_memory.has_written(writers);
  });
  state_.tensor_memory.each_unwritten([&](const TensorMemory::UnwrittenAccess& u, const Operation& read) {
    const auto& ways = state_.decisions.ways;
    const bool may_be_written_by_loop =
        loop_never_ran ||
        std::any_of(ways.begin(), ways.begin() + static_cast<ptrdiff_t>(u.decided.ways),
                    [&](const auto& way) { return scene_.facts.branches.runs_no_time(way.block, way.way); });
    UnwrittenRead out;
    out.access = {read.instruction, read.id};
    out.alloc = u.alloc;
    out.column = u.offset;
    out.columns = u.columns;
    out.loop_never_ran = u.decided.zero_trips || (may_be_written_by_loop && !read.by_commit());
    if (out.loop_never_ran) scene_.terms.uses().count(assumptions::Id::kExcusedRead);
    // An mma that accumulates writes its columns itself: only a loop that was let run no time excuses it.
    scene_.log.add(out);
  });
}

// Adds to accesses of what nobody had allocated the alloc that only happened to come later.
void ScenarioEnding::note_allocs_beside() {
  for (const TensorMemory::EarlyAccess& e : state_.tensor_memory.early()) {
    if (e.alloc == kNoAllocation) continue;
    for (Observed& o : scene_.log.observed()) {
      auto* stray = std::get_if<StrayAccess>(&o.what);
      if (stray == nullptr || stray->any_live || stray->access != e.site) continue;
      stray->alloc_beside = state_.tensor_memory.allocation(e.alloc).alloc;
    }
  }
}

// Adds to the arrivals what is known only in the end: whether anybody waits on the mbarrier (one that nobody waits on
// has no rounds), and whether the CTA that arrives waits for copies of other CTAs. How many bytes a copy brings is not
// known, so that a round seems to be over when the copies of the own CTA are there; a CTA that really waits for other
// CTAs' copies arrives later than it seems.
void ScenarioEnding::note_arrivals() {
  std::set<uint32_t> waited_for;  // inits
  std::set<uint32_t> ranks_that_wait_for_copies;
  for (const auto& [address, b] : state_.mbarriers.all()) {
    if (b.seen == b.first) continue;
    waited_for.insert(b.init);
    if (b.from_afar) ranks_that_wait_for_copies.insert(rank_of(address));
  }
  for (Observed& o : scene_.log.observed()) {
    auto* arrival = std::get_if<Arrival>(&o.what);
    if (arrival == nullptr) continue;
    arrival->barrier_is_waited_for = waited_for.contains(arrival->init);
    arrival->own_cta_waits_for_copies_from_afar = ranks_that_wait_for_copies.contains(arrival->arrival.warp.rank);
  }
}

// Where phases are over is not exact while copies are under way: only bytes that are missing, or too many, over all
// phases tell that some phase has the wrong number.
void ScenarioEnding::note_bytes() {
  const kernel::Launch& launch = scene_.launch;
  for (const auto& [address, b] : state_.mbarriers.all()) {
    scene_.log.count_decided();
    const bool others_may_copy = launch.cluster_is_guess() && (scene_.ranks > 1 || b.multicast);
    const int64_t surplus = b.surplus + b.bytes.surplus();
    if (!b.bytes.known || surplus == 0 || others_may_copy) continue;
    const bool in_last = b.odd_announced.instruction == kNone;
    const TransactionBytes& odd = in_last ? b.bytes : b.odd;
    const Site& announced = in_last ? b.announced : b.odd_announced;
    if (announced.instruction != kNone) scene_.log.add(BytesDiffer{announced, odd.announced, odd.brought});
  }
}

void ScenarioEnding::note_in_flight() {
  Clock all(state_.warps.size());
  for (const WarpState& w : state_.warps) all.join(w.knowledge.any());
  for (const Operation& op : state_.tensor_memory.operations()) {
    if (!op.by_commit()) continue;
    scene_.log.count_decided();
    if (!op.complete(all)) scene_.log.add(OperationInFlight{{op.instruction, op.id}, scene_.warp(op.warp).last_exit});
  }
}

void ScenarioEnding::note_late_reaches() {
  std::vector<Clock> by_rank(scene_.ranks, Clock(state_.warps.size()));
  std::vector<uint32_t> last_exit(scene_.ranks, kNone);
  for (const WarpState& w : state_.warps) {
    by_rank[w.id.rank].join(w.knowledge.any());
    if (w.last_exit != kNone) last_exit[w.id.rank] = w.last_exit;
  }
  for (const RemoteSignal& s : state_.signals) {
    scene_.log.count_decided();
    // A copy whose mbarrier was waited for is over. One whose mbarrier nobody waits on is not judged.
    if (s.is_copy && (s.observed || !state_.waited.contains(s.target))) continue;
    const Clock& target = by_rank[s.rank];
    const bool seen =
        s.commit.number != 0 ? target.knows_commit(s.commit) : target.knows(s.issued.warp, s.issued.event);
    if (!seen) scene_.log.add(LateReach{s.site, s.rank, last_exit[s.rank]});
  }
}

// What one CTA of a pair executed more often than the other one: the first time that its peer did not.
void ScenarioEnding::note_one_sided_pairs() {
  using Steps = RunState::PairedSteps;
  for (uint32_t rank = 0; rank + 1 < scene_.ranks; rank += 2) {
    const Steps& even = state_.paired_steps[rank];
    const Steps& odd = state_.paired_steps[rank + 1];
    for (const auto which : {&Steps::allocs, &Steps::frees, &Steps::relinquishes}) {
      const std::vector<Site>& a = even.*which;
      const std::vector<Site>& b = odd.*which;
      if (!a.empty() || !b.empty()) scene_.log.count_decided();
      if (a.size() == b.size()) continue;
      const bool peer_is_odd = a.size() > b.size();
      const Site& first = peer_is_odd ? a[b.size()] : b[a.size()];
      const uint32_t peer = rank + (peer_is_odd ? 1 : 0);
      scene_.log.add(
          OneSidedPair{first, peer, state_.tensor_memory.last_alloc(peer), scene_.launch.cluster_is_guess()});
      break;  // what follows an alloc is executed where the alloc is
    }
  }
}

void ScenarioEnding::note_allocations() {
  const std::vector<Allocation>& all = state_.tensor_memory.allocations();
  for (const Allocation& a : all) {
    if (a.live) scene_.log.add(LeftAllocated{a.alloc});
  }
  for (uint32_t rank = 0; rank < scene_.ranks; ++rank) {
    if (state_.relinquished.contains(rank)) continue;
    const auto first = std::find_if(all.begin(), all.end(), [&](const Allocation& a) { return a.rank == rank; });
    if (first != all.end()) scene_.log.add(PermitKept{first->alloc});
  }
}

}  // namespace tmemlint::cluster
