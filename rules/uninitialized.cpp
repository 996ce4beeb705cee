// tmem-uninitialized: columns are read that nothing has written.
#include "rules/between_warps.h"

namespace tmemlint::rules {

namespace {

void check_uninitialized(Context& context) {
  for_each(context, {ProblemKind::kUninitialized}, [&](const Problem& p) {
    const bool accumulates = ptx::effects_of(context.form(p.at)).pipeline == ptx::Pipeline::kMma;
    std::string message =
        accumulates ? name(context, p.at) +
                          " accumulates into columns that nothing has written yet: the result contains what an "
                          "earlier kernel left there; give the first mma a false enable-input-d"
                    : name(context, p.at) +
                          " reads columns that nothing has written on this path: the values are what an earlier "
                          "kernel left there";
    // That a loop runs at least once is what every such kernel relies on.
    if (p.zero_trips) message += ", if the loop that writes them runs no time";
    Draft d = draft(p, p.zero_trips ? report::Level::kNote : report::Level::kWarning, std::move(message));
    d.related.emplace_back(p.other, "allocated here");
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
