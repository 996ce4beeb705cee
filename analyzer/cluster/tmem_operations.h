// The tcgen05 instructions of a joint run: allocations, accesses, completion.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "analyzer/cluster/decisions.h"
#include "analyzer/cluster/scene.h"

namespace tmemlint::cluster {

// alloc, dealloc and relinquish_alloc_permit.
class AllocationOperations {
public:
  AllocationOperations(Scene& scene, Decisions& decisions)
      : scene_(scene), state_(scene.state), decisions_(decisions) {}
  Outcome alloc(Execution& e);
  Outcome dealloc(Execution& e);
  Outcome relinquish(Execution& e);

private:
  void compare_with_earlier(const Execution& e, uint32_t columns);
  void compare_with_relinquish(const Execution& e);
  void note_paired(const Execution& e, std::vector<Site> RunState::PairedSteps::*which);
  void note_repeated(const Execution& e, std::optional<uint64_t> slot);
  void write_slot(const Execution& e, uint32_t slot, uint32_t allocation, const value::Value& address);
  Free describe_free(const Execution& e, const TmemPlace& at, std::optional<uint64_t> size, uint32_t* allocation) const;
  void free_in_pair(const Execution& e, const Allocation& freed);

  Scene& scene_;
  RunState& state_;
  Decisions& decisions_;
};

// Where the address in a value leads for the lanes that execute an instruction.
TmemPlace place_of(Scene& scene, Decisions& decisions, const Execution& e, const value::Value& address);

// ld, st, cp, shift, mma and their completion: waits, commit, fences.
class AccessOperations {
public:
  AccessOperations(Scene& scene, Decisions& decisions) : scene_(scene), state_(scene.state), decisions_(decisions) {}
  Outcome load_or_store(Execution& e);
  Outcome wait_for_loads(Execution& e);
  Outcome wait_for_stores(Execution& e);
  // cp, shift, mma: what one thread issues and a commit completes.
  Outcome single_thread(Execution& e);
  Outcome commit(Execution& e);

private:
  uint32_t start(const Execution& e);
  void touch(const Execution& e, uint32_t operation, const ptx::TmemAccess& access, const TmemPlace& at,
             const ptx::MmaShape& shape, uint32_t rank);
  void note_trend(const Execution& e, const TmemPlace& at);
  void reach_peer(const Execution& e);
  void note_pair_issuer(const Execution& e);
  void read_operands(Execution& e, uint32_t operation, const std::optional<uint32_t>& idesc);
  bool accumulates(const Execution& e);
  CommitNumber last_covering(const Site& site, uint32_t lane, CommitNumber number) const;
  std::optional<std::vector<uint32_t>> commit_targets(const Execution& e, uint32_t target, Outcome* open);
  bool has_peer(const Execution& e) const {
    return e.meaning.form.cta_group == 2 && scene_.ranks > 1 && (e.warp.id.rank ^ 1) < scene_.ranks;
  }

  Scene& scene_;
  RunState& state_;
  Decisions& decisions_;
};

}  // namespace tmemlint::cluster
