#include "analyzer/cluster/analysis.h"

#include <algorithm>
#include <string_view>

namespace tmemlint::cluster {

std::vector<uint32_t> Analysis::unreached() const {
  std::vector<bool> seen(kernel->module->instructions.size(), false);
  for (const warp::WarpGraph& w : warps) {
    for (size_t s = 0; s < w.reached.size(); ++s) {
      if (w.reached[s]) seen[kernel->program->steps[s].instruction] = true;
    }
  }
  std::vector<uint32_t> out;
  // What no path leads to in a body that was laid out, such as code behind a branch that only constants decide, is no
  // part of the kernel.
  std::vector<bool> laid_out(seen.size(), false);
  for (const kernel::Frame& frame : kernel->graph.frames) {
    const ptx::Function& f = kernel->module->functions[frame.function];
    std::fill(laid_out.begin() + f.first_instruction, laid_out.begin() + f.last_instruction, true);
  }
  for (uint32_t i : kernel->tcgen05) {
    if (!seen[i] && (kernel->graph.reached[i] || !laid_out[i])) out.push_back(i);
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
  stepped.joint = run_jointly(kernel, stepped.followed.launch, setting);
  stepped = find_block_that_goes_on(kernel, std::move(stepped), setting);
  out.launch = stepped.followed.launch;
  out.warps = std::move(stepped.followed.warps);
  out.joint = std::make_shared<const Joint>(std::move(stepped.joint));
  return out;
}

}  // namespace tmemlint::cluster
