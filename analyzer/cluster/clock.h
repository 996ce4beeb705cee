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

// A commit of one thread. The commits of a thread are counted from 1; 0 is none.
struct CommitNumber {
  uint32_t issuer = 0;  // the thread: its number among Issuers
  uint32_t number = 0;
};

// By warp of the cluster: the last of its events that is known to have happened. By issuing thread: the last of its
// commits that is known to have arrived, which means that everything this thread issued before it is complete; it says
// nothing of what other threads of its warp issued (ISA 9.7.16.12).
class Clock {
public:
  explicit Clock(size_t warps = 0) : events_(warps, 0) {}

  void join(const Clock& other) {
    raise(events_, other.events_);
    raise(commits_, other.commits_);
  }
  uint32_t tick(uint32_t warp) { return ++events_[warp]; }
  void see_commit(const CommitNumber& c) {
    if (commits_.size() <= c.issuer) commits_.resize(c.issuer + 1, 0);
    commits_[c.issuer] = std::max(commits_[c.issuer], c.number);
  }
  bool knows(uint32_t warp, uint32_t event) const { return events_[warp] >= event; }
  bool knows_commit(const CommitNumber& c) const { return commit(c.issuer) >= c.number; }
  size_t size() const { return events_.size(); }
  uint32_t event(uint32_t warp) const { return events_[warp]; }
  uint32_t commit(uint32_t issuer) const { return issuer < commits_.size() ? commits_[issuer] : 0; }

private:
  static void raise(std::vector<uint32_t>& mine, const std::vector<uint32_t>& other) {
    if (mine.size() < other.size()) mine.resize(other.size(), 0);
    for (size_t n = 0; n < other.size(); ++n) mine[n] = std::max(mine[n], other[n]);
  }

  std::vector<uint32_t> events_;
  std::vector<uint32_t> commits_;  // as far as any is known
};

// The threads that issue operations which complete by a commit, in the order in which each was first seen to; and how
// many commits each has issued.
class Issuers {
public:
  // The number of a thread: `lane` of a warp of the cluster.
  uint32_t of(uint32_t warp, unsigned lane) {
    const uint32_t thread = warp * 32 + lane;
    for (uint32_t n = 0; n < all_.size(); ++n) {
      if (all_[n].thread == thread) return n;
    }
    all_.push_back({thread, 0});
    return static_cast<uint32_t>(all_.size() - 1);
  }
  CommitNumber next_commit(uint32_t issuer) { return {issuer, ++all_[issuer].commits}; }
  size_t size() const { return all_.size(); }

private:
  struct Issuer {
    uint32_t thread, commits;
  };
  std::vector<Issuer> all_;
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
  void see_commit(const CommitNumber& commit) {
    any.see_commit(commit);
    fenced.see_commit(commit);
    strict.see_commit(commit);
  }
};

}  // namespace tmemlint::cluster
