#include "analyzer/program/constant_tables.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <span>
#include <unordered_map>

namespace tmemlint::program {

using ptx::Function;
using ptx::Instruction;
using ptx::kNone;
using ptx::Module;
using ptx::Operand;
using ptx::Space;

namespace {

template <typename F>
void each_leaf(const Module& module, const Operand& o, F&& f) {
  if (o.kind != Operand::Kind::kVector && o.kind != Operand::Kind::kGroup) return f(o);
  for (int64_t n = 0; n < o.value; ++n) each_leaf(module, module.operands[o.ref + static_cast<uint32_t>(n)], f);
}

// Which of some variables code may write, or hand to somebody who may: whatever is done with their addresses but
// loading from there and computing other addresses. Follows them through the registers of one function at a time.
class Escapes {
public:
  // So many variables are followed at once: each has a bit.
  static constexpr size_t kAtOnce = std::numeric_limits<uint64_t>::digits;

  Escapes(const Module& module, const std::vector<Meaning>& meanings, std::span<const uint32_t> variables)
      : module_(module), meanings_(meanings) {
    for (size_t n = 0; n < variables.size(); ++n) bit_[variables[n]] = uint64_t{1} << n;
  }

  void look_at(const Function& function) {
    if (!names_any(function)) return;
    held_.assign(function.registers.size(), 0);
    do {
      changed_ = false;
      for (uint32_t i = function.first_instruction; i < function.last_instruction; ++i)
        look_at(module_.instructions[i]);
    } while (changed_);
  }

  bool escaped(uint32_t variable) const { return (escaped_ & bit_.at(variable)) != 0; }

private:
  uint64_t bit_of(uint32_t variable) const {
    const auto at = bit_.find(variable);
    return at == bit_.end() ? 0 : at->second;
  }
  // The variables whose address an operand is, or is computed from; `in_brackets`: that it accesses.
  uint64_t of(const Operand& o, bool& in_brackets) const {
    const Operand::Kind kind = o.kind == Operand::Kind::kAddress ? o.base : o.kind;
    in_brackets = o.kind == Operand::Kind::kAddress;
    if (kind == Operand::Kind::kVariable) return bit_of(o.ref);
    return kind == Operand::Kind::kRegister ? held_[o.ref] : 0;
  }
  bool names_any(const Function& function) const {
    bool any = false;
    for (uint32_t i = function.first_instruction; i < function.last_instruction && !any; ++i) {
      const Instruction& instruction = module_.instructions[i];
      for (unsigned n = 0; n < instruction.operand_count; ++n) {
        each_leaf(module_, module_.operands_of(instruction)[n], [&](const Operand& o) {
          const bool is_variable = o.kind == Operand::Kind::kVariable ||
                                   (o.kind == Operand::Kind::kAddress && o.base == Operand::Kind::kVariable);
          any = any || (is_variable && bit_of(o.ref) != 0);
        });
      }
    }
    return any;
  }
  void look_at(const Instruction& instruction) {
    const Meaning& m = meanings_[instruction.opcode];
    const Operand* operands = module_.operands_of(instruction);
    uint64_t values = 0, accessed = 0;
    for (unsigned n = 0; n < instruction.operand_count; ++n) {
      each_leaf(module_, operands[n], [&](const Operand& o) {
        bool in_brackets = false;
        const uint64_t mine = of(o, in_brackets);
        (in_brackets ? accessed : values) |= mine;
      });
    }
    if (m.action == Action::kLoad && m.atomic == Atomic::kNone) return;
    if (!computes_registers(m.action)) {
      if (m.action != Action::kNothing || m.atomic != Atomic::kNone || m.writes_memory) escaped_ |= values | accessed;
      return;
    }
    escaped_ |= accessed;
    if (values == 0) return;
    for (unsigned n = 0; n < m.destinations && n < instruction.operand_count; ++n) {
      each_leaf(module_, operands[n], [&](const Operand& o) {
        if (o.kind != Operand::Kind::kRegister || (values & ~held_[o.ref]) == 0) return;
        held_[o.ref] |= values;
        changed_ = true;
      });
    }
  }

