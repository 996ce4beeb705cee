// tmem-cluster-exit: a CTA exits while the other one still reaches it.
#include "rules/between_warps.h"

namespace tmemlint::rules {

namespace {

void check_cluster_exit(Context& context) {
  for_each(context, {ProblemKind::kReachesExited}, [&](const Problem& p) {
    Draft d =
        draft(p, report::Level::kWarning,
              name(context, p.at) + " reaches CTA " + std::to_string(p.as<cluster::LateReach>().target) +
                  " of the cluster, which may have exited: it does not wait for this, and no cluster barrier follows");
    if (p.other != kNone) d.related.emplace_back(p.other, "that CTA exits here");
    return d;
  });
}

}  // namespace

extern const Rule kClusterExit;
const Rule kClusterExit = {
    "tmem-cluster-exit",
    report::Level::kWarning,
    "A CTA can exit while another CTA of the cluster still signals its shared memory or uses its Tensor Memory.",
    "Let the CTA wait for the last signal, or join the cluster before exiting.",
    check_cluster_exit,
};

}  // namespace tmemlint::rules
