// tmem-missing-fence: tcgen05 data handed over by a relaxed mbarrier operation without the tcgen05 fences
// (ISA 9.7.16.6.4).
#include "rules/between_warps.h"

namespace tmemlint::rules {

namespace {

void check_missing_fence(Context& context) {
  for_each(context, {ProblemKind::kFenceMissing}, [&](const Problem& p) {
    Draft d = draft(p, report::Level::kError,
                    "this relaxed operation orders no tcgen05 instructions by itself: the columns that" +
                        other_warp_text(p, " warp ") +
                        " hands over need tcgen05.fence::before_thread_sync before the arrive and "
                        "tcgen05.fence::after_thread_sync after the wait");
    d.related.emplace_back(p.other, "the access before the hand-over");
    d.related.emplace_back(p.as<cluster::AccessPair>().later.site.instruction, "the access after it");
    return d;
  });
  for_each(context, {ProblemKind::kNoFences}, [&](const Problem& p) {
    Draft d =
        draft(p, report::Level::kNote,
              "this access is ordered after one" + other_warp_text(p) +
                  " by barriers and mbarriers alone; the ISA's patterns have tcgen05.fence::before_thread_sync and "
                  "::after_thread_sync around such a hand-over");
    d.related.emplace_back(p.other, "the access before it");
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
