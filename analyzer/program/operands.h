// Which registers of the whole graph an instruction of the text reads and writes, and what a call passes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "analyzer/program/program.h"

namespace tmemlint::program {

// An instruction where it stands: a function that is called twice has each of its instructions in two frames.
struct Site {
  uint32_t frame = 0;
  uint32_t instruction = kNone;
  uint32_t block = 0;
};

class Operands {
public:
  // `program` has its graph and its meanings already.
  explicit Operands(const Program& program)
      : program_(program), graph_(*program.graph), module_(*program.graph->module) {}

  const kernel::Graph& graph() const { return graph_; }
  const ptx::Module& module() const { return module_; }
  const kernel::Layout& layout() const { return program_.layout; }
  const Meaning& meaning(uint32_t instruction) const {
    return program_.meanings[module_.instructions[instruction].opcode];
  }

  // The register that guards an instruction; kNone without one.
  uint32_t guard(uint32_t frame, uint32_t instruction) const {
    const uint32_t g = module_.instructions[instruction].guard;
    return g == kNone ? kNone : graph_.register_number(frame, g);
  }

  // The destinations come first; `d|p` pairs count as two.
  unsigned destination_count(uint32_t instruction) const {
    const ptx::Instruction& of = module_.instructions[instruction];
    unsigned n = meaning(instruction).destinations;
    if (n == 0) return 0;
    const ptx::Operand* operands = module_.operands_of(of);
    for (unsigned k = 0; k < n && k < of.operand_count; ++k) {
      if (operands[k].joined_with_next) ++n;
    }
    return std::min<unsigned>(n, of.operand_count);
  }

  template <typename F>
  void each_register(uint32_t frame, const ptx::Operand& o, F&& f) const {
    using Kind = ptx::Operand::Kind;
    switch (o.kind) {
      case Kind::kRegister:
        f(graph_.register_number(frame, o.ref));
        break;
      case Kind::kAddress:
        if (o.base == Kind::kRegister) f(graph_.register_number(frame, o.ref));
        break;
      case Kind::kVector:
      case Kind::kGroup:
        for (int64_t n = 0; n < o.value; ++n)
          each_register(frame, module_.operands[o.ref + static_cast<uint32_t>(n)], f);
        break;
      case Kind::kInteger:
      case Kind::kFloat:
      case Kind::kSpecial:
      case Kind::kVariable:
      case Kind::kLabel:
      case Kind::kFunction:
      case Kind::kSink:
      case Kind::kUnresolved:
        break;
    }
  }

  // Registers that an instruction writes.
  template <typename F>
  void each_written(uint32_t frame, uint32_t instruction, F&& f) const {
    const unsigned destinations = destination_count(instruction);
    const ptx::Operand* operands = module_.operands_of(module_.instructions[instruction]);
    for (unsigned n = 0; n < destinations; ++n) {
      if (operands[n].kind != ptx::Operand::Kind::kAddress) each_register(frame, operands[n], f);
    }
  }

  // And those that it reads: addresses among its destinations too, and its guard.
  template <typename F>
  void each_read(uint32_t frame, uint32_t instruction, F&& f) const {
    const ptx::Instruction& of = module_.instructions[instruction];
    const ptx::Operand* operands = module_.operands_of(of);
    const unsigned destinations = destination_count(instruction);
    for (unsigned n = 0; n < of.operand_count; ++n) {
      if (n >= destinations || operands[n].kind == ptx::Operand::Kind::kAddress) each_register(frame, operands[n], f);
    }
    if (of.guard != kNone) f(graph_.register_number(frame, of.guard));
  }

  // Each formal parameter of the callee whose activation `frame` is, or each of its results, with what the call has in
  // its place.
  template <typename F>
  void each_passed(uint32_t frame, bool results, F&& f) const {
    const kernel::Frame& callee = graph_.frames[frame];
    const ptx::Function& function = module_.functions[callee.function];
    const ptx::Operand* group = call_group(callee.call, results);
    if (group == nullptr) return;
    const std::vector<ptx::Function::Parameter>& formals = results ? function.returns : function.parameters;
    for (size_t n = 0; n < formals.size() && n < static_cast<size_t>(group->value); ++n) {
      f(callee, formals[n], module_.operands[group->ref + n]);
    }
  }

private:
  // The arguments of a call, or its results: the group that stands behind the callee's name, or before it.
  const ptx::Operand* call_group(uint32_t call, bool results) const {
    const ptx::Instruction& instruction = module_.instructions[call];
    const ptx::Operand* operands = module_.operands_of(instruction);
    bool after_callee = false;
    for (unsigned n = 0; n < instruction.operand_count; ++n) {
      if (operands[n].kind == ptx::Operand::Kind::kGroup) {
        if (after_callee != results) return &operands[n];
        continue;
      }
      after_callee = true;
    }
    return nullptr;
  }

  const Program& program_;
  const kernel::Graph& graph_;
  const ptx::Module& module_;
};

// What the operands of each tcgen05 instruction are for: Program::roles, looked up once per instruction.
class RoleTable {
public:
  explicit RoleTable(Program& program) : program_(program), module_(*program.graph->module) {}
  uint32_t index(uint32_t instruction) {
    const auto [it, fresh] = index_.try_emplace(instruction, static_cast<uint32_t>(program_.roles.size()));
    if (fresh) {
      const ptx::Instruction& of = module_.instructions[instruction];
      program_.roles.push_back(ptx::roles(module_, of, program_.meanings[of.opcode].form));
    }
    return it->second;
  }
  const ptx::OperandRoles& of(uint32_t instruction) { return program_.roles[index(instruction)]; }

private:
  Program& program_;
  const ptx::Module& module_;
  std::unordered_map<uint32_t, uint32_t> index_;  // by instruction
};

}  // namespace tmemlint::program
