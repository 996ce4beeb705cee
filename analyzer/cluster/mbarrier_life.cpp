#include "analyzer/cluster/mbarrier_life.h"

#include <algorithm>
#include <vector>

namespace tmemlint::cluster {

namespace {

bool knows(const Execution& e, const Mbarrier& b) {
  return e.warp.knowledge.knows(b.initialised.warp, b.initialised.event);
}

bool by_its_own_thread(const Execution& e, const Mbarrier& b) {
  return b.initialised.warp == e.warp.index && (b.init_lanes & ~e.lanes) == 0;
}

// Releases those mbarriers of which `covers` is true, and that their own thread has not released before.
template <typename F>
void release(RunState& state, const Execution& e, bool by_fence, F&& covers) {
  std::erase_if(state.unreleased, [&](uint32_t address) {
    Mbarrier* b = state.mbarriers.find(address);
    if (b == nullptr) return true;
    const bool did =
        std::any_of(b->released.begin(), b->released.end(), [&](const WarpEvent& r) { return r.warp == e.warp.index; });
    if (did || !covers(*b)) return false;
    b->released.push_back(e.event());
    return by_fence && by_its_own_thread(e, *b);
  });
}

}  // namespace

bool knows_release(const WarpState& w, const Mbarrier& b) {
  return std::any_of(b.released.begin(), b.released.end(),
                     [&](const WarpEvent& r) { return w.knowledge.knows(r.warp, r.event); });
}

void check_init(Scene& scene, const Execution& e, const Mbarrier& b) {
  scene.log.count_decided();
  if (knows(e, b)) return;
  const Site init{b.init, scene.warp(b.initialised.warp).id};
  scene.log.add(MbarrierMisuse{MbarrierMisuse::Kind::kInitUnjoined, init, e.site()});
}

void release_inits_by_arrival(Scene& scene, const Execution& e) {
  if (e.meaning.relaxed) return;
  release(scene.state, e, false, [&](const Mbarrier& b) { return knows(e, b); });
}

void release_inits_by_fence(Scene& scene, const Execution& e) {
  release(scene.state, e, true, [&](const Mbarrier& b) {
    if (b.initialised.warp == e.warp.index) return by_its_own_thread(e, b);
    return !e.meaning.of_own_inits && knows(e, b);
  });
}

}  // namespace tmemlint::cluster
