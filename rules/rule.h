// What a rule is, and the list of all of them.
//
// A rule is one file in this folder that defines one `const Rule`, and one line in registry.cpp. Its page is
// docs/rules/<id>.md; its labelled kernels are in fixtures/cases. tests/cases_test.cpp checks that all three are there.
#pragma once

#include <string_view>
#include <vector>

#include "analyzer/report/finding.h"

namespace tmemlint::rules {

class Context;  // context.h: what a rule may look at, and how it reports

struct Rule {
  std::string_view id;       // "tmem-lane-window"
  report::Level level;       // the loudest level it reports
  std::string_view summary;  // one sentence, used in --list-rules, SARIF and the page's first line
  std::string_view help;     // what to do about it, one or two sentences (SARIF help text)
  void (*check)(Context&);   // once per kernel
  // Only CUDA sources show it (analyzer/cuda/source_checks.cpp finds it); `check` does nothing.
  bool source_only = false;
  // What it reports stays true whatever a call does that could not be followed. The other rules are silent in a kernel
  // with such a call: the callee may wait, join, allocate or free.
  bool stands_alone = false;
};

// All rules in the order of their ids.
const std::vector<const Rule*>& registry();
const Rule* find(std::string_view id);

}  // namespace tmemlint::rules
