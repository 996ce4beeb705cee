// tmem-single-thread: an instruction of one thread executed by several (ISA 9.7.16.5).
#include "rules/sightings.h"

namespace tmemlint::rules {

namespace {

using cta::Fault;
using cta::Sighting;

void check_single_thread(Context& context) {
  for_each(context, {Fault::kManyThreads}, [&](const Sighting& s) {
    return draft(s, report::Level::kError,
                 name(context, s.at) + " is executed by " + lanes_text(s.lanes) +
                     ": each of them issues it; let one thread do so (elect.sync)");
  });
}

}  // namespace

extern const Rule kSingleThread;
const Rule kSingleThread = {
    "tmem-single-thread",
    report::Level::kError,
    "An mma, cp, shift or commit is executed by more than one thread of a warp.",
    "Guard it by elect.sync or by one thread.",
    check_single_thread,
};

}  // namespace tmemlint::rules
