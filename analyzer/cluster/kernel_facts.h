// What is the same in every scenario of a kernel.
#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/cluster/branch_facts.h"
#include "analyzer/cluster/last_stores.h"
#include "analyzer/kernel/launch.h"
#include "analyzer/program/program.h"
#include "analyzer/warp/replays.h"

namespace tmemlint::cluster {

// The compiled kernel that the warps of a run execute. What it refers to outlives every run.
struct KernelCode {
  const ptx::Module* module = nullptr;
  const kernel::Graph* graph = nullptr;
  const program::Program* program = nullptr;
  value::Terms* terms = nullptr;     // grows as warps compute
  warp::Replays* replays = nullptr;  // likewise
  kernel::Launch launch;

  uint32_t instruction_of(uint32_t step) const { return program->steps[step].instruction; }
  const program::Meaning& meaning_of(uint32_t instruction) const {
    return program->meanings[module->instructions[instruction].opcode];
  }
};

// What a block does to words of global memory that orders warps.
struct GlobalOrder {
  bool releases = false, acquires = false;
};

struct KernelFacts {
  explicit KernelFacts(const KernelCode& code);

  KernelCode code;
  BranchFacts branches;
  // By block, with what is left out behind it; empty if no two warps can meet by words of global memory.
  std::vector<GlobalOrder> global_orders;
  bool uses_cluster = false;         // some instruction may reach another CTA
  mutable StoreBlocks store_blocks;  // a cache
};

}  // namespace tmemlint::cluster
