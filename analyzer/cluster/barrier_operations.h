// mbarriers, named barriers, the cluster barrier, asynchronous copies and proxy fences of a joint run.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "analyzer/cluster/decisions.h"
#include "analyzer/cluster/scene.h"

namespace tmemlint::cluster {

// Whether how many arrive in a round of an mbarrier is not known: nothing states the cluster.
bool rounds_are_guessed(const Scene& scene);
// After a phase of an mbarrier is over: tells the waits that need not have come before, and lets others know.
void finish_phases(Scene& scene, uint32_t address, Mbarrier& b);

// mbarrier instructions, also cp.async.mbarrier.arrive.
class MbarrierOperations {
public:
  MbarrierOperations(Scene& scene, Decisions& decisions) : scene_(scene), state_(scene.state), decisions_(decisions) {}
  Outcome execute(Execution& e);

private:
  // The operands of an mbarrier instruction, and the lanes that name one barrier.
  struct Operands {
    uint32_t at = kNone;  // index of the bracketed operand
    value::Value address, count;
    bool has_count = false;
  };
  Operands operands_of(Execution& e) const;
  Outcome wait(Execution& e, const Operands& o);
  struct Asked {
    uint32_t lanes = 0, address = 0, parity = 0;
  };
  std::variant<std::vector<Asked>, Wait, Unknown> asked_phases(Execution& e, const Operands& o);
  void learn(Execution& e, Mbarrier& b);
  bool overlaps(const Execution& e, const Mbarrier& before) const;
  void invalidate(const Execution& e, uint32_t address, Mbarrier& b);
  void check_last_phase(const Execution& e, const Mbarrier& b);
  Outcome signal(Execution& e, const Operands& o);
  // The lanes of `group` do to one barrier what the instruction says. `first`: no lanes did before.
  Outcome signal_one(Execution& e, const Operands& o, uint32_t group, bool first);
  Outcome init(Execution& e, const Operands& o, uint32_t group, uint32_t address);
  Outcome arrive(Execution& e, const Operands& o, uint32_t group, uint32_t address, Mbarrier& b);
  void expect(const Execution& e, const Operands& o, uint32_t group, Mbarrier& b);
  void check_round(const Execution& e, const Mbarrier& b, uint32_t address, uint32_t arrivals);
  void arrive_asynchronously(Execution& e, uint32_t group, uint32_t address, Mbarrier& b);
  void write_result(Execution& e, const Operands& o, const value::Value& value, uint32_t lanes);

  Scene& scene_;
  RunState& state_;
  Decisions& decisions_;
};

// bar, barrier and barrier.cluster.
class BarrierOperations {
public:
  BarrierOperations(Scene& scene, Decisions& decisions) : scene_(scene), state_(scene.state), decisions_(decisions) {}
  Outcome named(Execution& e);
  Outcome cluster(Execution& e);
  // After lanes left: barriers of all threads that are left may be complete now.
  void note_exit(const WarpState& w);

private:
  void complete_named(uint32_t rank, uint32_t id);
  void complete_cluster();
  std::optional<std::pair<uint32_t, uint32_t>> id_and_count(Execution& e, Outcome* open);
  void write_reduction(Execution& e, uint32_t id, uint32_t generation);

  Scene& scene_;
  RunState& state_;
  Decisions& decisions_;
};

// Copies that complete on an mbarrier, and what they and commits bring when they come.
class CopyOperations {
public:
  CopyOperations(Scene& scene, Decisions& decisions) : scene_(scene), state_(scene.state), decisions_(decisions) {}
  Outcome copy(Execution& e);
  Outcome proxy_fence(Execution& e);
  // The next asynchronous arrival comes. False when none is under way.
  bool deliver();

private:
  void copy_in_group(Execution& e);
  void take_in(Execution& e, const value::Value& to);
  void note_written(const Execution& e, AsyncArrival& a);
  std::vector<uint32_t> targets_of(Execution& e, uint32_t target, uint32_t barrier_operand);
  std::optional<uint64_t> size_of(Execution& e) const;
  void write_copied(const AsyncArrival& a);
  void bring(uint32_t copy, Mbarrier& b);
  void arrive(const AsyncArrival& a, size_t target, Mbarrier& b);

  Scene& scene_;
  RunState& state_;
  Decisions& decisions_;
};

}  // namespace tmemlint::cluster
