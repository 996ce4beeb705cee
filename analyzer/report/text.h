// Results for a person at a terminal, in the form that compilers use and editors know how to jump through.
#pragma once

#include <cstdint>
#include <string>

#include "analyzer/report/finding.h"
#include "analyzer/report/sources.h"

namespace tmemlint::report {

struct TextStyle {
  bool color = false;
  size_t width = 160;  // of the source lines shown
};

// Findings, incomplete places, assumptions, and the summary line last.
std::string text(const Results& results, uint64_t hidden_notes, const TextStyle& style, SourceFiles& sources);

// What was wrong with the inputs, for standard error. Of one file's errors only the first few are written out.
std::string input_errors(const Results& results, const TextStyle& style, SourceFiles& sources);

}  // namespace tmemlint::report
