#include "analyzer/warp/flow.h"

#include <algorithm>

#include "analyzer/kernel/control.h"

namespace tmemlint::warp {

using program::next_begin;
using program::next_count;
using ptx::kNone;

Flow::Flow(const program::Program& program)
    : program_(program), graph_(*program.graph), only_traps_(kernel::leads_only_to_traps(*program.graph)) {
  name_loops();
  find_ways_in();
}

void Flow::name_loops() {
  std::vector<uint32_t> order(graph_.loops.size());
  for (uint32_t n = 0; n < order.size(); ++n) order[n] = n;
  std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return graph_.loops[a].end - graph_.loops[a].head > graph_.loops[b].end - graph_.loops[b].head;
  });
  bit_.assign(graph_.loops.size(), 0);
  for (size_t n = 0; n < order.size(); ++n) bit_[order[n]] = n < kMostOwnBits ? uint64_t{1} << n : kSharedBit;
  set_.assign(graph_.loops.size(), 0);
  for (uint32_t n = 0; n < graph_.loops.size(); ++n) {
    const uint32_t parent = graph_.loops[n].parent;
    set_[n] = bit_[n] | (parent == kNone ? 0 : set_[parent]);
  }
}

void Flow::find_ways_in() {
  std::vector<uint8_t> ways(graph_.blocks.size(), 0);
  ways[0] = 2;  // the kernel's entry
  for (uint32_t b = 0; b < graph_.blocks.size(); ++b) {
    const uint32_t* next = next_begin(program_, b);
    for (size_t n = 0; n < next_count(program_, b); ++n) {
      ways[next[n]] = static_cast<uint8_t>(std::min(2, ways[next[n]] + 1));
    }
  }
  one_way_in_.assign(graph_.blocks.size(), false);
  for (uint32_t b = 0; b < graph_.blocks.size(); ++b) {
    bool inside_irreducible = false;
    for (uint32_t l = graph_.blocks[b].loop; l != kNone; l = graph_.loops[l].parent) {
      inside_irreducible = inside_irreducible || graph_.loops[l].irreducible;
    }
    one_way_in_[b] = ways[b] == 1 && headed(b) == kNone && !inside_irreducible;
  }
}

const std::vector<uint32_t>& Flow::needed_by(const std::vector<Waiting>& waiting) {
  if (waiting.size() == 1) return program_.code[waiting[0].block].live_in;
  std::vector<uint32_t> blocks;
  blocks.reserve(waiting.size());
  for (const Waiting& w : waiting) blocks.push_back(w.block);
  std::vector<uint32_t>& live = needed_[blocks];  // a map: its elements stay where they are
  if (live.empty()) {
    std::vector<uint32_t> more;
    for (uint32_t b : blocks) {
      const std::vector<uint32_t>& in = program_.code[b].live_in;
      more.clear();
      std::set_union(live.begin(), live.end(), in.begin(), in.end(), std::back_inserter(more));
      live.swap(more);
    }
  }
  return live;
}

}  // namespace tmemlint::warp
