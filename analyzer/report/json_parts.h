// What the JSON and SARIF printers say in the same form.
#pragma once

#include <nlohmann/json.hpp>

#include "analyzer/report/finding.h"

namespace tmemlint::report {

nlohmann::ordered_json coverage_json(const KernelCoverage& coverage);

}  // namespace tmemlint::report
