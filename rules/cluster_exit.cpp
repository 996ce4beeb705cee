// tmem-cluster-exit: a CTA exits while the other one still reaches it.
#include "rules/sightings.h"

namespace tmemlint::rules {

namespace {

using cluster::Fault;
using cluster::Sighting;

void check_cluster_exit(Context& context) {
  for_each(context, {Fault::kClusterExit}, [&](const Sighting& s) {
    Draft d =
        draft(s, report::Level::kWarning,
              name(context, s.at) + " reaches CTA " + std::to_string(s.other_rank) +
                  " of the cluster, which may have exited: it does not wait for this, and no cluster barrier follows");
    if (s.other != kNone) d.related.emplace_back(s.other, "that CTA exits here");
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
