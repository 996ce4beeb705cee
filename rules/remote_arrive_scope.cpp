// tmem-remote-arrive-scope: an arrive on another CTA's mbarrier orders nothing there with CTA scope (ISA 9.7.13.15).
#include <bit>
#include <set>

#include "analyzer/kernel/layout.h"
#include "rules/context.h"

namespace tmemlint::rules {

namespace {

void check_remote_arrive_scope(Context& context) {
  std::set<uint32_t> said;
  for (const warp::WarpGraph& w : context.warps()) {
    for (const warp::Event& e : w.events) {
      if (e.kind != warp::Event::Kind::kMbarrier || e.lanes == 0) continue;
      const program::Meaning& m = context.meaning(e);
      const bool arrives =
          m.mbarrier == program::MbarrierAction::kArrive || m.mbarrier == program::MbarrierAction::kArriveExpectTx;
      if (!arrives || !m.remote || m.cluster_scope || said.contains(e.instruction)) continue;
      const auto numbers = context.terms().enumerate(e.address, static_cast<unsigned>(std::countr_zero(e.lanes)), 32);
      if (!numbers || numbers->empty()) continue;
      bool remote = true;
      for (uint64_t n : *numbers) remote = remote && (n >> kernel::kRankShift) != w.rank;
      if (!remote) continue;
      said.insert(e.instruction);
      Draft d;
      d.level = report::Level::kNote;
      d.at = e.instruction;
      d.message =
          "this arrive on the other CTA's mbarrier has CTA scope (an arrive without a scope is .release.cta): only a "
          "cluster-scope release orders this thread's accesses for the other CTA";
      d.warp = &w;
      d.node = e.node;
      context.report(std::move(d));
    }
  }
}

}  // namespace

extern const Rule kRemoteArriveScope;
const Rule kRemoteArriveScope = {
    "tmem-remote-arrive-scope",
    report::Level::kNote,
    "An arrive on the mbarrier of another CTA has CTA scope.",
    "Write mbarrier.arrive.release.cluster.",
    check_remote_arrive_scope,
    /*source_only=*/false,
    /*stands_alone=*/true,
};

}  // namespace tmemlint::rules
