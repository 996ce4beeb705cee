#include "analyzer/program/program.h"

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "analyzer/kernel/control.h"

namespace tmemlint::program {

using value::Op;
using value::truncate;

using kernel::Block;
using kernel::Ending;
using kernel::Graph;
using ptx::Instruction;
using ptx::Module;
using ptx::Operand;

namespace {

bool is_event(const Meaning& m) {
  // Words of shared memory that warps poll.
  if (m.atomic && m.space != MemorySpace::kGlobal) return true;
  if (m.action == Action::kLoad && m.fresh && (m.space == MemorySpace::kShared || m.space == MemorySpace::kGeneric))
    return true;
  return is_protocol(m.action) || m.action == Action::kProxyFence || m.action == Action::kGridDependency;
}

// Whether an instruction reads shared memory through a descriptor.
bool reads_operands(const Meaning& m) {
  return m.action == Action::kTcgen05 &&
         (m.form.op == ptx::Tcgen05::kMma || m.form.op == ptx::Tcgen05::kMmaWs || m.form.op == ptx::Tcgen05::kCp);
}

// Where an instruction stands: it may do so in several frames.
struct Site {
  uint32_t frame;
  uint32_t instruction;
  uint32_t block;
};

class Compiler {
public:
  explicit Compiler(const Graph& graph) : graph_(graph), module_(*graph.module), out_(graph) {}

  Program run() {
    decode();
    widths();
    alias_parameters();
    find_loads();
    slice();
    emit();
    number_registers();
    liveness();
    out_.args.shrink_to_fit();
    out_.steps.shrink_to_fit();
    out_.straights.shrink_to_fit();
    out_.straight_refs.shrink_to_fit();
    return std::move(out_);
  }

private:
  void decode() {
    out_.meanings.reserve(module_.opcodes.size());
    for (uint32_t n = 0; n < module_.opcodes.size(); ++n)
      out_.meanings.push_back(decode_meaning(module_.opcodes[n], n));
  }

  void widths() {
    out_.register_width.assign(graph_.register_count, 32);
    for (const kernel::Frame& frame : graph_.frames) {
      const ptx::Function& f = module_.functions[frame.function];
      for (uint32_t r = 0; r < f.registers.size(); ++r) {
        const unsigned b = ptx::bits(f.registers[r].type);
        out_.register_width[frame.first_register + r] = static_cast<uint8_t>(b == 0 ? 32 : std::min(b, 64u));
      }
    }
  }

  // --- operands ---

  uint32_t reg(uint32_t frame, const Operand& o) const { return graph_.register_number(frame, o.ref); }

  template <typename F>
  void each_register(uint32_t frame, const Operand& o, F&& f) const {
    switch (o.kind) {
      case Operand::Kind::kRegister:
        f(reg(frame, o));
        break;
      case Operand::Kind::kAddress:
        if (o.base == Operand::Kind::kRegister) f(graph_.register_number(frame, o.ref));
        break;
      case Operand::Kind::kVector:
      case Operand::Kind::kGroup:
        for (int64_t n = 0; n < o.value; ++n)
          each_register(frame, module_.operands[o.ref + static_cast<uint32_t>(n)], f);
        break;
      default:
        break;
    }
  }

  const Meaning& meaning(uint32_t i) const { return out_.meanings[module_.instructions[i].opcode]; }

  // The destinations come first; `d|p` pairs count as two.
  unsigned destination_count(const Instruction& instruction, const Meaning& m) const {
    unsigned n = m.destinations;
    if (n == 0) return 0;
    const Operand* operands = module_.operands_of(instruction);
    for (unsigned k = 0; k < n && k < instruction.operand_count; ++k) {
      if (operands[k].joined_with_next) ++n;
    }
    return std::min<unsigned>(n, instruction.operand_count);
  }

  // Registers that an instruction writes.
  template <typename F>
  void each_written(uint32_t frame, uint32_t i, F&& f) const {
    const Meaning& m = meaning(i);
    if (m.destinations == 0) return;
    const Instruction& instruction = module_.instructions[i];
    const Operand* operands = module_.operands_of(instruction);
    const unsigned destinations = destination_count(instruction, m);
    for (unsigned n = 0; n < destinations; ++n) {
      if (operands[n].kind != Operand::Kind::kAddress) each_register(frame, operands[n], f);
    }
  }

  // And those that it reads: addresses among its destinations, its guard.
  template <typename F>
  void each_read(uint32_t frame, uint32_t i, F&& f) const {
    const Instruction& instruction = module_.instructions[i];
    const Operand* operands = module_.operands_of(instruction);
    const unsigned destinations = destination_count(instruction, meaning(i));
    for (unsigned n = 0; n < instruction.operand_count; ++n) {
      if (n >= destinations || operands[n].kind == Operand::Kind::kAddress) each_register(frame, operands[n], f);
    }
    if (instruction.guard != kNone) f(graph_.register_number(frame, instruction.guard));
  }

  // --- pending loads ---

  // Which loads' results a register may hold, moves followed.
  void find_loads() {
    holds_.assign(graph_.register_count, {});
    direct_.assign(graph_.register_count, {});
    for (uint32_t b = 0; b < graph_.blocks.size(); ++b) {
      const Block& block = graph_.blocks[b];
      for (uint32_t i = block.first; i < block.last; ++i) {
        const Meaning& m = meaning(i);
        if (m.action != Action::kTcgen05 || !m.form.is_load()) continue;
        const auto load = static_cast<uint32_t>(out_.loads.size());
        out_.loads.push_back({i, block.frame});
        each_written(block.frame, i, [&](uint32_t r) {
          holds_[r].push_back(load);
          direct_[r].push_back(load);
        });
      }
    }
    if (out_.loads.empty()) return;
    bool changed = true;
    while (changed) {
      changed = false;
      for (const Block& block : graph_.blocks) {
        for (uint32_t i = block.first; i < block.last; ++i) {
          if (meaning(i).is_move_like) changed = pass_on(block.frame, i) || changed;
        }
      }
    }
  }

