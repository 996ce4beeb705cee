// tmem-commit-unwaited: a commit that nobody waits for.
#include "rules/sightings.h"

namespace tmemlint::rules {

namespace {

using cluster::Fault;
using cluster::Sighting;

void check_commit_unwaited(Context& context) {
  for_each(context, {Fault::kCommitUnwaited}, [&](const Sighting& s) {
    return draft(
        s, report::Level::kWarning,
        "no thread ever waits on the mbarrier of this commit: what was issued before it is never known to be complete");
  });
}

}  // namespace

extern const Rule kCommitUnwaited;
const Rule kCommitUnwaited = {
    "tmem-commit-unwaited",
    report::Level::kWarning,
    "A commit covers an operation, and nobody waits on its mbarrier.",
    "Wait on the mbarrier before using what the committed operations wrote.",
    check_commit_unwaited,
};

}  // namespace tmemlint::rules
