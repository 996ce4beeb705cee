// The state of one warp in a joint run: where its lanes are, what it waits for, and what it knows of the other warps.
//
// It is a value: a copy goes on from the same place as the original. Nothing here knows of barriers, memory or the
// scheduler; the parts of a run (shared_words.h, barriers.h, tensor_memory.h) do not know of each other either.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "analyzer/cluster/clock.h"
#include "analyzer/cluster/lane_order.h"
#include "analyzer/cluster/observations.h"
#include "analyzer/program/program.h"
#include "analyzer/value/value.h"
#include "analyzer/warp/lanes.h"
#include "analyzer/warp/memory.h"

namespace tmemlint::cluster {

// What a warp knows of the events of all warps of the cluster, and what it hands on to them. Synchronisation orders
// memory accesses; tcgen05 operations are ordered by it too, but for relaxed arrives and waits, which need the tcgen05
// fences beside them (ISA 9.7.16.6.4). The strict level is what would be known if every synchronisation needed them.
class WarpKnowledge {
public:
  WarpKnowledge() = default;
  // `self`: the index of the warp among all `warps` of the cluster.
  WarpKnowledge(uint32_t self, size_t warps) : self_(self), known_(warps), before_fence_(warps), after_fence_(warps) {}

  // Another event of this warp has happened.
  void tick() { known_.tick(self_); }
  uint32_t now() const { return known_.any.event(self_); }

  // The warp has waited for what others handed on. A relaxed wait gives the fenced level to the next fence only.
  void learn(const Knowledge& from, bool relaxed = false) {
    lanes_.learn(from.any.event(self_), now());
    known_.any.join(from.any);
    (relaxed ? after_fence_ : known_).fenced.join(from.fenced);
    after_fence_.strict.join(from.strict);
  }
  // What others learn that wait for an arrival of this warp. A relaxed arrival hands on what the last fence has seen.
  Knowledge hand_on(bool relaxed = false) const {
    Knowledge out = known_;
    out.strict = before_fence_.strict;
    if (relaxed) out.fenced = before_fence_.fenced;
    return out;
  }
  // A commit hands on everything: it implies tcgen05.fence::before_thread_sync (ISA 9.7.16.6.4.1).
  const Knowledge& hand_on_by_commit() const { return known_; }

  void fence_before_sync() {
    before_fence_.fenced = known_.fenced;
    before_fence_.strict = known_.strict;
  }
  void fence_after_sync() {
    known_.fenced.join(after_fence_.fenced);
    known_.strict.join(after_fence_.strict);
  }

  const Knowledge& levels() const { return known_; }
  LaneOrder& lanes() { return lanes_; }
  const LaneOrder& lanes() const { return lanes_; }
  // All clocks that the warp has: what it knows, and what its next fence and arrival go by.
  template <typename F>
  void each_level(F&& f) const {
    for (const Clock* c : {&known_.any, &known_.fenced, &known_.strict, &before_fence_.fenced, &before_fence_.strict,
                           &after_fence_.fenced, &after_fence_.strict})
      f(*c);
  }
  const Clock& any() const { return known_.any; }
  bool knows(uint32_t warp, uint32_t event) const { return warp == self_ || known_.any.knows(warp, event); }

private:
  uint32_t self_ = 0;
  Knowledge known_;
  Knowledge before_fence_;  // its fenced and strict levels at the last tcgen05.fence::before_thread_sync
  LaneOrder lanes_;
  Knowledge after_fence_;  // the levels that wait for the next tcgen05.fence::after_thread_sync
};

// What a warp, or a group of its lanes, waits for.
struct WaitForPhase {
  uint32_t address = 0;  // of the mbarrier, in shared memory
  uint32_t phase = 0;    // that is not over yet
};
struct WaitForInit {
  uint32_t address = 0;  // of an mbarrier that nobody was seen to initialise
};
struct WaitForNamedBarrier {
  uint32_t barrier = 0;
  uint32_t generation = 0;  // that is not complete yet
};
struct WaitForClusterBarrier {};
struct WaitForColumns {
  uint32_t asked = 0, live = 0, capacity = 0;  // columns
};
struct WaitForWord {};   // another value in a word of memory that is polled
struct WaitForLanes {};  // other lanes of the warp, at an instruction that all execute together
using Wait = std::variant<WaitForPhase, WaitForInit, WaitForNamedBarrier, WaitForClusterBarrier, WaitForColumns,
                          WaitForWord, WaitForLanes>;

// Lanes of one warp that branched apart from the others.
struct LaneGroup {
  warp::Waiting at;
  // By the registers that its block needs; of a parked group all. The first group's are in the machine.
  std::vector<value::Value> registers;
  bool in_machine = false;
  // A group that waits while other lanes of its warp go on.
  struct Parked {
    Wait wait;
    uint32_t step = 0;
    uint64_t changes = 0;  // Changes::count() when it began to wait
  };
  std::optional<Parked> parked;
};

// The loads of a warp that it has not waited for.
class PendingLoads {
public:
  PendingLoads() = default;
  explicit PendingLoads(size_t loads) : newest_(loads, kNone) {}
  // `load`: Program::loads; `operation`: of TensorMemory.
  void add(uint32_t load, uint32_t operation) {
    all_.push_back({load, operation, newest_[load]});
    newest_[load] = static_cast<uint32_t>(all_.size() - 1);
  }
  void clear() {
    for (const Pending& p : all_) newest_[p.load] = kNone;
    all_.clear();
  }
  bool empty() const { return all_.empty(); }
  // The operations of all, in the order of their issue.
  template <typename F>
  void each(F&& f) const {
    for (const Pending& p : all_) f(p.operation);
  }
  // Those of a set of Program::loads.
  template <typename F>
  void each_of(const std::vector<uint32_t>& set, F&& f) const {
    if (set.size() > all_.size()) {
      for (const Pending& p : all_) {
        if (program::contains(set, p.load)) f(p.operation);
      }
      return;
    }
    for (uint32_t load : set) {
      for (uint32_t n = newest_[load]; n != kNone; n = all_[n].previous) f(all_[n].operation);
    }
  }

private:
  struct Pending {
    uint32_t load, operation;
    uint32_t previous;  // of the same load: in all_
  };
  std::vector<Pending> all_;
  std::vector<uint32_t> newest_;  // by load: in all_
};

// A phase of an mbarrier that a test_wait or try_wait asked for.
struct AskedPhase {
  uint32_t step = kNone, address = 0, phase = 0;
  bool operator==(const AskedPhase&) const = default;
};

// A proxy fence that covers shared memory, and what its warp knew.
struct ProxyFence {
  uint32_t event = 0;
  Clock known;
  uint32_t lanes = 0;   // that executed it
  uint32_t joined = 0;  // the last event of its warp of which they know what the other lanes did

