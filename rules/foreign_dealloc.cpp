// tmem-foreign-dealloc: another warp frees than allocated.
#include "rules/between_warps.h"

namespace tmemlint::rules {

namespace {

void check_foreign_dealloc(Context& context) {
  for_each(context, {ProblemKind::kForeignDealloc}, [&](const Problem& p) {
    Draft d = draft(p, report::Level::kNote,
                    "another warp frees these columns than allocated them (" + warp_text(p.other_warp) +
                        "): the ISA leaves this open, CUTLASS asks for the same warp");
    d.related.emplace_back(p.other, "the alloc");
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
