// What the lanes of one warp know of each other's stores. Lanes that branched apart meet again without being ordered by
// that: an arrival by some of them stands for what they have done themselves, and for what the others had done when the
// warp was joined last.
//
// bar.warp.sync joins lanes, and so do barriers (ISA 9.7.13.1, 9.7.13.2). Compilers' code relies on other instructions
// that all lanes execute together too (shuffles, votes, elect.sync, .aligned ones): they count as joins.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "analyzer/cluster/observations.h"

namespace tmemlint::cluster {

class LaneOrder {
public:
  // Stores of lanes that run apart from others of their warp, one behind the other.
  struct Apart {
    uint32_t first = 0, last = 0;     // events of the warp
    uint32_t lanes = 0;               // that executed them
    uint32_t covered = 0;             // the event from which on the warp's arrivals stand for them; 0: none does yet
    uint32_t missed_by = ptx::kNone;  // instruction of the first arrival that does not
  };

  // Up to this event all lanes know what the others have done.
  uint32_t joined() const { return joined_; }
  // `now`: the last event of the warp.
  void join(uint32_t now) { join_up_to(now, now + 1); }
  // The warp learned from others of what it had done itself.
  void learn(uint32_t event, uint32_t now) { join_up_to(event, now); }

  void store_apart(uint32_t event, uint32_t lanes) {
    if (!apart_.empty()) {
      Apart& last = apart_.back();
      if (last.covered == 0 && last.lanes == lanes && last.missed_by == ptx::kNone) {
        last.last = event;
        return;
      }
    }
    apart_.push_back({event, event, lanes, 0, ptx::kNone});
  }
  // Some lanes arrive at a barrier.
  void arrive(uint32_t event, uint32_t lanes, uint32_t instruction) {
    for (Apart& a : apart_) {
      if (a.covered != 0) continue;
      if ((a.lanes & lanes) != 0) {
        a.covered = event;
      } else if (a.missed_by == ptx::kNone) {
        a.missed_by = instruction;
      }
    }
    forget_covered();
  }
  // The stores of an event, if lanes apart from others executed them.
  const Apart* apart(uint32_t event) const {
    const auto at =
        std::find_if(apart_.begin(), apart_.end(), [&](const Apart& a) { return a.first <= event && event <= a.last; });
    return at == apart_.end() ? nullptr : &*at;
  }
  const std::vector<Apart>& all_apart() const { return apart_; }

private:
  void join_up_to(uint32_t event, uint32_t from) {
    if (event <= joined_) return;
    joined_ = event;
    for (Apart& a : apart_) {
      if (a.covered == 0 && a.last <= event) a.covered = from;
    }
  }
  // What an arrival stands for is ordered as any other store is, but for those who wait for an arrival before it. A few
  // are kept for them.
  void forget_covered() {
    if (apart_.size() <= kKept) return;
    std::erase_if(apart_, [&](const Apart& a) { return a.covered != 0; });
  }

  static constexpr size_t kKept = assumptions::kStoresApart;
  std::vector<Apart> apart_;
  uint32_t joined_ = 0;
};

}  // namespace tmemlint::cluster
