#include "rules/hang.h"

#include <algorithm>

namespace tmemlint::rules {

using cluster::Hang;
using cluster::WaitKind;
using warp::Uncertain;

HangMeaning judge(const Hang& hang, uint32_t threads) {
  if (hang.blocked.empty()) return {};
  const bool by_flip = hang.has_barrier && hang.flip_decides && !hang.zero_trips;
  if (policy_alone_causes(hang) && !by_flip) return {};
  const auto uninitialised = std::find_if(hang.blocked.begin(), hang.blocked.end(),
                                          [](const Hang::Blocked& b) { return b.kind == WaitKind::kMbarrierInit; });
  if (uninitialised != hang.blocked.end())
    return Uncertain{uninitialised->site.instruction, "the mbarrier was not seen to be initialised"};
  const uint32_t first = hang.blocked.front().site.instruction;
  const uint32_t wait = hang.has_barrier ? hang.blocked[hang.waiter].site.instruction : first;
  if (may_lack_ctas(hang) && hang.ctas > 1) {
    return Uncertain{wait, "this wait is never satisfied in a cluster of " + std::to_string(hang.ctas) +
                               " CTAs, which was assumed; give --cluster"};
  }
  if (may_lack_ctas(hang)) {
    return Uncertain{wait,
                     "this wait is never satisfied by what its own CTA does; others of its cluster may multicast "
                     "to it, and nothing states the cluster; give --cluster"};
  }
  if (may_lack_warps(hang)) {
    return Uncertain{wait, "this wait is never satisfied in a CTA of " + std::to_string(threads) +
                               " threads, which was assumed; give --block"};
  }
  // Whatever is guessed another way, the arrival cannot come.
  if (hang.has_barrier && (hang.never_arrives || by_flip)) return NeverSatisfied{};
  if (hang.guessed_data)
    return Uncertain{first, "no warp can go on from here in a scenario that guesses what is not known"};
  if (!hang.has_barrier) return Uncertain{first, "no warp can go on from here: this wait is never satisfied"};
  return NeverSatisfied{};
}

}  // namespace tmemlint::rules
