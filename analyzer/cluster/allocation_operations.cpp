#include <algorithm>

#include "analyzer/cluster/tmem_operations.h"
#include "analyzer/value/unknowns.h"

namespace tmemlint::cluster {

using program::Arg;
using value::Value;

Outcome AllocationOperations::alloc(Execution& e) {
  const ptx::OperandRoles& roles = scene_.program.roles[e.step.roles];
  const Arg* slot_arg = scene_.arg(e.step, roles.address);
  const Arg* size_arg = scene_.arg(e.step, roles.columns);
  if (slot_arg == nullptr || size_arg == nullptr) return Done{};
  const auto slot = decisions_.number(e.machine, e.machine.shared_address(*slot_arg), e.lanes, 32);
  const auto size = decisions_.number(e.machine, e.machine.read(*size_arg), e.lanes, 32);
  if (!size) return Unknown{e.instruction(), "how many columns are allocated is not known"};
  scene_.log.add(AllocRequest{e.site(), value::sign_extend(*size, 32)});
  const uint32_t capacity = ptx::column_capacity(scene_.kernel.module->target, e.meaning.form.exclusive);
  // The size is illegal, which the AllocRequest shows. What the kernel would do with no allocation says nothing.
  if (*size == 0 || *size > capacity) return Unknown{};
  const auto columns = static_cast<uint32_t>(*size);
  TensorMemory& memory = state_.tensor_memory;
  const std::optional<uint32_t> base = memory.find_room(e.warp.id.rank, columns, capacity);
  if (!base) return WaitForColumns{columns, memory.live_columns(e.warp.id.rank), capacity};
  e.warp.knowledge.tick();
  scene_.log.count_decided();
  compare_with_earlier(e, columns);
  compare_with_relinquish(e);
  note_repeated(e, slot);
  const Value address = scene_.terms.allocation(value::site_of(value::UnknownKind::kRunAllocated, e.number),
                                                (++state_.serial << 20) | e.warp.index, columns, capacity);
  Allocation a;
  a.rank = e.warp.id.rank;
  a.base = *base;
  a.columns = columns;
  a.exclusive = e.meaning.form.exclusive;
  a.alloc = e.site();
  a.made = e.event();
  a.slot = slot ? static_cast<uint32_t>(*slot) : 0;
  const uint32_t id = memory.add(e.warp, a, address.base);
  note_paired(e, &RunState::PairedSteps::allocs);
  if (slot) write_slot(e, static_cast<uint32_t>(*slot), id, address);
  scene_.log.add_line(
      e.warp.id, e.instruction(), [&] { return std::to_string(columns) + " columns from " + std::to_string(*base); },
      static_cast<int32_t>(columns));
  return Done{};
}

void AllocationOperations::compare_with_earlier(const Execution& e, uint32_t columns) {
  for (const Allocation& a : state_.tensor_memory.allocations()) {
    if (a.rank != e.warp.id.rank || a.columns == columns) continue;
    AllocPair pair;
    pair.earlier = a.alloc;
    pair.later = e.site();
    pair.earlier_columns = a.columns;
    pair.later_columns = columns;
    pair.ordered = e.warp.knowledge.knows(a.made.warp, a.made.event);
    scene_.log.add(pair);
  }
}

void AllocationOperations::compare_with_relinquish(const Execution& e) {
  const auto r = state_.relinquished.find(e.warp.id.rank);
  if (r != state_.relinquished.end() && r->second.event.warp != e.warp.index)
    scene_.log.add(LateAlloc{e.site(), r->second.site});
}

// An alloc instruction that a second warp executes too. Kernels may do that on purpose, each time in another warp and
// after what the warp before allocated was freed: then nothing is written down.
void AllocationOperations::note_repeated(const Execution& e, std::optional<uint64_t> slot) {
  const auto [at, fresh] = state_.alloc_warps.try_emplace({e.number, e.warp.id.rank}, e.warp.index);
  if (fresh || at->second == e.warp.index || !slot) return;
  for (const Allocation& a : state_.tensor_memory.allocations()) {
    const bool over = !a.live && e.warp.knowledge.knows(a.freed.warp, a.freed.event);
    if (a.alloc.instruction == e.instruction() && a.rank == e.warp.id.rank && a.made.warp != e.warp.index &&
        a.slot == *slot && !over) {
      scene_.log.add(RepeatedAlloc{e.site(), a.alloc.warp});
      return;
    }
  }
}

void AllocationOperations::write_slot(const Execution& e, uint32_t slot, uint32_t allocation, const Value& address) {
  SharedWord word;
  word.known = true;
  word.value = address;
  word.writer = e.event();
  word.instruction = e.instruction();
  word.allocation = allocation;
  const auto is_new_to = [&](const WarpEvent& reader) { return !e.warp.knowledge.knows(reader.warp, reader.event); };
  if (const SharedWord* old = state_.words.find(slot);
      old != nullptr && old->allocation != kNoAllocation && state_.tensor_memory.allocation(old->allocation).live) {
    word.overwrote = old->allocation;
    const auto reader = std::find_if(old->readers.begin(), old->readers.end(), is_new_to);
    if (reader != old->readers.end()) {
      SlotRace race;
      race.kind = SlotRace::Kind::kWriteBesideRead;
      race.use = e.site();
      race.alloc = state_.tensor_memory.allocation(old->allocation).alloc.instruction;
      race.other = scene_.warp(reader->warp).id;
      scene_.log.add(race);
    }
  }
  // Another warp has read the slot before anything was written there: nothing made it wait for this alloc.
  if (const SharedWords::EarlyRead* early = state_.words.early_read(slot);
      early != nullptr && early->reader.warp != e.warp.index && early->site.warp.rank == e.warp.id.rank) {
    SlotRace race;
    race.use = early->site;
    race.alloc = e.instruction();
    race.other = e.warp.id;
    scene_.log.add(race);
  }
  state_.words.put(slot, std::move(word));
}

// One warp of each CTA of a pair executes these (ISA 9.7.16.7.1): whether each did is seen in the end.
void AllocationOperations::note_paired(const Execution& e, std::vector<Site> RunState::PairedSteps::*which) {
  if (e.meaning.form.cta_group == 2) (state_.paired_steps[e.warp.id.rank].*which).push_back(e.site());
}

Outcome AllocationOperations::relinquish(Execution& e) {
  e.warp.knowledge.tick();
  note_paired(e, &RunState::PairedSteps::relinquishes);
  state_.relinquished.try_emplace(e.warp.id.rank, RunState::Relinquish{e.event(), e.site()});
  // An alloc of another warp that this warp does not know of may as well come after the relinquish.
  for (const Allocation& a : state_.tensor_memory.allocations()) {
    if (a.rank == e.warp.id.rank && !e.warp.knowledge.knows(a.made.warp, a.made.event))
      scene_.log.add(LateAlloc{a.alloc, e.site()});
  }
  scene_.log.add_line(e.warp.id, e.instruction());
  return Done{};
}

// --- dealloc ---

Outcome AllocationOperations::dealloc(Execution& e) {
  const ptx::OperandRoles& roles = scene_.program.roles[e.step.roles];
  const Arg* address_arg = scene_.arg(e.step, roles.address);
  if (address_arg == nullptr) return Done{};
  e.warp.knowledge.tick();
  note_paired(e, &RunState::PairedSteps::frees);
  TensorMemory& memory = state_.tensor_memory;
  const TmemPlace at = place_of(scene_, decisions_, e, e.machine.read(*address_arg));
  const Arg* size_arg = scene_.arg(e.step, roles.columns);
  const auto size =
      size_arg == nullptr ? std::nullopt : decisions_.number(e.machine, e.machine.read(*size_arg), e.lanes, 32);
  // A dealloc that is wrong, or not followed, may have been meant for any allocation. The dealloc is reported; that the
  // allocations are never freed would only repeat it.
  auto may_free_any = [&] {
    for (const Allocation& a : memory.allocations()) state_.freed.insert(a.alloc.instruction);
  };
  scene_.log.count(1, at.known ? 1 : 0);
  if (!at.known) {
    scene_.log.add_uncertain(e.instruction(), "what this dealloc frees could not be followed");
    may_free_any();
    return Done{};
  }
  uint32_t of = kNoAllocation;
  Free free = describe_free(e, at, size, &of);
  if (of == kNoAllocation || !free.at_start) {
    scene_.log.add(free);
    may_free_any();
    return Done{};
  }
  Allocation& a = memory.allocation(of);
  if (a.rank != e.warp.id.rank) return Done{};
  if (!a.live) free.freed_before = a.free;
  scene_.log.add(free);
  if (!a.live) return Done{};
  memory.free_columns(e.warp, a, e.warp.id.rank, e.site(), e.meaning.form.cta_group, scene_.log);
  if (e.meaning.form.cta_group == 2 && scene_.ranks > 1) free_in_pair(e, a);
  a.live = false;
  a.free = e.site();
  a.freed = e.event();
  state_.changes.freed = true;
  scene_.log.add_line(
      e.warp.id, e.instruction(), [&] { return std::to_string(a.columns) + " columns from " + std::to_string(a.base); },
      -static_cast<int32_t>(a.columns));
  return Done{};
}

Free AllocationOperations::describe_free(const Execution& e, const TmemPlace& at, std::optional<uint64_t> size,
                                         uint32_t* allocation) const {
  const TensorMemory& memory = state_.tensor_memory;
  Free out;
  out.site = e.site();
  *allocation = at.allocation;
  out.at_start = at.based && at.offset == 0 && at.lane == 0;
  if (!at.based) {
    // A literal: the one allocation that starts there.
    for (uint32_t n = 0; n < memory.allocations().size(); ++n) {
      const Allocation& a = memory.allocation(n);
      if (a.rank != e.warp.id.rank || !a.live || a.base != at.column || at.lane != 0) continue;
      *allocation = n;
      out.at_start = true;
    }
  }
  out.column = at.based ? at.offset : at.column;
  out.exclusive = e.meaning.form.exclusive;
  if (*allocation == kNoAllocation) return out;
  const Allocation& a = memory.allocation(*allocation);
  out.alloc = a.alloc.instruction;
  out.alloc_columns = a.columns;
  out.columns = static_cast<uint32_t>(size.value_or(a.columns));
  out.alloc_exclusive = a.exclusive;
  out.allocator = a.alloc.warp;
  return out;
}

// The other CTA of the pair: what it still does with the columns, and on which side of a cluster barrier it frees them.
void AllocationOperations::free_in_pair(const Execution& e, const Allocation& freed) {
  const uint32_t rank = e.warp.id.rank;
  const uint32_t peer = rank ^ 1;
  if (peer >= scene_.ranks) return;
  state_.tensor_memory.free_columns(e.warp, freed, peer, e.site(), e.meaning.form.cta_group, scene_.log);
  if (!scene_.knows_cta(e.warp, peer))
    scene_.log.add(UnjoinedFree{e.site(), peer, state_.tensor_memory.last_alloc(peer)});
  std::vector<RunState::PairFree>& mine = state_.pair_frees[rank];
  const std::vector<RunState::PairFree>& theirs = state_.pair_frees[peer];
  mine.push_back({e.warp.cluster_phase, e.instruction()});
  if (theirs.size() < mine.size() || theirs[mine.size() - 1].cluster_phase == e.warp.cluster_phase) return;
  const RunState::PairFree& before = theirs[mine.size() - 1];
  SplitFree split;
  split.early = e.site();
  split.late = before.instruction;
  split.peer = peer;
  if (e.warp.cluster_phase > before.cluster_phase) std::swap(split.early.instruction, split.late);
  scene_.log.add(split);
}

}  // namespace tmemlint::cluster