  bool pass_on(uint32_t frame, uint32_t i) {
    std::vector<uint32_t> from;
    each_read(frame, i, [&](uint32_t r) { from.insert(from.end(), holds_[r].begin(), holds_[r].end()); });
    if (from.empty()) return false;
    sort_set(from);
    bool changed = false;
    each_written(frame, i, [&](uint32_t r) {
      if (std::includes(holds_[r].begin(), holds_[r].end(), from.begin(), from.end())) return;
      std::vector<uint32_t> both;
      std::set_union(holds_[r].begin(), holds_[r].end(), from.begin(), from.end(), std::back_inserter(both));
      holds_[r] = std::move(both);
      changed = true;
    });
    return changed;
  }

  static void sort_set(std::vector<uint32_t>& set) {
    std::sort(set.begin(), set.end());
    set.erase(std::unique(set.begin(), set.end()), set.end());
  }

  uint32_t load_set(std::vector<uint32_t> loads) {
    sort_set(loads);
    auto [it, fresh] = load_set_numbers_.try_emplace(loads, static_cast<uint32_t>(out_.load_sets.size()));
    if (fresh) out_.load_sets.push_back(std::move(loads));
    return it->second;
  }

  // --- the slice ---

  // How much of a register the protocol needs. What is only stored to shared memory is needed as data: an operation
  // that is not modelled (floating-point arithmetic) may then yield an unknown, and what it is computed from is not
  // needed.
  enum Need : uint8_t { kNotNeeded, kAsData, kExact };

  void need(uint32_t r, Need how = kExact) {
    if (needed_[r] < how) {
      needed_[r] = how;
      work_.push_back(r);
    }
  }

  // --- what an access may reach ---

  using Spaces = uint8_t;  // a bit for each state space; what global memory holds is unknown whoever writes it
  static constexpr Spaces bit_of(MemorySpace s) { return static_cast<Spaces>(1u << static_cast<unsigned>(s)); }

  Spaces spaces_of(uint32_t frame, uint32_t i) const {
    const MemorySpace s = meaning(i).space;
    if (s != MemorySpace::kGeneric) return bit_of(s);
    constexpr Spaces others = bit_of(MemorySpace::kShared) | bit_of(MemorySpace::kParam) | bit_of(MemorySpace::kConst);
    return may_point_to_local(frame, i) ? others | bit_of(MemorySpace::kLocal) : others;
  }

  bool may_point_to_local(uint32_t frame, uint32_t i) const {
    const Instruction& instruction = module_.instructions[i];
    const Operand* operands = module_.operands_of(instruction);
    for (unsigned n = 0; n < instruction.operand_count; ++n) {
      const Operand& o = operands[n];
      if (o.kind != Operand::Kind::kAddress) continue;
      if (o.base == Operand::Kind::kVariable) return module_.variables[o.ref].space == ptx::Space::kLocal;
      return o.base != Operand::Kind::kRegister || to_local_[graph_.register_number(frame, o.ref)];
    }
    return true;
  }

  // Which registers may hold an address of local memory, or what was computed from one. Most kernels take no such
  // address, or only to print something: what goes through other generic addresses then never meets local memory.
  void find_local_pointers() {
    to_local_.assign(graph_.register_count, false);
    bool changed = false;
    bool stored = false;          // one may be in memory, other than in a `.param` variable that is named
    bool stored_somehow = false;  // or in such a variable
    auto mark = [&](uint32_t r) {
      changed = changed || !to_local_[r];
      to_local_[r] = true;
    };
    auto pass = [&](const Block& block, uint32_t i) {
      const Meaning& m = meaning(i);
      bool from_local = m.action == Action::kLoad && (m.space == MemorySpace::kParam ? stored_somehow : stored);
      const Instruction& instruction = module_.instructions[i];
      const Operand* operands = module_.operands_of(instruction);
      for (unsigned n = 0; n < instruction.operand_count && !from_local; ++n) {
        const Operand& o = operands[n];
        from_local = o.kind == Operand::Kind::kVariable && module_.variables[o.ref].space == ptx::Space::kLocal;
        if (o.kind == Operand::Kind::kAddress && (m.action == Action::kLoad || m.action == Action::kStore)) continue;
        each_register(block.frame, o, [&](uint32_t r) { from_local = from_local || to_local_[r]; });
      }
      if (!from_local) return;
      each_written(block.frame, i, mark);
      if (m.action == Action::kStore || m.atomic) {
        const bool again = stored_somehow && (stored || m.space == MemorySpace::kParam);
        changed = changed || !again;
        stored_somehow = true;
        stored = stored || m.space != MemorySpace::kParam;
      }
    };
    do {
      changed = false;
      for (const Block& block : graph_.blocks) {
        for (uint32_t i = block.first; i < block.last; ++i) pass(block, i);
      }
      for (uint32_t frame = 1; frame < graph_.frames.size(); ++frame) {
        for (bool results : {false, true}) {
          each_pair(frame, results,
                    [&](const kernel::Frame& f, const ptx::Function::Parameter& formal, const Operand& actual) {
                      if (formal.reg == kNone || actual.kind != Operand::Kind::kRegister) return;
                      const uint32_t inner = graph_.register_number(frame, formal.reg);
                      const uint32_t outer = reg(f.caller, actual);
                      if (to_local_[results ? inner : outer]) mark(results ? outer : inner);
                    });
        }
      }
    } while (changed);
  }

