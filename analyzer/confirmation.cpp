#include "analyzer/confirmation.h"

#include <algorithm>

namespace tmemlint {

namespace {

bool same_place(const report::Place& a, const report::Place& b) {
  return a.text == b.text && a.span.begin == b.span.begin;
}

bool same_cause(const report::Finding& a, const report::Finding& b) {
  return std::equal(a.related.begin(), a.related.end(), b.related.begin(), b.related.end(),
                    [](const report::Related& x, const report::Related& y) { return same_place(x.place, y.place); });
}

// The finding of the closer look that is the same, else the gravest one of its rule and place; null where there is
// none.
const report::Finding* counterpart(const report::Finding& f, const std::vector<report::Finding>& closer) {
  const report::Finding* found = nullptr;
  bool exact = false;
  for (const report::Finding& g : closer) {
    if (g.rule != f.rule || !same_place(g.place, f.place)) continue;
    const bool same = same_cause(f, g);
    if (found == nullptr || (same && !exact) || (same == exact && g.level > found->level)) {
      found = &g;
      exact = same;
    }
  }
  return found;
}

}  // namespace

std::vector<report::Finding> keep_confirmed(std::vector<report::Finding> findings, const report::Results& closer) {
  std::vector<report::Finding> kept;
  for (report::Finding& f : findings) {
    const report::Finding* confirmed = counterpart(f, closer.findings);
    const bool open = std::any_of(closer.incomplete.begin(), closer.incomplete.end(),
                                  [&](const report::Incomplete& i) { return same_place(i.place, f.place); });
    if (confirmed != nullptr && confirmed->level < f.level) {
      kept.push_back(*confirmed);
    } else if (confirmed != nullptr || open) {
      kept.push_back(std::move(f));
    }
  }
  return kept;
}

}  // namespace tmemlint
