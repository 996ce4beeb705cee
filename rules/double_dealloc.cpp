// tmem-double-dealloc: an allocation is freed twice.
#include "rules/sightings.h"

namespace tmemlint::rules {

namespace {

using cluster::Fault;
using cluster::Sighting;

void check_double_dealloc(Context& context) {
  for_each(context, {Fault::kDoubleDealloc}, [&](const Sighting& s) {
    Draft d =
        draft(s, report::Level::kError,
              "this allocation was already freed: the second dealloc traps, or frees what another CTA owns by now");
    d.related.emplace_back(s.other, "freed here");
    return d;
  });
}

}  // namespace

extern const Rule kDoubleDealloc;
const Rule kDoubleDealloc = {
    "tmem-double-dealloc",        report::Level::kError, "A dealloc frees an allocation that was already freed.",
    "Free each allocation once.", check_double_dealloc,
};

}  // namespace tmemlint::rules
