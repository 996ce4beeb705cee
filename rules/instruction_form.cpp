// tmem-instruction-form: instructions that the ISA does not define as written.
#include "rules/context.h"

namespace tmemlint::rules {

namespace {

void check_instruction_form(Context& context) {
  const ptx::Module& module = context.module();
  ptx::LegalOpcodes legal;
  std::vector<bool> is_judged;  // by opcode
  is_judged.reserve(module.opcodes.size());
  for (const ptx::Opcode& opcode : module.opcodes) is_judged.push_back(ptx::has_judged_form(opcode));
  for (uint32_t f : context.analysis().kernel->functions) {
    const ptx::Function& function = module.functions[f];
    for (uint32_t i = function.first_instruction; i < function.last_instruction; ++i) {
      if (!is_judged[module.instructions[i].opcode]) continue;
      for (ptx::FormProblem& problem : ptx::check_form(module, function, module.instructions[i], legal)) {
        if (problem.is_column_count) continue;  // tmem-alloc-size says it, for registers as well
        Draft d;
        d.at = At(i, problem.span);
        d.message = std::move(problem.message);
        if (!problem.fix.empty()) d.message += "; write " + problem.fix;
        context.report(std::move(d));
      }
    }
  }
}

}  // namespace

extern const Rule kInstructionForm;
const Rule kInstructionForm = {
    "tmem-instruction-form",
    report::Level::kError,
    "An instruction that the ISA does not define: its qualifiers, operands or immediates are not legal together.",
    "Write one of the forms that the message lists.",
    check_instruction_form,
    /*source_only=*/false,
    /*stands_alone=*/true,
};

}  // namespace tmemlint::rules
