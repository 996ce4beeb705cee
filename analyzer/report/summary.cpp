#include "analyzer/report/summary.h"

#include <algorithm>

namespace tmemlint::report {

uint64_t hide_notes(Results& results) {
  const uint64_t hidden =
      std::erase_if(results.findings, [](const Finding& finding) { return finding.level == Level::kNote; });
  results.summary.note = 0;
  return hidden;
}

std::string counted(uint64_t count, const std::string& noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

std::string summary_line(const Results& results, uint64_t hidden_notes) {
  const Summary& summary = results.summary;
  std::string line = "tmemlint: " + counted(summary.files, "file") + ", " + counted(summary.kernels, "kernel") + ", " +
                     counted(summary.tcgen05, "tcgen05 instruction") + ": " + counted(summary.error, "error") + ", " +
                     counted(summary.warning, "warning");
  if (summary.note != 0) line += ", " + counted(summary.note, "note");
  line += ", " + counted(summary.incomplete, "incomplete place");
  if (!results.errors.empty()) line += ", " + counted(results.errors.size(), "input error");
  if (hidden_notes != 0) line += " (" + counted(hidden_notes, "note") + " hidden, see --notes)";
  if (summary.tcgen05 == 0) {
    // An empty result must never look like a clean one.
    line += "; no tcgen05 instruction was analysed";
    line += summary.kernels == 0 ? " (the input has no kernel with a body)"
                                 : " (is this the PTX for sm_100a or later, and the right kernel?)";
  }
  return line;
}

}  // namespace tmemlint::report
