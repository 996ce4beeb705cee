// tmem-column-bounds: an access leaves its allocation (ISA 9.7.16.2, 9.7.16.7).
#include "rules/sightings.h"

namespace tmemlint::rules {

namespace {

using cta::Fault;
using cta::Sighting;

void check_column_bounds(Context& context) {
  for_each(context, {Fault::kOutOfBounds}, [&](const Sighting& s) {
    if (s.other == kNone) {
      return draft(s, report::Level::kError,
                   name(context, s.at) + " touches column " + std::to_string(s.first) +
                       ", which belongs to no allocation of this CTA");
    }
    Draft d = draft(s, report::Level::kError,
                    name(context, s.at) + " touches columns " + columns_text(s.first, s.second) +
                        " of an allocation of " + std::to_string(s.extra) + " columns: it runs past the end");
    d.related.emplace_back(s.other, "the allocation, of " + std::to_string(s.extra) + " columns");
    return d;
  });
}

}  // namespace

extern const Rule kColumnBounds;
const Rule kColumnBounds = {
    "tmem-column-bounds",
    report::Level::kError,
    "An access to Tensor Memory leaves the columns of its allocation.",
    "Allocate as many columns as the access needs, or correct its first column.",
    check_column_bounds,
    /*source_only=*/false,
    /*stands_alone=*/true,
};

}  // namespace tmemlint::rules
