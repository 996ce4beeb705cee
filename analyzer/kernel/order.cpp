#include "analyzer/kernel/order.h"

#include <algorithm>
#include <vector>

#include "analyzer/kernel/graph.h"

namespace tmemlint::kernel {

namespace {

// Bourdoncle's decomposition, by repeated strongly connected components (Tarjan), without recursion: a component is
// emitted as its head followed by the decomposition of the rest of it without the edges into the head.
class Sorter {
public:
  Sorter(Graph& graph, uint32_t entry) : graph_(graph), entry_(entry), size_(graph.blocks.size()) {
    level_.assign(size_, 0);
    index_.assign(size_, 0);
    low_.assign(size_, 0);
    component_.assign(size_, 0);
    on_stack_.assign(size_, false);
  }

  void run() {
    // Work items in the order in which they are to be emitted; a component is replaced by its parts when reached.
    std::vector<Task> tasks;
    tasks.push_back({reachable(), entry_, kNone, false});
    while (!tasks.empty()) {
      Task task = std::move(tasks.back());
      tasks.pop_back();
      if (task.closes) {
        graph_.loops[task.loop].end = static_cast<uint32_t>(order_.size());
        continue;
      }
      if (task.blocks.size() == 1 && !task.is_loop) {
        emit(task.blocks[0], task.loop);
        continue;
      }
      expand(std::move(task), tasks);
    }
    renumber();
  }

private:
  struct Task {
    std::vector<uint32_t> blocks;
    uint32_t first = kNone;  // where the search of these blocks starts: the entry, or a loop's head
    uint32_t loop = kNone;   // the loop these blocks are directly in
    bool is_loop = false;    // the blocks are one component: a loop of its own
    bool closes = false;     // end marker of `loop`
  };

  std::vector<uint32_t> reachable() {
    std::vector<uint32_t> out = {entry_};
    std::vector<bool> seen(size_, false);
    seen[entry_] = true;
    for (size_t n = 0; n < out.size(); ++n) {
      for (uint32_t next : graph_.blocks[out[n]].successors) {
        if (!seen[next]) {
          seen[next] = true;
          out.push_back(next);
        }
      }
    }
    return out;
  }

  void emit(uint32_t block, uint32_t loop) {
    graph_.blocks[block].loop = loop;
    order_.push_back(block);
  }

  void expand(Task task, std::vector<Task>& tasks) {
    uint32_t inside = task.loop;
    ++generation_;
    for (uint32_t b : task.blocks) level_[b] = generation_;
    std::vector<uint32_t> rest;
    std::vector<uint32_t> starts;
    if (task.is_loop) {
      Loop loop;
      loop.parent = task.loop;
      loop.head = task.first;  // in old numbers until renumber()
      inside = static_cast<uint32_t>(graph_.loops.size());
      graph_.loops.push_back(loop);
      Task close;
      close.loop = inside;
      close.closes = true;
      tasks.push_back(std::move(close));
      level_[task.first] = 0;  // without the head, the edges into it are gone
      starts = graph_.blocks[task.first].successors;
      for (uint32_t b : task.blocks) {
        if (b != task.first) rest.push_back(b);
      }
    } else {
      rest = std::move(task.blocks);
      starts = {task.first};
    }
    // Blocks of a loop that the head does not reach first (entered elsewhere) are searched afterwards.
    std::vector<std::vector<uint32_t>> components = tarjan(starts, rest);
    for (std::vector<uint32_t>& blocks : components) {  // in reverse topological order: the last is emitted first
      Task part;
      part.loop = inside;
      part.is_loop = blocks.size() > 1 || has_self_edge(blocks[0]);
      part.first = part.is_loop ? head_of(blocks) : blocks[0];
      part.blocks = std::move(blocks);
      tasks.push_back(std::move(part));
    }
    if (task.is_loop) emit(task.first, inside);
  }

  bool has_self_edge(uint32_t b) const {
    const std::vector<uint32_t>& next = graph_.blocks[b].successors;
    return std::find(next.begin(), next.end(), b) != next.end();
  }

