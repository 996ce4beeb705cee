// tmem-cta-group: one .cta_group value in a kernel and all it calls (ISA 9.7.16.5).
#include "rules/context.h"

namespace tmemlint::rules {

namespace {

void check_cta_group(Context& context) {
  const ptx::Module& module = context.module();
  const cluster::CompiledKernel& kernel = *context.analysis().kernel;
  uint32_t first[3] = {kNone, kNone, kNone};  // in the order of the call tree: the kernel's own before its callees'
  unsigned count[3] = {};
  std::vector<std::pair<uint32_t, unsigned>> all;
  for (uint32_t f : kernel.functions) {
    const ptx::Function& function = module.functions[f];
    for (uint32_t i = function.first_instruction; i < function.last_instruction; ++i) {
      const program::Meaning& m = context.meaning(i);
      if (m.action != program::Action::kTcgen05) continue;
      const unsigned group = m.form.cta_group;
      if (group != 1 && group != 2) continue;
      if (first[group] == kNone) first[group] = i;
      ++count[group];
      all.emplace_back(i, group);
    }
  }
  if (count[1] == 0 || count[2] == 0) return;
  // The odd ones out are what a person would change; of as many each, those that come later.
  const unsigned other = count[1] != count[2] ? (count[1] < count[2] ? 1 : 2) : (first[1] == all.front().first ? 2 : 1);
  const unsigned main = 3 - other;
  for (const auto& [instruction, group] : all) {
    if (group != other) continue;
    Draft d;
    d.at = instruction;
    d.message = std::string(context.name(instruction)) + " uses .cta_group::" + std::to_string(other) +
                " in a kernel whose other tcgen05 instructions use .cta_group::" + std::to_string(main) +
                ": a kernel and all it calls must use one value";
    d.related.emplace_back(first[main], "uses .cta_group::" + std::to_string(main));
    context.report(std::move(d));
  }
}

}  // namespace

extern const Rule kCtaGroup;
const Rule kCtaGroup = {
    "tmem-cta-group",
    report::Level::kError,
    "The tcgen05 instructions of a kernel and of what it calls use two .cta_group values.",
    "Use the same .cta_group in every tcgen05 instruction of the kernel.",
    check_cta_group,
    /*source_only=*/false,
    /*stands_alone=*/true,
};

}  // namespace tmemlint::rules
