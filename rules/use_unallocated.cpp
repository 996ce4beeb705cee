// tmem-use-unallocated: Tensor Memory is touched though nothing is allocated (ISA 9.7.16.7).
#include <algorithm>
#include <set>

#include "rules/between_warps.h"

namespace tmemlint::rules {

namespace {

// Whether some warp comes to an alloc, or may.
bool may_allocate(const Context& context) {
  const auto allocates = [&](uint32_t i) { return ptx::effects_of(context.form(i)).allocates; };
  const std::vector<uint32_t>& all = context.analysis().kernel->tcgen05;
  if (std::none_of(all.begin(), all.end(), allocates)) return false;
  return std::any_of(context.warps().begin(), context.warps().end(), [&](const warp::WarpGraph& w) {
    return !w.uncertain.empty() || std::any_of(w.events.begin(), w.events.end(), [&](const warp::Event& e) {
      return e.kind == warp::Event::Kind::kTcgen05 && allocates(e.instruction);
    });
  });
}

// Accesses of a kernel in which nothing allocates: wherever their addresses lead.
void check_without_alloc(Context& context, const std::set<uint32_t>& told) {
  for (const warp::WarpGraph& w : context.warps()) {
    for (const warp::Event& e : w.events) {
      if (e.kind != warp::Event::Kind::kTcgen05 || e.lanes == 0 || told.contains(e.instruction)) continue;
      if (ptx::effects_of(context.form(e)).accesses.empty()) continue;
      Draft d;
      d.at = e.instruction;
      d.message = name(context, e.instruction) +
                  " touches Tensor Memory, but no warp of this kernel comes to a tcgen05.alloc: it must be allocated "
                  "first";
      d.warp = &w;
      d.node = e.node;
      d.rests_on_block = true;
      context.report(std::move(d));
    }
  }
}

void check_use_unallocated(Context& context) {
  std::set<uint32_t> told;
  for_each(context, {ProblemKind::kUnallocated}, [&](const Problem& p) {
    told.insert(p.at);
    return draft(p, report::Level::kError,
                 name(context, p.at) + " touches column " + std::to_string(p.as<cluster::StrayAccess>().column) +
                     ", but this CTA holds no allocation: Tensor Memory must be allocated with tcgen05.alloc first");
  });
  if (!may_allocate(context)) check_without_alloc(context, told);
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
