// tmem-uninitialized: columns are read that nothing has written.
#include "rules/sightings.h"

namespace tmemlint::rules {

namespace {

using cluster::Fault;
using cluster::Sighting;

void check_uninitialized(Context& context) {
  for_each(context, {Fault::kUninitialized}, [&](const Sighting& s) {
    const bool accumulates = name(context, s.at).find("mma") != std::string::npos;
    std::string message =
        accumulates ? name(context, s.at) +
                          " accumulates into columns that nothing has written yet: the result contains what an "
                          "earlier kernel left there; give the first mma a false enable-input-d"
                    : name(context, s.at) +
                          " reads columns that nothing has written on this path: the values are what an earlier "
                          "kernel left there";
    // That a loop runs at least once is what every such kernel relies on.
    if (s.zero_trips) message += ", if the loop that writes them runs no time";
    Draft d = draft(s, s.zero_trips ? report::Level::kNote : report::Level::kWarning, std::move(message));
    d.related.emplace_back(s.other, "allocated here");
    return d;
  });
}

}  // namespace

extern const Rule kUninitialized;
const Rule kUninitialized = {
    "tmem-uninitialized",
    report::Level::kWarning,
    "Columns are read that nothing has written since they were allocated.",
    "Let the first mma of an accumulator overwrite it (enable-input-d false), and read no accumulator that no path has "
    "written.",
    check_uninitialized,
};

}  // namespace tmemlint::rules
