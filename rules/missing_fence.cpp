// tmem-missing-fence: tcgen05 data handed over by a relaxed mbarrier operation without the tcgen05 fences
// (ISA 9.7.16.6.4).
#include "rules/sightings.h"

namespace tmemlint::rules {

namespace {

using cluster::Fault;
using cluster::Sighting;

void check_missing_fence(Context& context) {
  for_each(context, {Fault::kFence}, [&](const Sighting& s) {
    Draft d = draft(s, report::Level::kError,
                    "this relaxed operation orders no tcgen05 instructions by itself: the columns that" +
                        warp_text(s, " warp ") +
                        " hands over need tcgen05.fence::before_thread_sync before the arrive and "
                        "tcgen05.fence::after_thread_sync after the wait");
    d.related.emplace_back(s.other, "the access before the hand-over");
    if (s.third != kNone) d.related.emplace_back(s.third, "the access after it");
    return d;
  });
  for_each(context, {Fault::kNoFence}, [&](const Sighting& s) {
    Draft d =
        draft(s, report::Level::kNote,
              "this access is ordered after one" + warp_text(s) +
                  " by barriers and mbarriers alone; the ISA's patterns have tcgen05.fence::before_thread_sync and "
                  "::after_thread_sync around such a hand-over");
    d.related.emplace_back(s.other, "the access before it");
    return d;
  });
}

}  // namespace

extern const Rule kMissingFence;
const Rule kMissingFence = {
    "tmem-missing-fence",
    report::Level::kError,
    "Tensor Memory is handed from one thread to another by a relaxed operation without the tcgen05.fence on both "
    "sides.",
    "Put tcgen05.fence::before_thread_sync before a relaxed arrive and tcgen05.fence::after_thread_sync after a "
    "relaxed wait.",
    check_missing_fence,
};

}  // namespace tmemlint::rules
