#include "analyzer/program/slice.h"

#include "analyzer/assumptions/assumptions.h"

#include <optional>

#include "analyzer/ptx/effects.h"

namespace tmemlint::program {

using kernel::Block;
using kernel::Ending;
using kernel::Graph;
using ptx::Instruction;
using ptx::Operand;

namespace {

// Steps from what a check that traps asks back to what is needed anyway.
constexpr unsigned kMostSimple = assumptions::kStepsToACheck;

// Whether an instruction reads shared memory through a descriptor.
bool reads_by_descriptor(const Meaning& m) {
  return m.action == Action::kTcgen05 && !ptx::effects_of(m.form).shared_reads.empty();
}

class Slicer {
public:
  Slicer(const Operands& operands, const Writers& writers, const LoadUses& loads, RoleTable& roles)
      : operands_(operands),
        writers_(writers),
        loads_(loads),
        roles_(roles),
        graph_(operands.graph()),
        out_{std::vector<Need>(graph_.register_count, Need::kNothing), std::vector<bool>(graph_.blocks.size(), false),
             kernel::control_of(graph_), MemoryReads(operands)},
        runs_(graph_.blocks.size(), false) {}

  Slice run() {
    for (uint32_t b = 0; b < graph_.blocks.size(); ++b) start(b);
    do {
      follow();
    } while (need_stores() || need_checks());
    return std::move(out_);
  }

private:
  const Meaning& meaning(uint32_t instruction) const { return operands_.meaning(instruction); }

  // What of a block is needed for its own sake.
  void start(uint32_t b) {
    const Block& block = graph_.blocks[b];
    if ((!out_.control.can_exit[b] || out_.control.after[b] == kNone) && block.successors.size() > 1) need_branch(b);
    if (block.ending == Ending::kExit || block.call != Block::Call::kNone) need_block(b);
    bool pending = loads_.pending_at(b);
    for (uint32_t i = block.first; i < block.last; ++i) {
      const Meaning& m = meaning(i);
      const bool touches = pending && loads_.touches(block.frame, i);
      pending = loads_.pending_after(i, pending);
      if (is_event(m)) {
        need_event(block.frame, i, m);
        need_block(b);
        if (reads_by_descriptor(m)) out_.memory.add_shared();  // who stored the operands matters
        continue;
      }
      if (m.action == Action::kStore) stores_.push_back({block.frame, i, b});
      if (touches) need_block(b);
    }
    if (block.call == Block::Call::kEnter || block.call == Block::Call::kLeave) need_call(block);
  }

  // From needed registers and branches to what they are computed from.
  void follow() {
    while (!work_.empty() || !pending_branches_.empty()) {
      if (!pending_branches_.empty()) {
        const uint32_t b = pending_branches_.back();
        pending_branches_.pop_back();
        need_block(b);
        continue;
      }
      const uint32_t r = work_.back();
      work_.pop_back();
      for (const Site& writer : writers_.of(r)) {
        const Meaning& m = meaning(writer.instruction);
        need_block(writer.block);
        if (is_event(m) && m.action != Action::kLoad) continue;
        need_sources(writer.frame, writer.instruction, out_.needed[r]);
        if (m.action == Action::kLoad) out_.memory.add_load(writer.frame, writer.instruction);
      }
    }
  }

  void need(uint32_t r, Need how = Need::kExact) {
    if (out_.needed[r] >= how) return;
    out_.needed[r] = how;
    work_.push_back(r);
  }

  // Something in the block matters: so do the branches that decide whether it runs.
  void need_block(uint32_t b) {
    if (runs_[b]) return;
    runs_[b] = true;
    for (uint32_t d : out_.control.deciders[b]) need_branch(d);
  }

  void need_branch(uint32_t b) {
    if (out_.decided[b]) return;
    out_.decided[b] = true;
    if (graph_.blocks[b].condition != kNone) need(graph_.blocks[b].condition);
    pending_branches_.push_back(b);
  }

  void need_event(uint32_t frame, uint32_t i, const Meaning& m) {
    const Instruction& instruction = operands_.module().instructions[i];
    const Operand* operands = operands_.module().operands_of(instruction);
    // The data of a tcgen05.st is not looked at; its address is.
    const uint32_t data = m.action == Action::kTcgen05 ? roles_.of(i).vector : kNone;
    for (unsigned n = operands_.destination_count(i); n < instruction.operand_count; ++n) {
      if (n != data) operands_.each_register(frame, operands[n], [&](uint32_t r) { need(r); });
    }
    if (const uint32_t guard = operands_.guard(frame, i); guard != kNone) need(guard);
  }

