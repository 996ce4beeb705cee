// tmem-mbarrier-bytes: announced bytes of a phase that are not those of its copies.
#include "rules/between_warps.h"

namespace tmemlint::rules {

namespace {

void check_mbarrier_bytes(Context& context) {
  for_each(context, {ProblemKind::kBytes}, [&](const Problem& p) {
    const auto& b = p.as<cluster::BytesDiffer>();
    const std::string effect =
        b.announced > b.brought ? "the phase is never over" : "the phase may be over before all copies are complete";
    return draft(p, report::Level::kWarning,
                 std::to_string(b.announced) +
                     " bytes are announced for a phase of this mbarrier, but the copies that " +
                     "complete on it in that phase bring " + std::to_string(b.brought) + ": " + effect);
  });
}

}  // namespace

extern const Rule kMbarrierBytes;
const Rule kMbarrierBytes = {
    "tmem-mbarrier-bytes",
    report::Level::kWarning,
    "The bytes announced for a phase of an mbarrier differ from those that its copies bring.",
    "Announce the bytes of the copies that complete on this mbarrier in the phase, no more and no fewer.",
    check_mbarrier_bytes,
};

}  // namespace tmemlint::rules
