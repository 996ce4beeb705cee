// tmem-target: instructions that the module's .target or .version does not have.
#include "rules/context.h"

namespace tmemlint::rules {

namespace {

void check_target(Context& context) {
  const ptx::Module& module = context.module();
  ptx::LegalOpcodes legal;
  for (uint32_t i : context.analysis().kernel->tcgen05) {
    for (ptx::FormProblem& problem : ptx::check_target(module, module.instructions[i], legal)) {
      Draft d;
      // Said once for the module, not once for each instruction and kernel.
      d.at = At(problem.is_about_module ? kNone : i, problem.span);
      d.message = std::move(problem.message);
      if (!problem.fix.empty()) d.message += "; " + problem.fix;
      context.report(std::move(d));
    }
  }
}

}  // namespace

extern const Rule kTarget;
const Rule kTarget = {
    "tmem-target",
    report::Level::kError,
    "An instruction or qualifier that the module's .target or .version does not have.",
    "Compile for the target, or write the .version, that the message names.",
    check_target,
    /*source_only=*/false,
    /*stands_alone=*/true,
};

}  // namespace tmemlint::rules
