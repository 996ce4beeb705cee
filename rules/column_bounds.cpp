// tmem-column-bounds: an access leaves its allocation (ISA 9.7.16.2, 9.7.16.7).
#include <algorithm>

#include "rules/sightings.h"

namespace tmemlint::rules {

namespace {

using cta::Fault;
using cta::Sighting;

// Whether the address is one of a few, however often loops go round: the stages of a ring.
bool is_listed(const Context& context, const Sighting& s) {
  bool any = false;
  for (const warp::WarpGraph& w : context.warps()) {
    if (w.warp != s.warp || (w.rank & 1) != (s.rank & 1)) continue;
    for (const warp::Event& e : w.events) {
      if (e.instruction != s.at) continue;
      if (context.tmem_addresses(e.address, e.lanes).empty()) return false;
      any = true;
    }
  }
  return any;
}

void check_column_bounds(Context& context) {
  for_each(context, {Fault::kOutOfBounds}, [&](const Sighting& s) -> std::optional<Draft> {
    if (chose_rounds(context, s) && !is_listed(context, s)) {
      context.incomplete(s.at,
                         "whether this stays within its allocation: its column grows with the rounds of a loop, and "
                         "how many there are is not known");
      return std::nullopt;
    }
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
