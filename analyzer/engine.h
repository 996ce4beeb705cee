// One PTX text in, findings out: the door that the command line, the CUDA front end and the tests share.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

#include "analyzer/ptx/module.h"
#include "analyzer/report/finding.h"

namespace tmemlint {

struct Options {
  ptx::Dimensions block;    // --block: used where the kernel states no .reqntid
  ptx::Dimensions cluster;  // --cluster: CTAs per cluster, where the kernel states none
  bool stats = false;       // --stats: say per kernel what was asked, decided and executed
  // Whether a rule runs at all. Null: all do.
  std::function<bool(std::string_view rule)> enabled;
  // Where an instruction was written. Null: where `.loc` says.
  report::SourceOf source_of;
};

// Parses and analyses one input and appends to `results` (findings of every level; the caller filters notes).
// Parse errors become InputErrors; what parsed around them is still analysed.
void lint(const std::shared_ptr<const ptx::SourceText>& text, const Options& options, report::Results& results);

}  // namespace tmemlint
