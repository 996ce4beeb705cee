#include "analyzer/kernel/launch.h"

#include <algorithm>

#include "analyzer/assumptions/assumptions.h"
#include "analyzer/kernel/graph.h"

namespace tmemlint::kernel {

using ptx::Dimensions;
using ptx::Module;
using ptx::Operand;

namespace {

// The largest number of threads that a literal barrier count of the kernel asks for; 0 when there is none.
uint32_t largest_barrier(const Module& module, uint32_t function) {
  uint32_t most = 0;
  for (uint32_t f : call_tree(module, function)) {
    const ptx::Function& body = module.functions[f];
    for (uint32_t i = body.first_instruction; i < body.last_instruction; ++i) {
      const ptx::Instruction& instruction = module.instructions[i];
      const ptx::Opcode& opcode = module.opcode(instruction);
      if ((opcode.root != "bar" && opcode.root != "barrier") || opcode.has("cluster") || opcode.has("warp")) continue;
      if (instruction.operand_count < 2) continue;
      const Operand& count = module.operands_of(instruction)[1];
      if (count.kind != Operand::Kind::kInteger || count.value % 32 != 0) continue;
      if (count.value > most && static_cast<uint64_t>(count.value) <= assumptions::kMostThreadsOfABlock)
        most = static_cast<uint32_t>(count.value);
    }
  }
  return most;
}

bool reads_more_dimensions(const Module& module, const ptx::Function& kernel) {
  for (uint32_t i = kernel.first_instruction; i < kernel.last_instruction; ++i) {
    const ptx::Instruction& instruction = module.instructions[i];
    const ptx::Operand* operands = module.operands_of(instruction);
    for (unsigned n = 0; n < instruction.operand_count; ++n) {
      if (operands[n].kind != ptx::Operand::Kind::kSpecial) continue;
      const std::string_view name = module.special_registers[operands[n].ref];
      if (name == "%tid.y" || name == "%tid.z") return true;
    }
  }
  return false;
}

std::string block_assumption(const Launch& launch, std::string_view kernel) {
  const std::string name(kernel);
  const std::string threads = std::to_string(launch.threads());
  switch (launch.block_ground) {
    case Launch::Ground::kStated:
      return {};
    case Launch::Ground::kMaximum:
      return name + ": launched with its largest block, " + threads +
             " threads (.maxntid); give --block if it is another";
    case Launch::Ground::kInferred:
      return name + ": no block size is stated; " + threads +
             " threads inferred from its barriers and the warps that its code is for; give --block if it is another";
    case Launch::Ground::kAssumed:
      return name + ": no block size is stated; " + threads + " threads assumed; give --block if it is another";
  }
  return {};
}

}  // namespace

Launch launch_of(const Module& module, const ptx::Function& kernel, Dimensions block, ptx::Dimensions cluster,
                 bool uses_pairs) {
  Launch out;
  const auto number = static_cast<uint32_t>(&kernel - module.functions.data());
  if (kernel.reqntid.given()) {
    out.block = kernel.reqntid;
    out.block_ground = Launch::Ground::kStated;
  } else if (block.given()) {
    out.block = block;
    out.block_ground = Launch::Ground::kStated;
  } else if (kernel.maxntid.given()) {
    out.block = kernel.maxntid;
    out.block_ground = Launch::Ground::kMaximum;
  } else if (uint32_t threads = largest_barrier(module, number); threads > assumptions::kThreadsOfABlock) {
    out.block.x = threads;
    out.block_ground = Launch::Ground::kInferred;
  } else {
    out.block.x = assumptions::kThreadsOfABlock;
  }
  if (out.block.count() > assumptions::kMostThreadsOfABlock)
    out.block = {assumptions::kMostThreadsOfABlock, 1, 1};  // no kernel can be launched with more

  // .maxntid bounds the number of threads; a kernel that reads another dimension of its thread's place is launched in a
  // shape that nothing states.
  if (out.block_ground != Launch::Ground::kStated && out.block.y == 1 && out.block.z == 1 &&
      reads_more_dimensions(module, kernel)) {
    out.block_ground = Launch::Ground::kAssumed;
    out.shape_unknown = true;
  }
  if (kernel.reqnctapercluster.given()) {
    out.cluster = kernel.reqnctapercluster;
    out.cluster_ground = Launch::Ground::kStated;
  } else if (cluster.given()) {
    out.cluster = cluster;
    out.cluster_ground = Launch::Ground::kStated;
  } else {
    out.cluster.x = uses_pairs ? 2 : 1;
  }
  return out;
}

std::string assumption(const Launch& launch, std::string_view kernel) {
  std::string out = block_assumption(launch, kernel);
  if (launch.cluster_is_guess() && launch.ctas() > 1) {
    if (out.empty()) {
      out = std::string(kernel) + ": ";
    } else {
      out += "; ";
    }
    out += "no cluster is stated; a pair of CTAs assumed; give --cluster if it is another";
  }
  return out;
}

}  // namespace tmemlint::kernel
