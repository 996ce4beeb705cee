#include "analyzer/cluster/analysis.h"

namespace tmemlint::cluster {

std::vector<uint32_t> Analysis::unreached() const {
  std::vector<bool> seen(kernel->module->instructions.size(), false);
  for (const warp::WarpGraph& w : warps) {
    for (size_t s = 0; s < w.reached.size(); ++s) {
      if (w.reached[s]) seen[kernel->program->steps[s].instruction] = true;
    }
  }
  std::vector<uint32_t> out;
  for (uint32_t i : kernel->tcgen05) {
    if (!seen[i]) out.push_back(i);
  }
  return out;
}

Analysis analyze(const ptx::Module& module, uint32_t function, ptx::Dimensions block, ptx::Dimensions cluster,
                 const JointSetting& setting) {
  Analysis out;
  out.kernel = compile_kernel(module, function);
  const CompiledKernel& kernel = *out.kernel;
  out.launch = kernel::launch_of(module, module.functions[function], block, cluster, kernel.uses_pairs);
  if (!out.has_tcgen05()) return out;
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