  void slice() {
    const auto blocks = static_cast<uint32_t>(graph_.blocks.size());
    needed_.assign(graph_.register_count, kNotNeeded);
    // Who writes a register: (block, instruction) pairs by register.
    std::vector<uint32_t>& count = first_writer_;
    count.assign(graph_.register_count + 1, 0);
    for (const Block& block : graph_.blocks) {
      for (uint32_t i = block.first; i < block.last; ++i) {
        each_written(block.frame, i, [&](uint32_t r) { ++count[r + 1]; });
      }
    }
    for (size_t r = 1; r < count.size(); ++r) count[r] += count[r - 1];
    std::vector<Site>& writers = writers_;
    writers.resize(count.back());
    std::vector<uint32_t> cursor(count.begin(), count.end() - 1);
    for (uint32_t b = 0; b < blocks; ++b) {
      const Block& block = graph_.blocks[b];
      for (uint32_t i = block.first; i < block.last; ++i) {
        each_written(block.frame, i, [&](uint32_t r) { writers[cursor[r]++] = {block.frame, i, b}; });
      }
    }
    take_parameters();
    find_local_pointers();
    control_ = kernel::control_of(graph_);
    runs_.assign(blocks, false);
    decided_.assign(blocks, false);
    for (uint32_t b = 0; b < blocks; ++b) {
      const Block& block = graph_.blocks[b];
      if ((!control_.can_exit[b] || control_.after[b] == kNone) && block.successors.size() > 1) need_branch(b);
      if (block.ending == Ending::kExit || block.call != Block::Call::kNone) need_block(b);
      for (uint32_t i = block.first; i < block.last; ++i) {
        const Meaning& m = meaning(i);
        if (is_event(m)) {
          need_event(block.frame, i, m);
          need_block(b);
          if (reads_operands(m)) {
            // Who stored the operands matters.
            read_ |= bit_of(MemorySpace::kShared);
          }
          continue;
        }
        if (m.action == Action::kStore) stores_.push_back({block.frame, i, b});
        if (!out_.loads.empty() && touches_loads(block.frame, i, m)) need_block(b);
      }
      if (block.call == Block::Call::kEnter || block.call == Block::Call::kLeave) need_call(b);
    }
    while (true) {
      while (!work_.empty() || !pending_blocks_.empty()) {
        if (!pending_blocks_.empty()) {
          const uint32_t b = pending_blocks_.back();
          pending_blocks_.pop_back();
          need_block(b);
          continue;
        }
        const uint32_t r = work_.back();
        work_.pop_back();
        for (uint32_t n = count[r]; n < count[r + 1]; ++n) {
          const uint32_t i = writers[n].instruction;
          need_block(writers[n].block);
          if (is_event(meaning(i)) && meaning(i).action != Action::kLoad) continue;
          need_sources(writers[n].frame, i, needed_[r]);
          if (meaning(i).action == Action::kLoad) need_memory(writers[n].frame, i);
        }
      }
      if (!need_stores() && !need_checks()) break;
    }
  }

