#include "analyzer/report/finding.h"

#include "analyzer/assumptions/assumptions.h"

#include <algorithm>
#include <set>
#include <tuple>

namespace tmemlint::report {
namespace {

std::string_view path_of(const Place& place) {
  return place.text ? std::string_view(place.text->path()) : "";
}

// Two findings with the same key are at the same place for a reader of the PTX.
auto ptx_key(const Place& place) {
  return std::tuple(path_of(place), place.span.begin, place.span.end);
}

bool same_ptx_finding(const Finding& a, const Finding& b) {
  return a.rule == b.rule && a.kernel == b.kernel && a.message == b.message && ptx_key(a.place) == ptx_key(b.place);
}

// Unrolling, inlining and template instances copy an instruction: the author wrote it once and edits it once. Columns
// must be known, since one line can hold several statements.
bool same_source_finding(const Finding& a, const Finding& b) {
  return a.place.has_source && b.place.has_source && a.place.source.column != 0 && a.rule == b.rule &&
         a.message == b.message && path_of(a.place) == path_of(b.place) && a.place.source == b.place.source &&
         a.place.inlined_at == b.place.inlined_at;
}

void unite(Finding& into, const Finding& other) {
  into.level = std::max(into.level, other.level);
  into.warps.insert(into.warps.end(), other.warps.begin(), other.warps.end());
}

void normalise_warps(Finding& finding) {
  std::sort(finding.warps.begin(), finding.warps.end());
  finding.warps.erase(std::unique(finding.warps.begin(), finding.warps.end()), finding.warps.end());
}

void finish_findings(std::vector<Finding>& findings) {
  std::stable_sort(findings.begin(), findings.end(), [](const Finding& a, const Finding& b) {
    return std::tuple(ptx_key(a.place), std::string_view(a.rule), std::string_view(a.kernel),
                      std::string_view(a.message)) < std::tuple(ptx_key(b.place), std::string_view(b.rule),
                                                                std::string_view(b.kernel),
                                                                std::string_view(b.message));
  });
  std::vector<Finding> kept;
  // The finding that others with the same source position fold into: the first one in PTX order.
  using SourceKey = std::tuple<std::string, std::string, uint32_t, uint32_t>;
  std::set<std::pair<SourceKey, size_t>> by_source;
  for (Finding& finding : findings) {
    if (!kept.empty() && same_ptx_finding(kept.back(), finding)) {
      unite(kept.back(), finding);
      continue;
    }
    if (finding.place.has_source) {
      const SourcePosition& source = finding.place.source;
      SourceKey key(finding.rule, source.file, source.line, source.column);
      bool folded = false;
      for (auto it = by_source.lower_bound({key, 0}); it != by_source.end() && it->first == key; ++it) {
        Finding& first = kept[it->second];
        if (!same_source_finding(first, finding)) continue;
        unite(first, finding);
        constexpr size_t kCopiesShown = assumptions::kCopiesShown;
        if (first.related.size() < kCopiesShown) {
          first.related.push_back({finding.place, finding.kernel == first.kernel
                                                      ? "the same in another copy of this code"
                                                      : "the same in another kernel"});
        }
        folded = true;
        break;
      }
      if (folded) continue;
      by_source.emplace(std::move(key), kept.size());
    }
    kept.push_back(std::move(finding));
  }
  for (Finding& finding : kept) normalise_warps(finding);
  findings = std::move(kept);
}

void finish_incomplete(std::vector<Incomplete>& incomplete) {
  auto key = [](const Incomplete& item) {
    return std::tuple(ptx_key(item.place), std::string_view(item.kernel), std::string_view(item.reason));
  };
  std::stable_sort(incomplete.begin(), incomplete.end(),
                   [&](const Incomplete& a, const Incomplete& b) { return key(a) < key(b); });
  incomplete.erase(std::unique(incomplete.begin(), incomplete.end(),
                               [&](const Incomplete& a, const Incomplete& b) { return key(a) == key(b); }),
                   incomplete.end());
}

void finish_assumptions(std::vector<std::string>& assumptions) {
  std::set<std::string> seen;
  std::vector<std::string> kept;
  for (std::string& assumption : assumptions) {
    if (seen.insert(assumption).second) kept.push_back(std::move(assumption));
  }
  assumptions = std::move(kept);
}

}  // namespace

std::string_view to_string(Level level) {
  switch (level) {
    case Level::kNote:
      return "note";
    case Level::kWarning:
      return "warning";
    case Level::kError:
      break;
  }
  return "error";
}

void finish(Results& results) {
  finish_findings(results.findings);
  finish_incomplete(results.incomplete);
  finish_assumptions(results.assumptions);
  std::stable_sort(results.errors.begin(), results.errors.end(), [](const InputError& a, const InputError& b) {
    return std::tie(a.file, a.span.begin) < std::tie(b.file, b.span.begin);
  });

  Summary& summary = results.summary;
  summary.error = summary.warning = summary.note = 0;
  for (const Finding& finding : results.findings) {
    if (finding.level == Level::kError) {
      ++summary.error;
    } else if (finding.level == Level::kWarning) {
      ++summary.warning;
    } else {
      ++summary.note;
    }
  }
  summary.incomplete = results.incomplete.size();
}

}  // namespace tmemlint::report