  // Whether a store lies before it, for the lanes that execute it.
  bool covers(uint32_t self, uint32_t warp, uint32_t store, uint32_t by) const {
    if (warp != self) return known.knows(warp, store);
    return store <= event && (store <= joined || (by & ~lanes) == 0);
  }
};

// cp.async of a warp that it has not waited for.
struct PendingCopy {
  uint32_t copy = 0;  // OperandCopies
  uint32_t lanes = 0;
  uint32_t group = kNone;  // WarpState::copy_groups when it was committed; kNone: it was not yet
};

struct WarpState {
  WarpId id;
  uint32_t index = 0;  // among all warps of the cluster: by rank, then by number

  // --- position ---
  std::vector<LaneGroup> groups;  // in running order; the first one runs
  uint32_t step = 0;              // Program::steps, that the first group executes next
  std::vector<uint32_t> rounds;   // by loop: how often it went round since it was entered
  uint32_t exited = 0;            // lanes
  uint32_t last_exit = kNone;     // instruction
  bool over = false;              // all lanes have left
  std::optional<Wait> wait;       // of the first group; nothing: it can run
  bool ready() const { return !over && !wait; }

  // --- registers and private memory of the first group, while no machine has them ---
  std::vector<value::Value> registers;
  warp::Memory memory;
  uint32_t present = value::kAllLanes;

  // --- knowledge ---
  WarpKnowledge knowledge;
  uint32_t last_relaxed_wait = kNone;  // instruction
  uint64_t ticked_step = 0;            // RunState::steps at the last memory access: those of one step are one event

  // --- waits and polls ---
  // The phases that were asked for and not complete, since one was: a warp that comes to one of them again waits for
  // all of them.
  std::vector<AskedPhase> failed;
  std::vector<AskedPhase> passed;                  // phases that were found complete, and that no other one followed
  std::pair<uint32_t, uint64_t> polled{kNone, 0};  // a load that polls: its step, and the writes it had seen
  bool poll_released = false;                      // it may go on although nobody wrote: nothing else can go on
  bool reached_global = false;   // an atomic or polling load of global memory was executed since the block began
  uint32_t cluster_arrived = 0;  // lanes that arrived at the cluster barrier, in the phase `cluster_phase`
  uint32_t cluster_phase = 0;    // phases of the cluster barrier that the whole warp has arrived in

  // --- Tensor Memory operations that it has issued ---
  PendingLoads loads;                   // not waited for
  std::vector<uint32_t> stores;         // not waited for
  std::vector<uint32_t> uncommitted;    // that no commit follows yet
  std::deque<ProxyFence> proxy_fences;  // the last ones
  uint32_t forgotten_fence = 0;         // the event of the first one before those; 0: there is none

  // --- cp.async ---
  std::vector<PendingCopy> copies;  // not waited for
  uint32_t copy_groups = 0;         // how many it has committed
  bool copy_is_open = false;        // the last one of `copies` takes in what the same lanes copy next
};

}  // namespace tmemlint::cluster
