#include "analyzer/cluster/lane_groups.h"

#include <algorithm>

#include "analyzer/value/unknowns.h"

namespace tmemlint::cluster {

using value::site_of;
using value::UnknownKind;

// Lanes that are in the machine join a group that waits at a block: the group's registers take their values in these
// lanes.
void LaneGroups::blend_into(LaneGroup& group, uint32_t lanes) {
  const std::vector<uint32_t>& live = scene_.program.code[group.at.block].live_in;
  for (size_t n = 0; n < live.size(); ++n) {
    group.registers[n] = scene_.terms.blend(lanes, machine_.registers[live[n]], group.registers[n],
                                            site_of(UnknownKind::kRunMixed, ++scene_.state.serial), 0,
                                            scene_.program.register_width[live[n]]);
  }
}

void LaneGroups::go_to(std::vector<LaneGroup>& groups, uint32_t from, uint32_t block, uint32_t lanes) {
  if (lanes == 0) return;
  const kernel::Graph& graph = scene_.kernel.graph;
  const warp::Waiting at = warp::waiting_at(graph, from, block, lanes);
  for (LaneGroup& g : groups) {
    if (g.at.block != at.block || g.at.again != at.again || g.parked) continue;
    if (!g.in_machine) blend_into(g, lanes);
    g.at.lanes |= lanes;
    return;
  }
  // Groups that wait for something stand behind those that can run.
  auto place = groups.begin();
  while (place != groups.end() && !place->parked &&
         warp::running_order(graph, place->at) <= warp::running_order(graph, at)) {
    ++place;
  }
  LaneGroup fresh;
  fresh.at = at;
  fresh.in_machine = true;
  groups.insert(place, std::move(fresh));
}

// A group that is not the first one any more keeps the registers that it still needs.
void LaneGroups::keep_registers(LaneGroup& group) {
  if (!group.in_machine) return;
  const std::vector<uint32_t>& live = scene_.program.code[group.at.block].live_in;
  group.registers.resize(live.size());
  for (size_t k = 0; k < live.size(); ++k) group.registers[k] = machine_.registers[live[k]];
  group.in_machine = false;
}

void LaneGroups::follow(std::vector<LaneGroup> groups) {
  w_.groups = std::move(groups);
  if (w_.groups.empty()) {
    w_.over = true;
    return;
  }
  for (size_t n = 1; n < w_.groups.size(); ++n) keep_registers(w_.groups[n]);
  if (w_.groups.front().parked) {
    LaneGroup front = std::move(w_.groups.front());
    w_.groups.erase(w_.groups.begin());
    resume(std::move(front));
    return;
  }
  LaneGroup& front = w_.groups.front();
  if (!front.in_machine) {
    const std::vector<uint32_t>& live = scene_.program.code[front.at.block].live_in;
    for (size_t k = 0; k < live.size(); ++k) machine_.registers[live[k]] = front.registers[k];
    front.registers.clear();
    front.in_machine = true;
  }
  begin_block();
}

void LaneGroups::begin_block() {
  LaneGroup& front = w_.groups.front();
  machine_.present = front.at.lanes;
  const uint32_t loop = warp::headed(scene_.kernel.graph, front.at.block);
  if (loop != kNone) {
    w_.rounds[loop] = front.at.again ? w_.rounds[loop] + 1 : 0;
    front.at.again = false;
  }
  w_.step = scene_.program.code[front.at.block].first;
}

// A group that waited runs again: it executes its instruction once more. At a named barrier it has arrived already, so
// that it goes on behind it, or waits on.
void LaneGroups::resume(LaneGroup group) {
  if (!group.parked) return;  // it did not wait
  const LaneGroup::Parked parked = *group.parked;
  machine_.registers = std::move(group.registers);
  machine_.present = group.at.lanes;
  w_.step = parked.step;
  w_.failed.clear();
  w_.wait.reset();
  if (const auto* named = std::get_if<WaitForNamedBarrier>(&parked.wait)) {
    const NamedBarrier& b = scene_.state.named.at(w_.id.rank, named->barrier);
    if (b.generation == named->generation) {
      w_.wait = *named;
    } else {
      w_.knowledge.learn(b.done);
      ++w_.step;
    }
  }
  LaneGroup front;
  front.at = group.at;
  front.in_machine = true;
  w_.groups.insert(w_.groups.begin(), std::move(front));
}

bool LaneGroups::switch_group(uint64_t now) {
  const auto other = std::find_if(w_.groups.begin() + 1, w_.groups.end(),
                                  [&](const LaneGroup& g) { return !g.parked || g.parked->changes != now; });
  if (other == w_.groups.end() || !w_.wait) return false;
  LaneGroup next = std::move(*other);
  w_.groups.erase(other);
  LaneGroup front = std::move(w_.groups.front());
  w_.groups.erase(w_.groups.begin());
  front.registers = machine_.registers;
  front.in_machine = false;
  front.parked = LaneGroup::Parked{*w_.wait, w_.step, now};
  w_.groups.push_back(std::move(front));
  w_.wait.reset();
  w_.groups.insert(w_.groups.begin(), std::move(next));
  follow(std::move(w_.groups));
  return true;
}

bool LaneGroups::converge(uint32_t n) {
  if (std::none_of(w_.groups.begin(), w_.groups.end(), [](const LaneGroup& g) { return g.parked.has_value(); }))
    return true;
  for (size_t k = 1; k < w_.groups.size();) {
    const LaneGroup& g = w_.groups[k];
    if (!g.parked || !std::holds_alternative<WaitForLanes>(g.parked->wait) || g.parked->step != n) {
      ++k;
      continue;
    }
    for (size_t r = 0; r < g.registers.size(); ++r) {
      machine_.registers[r] = scene_.terms.blend(machine_.active, machine_.registers[r], g.registers[r],
                                                 site_of(UnknownKind::kRunMixed, ++scene_.state.serial), 0,
                                                 scene_.program.register_width[r]);
    }
    machine_.active |= g.at.lanes;
    w_.groups.front().at.lanes |= g.at.lanes;
    machine_.present = machine_.active;
    w_.groups.erase(w_.groups.begin() + static_cast<ptrdiff_t>(k));
  }
  return w_.groups.size() == 1;
}

}  // namespace tmemlint::cluster
