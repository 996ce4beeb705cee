#include "analyzer/cluster/analysis.h"

#include <algorithm>
#include <string_view>

namespace tmemlint::cluster {

std::vector<uint32_t> Analysis::uncalled() const {
  std::vector<uint32_t> out;
  for (uint32_t f : kernel->functions) {
    const std::vector<kernel::Frame>& frames = kernel->graph.frames;
    if (std::any_of(frames.begin(), frames.end(), [&](const kernel::Frame& frame) { return frame.function == f; }))
      continue;
    const ptx::Function& function = kernel->module->functions[f];
    const auto first = std::lower_bound(kernel->tcgen05.begin(), kernel->tcgen05.end(), function.first_instruction);
    if (first != kernel->tcgen05.end() && *first < function.last_instruction) out.push_back(f);
  }
  return out;
}

namespace {

// Whether the protocol depends on which threads have a number along y or z.
bool depends_on_shape(const CompiledKernel& kernel) {
  const std::vector<std::string_view>& names = kernel.module->special_registers;
  return std::any_of(kernel.program->args.begin(), kernel.program->args.end(), [&](const program::Arg& arg) {
    return arg.kind == program::Arg::Kind::kSpecial && (names[arg.ref] == "%tid.y" || names[arg.ref] == "%tid.z");
  });
}

}  // namespace

Analysis analyze(const ptx::Module& module, uint32_t function, ptx::Dimensions block, ptx::Dimensions cluster,
                 const JointSetting& setting) {
  Analysis out;
  out.kernel = compile_kernel(module, function);
  const CompiledKernel& kernel = *out.kernel;
  out.launch = kernel::launch_of(module, module.functions[function], block, cluster, kernel.uses_pairs);
  if (!out.has_tcgen05()) return out;
  out.launch.shape_is_guess = out.launch.shape_is_guess && depends_on_shape(kernel);
  SteppedLaunch stepped;
  stepped.followed = find_block(kernel, {out.launch, follow_warps(kernel, out.launch)});
  stepped.joint = run_jointly(kernel, stepped.followed.launch, stepped.followed.warps, setting);
  stepped = find_block_that_goes_on(kernel, std::move(stepped), setting);
  out.launch = stepped.followed.launch;
  out.warps = std::move(stepped.followed.warps);
  out.joint = std::make_shared<const Joint>(std::move(stepped.joint));
  return out;
}

}  // namespace tmemlint::cluster
