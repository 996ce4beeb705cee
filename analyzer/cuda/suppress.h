// Suppression comments in sources, the same that clang-tidy knows: NOLINT, NOLINTNEXTLINE, NOLINTBEGIN … NOLINTEND,
// each with a list of rules (globs too) in parentheses, or for all of them.
#pragma once

#include <string_view>

#include "analyzer/report/finding.h"

namespace tmemlint::cuda {

bool is_suppressed(const report::Finding& finding);
bool is_suppressed(const report::Place& place, std::string_view rule);

// Whether a comment's list (what stands in the parentheses) names the rule.
bool names_rule(std::string_view list, std::string_view rule);

}  // namespace tmemlint::cuda
