#include "analyzer/cluster/observations.h"

#include <type_traits>

#include "analyzer/cluster/observation_log.h"

namespace tmemlint::cluster {

namespace {

// Truths as one number of a key.
template <typename... Truths>
uint32_t bits(Truths... truths) {
  uint32_t out = 0;
  ((out = (out << 1) | (truths ? 1u : 0u)), ...);
  return out;
}

uint32_t of_order(const Order& o) {
  return bits(o.same_warp, o.same_lane, o.issued, o.issued_fenced, o.pipelined, o.complete, o.complete_fenced,
              o.complete_strict);
}
uint32_t of_use(const TmemUse& u) {
  return (static_cast<uint32_t>(u.op) << 8) | (static_cast<uint32_t>(u.role) << 2) | bits(u.reads, u.writes);
}
uint32_t parity(const Site& s) {
  return s.warp.rank & 1;
}

// For each kind of observation the fields that tell two of them apart. The warps of a CTA, and numbers that only a
// message shows, do not.
struct Fields {
  using Key = std::array<uint32_t, 5>;

  Key operator()(const AccessPair& p) const {
    const uint32_t rest = bits(p.within_cta, p.earlier_saw_a_write, p.later_knows_older_write, p.relaxed_wait != kNone,
                               p.release.instruction != kNone, parity(p.later.site) != 0);
    return {p.earlier.site.instruction, p.later.site.instruction, (of_order(p.order) << 8) | rest,
            (of_use(p.earlier) << 16) ^ of_use(p.later),
            p.first_of_run ^ (p.relaxed_wait * 0x9e37u) ^ (p.release.instruction * 0x85ebu)};
  }
  Key operator()(const FreePair& p) const {
    return {p.free.instruction, p.access.site.instruction,
            (of_order(p.order) << 8) | bits(p.cta_group == 2, p.peer_access, p.peer_columns, parity(p.free) != 0),
            of_use(p.access), p.release.instruction};
  }
  Key operator()(const StrayAccess& s) const {
    return {s.access.instruction, s.alloc, bits(s.any_live, parity(s.access) != 0), s.alloc_beside.instruction};
  }
  Key operator()(const FreedAccess& s) const {
    return {s.access.instruction, s.free.instruction, bits(s.ordered, parity(s.access) != 0, parity(s.free) != 0)};
  }
  Key operator()(const UnwrittenRead& r) const {
    return {r.access.instruction, r.alloc, bits(r.loop_never_ran, parity(r.access) != 0)};
  }
  Key operator()(const SlotRace& r) const {
    return {r.use.instruction, r.alloc, static_cast<uint32_t>(r.kind), parity(r.use), r.read};
  }
  Key operator()(const AllocRequest& r) const {
    return {r.alloc.instruction, static_cast<uint32_t>(r.columns), parity(r.alloc)};
  }
  Key operator()(const AllocPair& p) const {
    return {p.earlier.instruction, p.later.instruction, bits(p.ordered, parity(p.later) != 0), p.earlier_columns,
            p.later_columns};
  }
  Key operator()(const LateAlloc& a) const { return {a.alloc.instruction, a.relinquish.instruction, parity(a.alloc)}; }
  Key operator()(const RepeatedAlloc& a) const { return {a.alloc.instruction, parity(a.alloc)}; }
  Key operator()(const BlockedAlloc& a) const { return {a.alloc.instruction, parity(a.alloc)}; }
  Key operator()(const Free& f) const {
    const uint32_t truths =
        bits(f.at_start, f.exclusive, f.alloc_exclusive, f.allocator == f.site.warp, f.freed_before.has_value(),
             f.freed_before && f.freed_before->warp == f.site.warp, parity(f.site) != 0);
    return {f.site.instruction, f.alloc, truths, (f.columns << 16) ^ f.alloc_columns,
            f.freed_before ? f.freed_before->instruction : kNone};
  }
  Key operator()(const LeftAllocated& l) const { return {l.alloc.instruction, parity(l.alloc)}; }
  Key operator()(const PermitKept& k) const { return {k.alloc.instruction, parity(k.alloc)}; }
  Key operator()(const ManyIssuers& m) const { return {m.site.instruction, parity(m.site)}; }
  Key operator()(const CommitMask& m) const { return {m.commit.instruction, m.mask, m.commit.warp.rank}; }
  Key operator()(const DoubleIssue& d) const { return {d.site.instruction, parity(d.site)}; }
  Key operator()(const EarlyReach& r) const { return {r.site.instruction, r.not_ready, parity(r.site)}; }
  Key operator()(const UnjoinedFree& f) const { return {f.free.instruction, f.alloc, parity(f.free)}; }
  Key operator()(const SplitFree& f) const { return {f.early.instruction, f.late, parity(f.early)}; }
  Key operator()(const OneSidedPair& p) const { return {p.site.instruction, parity(p.site)}; }
  Key operator()(const UnfencedOperand& o) const { return {o.read.instruction, o.store.instruction, parity(o.read)}; }
  Key operator()(const OperandRace& r) const {
    return {r.read.instruction, r.write.instruction, static_cast<uint32_t>(r.kind),
            bits(r.ordered, parity(r.read) != 0), r.release};
  }
  Key operator()(const Arrival& a) const {
    return {a.arrival.instruction, a.init, bits(a.knows_last_round, a.more_than_pending, parity(a.arrival) != 0),
            (a.arrival.warp.rank << 8) | a.barrier_rank};
  }
  Key operator()(const MbarrierMisuse& m) const {
    return {m.site.instruction, m.other.instruction, static_cast<uint32_t>(m.kind),
            (parity(m.site) << 1) | parity(m.other)};
  }
  Key operator()(const OvertakenWait& o) const {
    return {o.wait.instruction, o.init, bits(o.stale, parity(o.wait) != 0), o.by.instruction};
  }
  Key operator()(const ParityOutOfRange& p) const { return {p.wait.instruction, parity(p.wait)}; }
  Key operator()(const BytesDiffer& b) const {
    return {b.announcement.instruction, static_cast<uint32_t>(b.announced), static_cast<uint32_t>(b.brought),
            parity(b.announcement)};
  }
  Key operator()(const Hang&) const { return {}; }  // a scenario has one end
  Key operator()(const OperationInFlight& o) const { return {o.exit, o.operation.instruction, parity(o.operation)}; }
  Key operator()(const LateReach& r) const { return {r.site.instruction, r.exit, parity(r.site)}; }
};

uint64_t hash_of(const ObservationKey& key) {
  constexpr uint64_t kMix = 0x9e3779b97f4a7c15u;
  uint64_t hash = (uint64_t{key[0]} << 32 | key[1]) * kMix;
  hash = (hash ^ (hash >> 32) ^ (uint64_t{key[2]} << 32 | key[3])) * kMix;
  hash = (hash ^ (hash >> 32) ^ (uint64_t{key[4]} << 32 | key[5])) * kMix;
  return hash ^ (hash >> 32);
}

}  // namespace

ObservationKey key_of(const Observation& observation) {
  const Fields::Key fields = std::visit(Fields{}, observation);
  return {static_cast<uint32_t>(observation.index()), fields[0], fields[1], fields[2], fields[3], fields[4]};
}

bool KeySet::add(const ObservationKey& key) {
  const uint64_t hash = hash_of(key);
  if (index_.find(hash, [&](uint32_t n) { return keys_[n - 1] == key; }) != 0) return false;
  index_.add(hash);
  keys_.push_back(key);
  return true;
}

void ObservationLog::add(Observation what) {
  if (!keys_.add(key_of(what))) return;
  guesses_before_.push_back(guesses_);
  Observed o;
  o.what = std::move(what);
  o.decided = static_cast<uint32_t>(decisions_.size());
  o.doubtful = doubtful_;
  observed_.push_back(std::move(o));
}

void ObservationLog::mark_doubtful_after(size_t guesses) {
  for (size_t n = 0; n < observed_.size(); ++n) {
    if (guesses_before_[n] > guesses) observed_[n].doubtful = true;
  }
}

}  // namespace tmemlint::cluster