  // Checks that trap: what they ask decides nothing but their own trap, but behind them it holds. Worth keeping where
  // it is about numbers that are followed anyway. True when that made anything new needed.
  bool need_checks() {
    bool again = false;
    for (uint32_t b = 0; b < graph_.blocks.size(); ++b) {
      const Block& block = graph_.blocks[b];
      if (decided_[b] || block.ending != Ending::kBranch || block.condition == kNone || block.successors.size() != 2)
        continue;
      if (control_.can_exit[block.successors[0]] == control_.can_exit[block.successors[1]]) continue;
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
    if (needed_[r] == kExact) {
      concerns = true;
      return true;
    }
    if (depth == 0 || !has_one_writer(r)) return false;
    const Site& site = writers_[first_writer_[r]];
    const Meaning& m = meaning(site.instruction);
    if (m.action == Action::kLoad) {
      const std::optional<uint64_t> p =
          m.space == MemorySpace::kParam && site.frame == 0 ? parameter(site.frame, site.instruction) : std::nullopt;
      concerns = concerns || (p && parameters_read_.contains(*p));
      return p.has_value();
    }
    if (!computes_registers(m.action) || module_.instructions[site.instruction].guard != kNone) return false;
    bool all = true;
    each_read(site.frame, site.instruction,
              [&](uint32_t source) { all = all && is_simple(source, depth - 1, concerns); });
    return all;
  }

  // Formal parameters that are reached through their address as well as by their name (PTX ISA 5.1.6.4). An argument
  // of a call has only its name: what is stored to it is read by its callee alone.
  void take_parameters() {
    for (const Block& block : graph_.blocks) {
      for (uint32_t i = block.first; i < block.last; ++i) {
        const Instruction& instruction = module_.instructions[i];
        const Operand* operands = module_.operands_of(instruction);
        for (unsigned n = 0; n < instruction.operand_count; ++n) {
          const Operand& o = operands[n];
          if (o.kind == Operand::Kind::kVariable && module_.variables[o.ref].space == ptx::Space::kParam) {
            parameters_taken_.insert(out_.layout.address(block.frame, o.ref));
          }
        }
      }
    }
  }

  // What a needed load may read.
  void need_memory(uint32_t frame, uint32_t i) {
    const MemorySpace s = meaning(i).space;
    if (s == MemorySpace::kParam) {
      if (const std::optional<uint64_t> p = parameter(frame, i)) {
        parameters_read_.insert(*p);
        if (!parameters_taken_.contains(*p)) return;
      }
    }
    read_ |= spaces_of(frame, i) & ~bit_of(MemorySpace::kGlobal);
  }

  // The address of the `.param` variable that a load or store names.
  std::optional<uint64_t> parameter(uint32_t frame, uint32_t i) const {
    const Instruction& instruction = module_.instructions[i];
    const Operand* operands = module_.operands_of(instruction);
    for (unsigned n = 0; n < instruction.operand_count; ++n) {
      const Operand& o = operands[n];
      if (o.kind != Operand::Kind::kAddress) continue;
      if (o.base != Operand::Kind::kVariable || module_.variables[o.ref].space != ptx::Space::kParam) break;
      return out_.layout.address(frame, o.ref);
    }
    return std::nullopt;
  }

  // Whether a needed load may read what a store writes.
  bool is_read(uint32_t frame, uint32_t i) const {
    const MemorySpace s = meaning(i).space;
    const bool any = (read_ & spaces_of(frame, i)) != 0;
    if (s != MemorySpace::kParam) return any;
    const std::optional<uint64_t> p = parameter(frame, i);
    if (!p) return any || !parameters_read_.empty();
    return parameters_read_.contains(*p) || (any && parameters_taken_.contains(*p));
  }

  void need_sources(uint32_t frame, uint32_t i, Need how) {
    const Instruction& instruction = module_.instructions[i];
    if (instruction.guard != kNone) need(graph_.register_number(frame, instruction.guard));
    if (how == kAsData && meaning(i).action == Action::kGeneric) return;
    const Operand* operands = module_.operands_of(instruction);
    for (unsigned n = destination_count(instruction, meaning(i)); n < instruction.operand_count; ++n) {
      const Need of = operands[n].kind == Operand::Kind::kAddress ? kExact : how;
      each_register(frame, operands[n], [&](uint32_t source) { need(source, of); });
    }
  }

  // Something in the block matters: so do the branches that decide whether it runs.
  void need_block(uint32_t b) {
    if (runs_[b]) return;
    runs_[b] = true;
    for (uint32_t d : control_.deciders[b]) need_branch(d);
  }

  void need_branch(uint32_t b) {
    if (decided_[b]) return;
    decided_[b] = true;
    if (graph_.blocks[b].condition != kNone) need(graph_.blocks[b].condition);
    pending_blocks_.push_back(b);
  }

  uint32_t roles_of(uint32_t i) {
    const auto [it, fresh] = roles_.try_emplace(i, static_cast<uint32_t>(out_.roles.size()));
    if (fresh) out_.roles.push_back(ptx::roles(module_, module_.instructions[i], meaning(i).form));
    return it->second;
  }

  // Whether an instruction reads or overwrites what a tcgen05.ld delivers.
  bool touches_loads(uint32_t frame, uint32_t i, const Meaning& m) const {
    bool any = false;
    if (!m.is_move_like) each_read(frame, i, [&](uint32_t r) { any = any || !holds_[r].empty(); });
    if (!any) each_written(frame, i, [&](uint32_t r) { any = any || !direct_[r].empty(); });
    return any;
  }

  void need_event(uint32_t frame, uint32_t i, const Meaning& m) {
    const Instruction& instruction = module_.instructions[i];
    const Operand* operands = module_.operands_of(instruction);
    const unsigned destinations = destination_count(instruction, m);
    // The data of a tcgen05.st is not looked at; its address is.
    uint32_t skip = kNone;
    if (m.action == Action::kTcgen05) skip = out_.roles[roles_of(i)].vector;
    for (unsigned n = destinations; n < instruction.operand_count; ++n) {
      if (n != skip) each_register(frame, operands[n], [&](uint32_t r) { need(r); });
    }
    if (instruction.guard != kNone) need(graph_.register_number(frame, instruction.guard));
  }

  // Stores into a space that a needed load reads; true when that made anything new needed.
  bool need_stores() {
    const size_t before = work_.size();
    std::erase_if(stores_, [&](const Site& store) {
      if (!is_read(store.frame, store.instruction)) return false;
      const Spaces spaces = spaces_of(store.frame, store.instruction);
      const bool only_shared =
          (spaces & bit_of(MemorySpace::kShared)) != 0 && (spaces & bit_of(MemorySpace::kLocal)) == 0;
      need_sources(store.frame, store.instruction, only_shared ? kAsData : kExact);
      need_block(store.block);
      return true;
    });
    return work_.size() != before || !pending_blocks_.empty();
  }

  void need_call(uint32_t b) {
    const Block& block = graph_.blocks[b];
    const kernel::Frame& frame = graph_.frames[block.call_frame];
    each_read(frame.caller, frame.call, [&](uint32_t r) { need(r); });
    for (const ptx::Function::Parameter& p : module_.functions[frame.function].returns) {
      if (p.reg != kNone) need(graph_.register_number(block.call_frame, p.reg));
      if (p.variable != kNone) parameters_read_.insert(out_.layout.address(block.call_frame, p.variable));
    }
  }

  // --- emission ---

  Arg arg_of(uint32_t frame, const Operand& o) const {
    Arg a;
    a.negated = o.negated;
    switch (o.kind) {
      case Operand::Kind::kRegister:
        a.kind = o.component == Operand::kWhole ? Arg::Kind::kRegister : Arg::Kind::kNone;
        a.ref = reg(frame, o);
        a.width = out_.register_width[a.ref];
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
        variable(frame, o.ref, o.value, a);
        break;
      case Operand::Kind::kAddress:
        a.address = true;
        if (o.base == Operand::Kind::kRegister) {
          a.kind = Arg::Kind::kRegister;
          a.ref = graph_.register_number(frame, o.ref);
          a.width = out_.register_width[a.ref];
          a.number = static_cast<uint64_t>(o.value);
        } else if (o.base == Operand::Kind::kVariable) {
          variable(frame, o.ref, o.value, a);
        } else {
          a.kind = Arg::Kind::kNumber;
          a.number = static_cast<uint64_t>(o.value);
        }
        break;
      case Operand::Kind::kSink:
        a.kind = Arg::Kind::kSink;
        break;
      default:
        break;
    }
    return a;
  }

  void variable(uint32_t frame, uint32_t v, int64_t offset, Arg& a) const {
    // A label of an enclosing function's frame is looked up where it is declared.
    const ptx::Variable& var = module_.variables[v];
    a.number = out_.layout.address(frame, v) + static_cast<uint64_t>(offset);
    a.kind = var.space == ptx::Space::kShared ? Arg::Kind::kShared : Arg::Kind::kNumber;
    a.width = 64;
  }

  bool wanted(uint32_t frame, uint32_t i) const {
    const Meaning& m = meaning(i);
    if (is_event(m)) return true;
    if (m.action == Action::kNothing) return false;
    if (m.action == Action::kStore) return is_read(frame, i);
    bool needed = false;
    each_written(frame, i, [&](uint32_t r) { needed = needed || needed_[r] != kNotNeeded; });
    return needed;
  }

  void emit() {
    out_.code.resize(graph_.blocks.size());
    uint32_t load = 0;
    for (uint32_t b = 0; b < graph_.blocks.size(); ++b) {
      const Block& block = graph_.blocks[b];
      Code& code = out_.code[b];
      code.first = static_cast<uint32_t>(out_.steps.size());
      if (block.call == Block::Call::kLeave) emit_results(b);
      ++stretch_;
      for (uint32_t i = block.first; i < block.last; ++i) {
        const Meaning& m = meaning(i);
        const bool is_load = m.action == Action::kTcgen05 && m.form.is_load();
        if (!out_.loads.empty()) emit_uses(block, i, m, is_load ? load : kNone);
        if (!wanted(block.frame, i)) continue;
        emit_step(block, i, m);
        if (is_load) {
          out_.steps.back().loads = load;
          code.loads.push_back(load);
          ++load;
          ++stretch_;
        }
      }
      if (block.condition != kNone && block.ending == Ending::kBranch) code.none_yet = none_yet_way(block);
      if (block.call == Block::Call::kEnter) emit_arguments(b);
      code.last = static_cast<uint32_t>(out_.steps.size());
      if (block.successors.size() > 1 && !decided_[b] && control_.after[b] != kNone) code.skip_to = control_.after[b];
    }
  }

  bool has_one_writer(uint32_t r) const { return first_writer_[r + 1] - first_writer_[r] == 1; }

  // The register that a register is a copy of.
  uint32_t original(uint32_t r) const {
    constexpr unsigned kMostCopies = 8;
    for (unsigned n = 0; n < kMostCopies && has_one_writer(r); ++n) {
      const Site& site = writers_[first_writer_[r]];
      const Operand* from = copied(site);
      if (from == nullptr || from->kind != Operand::Kind::kRegister) break;
      r = reg(site.frame, *from);
    }
    return r;
  }
  // What an instruction copies as it is.
  const Operand* copied(const Site& site) const {
    const Instruction& instruction = module_.instructions[site.instruction];
    const Operand* operands = module_.operands_of(instruction);
    const bool copies = meaning(site.instruction).action == Action::kMove && instruction.operand_count == 2 &&
                        instruction.guard == kNone && operands[0].kind == Operand::Kind::kRegister;
    return copies ? &operands[1] : nullptr;
  }

  // Code::none_yet.
  int8_t none_yet_way(const Block& block) const {
    const uint32_t condition = original(block.condition);
    if (!has_one_writer(condition)) return -1;
    const Site& site = writers_[first_writer_[condition]];
    const Meaning& m = meaning(site.instruction);
    if (m.action != Action::kCompare) return -1;
    const Instruction& compare = module_.instructions[site.instruction];
    const Operand* operands = module_.operands_of(compare);
    if (m.operation.op != Op::kEq || m.combine != Meaning::Combine::kNone || compare.operand_count != 3) return -1;
    const Operand& variable = operands[1];
    if (variable.kind != Operand::Kind::kRegister || operands[2].kind != Operand::Kind::kInteger) return -1;
    // Small numbers are indexes and flags that memory may hold as well.
    const uint64_t none = truncate(static_cast<uint64_t>(operands[2].value), m.operation.width);
    if (none < truncate(~uint64_t{0}, m.operation.width - 1u)) return -1;
    const uint32_t r = original(reg(site.frame, variable));
    bool begins_so = false;
    bool gets_another = false;
    for (uint32_t n = first_writer_[r]; n < first_writer_[r + 1]; ++n) {
      const Operand* from = copied(writers_[n]);
      const bool number = from != nullptr && from->kind == Operand::Kind::kInteger;
      begins_so = begins_so || (number && truncate(static_cast<uint64_t>(from->value), m.operation.width) == none);
      gets_another = gets_another || !number;
    }
    if (!begins_so || !gets_another) return -1;
    const bool first_if_equal = m.invert == block.condition_negated;
    return first_if_equal ? 0 : 1;
  }

  // The loads of all of some registers, which are mostly the same ones again and again.
  uint32_t loads_of(const std::vector<uint32_t>& registers, const std::vector<std::vector<uint32_t>>& by_register,
                    std::map<std::vector<uint32_t>, uint32_t>& known) {
    const auto [it, fresh] = known.try_emplace(registers, 0);
    if (!fresh) return it->second;
    std::vector<uint32_t> all;
    for (uint32_t r : registers) all.insert(all.end(), by_register[r].begin(), by_register[r].end());
    return it->second = load_set(std::move(all));
  }

  void emit_uses(const Block& block, uint32_t i, const Meaning& m, uint32_t self) {
    std::vector<uint32_t> used;
    std::vector<uint32_t> overwritten;
    if (!m.is_move_like) {
      each_read(block.frame, i, [&](uint32_t r) {
        if (!holds_[r].empty()) add_once(used, r);
      });
    }
    each_written(block.frame, i, [&](uint32_t r) {
      // A load over its own registers is judged by the load itself; any other writer is marked.
      const bool others = direct_[r].size() > 1 || (direct_[r].size() == 1 && direct_[r][0] != self);
      if (others) add_once(overwritten, r);
    });
    if (!used.empty()) emit_marker(Step::Kind::kUse, block, i, loads_of(used, holds_, use_sets_));
    if (!overwritten.empty()) {
      emit_marker(Step::Kind::kOverwrite, block, i, loads_of(overwritten, direct_, overwrite_sets_));
    }
  }

  void emit_marker(Step::Kind kind, const Block& block, uint32_t i, uint32_t set) {
    const Instruction& instruction = module_.instructions[i];
    Step step;
    step.kind = kind;
    step.instruction = i;
    step.loads = set;
    if (instruction.guard != kNone && !block.guard_is_taken) {
      // A guard outside the slice depends on data only: the marker then counts in every lane.
      const uint32_t guard = graph_.register_number(block.frame, instruction.guard);
      if (needed_[guard] == kExact) {
        step.guard = guard;
        step.guard_negated = instruction.guard_negated;
      }
    }
    // The same set again, under the same guard, changes nothing until the next load.
    std::vector<Marked>& marked = marked_[kind == Step::Kind::kUse ? 0 : 1];
    if (marked.size() <= set) marked.resize(out_.load_sets.size());
    const Marked now{stretch_, step.guard, step.guard_negated};
    if (marked[set] == now) return;
    marked[set] = now;
    out_.steps.push_back(step);
  }

  bool is_needed(uint32_t frame, const Operand& o) const {
    bool needed = false;
    each_register(frame, o, [&](uint32_t r) { needed = needed || needed_[r] != kNotNeeded; });
    return needed;
  }

  // A register that is written and that nothing needs is not kept.
  Arg written_or_read(Arg a, bool written) const {
    if (written && a.kind == Arg::Kind::kRegister && !a.address && needed_[a.ref] == kNotNeeded) {
      a.kind = Arg::Kind::kSink;
    }
    return a;
  }

  void emit_step(const Block& block, uint32_t i, const Meaning& m) {
    const Instruction& instruction = module_.instructions[i];
    const Operand* operands = module_.operands_of(instruction);
    Step step;
    step.instruction = i;
    if (m.action == Action::kTcgen05) step.roles = roles_of(i);
    step.destinations = static_cast<uint8_t>(destination_count(instruction, m));
    step.argument_count = static_cast<uint8_t>(std::min<unsigned>(instruction.operand_count, 255));
    if (instruction.guard != kNone && !block.guard_is_taken) {
      step.guard = graph_.register_number(block.frame, instruction.guard);
      step.guard_negated = instruction.guard_negated;
    }
    if (m.action == Action::kGeneric) {
      step.as_data = true;
      each_written(block.frame, i, [&](uint32_t r) { step.as_data = step.as_data && needed_[r] != kExact; });
      if (step.as_data) step.argument_count = step.destinations;
    }
    step.first_arg = static_cast<uint32_t>(out_.args.size());
    for (unsigned n = 0; n < step.argument_count; ++n)
      out_.args.push_back(written_or_read(arg_of(block.frame, operands[n]), n < step.destinations));
    for (unsigned n = 0; n < step.argument_count; ++n) {
      const Operand& o = operands[n];
      const bool group = o.kind == Operand::Kind::kGroup && o.bracketed && o.value > 0;
      if (group) {
        // [map, {c, c}]: the address is what matters.
        out_.args[step.first_arg + n] = arg_of(block.frame, module_.operands[o.ref]);
        out_.args[step.first_arg + n].address = true;
      }
      const bool written = n < step.destinations;
      if (o.kind != Operand::Kind::kVector || step.vector_count != 0 || m.action == Action::kAsyncCopy) continue;
      if (m.action == Action::kTcgen05 && !(written && is_needed(block.frame, o))) continue;
      step.vector_first = static_cast<uint32_t>(out_.args.size());
      step.vector_count = static_cast<uint16_t>(o.value);
      for (int64_t k = 0; k < o.value; ++k) {
        const Operand& element = module_.operands[o.ref + static_cast<uint32_t>(k)];
        out_.args.push_back(written_or_read(arg_of(block.frame, element), written));
      }
    }
    out_.steps.push_back(step);
  }

  // --- calls ---

  const Operand* call_group(uint32_t call, bool results) const {
    const Instruction& instruction = module_.instructions[call];
    const Operand* operands = module_.operands_of(instruction);
    bool after_callee = false;
    for (unsigned n = 0; n < instruction.operand_count; ++n) {
      if (operands[n].kind == Operand::Kind::kGroup) {
        if (after_callee != results) return &operands[n];
        continue;
      }
      after_callee = true;
    }
    return nullptr;
  }

  template <typename F>
  void each_pair(uint32_t call_frame, bool results, F&& f) {
    const kernel::Frame& frame = graph_.frames[call_frame];
    const ptx::Function& callee = module_.functions[frame.function];
    const Operand* group = call_group(frame.call, results);
    if (group == nullptr) return;
    const std::vector<ptx::Function::Parameter>& formals = results ? callee.returns : callee.parameters;
    for (size_t n = 0; n < formals.size() && n < static_cast<size_t>(group->value); ++n) {
      f(frame, formals[n], module_.operands[group->ref + n]);
    }
  }

  void alias_parameters() {
    for (uint32_t frame = 1; frame < graph_.frames.size(); ++frame) {
      for (bool results : {false, true}) {
        each_pair(
            frame, results, [&](const kernel::Frame& f, const ptx::Function::Parameter& formal, const Operand& actual) {
              const bool variable = actual.kind == Operand::Kind::kVariable ||
                                    (actual.kind == Operand::Kind::kAddress && actual.base == Operand::Kind::kVariable);
              if (formal.variable != kNone && variable) {
                out_.layout.alias(frame, formal.variable, out_.layout.address(f.caller, actual.ref));
              }
            });
      }
    }
  }

  // Arguments that are registers or numbers, into the callee's formals.
  void emit_arguments(uint32_t b) {
    const uint32_t call_frame = graph_.blocks[b].call_frame;
    each_pair(call_frame, false,
              [&](const kernel::Frame& f, const ptx::Function::Parameter& formal, const Operand& actual) {
                copy(call_frame, formal, arg_of(f.caller, actual), f.call, true);
              });
  }

  void emit_results(uint32_t b) {
    const uint32_t call_frame = graph_.blocks[b].call_frame;
    each_pair(call_frame, true,
              [&](const kernel::Frame& f, const ptx::Function::Parameter& formal, const Operand& actual) {
                if (actual.kind == Operand::Kind::kRegister)
                  copy(call_frame, formal, arg_of(f.caller, actual), f.call, false);
              });
  }

  // args[0] <- args[1]; a `.param` formal is memory at a number, with `address` set.
  void copy(uint32_t call_frame, const ptx::Function::Parameter& formal, Arg actual, uint32_t call, bool in) {
    Arg inner;
    if (formal.reg != kNone) {
      inner.kind = Arg::Kind::kRegister;
      inner.ref = graph_.register_number(call_frame, formal.reg);
      inner.width = out_.register_width[inner.ref];
    } else if (formal.variable != kNone) {
      if (actual.address || actual.kind == Arg::Kind::kShared) return;  // passed by its variable
      if (actual.kind == Arg::Kind::kNumber && kernel::window_of(actual.number) == kernel::kParamWindow) return;
      inner.kind = Arg::Kind::kNumber;
      inner.address = true;
      inner.number = out_.layout.address(call_frame, formal.variable);
      const ptx::Variable& v = module_.variables[formal.variable];
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

  // --- registers ---

  // Numbers the registers of the slice: those of the whole kernel are many times as many.
  void number_registers() {
    std::vector<uint32_t> number(graph_.register_count, kNone);
    std::vector<uint8_t> width;
    auto renumber = [&](uint32_t& r) {
      if (number[r] == kNone) {
        number[r] = static_cast<uint32_t>(width.size());
        width.push_back(out_.register_width[r]);
      }
      r = number[r];
    };
    for (Step& step : out_.steps) {
      if (step.guard != kNone) renumber(step.guard);
    }
    for (Arg& a : out_.args) {
      if (a.kind == Arg::Kind::kRegister) renumber(a.ref);
    }
    for (uint32_t b = 0; b < graph_.blocks.size(); ++b) {
      Code& code = out_.code[b];
      if (code.skip_to != kNone || graph_.blocks[b].condition == kNone) continue;
      code.condition = graph_.blocks[b].condition;
      renumber(code.condition);
    }
    out_.register_width = std::move(width);
  }

  // --- liveness ---

  void liveness() {
    const size_t blocks = graph_.blocks.size();
    // Few registers are alive at the begin of some block: those that a block reads before it writes them.
    std::vector<uint32_t> replaced_in(out_.register_width.size(), kNone);  // the last block that does
    std::vector<bool> outlives(out_.register_width.size());
    std::vector<std::pair<uint32_t, uint32_t>> reads;  // block and register
    for (uint32_t b = 0; b < blocks; ++b) {
      auto read = [&](uint32_t r) {
        if (replaced_in[r] == b) return;
        outlives[r] = true;
        reads.emplace_back(b, r);
      };
      for (uint32_t s = out_.code[b].first; s < out_.code[b].last; ++s) {
        each_needed(out_.steps[s], read);
        each_replaced(out_.steps[s], [&](uint32_t r) { replaced_in[r] = b; });
      }
      if (out_.code[b].condition != kNone) read(out_.code[b].condition);
    }
    std::vector<uint32_t> column(out_.register_width.size(), kNone);
    std::vector<uint32_t> registers;  // by column
    for (uint32_t r = 0; r < column.size(); ++r) {
      if (!outlives[r]) continue;
      column[r] = static_cast<uint32_t>(registers.size());
      registers.push_back(r);
    }
    const size_t words = (registers.size() + 63) / 64;
    std::vector<uint64_t> keep(blocks * words, ~uint64_t{0}), live(blocks * words);
    auto bit = [](uint32_t n) { return uint64_t{1} << (n % 64); };
    for (const auto& [b, r] : reads) live[b * words + column[r] / 64] |= bit(column[r]);
    for (uint32_t b = 0; b < blocks; ++b) {
      for (uint32_t s = out_.code[b].first; s < out_.code[b].last; ++s) {
        each_replaced(out_.steps[s], [&](uint32_t r) {
          if (column[r] != kNone) keep[b * words + column[r] / 64] &= ~bit(column[r]);
        });
      }
    }
    std::vector<std::vector<uint32_t>> before(blocks);
    for (uint32_t n = 0; n < blocks; ++n) {
      for (size_t k = 0; k < next_count(out_, n); ++k) before[next_begin(out_, n)[k]].push_back(n);
    }
    // Mostly what follows a block comes behind it: backwards, until nothing is due any more.
    std::vector<bool> due(blocks, true);
    bool any = true;
    while (any) {
      any = false;
      for (size_t n = blocks; n-- > 0;) {
        if (!due[n]) continue;
        due[n] = false;
        const uint32_t* successors = next_begin(out_, static_cast<uint32_t>(n));
        const size_t count = next_count(out_, static_cast<uint32_t>(n));
        bool changed = false;
        for (size_t w = 0; w < words; ++w) {
          uint64_t next = 0;
          for (size_t k = 0; k < count; ++k) next |= live[successors[k] * words + w];
          const uint64_t now = live[n * words + w] | (next & keep[n * words + w]);
          changed = changed || now != live[n * words + w];
          live[n * words + w] = now;
        }
        if (!changed) continue;
        for (uint32_t p : before[n]) {
          due[p] = true;
          any = any || p >= n;
        }
      }
    }
    std::vector<uint64_t> behind((out_.register_width.size() + 63) / 64);
    std::vector<uint64_t> next(words);
    for (size_t b = 0; b < blocks; ++b) {
      std::fill(next.begin(), next.end(), 0);
      const uint32_t* successors = next_begin(out_, static_cast<uint32_t>(b));
      for (size_t k = 0; k < next_count(out_, static_cast<uint32_t>(b)); ++k) {
        for (size_t w = 0; w < words; ++w) next[w] |= live[successors[k] * words + w];
      }
      std::fill(behind.begin(), behind.end(), 0);
      each_bit(next.data(), words, [&](uint32_t n) { behind[registers[n] / 64] |= bit(registers[n]); });
      if (const uint32_t condition = out_.code[b].condition; condition != kNone)
        behind[condition / 64] |= bit(condition);
      find_straights(out_.code[b], behind);
    }
    std::vector<uint32_t> in;
    for (size_t b = 0; b < blocks; ++b) {
      in.clear();
      each_bit(live.data() + b * words, words, [&](uint32_t n) { in.push_back(registers[n]); });
      out_.code[b].live_in.assign(in.begin(), in.end());
    }
  }

  template <typename F>
  static void each_bit(const uint64_t* bits, size_t words, F&& f) {
    for (size_t w = 0; w < words; ++w) {
      for (uint64_t rest = bits[w]; rest != 0; rest &= rest - 1)
        f(static_cast<uint32_t>(w * 64 + static_cast<size_t>(std::countr_zero(rest))));
    }
  }

  // --- straight runs ---

  static constexpr uint32_t kShortest = 2;
  static constexpr uint32_t kLongest = 24;  // the longer, the less likely it is to start from the same again

  bool only_computes(const Step& step) const {
    return step.kind == Step::Kind::kInstruction && computes_registers(meaning(step.instruction).action);
  }
  // Registers from registers.
  static bool computes_registers(Action action) {
    switch (action) {
      case Action::kPure:
      case Action::kCompare:
      case Action::kMulAdd:
      case Action::kMove:
      case Action::kConvert:
      case Action::kToShared:
      case Action::kFromShared:
        return true;
      default:
        return false;
    }
  }

  // `live`: the registers that are needed behind the block.
  void find_straights(const Code& code, std::vector<uint64_t>& live) {
    auto is_live = [&](uint32_t r) { return ((live[r / 64] >> (r % 64)) & 1) != 0; };
    auto begin_life = [&](uint32_t r) { live[r / 64] |= uint64_t{1} << (r % 64); };
    auto end_life = [&](uint32_t r) { live[r / 64] &= ~(uint64_t{1} << (r % 64)); };
    auto step_back = [&](const Step& step) {
      each_replaced(step, end_life);
      each_needed(step, begin_life);
    };
    for (uint32_t end = code.last; end > code.first;) {
      uint32_t first = end;
      while (first > code.first && end - first < kLongest && only_computes(out_.steps[first - 1])) --first;
      if (end - first < kShortest) {
        step_back(out_.steps[--end]);
        continue;
      }
      Straight s;
      s.first = first;
      s.last = end;
      std::vector<uint32_t> written, specials;
      for (uint32_t n = first; n < end; ++n) {
        each_arg(out_.steps[n], [&](const Arg& a, bool is_written) {
          if (a.kind == Arg::Kind::kRegister && is_written && !a.address && is_live(a.ref)) add_once(written, a.ref);
          if (a.kind == Arg::Kind::kSpecial) add_once(specials, a.ref);
          s.of_rank = s.of_rank || a.kind == Arg::Kind::kShared;
        });
      }
      // What it starts from is what is needed before it for its own sake.
      std::vector<uint32_t> read;
      std::vector<uint32_t> replaced;
      for (uint32_t n = first; n < end; ++n) {
        each_needed(out_.steps[n], [&](uint32_t r) {
          if (std::find(replaced.begin(), replaced.end(), r) == replaced.end()) add_once(read, r);
        });
        each_replaced(out_.steps[n], [&](uint32_t r) { add_once(replaced, r); });
      }
      std::vector<uint32_t>& refs = out_.straight_refs;
      s.reads = static_cast<uint32_t>(refs.size());
      refs.insert(refs.end(), read.begin(), read.end());
      s.specials = static_cast<uint32_t>(refs.size());
      refs.insert(refs.end(), specials.begin(), specials.end());
      s.writes = static_cast<uint32_t>(refs.size());
      refs.insert(refs.end(), written.begin(), written.end());
      s.end = static_cast<uint32_t>(refs.size());
      out_.steps[first].straight = static_cast<uint32_t>(out_.straights.size());
      out_.straights.push_back(s);
      while (end > first) step_back(out_.steps[--end]);
    }
  }

  static void add_once(std::vector<uint32_t>& to, uint32_t r) {
    if (std::find(to.begin(), to.end(), r) == to.end()) to.push_back(r);
  }

  template <typename F>
  void each_arg(const Step& step, F&& f) const {
    const bool vector_written =
        step.vector_count != 0 && step.destinations > 0 && out_.args[step.first_arg].kind == Arg::Kind::kNone;
    for (unsigned n = 0; n < step.argument_count; ++n) f(out_.args[step.first_arg + n], n < step.destinations);
    for (unsigned n = 0; n < step.vector_count; ++n) f(out_.args[step.vector_first + n], vector_written);
  }

  // Registers whose value before a step matters to it: a write under a guard keeps what other lanes have.
  template <typename F>
  void each_needed(const Step& step, F&& f) const {
    if (step.guard != kNone) f(step.guard);
    if (step.kind == Step::Kind::kUse || step.kind == Step::Kind::kOverwrite) return;
    each_arg(step, [&](const Arg& a, bool written) {
      if (a.kind == Arg::Kind::kRegister && (!written || a.address || step.guard != kNone)) f(a.ref);
    });
  }

  // And those whose value before it is gone behind it.
  template <typename F>
  void each_replaced(const Step& step, F&& f) const {
    if (step.guard != kNone || step.kind == Step::Kind::kUse || step.kind == Step::Kind::kOverwrite) return;
    each_arg(step, [&](const Arg& a, bool written) {
      if (a.kind == Arg::Kind::kRegister && written && !a.address) f(a.ref);
    });
  }

  const Graph& graph_;
  const Module& module_;
  Program out_;
  std::vector<std::vector<uint32_t>> holds_;   // loads whose results a register may hold, through moves
  std::vector<std::vector<uint32_t>> direct_;  // loads that write the register
  std::map<std::vector<uint32_t>, uint32_t> load_set_numbers_;
  std::map<std::vector<uint32_t>, uint32_t> use_sets_, overwrite_sets_;  // by registers
  std::unordered_map<uint32_t, uint32_t> roles_;                         // by instruction
  std::vector<Need> needed_;
  std::vector<uint32_t> work_;
  std::vector<Site> writers_;           // of registers: those of register r from first_writer_[r] on
  std::vector<uint32_t> first_writer_;  // and before first_writer_[r + 1]
  static constexpr unsigned kMostSimple = 6;
  kernel::Control control_;
  std::vector<bool> runs_;     // by block: something in it matters
  std::vector<bool> decided_;  // by block: which way its branch goes matters
  std::vector<uint32_t> pending_blocks_;
  std::vector<Site> stores_;                       // that nothing needs so far
  std::vector<bool> to_local_;                     // by register: may hold an address of local memory
  Spaces read_ = 0;                                // by needed loads; of `.param` what is not read by its name
  std::unordered_set<uint64_t> parameters_read_;   // addresses of `.param` variables that needed loads name
  std::unordered_set<uint64_t> parameters_taken_;  // of those whose address is computed with
  // The last marker of a set of loads: by set, of uses and of overwrites.
  struct Marked {
    uint32_t stretch = 0;  // of code of one block between loads
    uint32_t guard = kNone;
    bool guard_negated = false;
    bool operator==(const Marked&) const = default;
  };
  std::array<std::vector<Marked>, 2> marked_;
  uint32_t stretch_ = 0;
};

}  // namespace

Program compile(const Graph& graph) {
  return Compiler(graph).run();
}

}  // namespace tmemlint::program
