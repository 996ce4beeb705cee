#include "analyzer/program/emit.h"

#include "analyzer/assumptions/assumptions.h"

#include <algorithm>

namespace tmemlint::program {

using kernel::Block;
using kernel::Graph;
using ptx::Instruction;
using ptx::Operand;

namespace {

class Emitter {
public:
  Emitter(const Operands& operands, const Slice& slice, const Writers& writers, const LoadUses& loads, RoleTable& roles,
          Program& program)
      : operands_(operands),
        slice_(slice),
        writers_(writers),
        loads_(loads),
        roles_(roles),
        graph_(operands.graph()),
        out_(program),
        markers_(operands, loads, program) {}

  void run() {
    out_.code.resize(graph_.blocks.size());
    for (uint32_t b = 0; b < graph_.blocks.size(); ++b) emit_block(b);
  }

private:
  void emit_block(uint32_t b) {
    const Block& block = graph_.blocks[b];
    Code& code = out_.code[b];
    code.first = static_cast<uint32_t>(out_.steps.size());
    if (block.call == Block::Call::kLeave) emit_results(block.call_frame);
    markers_.begin_stretch();
    for (uint32_t i = block.first; i < block.last; ++i) {
      const Meaning& m = operands_.meaning(i);
      const bool is_load = m.is_tensor_load();
      if (loads_.any()) markers_.emit(block.frame, i, is_load ? load_ : kNone, marker_guard(block, i));
      if (!is_kept(block.frame, i, m)) continue;
      emit_instruction(block, i, m);
      if (is_load) {
        out_.steps.back().loads = load_;
        code.loads.push_back(load_);
        ++load_;
        markers_.begin_stretch();
      }
    }
    if (block.condition != kNone && block.ending == kernel::Ending::kBranch)
      code.none_yet = writers_.none_yet_way(block);
    if (block.call == Block::Call::kEnter) emit_arguments(block.call_frame);
    code.last = static_cast<uint32_t>(out_.steps.size());
    const uint32_t after = slice_.control.after[b];
    if (block.successors.size() > 1 && !slice_.decided[b] && after != kNone) code.skip_to = after;
  }

  bool is_kept(uint32_t frame, uint32_t i, const Meaning& m) const {
    if (is_event(m)) return true;
    if (m.action == Action::kNothing) return false;
    if (m.action == Action::kStore) return slice_.memory.read(frame, i);
    bool any = false;
    operands_.each_written(frame, i, [&](uint32_t r) { any = any || is_needed(r); });
    return any;
  }
  bool is_needed(uint32_t r) const { return slice_.needed[r] != Need::kNothing; }
  bool is_needed(uint32_t frame, const Operand& o) const {
    bool any = false;
    operands_.each_register(frame, o, [&](uint32_t r) { any = any || is_needed(r); });
    return any;
  }

  uint32_t guard_of(const Block& block, uint32_t i) const {
    return block.guard_is_taken ? kNone : operands_.guard(block.frame, i);
  }
  // A guard outside the slice depends on data only: a marker then counts in every lane.
  uint32_t marker_guard(const Block& block, uint32_t i) const {
    const uint32_t guard = guard_of(block, i);
    return guard != kNone && slice_.needed[guard] == Need::kExact ? guard : kNone;
  }

  // --- arguments ---

  Arg arg_of(uint32_t frame, const Operand& o) const {
    Arg a;
    a.negated = o.negated;
    switch (o.kind) {
      case Operand::Kind::kRegister:
        set_register(frame, o.ref, a);
        if (o.component != Operand::kWhole) a.kind = Arg::Kind::kNone;
        break;
      case Operand::Kind::kInteger:
      case Operand::Kind::kFloat:
        a.kind = Arg::Kind::kNumber;
        a.number = static_cast<uint64_t>(o.value);
        a.negated = false;
        break;
      case Operand::Kind::kSpecial:
        a.kind = Arg::Kind::kSpecial;
        a.ref = o.ref;
        break;
      case Operand::Kind::kVariable:
        set_variable(frame, o, a);
        break;
      case Operand::Kind::kAddress:
        a.address = true;
        if (o.base == Operand::Kind::kVariable) {
          set_variable(frame, o, a);
        } else {
          a.kind = Arg::Kind::kNumber;
          if (o.base == Operand::Kind::kRegister) set_register(frame, o.ref, a);
          a.number = static_cast<uint64_t>(o.value);
        }
        break;
      case Operand::Kind::kSink:
        a.kind = Arg::Kind::kSink;
        break;
      case Operand::Kind::kLabel:
      case Operand::Kind::kFunction:
      case Operand::Kind::kVector:
      case Operand::Kind::kGroup:
      case Operand::Kind::kUnresolved:
        break;
    }
    return a;
  }

  void set_register(uint32_t frame, uint32_t reg, Arg& a) const {
    a.kind = Arg::Kind::kRegister;
    a.ref = graph_.register_number(frame, reg);
    a.width = out_.register_width[a.ref];
  }
  void set_variable(uint32_t frame, const Operand& o, Arg& a) const {
    const bool is_shared = operands_.module().variables[o.ref].space == ptx::Space::kShared;
    a.number = out_.layout.address(frame, o.ref) + static_cast<uint64_t>(o.value);
    a.kind = is_shared ? Arg::Kind::kShared : Arg::Kind::kNumber;
    a.width = 64;
  }

