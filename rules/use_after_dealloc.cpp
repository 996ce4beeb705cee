// tmem-use-after-dealloc: columns are used after they were freed (ISA 9.7.16.7).
#include "rules/sightings.h"

namespace tmemlint::rules {

namespace {

using cluster::Fault;
using cluster::Sighting;

void check_use_after_dealloc(Context& context) {
  for_each(context, {Fault::kAfterDealloc}, [&](const Sighting& s) {
    Draft d = draft(s, report::Level::kError,
                    name(context, s.at) +
                        " touches columns that were freed before it; another CTA may own them by now; free them after "
                        "the last access");
    d.related.emplace_back(s.other, "freed here");
    return d;
  });
}

}  // namespace

extern const Rule kUseAfterDealloc;
const Rule kUseAfterDealloc = {
    "tmem-use-after-dealloc",
    report::Level::kError,
    "Columns are accessed after their allocation was freed.",
    "Move the dealloc behind the last access of the columns.",
    check_use_after_dealloc,
};

}  // namespace tmemlint::rules
