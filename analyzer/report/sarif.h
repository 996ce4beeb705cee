// Results as SARIF 2.1.0, for code review (GitHub code scanning) and editors.
#pragma once

#include <string>
#include <vector>

#include "analyzer/report/finding.h"
#include "analyzer/report/rule_info.h"
#include "analyzer/report/sources.h"

namespace tmemlint::report {

// `rules` are all rules of the tool. Where `.loc` gives a source position that is the primary location, and the PTX
// position a related one: a review comment can only stand on a line that is in the repository.
// Columns are UTF-16 code units. Ends with a line end.
std::string sarif(const Results& results, const std::vector<RuleInfo>& rules, SourceFiles& sources);

}  // namespace tmemlint::report
