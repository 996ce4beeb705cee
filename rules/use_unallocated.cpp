// tmem-use-unallocated: Tensor Memory is touched though nothing is allocated (ISA 9.7.16.7).
#include "rules/between_warps.h"

namespace tmemlint::rules {

namespace {

void check_use_unallocated(Context& context) {
  for_each(context, {ProblemKind::kUnallocated}, [&](const Problem& p) {
    return draft(p, report::Level::kError,
                 name(context, p.at) + " touches column " + std::to_string(p.as<cluster::StrayAccess>().column) +
                     ", but this CTA holds no allocation: Tensor Memory must be allocated with tcgen05.alloc first");
  });
}

}  // namespace

extern const Rule kUseUnallocated;
const Rule kUseUnallocated = {
    "tmem-use-unallocated",
    report::Level::kError,
    "Tensor Memory is accessed in a CTA that has allocated none.",
    "Allocate the columns with tcgen05.alloc before the first access.",
    check_use_unallocated,
};

}  // namespace tmemlint::rules
