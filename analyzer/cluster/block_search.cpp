#include "analyzer/cluster/block_search.h"

#include "analyzer/assumptions/assumptions.h"
#include "analyzer/kernel/constant_registers.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

namespace tmemlint::cluster {

namespace {

// Blocks, in threads, of which each is tried to see whether it has a warp for what the ones before had none.
constexpr auto kCoarseBlocks = std::to_array(assumptions::kBlocksTriedForReach);
// Those of which the smallest one that does as well as the best of them is taken.
constexpr auto kBlocks = std::to_array(assumptions::kBlocksTriedForFit);
// Those that are tried where warps wait for others.
constexpr auto kLargerBlocks = std::to_array(assumptions::kBlocksTriedForWaits);

// Whether what a warp does may depend on how many others there are.
bool asks_for_block(const CompiledKernel& k) {
  const std::vector<std::string_view>& names = k.module->special_registers;
  return std::any_of(k.program->args.begin(), k.program->args.end(), [&](const program::Arg& arg) {
    return arg.kind == program::Arg::Kind::kSpecial &&
           (names[arg.ref].starts_with("%ntid") || names[arg.ref].starts_with("%nwarpid"));
  });
}

FollowedLaunch follow_in_block(const CompiledKernel& kernel, const kernel::Launch& like, uint64_t threads,
                               assumptions::Id why) {
  FollowedLaunch out;
  out.launch = like;
  kernel.terms->uses().count(why);
  out.launch.block = {static_cast<uint32_t>(threads), 1, 1};
  out.launch.block_origin = kernel::Launch::Origin::kInferred;
  out.warps = follow_warps(kernel, out.launch);
  return out;
}

// The blocks that may do as well as the largest one that was tried, of which `fewest` instructions were not reached.
// What the largest block showed says which of the others need not be tried.
std::vector<uint32_t> candidates(const CompiledKernel& kernel, const FollowedLaunch& largest, size_t fewest) {
  const bool warps_are_the_same = !asks_for_block(kernel) && largest.launch.ctas() == 1;
  std::vector<uint32_t> out;
  for (uint64_t threads : kBlocks) {
    if (threads > largest.launch.threads()) break;
    if (!warps_are_the_same || count_unreached_protocol(kernel, largest.warps, threads / value::kLanes) <= fewest)
      out.push_back(static_cast<uint32_t>(threads));
  }
  return out;
}

// Counts of threads that the code itself names: of mbarriers that whole warps arrive on, and in comparisons with the
// number of a thread.
void add_named_counts(const CompiledKernel& kernel, std::vector<uint64_t>& out) {
  const auto add = [&](uint64_t count) {
    if (count != 0 && count % value::kLanes == 0 && count <= assumptions::kMostThreadsOfABlock) out.push_back(count);
  };
  for (uint32_t f : kernel.functions) {
    const ptx::Function& function = kernel.module->functions[f];
    const kernel::ConstantRegisters constants(*kernel.module, function);
    for (uint32_t i = function.first_instruction; i < function.last_instruction; ++i) {
      const ptx::Instruction& instruction = kernel.module->instructions[i];
      const ptx::Opcode& opcode = kernel.module->opcode(instruction);
      const ptx::Operand* operands = kernel.module->operands_of(instruction);
      if (opcode.root == "mbarrier" && opcode.has("init") && instruction.operand_count == 2) {
        if (const auto count = constants.of(operands[1])) add(*count);
      }
      if (opcode.root != "setp" || instruction.operand_count != 3) continue;
      for (unsigned n = 1; n < 3; ++n) {
        const auto number = constants.of(operands[3 - n]);
        if (operands[n].kind != ptx::Operand::Kind::kRegister || !number) continue;
        const uint32_t special = constants.special(operands[n].ref);
        if (special == ptx::kNone || kernel.module->special_registers[special] != "%tid.x") continue;
        // The threads that it is about end, or begin, at that number or behind it.
        const uint64_t whole = (*number + value::kLanes - 1) / value::kLanes * value::kLanes;
        add(whole);
        add(whole + value::kLanes);
      }
    }
  }
}

// Larger blocks that a kernel may be for, ascending.
std::vector<uint32_t> larger_blocks(const CompiledKernel& kernel, const FollowedLaunch& than) {
  std::vector<uint64_t> all(kLargerBlocks.begin(), kLargerBlocks.end());
  add_named_counts(kernel, all);
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  std::vector<uint32_t> out;
  for (uint64_t threads : all) {
    if (threads > than.launch.threads()) out.push_back(static_cast<uint32_t>(threads));
  }
  return out;
}

}  // namespace

FollowedLaunch find_block(const CompiledKernel& kernel, FollowedLaunch first) {
  if (!first.launch.block_is_guess()) return first;
  const size_t missing = count_unreached_protocol(kernel, first.warps);
  if (missing == 0) return first;
  // An instruction that no warp of the largest block reaches is not meant for some other warp: it does not count.
  size_t fewest = missing;
  FollowedLaunch largest = first;
  for (uint64_t threads : kCoarseBlocks) {
    if (threads <= first.launch.threads() || fewest == 0) continue;
    largest = follow_in_block(kernel, first.launch, threads, assumptions::Id::kBlocksTriedForReach);
    fewest = count_unreached_protocol(kernel, largest.warps);
  }
  if (fewest >= missing) return first;
  for (uint32_t threads : candidates(kernel, largest, fewest)) {
    if (threads <= first.launch.threads()) continue;
    FollowedLaunch tried = follow_in_block(kernel, first.launch, threads, assumptions::Id::kBlocksTriedForFit);
    if (count_unreached_protocol(kernel, tried.warps) <= fewest) return tried;
  }
  return first;
}

SteppedLaunch find_block_that_goes_on(const CompiledKernel& kernel, SteppedLaunch first, const JointSetting& setting) {
  if (!first.followed.launch.block_is_guess() || !first.joint.short_of_warps) return first;
  JointSetting usual = setting;  // says enough of most blocks, at a part of the cost
  usual.usual_only = true;
  const kernel::Launch like = first.followed.launch;
  const bool usual_goes_on = !run_jointly(kernel, like, first.followed.warps, usual).short_of_warps;
  std::optional<SteppedLaunch> better;
  unsigned tries = assumptions::kBlocksSteppedInFull;
  for (uint32_t threads : larger_blocks(kernel, first.followed)) {
    SteppedLaunch tried;
    tried.followed = follow_in_block(kernel, like, threads, assumptions::Id::kBlocksTriedForWaits);
    if (run_jointly(kernel, tried.followed.launch, tried.followed.warps, usual).short_of_warps) continue;
    tried.joint = run_jointly(kernel, tried.followed.launch, tried.followed.warps, setting);
    if (!tried.joint.short_of_warps) return tried;
    // Its usual scenario goes on, which is more than the first block's did.
    if (!usual_goes_on && !better) better = std::move(tried);
    if (--tries == 0) break;
  }
  return better ? std::move(*better) : first;
}

}  // namespace tmemlint::cluster
