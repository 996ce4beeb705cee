#include "analyzer/program/program.h"

#include <algorithm>

#include "analyzer/program/emit.h"
#include "analyzer/program/liveness.h"
#include "analyzer/program/load_uses.h"
#include "analyzer/program/operands.h"
#include "analyzer/program/slice.h"
#include "analyzer/program/steps.h"
#include "analyzer/program/straight_runs.h"
#include "analyzer/program/writers.h"

namespace tmemlint::program {

using kernel::Graph;
using ptx::Module;
using ptx::Operand;

namespace {

void decode_names(Program& program) {
  const Module& module = *program.graph->module;
  program.meanings.reserve(module.opcodes.size());
  for (uint32_t n = 0; n < module.opcodes.size(); ++n) program.meanings.push_back(decode_meaning(module.opcodes[n], n));
  for (std::string_view name : module.special_registers) program.specials.push_back(decode_special(name));
}

void find_widths(Program& program) {
  const Graph& graph = *program.graph;
  program.register_width.assign(graph.register_count, 32);
  for (uint32_t n = 0; n < graph.frames.size(); ++n) {
    const ptx::Function& f = graph.function_of(n);
    for (uint32_t r = 0; r < f.registers.size(); ++r) {
      const unsigned b = ptx::bits(f.registers[r].type);
      program.register_width[graph.register_number(n, r)] = static_cast<uint8_t>(b == 0 ? 32 : std::min(b, 64u));
    }
  }
}

// Formal parameters that a call passes in a `.param` variable of its own are that variable.
void alias_parameters(const Operands& operands, Program& program) {
  for (uint32_t frame = 1; frame < program.graph->frames.size(); ++frame) {
    for (bool results : {false, true}) {
      operands.each_passed(
          frame, results, [&](const kernel::Frame& f, const ptx::Function::Parameter& formal, const Operand& actual) {
            const bool variable = actual.kind == Operand::Kind::kVariable ||
                                  (actual.kind == Operand::Kind::kAddress && actual.base == Operand::Kind::kVariable);
            if (formal.variable == kNone || !variable) return;
            program.layout.alias(frame, formal.variable, program.layout.address(f.caller, actual.ref));
          });
    }
  }
}

// Numbers the registers of the slice from 0: those of the whole kernel are many times as many.
void number_registers(Program& program) {
  const Graph& graph = *program.graph;
  std::vector<uint32_t> number(graph.register_count, kNone);
  std::vector<uint8_t> width;
  auto renumber = [&](uint32_t& r) {
    if (number[r] == kNone) {
      number[r] = static_cast<uint32_t>(width.size());
      width.push_back(program.register_width[r]);
    }
    r = number[r];
  };
  for (Step& step : program.steps) {
    if (step.guard != kNone) renumber(step.guard);
  }
  for (Arg& a : program.args) {
    if (a.kind == Arg::Kind::kRegister) renumber(a.ref);
  }
  for (uint32_t b = 0; b < graph.blocks.size(); ++b) {
    Code& code = program.code[b];
    if (code.skip_to != kNone || graph.blocks[b].condition == kNone) continue;
    code.condition = graph.blocks[b].condition;
    renumber(code.condition);
  }
  program.register_width = std::move(width);
}

// What such a register holds is not known.
std::vector<uint32_t> find_never_written(const Program& program) {
  std::vector<bool> written(program.register_width.size(), false);
  for (const Step& step : program.steps) {
    if (step.is_marker()) continue;
    each_arg(program, step, [&](const Arg& a, bool is_written) {
      if (a.kind == Arg::Kind::kRegister && is_written && !a.address) written[a.ref] = true;
    });
  }
  std::vector<uint32_t> out;
  for (uint32_t r = 0; r < written.size(); ++r) {
    if (!written[r]) out.push_back(r);
  }
  return out;
}

}  // namespace

Program compile(const Graph& graph) {
  Program program(graph);
  decode_names(program);
  find_widths(program);
  program.tables = ConstantTables(graph, program.layout, program.meanings);
  const Operands operands(program);
  alias_parameters(operands, program);
  {
    const LoadUses loads(operands, program);
    const Writers writers(operands);
    RoleTable roles(program);
    const Slice slice = find_slice(operands, writers, loads, roles);
    emit_steps(operands, slice, writers, loads, roles, program);
  }
  number_registers(program);
  program.never_written = find_never_written(program);
  const Liveness liveness(program);
  find_straight_runs(program, liveness);
  for (uint32_t b = 0; b < program.code.size(); ++b) program.code[b].live_in = liveness.before(b);
  program.args.shrink_to_fit();
  program.steps.shrink_to_fit();
  program.straights.shrink_to_fit();
  program.straight_refs.shrink_to_fit();
  return program;
}

}  // namespace tmemlint::program
