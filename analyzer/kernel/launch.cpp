#include "analyzer/kernel/launch.h"

#include <algorithm>
#include <bit>
#include <optional>

#include "analyzer/assumptions/assumptions.h"
#include "analyzer/kernel/constant_registers.h"
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

// How far along each axis of a cluster, and up to which rank, code names CTAs.
struct NamedCtas {
  uint32_t rank = 0, x = 0, y = 0, z = 0;
};

void note_most(uint32_t& most, uint64_t number) {
  if (number < assumptions::kCtasSteppedTogether) most = std::max(most, static_cast<uint32_t>(number));
}

// A comparison of the CTA's place in its cluster with a number.
void note_comparison(const Module& module, const ConstantRegisters& constants, const ptx::Instruction& instruction,
                     NamedCtas& named) {
  if (instruction.operand_count != 3) return;
  const Operand* operands = module.operands_of(instruction);
  for (unsigned n = 1; n < 3; ++n) {
    const auto number = constants.of(operands[3 - n]);
    if (operands[n].kind != Operand::Kind::kRegister || !number) continue;
    const uint32_t special = constants.special(operands[n].ref);
    if (special == ptx::kNone) continue;
    const std::string_view name = module.special_registers[special];
    if (name == "%cluster_ctarank") note_most(named.rank, *number);
    if (name == "%cluster_ctaid.x") note_most(named.x, *number);
    if (name == "%cluster_ctaid.y") note_most(named.y, *number);
    if (name == "%cluster_ctaid.z") note_most(named.z, *number);
  }
}

// What a function names by numbers: ranks in mapa, masks of multicasts, comparisons for equality.
void note_named_ctas(const Module& module, const ptx::Function& function, NamedCtas& named) {
  const ConstantRegisters constants(module, function);
  for (uint32_t i = function.first_instruction; i < function.last_instruction; ++i) {
    const ptx::Instruction& instruction = module.instructions[i];
    const ptx::Opcode& opcode = module.opcode(instruction);
    const Operand* operands = module.operands_of(instruction);
    if (opcode.root == "mapa" && instruction.operand_count == 3) {
      if (const auto rank = constants.of(operands[2])) note_most(named.rank, *rank);
    } else if (opcode.root == "setp" && (opcode.has("eq") || opcode.has("ne"))) {
      note_comparison(module, constants, instruction, named);
    } else if (opcode.has("multicast::cluster")) {
      // The mask is the one operand of 16 bits.
      for (unsigned n = 0; n < instruction.operand_count; ++n) {
        const bool is_mask =
            operands[n].kind == Operand::Kind::kInteger ||
            (operands[n].kind == Operand::Kind::kRegister && ptx::bits(function.registers[operands[n].ref].type) == 16);
        const auto mask = is_mask ? constants.of(operands[n]) : std::nullopt;
        if (mask && *mask != 0) note_most(named.rank, static_cast<uint64_t>(std::bit_width(*mask & 0xffff)) - 1);
      }
    }
  }
}

// The smallest cluster with all CTAs that the code names, of a power of two; nothing where it names only the first.
Dimensions named_cluster(const Module& module, uint32_t kernel, bool uses_pairs) {
  NamedCtas named;
  for (uint32_t f : call_tree(module, kernel)) note_named_ctas(module, module.functions[f], named);
  Dimensions out = {std::bit_ceil(named.x + 1), std::bit_ceil(named.y + 1), std::bit_ceil(named.z + 1)};
  const uint32_t fewest = std::max(std::bit_ceil(named.rank + 1), uses_pairs ? 2u : 1u);
  while (out.count() < fewest) out.x *= 2;
  return out.count() > assumptions::kCtasSteppedTogether ? Dimensions{} : out;
}

std::string text_of(const Dimensions& d) {
  return std::to_string(d.x) + "," + std::to_string(d.y) + "," + std::to_string(d.z);
}

bool same(const Dimensions& a, const Dimensions& b) {
  return a.x == b.x && a.y == b.y && a.z == b.z;
}

std::string block_assumption(const Launch& launch, std::string_view kernel) {
  const std::string name(kernel);
  const std::string threads = std::to_string(launch.threads());
  switch (launch.block_origin) {
    case Launch::Origin::kStated:
      return {};
    case Launch::Origin::kMaximum:
      return name + ": launched with its largest block, " + threads +
             " threads (.maxntid); give --block if it is another";
    case Launch::Origin::kInferred:
      return name + ": no block size is stated; " + threads +
             " threads inferred from its barriers and the warps that its code is for; give --block if it is another";
    case Launch::Origin::kAssumed:
      return name + ": no block size is stated; " + threads + " threads assumed; give --block if it is another";
  }
  return {};
}

