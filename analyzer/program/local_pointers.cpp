#include "analyzer/program/local_pointers.h"

#include <algorithm>

namespace tmemlint::program {

using ptx::Operand;

namespace {

// A pass over the whole kernel, repeated until it finds nothing more.
class LocalPointers {
public:
  explicit LocalPointers(const Operands& operands)
      : operands_(operands), found_(operands.graph().register_count, false) {}

  std::vector<bool> run() {
    const kernel::Graph& graph = operands_.graph();
    do {
      changed_ = false;
      for (const kernel::Block& block : graph.blocks) {
        for (uint32_t i = block.first; i < block.last; ++i) pass_on(block.frame, i);
      }
      for (uint32_t frame = 1; frame < graph.frames.size(); ++frame) {
        pass_on_by_call(frame, false);
        pass_on_by_call(frame, true);
      }
    } while (changed_);
    return std::move(found_);
  }

private:
  void mark(uint32_t r) {
    changed_ = changed_ || !found_[r];
    found_[r] = true;
  }

  void pass_on(uint32_t frame, uint32_t i) {
    if (!takes_one(frame, i)) return;
    operands_.each_written(frame, i, [&](uint32_t r) { mark(r); });
    const Meaning& m = operands_.meaning(i);
    if (m.action != Action::kStore && m.atomic == Atomic::kNone) return;
    const bool known = stored_somehow_ && (stored_ || m.space == MemorySpace::kParam);
    changed_ = changed_ || !known;
    stored_somehow_ = true;
    stored_ = stored_ || m.space != MemorySpace::kParam;
  }

  // Whether an instruction takes the address of local memory, or computes with one, or may load one.
  bool takes_one(uint32_t frame, uint32_t i) const {
    const Meaning& m = operands_.meaning(i);
    const bool accesses = m.action == Action::kLoad || m.action == Action::kStore;
    if (m.action == Action::kLoad && (m.space == MemorySpace::kParam ? stored_somehow_ : stored_)) return true;
    const ptx::Instruction& instruction = operands_.module().instructions[i];
    const Operand* operands = operands_.module().operands_of(instruction);
    for (unsigned n = 0; n < instruction.operand_count; ++n) {
      const Operand& o = operands[n];
      if (o.kind == Operand::Kind::kVariable && operands_.module().variables[o.ref].space == ptx::Space::kLocal)
        return true;
      if (o.kind == Operand::Kind::kAddress && accesses) continue;
      bool any = false;
      operands_.each_register(frame, o, [&](uint32_t r) { any = any || found_[r]; });
      if (any) return true;
    }
    return false;
  }

  void pass_on_by_call(uint32_t frame, bool results) {
    operands_.each_passed(frame, results,
                          [&](const kernel::Frame& f, const ptx::Function::Parameter& formal, const Operand& actual) {
                            if (formal.reg == kNone || actual.kind != Operand::Kind::kRegister) return;
                            const uint32_t inner = operands_.graph().register_number(frame, formal.reg);
                            const uint32_t outer = operands_.graph().register_number(f.caller, actual.ref);
                            if (found_[results ? inner : outer]) mark(results ? outer : inner);
                          });
  }

  const Operands& operands_;
  std::vector<bool> found_;  // by register
  bool changed_ = false;
  bool stored_ = false;          // an address may be in memory, other than in a `.param` variable that is named
  bool stored_somehow_ = false;  // or in such a variable
};

}  // namespace

std::vector<bool> find_local_pointers(const Operands& operands) {
  const std::vector<ptx::Variable>& variables = operands.module().variables;
  const bool any = std::any_of(variables.begin(), variables.end(),
                               [](const ptx::Variable& v) { return v.space == ptx::Space::kLocal; });
  if (!any) return std::vector<bool>(operands.graph().register_count, false);
  return LocalPointers(operands).run();
}

}  // namespace tmemlint::program
