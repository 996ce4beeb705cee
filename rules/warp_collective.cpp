// tmem-warp-collective: alloc, dealloc, relinquish, ld, st and wait are executed by a whole warp, with one set of
// operands (ISA 9.7.16.7.1 and the .sync.aligned paragraphs of each instruction).
#include <bit>
#include <map>
#include <set>

#include "analyzer/assumptions/assumptions.h"
#include "rules/context.h"

namespace tmemlint::rules {

namespace {

// Which lanes exactly is only said where the analysis did not choose them itself.
std::string missing_text(const warp::WarpGraph& w, const warp::Event& e, std::string_view name) {
  const uint32_t missing = w.lanes & ~e.lanes;
  std::string out(name);
  out += " must be executed by all lanes of the warp together, but here ";
  if ((missing & ~w.holdings_before(e).exited) == 0) return out + "some of them have left the kernel";
  if (std::has_single_bit(e.lanes)) return out + "one lane executes it alone";
  return out + "a condition that differs between lanes leads to it";
}

// Whether the lanes that an event lacks left the others only where a bound that is the same in all threads cuts through
// the warp: kernels may be launched with such numbers only that it never does.
bool rests_on_a_bound(const warp::WarpGraph& w, const warp::Event& e) {
  bool at_a_bound = false;
  uint32_t lanes = e.lanes;
  for (uint32_t n = e.node; n != kNone; n = w.nodes[n].from) {
    const warp::Node& node = w.nodes[n];
    if ((node.lanes & ~lanes) != 0) {
      if (!node.parts_at_a_bound) return false;
      at_a_bound = true;
    }
    lanes |= node.lanes;
    if (lanes == w.lanes) return at_a_bound;
  }
  return false;
}

void check_warp(Context& context, const warp::WarpGraph& w) {
  // Collectives in one stretch of code, or after the same exit, have one cause: the first is reported, the others are
  // places beside it.
  std::map<uint32_t, size_t> groups;  // by block, kNone for exited lanes
  std::set<uint32_t> seen;
  std::vector<Draft> drafts;
  for (const warp::Event& e : w.events) {
    if (e.kind != warp::Event::Kind::kTcgen05) continue;
    const ptx::Form& form = context.form(e);
    if (form.issue != ptx::Issue::kWarp) continue;
    const std::string_view name = context.name(e.instruction);
    const uint32_t missing = w.lanes & ~e.lanes;
    if (missing != 0) {
      if (!seen.insert(e.instruction).second) continue;
      const bool exited = (missing & ~w.holdings_before(e).exited) == 0;
      const auto [it, fresh] = groups.try_emplace(exited ? kNone : e.block, drafts.size());
      if (!fresh) {
        Draft& d = drafts[it->second];
        if (d.related.size() < assumptions::kPlacesOfACollective)
          d.related.emplace_back(e.instruction, std::string(name) + " is in the same place");
        continue;
      }
      Draft d;
      d.at = e.instruction;
      d.message = missing_text(w, e, name);
      if (rests_on_a_bound(w, e)) {
        d.level = report::Level::kWarning;
        d.message += ", unless the bound that decides it never lies within a warp";
      }
      d.warp = &w;
      d.node = e.node;
      drafts.push_back(std::move(d));
      continue;
    }
    const bool address = !context.terms().uniform(e.address, e.lanes);
    const bool columns = !context.terms().uniform(context.columns_of(w, e), e.lanes);
    if (!address && !columns) continue;
    Draft d;
    d.at = e.instruction;
    d.message = std::string(name) + " must have the same " + (address ? "address" : "number of columns") +
                " in all lanes of the warp, but it differs from lane to lane";
    d.warp = &w;
    d.node = e.node;
    drafts.push_back(std::move(d));
  }
  for (Draft& d : drafts) context.report(std::move(d));
}

void check_warp_collective(Context& context) {
  for (const warp::WarpGraph& w : context.warps()) check_warp(context, w);
}

}  // namespace

extern const Rule kWarpCollective;
const Rule kWarpCollective = {
    "tmem-warp-collective",
    report::Level::kError,
    "A warp-collective tcgen05 instruction is executed by a part of a warp, or with operands that differ between "
    "lanes.",
    "Branch on warp-uniform conditions only around tcgen05.alloc, dealloc, relinquish_alloc_permit, ld, st and wait.",
    check_warp_collective,
    /*source_only=*/false,
    /*stands_alone=*/true,
};

}  // namespace tmemlint::rules
