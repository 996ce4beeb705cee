// Results as one JSON object, for scripts. README.md describes the form; keys are only ever added to it.
#pragma once

#include <string>
#include <vector>

#include "analyzer/report/finding.h"
#include "analyzer/report/rule_info.h"

namespace tmemlint::report {

// Columns are bytes from 1, as in the text output. Invalid UTF-8 in any string becomes U+FFFD. Ends with a line end.
std::string json(const Results& results);

// The registry of assumptions, for --list-assumptions.
std::string json(const std::vector<assumptions::Row>& rows);

// The list of rules, for --list-rules.
std::string json(const std::vector<RuleInfo>& rules);

}  // namespace tmemlint::report
