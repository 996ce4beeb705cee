// tmem-async-overlap: two asynchronous operations on the same columns without completion between them (ISA 9.7.16.6.2).
#include "rules/sightings.h"

namespace tmemlint::rules {

namespace {

using cluster::Fault;
using cluster::Sighting;

void check_async_overlap(Context& context) {
  for_each(context, {Fault::kAsyncOverlap, Fault::kScaleCopyOverlap}, [&](const Sighting& s) {
    const bool scales = s.fault == Fault::kScaleCopyOverlap;
    Draft d = draft(
        s, scales ? report::Level::kNote : report::Level::kError,
        scales ? "tcgen05.cp overwrites scale factors that an earlier mma of this thread reads: the ISA does not list "
                 "this "
                 "pair among those that execute in order; block-scaled kernels rely on it"
               : name(context, s.at) + " works on columns that an earlier " + name(context, s.other) + warp_text(s) +
                     " may still be working on, and the two do not execute in order: wait for the first to complete");
    d.related.emplace_back(s.other, "the earlier operation");
    return d;
  });
}

}  // namespace

extern const Rule kAsyncOverlap;
const Rule kAsyncOverlap = {
    "tmem-async-overlap",
    report::Level::kError,
    "Two asynchronous operations overlap in columns, and neither the pipeline nor a completion orders them.",
    "Observe the completion of the first (commit and wait) before issuing the second.",
    check_async_overlap,
};

}  // namespace tmemlint::rules
