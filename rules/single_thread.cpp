// tmem-single-thread: an instruction of one thread executed by several (ISA 9.7.16.5).
#include <bit>
#include <set>

#include "rules/sightings.h"

namespace tmemlint::rules {

namespace {

using cluster::Fault;
using cluster::Sighting;

void check_single_thread(Context& context) {
  // A whole warp is seen without the others.
  std::set<uint32_t> said;
  for (const warp::WarpGraph& w : context.warps()) {
    for (const warp::Event& e : w.events) {
      if (e.kind != warp::Event::Kind::kTcgen05 || e.lanes != w.lanes || std::popcount(e.lanes) < 2) continue;
      if (context.form(e).issue != ptx::Issue::kSingleThread) continue;
      said.insert(e.instruction);
      Draft d;
      d.at = e.instruction;
      d.message = name(context, e.instruction) + " is executed by " + lanes_text(e.lanes) +
                  ": each of them issues it; let one thread do so (elect.sync)";
      d.warp = &w;
      d.node = e.node;
      context.report(std::move(d));
    }
  }
  for_each(context, {Fault::kManyThreads}, [&](const Sighting& s) -> std::optional<Draft> {
    if (said.contains(s.at)) return std::nullopt;
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
    /*source_only=*/false,
    /*stands_alone=*/true,
};

}  // namespace tmemlint::rules
