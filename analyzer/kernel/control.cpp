#include "analyzer/kernel/control.h"

#include <algorithm>

namespace tmemlint::kernel {

namespace {

bool is_exit(const Block& b) {
  return b.ending == Ending::kExit || (b.ending == Ending::kJump && b.successors.empty());
}

// Cooper, Harvey and Kennedy's iteration, on the reversed graph with one end behind all exits.
class PostDominators {
public:
  explicit PostDominators(const Graph& graph) : graph_(graph), end_(static_cast<uint32_t>(graph.blocks.size())) {}

  std::vector<uint32_t> run() {
    number();
    std::vector<uint32_t> after(end_ + 1, kUnknown);
    after[end_] = end_;
    for (bool changed = true; changed;) {
      changed = false;
      for (size_t n = order_.size(); n-- > 0;) {  // reverse postorder
        const uint32_t b = order_[n];
        if (b == end_) continue;
        uint32_t meet = is_exit(graph_.blocks[b]) ? end_ : kUnknown;
        for (uint32_t s : graph_.blocks[b].successors) {
          if (after[s] == kUnknown) continue;
          meet = meet == kUnknown ? s : intersect(after, meet, s);
        }
        if (meet != after[b]) {
          after[b] = meet;
          changed = true;
        }
      }
    }
    return after;
  }

  static constexpr uint32_t kUnknown = ptx::kNone;

private:
  // Postorder of the reversed graph, from the end.
  void number() {
    position_.assign(end_ + 1, 0);
    std::vector<bool> seen(end_ + 1, false);
    std::vector<uint32_t> exits;
    for (uint32_t b = 0; b < end_; ++b) {
      if (is_exit(graph_.blocks[b])) exits.push_back(b);
    }
    struct Visit {
      uint32_t block;
      size_t next = 0;
    };
    std::vector<Visit> stack{{end_}};
    seen[end_] = true;
    while (!stack.empty()) {
      Visit& v = stack.back();
      const std::vector<uint32_t>& before = v.block == end_ ? exits : graph_.blocks[v.block].predecessors;
      if (v.next < before.size()) {
        const uint32_t p = before[v.next++];
        if (!seen[p]) {
          seen[p] = true;
          stack.push_back({p});
        }
        continue;
      }
      position_[v.block] = static_cast<uint32_t>(order_.size());
      order_.push_back(v.block);
      stack.pop_back();
    }
  }

  uint32_t intersect(const std::vector<uint32_t>& after, uint32_t a, uint32_t b) const {
    while (a != b) {
      while (position_[a] < position_[b]) a = after[a];
      while (position_[b] < position_[a]) b = after[b];
    }
    return a;
  }

  const Graph& graph_;
  const uint32_t end_;
  std::vector<uint32_t> order_;
  std::vector<uint32_t> position_;
};

}  // namespace

Control control_of(const Graph& graph) {
  const auto blocks = static_cast<uint32_t>(graph.blocks.size());
  std::vector<uint32_t> after = PostDominators(graph).run();
  Control out;
  out.deciders.resize(blocks);
  out.can_exit.resize(blocks);
  for (uint32_t b = 0; b < blocks; ++b) out.can_exit[b] = after[b] != PostDominators::kUnknown;
  auto decides = [&](uint32_t decider, uint32_t block) {
    std::vector<uint32_t>& list = out.deciders[block];
    if (list.empty() || list.back() != decider) list.push_back(decider);
  };
  std::vector<uint32_t> work;
  std::vector<bool> seen(blocks);
  for (uint32_t b = 0; b < blocks; ++b) {
    if (graph.blocks[b].successors.size() < 2) continue;
    for (uint32_t s : graph.blocks[b].successors) {
      if (out.can_exit[b] && out.can_exit[s]) {
        for (uint32_t n = s; n != after[b] && n != blocks; n = after[n]) decides(b, n);
        continue;
      }
      // No way out from here: everything ahead depends on the branch.
      std::fill(seen.begin(), seen.end(), false);
      work.assign(1, s);
      seen[s] = true;
      while (!work.empty()) {
        const uint32_t n = work.back();
        work.pop_back();
        decides(b, n);
        for (uint32_t next : graph.blocks[n].successors) {
          if (!seen[next]) {
            seen[next] = true;
            work.push_back(next);
          }
        }
      }
    }
  }
  out.after.resize(blocks);
  for (uint32_t b = 0; b < blocks; ++b) out.after[b] = after[b] == blocks ? ptx::kNone : after[b];
  return out;
}

}  // namespace tmemlint::kernel
