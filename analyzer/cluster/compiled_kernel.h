// A kernel made ready to be analysed: what does not depend on how it is launched.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "analyzer/kernel/graph.h"
#include "analyzer/program/program.h"
#include "analyzer/value/value.h"
#include "analyzer/warp/replays.h"

namespace tmemlint::cluster {

struct CompiledKernel {
  const ptx::Module* module = nullptr;
  uint32_t function = ptx::kNone;   // Module::functions
  std::vector<uint32_t> functions;  // of its call tree, itself first
  std::vector<uint32_t> tcgen05;    // Module::instructions of these functions, in text order
  bool uses_pairs = false;          // some instruction has cta_group::2
  // Of a kernel with tcgen05 instructions:
  kernel::Graph graph;
  std::unique_ptr<program::Program> program;
  std::unique_ptr<value::Terms> terms;     // grow as warps are followed
  std::unique_ptr<warp::Replays> replays;  // likewise

  const program::Meaning& meaning_of(uint32_t instruction) const {
    return program->meanings[module->instructions[instruction].opcode];
  }
};

// `function`: of the module, which outlives the result.
std::shared_ptr<const CompiledKernel> compile_kernel(const ptx::Module& module, uint32_t function);

// The tcgen05 instructions of a kernel's call tree.
std::vector<uint32_t> tcgen05_instructions(const ptx::Module& module, const std::vector<uint32_t>& functions);

}  // namespace tmemlint::cluster
