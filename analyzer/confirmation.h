// The stage that confirms findings on paths of one warp. Merging the rounds of a loop may have made a path that does
// not exist, so a blamed warp is followed once more with the rounds kept apart (cluster::follow_closer), and the
// findings of both looks are compared.
#pragma once

#include <vector>

#include "analyzer/report/finding.h"

namespace tmemlint {

// The findings that the closer look has too, with the lower of the two levels. A finding at a place that the closer
// look could not follow (an incomplete place) is kept as well. Two findings are the same one if they are of one rule,
// at one place, and from one cause: their related places are the same.
std::vector<report::Finding> keep_confirmed(std::vector<report::Finding> findings, const report::Results& closer);

}  // namespace tmemlint
