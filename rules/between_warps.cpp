#include "rules/between_warps.h"

#include <algorithm>

namespace tmemlint::rules {

void for_each(Context& context, std::initializer_list<ProblemKind> kinds,
              const std::function<std::optional<Draft>(const Problem&)>& say) {
  for (const Problem& p : context.problems().all) {
    if (std::find(kinds.begin(), kinds.end(), p.kind) == kinds.end()) continue;
    if (std::optional<Draft> d = say(p)) context.report(std::move(*d));
  }
}

Draft draft(const Problem& p, report::Level level, std::string message) {
  Draft d;
  d.level = level;
  d.at = p.at;
  d.message = std::move(message);
  d.in_warp = p.warp.number;
  d.decisions.assign(p.decisions.begin(), p.decisions.end());
  d.rests_on_block = true;
  return d;
}

bool chose_rounds(const Context& context, const Problem& p) {
  const kernel::Graph& graph = context.analysis().kernel->graph;
  return std::any_of(p.decisions.begin(), p.decisions.end(), [&](const cluster::Decision& d) {
    return std::any_of(graph.blocks.begin(), graph.blocks.end(), [&](const kernel::Block& b) {
      if (b.ender != d.instruction || b.loop == kNone || b.successors.size() != 2) return false;
      return graph.in_loop(b.successors[0], b.loop) != graph.in_loop(b.successors[1], b.loop);
    });
  });
}

std::string name(const Context& context, uint32_t instruction) {
  return std::string(context.name(instruction));
}

std::string warp_text(const cluster::WarpId& warp) {
  return "warp " + std::to_string(warp.number);
}

std::string other_warp_text(const Problem& p, std::string_view lead) {
  std::string out(lead);
  out += std::to_string(p.other_warp.number);
  if (p.other_warp.rank != p.warp.rank) out += " of the other CTA";
  return out;
}

std::string columns_text(int64_t first, int64_t count) {
  return std::to_string(first) + "-" + std::to_string(first + count - 1);
}

}  // namespace tmemlint::rules
