// What was found on a path is looked at more closely before it is said: joining the times round a loop may have made
// that path.
#pragma once

#include <vector>

#include "analyzer/report/finding.h"

namespace tmemlint {

// Of the findings those that a closer look confirms, no graver than it makes them. What it could not follow is not
// refuted. Two findings are the same one if they are of one rule, at one place, and from one cause: the places that are
// related to them.
std::vector<report::Finding> keep_confirmed(std::vector<report::Finding> findings, const report::Results& closer);

}  // namespace tmemlint
