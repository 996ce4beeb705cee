// tmem-foreign-dealloc: another warp frees than allocated.
#include "rules/sightings.h"

namespace tmemlint::rules {

namespace {

using cluster::Fault;
using cluster::Sighting;

void check_foreign_dealloc(Context& context) {
  for_each(context, {Fault::kForeignDealloc}, [&](const Sighting& s) {
    Draft d = draft(s, report::Level::kNote,
                    "another warp frees these columns than allocated them (warp " + std::to_string(s.other_warp) +
                        "): the ISA leaves this open, CUTLASS asks for the same warp");
    d.related.emplace_back(s.other, "the alloc");
    return d;
  });
}

}  // namespace

extern const Rule kForeignDealloc;
const Rule kForeignDealloc = {
    "tmem-foreign-dealloc",
    report::Level::kNote,
    "An allocation is freed by another warp than the one that made it.",
    "Let the warp that allocates free, as CUTLASS asks for.",
    check_foreign_dealloc,
};

}  // namespace tmemlint::rules
