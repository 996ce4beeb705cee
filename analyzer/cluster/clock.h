// Vector clocks: what a warp knows of the others (Lamport, Fidge, Mattern).
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace tmemlint::cluster {

// An event of a warp: another warp that knows of it knows of all that the warp did before.
struct WarpEvent {
  uint32_t warp = 0;  // among all warps of the cluster
  uint32_t event = 0;
};

// By warp of the cluster: the last of its events that is known to have happened; and the last of its commits that is
// known to have arrived, which means that everything the same thread issued before it is complete (ISA 9.7.16.12).
class Clock {
public:
  explicit Clock(size_t warps = 0) : events_(warps, 0), commits_(warps, 0) {}

  void join(const Clock& other) {
    if (events_.size() < other.events_.size()) {
      events_.resize(other.events_.size(), 0);
      commits_.resize(other.commits_.size(), 0);
    }
    for (size_t n = 0; n < other.events_.size(); ++n) {
      events_[n] = std::max(events_[n], other.events_[n]);
      commits_[n] = std::max(commits_[n], other.commits_[n]);
    }
  }
  uint32_t tick(uint32_t warp) { return ++events_[warp]; }
  void see_commit(uint32_t warp, uint32_t number) { commits_[warp] = std::max(commits_[warp], number); }
  bool knows(uint32_t warp, uint32_t event) const { return events_[warp] >= event; }
  bool knows_commit(uint32_t warp, uint32_t number) const { return commits_[warp] >= number; }
  size_t size() const { return events_.size(); }
  uint32_t event(uint32_t warp) const { return events_[warp]; }
  uint32_t commit(uint32_t warp) const { return commits_[warp]; }

private:
  std::vector<uint32_t> events_;
  std::vector<uint32_t> commits_;
};

// What is known by any synchronisation; what is known by one that orders tcgen05 operations too, which a relaxed arrive
// or wait does with the tcgen05 fences only (ISA 9.7.16.6.4); and what would be known if every synchronisation needed
// them.
struct Knowledge {
  Clock any;
  Clock fenced;
  Clock strict;

  explicit Knowledge(size_t warps = 0) : any(warps), fenced(warps), strict(warps) {}
  void join(const Knowledge& other) {
    any.join(other.any);
    fenced.join(other.fenced);
    strict.join(other.strict);
  }
  void tick(uint32_t warp) {
    any.tick(warp);
    fenced.tick(warp);
    strict.tick(warp);
  }
  void see_commit(uint32_t warp, uint32_t number) {
    any.see_commit(warp, number);
    fenced.see_commit(warp, number);
    strict.see_commit(warp, number);
  }
};

}  // namespace tmemlint::cluster
