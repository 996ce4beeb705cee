#include "analyzer/cluster/barriers.h"

#include <algorithm>

namespace tmemlint::cluster {

bool Contributors::arrivals_are_known(const Clock& known) const {
  return std::all_of(arrivals.begin(), arrivals.end(),
                     [&](const WarpEvent& e) { return known.knows(e.warp, e.event); });
}

bool Mbarrier::settle() {
  bool any = false;
  while (settled() && pending <= 0) {
    done.join(arriving);
    // Whoever makes a phase complete comes after all waits for the phase before: else these may come too late, and
    // wait for another phase of the same parity.
    for (const PhaseWait& w : seen_by) {
      if (!arriving.any.knows(w.event.warp, w.event.event)) overtaken.push_back(w);
    }
    seen_by_before = std::move(seen_by);
    seen_by.clear();
    if (bytes.surplus() != 0 && odd_announced.instruction == kNone) {
      odd = bytes;
      odd_announced = announced;
    }
    surplus += bytes.surplus();
    bytes = {bytes.known, 0, 0};
    previous = std::move(current);
    current = {};
    ++phase;
    pending += count;
    expects = false;
    copied = false;
    seen_from_afar.insert(seen_from_afar.end(), copied_from_afar.begin(), copied_from_afar.end());
    copied_from_afar.clear();
    brought.insert(brought.end(), brings.begin(), brings.end());
    brings.clear();
    if (count == 0) break;  // all threads have dropped out
    any = true;
  }
  return any;
}

bool Mbarrier::arrive(uint32_t arrivals, const Knowledge& knowledge, const Site& site) {
  arriving.join(knowledge);
  pending -= arrivals;
  last_arrive = site;
  return settle();
}

void Mbarrier::expect(const Site& site, std::optional<uint64_t> announced_bytes) {
  expects = true;
  announced = site;
  bytes.known = bytes.known && announced_bytes;
  bytes.announced += announced_bytes.value_or(0);
}

bool Mbarrier::knows_last_phase(const Clock& known) const {
  const bool saw = std::any_of(seen_by.begin(), seen_by.end(),
                               [&](const PhaseWait& w) { return known.knows(w.event.warp, w.event.event); });
  if (saw) return true;
  return !previous.copies && previous.arrivals_are_known(known) &&
         std::all_of(previous.commits.begin(), previous.commits.end(),
                     [&](const CommitNumber& c) { return known.knows_commit(c); });
}

void Mbarrier::note_wait(PhaseWait wait) {
  wait.stale = phase == first;
  for (PhaseWait& w : seen_by) {
    if (w.event.warp != wait.event.warp) continue;
    w = wait;
    w.stale = true;
    return;
  }
  seen_by.push_back(wait);
}

bool Mbarrier::waits_again(uint32_t warp) const {
  return std::any_of(seen_by_before.begin(), seen_by_before.end(),
                     [&](const PhaseWait& w) { return w.event.warp == warp; });
}

}  // namespace tmemlint::cluster
