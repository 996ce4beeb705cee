// The barriers of a joint run: mbarriers, named barriers of a CTA, the barrier of the cluster. They keep arrivals,
// phases and what the arriving warps hand on; who waits for them is the scheduler's matter.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analyzer/cluster/clock.h"
#include "analyzer/cluster/observations.h"
#include "analyzer/cluster/shared_words.h"

namespace tmemlint::cluster {

// A wait that saw a phase of an mbarrier to be complete.
struct PhaseWait {
  WarpEvent event;
  Site site;
  bool stale = false;  // the phase was over in the beginning, or the warp had seen it before
};

// Who made a phase complete.
struct Contributors {
  std::vector<WarpEvent> arrivals;
  std::vector<CommitNumber> commits;
  bool copies = false;  // and copies

  bool arrivals_are_known(const Clock& known) const;
};

// The bytes that were announced on an mbarrier and those that copies brought.
struct TransactionBytes {
  bool known = true;  // of all announcements and copies so far
  uint64_t announced = 0, brought = 0;
  int64_t surplus() const { return static_cast<int64_t>(announced) - static_cast<int64_t>(brought); }
};

// An mbarrier that was initialised again, as it was: those who do not know of the new one wait for its phases.
struct EarlierLife {
  uint32_t phase = 0;
  Knowledge done;
};

// An mbarrier object (ISA 9.7.13.15).
struct Mbarrier {
  bool live = false;
  uint32_t count = 0;               // arrivals that complete a phase
  int64_t pending = 0;              // arrivals that are still to come
  uint32_t phase = 0;               // the one that is current
  uint32_t first = 0;               // the one that it began with: even, and behind those of its earlier lives
  bool expects = false;             // bytes are announced for this phase
  Site announced;                   // the last expect_tx
  uint32_t under_way = 0;           // asynchronous copies that will complete here
  bool from_afar = false;           // some of them, in any round, were issued by other CTAs
  bool multicast = false;           // some, in any round, go to several CTAs: others of the cluster may send such too
  bool copied = false;              // a copy has completed here in this phase
  Knowledge arriving;               // of those that arrived in this phase
  Knowledge done;                   // of all phases that are complete
  uint32_t init = kNone;            // instruction
  WarpEvent initialised;            // by whom
  uint32_t init_lanes = 0;          // of that warp
  std::vector<WarpEvent> released;  // events that released to other CTAs that it is there: the first of each warp
  Site invalidated;                 // where, once it is not live any more
  std::shared_ptr<const EarlierLife> earlier;
  uint32_t seen = 0;                      // phases, from 0, that a wait has observed to be complete
  Site last_arrive;                       // the last arrival
  uint32_t relaxed_arrive = kNone;        // instruction of the last relaxed arrive
  Contributors previous, current;         // of the last complete phase, and of the current one
  std::vector<PhaseWait> seen_by;         // the waits that saw the last complete phase: the last one of each warp
  std::vector<PhaseWait> seen_by_before;  // those that saw the phase before, of the current one's parity
  std::vector<PhaseWait> overtaken;       // waits that need not have come when the next phase was over; to be told
  TransactionBytes bytes;                 // of the current phase
  TransactionBytes odd;                   // of the first phase in which they differ
  Site odd_announced;                     // where that one's are announced
  int64_t surplus = 0;                    // bytes that were announced in the phases so far and that no copy brought
  // Copies of other CTAs, as indices of signals: of the current phase, of complete ones.
  std::vector<uint32_t> copied_from_afar, seen_from_afar;
  // OperandCopies that are complete: in the current phase, in complete ones (those that still matter).
  std::vector<uint32_t> brings, brought;

  // Whether the phase of that parity is complete: the current one is of the other parity.
  bool complete(uint32_t parity) const { return (phase & 1) != (parity & 1); }
  // Nobody has done anything with it since it was initialised.
  bool untouched() const { return phase == first && pending == count && !expects && under_way == 0 && seen_by.empty(); }
  bool settled() const { return pending <= 0 && (!expects || (under_way == 0 && copied)); }
  // The phases whose arrivals, and bytes, are all there are over. True when one was.
  bool settle();
  bool arrive(uint32_t arrivals, const Knowledge& knowledge, const Site& site);
  void expect(const Site& site, std::optional<uint64_t> announced);
  // Whether somebody with that knowledge knows that the last phase before the current one is complete.
  bool knows_last_phase(const Clock& known) const;
  void note_wait(PhaseWait wait);
  // Whether a warp has seen the phase before the last complete one, and waits for its parity again.
  bool waits_again(uint32_t warp) const;
};

class Mbarriers {
public:
  // The live mbarrier at a shared address.
  Mbarrier* find(uint32_t address) {
    const auto at = all_.find(address);
    return at == all_.end() || !at->second.live ? nullptr : &at->second;
  }
  // Live or not: null where there never was one.
  Mbarrier* find_any(uint32_t address) {
    const auto at = all_.find(address);
    return at == all_.end() ? nullptr : &at->second;
  }
  void init(uint32_t address, Mbarrier barrier) { all_[address] = std::move(barrier); }
  // Whether a phase that a warp asked for is over.
  bool is_over(uint32_t address, uint32_t phase) const {
    const auto at = all_.find(address);
    return at == all_.end() || !at->second.live || at->second.phase != phase;
  }
  const std::unordered_map<uint32_t, Mbarrier>& all() const { return all_; }

private:
  std::unordered_map<uint32_t, Mbarrier> all_;  // by shared address
};

// A named barrier of one CTA (ISA 9.7.13.1).
struct NamedBarrier {
  uint32_t arrived = 0;     // threads
  uint32_t expected = 0;    // threads; 0: all of the CTA that have not left
  uint32_t generation = 0;  // times it was completed
  Knowledge arriving;
  Knowledge done;  // of the last completion
};

class NamedBarriers {
public:
  NamedBarrier& at(uint32_t rank, uint32_t id) { return all_[{rank, id}]; }
  std::map<std::pair<uint32_t, uint32_t>, NamedBarrier>& all() { return all_; }
  const std::map<std::pair<uint32_t, uint32_t>, NamedBarrier>& all() const { return all_; }

private:
  std::map<std::pair<uint32_t, uint32_t>, NamedBarrier> all_;  // by rank and number
};

// barrier.cluster of all threads of the cluster (ISA 9.7.13.3).
struct ClusterBarrier {
  uint32_t phase = 0;  // phases that are complete
  Knowledge arriving, done;
  uint32_t relaxed_arrive = kNone;  // instruction of the last relaxed arrive
};

}  // namespace tmemlint::cluster
