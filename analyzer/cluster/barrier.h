// Barriers as the joint run keeps them: named barriers of a CTA, mbarriers, the cluster barrier.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "analyzer/cluster/clock.h"

namespace tmemlint::cluster {

// An mbarrier object (ISA 9.7.13.15).
struct Mbarrier {
  bool live = false;
  uint32_t count = 0;               // arrivals that complete a phase
  int64_t pending = 0;              // arrivals that are still to come
  uint32_t phase = 0;               // the one that is current, from 0
  bool expects = false;             // bytes are announced for this phase
  uint32_t announced = UINT32_MAX;  // instruction of the last expect_tx
  uint32_t under_way = 0;           // asynchronous copies that will complete here
  bool from_afar = false;           // some of them, in any round, were issued by other CTAs
  bool multicast = false;           // some, in any round, go to several CTAs: others of the cluster may send such too
  bool copied = false;              // one of them has
  Knowledge arriving;               // of those that arrived in this phase
  Knowledge done;                   // of all phases that are complete
  uint32_t init = UINT32_MAX;       // instruction
  uint32_t init_warp = 0, init_event = 0;
  uint32_t seen = 0;                     // phases that a wait has observed to be complete
  uint32_t last_arrive = UINT32_MAX;     // instruction
  uint32_t relaxed_arrive = UINT32_MAX;  // instruction of the last relaxed arrive
  // Who arrived in the last complete phase, and in the current one: warp and event.
  std::vector<std::pair<uint32_t, uint32_t>> previous, current;
  std::vector<uint32_t> copied_from_afar,
      seen_from_afar;  // copies of other CTAs: of the current phase, of complete ones

  // Whether the phase of that parity is complete: the current one is of the other parity.
  bool complete(uint32_t parity) const { return (phase & 1) != (parity & 1); }
  bool settled() const { return pending <= 0 && (!expects || (under_way == 0 && copied)); }
};

// A named barrier of one CTA (ISA 9.7.13.1).
struct NamedBarrier {
  uint32_t arrived = 0;     // threads
  uint32_t expected = 0;    // threads; 0: all
  uint32_t generation = 0;  // times it was completed
  Knowledge arriving;
  Knowledge done;  // of the last completion
};

}  // namespace tmemlint::cluster
