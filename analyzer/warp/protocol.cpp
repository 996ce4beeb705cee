#include "analyzer/warp/protocol.h"

#include <type_traits>

namespace tmemlint::warp {

namespace {

constexpr uint64_t kFactor = 0x9e3779b97f4a7c15u;  // of hashes

// Without the step of the smallest alloc, which does not tell kinds of paths apart.
uint64_t hash_of(const Holdings& h) {
  uint64_t hash = 0x1234567;
  const auto mix = [&](uint64_t n) { hash = (hash ^ n) * kFactor + (hash >> 29); };
  for (const Held& held : h.held) mix((uint64_t{held.term} << 8) | held.live);
  mix(static_cast<uint64_t>(h.smallest));
  mix(h.relinquished);
  mix((uint64_t{h.exited} << 1) | (h.unknown_dealloc ? 1 : 0));
  return hash;
}

uint64_t hash_of(const PendingLoad& p) {
  const uint64_t hash = (uint64_t{p.load} << 32 | p.step) * kFactor;
  return value::hash_with(hash ^ (uint64_t{p.lanes} << 32) ^ p.used, p.address);
}

uint64_t hash_of(const PendingStore& p) {
  return value::hash_with(p.step, p.address);
}

// The key of an access in its sets. A load that is issued again takes the place of the earlier one; a store is pending
// once for each address.
uint64_t key_of(const PendingLoad& p, uint32_t /*element*/) {
  return uint64_t{p.load} << 32;
}

uint64_t key_of(const PendingStore& p, uint32_t element) {
  return uint64_t{p.step} << 32 | element;
}

}  // namespace

uint32_t Holdings::live_allocations() const {
  uint32_t n = 0;
  for (const Held& h : held) n += h.live;
  return n;
}

template <typename Access>
uint32_t PendingSets<Access>::element_of(const Access& access, uint64_t loops) {
  const uint64_t hash = hash_of(access);
  const uint32_t found = index_.find(hash, [&](uint32_t n) { return accesses_[n] == access; });
  if (found != 0) return found;
  index_.add(hash);
  accesses_.push_back(access);
  return sets_.define(key_of(access, static_cast<uint32_t>(accesses_.size() - 1)), loops);
}

template <typename Access>
uint32_t PendingSets<Access>::with(const Terms& terms, uint32_t set, const Access& access) {
  return sets_.with(set, element_of(access, terms.loops(access.address)));
}

template <typename Access>
uint32_t PendingSets<Access>::united(const Terms& terms, uint32_t a, uint32_t b) {
  return sets_.united(a, b, [&](uint32_t x, [[maybe_unused]] uint32_t y) {
    if constexpr (std::is_same_v<Access, PendingLoad>) {
      // Both paths have issued the same load: its results count as used where they are on both.
      PendingLoad both = accesses_[x];
      both.used &= accesses_[y].used;
      if (both.used != accesses_[x].used) return element_of(both, terms.loops(both.address));
    }
    return x;
  });
}

template class PendingSets<PendingLoad>;
template class PendingSets<PendingStore>;

uint32_t ProtocolTable::number_of(const Holdings& holdings) {
  const uint64_t hash = hash_of(holdings) ^ holdings.smallest_step;
  const uint32_t found = index_.find(hash, [&](uint32_t n) { return holdings_[n] == holdings; });
  if (found != 0) return found;
  index_.add(hash);
  holdings_.push_back(holdings);
  return static_cast<uint32_t>(holdings_.size() - 1);
}

bool ProtocolTable::alike(const Protocol& a, const Protocol& b) const {
  if ((a.loads == SharedSets::kEmpty) != (b.loads == SharedSets::kEmpty)) return false;
  if ((a.stores == SharedSets::kEmpty) != (b.stores == SharedSets::kEmpty)) return false;
  if (a.holdings == b.holdings) return true;
  const Holdings& p = holdings_[a.holdings];
  const Holdings& q = holdings_[b.holdings];
  // Which alloc is the smallest does not count.
  return p.held == q.held && p.smallest == q.smallest && p.relinquished == q.relinquished && p.exited == q.exited &&
         p.unknown_dealloc == q.unknown_dealloc;
}

uint64_t ProtocolTable::hash_of_kind(const Protocol& p) const {
  const uint64_t pending = (p.loads == SharedSets::kEmpty ? 0 : 1) + (p.stores == SharedSets::kEmpty ? 0 : 2);
  return (hash_of(holdings_[p.holdings]) ^ pending) * kFactor;
}

bool ProtocolTable::merge(const Terms& terms, Protocol& a, const Protocol& b) {
  const Protocol before = a;
  a.loads = loads.united(terms, a.loads, b.loads);
  a.stores = stores.united(terms, a.stores, b.stores);
  return a != before;
}

}  // namespace tmemlint::warp
