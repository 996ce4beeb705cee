#include "analyzer/cli/rule_filter.h"

#include <fnmatch.h>

#include <algorithm>
#include <numeric>
#include <utility>

namespace tmemlint::cli {
namespace {

bool matches(const std::string& pattern, std::string_view rule) {
  return ::fnmatch(pattern.c_str(), std::string(rule).c_str(), 0) == 0;
}

bool any_matches(const std::vector<std::string>& patterns, std::string_view rule) {
  return std::any_of(patterns.begin(), patterns.end(),
                     [&](const std::string& pattern) { return matches(pattern, rule); });
}

// Levenshtein: single-character edits that lead from one to the other.
size_t distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t substituted = diagonal + (a[i - 1] != b[j - 1] ? 1 : 0);
      diagonal = std::exchange(row[j], std::min({row[j] + 1, row[j - 1] + 1, substituted}));
    }
  }
  return row.back();
}

std::vector<std::string_view> near_matches(std::string_view pattern, const std::vector<std::string_view>& ids) {
  constexpr size_t kMost = 3;
  std::vector<std::pair<size_t, std::string_view>> near;
  for (const std::string_view id : ids) {
    const bool part = pattern.size() >= 4 && id.find(pattern) != std::string_view::npos;
    const size_t edits = part ? 0 : distance(pattern, id);
    if (edits <= std::max<size_t>(2, pattern.size() / 4)) near.emplace_back(edits, id);
  }
  std::sort(near.begin(), near.end());
  std::vector<std::string_view> out;
  for (size_t i = 0; i < std::min(near.size(), kMost); ++i) out.push_back(near[i].second);
  return out;
}

}  // namespace

bool RuleFilter::enabled(std::string_view rule) const {
  return (only_.empty() || any_matches(only_, rule)) && !any_matches(without_, rule);
}

std::string RuleFilter::problem(const std::vector<std::string_view>& ids) const {
  for (const auto* patterns : {&only_, &without_}) {
    for (const std::string& pattern : *patterns) {
      const bool known = std::any_of(ids.begin(), ids.end(), [&](std::string_view id) { return matches(pattern, id); });
      if (!known) return unknown_rule(pattern, ids);
    }
  }
  return {};
}

std::string unknown_rule(const std::string& pattern, const std::vector<std::string_view>& ids) {
  std::string out = "there is no rule '" + pattern + "'";
  const std::vector<std::string_view> near = near_matches(pattern, ids);
  for (size_t i = 0; i < near.size(); ++i)
    (out += i == 0 ? "; did you mean " : i + 1 == near.size() ? " or " : ", ") += near[i];
  return out + (near.empty() ? "; see --list-rules" : "?");
}

}  // namespace tmemlint::cli
