#include "analyzer/cluster/tensor_memory.h"

#include <algorithm>

namespace tmemlint::cluster {

using ptx::IssueOrder;
using ptx::kMostTmemColumns;

bool executes_in_order(const Operation& first, ptx::TmemRole first_role, const Operation& second,
                       ptx::TmemRole second_role) {
  switch (ptx::issue_order(first.form, first_role, second.form, second_role)) {
    case IssueOrder::kNone:
      return false;
    case IssueOrder::kAlways:
      return true;
    case IssueOrder::kIfSameAccumulator:
      return first.d_column == second.d_column &&
             ptx::same_mma_shape(first.form, first.idesc, second.form, second.idesc);
  }
  return false;
}

// --- allocations ---

uint32_t TensorMemory::live_columns(uint32_t rank) const {
  uint32_t live = 0;
  for (const Allocation& a : allocations_) {
    if (a.rank == rank && a.live) live += a.columns;
  }
  return live;
}

std::optional<uint32_t> TensorMemory::find_room(uint32_t rank, uint32_t columns, uint32_t capacity) const {
  std::array<bool, kMostTmemColumns> taken{};
  for (const Allocation& a : allocations_) {
    if (a.rank != rank || !a.live) continue;
    const uint32_t end = std::min(a.base + a.columns, kMostTmemColumns);
    for (uint32_t c = a.base; c < end; ++c) taken[c] = true;
  }
  for (uint32_t c = 0; c + columns <= capacity; c += ptx::kAllocationUnit) {
    if (std::none_of(taken.begin() + c, taken.begin() + c + columns, [](bool t) { return t; })) return c;
  }
  return std::nullopt;
}

uint32_t TensorMemory::add(const WarpState& w, const Allocation& allocation, uint32_t term) {
  const auto id = static_cast<uint32_t>(allocations_.size());
  const std::pair entry(term, id);
  allocation_of_.insert(std::upper_bound(allocation_of_.begin(), allocation_of_.end(), entry), entry);
  allocations_.push_back(allocation);
  for (EarlyAccess& e : early_) {
    const bool ordered = e.event.warp == w.index || w.knowledge.knows(e.event.warp, e.event.event);
    if (e.alloc == kNoAllocation && e.site.warp.rank == allocation.rank && !ordered) e.alloc = id;
  }
  columns_[allocation.rank].clear(allocation.base, allocation.base + allocation.columns);
  return id;
}

uint32_t TensorMemory::allocation_of(uint32_t term) const {
  const auto at = std::lower_bound(allocation_of_.begin(), allocation_of_.end(), std::pair{term, 0u});
  return at == allocation_of_.end() || at->first != term ? kNoAllocation : at->second;
}

uint32_t TensorMemory::live_at(uint32_t rank, uint32_t column) const {
  uint32_t found = kNoAllocation;
  for (uint32_t n = 0; n < allocations_.size(); ++n) {
    const Allocation& a = allocations_[n];
    if (a.rank == rank && a.live && a.holds(column)) found = n;
  }
  return found;
}

uint32_t TensorMemory::last_alloc(uint32_t rank) const {
  const auto at =
      std::find_if(allocations_.rbegin(), allocations_.rend(), [&](const Allocation& a) { return a.rank == rank; });
  return at == allocations_.rend() ? kNone : at->alloc.instruction;
}

// --- accesses ---

TmemUse TensorMemory::use_of(const Access& access) const {
  const Operation& o = operations_[access.operation];
  TmemUse out;
  out.site = {o.instruction, o.id};
  out.op = o.form.op;
  out.completion = o.form.completion;
  out.role = access.role;
  out.reads = access.reads;
  out.writes = access.writes;
  return out;
}

void TensorMemory::touch(const WarpState& w, uint32_t operation, const Kind& kind, const Rectangle& where,
                         const Decided& decided, ObservationLog& log) {
  const uint32_t here = operations_[operation].instruction;
  const auto id = static_cast<uint32_t>(accesses_.size());
  Access access;
  access.operation = operation;
  access.role = kind.role;
  access.reads = kind.reads;
  access.writes = kind.writes;
  access.halves = where.half_windows;
  accesses_.push_back(access);
  log.count(1, where.at.known ? 1 : 0);
  if (!where.at.known) {
    if (kind.writes) may_write_anywhere(w, where.rank);
    return;
  }
  const bool own = where.rank == w.id.rank;
  bool outside = false;
  if (own && !judge_place(w, here, where, &outside, log)) return;
  if (where.at.column >= kMostTmemColumns) return;
  const bool any_written = hold_against_earlier(w, id, where, log);
  if (kind.writes && own) {
    const auto at = std::lower_bound(written_by_.begin(), written_by_.end(), here);
    if (at == written_by_.end() || *at != here) written_by_.insert(at, here);
  }
  const Allocation* of = where.at.allocation == kNoAllocation ? nullptr : &allocations_[where.at.allocation];
  if (kind.reads && !any_written && own && of != nullptr && of->live && !outside) {
    unwritten_.push_back({id, of->alloc.instruction, where.columns, where.at.offset, decided});
  }
  if (kind.writes && !where.certain && of != nullptr) {
    // How far the operation reaches is not known: all columns up to the end of the allocation count as written.
    columns_[where.rank].each(where.at.column, of->base + of->columns,
                              [&](Column& c) { c.written |= where.half_windows; });
  }
  leave_trace(w, id, where);
}

// A write of columns that are not known: any column of the CTA may be written from now on, and what an access that is
// not ordered with it has read unwritten may have been written before.
void TensorMemory::may_write_anywhere(const WarpState& w, uint32_t rank) {
  for (const Allocation& a : allocations_) {
    if (a.rank != rank || !a.live) continue;
    columns_[rank].each(a.base, a.base + a.columns, [](Column& c) { c.written = ptx::kAllHalfWindows; });
  }
  for (const UnwrittenAccess& u : unwritten_) {
    Access& access = accesses_[u.access];
    const Operation& read = operations_[access.operation];
    if (read.id.rank == rank && read.warp != w.index && !read.issued(w.knowledge.any())) access.write_follows = true;
  }
}

// An access by a literal address, of columns that another warp allocates: no read of the slot tells whether that comes
// first.
void TensorMemory::note_use_beside_alloc(const WarpState& w, const Site& site, const Rectangle& where,
                                         ObservationLog& log) {
  Allocation& of = allocations_[where.at.allocation];
  if (where.at.based || of.used_early || of.rank != w.id.rank || w.knowledge.knows(of.made.warp, of.made.event)) return;
  of.used_early = true;
  StrayAccess stray;
  stray.access = site;
  stray.column = where.at.column;
  stray.columns = where.columns;
  stray.any_live = true;
  stray.alloc_beside = of.alloc;
  log.add(stray);
}

// Holds an access against the allocations of its CTA, and writes down one that lies in none, in a freed one, or past
// the end. False where its columns need not be looked at further. `outside`: it runs past the end of an allocation.
bool TensorMemory::judge_place(const WarpState& w, uint32_t here, const Rectangle& where, bool* outside,
                               ObservationLog& log) {
  const Allocation* of = where.at.allocation == kNoAllocation ? nullptr : &allocations_[where.at.allocation];
  const Site site{here, w.id};
  if (of == nullptr) {
    bool any_live = false;
    const Allocation* dead = nullptr;
    for (const Allocation& a : allocations_) {
      if (a.rank != where.rank) continue;
      any_live = any_live || a.live;
      if (!a.live && a.holds(where.at.column)) dead = &a;
    }
    if (dead != nullptr && !any_live) {
      of = dead;
    } else if (!any_live || where.certain) {
      StrayAccess stray;
      stray.access = site;
      stray.column = where.at.column;
      stray.columns = where.columns;
      stray.any_live = any_live;
      log.add(stray);
      if (!any_live) early_.push_back({{w.index, w.knowledge.now()}, site});
    }
  }
  if (of == nullptr) return true;
  if (of->live && where.at.allocation != kNoAllocation) note_use_beside_alloc(w, site, where, log);
  if (!of->live) {
    log.add(FreedAccess{site, of->free, w.knowledge.knows(of->freed.warp, of->freed.event)});
    return false;
  }
  // The first column is certain whatever the shape.
  const uint32_t sure = where.certain ? where.columns : 1;
  *outside = of->columns != 0 && (where.at.offset < 0 || where.at.column + sure > of->base + of->columns);
  if (*outside) {
    StrayAccess stray;
    stray.access = site;
    stray.alloc = of->alloc.instruction;
    stray.alloc_columns = of->columns;
    stray.column = int64_t{where.at.column} - of->base;
    stray.columns = sure;
    stray.any_live = true;
    log.add(stray);
  }
  return true;
}

// Holds an access against the earlier accesses of the same columns. True if any of the columns was written before.
bool TensorMemory::hold_against_earlier(const WarpState& w, uint32_t id, const Rectangle& where, ObservationLog& log) {
  bool any_written = false;
  const auto is_complete_write = [&](uint32_t access) {
    return access != kNoAccess && operations_[accesses_[access].operation].complete(w.knowledge.any());
  };
  columns_[where.rank].each(where.at.column, where.at.column + where.columns, [&](Column& column) {
    any_written = any_written || (column.written & where.half_windows) != 0;
    for (const HalfWindows* writes : {&column.last_write, &column.older_write}) {
      writes->each(column.written, [&](uint32_t write, uint8_t half) {
        if (!is_complete_write(write)) return;
        accesses_[id].saw_a_write = true;
        accesses_[id].saw_halves |= half;
      });
    }
    // Whether a write before a touch, of what that touches, is known to be complete.
    const auto knows_older_write = [&](const Touch& t) {
      bool any = false;
      for (const HalfWindows* writes : {&column.last_write, &column.older_write})
        writes->each(t.halves,
                     [&](uint32_t write, uint8_t) { any = any || (write != t.access && is_complete_write(write)); });
      return any;
    };
    for (const Touch& t : column.touches) {
      Access& earlier = accesses_[t.access];
      if (earlier.writes && is_complete_write(t.access)) accesses_[id].saw_halves |= t.halves;
      if ((t.halves & where.half_windows) == 0 || earlier.held_against == id) continue;
      earlier.held_against = id;
      if (earlier.operation == accesses_[id].operation || (!earlier.writes && !accesses_[id].writes)) continue;
      const bool knows_older = knows_older_write(t);
      hold_against(w, t.access, id, where.rank, knows_older, log);
    }
  });
  return any_written;
}

// From now on later accesses of these columns are held against this one, and no more against those that it stands for.
void TensorMemory::leave_trace(const WarpState& w, uint32_t id, const Rectangle& where) {
  columns_[where.rank].each(where.at.column, where.at.column + where.columns, [&](Column& column) {
    if (accesses_[id].writes) {
      column.written |= where.half_windows;
      note_write(column, id);
    }
    std::erase_if(column.touches,
                  [&](const Touch& t) { return (t.halves & ~where.half_windows) == 0 && outlived(w, t.access, id); });
    column.touches.push_back({id, where.half_windows});
  });
}

void TensorMemory::note_write(Column& column, uint32_t id) {
  Operation& mine = operations_[accesses_[id].operation];
  for (size_t h = 0; h < HalfWindows::kCount; ++h) {
    if (((accesses_[id].halves >> h) & 1) == 0) continue;
    uint32_t& last_write = column.last_write.access[h];
    if (last_write != kNoAccess) {
      const Operation& last = operations_[accesses_[last_write].operation];
      const bool same_run = last.warp == mine.warp && last.form.completion == mine.form.completion &&
                            last.commit.number == 0 && last.waited == 0;
      if (same_run) {
        mine.first_of_run = last.first_of_run;
      } else {
        column.older_write.access[h] = last_write;
      }
    }
    last_write = id;
  }
}

// Whether an access stands for an earlier one of the same columns, so that nothing needs to be held against the earlier
// one any more: the earlier one is complete, and who comes behind the later one comes behind it too; or the same thread
// issued both, and whatever completes the later one completes both.
bool TensorMemory::outlived(const WarpState& w, uint32_t earlier, uint32_t id) const {
  const Access& old = accesses_[earlier];
  const Access& access = accesses_[id];
  const Operation& o = operations_[old.operation];
  const Operation& mine = operations_[access.operation];
  if (access.writes && o.complete(w.knowledge.any())) return !old.writes || mine.by_commit() || !access.reads;
  const bool same_tracker =
      o.warp == mine.warp && o.form.completion == mine.form.completion && (!mine.by_commit() || o.lane == mine.lane);
  return same_tracker && (access.writes || !old.writes) &&
         (old.role == access.role || access.role == ptx::TmemRole::kAccumulator);
}

Order TensorMemory::order_of(const WarpState& w, const Operation& earlier) const {
  const Knowledge& known = w.knowledge.levels();
  Order out;
  out.same_warp = earlier.warp == w.index;
  out.issued = out.same_warp || earlier.issued(known.any);
  out.issued_fenced = out.same_warp || earlier.issued(known.fenced);
  out.complete = earlier.complete(known.any);
  out.complete_fenced = earlier.complete(known.fenced);
  out.complete_strict = earlier.complete(known.strict);
  return out;
}

// Two accesses of the same columns, at least one of them a write: written down unless they are in order in every
// respect.
void TensorMemory::hold_against(const WarpState& w, uint32_t earlier_id, uint32_t id, uint32_t rank, bool knows_older,
                                ObservationLog& log) {
  Access& earlier = accesses_[earlier_id];
  const Access& later = accesses_[id];
  const Operation& a = operations_[earlier.operation];
  const Operation& x = operations_[later.operation];
  log.count_decided();
  const Knowledge& known = w.knowledge.levels();
  const bool same_warp = a.warp == w.index;
  const bool complete = a.complete(known.any);
  bool pipelined = false;
  if (complete) {
    if (same_warp || a.complete(known.strict)) return;
    const bool relaxed = !a.complete(known.fenced) && w.last_relaxed_wait != kNone;
    if (!relaxed && std::exchange(said_unfenced_, true)) return;
  } else if (same_warp || a.issued(known.any)) {
    pipelined = executes_in_order(a, earlier.role, x, later.role);
    const bool other_thread = same_warp && a.by_commit() && a.lane != x.lane;
    const bool relaxed = !same_warp && !a.issued(known.fenced) && w.last_relaxed_wait != kNone;
    if (pipelined && !other_thread && !relaxed) return;
  } else if (earlier.reads && later.writes && !earlier.saw_a_write) {
    earlier.write_follows = true;
  }
  AccessPair pair;
  pair.earlier = use_of(earlier);
  pair.later = use_of(later);
  pair.order = order_of(w, a);
  pair.order.same_lane = same_warp && a.lane == x.lane;
  pair.order.pipelined = pipelined;
  pair.first_of_run = a.first_of_run;
  pair.within_cta = a.id.rank == x.id.rank && rank == x.id.rank;
  pair.earlier_saw_a_write = earlier.saw_a_write && (earlier.saw_halves & later.halves) != 0;
  pair.later_knows_older_write = knows_older;
  pair.relaxed_wait = w.last_relaxed_wait;
  if (pair.earlier.is_load() && !complete && pair.order.issued) pair.release = release_of(w, earlier.operation);
  log.add(pair);
}

// --- frees ---

void TensorMemory::free_columns(const WarpState& w, const Allocation& freed, uint32_t rank, const Site& free,
                                uint8_t cta_group, ObservationLog& log) {
  std::vector<bool> seen(accesses_.size(), false);
  columns_[rank].each(freed.base, freed.base + freed.columns, [&](Column& column) {
    for (const Touch& t : column.touches) {
      if (seen[t.access]) continue;
      seen[t.access] = true;
      const Operation& a = operations_[accesses_[t.access].operation];
      log.count_decided();
      if (a.complete(w.knowledge.any())) continue;
      FreePair pair;
      pair.free = free;
      pair.cta_group = cta_group;
      pair.access = use_of(accesses_[t.access]);
      pair.order = order_of(w, a);
      pair.peer_columns = rank != w.id.rank;
      pair.peer_access = pair.peer_columns || a.id.rank != w.id.rank;
      if (pair.access.is_load() && pair.order.issued) pair.release = release_of(w, accesses_[t.access].operation);
      log.add(pair);
    }
  });
}

void TensorMemory::use_load(uint32_t operation, uint32_t lanes) {
  Operation& load = operations_[operation];
  if ((load.used & lanes) == lanes) return;
  load.used |= lanes;
  const auto arrivals = static_cast<uint32_t>(arrivals_[load.warp].size());
  if (load.last_use != kNone && uses_[load.last_use].arrivals == arrivals) {
    uses_[load.last_use].used = load.used;
    return;
  }
  uses_.push_back({arrivals, load.used, load.last_use});
  load.last_use = static_cast<uint32_t>(uses_.size() - 1);
}

void TensorMemory::note_arrival(const WarpState& w, uint32_t instruction) {
  Arrival a;
  a.event = w.knowledge.now();
  a.instruction = instruction;
  arrivals_[w.index].push_back(a);
}

// How the warp of a pending load let the warp `w` go on: by its last arrival that `w` knows of. Results that were used
// behind that arrival do not count: `w` may have gone on before.
LoadRelease TensorMemory::release_of(const WarpState& w, uint32_t operation) const {
  const Operation& load = operations_[operation];
  LoadRelease out;
  out.lanes = load.lanes;
  out.used = load.used;
  if (load.warp == w.index) return out;
  const uint32_t until = w.knowledge.any().event(load.warp);
  const std::vector<Arrival>& arrivals = arrivals_[load.warp];
  size_t last = arrivals.size();
  for (size_t n = 0; n < arrivals.size(); ++n) {
    if (arrivals[n].event > load.event && arrivals[n].event <= until) last = n;
  }
  if (last == arrivals.size()) return out;
  out.instruction = arrivals[last].instruction;
  uint32_t use = load.last_use;
  while (use != kNone && uses_[use].arrivals > last) use = uses_[use].previous;
  out.used = use == kNone ? 0 : uses_[use].used;
  return out;
}

bool TensorMemory::has_written(const std::vector<uint32_t>& instructions) const {
  return std::any_of(instructions.begin(), instructions.end(),
                     [&](uint32_t i) { return std::binary_search(written_by_.begin(), written_by_.end(), i); });
}

}  // namespace tmemlint::cluster
