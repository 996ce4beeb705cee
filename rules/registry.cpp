#include "rules/rule.h"

namespace tmemlint::rules {

extern const Rule kAllocAfterRelinquish;
extern const Rule kAllocGrowing;
extern const Rule kAllocSize;
extern const Rule kAsmMemory;
extern const Rule kAsmVolatile;
extern const Rule kCtaGroup;
extern const Rule kInstructionForm;
extern const Rule kLaneWindow;
extern const Rule kMissingDealloc;
extern const Rule kMissingWaitLd;
extern const Rule kMissingWaitSt;
extern const Rule kTarget;
extern const Rule kWarpCollective;

const std::vector<const Rule*>& registry() {
  static const std::vector<const Rule*> rules = {
      &kAllocAfterRelinquish, &kAllocGrowing, &kAllocSize,      &kAsmMemory,     &kAsmVolatile,   &kCtaGroup,
      &kInstructionForm,      &kLaneWindow,   &kMissingDealloc, &kMissingWaitLd, &kMissingWaitSt, &kTarget,
      &kWarpCollective,
  };
  return rules;
}

const Rule* find(std::string_view id) {
  for (const Rule* rule : registry()) {
    if (rule->id == id) return rule;
  }
  return nullptr;
}

}  // namespace tmemlint::rules
