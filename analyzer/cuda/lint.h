// One CUDA source in, findings on the author's lines out.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "analyzer/cuda/compile_command.h"
#include "analyzer/cuda/translation.h"
#include "analyzer/engine.h"
#include "analyzer/report/finding.h"

namespace tmemlint::cuda {

enum class Via : uint8_t { kAuto, kClang, kNvcc };

struct SourceOptions {
  Via via = Via::kAuto;
  Toolkit toolkit;
  std::vector<std::string> instantiate;
  std::string keep_ptx;  // a file to write the PTX to; empty: none
  // Told the instance and a message when the source has no such template; without it, that is an input error.
  std::function<void(const std::string&, const std::string&)> on_unknown_instance;
};

// Appends to `results`; an input that cannot be taken at all is an input error.
void lint_source(const CompileCommand& command, const SourceOptions& source_options, const Options& options,
                 report::Results& results);

// The findings of a translation that is already there: what clang-tidy uses. `target` as in AdaptedCommand.
void lint_translation(const Translation& translation, const std::string& file, const std::string& target,
                      const Toolkit& toolkit, const Options& options, report::Results& results);

}  // namespace tmemlint::cuda
