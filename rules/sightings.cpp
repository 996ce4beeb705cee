#include "rules/sightings.h"

#include <algorithm>

namespace tmemlint::rules {

void for_each(Context& context, std::initializer_list<cluster::Fault> faults,
              const std::function<std::optional<Draft>(const cluster::Sighting&)>& say) {
  for (const cluster::Sighting& s : context.joint().sightings) {
    if (std::find(faults.begin(), faults.end(), s.fault) == faults.end()) continue;
    if (std::optional<Draft> d = say(s)) context.report(std::move(*d));
  }
}

Draft draft(const cluster::Sighting& s, report::Level level, std::string message) {
  Draft d;
  d.level = level;
  d.at = s.at;
  d.message = std::move(message);
  d.in_warp = s.warp;
  d.decisions.assign(s.decisions().begin(), s.decisions().end());
  d.rests_on_block = true;
  return d;
}

bool chose_rounds(const Context& context, const cluster::Sighting& s) {
  const kernel::Graph& graph = context.analysis().graph;
  return std::any_of(s.decisions().begin(), s.decisions().end(), [&](const cluster::Decision& d) {
    return std::any_of(graph.blocks.begin(), graph.blocks.end(), [&](const kernel::Block& b) {
      if (b.ender != d.instruction || b.loop == kNone || b.successors.size() != 2) return false;
      return graph.in_loop(b.successors[0], b.loop) != graph.in_loop(b.successors[1], b.loop);
    });
  });
}

std::string name(const Context& context, uint32_t instruction) {
  return std::string(context.name(instruction));
}

std::string warp_text(const cluster::Sighting& s, std::string_view lead) {
  std::string out(lead);
  out += std::to_string(s.other_warp);
  if (s.other_rank != s.rank) out += " of the other CTA";
  return out;
}

std::string columns_text(int64_t first, int64_t count) {
  return std::to_string(first) + "-" + std::to_string(first + count - 1);
}

}  // namespace tmemlint::rules
