// The rules that only CUDA sources show: how asm statements are written, and the author's order of reads and waits.
#pragma once

#include <string>
#include <vector>

#include "analyzer/cuda/source_map.h"
#include "analyzer/cuda/translation.h"
#include "analyzer/engine.h"
#include "analyzer/report/finding.h"

namespace tmemlint::cuda {

// Appends to `findings`, which already has those of the PTX on the author's lines; raises what the source makes
// certain.
void check_source(const Translation& translation, const Options& options, Texts& texts,
                  std::vector<report::Finding>& findings);

// The chain of inlined calls, from the innermost outwards, as related places.
void add_calls(const std::vector<Call>& calls, Texts& texts, std::vector<report::Related>& related);

// The name of a kernel as the author would write it.
std::string kernel_name(const Translation& translation, const std::string& symbol);

}  // namespace tmemlint::cuda
