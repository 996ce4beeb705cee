#include <algorithm>
#include <bit>

#include "analyzer/cluster/barrier_operations.h"
#include "analyzer/cluster/mbarrier_life.h"
#include "analyzer/value/unknowns.h"

namespace tmemlint::cluster {

using program::Arg;
using program::BarrierAction;

// --- bar, barrier ---

// The barrier's number and for how many threads it is; 0: for all.
std::optional<std::pair<uint32_t, uint32_t>> BarrierOperations::id_and_count(Execution& e, Outcome* open) {
  const unsigned first = e.step.destinations;
  const Arg* id_arg = scene_.arg(e.step, first);
  const Arg* count_arg = scene_.arg(e.step, first + 1);
  // Of bar.red the operand behind the number is the predicate, unless there are more.
  if (e.meaning.barrier == BarrierAction::kReduce && e.step.argument_count <= first + 2u) count_arg = nullptr;
  const auto number = [&](const Arg* arg) -> std::optional<uint64_t> {
    if (arg == nullptr) return 0;
    return decisions_.number(e.machine, e.machine.read(*arg), e.lanes, 32);
  };
  const auto id = number(id_arg);
  const auto count = number(count_arg);
  if (id && count) return std::pair{static_cast<uint32_t>(*id), static_cast<uint32_t>(*count)};
  *open = Unknown{e.instruction(),
                  !id ? "which barrier this is is not known" : "for how many threads the barrier is is not known"};
  return std::nullopt;
}

void BarrierOperations::complete_named(uint32_t rank, uint32_t id) {
  NamedBarrier& b = state_.named.at(rank, id);
  const uint32_t expected = b.expected != 0 ? b.expected : scene_.threads_left(rank);
  if (b.arrived < expected || b.arrived == 0) return;
  b.arrived -= expected;
  ++b.generation;
  // Warps that have exited count as arrived: the barrier is complete only after they left.
  for (uint32_t k = 0; b.expected == 0 && k < scene_.warps_per_cta; ++k) {
    const WarpState& w = scene_.warp(rank * scene_.warps_per_cta + k);
    if (w.over) b.arriving.join(w.knowledge.levels());
  }
  b.done = b.arriving;
  if (b.arrived == 0) b.arriving = Knowledge(state_.warps.size());
  b.expected = 0;
  state_.changes.named = true;
}

void BarrierOperations::write_reduction(Execution& e, uint32_t id, uint32_t generation) {
  const uint64_t part = (uint64_t{e.warp.id.rank} << 56) | (uint64_t{id} << 40) | generation;
  for (unsigned d = 0; d < e.step.destinations; ++d) {
    const Arg& a = *scene_.arg(e.step, d);
    const value::Value result =
        scene_.terms.opaque(value::site_of(value::UnknownKind::kRunReduced), (part << 4) ^ state_.serial << 20,
                            value::Uniformity::kCta, 0, a.width);
    e.machine.write(a, result, e.lanes, e.number);
  }
}

Outcome BarrierOperations::named(Execution& e) {
  if (e.meaning.barrier == BarrierAction::kWarp) return Done{};
  Outcome open;
  const auto barrier = id_and_count(e, &open);
  if (!barrier) return open;
  const auto [id, count] = *barrier;
  e.warp.knowledge.tick();
  const uint32_t rank = e.warp.id.rank;
  NamedBarrier& b = state_.named.at(rank, id);
  if (count != 0) b.expected = count;
  b.arrived += e.meaning.aligned ? value::kLanes : static_cast<uint32_t>(std::popcount(e.lanes));
  if (b.arriving.any.size() == 0) b.arriving = Knowledge(state_.warps.size());
  b.arriving.join(e.warp.knowledge.hand_on());
  e.warp.knowledge.lanes().arrive(e.warp.knowledge.now(), e.lanes, e.instruction());
  state_.tensor_memory.note_arrival(e.warp, e.instruction());
  scene_.log.add_line(e.warp.id, e.instruction(), [&, id = id] { return "barrier " + std::to_string(id); });
  scene_.log.count_decided();
  const uint32_t generation = b.generation;
  if (e.meaning.barrier == BarrierAction::kReduce) write_reduction(e, id, generation);
  complete_named(rank, id);
  if (e.meaning.barrier == BarrierAction::kArrive) return Done{};
  return WaitForNamedBarrier{id, generation};
}

// --- barrier.cluster ---

void BarrierOperations::complete_cluster() {
  ClusterBarrier& b = state_.cluster;
  bool any = false;
  for (const WarpState& w : state_.warps) {
    if (!w.over && w.cluster_phase <= b.phase) return;
    any = any || w.cluster_phase > b.phase;
  }
  if (!any) return;
  ++b.phase;
  for (const WarpState& w : state_.warps) {
    if (w.over) b.arriving.join(w.knowledge.levels());
  }
  b.done = b.arriving;
  state_.changes.cluster = true;
}

Outcome BarrierOperations::cluster(Execution& e) {
  ClusterBarrier& b = state_.cluster;
  WarpState& w = e.warp;
  switch (e.meaning.cluster_barrier) {
    case program::ClusterBarrier::kArrive:
      w.knowledge.tick();
      if (b.arriving.any.size() == 0) b.arriving = Knowledge(state_.warps.size());
      w.cluster_arrived |= e.lanes;
      w.knowledge.lanes().arrive(w.knowledge.now(), e.lanes, e.instruction());
      if (e.meaning.relaxed) b.relaxed_arrive = e.instruction();
      b.arriving.join(w.knowledge.hand_on(e.meaning.relaxed));
      release_inits_by_arrival(scene_, e);
      state_.tensor_memory.note_arrival(w, e.instruction());
      scene_.log.add_line(w.id, e.instruction());
      if ((w.cluster_arrived | w.exited) == e.machine.existing()) {
        w.cluster_arrived = 0;
        ++w.cluster_phase;
        complete_cluster();
      }
      return Done{};
    case program::ClusterBarrier::kWait:
      scene_.log.count_decided();
      if (b.phase < w.cluster_phase) return WaitForClusterBarrier{};
      if (b.phase != 0) {
        w.knowledge.learn(b.done);
        if (b.relaxed_arrive != kNone) w.last_relaxed_wait = b.relaxed_arrive;
      }
      return Done{};
  }
  return Done{};
}

void BarrierOperations::note_exit(const WarpState& w) {
  for (auto& [key, b] : state_.named.all()) {
    if (key.first == w.id.rank && b.expected == 0 && b.arrived != 0) complete_named(key.first, key.second);
  }
  complete_cluster();
}

}  // namespace tmemlint::cluster
