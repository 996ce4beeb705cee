#include "analyzer/cluster/remote.h"

#include "analyzer/cluster/mbarrier_life.h"

#include <string>

namespace tmemlint::cluster {

std::variant<uint32_t, Unknown> reach(Scene& scene, const Execution& e, uint32_t address, const CommitNumber& commit) {
  const uint32_t rank = rank_of(address);
  if (rank == e.warp.id.rank) return kNone;
  if (rank >= scene.ranks && scene.launch.cluster_is_guess()) {
    return Unknown{e.instruction(), "this reaches CTA " + std::to_string(rank) +
                                        " of a cluster that was assumed to have " + std::to_string(scene.ranks) +
                                        " CTAs; give --cluster"};
  }
  scene.log.count_decided();
  const Mbarrier* b = scene.state.mbarriers.find_any(address);
  if (b != nullptr && !b->live) {
    scene.log.add(MbarrierMisuse{MbarrierMisuse::Kind::kInvalInUse, b->invalidated, e.site()});
  } else if (b == nullptr || !e.warp.knowledge.any().knows(b->initialised.warp, b->initialised.event)) {
    scene.log.add(EarlyReach{e.site(), rank, b == nullptr ? kNone : b->init});
  } else if (!knows_release(e.warp, *b)) {
    const Site init{b->init, scene.warp(b->initialised.warp).id};
    scene.log.add(MbarrierMisuse{MbarrierMisuse::Kind::kInitUnfenced, init, e.site()});
  }
  RemoteSignal signal;
  signal.site = e.site();
  signal.issued = e.event();
  signal.commit = commit;
  signal.rank = rank;
  signal.target = address;
  scene.state.signals.push_back(signal);
  return static_cast<uint32_t>(scene.state.signals.size() - 1);
}

}  // namespace tmemlint::cluster
