// What the joint run saw a kernel do, warp by warp: for people who debug a hang, and to see what the analysis believes.
#pragma once

#include <memory>
#include <string>

#include "analyzer/engine.h"

namespace tmemlint {

// Text: per kernel the launch it was run with, the columns in use over its life, and per group of warps that behave
// alike the sequence of their allocations, accesses, waits, arrivals and joins in the first scenario. Points that can
// block are marked. Parse errors go to `results`.
std::string explain_kernels(const std::shared_ptr<const ptx::SourceText>& text, const Options& options,
                            report::Results& results);

}  // namespace tmemlint