  void need_sources(uint32_t frame, uint32_t i, Need how) {
    const Instruction& instruction = operands_.module().instructions[i];
    if (const uint32_t guard = operands_.guard(frame, i); guard != kNone) need(guard);
    if (how == Need::kAsData && meaning(i).action == Action::kGeneric) return;
    const Operand* operands = operands_.module().operands_of(instruction);
    for (unsigned n = operands_.destination_count(i); n < instruction.operand_count; ++n) {
      const Need of = operands[n].kind == Operand::Kind::kAddress ? Need::kExact : how;
      operands_.each_register(frame, operands[n], [&](uint32_t source) { need(source, of); });
    }
  }

  // What a call passes, and its results.
  void need_call(const Block& block) {
    const kernel::Frame& frame = graph_.frames[block.call_frame];
    operands_.each_read(frame.caller, frame.call, [&](uint32_t r) { need(r); });
    for (const ptx::Function::Parameter& p : operands_.module().functions[frame.function].returns) {
      if (p.reg != kNone) need(graph_.register_number(block.call_frame, p.reg));
      if (p.variable != kNone) out_.memory.add_parameter(operands_.layout().address(block.call_frame, p.variable));
    }
  }

  // Stores into memory that a needed load reads; true when that made anything new needed.
  bool need_stores() {
    const size_t before = work_.size();
    std::erase_if(stores_, [&](const Site& store) {
      if (!out_.memory.read(store.frame, store.instruction)) return false;
      const bool is_data = out_.memory.is_shared_only(store.frame, store.instruction);
      need_sources(store.frame, store.instruction, is_data ? Need::kAsData : Need::kExact);
      need_block(store.block);
      return true;
    });
    return work_.size() != before || !pending_branches_.empty();
  }

  // Checks that trap: what they ask decides nothing but their own trap, but behind them it holds. Worth keeping where
  // it is about numbers that are followed anyway. True when that made anything new needed.
  bool need_checks() {
    bool again = false;
    const std::vector<bool>& can_exit = out_.control.can_exit;
    for (uint32_t b = 0; b < graph_.blocks.size(); ++b) {
      const Block& block = graph_.blocks[b];
      if (out_.decided[b] || block.ending != Ending::kBranch || block.condition == kNone ||
          block.successors.size() != 2 || can_exit[block.successors[0]] == can_exit[block.successors[1]])
        continue;
      bool concerns = false;
      if (!is_simple(block.condition, kMostSimple, concerns) || !concerns) continue;
      need_branch(b);
      again = true;
    }
    return again;
  }

  // Whether a register is computed in a few steps from what is needed or a parameter of the kernel; `concerns`: whether
  // anything of that is needed.
  bool is_simple(uint32_t r, unsigned depth, bool& concerns) const {
    if (out_.needed[r] == Need::kExact) {
      concerns = true;
      return true;
    }
    if (depth == 0 || !writers_.has_one(r)) return false;
    const Site& site = writers_.of(r).front();
    const Meaning& m = meaning(site.instruction);
    if (m.action == Action::kLoad) {
      if (m.space != MemorySpace::kParam || site.frame != 0) return false;
      const std::optional<uint64_t> p = out_.memory.parameter(site.frame, site.instruction);
      concerns = concerns || (p && out_.memory.reads_parameter(*p));
      return p.has_value();
    }
    if (!computes_registers(m.action) || operands_.guard(site.frame, site.instruction) != kNone) return false;
    bool all = true;
    operands_.each_read(site.frame, site.instruction,
                        [&](uint32_t source) { all = all && is_simple(source, depth - 1, concerns); });
    return all;
  }

  const Operands& operands_;
  const Writers& writers_;
  const LoadUses& loads_;
  RoleTable& roles_;
  const Graph& graph_;
  Slice out_;
  std::vector<bool> runs_;                  // by block: something in it matters
  std::vector<uint32_t> work_;              // registers that became needed, not yet followed
  std::vector<uint32_t> pending_branches_;  // and blocks whose branches did
  std::vector<Site> stores_;                // that nothing needs so far
};

}  // namespace

Slice find_slice(const Operands& operands, const Writers& writers, const LoadUses& loads, RoleTable& roles) {
  return Slicer(operands, writers, loads, roles).run();
}

}  // namespace tmemlint::program
