#include "analyzer/cluster/compiled_kernel.h"

#include <algorithm>

namespace tmemlint::cluster {

std::vector<uint32_t> tcgen05_instructions(const ptx::Module& module, const std::vector<uint32_t>& functions) {
  std::vector<uint32_t> out;
  for (uint32_t f : functions) {
    const ptx::Function& function = module.functions[f];
    for (uint32_t i = function.first_instruction; i < function.last_instruction; ++i) {
      if (module.opcode(module.instructions[i]).root == "tcgen05") out.push_back(i);
    }
  }
  std::sort(out.begin(), out.end());
  return out;
}

std::shared_ptr<const CompiledKernel> compile_kernel(const ptx::Module& module, uint32_t function) {
  auto k = std::make_shared<CompiledKernel>();
  k->module = &module;
  k->function = function;
  k->functions = kernel::call_tree(module, function);
  k->tcgen05 = tcgen05_instructions(module, k->functions);
  k->uses_pairs = std::any_of(k->tcgen05.begin(), k->tcgen05.end(), [&](uint32_t i) {
    return ptx::decode(module.opcode(module.instructions[i])).cta_group == 2;
  });
  if (k->tcgen05.empty()) return k;
  k->graph = kernel::build_graph(module, function);
  k->program = std::make_unique<program::Program>(program::compile(k->graph));
  k->terms = std::make_unique<value::Terms>();
  k->replays = std::make_unique<warp::Replays>();
  return k;
}

}  // namespace tmemlint::cluster
