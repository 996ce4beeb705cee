// The tcgen05 instructions of a scenario: what they touch, and in what order that may be.
#include <algorithm>
#include <bit>

#include "analyzer/cluster/run.h"

namespace tmemlint::cluster {

using program::Arg;
using program::Meaning;
using ptx::Tcgen05;
using value::Value;
using warp::Truth;

namespace {

constexpr uint32_t kCapacity = 512;  // columns

uint32_t first_lane(uint32_t lanes) {
  return static_cast<uint32_t>(std::countr_zero(lanes));
}

}  // namespace

Run::Place Run::place(Warp& w, const Value& value, uint32_t lanes) {
  Place out;
  const unsigned lane = first_lane(lanes);
  const Value one = terms_.lane(value, lane);
  const uint64_t offset = value::truncate(one.number, 32);
  out.lane = static_cast<uint32_t>(offset >> 16) & 127;
  out.offset = static_cast<int64_t>(offset & 0xffff);
  if (one.base == 0) {
    out.known = true;
    out.column = static_cast<uint32_t>(out.offset);
    for (uint32_t a = 0; a < allocations_.size(); ++a) {
      const Allocation& of = allocations_[a];
      if (of.rank == w.rank && of.live && out.column >= of.base && out.column < of.base + of.columns)
        out.allocation = a;
    }
    return out;
  }
  auto it = allocation_of_.end();
  bool rest = false;
  for (const value::Terms::Part part : terms_.parts(one.base)) {
    const auto found = part.coefficient == 1 ? allocation_of_.find(part.term) : allocation_of_.end();
    if (found != allocation_of_.end() && it == allocation_of_.end()) {
      it = found;
    } else {
      rest = true;
    }
  }
  if (it == allocation_of_.end()) {
    // A stage that is chosen by what is not known: chosen now.
    const Value before = one;
    walked_.assign(terms_.size(), false);
    decide_truths(w, one.base);
    const Value now = resolve(terms_, w.machine.facts, one);
    return now == before ? out : place(w, now, lanes);
  }
  if (rest) {
    Value base;
    base.base = it->first;
    const auto n = number(w, terms_.apply({value::Op::kSub, 32, false, 0}, one, base), lanes, 32);
    if (!n) return out;
    out.lane = static_cast<uint32_t>(*n >> 16) & 127;
    out.offset = static_cast<int64_t>(*n & 0xffff);
  }
  out.known = true;
  out.based = true;
  out.allocation = it->second;
  out.column = allocations_[it->second].base + static_cast<uint32_t>(out.offset);
  return out;
}

uint32_t Run::start(Warp& w, uint32_t n, const ptx::Form& form, uint32_t lanes) {
  tick(w);
  Operation op;
  op.warp = w.index;
  op.rank = w.rank;
  op.event = w.known.any.event(w.index);
  op.instruction = instruction_of(n);
  op.batch = op.instruction;
  op.lane = static_cast<uint8_t>(first_lane(lanes));
  op.form = form;
  op.lanes = lanes;
  operations_.push_back(op);
  return static_cast<uint32_t>(operations_.size() - 1);
}

bool Run::knows_cta(const Warp& w, uint32_t rank) const {
  for (uint32_t k = 0; k < warps_per_cta_; ++k) {
    if (w.known.any.event(rank * warps_per_cta_ + k) != 0) return true;
  }
  return false;
}

const Run::Release* Run::last_release(const Operation& op, uint32_t until) const {
  const Release* found = nullptr;
  for (const Release& r : warps_[op.warp]->releases) {
    if (r.event > op.event && r.event <= until) found = &r;
  }
  return found;
}

// A load that its warp has not waited for meets an access or dealloc, which an arrival of that warp let go on.
void Run::load_not_waited(Warp& w, uint32_t operation, uint32_t at) {
  const Operation& a = operations_[operation];
  const Warp& other = *warps_[a.warp];
  const Release* release = a.warp == w.index ? nullptr : last_release(a, w.known.any.event(a.warp));
  // Of the warp's own accesses, its paths say this better.
  Sighting& s = see(Fault::kLoadNotWaited, other, release == nullptr ? at : release->instruction, a.instruction);
  s.third = at;
  s.other_warp = w.number;
  s.other_rank = other.rank;
  s.lanes = a.lanes;
  s.used = a.used;
  if (release == nullptr) return;
  // What is used behind the arrival does not help those that it lets go on.
  const auto pending = std::lower_bound(release->used.begin(), release->used.end(), std::pair{operation, 0u});
  if (pending != release->used.end() && pending->first == operation) s.used = pending->second;
}

void Run::touch(Warp& w, uint32_t operation, Role role, bool reads, bool writes, const Place& at, uint32_t columns,
                uint8_t halves, uint32_t rank, bool certain) {
  const uint32_t here = operations_[operation].instruction;
  const auto id = static_cast<uint32_t>(accesses_.size());
  accesses_.push_back({operation, role, reads, writes});
  checked_.push_back(UINT32_MAX);
  const bool own = rank == w.rank;
  ++asked;
  if (!at.known) return;
  ++decided;
  const Allocation* of = at.allocation == UINT32_MAX ? nullptr : &allocations_[at.allocation];
  bool outside = false;
  if (own) {
    if (of == nullptr) {
      bool any_live = false;
      const Allocation* dead = nullptr;
      for (const Allocation& a : allocations_) {
        if (a.rank != rank) continue;
        any_live = any_live || a.live;
        if (!a.live && at.column >= a.base && at.column < a.base + a.columns) dead = &a;
      }
      if (dead != nullptr && !any_live) {
        of = dead;
      } else if (!any_live) {
        see(Fault::kUnallocated, w, here).first = at.column;
      } else if (certain) {
        Sighting& s = see(Fault::kOutOfBounds, w, here);
        s.first = at.column;
        s.second = columns;
      }
    }
    if (of != nullptr && !of->live) {
      const bool ordered = of->freed_warp == w.index || w.known.any.knows(of->freed_warp, of->freed_event);
      Sighting& s = ordered ? see(Fault::kAfterDealloc, w, here, of->freed_by)
                            : see(Fault::kFreeRace, *warps_[of->freed_warp], of->freed_by, here);
      s.other_warp = ordered ? warps_[of->freed_warp]->number : w.number;
      return;
    }
    // The first column is certain whatever the shape.
    const uint32_t sure = certain ? columns : 1;
    outside = of != nullptr && of->columns != 0 && (at.offset < 0 || at.column + sure > of->base + of->columns);
    if (outside) {
      Sighting& s = see(Fault::kOutOfBounds, w, here, of->instruction);
      s.first = int64_t{at.column} - of->base;
      s.second = sure;
      s.extra = of->columns;
    }
  }
  uint32_t end = std::min(at.column + columns, kColumns);
  if (at.column >= kColumns) return;
  bool any_written = false;
  columns_[rank].each(at.column, end, [&](Column& column) {
    any_written = any_written || (column.written & halves) != 0;
    for (uint32_t write : {column.last_write, column.older_write}) {
      if (write != UINT32_MAX && operations_[accesses_[write].operation].complete(w.known.any))
        accesses_[id].fed = true;
    }
    for (const Touch& t : column.touches) {
      if ((t.halves & halves) == 0 || checked_[t.access] == id) continue;
      checked_[t.access] = id;
      const Access earlier = accesses_[t.access];
      if (earlier.operation == operation || (!earlier.writes && !writes)) continue;
      bool has_older = false;
      for (uint32_t older : {column.last_write, column.older_write}) {
        has_older = has_older || (older != UINT32_MAX && older != t.access &&
                                  operations_[accesses_[older].operation].complete(w.known.any));
      }
      conflict(w, t.access, id, rank, has_older);
    }
  });
  if (writes && own) wrote_.insert(here);
  if (reads && !any_written && own && of != nullptr && of->live && !outside) {
    const bool zero_trips = chose_trips && policy_.trips == 0;
    unwritten_reads_.push_back({id, w.index, of->instruction, columns, at.offset, zero_trips, ways_.size()});
  }
  if (writes && !certain && of != nullptr) {
    // How far it reaches is not known: what lies behind counts as written.
    columns_[rank].each(at.column, of->base + of->columns, [&](Column& c) { c.written |= halves; });
  }
  const Operation mine = operations_[operation];
  columns_[rank].each(at.column, end, [&](Column& column) {
    if (writes) {
      column.written |= halves;
      if (column.last_write != UINT32_MAX) {
        const Operation& last = operations_[accesses_[column.last_write].operation];
        const bool same_batch = last.warp == mine.warp && last.form.completion == mine.form.completion &&
                                last.commit == 0 && last.waited == 0;
        if (!same_batch) {
          column.older_write = column.last_write;
        } else {
          operations_[operation].batch = last.batch;
        }
      }
      column.last_write = id;
    }
    std::erase_if(column.touches, [&](const Touch& t) {
      if ((t.halves & ~halves) != 0) return false;
      const Access& old = accesses_[t.access];
      const Operation& o = operations_[old.operation];
      // What is complete is implied by this access; so is what the same thread issued before and the same wait covers.
      if (writes && o.complete(w.known.any)) return !old.writes || mine.by_commit() || !reads;
      const bool same_tracker = o.warp == mine.warp && o.form.completion == mine.form.completion &&
                                (!mine.by_commit() || o.lane == mine.lane);
      return same_tracker && (writes || !old.writes) && (old.role == role || role == Role::kAccumulator);
    });
    column.touches.push_back({id, halves});
  });
}

void Run::conflict(Warp& w, uint32_t earlier_access, uint32_t access, uint32_t rank, bool has_older) {
  const Access earlier = accesses_[earlier_access];
  const Operation a = operations_[earlier.operation];
  const Access later = accesses_[access];
  const Operation x = operations_[later.operation];
  ++asked;
  ++decided;
  const bool same_warp = a.warp == w.index;
  const Warp& other = *warps_[a.warp];
  auto named = [&](Sighting& s) -> Sighting& {
    s.other_warp = other.number;
    s.other_rank = other.rank;
    return s;
  };
  if (a.complete(w.known.any)) {
    if (!same_warp && !a.complete(w.known.fenced) && w.last_relaxed != kNone) {
      named(see(Fault::kFence, w, w.last_relaxed, a.instruction)).third = x.instruction;
    } else if (!same_warp && !said_unfenced_ && !a.complete(w.known.strict)) {
      said_unfenced_ = true;
      named(see(Fault::kNoFence, w, x.instruction, a.instruction));
    }
    return;
  }
  const bool issued = same_warp || a.issued(w.known.any);
  if (issued && pipelined(a, earlier.role, x, later.role)) {
    if (a.by_commit() && a.lane != x.lane && same_warp)
      named(see(Fault::kAsyncOverlap, w, x.instruction, a.instruction));
    if (!same_warp && !a.issued(w.known.fenced) && w.last_relaxed != kNone) {
      named(see(Fault::kFence, w, w.last_relaxed, a.instruction)).third = x.instruction;
    }
    return;
  }
  if (issued) {
    if (a.is_load()) {
      load_not_waited(w, earlier.operation, x.instruction);
    } else if (a.is_store()) {
      Sighting& s = named(see(Fault::kStoreNotWaited, other, a.instruction, x.instruction));
      s.other_warp = w.number;
    } else if (x.by_commit()) {
      const bool scales =
          (earlier.role == Role::kScale || earlier.role == Role::kMetadata) && x.form.op == Tcgen05::kCp && same_warp;
      named(see(scales ? Fault::kScaleCopyOverlap : Fault::kAsyncOverlap, w, x.instruction, a.instruction));
    } else {
      named(see(Fault::kNotComplete, w, x.instruction, a.instruction)).sure = true;
    }
    return;
  }
  // Nothing orders the two.
  if (earlier.reads && later.writes && !earlier.fed) {
    // The earlier one read before anything was there: it is this write that it should have waited for.
    accesses_[earlier_access].excused = true;
    Sighting& s = see(x.by_commit() && !a.by_commit() ? Fault::kNotComplete : Fault::kHandoff, other, a.instruction,
                      x.instruction);
    s.other_warp = w.number;
    s.other_rank = w.rank;
    return;
  }
  if (has_older && later.reads && earlier.writes) {
    // The later one reads what was there before: the other came too early.
    Sighting& s = see(Fault::kHandoff, other, a.batch, x.instruction);
    s.other_warp = w.number;
    s.other_rank = w.rank;
    return;
  }
  if (a.by_commit() && !x.by_commit()) {
    named(see(Fault::kNotComplete, w, x.instruction, a.instruction));
    return;
  }
  if (a.by_commit() && x.by_commit() && a.rank == x.rank && rank == x.rank) {
    named(see(Fault::kAsyncOverlap, w, x.instruction, a.instruction));
    return;
  }
  named(see(Fault::kHandoff, w, x.instruction, a.instruction));
}

void Run::freed(Warp& w, const Access& earlier, uint32_t here, uint32_t rank, uint32_t cta_group) {
  const Operation& a = operations_[earlier.operation];
  ++asked;
  ++decided;
  const Warp& other = *warps_[a.warp];
  const bool peer = other.rank != w.rank || rank != w.rank;
  if (a.complete(w.known.any)) return;
  const bool same_warp = a.warp == w.index;
  const bool issued = same_warp || a.issued(w.known.any);
  auto named = [&](Sighting& s) {
    s.other_warp = other.number;
    s.other_rank = other.rank;
  };
  if (cta_group == 2 && peer) {
    if (a.by_commit()) {
      named(see(Fault::kPairFree, w, here, a.instruction));
    } else if (rank != w.rank) {
      named(see(Fault::kPairFreeLoads, w, here, a.instruction));
    }
    return;
  }
  if (rank != w.rank) return;
  if (a.by_commit()) {
    named(see(Fault::kNotComplete, w, here, a.instruction));
    return;
  }
  if (!issued) {
    named(see(Fault::kFreeRace, w, here, a.instruction));
    return;
  }
  if (a.is_load()) {
    load_not_waited(w, earlier.operation, here);
  } else {
    Sighting& s = see(Fault::kStoreNotWaited, other, a.instruction, here);
    named(s);
    s.other_warp = w.number;
  }
}

bool Run::tcgen05(Warp& w, uint32_t n, const program::Step& step, const Meaning& m, uint32_t lanes) {
  const ptx::OperandRoles& roles = program_.roles[step.roles];
  switch (m.form.op) {
    case Tcgen05::kAlloc:
      return alloc(w, n, step, roles, m.form, lanes);
    case Tcgen05::kDealloc:
      dealloc(w, n, step, roles, m.form, lanes);
      break;
    case Tcgen05::kRelinquish:
      tick(w);
      relinquished_.try_emplace(w.rank, Relinquish{w.index, w.known.any.event(w.index), step.instruction});
      // An alloc of another warp that nothing orders before this may as well come after it.
      for (const Allocation& a : allocations_) {
        if (a.rank != w.rank || a.warp == w.index || w.known.any.knows(a.warp, a.event)) continue;
        see(Fault::kAfterRelinquish, *warps_[a.warp], a.instruction, step.instruction).other_warp = w.number;
      }
      add_log(w, step.instruction, lanes);
      break;
    case Tcgen05::kLd:
    case Tcgen05::kLdRed:
    case Tcgen05::kSt:
      load_store(w, n, step, roles, m.form, lanes);
      break;
    case Tcgen05::kWaitLd:
      tick(w);
      w.loads.each([&](uint32_t operation) { operations_[operation].waited = w.known.any.event(w.index); });
      w.loads.clear();
      add_log(w, step.instruction, lanes);
      break;
    case Tcgen05::kWaitSt:
      tick(w);
      for (uint32_t operation : w.stores) operations_[operation].waited = w.known.any.event(w.index);
      w.stores.clear();
      add_log(w, step.instruction, lanes);
      break;
    case Tcgen05::kCp:
    case Tcgen05::kShift:
    case Tcgen05::kMma:
    case Tcgen05::kMmaWs:
      single(w, n, step, roles, m.form, lanes);
      break;
    case Tcgen05::kCommit:
      commit(w, n, step, roles, m.form, lanes);
      break;
    case Tcgen05::kFenceBefore:
      w.at_fence.fenced = w.known.fenced;
      w.at_fence.strict = w.known.strict;
      break;
    case Tcgen05::kFenceAfter:
      w.known.fenced.join(w.unfenced.fenced);
      w.known.strict.join(w.unfenced.strict);
      break;
    default:
      break;
  }
  return true;
}

bool Run::alloc(Warp& w, uint32_t n, const program::Step& step, const ptx::OperandRoles& roles, const ptx::Form& form,
                uint32_t lanes) {
  const uint32_t here = step.instruction;
  const Arg* slot_arg = arg(step, roles.address);
  const Arg* size_arg = arg(step, roles.columns);
  if (slot_arg == nullptr || size_arg == nullptr) return true;
  const auto slot = number(w, w.machine.shared_address(*slot_arg), lanes, 32);
  const auto size = number(w, w.machine.read(*size_arg), lanes, 32);
  if (!size) {
    stop(here, "how many columns are allocated is not known");
    return false;
  }
  if (!ptx::legal_columns(graph_.module->target, form.exclusive, value::sign_extend(*size, 32))) {
    odd_allocs.insert(here);
    see(Fault::kAllocSize, w, here).first = value::sign_extend(*size, 32);
  }
  if (*size == 0 || *size > kColumns) {
    stopped_ = true;  // no allocation, and nothing that follows from one
    return false;
  }
  const auto columns = static_cast<uint32_t>(*size);
  // The lowest range that is free, in steps of the allocation unit.
  uint32_t live = 0;
  std::array<bool, kColumns> taken{};
  for (const Allocation& a : allocations_) {
    if (a.rank != w.rank || !a.live) continue;
    live += a.columns;
    for (uint32_t c = a.base; c < std::min(a.base + a.columns, kColumns); ++c) taken[c] = true;
  }
  uint32_t base = kNone;
  for (uint32_t c = 0; base == kNone && c + columns <= kCapacity; c += 32) {
    bool free = true;
    for (uint32_t k = c; k < c + columns && free; ++k) free = !taken[k];
    if (free) base = c;
  }
  if (base == kNone) {
    w.state = State::kAlloc;
    w.address = live;
    w.phase = columns;
    return false;
  }
  tick(w);
  ++asked;
  ++decided;
  for (const Allocation& a : allocations_) {
    if (a.rank != w.rank || a.columns == columns) continue;
    const bool ordered = w.known.any.knows(a.warp, a.event);
    if (ordered && a.columns > columns) continue;
    // Where nothing orders the two, the larger one may come second.
    const bool this_one = a.columns < columns;
    Sighting& s = see(Fault::kGrowing, this_one ? w : *warps_[a.warp], this_one ? here : a.instruction,
                      this_one ? a.instruction : here);
    s.first = std::min(a.columns, columns);
    s.second = std::max(a.columns, columns);
    s.other_warp = this_one ? warps_[a.warp]->number : w.number;
    break;
  }
  if (const auto r = relinquished_.find(w.rank); r != relinquished_.end() && r->second.warp != w.index) {
    see(Fault::kAfterRelinquish, w, here, r->second.instruction).other_warp = warps_[r->second.warp]->number;
  }
  const uint32_t site = n * ranks_ + w.rank;
  const auto [at, fresh_site] = site_warp_.try_emplace(site, w.index);
  if (!fresh_site && at->second != w.index) {
    for (const Allocation& a : allocations_) {
      // Another warp each time, and what the last one allocated is freed before: that is a guard too.
      const bool over = !a.live && (a.freed_warp == w.index || w.known.any.knows(a.freed_warp, a.freed_event));
      if (a.instruction == here && a.rank == w.rank && a.warp != w.index && slot && a.slot == *slot && !over) {
        see(Fault::kSharedAlloc, w, here).other_warp = warps_[a.warp]->number;
        break;
      }
    }
  }
  const Value address =
      terms_.allocation(value::site_of(value::UnknownKind::kRunAllocated, n), (++serial_ << 20) | w.index, columns);
  const auto id = static_cast<uint32_t>(allocations_.size());
  allocation_of_[address.base] = id;
  Allocation a;
  a.rank = w.rank;
  a.base = base;
  a.columns = columns;
  a.instruction = here;
  a.warp = w.index;
  a.event = w.known.any.event(w.index);
  a.slot = slot ? static_cast<uint32_t>(*slot) : 0;
  allocations_.push_back(a);
  columns_[w.rank].clear(base, base + columns);
  if (slot) {
    const auto where = static_cast<uint32_t>(*slot);
    Word word;
    word.bytes = 4;
    word.known = true;
    word.value = address;
    word.warp = w.index;
    word.event = a.event;
    word.instruction = here;
    word.allocation = id;
    if (const auto old = words_.find(where); old != words_.end()) {
      const uint32_t of = old->second.allocation;
      if (of != UINT32_MAX && allocations_[of].live) {
        word.overwrote = of;
        for (const auto& [reader, event] : old->second.readers) {
          if (reader == w.index || w.known.any.knows(reader, event)) continue;
          see(Fault::kSlotOverwritten, w, here, allocations_[of].instruction).other_warp = warps_[reader]->number;
          break;
        }
      }
    }
    if (const auto early = early_reads_.find(where); early != early_reads_.end() && early->second.first != w.index) {
      // Somebody read the place before anything was written there, and did not have to wait for this.
      const Warp& reader = *warps_[early->second.first];
      if (reader.rank == w.rank) see(Fault::kSlotRead, reader, early_instructions_[where], here).other_warp = w.number;
    }
    erase_words(where, where + 4);
    words_[where] = std::move(word);
  }
  add_log(
      w, here, lanes, [&] { return std::to_string(columns) + " columns from " + std::to_string(base); },
      static_cast<int32_t>(columns));
  return true;
}

void Run::dealloc(Warp& w, uint32_t n, const program::Step& step, const ptx::OperandRoles& roles, const ptx::Form& form,
                  uint32_t lanes) {
  const uint32_t here = step.instruction;
  const Arg* address_arg = arg(step, roles.address);
  if (address_arg == nullptr) return;
  tick(w);
  ++asked;
  const Value value = w.machine.read(*address_arg);
  const Place at = place(w, value, lanes);
  const Arg* size_arg = arg(step, roles.columns);
  const auto size = size_arg == nullptr ? std::nullopt : number(w, w.machine.read(*size_arg), lanes, 32);
  // What a dealloc means to free that frees something else is said of the dealloc.
  auto may_free_any = [&] {
    for (const Allocation& a : allocations_) allocs_freed.insert(a.instruction);
  };
  if (!at.known) {
    uncertain.push_back({here, "what this dealloc frees could not be followed"});
    may_free_any();
    return;
  }
  ++decided;
  uint32_t of = at.allocation;
  bool exact = at.based ? at.offset == 0 && at.lane == 0 : false;
  if (!at.based) {
    // A literal: the one allocation that starts there.
    for (uint32_t a = 0; a < allocations_.size(); ++a) {
      if (allocations_[a].rank == w.rank && allocations_[a].live && allocations_[a].base == at.column && at.lane == 0) {
        of = a;
        exact = true;
      }
    }
  }
  if (of == UINT32_MAX || !exact) {
    Sighting& s = see(Fault::kDeallocAddress, w, here, of == UINT32_MAX ? kNone : allocations_[of].instruction);
    s.first = at.based ? at.offset : at.column;
    may_free_any();
    return;
  }
  Allocation& a = allocations_[of];
  if (a.rank != w.rank) return;
  if (!a.live) {
    // One place that several warps come to is a guard that is missing.
    const bool together = a.freed_by == here && a.freed_warp != w.index;
    Sighting& s = together ? see(Fault::kSharedAlloc, w, here) : see(Fault::kDoubleDealloc, w, here, a.freed_by);
    s.other_warp = warps_[a.freed_warp]->number;
    return;
  }
  const uint64_t freed_columns = size.value_or(a.columns);
  if (freed_columns != a.columns) {
    Sighting& s = see(Fault::kDeallocSize, w, here, a.instruction);
    s.first = static_cast<int64_t>(freed_columns);
    s.second = a.columns;
  }
  if (a.warp != w.index) see(Fault::kForeignDealloc, w, here, a.instruction).other_warp = warps_[a.warp]->number;
  std::vector<bool> seen(accesses_.size(), false);
  auto all_touches = [&](uint32_t rank) {
    columns_[rank].each(a.base, a.base + a.columns, [&](Column& column) {
      for (const Touch& t : column.touches) {
        if (seen[t.access]) continue;
        seen[t.access] = true;
        freed(w, accesses_[t.access], here, rank, form.cta_group);
      }
    });
  };
  all_touches(w.rank);
  if (form.cta_group == 2 && ranks_ > 1) {
    const uint32_t peer = w.rank ^ 1;
    if (peer < ranks_) {
      all_touches(peer);
      uint32_t alloc = kNone;
      for (const Allocation& b : allocations_) {
        if (b.rank == peer) alloc = b.instruction;
      }
      if (!knows_cta(w, peer)) see(Fault::kPairFree, w, here, alloc).other_rank = peer;
      std::vector<PairFree>& mine = pair_frees_[w.rank];
      const std::vector<PairFree>& theirs = pair_frees_[peer];
      mine.push_back({w.cluster_phase, here});
      if (theirs.size() >= mine.size() && theirs[mine.size() - 1].phase != w.cluster_phase) {
        const PairFree& before = theirs[mine.size() - 1];
        const bool i_am_early = w.cluster_phase < before.phase;
        Sighting& s = see(Fault::kPairFreeOrder, w, i_am_early ? here : before.instruction,
                          i_am_early ? before.instruction : here);
        s.other_rank = peer;
      }
    }
  }
  a.live = false;
  a.freed_by = here;
  a.freed_warp = w.index;
  a.freed_event = w.known.any.event(w.index);
  for (const std::unique_ptr<Warp>& other : warps_) {
    if (other->state == State::kAlloc && other->rank == w.rank) other->state = State::kReady;
  }
  add_log(
      w, here, lanes, [&] { return std::to_string(a.columns) + " columns from " + std::to_string(a.base); },
      -static_cast<int32_t>(a.columns));
  (void)n;
}

void Run::load_store(Warp& w, uint32_t n, const program::Step& step, const ptx::OperandRoles& roles,
                     const ptx::Form& form, uint32_t lanes) {
  const Arg* address_arg = arg(step, roles.address);
  if (address_arg == nullptr || form.columns == 0) return;
  const Value address = w.machine.read(*address_arg);
  const uint32_t op = start(w, n, form, lanes);
  const bool is_store = form.op == Tcgen05::kSt;
  if (is_store) {
    w.stores.push_back(op);
  } else {
    w.loads.add(step.loads, op);
    w.machine.write_unknowns(step, lanes, value::Uniformity::kLane, n);
  }
  const Place at = place(w, address, lanes);
  if (!at.known) uncertain.push_back({step.instruction, "which columns this touches could not be followed"});
  note_course(w, step.instruction, at);
  Places& seen = all_.places[place_key(step.instruction, w.number)];
  if (at.known) {
    seen.lanes.set(at.lane);
  } else {
    seen.all = false;
  }
  // A warp reaches the 32 lanes of its place in the warpgroup, whatever else the address says.
  const uint32_t window = (w.number % 4) * 2;
  auto halves = static_cast<uint8_t>(3u << window);
  if (form.lanes == 16) halves = static_cast<uint8_t>(1u << (window + (at.lane % 32) / 16));
  touch(w, op, Role::kData, !is_store, is_store, at, form.columns, halves, w.rank, true);
  if (form.shape == ptx::LdStShape::k16x32bx2 && at.known) {
    if (const Arg* half = arg(step, roles.half_offset); half != nullptr) {
      if (const auto offset = number(w, w.machine.read(*half), lanes, 32)) {
        Place second = at;
        second.column += static_cast<uint32_t>(*offset);
        second.offset += static_cast<int64_t>(*offset);
        touch(w, op, Role::kData, !is_store, is_store, second, form.columns, halves, w.rank, true);
      }
    }
  }
  add_log(w, step.instruction, lanes, [&] {
    return std::string(
        at.known ? "columns " + std::to_string(at.column) + "-" + std::to_string(at.column + form.columns - 1) : "");
  });
}

void Run::note_course(const Warp& w, uint32_t instruction, const Place& at) {
  const uint32_t loop = graph_.blocks[w.waiting.front().at.block].loop;
  if (!at.known || !at.based || loop == kNone) return;
  Course& c = all_.courses[place_key(instruction, w.number)];
  const uint32_t round = w.rounds[loop];
  if (c.round != kNone && round > c.round) {
    const auto step = static_cast<int8_t>(at.offset > c.last ? 1 : at.offset < c.last ? -1 : 0);
    if (c.direction == 0) c.direction = step;
    c.comes_back = c.comes_back || step == 0 || step != c.direction;
  }
  c.round = round;
  c.last = at.offset;
}

void Run::reach_peer(Warp& w, uint32_t operation) {
  const uint32_t here = operations_[operation].instruction;
  const uint32_t peer = w.rank ^ 1;
  if (peer >= ranks_) return;
  uint32_t alloc = kNone;
  for (const Allocation& a : allocations_) {
    if (a.rank == peer) alloc = a.instruction;
  }
  ++asked;
  ++decided;
  // The pair's alloc is collective; what the two need is a join of any kind before one reaches the other.
  if (!knows_cta(w, peer)) see(Fault::kPairStart, w, here, alloc).other_rank = peer;
  const auto [it, fresh] = pair_issuers_.try_emplace({here, w.rank / 2}, w.rank);
  if (!fresh && it->second != w.rank) see(Fault::kPairLeader, w, here).other_rank = it->second;
}

void Run::check_operand(Warp& w, uint32_t operation, const Value& descriptor, uint32_t lanes) {
  const auto d = number(w, descriptor, lanes, 64);
  ++asked;
  if (!d) return;
  ++decided;
  const auto address = in_rank(static_cast<uint32_t>((*d & 0x3fff) << 4), w.rank);
  const LastStore* last = stored_.find(address);
  if (last == nullptr) return;
  const LastStore s = *last;
  for (const std::unique_ptr<Warp>& u : warps_) {
    for (const Warp::ProxyFence& f : u->proxy_fences) {
      const bool seen = u->index == w.index || w.known.any.knows(u->index, f.event);
      if (seen && f.known.knows(s.warp, s.event)) return;
    }
  }
  see(Fault::kProxyFence, w, operations_[operation].instruction, s.instruction).other_warp = warps_[s.warp]->number;
}

void Run::single(Warp& w, uint32_t n, const program::Step& step, const ptx::OperandRoles& roles, const ptx::Form& form,
                 uint32_t lanes) {
  const uint32_t here = step.instruction;
  if (!std::has_single_bit(lanes)) {
    see(Fault::kManyThreads, w, here).lanes = lanes;
    lanes = lanes & (~lanes + 1);
  }
  const uint32_t op = start(w, n, form, lanes);
  w.uncommitted.push_back(op);
  const bool pair = form.cta_group == 2 && ranks_ > 1 && (w.rank ^ 1) < ranks_;
  if (pair) reach_peer(w, op);
  auto each_rank = [&](auto&& f) {
    f(w.rank);
    if (pair) f(w.rank ^ 1);
  };
  const Arg* address_arg = arg(step, roles.address);
  if (address_arg == nullptr) return;
  const Place d = place(w, w.machine.read(*address_arg), lanes);
  if (!d.known) uncertain.push_back({here, "which columns this touches could not be followed"});
  note_course(w, here, d);
  add_log(w, here, lanes, [&] { return std::string(d.known ? "columns from " + std::to_string(d.column) : ""); });
  if (form.op == Tcgen05::kCp) {
    if (const Arg* s = arg(step, roles.descriptor)) check_operand(w, op, w.machine.read(*s), lanes);
    each_rank([&](uint32_t r) { touch(w, op, Role::kData, false, true, d, cp_columns(form.cp_shape), 0xff, r, true); });
    return;
  }
  if (form.op == Tcgen05::kShift) {
    each_rank([&](uint32_t r) { touch(w, op, Role::kData, false, true, d, 8, 0xff, r, false); });
    return;
  }
  Operation& mine = operations_[op];
  mine.d_column = d.known ? d.column : kNone;
  if (const Arg* i = arg(step, roles.idesc)) {
    if (const auto idesc = number(w, w.machine.read(*i), lanes, 32)) {
      mine.idesc = static_cast<uint32_t>(*idesc);
      mine.idesc_known = true;
    }
  }
  const ptx::MmaShape shape = mine.idesc_known ? ptx::mma_shape(mine.idesc, form) : ptx::MmaShape{};
  auto halves_of = [&](const Place& p) -> uint8_t {
    if (!shape.half_lanes) return 0xff;
    return p.lane % 32 >= 16 ? 0xaa : 0x55;
  };
  if (const Arg* a = arg(step, roles.a)) {
    if (a->address) {
      const Place at = place(w, w.machine.read(*a), lanes);
      each_rank([&](uint32_t r) {
        touch(w, op, Role::kOperandA, true, false, at, std::max(1u, shape.a_columns), halves_of(at), r,
              shape.a_columns != 0);
      });
    } else {
      check_operand(w, op, w.machine.read(*a), lanes);
    }
  }
  if (const Arg* b = arg(step, roles.b)) check_operand(w, op, w.machine.read(*b), lanes);
  for (uint32_t role : {roles.scale_a, roles.scale_b}) {
    if (const Arg* s = arg(step, role)) {
      // How many columns they take is not in the ISA's text; the first one is certain.
      const Place at = place(w, w.machine.read(*s), lanes);
      each_rank([&](uint32_t r) { touch(w, op, Role::kScale, true, false, at, 1, 0xff, r, true); });
    }
  }
  if (const Arg* m = arg(step, roles.metadata)) {
    const Place at = place(w, w.machine.read(*m), lanes);
    each_rank([&](uint32_t r) { touch(w, op, Role::kMetadata, true, false, at, 1, 0xff, r, true); });
  }
  bool accumulates = false;
  if (const Arg* e = arg(step, roles.enable_input_d)) {
    const Value flag = w.machine.read(*e);
    Truth t = w.machine.truth_of(flag, lanes);
    if (t.unknown != 0 && model_.of_parameters(flag.base)) {
      walked_.assign(terms_.size(), false);
      decide_truths(w, flag.base);
      t = w.machine.truth_of(resolve(terms_, w.machine.facts, flag), lanes);
    }
    accumulates = t.yes != 0;
  }
  each_rank([&](uint32_t r) {
    touch(w, op, Role::kAccumulator, accumulates, true, d, std::max(1u, shape.d_columns), halves_of(d), r,
          shape.d_columns != 0);
  });
}

void Run::commit(Warp& w, uint32_t n, const program::Step& step, const ptx::OperandRoles& roles, const ptx::Form& form,
                 uint32_t lanes) {
  const uint32_t here = step.instruction;
  if (!std::has_single_bit(lanes)) {
    see(Fault::kManyThreads, w, here).lanes = lanes;
  }
  const unsigned lane = first_lane(lanes);
  tick(w);
  const Arg* address_arg = arg(step, roles.address);
  if (address_arg == nullptr) return;
  const auto target = number(w, w.machine.shared_address(*address_arg), lanes, 32, true);
  if (!target) {
    stop(here, "the mbarrier that this commit arrives on is not known");
    return;
  }
  ++w.commits;
  bool covers = false;
  std::erase_if(w.uncommitted, [&](uint32_t op) {
    Operation& o = operations_[op];
    if (o.lane != lane || o.form.cta_group != form.cta_group) return false;
    o.commit = w.commits;
    covers = true;
    return true;
  });
  Arrival a;
  a.kind = Arrival::Kind::kCommit;
  a.warp = w.index;
  a.commit = w.commits;
  a.instruction = here;
  a.knowledge = w.known;  // a commit implies tcgen05.fence::before_thread_sync
  a.knowledge.see_commit(w.index, w.commits);
  a.targets = {static_cast<uint32_t>(*target)};
  if (form.multicast) {
    const Arg* m = arg(step, roles.mask);
    const auto mask = m == nullptr ? std::nullopt : number(w, w.machine.read(*m), lanes, 32);
    if (!mask) {
      stop(here, "which CTAs this commit arrives in is not known");
      return;
    }
    if (form.cta_group == 2) {
      const uint32_t own = 3u << (w.rank & ~1u);
      ++asked;
      ++decided;
      if ((*mask & own) != own) {
        Sighting& s = see(Fault::kPairMask, w, here);
        s.first = static_cast<int64_t>(*mask);
        s.second = w.rank;
      }
    }
    a.targets.clear();
    for (uint32_t r = 0; r < ranks_; ++r) {
      if (((*mask >> r) & 1) != 0) a.targets.push_back(in_rank(static_cast<uint32_t>(*target), r));
    }
  }
  if (form.cta_group == 2 && ranks_ > 1) {
    const auto [it, fresh] = pair_issuers_.try_emplace({here, w.rank / 2}, w.rank);
    if (!fresh && it->second != w.rank) see(Fault::kPairLeader, w, here).other_rank = it->second;
  }
  commits.push_back({here, w.index, lane, a.targets, covers});
  for (uint32_t t : a.targets) {
    if (!reaches(w, t, here, w.commits)) return;
    Mbarrier* b = find(t);
    if (b == nullptr) {
      if (rank_of(t) == w.rank) stop(here, "the mbarrier that this commit arrives on was not seen to be initialised");
      return;
    }
    b->multicast = b->multicast || form.multicast;
  }
  add_log(w, here, lanes);
  under_way_.push_back(std::move(a));
  (void)n;
}

// --- the end ---

void Run::stuck() {
  for (const std::unique_ptr<Warp>& w : warps_) {
    if (w->state == State::kAlloc) {
      Sighting& s = see(Fault::kOverCapacity, *w, instruction_of(w->step));
      s.first = w->address;
      s.second = w->phase;
      return;
    }
  }
  // A number of rounds or a flag that the kernel is never launched with may well end like this.
  if (!guessed_data && (!policy_.flipped.empty() || (chose_trips && policy_.trips < 2))) {
    excused = true;
    return;
  }
  // The mbarrier that is short of arrivals; one that has some of them says the most.
  struct Blocked {
    const Warp* warp;
    State state;
    uint32_t address, step;
  };
  std::vector<Blocked> all;
  for (const std::unique_ptr<Warp>& w : warps_) {
    if (w->state == State::kOver || w->state == State::kReady) continue;
    // Lanes that only wait for others of their warp say nothing.
    if (w->state != State::kConverge) all.push_back({w.get(), w->state, w->address, w->step});
    for (const Warp::Group& g : w->waiting) {
      if (g.parked != State::kReady && g.parked != State::kConverge)
        all.push_back({w.get(), g.parked, g.address, g.step});
    }
  }
  const Blocked* waits = nullptr;
  const Mbarrier* short_of = nullptr;
  for (const Blocked& one : all) {
    if (one.state != State::kMbarrier) continue;
    const Mbarrier* b = find(one.address);
    if (b == nullptr) continue;
    // Two rounds over since the last one that was waited for, or arrived but without its bytes, or with a part of its
    // arrivals: that is where it began. Nothing at all may be a result.
    auto says = [](const Mbarrier& m) { return m.phase > m.seen + 1 ? 2 : m.pending < int64_t{m.count} ? 1 : 0; };
    if (short_of == nullptr || says(*b) > says(*short_of)) {
      short_of = b;
      waits = &one;
    }
  }
  if (all.empty()) return;
  for (const Blocked& one : all) {
    if (one.state != State::kInit) continue;
    uncertain.push_back({instruction_of(one.step), "the mbarrier was not seen to be initialised"});
    return;
  }
  const bool assumed = launch_.cluster_is_guess() && ranks_ > 1;
  if (assumed && short_of != nullptr) {
    uncertain.push_back({instruction_of(waits->step), "this wait is never satisfied in a cluster of " +
                                                          std::to_string(ranks_) +
                                                          " CTAs, which was assumed; give --cluster"});
    return;
  }
  // What this CTA sends to others of its cluster, those may send to it.
  if (launch_.cluster_is_guess() && short_of != nullptr && short_of->multicast) {
    uncertain.push_back({instruction_of(waits->step),
                         "this wait is never satisfied by what its own CTA does; others of its cluster may multicast "
                         "to it, and nothing states the cluster; give --cluster"});
    return;
  }
  // Whoever would arrive may be a warp that the assumed block does not have.
  if (launch_.block_is_guess()) {
    short_of_warps = true;
    uncertain.push_back({instruction_of((waits != nullptr ? *waits : all[0]).step),
                         "this wait is never satisfied in a CTA of " + std::to_string(launch_.threads()) +
                             " threads, which was assumed; give --block"});
    return;
  }
  if (guessed_data || short_of == nullptr) {
    uncertain.push_back({instruction_of(all[0].step),
                         guessed_data ? "no warp can go on from here in a scenario that guesses what is not known"
                                      : "no warp can go on from here: this wait is never satisfied"});
    return;
  }
  Sighting& s = see(Fault::kStuck, *waits->warp, short_of->init, instruction_of(waits->step));
  s.bytes = short_of->pending <= 0;
  s.passed = short_of->phase > short_of->seen + 1;
  s.third = s.bytes ? short_of->announced : short_of->last_arrive;
  s.first = short_of->count;
  s.second = int64_t{short_of->count} - short_of->pending;
  s.extra = short_of->phase;
  for (const Blocked& one : all) {
    const uint32_t where = instruction_of(one.step);
    if (where != s.other && std::find(s.waits.begin(), s.waits.end(), where) == s.waits.end()) s.waits.push_back(where);
  }
}

void Run::finish() {
  for (const Allocation& a : allocations_) {
    if (a.live && !complete) continue;  // it may still be freed
    (a.live ? allocs_left : allocs_freed).insert(a.instruction);
  }
  // A loop that writes Tensor Memory, and that this scenario never enters.
  bool loop_never_ran = false;
  for (const std::vector<uint32_t>& writers : ground_.loop_writers) {
    loop_never_ran =
        loop_never_ran || std::none_of(writers.begin(), writers.end(), [&](uint32_t i) { return wrote_.contains(i); });
  }
  for (const UnwrittenRead& r : unwritten_reads_) {
    if (accesses_[r.access].excused) continue;
    const Operation& read = operations_[accesses_[r.access].operation];
    Sighting& s = see(Fault::kUninitialized, *warps_[r.warp], read.instruction, r.alloc);
    s.first = r.offset;
    s.second = r.columns;
    // An mma that accumulates writes its columns itself: only a loop that was let run no time excuses it.
    const bool excused =
        loop_never_ran || std::any_of(ways_.begin(), ways_.begin() + static_cast<ptrdiff_t>(r.ways),
                                      [&](const auto& way) { return ground_.runs_no_time(way.first, way.second); });
    s.zero_trips = r.zero_trips || (excused && !read.by_commit());
  }
  // A barrier that nobody waits on has no rounds.
  std::set<uint32_t> seen;
  std::set<uint32_t> waits_from_afar;  // CTAs that wait for what others copy
  for (const auto& [address, b] : mbarriers_) {
    if (b.seen != 0) seen.insert(b.init);
    if (b.seen != 0 && b.from_afar) waits_from_afar.insert(rank_of(address));
  }
  std::erase_if(sightings, [&](const Sighting& s) {
    if (s.fault != Fault::kArrivalCount || s.third != 1) return false;
    // How many bytes each copy brings is not known: a round is over here when those of its own CTA are there. One that
    // also waits for what another CTA copies comes after what that CTA had waited for.
    if (s.other_rank != s.rank && waits_from_afar.contains(s.rank)) return true;
    return s.at != s.other && !seen.contains(s.other);
  });
  if (!complete) return;
  Knowledge all(warps_.size());
  std::vector<Clock> by_rank(ranks_, Clock(warps_.size()));
  std::vector<uint32_t> last_exit(ranks_, kNone);
  for (const std::unique_ptr<Warp>& w : warps_) {
    all.join(w->known);
    by_rank[w->rank].join(w->known.any);
    if (w->last_exit != kNone) last_exit[w->rank] = w->last_exit;
  }
  for (const Operation& op : operations_) {
    if (!op.by_commit()) continue;
    ++asked;
    ++decided;
    if (op.complete(all.any)) continue;
    see(Fault::kExitInFlight, *warps_[op.warp], warps_[op.warp]->last_exit, op.instruction);
  }
  for (const Remote& r : remote_) {
    ++asked;
    ++decided;
    // A copy that signals a barrier which its CTA never waits on says nothing of when it is done with.
    if (r.is_copy && (r.observed || !waited.contains(r.target))) continue;
    const bool seen =
        r.commit != 0 ? by_rank[r.rank].knows_commit(r.warp, r.commit) : by_rank[r.rank].knows(r.warp, r.event);
    if (seen) continue;
    see(Fault::kClusterExit, *warps_[r.warp], r.instruction, last_exit[r.rank]).other_rank = r.rank;
  }
  for (const Allocation& a : allocations_) {
    if (a.live) see(Fault::kLeak, *warps_[a.warp], a.instruction);
  }
  for (uint32_t rank = 0; rank < ranks_; ++rank) {
    if (relinquished_.contains(rank)) continue;
    for (const Allocation& a : allocations_) {
      if (a.rank != rank) continue;
      see(Fault::kNoRelinquish, *warps_[a.warp], a.instruction);
      break;
    }
  }
}

}  // namespace tmemlint::cluster