  // A register that is written and that nothing needs is not kept.
  Arg written_or_read(Arg a, bool written) const {
    if (written && a.kind == Arg::Kind::kRegister && !a.address && !is_needed(a.ref)) a.kind = Arg::Kind::kSink;
    return a;
  }

  // --- steps ---

  void emit_instruction(const Block& block, uint32_t i, const Meaning& m) {
    const Instruction& instruction = operands_.module().instructions[i];
    Step step;
    step.instruction = i;
    if (m.action == Action::kTcgen05) step.roles = roles_.index(i);
    step.destinations = static_cast<uint8_t>(operands_.destination_count(i));
    step.argument_count =
        static_cast<uint8_t>(std::min<unsigned>(instruction.operand_count, assumptions::kOperandsOfAnInstruction));
    step.guard = guard_of(block, i);
    step.guard_negated = step.guard != kNone && instruction.guard_negated;
    if (m.action == Action::kGeneric) {
      step.as_data = true;
      operands_.each_written(block.frame, i,
                             [&](uint32_t r) { step.as_data = step.as_data && slice_.needed[r] != Need::kExact; });
      if (step.as_data) step.argument_count = step.destinations;
    }
    add_arguments(block.frame, operands_.module().operands_of(instruction), m, step);
    out_.steps.push_back(step);
  }

  void add_arguments(uint32_t frame, const Operand* operands, const Meaning& m, Step& step) {
    step.first_arg = static_cast<uint32_t>(out_.args.size());
    for (unsigned n = 0; n < step.argument_count; ++n) {
      const Operand& o = operands[n];
      if (o.kind == Operand::Kind::kGroup && o.bracketed && o.value > 0) {
        // [map, {c, c}]: the address is what matters.
        out_.args.push_back(arg_of(frame, operands_.module().operands[o.ref]));
        out_.args.back().address = true;
      } else {
        out_.args.push_back(written_or_read(arg_of(frame, o), n < step.destinations));
      }
    }
    // The first vector among them.
    for (unsigned n = 0; n < step.argument_count && step.vector_count == 0; ++n) {
      const Operand& o = operands[n];
      const bool written = n < step.destinations;
      if (o.kind != Operand::Kind::kVector || m.action == Action::kAsyncCopy) continue;
      if (m.action == Action::kTcgen05 && !(written && is_needed(frame, o))) continue;
      step.vector_first = static_cast<uint32_t>(out_.args.size());
      step.vector_count = static_cast<uint16_t>(o.value);
      for (int64_t k = 0; k < o.value; ++k) {
        const Operand& element = operands_.module().operands[o.ref + static_cast<uint32_t>(k)];
        out_.args.push_back(written_or_read(arg_of(frame, element), written));
      }
    }
  }

  // --- calls ---

  // Arguments that are registers or numbers, into the callee's formal parameters.
  void emit_arguments(uint32_t call_frame) {
    operands_.each_passed(call_frame, false,
                          [&](const kernel::Frame& f, const ptx::Function::Parameter& formal, const Operand& actual) {
                            copy(call_frame, formal, arg_of(f.caller, actual), f.call, true);
                          });
  }

  void emit_results(uint32_t call_frame) {
    operands_.each_passed(call_frame, true,
                          [&](const kernel::Frame& f, const ptx::Function::Parameter& formal, const Operand& actual) {
                            if (actual.kind == Operand::Kind::kRegister)
                              copy(call_frame, formal, arg_of(f.caller, actual), f.call, false);
                          });
  }

  // args[0] <- args[1]; a `.param` formal is memory at a number, with `address` set.
  void copy(uint32_t call_frame, const ptx::Function::Parameter& formal, Arg actual, uint32_t call, bool in) {
    Arg inner;
    if (formal.reg != kNone) {
      set_register(call_frame, formal.reg, inner);
    } else if (formal.variable != kNone) {
      if (actual.address || actual.kind == Arg::Kind::kShared) return;  // passed by its variable
      if (actual.kind == Arg::Kind::kNumber && kernel::window_of(actual.number) == kernel::kParamWindow) return;
      inner.kind = Arg::Kind::kNumber;
      inner.address = true;
      inner.number = out_.layout.address(call_frame, formal.variable);
      const ptx::Variable& v = operands_.module().variables[formal.variable];
      inner.width = static_cast<uint8_t>(std::min<uint64_t>(64, std::max<uint64_t>(8, v.size * 8)));
    } else {
      return;
    }
    Step step;
    step.kind = Step::Kind::kCopyIn;
    step.instruction = call;
    step.destinations = 1;
    step.argument_count = 2;
    step.first_arg = static_cast<uint32_t>(out_.args.size());
    out_.args.push_back(in ? inner : actual);
    out_.args.push_back(in ? actual : inner);
    out_.steps.push_back(step);
  }

  const Operands& operands_;
  const Slice& slice_;
  const Writers& writers_;
  const LoadUses& loads_;
  RoleTable& roles_;
  const Graph& graph_;
  Program& out_;
  LoadMarkers markers_;
  uint32_t load_ = 0;  // the next one, in Program::loads
};

}  // namespace

void emit_steps(const Operands& operands, const Slice& slice, const Writers& writers, const LoadUses& loads,
                RoleTable& roles, Program& program) {
  Emitter(operands, slice, writers, loads, roles, program).run();
}

}  // namespace tmemlint::program
