// One PTX text in, findings out: the door that the command line, the CUDA front end and the tests share.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>

#include "analyzer/kernel/launch.h"
#include "analyzer/ptx/module.h"
#include "analyzer/report/finding.h"

namespace tmemlint {

struct Options {
  ptx::Dimensions block;    // --block: used where the kernel states no .reqntid
  ptx::Dimensions cluster;  // --cluster: CTAs per cluster, where the kernel states none
  // What the user says of one kernel by its name; nothing for those that are not named. Null: none are.
  std::function<std::optional<kernel::AskedLaunch>(std::string_view kernel)> launch_of;
  bool stats = false;  // --stats: say per kernel what was asked, decided and executed
  // Whether a rule runs at all. Null: all do.
  std::function<bool(std::string_view rule)> enabled;
  // Where an instruction was written. Null: where `.loc` says.
  report::SourceOf source_of;
};

// Parses and analyses one input and appends to `results` (findings of every level; the caller filters notes).
// Parse errors become InputErrors; what parsed around them is still analysed.
void lint(const std::shared_ptr<const ptx::SourceText>& text, const Options& options, report::Results& results);

// What the user says of the launch of a kernel. Nothing where the kernel cannot be launched so, which is an error of
// the input then: what follows from such a launch is not looked at.
std::optional<kernel::AskedLaunch> asked_launch(const ptx::Module& module, uint32_t kernel, const Options& options,
                                                report::Results& results);

}  // namespace tmemlint
