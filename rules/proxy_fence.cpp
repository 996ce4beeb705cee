// tmem-proxy-fence: operands that ordinary stores wrote are read through the asynchronous proxy (ISA 9.7.16.6.5).
#include "rules/sightings.h"

namespace tmemlint::rules {

namespace {

using cluster::Fault;
using cluster::Sighting;

void check_proxy_fence(Context& context) {
  for_each(context, {Fault::kProxyFence}, [&](const Sighting& s) {
    Draft d = draft(s, report::Level::kWarning,
                    name(context, s.at) +
                        " reads shared memory through the asynchronous proxy, but ordinary stores wrote it and no "
                        "fence.proxy.async lies between: it may read old bytes");
    d.related.emplace_back(s.other, "the store");
    return d;
  });
}

}  // namespace

extern const Rule kProxyFence;
const Rule kProxyFence = {
    "tmem-proxy-fence",
    report::Level::kWarning,
    "Shared memory that an mma or cp reads was last written by an ordinary store, with no proxy fence in between.",
    "Execute fence.proxy.async after the stores, before the join that leads to the mma.",
    check_proxy_fence,
};

}  // namespace tmemlint::rules
