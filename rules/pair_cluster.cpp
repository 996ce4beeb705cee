// tmem-pair-cluster: a pair needs two CTAs (ISA 9.7.16.5.1).
#include "rules/context.h"

namespace tmemlint::rules {

namespace {

void check_pair_cluster(Context& context) {
  const cluster::CompiledKernel& kernel = *context.analysis().kernel;
  if (!kernel.uses_pairs || context.launch().cluster_is_guess()) return;
  const uint32_t ctas = context.launch().ctas();
  if (ctas % 2 == 0) return;
  for (uint32_t i : kernel.tcgen05) {
    if (context.form(i).cta_group != 2) continue;
    Draft d;
    d.at = i;
    d.message = "cta_group::2 needs pairs of CTAs, but the kernel's clusters have " + std::to_string(ctas) +
                (ctas == 1 ? " CTA" : " CTAs, so that one has no peer");
    context.report(std::move(d));
    return;
  }
}

}  // namespace

extern const Rule kPairCluster;
const Rule kPairCluster = {
    "tmem-pair-cluster",
    report::Level::kError,
    "A kernel with .cta_group::2 states a cluster that cannot be divided into pairs.",
    "Launch clusters of an even number of CTAs.",
    check_pair_cluster,
    /*source_only=*/false,
    /*stands_alone=*/true,
};

}  // namespace tmemlint::rules