  const Module& module_;
  const std::vector<Meaning>& meanings_;
  std::unordered_map<uint32_t, uint64_t> bit_;  // by variable
  std::vector<uint64_t> held_;                  // by register of the function at hand: whose addresses it may hold
  uint64_t escaped_ = 0;
  bool changed_ = false;
};

bool is_table(const ptx::Variable& v) {
  return v.initial != kNone && !v.is_extern && (v.space == Space::kConst || v.space == Space::kGlobal);
}

// The tables that the functions of a graph name.
std::vector<uint32_t> named_tables(const kernel::Graph& graph) {
  const Module& module = *graph.module;
  std::vector<uint32_t> out;
  std::vector<bool> seen(module.functions.size(), false);
  for (const kernel::Frame& frame : graph.frames) {
    if (seen[frame.function]) continue;
    seen[frame.function] = true;
    const Function& function = module.functions[frame.function];
    for (uint32_t i = function.first_instruction; i < function.last_instruction; ++i) {
      const Instruction& instruction = module.instructions[i];
      for (unsigned n = 0; n < instruction.operand_count; ++n) {
        each_leaf(module, module.operands_of(instruction)[n], [&](const Operand& o) {
          const bool is_variable = o.kind == Operand::Kind::kVariable ||
                                   (o.kind == Operand::Kind::kAddress && o.base == Operand::Kind::kVariable);
          if (is_variable && is_table(module.variables[o.ref])) out.push_back(o.ref);
        });
      }
    }
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

}  // namespace

ConstantTables::ConstantTables(const kernel::Graph& graph, const kernel::Layout& layout,
                               const std::vector<Meaning>& meanings) {
  const Module& module = *graph.module;
  if (module.initial_bytes.empty()) return;
  std::vector<uint32_t> named = named_tables(graph);
  // Constant memory is written by nobody; global memory by whoever has an address in it.
  std::vector<uint32_t> global;
  std::copy_if(named.begin(), named.end(), std::back_inserter(global),
               [&](uint32_t v) { return module.variables[v].space == Space::kGlobal; });
  if (!global.empty()) {
    const std::vector<std::string_view>& names = module.names_in_initialisers;
    for (size_t first = 0; first < global.size(); first += Escapes::kAtOnce) {
      const std::span some =
          std::span<const uint32_t>(global).subspan(first, std::min(Escapes::kAtOnce, global.size() - first));
      Escapes escapes(module, meanings, some);
      for (const Function& function : module.functions) escapes.look_at(function);
      for (uint32_t v : some) {
        if (escapes.escaped(v) || std::find(names.begin(), names.end(), module.variables[v].name) != names.end())
          std::erase(named, v);
      }
    }
  }
  for (uint32_t v : named)
    tables_.push_back({layout.address(0, v), &module.initial_bytes[module.variables[v].initial]});
  std::sort(tables_.begin(), tables_.end(), [](const Table& a, const Table& b) { return a.begin < b.begin; });
}

const ConstantTables::Table* ConstantTables::find(uint64_t address) const {
  auto at = std::upper_bound(tables_.begin(), tables_.end(), address,
                             [](uint64_t a, const Table& table) { return a < table.begin; });
  if (at == tables_.begin()) return nullptr;
  --at;
  return address < at->end() ? &*at : nullptr;
}

std::optional<uint64_t> ConstantTables::word(uint64_t address, unsigned bytes) const {
  const Table* table = find(address);
  if (table == nullptr || bytes > 8 || address + bytes > table->end()) return std::nullopt;
  uint64_t out = 0;
  for (unsigned n = 0; n < bytes; ++n)
    out |= uint64_t{(*table->bytes)[static_cast<size_t>(address - table->begin) + n]} << (8 * n);
  return out;
}

}  // namespace tmemlint::program