std::string cluster_assumption(const Launch& launch) {
  if (!launch.cluster_is_guess() || launch.ctas() == 1) return {};
  const std::string what = launch.cluster_origin == Launch::Origin::kInferred
                               ? "a cluster of " + text_of(launch.cluster) + " CTAs inferred from what its code names"
                               : std::string("a pair of CTAs assumed");
  return "no cluster is stated; " + what + "; give --cluster if it is another";
}

}  // namespace

bool reads_more_dimensions(const Module& module, uint32_t kernel) {
  for (uint32_t f : call_tree(module, kernel)) {
    const ptx::Function& function = module.functions[f];
    for (uint32_t i = function.first_instruction; i < function.last_instruction; ++i) {
      const ptx::Instruction& instruction = module.instructions[i];
      const Operand* operands = module.operands_of(instruction);
      for (unsigned n = 0; n < instruction.operand_count; ++n) {
        if (operands[n].kind != Operand::Kind::kSpecial) continue;
        const std::string_view name = module.special_registers[operands[n].ref];
        if (name == "%tid.y" || name == "%tid.z") return true;
      }
    }
  }
  return false;
}

std::string contradiction(const ptx::Function& kernel, const AskedLaunch& asked, bool uses_pairs) {
  const Dimensions& block = asked.block;
  const Dimensions& cluster = asked.cluster;
  // What is said of all kernels is for those that state nothing themselves.
  if (block.given() && kernel.reqntid.given()) {
    if (asked.block_by_name && !same(block, kernel.reqntid))
      return "a block of " + text_of(block) + " threads: it states .reqntid " + text_of(kernel.reqntid);
  } else if (block.given() && kernel.maxntid.given() && block.count() > kernel.maxntid.count()) {
    return "a block of " + std::to_string(block.count()) + " threads: it states .maxntid " + text_of(kernel.maxntid);
  }
  if (!cluster.given()) return {};
  const std::string asked_cluster = "a cluster of " + text_of(cluster) + " CTAs: ";
  if (kernel.reqnctapercluster.given()) {
    if (!asked.cluster_by_name || same(cluster, kernel.reqnctapercluster)) return {};
    return asked_cluster + "it states .reqnctapercluster " + text_of(kernel.reqnctapercluster);
  }
  if (kernel.maxclusterrank != 0 && cluster.count() > kernel.maxclusterrank)
    return asked_cluster + "it states .maxclusterrank " + std::to_string(kernel.maxclusterrank);
  if (uses_pairs && cluster.count() % 2 != 0) return asked_cluster + "its cta_group::2 instructions need pairs of CTAs";
  return {};
}

Launch launch_of(const Module& module, const ptx::Function& kernel, Dimensions block, ptx::Dimensions cluster,
                 bool uses_pairs) {
  Launch out;
  const auto number = static_cast<uint32_t>(&kernel - module.functions.data());
  if (kernel.reqntid.given()) {
    out.block = kernel.reqntid;
    out.block_origin = Launch::Origin::kStated;
  } else if (block.given()) {
    out.block = block;
    out.block_origin = Launch::Origin::kStated;
  } else if (kernel.maxntid.given()) {
    out.block = kernel.maxntid;
    out.block_origin = Launch::Origin::kMaximum;
  } else if (uint32_t threads = largest_barrier(module, number); threads > assumptions::kThreadsOfABlock) {
    out.block.x = threads;
    out.block_origin = Launch::Origin::kInferred;
  } else {
    out.block.x = assumptions::kThreadsOfABlock;
  }
  if (out.block.count() > assumptions::kMostThreadsOfABlock)
    out.block = {assumptions::kMostThreadsOfABlock, 1, 1};  // no kernel can be launched with more

  // .maxntid bounds the number of threads, not their shape.
  out.shape_is_guess = out.block_origin != Launch::Origin::kStated && out.block.y == 1 && out.block.z == 1 &&
                       reads_more_dimensions(module, number);
  if (kernel.reqnctapercluster.given()) {
    out.cluster = kernel.reqnctapercluster;
    out.cluster_origin = Launch::Origin::kStated;
  } else if (cluster.given()) {
    out.cluster = cluster;
    out.cluster_origin = Launch::Origin::kStated;
  } else if (const Dimensions named = named_cluster(module, number, uses_pairs);
             named.count() > (uses_pairs ? 2u : 1u)) {
    out.cluster = named;
    out.cluster_origin = Launch::Origin::kInferred;
  } else {
    out.cluster.x = uses_pairs ? 2 : 1;
  }
  return out;
}

std::string assumption(const Launch& launch, std::string_view kernel) {
  std::string out = block_assumption(launch, kernel);
  const auto add = [&](const std::string& more) {
    if (more.empty()) return;
    out += out.empty() ? std::string(kernel) + ": " : "; ";
    out += more;
  };
  if (launch.shape_is_guess) {
    add("it reads %tid.y or %tid.z, and nothing states the shape of its block: " + text_of(launch.block) +
        " assumed; give --block X,Y,Z if it is another");
  }
  add(cluster_assumption(launch));
  return out;
}

}  // namespace tmemlint::kernel
