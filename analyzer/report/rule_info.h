// What the printers need to know about a rule. The rules themselves are a layer above this one.
#pragma once

#include <string_view>

#include "analyzer/report/finding.h"

namespace tmemlint::report {

struct RuleInfo {
  std::string_view id;
  Level level = Level::kError;
  std::string_view summary;  // one sentence
  std::string_view help;     // one or two sentences
  std::string_view page;     // docs/rules/<id>.md as Markdown; may be empty
};

}  // namespace tmemlint::report
