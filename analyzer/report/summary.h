// The line that every run ends with.
#pragma once

#include <cstdint>
#include <string>

#include "analyzer/report/finding.h"

namespace tmemlint::report {

// Takes the notes out of the results (they are shown only on request) and says how many there were.
uint64_t hide_notes(Results& results);

// One line without its end. `hidden_notes` is what hide_notes answered.
std::string summary_line(const Results& results, uint64_t hidden_notes);

// "1 file", "2 files"
std::string counted(uint64_t count, const std::string& noun);

}  // namespace tmemlint::report