  // The block of a component that the search reached first.
  uint32_t head_of(const std::vector<uint32_t>& blocks) const {
    return *std::min_element(blocks.begin(), blocks.end(),
                             [&](uint32_t a, uint32_t b) { return index_[a] < index_[b]; });
  }

  std::vector<std::vector<uint32_t>> tarjan(const std::vector<uint32_t>& starts, const std::vector<uint32_t>& blocks) {
    std::vector<std::vector<uint32_t>> out;
    for (uint32_t b : blocks) index_[b] = 0;
    counter_ = 0;
    for (uint32_t s : starts) {
      if (level_[s] == generation_ && index_[s] == 0) search(s, out);
    }
    for (uint32_t b : blocks) {
      if (level_[b] == generation_ && index_[b] == 0) search(b, out);
    }
    return out;
  }

  void search(uint32_t start, std::vector<std::vector<uint32_t>>& out) {
    struct Visit {
      uint32_t block;
      size_t next;
    };
    std::vector<Visit> visits = {{start, 0}};
    discover(start);
    while (!visits.empty()) {
      Visit& visit = visits.back();
      const uint32_t b = visit.block;
      const std::vector<uint32_t>& successors = graph_.blocks[b].successors;
      if (visit.next < successors.size()) {
        // The side that is searched first is finished first and so stands last: the fall-through side comes first.
        const uint32_t s = successors[visit.next++];
        if (level_[s] != generation_) continue;
        if (index_[s] == 0) {
          discover(s);
          visits.push_back({s, 0});
        } else if (on_stack_[s]) {
          low_[b] = std::min(low_[b], index_[s]);
        }
        continue;
      }
      visits.pop_back();
      if (!visits.empty()) low_[visits.back().block] = std::min(low_[visits.back().block], low_[b]);
      if (low_[b] != index_[b]) continue;
      std::vector<uint32_t> component;
      while (true) {
        uint32_t top = stack_.back();
        stack_.pop_back();
        on_stack_[top] = false;
        component.push_back(top);
        if (top == b) break;
      }
      out.push_back(std::move(component));
    }
  }

  void discover(uint32_t b) {
    index_[b] = low_[b] = ++counter_;
    stack_.push_back(b);
    on_stack_[b] = true;
  }

  void renumber() {
    std::vector<uint32_t> number(size_, kNone);
    for (uint32_t n = 0; n < order_.size(); ++n) number[order_[n]] = n;
    std::vector<Block> blocks;
    blocks.reserve(order_.size());
    for (uint32_t old : order_) blocks.push_back(std::move(graph_.blocks[old]));
    for (Block& block : blocks) {
      for (uint32_t& next : block.successors) next = number[next];
    }
    graph_.blocks = std::move(blocks);
    for (Loop& loop : graph_.loops) loop.head = number[loop.head];
    for (uint32_t b = 0; b < graph_.blocks.size(); ++b) {
      for (uint32_t next : graph_.blocks[b].successors) graph_.blocks[next].predecessors.push_back(b);
    }
    for (Loop& loop : graph_.loops) {
      for (uint32_t b = loop.head + 1; b < loop.end && !loop.irreducible; ++b) {
        for (uint32_t from : graph_.blocks[b].predecessors) {
          loop.irreducible = loop.irreducible || from < loop.head || from >= loop.end;
        }
      }
    }
  }

  Graph& graph_;
  uint32_t entry_;
  size_t size_;
  std::vector<uint32_t> level_;  // == generation_: in the blocks being decomposed
  uint32_t generation_ = 0;
  std::vector<uint32_t> index_, low_, component_;
  uint32_t counter_ = 0;
  std::vector<bool> on_stack_;
  std::vector<uint32_t> stack_;
  std::vector<uint32_t> order_;
};

}  // namespace

void sort_blocks(Graph& graph, uint32_t entry) {
  Sorter(graph, entry).run();
}

}  // namespace tmemlint::kernel
