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

// Fills in who decides whether blocks run.
class Deciders {
public:
  Deciders(const Graph& graph, const std::vector<uint32_t>& after, Control& out)
      : graph_(graph), after_(after), out_(out), seen_(graph.blocks.size()) {
    out.deciders.resize(graph.blocks.size());
  }

  // The branch at the end of a block decides about what lies between each of its ways and where they all meet.
  void add(uint32_t branch) {
    const auto end = static_cast<uint32_t>(graph_.blocks.size());
    for (uint32_t s : graph_.blocks[branch].successors) {
      if (out_.can_exit[branch] && out_.can_exit[s]) {
        for (uint32_t n = s; n != after_[branch] && n != end; n = after_[n]) decides(branch, n);
      } else {
        decides_all_from(branch, s);
      }
    }
  }

private:
  void decides(uint32_t branch, uint32_t block) {
    std::vector<uint32_t>& list = out_.deciders[block];
    if (list.empty() || list.back() != branch) list.push_back(branch);
  }

  // No way out from here: everything ahead depends on the branch.
  void decides_all_from(uint32_t branch, uint32_t first) {
    std::fill(seen_.begin(), seen_.end(), false);
    work_.assign(1, first);
    seen_[first] = true;
    while (!work_.empty()) {
      const uint32_t n = work_.back();
      work_.pop_back();
      decides(branch, n);
      for (uint32_t next : graph_.blocks[n].successors) {
        if (seen_[next]) continue;
        seen_[next] = true;
        work_.push_back(next);
      }
    }
  }

  const Graph& graph_;
  const std::vector<uint32_t>& after_;  // with the number of blocks as the end behind all exits
  Control& out_;
  std::vector<uint32_t> work_;
  std::vector<bool> seen_;
};

}  // namespace

Control control_of(const Graph& graph) {
  const auto blocks = static_cast<uint32_t>(graph.blocks.size());
  const std::vector<uint32_t> after = PostDominators(graph).run();
  Control out;
  out.can_exit.resize(blocks);
  out.after.resize(blocks);
  for (uint32_t b = 0; b < blocks; ++b) {
    out.can_exit[b] = after[b] != PostDominators::kUnknown;
    out.after[b] = after[b] == blocks ? ptx::kNone : after[b];
  }
  Deciders deciders(graph, after, out);
  for (uint32_t b = 0; b < blocks; ++b) {
    if (graph.blocks[b].successors.size() > 1) deciders.add(b);
  }
  return out;
}

std::vector<bool> leads_only_to_traps(const Graph& graph) {
  std::vector<bool> out(graph.blocks.size(), false);
  // What follows a block mostly comes behind it in the order: from the last to the first.
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t b = graph.blocks.size(); b-- > 0;) {
      if (out[b]) continue;
      const Block& block = graph.blocks[b];
      const std::vector<uint32_t>& next = block.successors;
      const bool all = !next.empty() && std::all_of(next.begin(), next.end(), [&](uint32_t s) { return out[s]; });
      if (all || block.ending == Ending::kTrap) out[b] = changed = true;
    }
  }
  return out;
}

}  // namespace tmemlint::kernel
