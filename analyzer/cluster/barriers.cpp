#include "analyzer/cluster/barriers.h"

namespace tmemlint::cluster {

bool Mbarrier::settle() {
  bool any = false;
  while (settled() && pending <= 0) {
    done.join(arriving);
    previous = std::move(current);
    current.clear();
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

bool Mbarrier::arrive(uint32_t arrivals, const Knowledge& knowledge, uint32_t instruction) {
  arriving.join(knowledge);
  pending -= arrivals;
  last_arrive = instruction;
  return settle();
}

}  // namespace tmemlint::cluster
