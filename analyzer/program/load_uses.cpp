#include "analyzer/program/load_uses.h"

#include <algorithm>
#include <iterator>

#include "analyzer/ptx/effects.h"

namespace tmemlint::program {

using kernel::Block;

namespace {

void sort_set(std::vector<uint32_t>& set) {
  std::sort(set.begin(), set.end());
  set.erase(std::unique(set.begin(), set.end()), set.end());
}

}  // namespace

LoadUses::LoadUses(const Operands& operands, Program& program) : operands_(operands) {
  const kernel::Graph& graph = operands.graph();
  held_.assign(graph.register_count, {});
  written_.assign(graph.register_count, {});
  for (const Block& block : graph.blocks) {
    for (uint32_t i = block.first; i < block.last; ++i) {
      if (!operands.meaning(i).is_tensor_load()) continue;
      const auto load = static_cast<uint32_t>(program.loads.size());
      program.loads.push_back({i, block.frame});
      operands.each_written(block.frame, i, [&](uint32_t r) {
        held_[r].push_back(load);
        written_[r].push_back(load);
      });
    }
  }
  any_ = !program.loads.empty();
  find_pending();
  for (bool changed = any_; changed;) {
    changed = false;
    for (const Block& block : graph.blocks) {
      for (uint32_t i = block.first; i < block.last; ++i) {
        if (operands.meaning(i).is_move_like) changed = pass_on(block.frame, i) || changed;
      }
    }
  }
}

bool LoadUses::pending_after(uint32_t instruction, bool before) const {
  const Meaning& m = operands_.meaning(instruction);
  if (m.action != Action::kTcgen05) return before;
  return m.is_tensor_load() || (before && !ptx::effects_of(m.form).drains_loads);
}

// Forward over the graph: pending on some path.
void LoadUses::find_pending() {
  const kernel::Graph& graph = operands_.graph();
  pending_.assign(graph.blocks.size(), false);
  if (!any_) return;
  std::vector<bool> done(graph.blocks.size(), false);
  std::vector<uint32_t> work{0};
  for (size_t n = 0; n < work.size(); ++n) {
    const uint32_t b = work[n];
    done[b] = true;
    bool pending = pending_[b];
    for (uint32_t i = graph.blocks[b].first; i < graph.blocks[b].last; ++i) pending = pending_after(i, pending);
    for (uint32_t next : graph.blocks[b].successors) {
      if (done[next] && (pending_[next] || !pending)) continue;
      pending_[next] = pending_[next] || pending;
      work.push_back(next);
    }
  }
}

// A move: what its sources hold, its destinations hold as well.
bool LoadUses::pass_on(uint32_t frame, uint32_t instruction) {
  std::vector<uint32_t> from;
  operands_.each_read(frame, instruction,
                      [&](uint32_t r) { from.insert(from.end(), held_[r].begin(), held_[r].end()); });
  if (from.empty()) return false;
  sort_set(from);
  bool changed = false;
  operands_.each_written(frame, instruction, [&](uint32_t r) {
    std::vector<uint32_t>& held = held_[r];
    if (std::includes(held.begin(), held.end(), from.begin(), from.end())) return;
    std::vector<uint32_t> both;
    std::set_union(held.begin(), held.end(), from.begin(), from.end(), std::back_inserter(both));
    held = std::move(both);
    changed = true;
  });
  return changed;
}

bool LoadUses::touches(uint32_t frame, uint32_t instruction) const {
  bool any = false;
  if (!operands_.meaning(instruction).is_move_like)
    operands_.each_read(frame, instruction, [&](uint32_t r) { any = any || !held_[r].empty(); });
  if (!any) operands_.each_written(frame, instruction, [&](uint32_t r) { any = any || !written_[r].empty(); });
  return any;
}

void LoadUses::used_by(uint32_t frame, uint32_t instruction, std::vector<uint32_t>& out) const {
  if (operands_.meaning(instruction).is_move_like) return;
  operands_.each_read(frame, instruction, [&](uint32_t r) {
    if (!held_[r].empty()) add_once(out, r);
  });
}

void LoadUses::overwritten_by(uint32_t frame, uint32_t instruction, uint32_t self, std::vector<uint32_t>& out) const {
  operands_.each_written(frame, instruction, [&](uint32_t r) {
    // A load over its own registers is judged by the load itself; any other writer is marked.
    const bool others = written_[r].size() > 1 || (written_[r].size() == 1 && written_[r][0] != self);
    if (others) add_once(out, r);
  });
}

void LoadMarkers::emit(uint32_t frame, uint32_t instruction, uint32_t self, uint32_t guard) {
  registers_.clear();
  uses_.used_by(frame, instruction, registers_);
  if (!registers_.empty()) mark(use_, instruction, guard, registers_, uses_.held());
  registers_.clear();
  uses_.overwritten_by(frame, instruction, self, registers_);
  if (!registers_.empty()) mark(overwrite_, instruction, guard, registers_, uses_.written());
}

void LoadMarkers::mark(Kind& kind, uint32_t instruction, uint32_t guard, const std::vector<uint32_t>& registers,
                       const std::vector<std::vector<uint32_t>>& loads_of) {
  Step step;
  step.kind = kind.step;
  step.instruction = instruction;
  step.loads = set_of(kind, registers, loads_of);
  step.guard = guard;
  step.guard_negated = guard != kNone && operands_.module().instructions[instruction].guard_negated;
  // The same set again, under the same guard, changes nothing until the next load.
  if (kind.last.size() <= step.loads) kind.last.resize(program_.load_sets.size());
  const Marked now{stretch_, step.guard, step.guard_negated};
  if (kind.last[step.loads] == now) return;
  kind.last[step.loads] = now;
  program_.steps.push_back(step);
}

// The loads of all of some registers, which are mostly the same ones again and again.
uint32_t LoadMarkers::set_of(Kind& kind, const std::vector<uint32_t>& registers,
                             const std::vector<std::vector<uint32_t>>& loads_of) {
  const auto [known, fresh] = kind.set_of.try_emplace(registers, 0);
  if (!fresh) return known->second;
  std::vector<uint32_t> loads;
  for (uint32_t r : registers) loads.insert(loads.end(), loads_of[r].begin(), loads_of[r].end());
  sort_set(loads);
  const auto [number, new_set] = numbers_.try_emplace(loads, static_cast<uint32_t>(program_.load_sets.size()));
  if (new_set) program_.load_sets.push_back(std::move(loads));
  return known->second = number->second;
}

}  // namespace tmemlint::program
