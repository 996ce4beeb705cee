#include "tests/seeded/kernel.h"

#include <algorithm>
#include <map>

#include "analyzer/ptx/descriptor.h"

namespace tmemlint::seeded {

using ptx::Instruction;
using ptx::Opcode;
using ptx::Operand;
using Kind = ptx::Operand::Kind;

namespace {

bool is_branch(const Opcode& opcode) {
  return opcode.root == "bra" || opcode.root == "brx";
}

// Instructions without a result, as far as they occur in kernels of this kind: everything they name is read.
bool writes_nothing(const Opcode& opcode) {
  static constexpr std::string_view kRoots[] = {
      "st",     "bra", "brx",      "bar",      "barrier",   "ret",        "exit",           "trap",          "fence",
      "membar", "red", "stmatrix", "prefetch", "nanosleep", "setmaxnreg", "griddepcontrol", "applypriority", "discard"};
  for (const std::string_view root : kRoots) {
    if (opcode.root == root) return true;
  }
  if (opcode.root == "cp" || opcode.root == "tensormap") return true;
  if (opcode.root == "mbarrier") {
    return !(opcode.has("try_wait") || opcode.has("test_wait") || opcode.has("arrive") || opcode.has("pending_count"));
  }
  if (opcode.root == "tcgen05") return !opcode.has("ld");
  return false;
}

void registers_of(const ptx::Module& module, const Operand& operand, std::vector<uint32_t>& out) {
  switch (operand.kind) {
    case Kind::kRegister:
      out.push_back(operand.ref);
      break;
    case Kind::kAddress:
      if (operand.base == Kind::kRegister && operand.ref != kNone) out.push_back(operand.ref);
      break;
    case Kind::kVector:
    case Kind::kGroup:
      for (int64_t k = 0; k < operand.value; ++k) registers_of(module, module.operands[operand.ref + k], out);
      break;
    default:
      break;
  }
}

bool has_effect_on_low_half(int64_t factor) {
  return (factor & 0xffff) != 0;
}

}  // namespace

bool same_place(const Place& a, const Place& b) {
  return a.variable == b.variable && a.offset == b.offset;
}

bool may_be_in_ring(const Place& a, const Place& b) {
  // A stage index moves on from the base in steps of one barrier; rings are short.
  const auto within = [](const Place& ring, const Place& one) {
    const int64_t distance = one.offset - ring.offset;
    return ring.indexed && distance > 0 && distance <= 24 && distance % 8 == 0;
  };
  return a.variable == b.variable && a.indexed != b.indexed && (within(a, b) || within(b, a));
}

Kernel::Kernel(const ptx::Module& module, uint32_t function) : module_(module), function_(function) {
  const uint32_t count = last() - first();
  ops_.resize(count);
  for (uint32_t i = first(); i < last(); ++i) ops_[i - first()] = classify(i);
  link();
  definitions_.resize(this->function().registers.size());
  for (uint32_t i = first(); i < last(); ++i) {
    for (const uint32_t reg : written(i)) definitions_[reg].push_back(i);
  }
}

std::string_view Kernel::text(ptx::Span span) const {
  return module_.source->text().substr(span.begin, span.end - span.begin);
}

Op Kernel::classify(uint32_t i) const {
  const Opcode& o = opcode(i);
  if (o.root == "tcgen05") {
    switch (form(i).op) {
      case ptx::Tcgen05::kAlloc:
        return Op::kAlloc;
      case ptx::Tcgen05::kDealloc:
        return Op::kDealloc;
      case ptx::Tcgen05::kRelinquish:
        return Op::kRelinquish;
      case ptx::Tcgen05::kLd:
      case ptx::Tcgen05::kLdRed:
        return Op::kLd;
      case ptx::Tcgen05::kSt:
        return Op::kSt;
      case ptx::Tcgen05::kWaitLd:
        return Op::kWaitLd;
      case ptx::Tcgen05::kWaitSt:
        return Op::kWaitSt;
      case ptx::Tcgen05::kMma:
      case ptx::Tcgen05::kMmaWs:
        return Op::kMma;
      case ptx::Tcgen05::kCp:
        return Op::kCp;
      case ptx::Tcgen05::kShift:
        return Op::kShift;
      case ptx::Tcgen05::kCommit:
        return Op::kCommit;
      default:
        return Op::kOther;
    }
  }
  if (o.root == "bar" || o.root == "barrier") {
    if (o.has("cluster")) return o.has("arrive") ? Op::kClusterArrive : Op::kClusterWait;
    if (o.has("warp")) return Op::kOther;
    return o.has("sync") || o.has("red") ? Op::kBar : Op::kOther;
  }
  if (o.root == "mbarrier") {
    if (o.has("init")) return Op::kInit;
    if (o.has("inval")) return Op::kInval;
    if (o.has("arrive")) return o.has("expect_tx") ? Op::kArriveExpect : Op::kArrive;
    if (o.has("try_wait") || o.has("test_wait")) return Op::kWait;
    return Op::kOther;
  }
  if (o.root == "elect") return Op::kElect;
  if (o.root == "fence") return o.has("proxy") && o.has("async") ? Op::kProxyFence : Op::kOther;
  if (o.root == "ld") return o.has("shared") || o.has("shared::cta") ? Op::kSharedLoad : Op::kOther;
  if (o.root == "st") return o.has("shared") || o.has("shared::cta") ? Op::kSharedStore : Op::kOther;
  if (o.root == "stmatrix") return Op::kSharedStore;
  if (o.root == "cp") {
    if (!o.has("async")) return Op::kOther;
    if (o.has("bulk")) return o.has("mbarrier::complete_tx::bytes") ? Op::kBulkCopy : Op::kOther;
    return o.has("shared") && o.has("global") ? Op::kSharedStore : Op::kOther;
  }
  if (o.root == "ret" || o.root == "exit") return Op::kExit;
  if (o.root == "trap") return Op::kTrap;
  return Op::kOther;
}

void Kernel::link() {
  const uint32_t count = last() - first();
  successors_.resize(count);
  predecessors_.resize(count);
  targets_.resize(count + 1);
  const auto& labels = function().labels;
  const auto add = [&](uint32_t from, uint32_t to) {
    if (to >= last()) return;
    successors_[from - first()].push_back(to);
    predecessors_[to - first()].push_back(from);
  };
  for (uint32_t i = first(); i < last(); ++i) {
    const Opcode& o = opcode(i);
    has_roles_ = has_roles_ || o.root == "brx";
    bool falls_through = true;
    if (is_branch(o)) {
      falls_through = at(i).guard != kNone;
      for (uint32_t k = 0; k < at(i).operand_count; ++k) {
        const Operand& to = operand(i, k);
        if (to.kind != Kind::kLabel) continue;
        const ptx::Label& label = labels[to.ref];
        if (o.root == "bra") {
          add(i, label.instruction);
          if (label.instruction < last()) targets_[label.instruction - first()] = true;
        }
        for (const Operand& target : label.targets) {
          if (target.kind != Kind::kLabel) continue;
          add(i, labels[target.ref].instruction);
          if (labels[target.ref].instruction < last()) targets_[labels[target.ref].instruction - first()] = true;
        }
      }
    } else if (op(i) == Op::kExit || op(i) == Op::kTrap) {
      falls_through = at(i).guard != kNone;
    }
    if (falls_through && i + 1 < last()) add(i, i + 1);
  }
}

std::vector<uint32_t> Kernel::all(Op op) const {
  std::vector<uint32_t> out;
  for (uint32_t i = first(); i < last(); ++i) {
    if (this->op(i) == op) out.push_back(i);
  }
  return out;
}

std::vector<uint32_t> Kernel::walk(uint32_t from, const std::function<bool(uint32_t)>& stop,
                                   const std::vector<std::vector<uint32_t>>& edges) const {
  std::vector<bool> seen(last() - first());
  std::vector<uint32_t> out, work(edges[from - first()]);
  while (!work.empty()) {
    const uint32_t i = work.back();
    work.pop_back();
    if (seen[i - first()]) continue;
    seen[i - first()] = true;
    out.push_back(i);
    if (stop && stop(i)) continue;
    for (const uint32_t next : edges[i - first()]) work.push_back(next);
  }
  return out;
}

std::vector<uint32_t> Kernel::forward(uint32_t from, const std::function<bool(uint32_t)>& stop) const {
  return walk(from, stop, successors_);
}

std::vector<uint32_t> Kernel::backward(uint32_t from, const std::function<bool(uint32_t)>& stop) const {
  return walk(from, stop, predecessors_);
}

uint32_t Kernel::outside_spin(uint32_t wait) const {
  for (const uint32_t i : predecessors(wait)) {
    if (i < wait && i + 3 >= wait) return i;
  }
  return wait;
}

bool Kernel::in_loop(uint32_t i) const {
  const uint32_t marker = op(i) == Op::kWait ? outside_spin(i) : i;
  const std::vector<uint32_t> after = forward(i, [&](uint32_t k) { return leaves_role(k); });
  return std::find(after.begin(), after.end(), marker) != after.end();
}

bool Kernel::always_before(uint32_t i, uint32_t then) const {
  if (i == first()) return true;
  const std::vector<uint32_t> without = forward(first(), [&](uint32_t k) { return k == i; });
  return std::find(without.begin(), without.end(), then) == without.end();
}

bool Kernel::is_branch_target(uint32_t i) const {
  return targets_[i - first()];
}

bool Kernel::straight_line(uint32_t from, uint32_t to) const {
  for (uint32_t i = from; i <= to; ++i) {
    if (i > from && is_branch_target(i)) return false;
    if (i < to && (is_branch(opcode(i)) || op(i) == Op::kExit || op(i) == Op::kTrap)) return false;
  }
  return true;
}

std::vector<uint32_t> Kernel::written(uint32_t i) const {
  std::vector<uint32_t> out;
  const Instruction& instruction = at(i);
  if (instruction.operand_count == 0 || writes_nothing(opcode(i))) return out;
  const Operand& target = operand(i, 0);
  if (target.kind == Kind::kRegister || target.kind == Kind::kVector ||
      (target.kind == Kind::kGroup && opcode(i).root == "call")) {
    registers_of(module_, target, out);
  }
  // d|p, and elect whose first half may be `_`.
  if (instruction.operand_count > 1 && target.joined_with_next) registers_of(module_, operand(i, 1), out);
  if (opcode(i).root == "tcgen05" && form(i).op == ptx::Tcgen05::kLdRed) registers_of(module_, operand(i, 1), out);
  return out;
}

std::vector<uint32_t> Kernel::read(uint32_t i) const {
  std::vector<uint32_t> out;
  const Instruction& instruction = at(i);
  if (instruction.guard != kNone) out.push_back(instruction.guard);
  const bool skips_first = !written(i).empty();
  const bool skips_second = skips_first && operand(i, 0).joined_with_next;
  for (uint32_t k = 0; k < instruction.operand_count; ++k) {
    if ((k == 0 && skips_first) || (k == 1 && skips_second)) continue;
    registers_of(module_, operand(i, k), out);
  }
  return out;
}

std::optional<int64_t> Kernel::constant(const Operand& operand, uint32_t i) const {
  if (operand.kind == Kind::kInteger) return operand.value;
  if (operand.kind == Kind::kRegister) {
    const std::optional<int64_t> value = constant_register(operand.ref, i);
    if (value && operand.negated) return *value ? 0 : 1;
    return value;
  }
  return std::nullopt;
}

std::optional<int64_t> Kernel::constant_register(uint32_t reg, uint32_t i, int depth) const {
  if (depth > 8) return std::nullopt;
  uint32_t definition = kNone;
  if (definitions_[reg].size() == 1) {
    definition = definitions_[reg][0];
  } else {
    // The last definition before `i` on the only way to it.
    uint32_t k = i;
    for (int steps = 0; steps < 4000; ++steps) {
      // The way back of a spin loop, which defines nothing but its own predicate, is no other way in.
      uint32_t above = kNone, ways = 0;
      for (const uint32_t p : predecessors(k)) {
        if (p > k && p <= k + 3) continue;
        above = p;
        ++ways;
      }
      if (ways != 1) return std::nullopt;
      k = above;
      const std::vector<uint32_t> regs = written(k);
      if (std::find(regs.begin(), regs.end(), reg) != regs.end()) {
        definition = k;
        break;
      }
    }
  }
  if (definition == kNone || at(definition).guard != kNone) return std::nullopt;
  const Opcode& o = opcode(definition);
  if (o.root == "mov") {
    const Operand& from = operand(definition, 1);
    if (from.kind == Kind::kInteger) return from.value;
    if (from.kind == Kind::kRegister) return constant_register(from.ref, definition, depth + 1);
    return std::nullopt;
  }
  if (o.root == "setp" && at(definition).operand_count == 3) {
    const auto value = [&](const Operand& x) -> std::optional<int64_t> {
      if (x.kind == Kind::kInteger) return x.value;
      if (x.kind == Kind::kRegister) return constant_register(x.ref, definition, depth + 1);
      return std::nullopt;
    };
    const auto a = value(operand(definition, 1)), b = value(operand(definition, 2));
    if (a && b && o.has("ne")) return *a != *b;
    if (a && b && o.has("eq")) return *a == *b;
  }
  return std::nullopt;
}

void Kernel::trace_operand(const Operand& operand, int64_t factor, int depth, Sum& out) const {
  switch (operand.kind) {
    case Kind::kInteger:
      out.constant += factor * operand.value;
      break;
    case Kind::kVariable:
      out.variable = operand.ref;
      out.constant += factor * operand.value;
      break;
    case Kind::kRegister:
      trace(operand.ref, factor, depth, out);
      break;
    case Kind::kAddress:
      out.constant += factor * operand.value;
      if (operand.base == Kind::kVariable) out.variable = operand.ref;
      if (operand.base == Kind::kRegister) trace(operand.ref, factor, depth, out);
      break;
    default:
      break;
  }
}

void Kernel::trace(uint32_t reg, int64_t factor, int depth, Sum& out) const {
  const auto leaf = [&] { out.terms.emplace_back(reg, factor); };
  if (depth > 24 || definitions_[reg].size() != 1) return leaf();
  const uint32_t i = definitions_[reg][0];
  if (at(i).guard != kNone) return leaf();
  const Opcode& o = opcode(i);
  const uint32_t count = at(i).operand_count;
  const auto integer = [&](uint32_t k) -> std::optional<int64_t> {
    const Operand& x = operand(i, k);
    if (x.kind == Kind::kInteger) return x.value;
    if (x.kind == Kind::kRegister && definitions_[x.ref].size() == 1) return constant_register(x.ref, i);
    return std::nullopt;
  };
  if ((o.root == "mov" || o.root == "cvt" || o.root == "cvta") && count == 2) {
    const Operand& from = operand(i, 1);
    if (from.kind == Kind::kRegister || from.kind == Kind::kInteger || from.kind == Kind::kVariable) {
      return trace_operand(from, factor, depth + 1, out);
    }
    return leaf();
  }
  if ((o.root == "add" || o.root == "or") && count == 3) {
    // `or` builds addresses from parts that do not meet.
    trace_operand(operand(i, 1), factor, depth + 1, out);
    return trace_operand(operand(i, 2), factor, depth + 1, out);
  }
  if (o.root == "sub" && count == 3) {
    trace_operand(operand(i, 1), factor, depth + 1, out);
    return trace_operand(operand(i, 2), -factor, depth + 1, out);
  }
  if (o.root == "shl" && count == 3) {
    if (const auto by = integer(2); by && *by >= 0 && *by < 32)
      return trace_operand(operand(i, 1), factor << *by, depth + 1, out);
  }
  if (o.root == "mul" && count == 3 && (o.has("lo") || o.has("wide"))) {
    if (const auto by = integer(2)) return trace_operand(operand(i, 1), factor * *by, depth + 1, out);
  }
  if (o.root == "mad" && count == 4 && (o.has("lo") || o.has("wide"))) {
    if (const auto by = integer(2)) {
      trace_operand(operand(i, 1), factor * *by, depth + 1, out);
      return trace_operand(operand(i, 3), factor, depth + 1, out);
    }
  }
  if (o.root == "and" && count == 3) {
    if (const auto mask = integer(2)) {
      const uint32_t bits = static_cast<uint32_t>(*mask);
      if (bits == 0xfeffffffu || bits == 0xfefffff8u) return trace_operand(operand(i, 1), factor, depth + 1, out);
      // What is left has no column bits: a lane.
      if ((bits & 0xffffu) == 0) {
        out.terms.emplace_back(reg, factor << 16);
        return;
      }
    }
  }
  leaf();
}

Sum Kernel::sum(const Operand& operand) const {
  Sum out;
  trace_operand(operand, 1, 0, out);
  std::map<uint32_t, int64_t> merged;
  for (const auto& [reg, factor] : out.terms) merged[reg] += factor;
  out.terms.assign(merged.begin(), merged.end());
  std::erase_if(out.terms, [](const auto& term) { return term.second == 0; });
  return out;
}

void Kernel::trace_places(uint32_t reg, int64_t offset, bool indexed, int depth, std::vector<uint32_t>& seen,
                          std::vector<Place>& out) const {
  if (depth > 12 || std::find(seen.begin(), seen.end(), reg) != seen.end()) return;
  seen.push_back(reg);
  Sum sum;
  if (definitions_[reg].size() == 1) {
    trace(reg, 1, 0, sum);
    if (sum.variable != kNone) {
      out.push_back({sum.variable, sum.constant + offset, indexed || !sum.exact()});
      return;
    }
    for (const auto& [term, factor] : sum.terms) {
      if (factor == 1 && term != reg)
        trace_places(term, offset + sum.constant, indexed || sum.terms.size() > 1, depth + 1, seen, out);
    }
    return;
  }
  // A register of several definitions: each that is traced to a variable.
  for (const uint32_t i : definitions_[reg]) {
    Sum one;
    for (const uint32_t from : read(i)) {
      if (from == reg) one.terms.emplace_back(from, 1);
    }
    if (!one.terms.empty()) continue;  // an increment of itself
    if (opcode(i).root == "mov" && operand(i, 1).kind == Kind::kVariable) {
      out.push_back({operand(i, 1).ref, operand(i, 1).value + offset, indexed});
      continue;
    }
    const Opcode& o = opcode(i);
    if ((o.root == "add" || o.root == "mov" || o.root == "cvt") && at(i).operand_count >= 2) {
      Sum parts;
      trace_operand(operand(i, 1), 1, 0, parts);
      if (o.root == "add") trace_operand(operand(i, 2), 1, 0, parts);
      if (parts.variable != kNone) {
        out.push_back({parts.variable, parts.constant + offset, indexed || !parts.exact()});
      } else {
        for (const auto& [term, factor] : parts.terms) {
          if (factor == 1)
            trace_places(term, offset + parts.constant, indexed || parts.terms.size() > 1, depth + 1, seen, out);
        }
      }
    } else if (o.root == "selp") {
      for (uint32_t k = 1; k <= 2; ++k) {
        if (operand(i, k).kind == Kind::kRegister)
          trace_places(operand(i, k).ref, offset, indexed, depth + 1, seen, out);
      }
    }
  }
}

std::vector<Place> Kernel::places(const Operand& operand) const {
  std::vector<Place> out;
  if ((operand.kind == Kind::kAddress && operand.base == Kind::kVariable) || operand.kind == Kind::kVariable) {
    out.push_back({operand.ref, operand.value, false});
    return out;
  }
  if (operand.ref == kNone || (operand.kind != Kind::kRegister && operand.kind != Kind::kAddress)) return out;
  std::vector<uint32_t> seen;
  trace_places(operand.ref, operand.kind == Kind::kAddress ? operand.value : 0, false, 0, seen, out);
  return out;
}

std::vector<Place> Kernel::barrier(uint32_t i) const {
  for (uint32_t k = 0; k < at(i).operand_count; ++k) {
    if (operand(i, k).kind == Kind::kAddress) return places(operand(i, k));
  }
  return {};
}

bool Kernel::meet(uint32_t a, uint32_t b, bool (*test)(const Place&, const Place&)) const {
  for (const Place& x : barrier(a)) {
    for (const Place& y : barrier(b)) {
      if (test(x, y)) return true;
    }
  }
  return false;
}

std::vector<uint32_t> Kernel::on_barrier(uint32_t i, Op op) const {
  bool paired = false;
  for (uint32_t k = first(); k < last() && !paired && this->op(i) != Op::kInit; ++k) {
    const Op other = this->op(k);
    const bool arrival = other == Op::kCommit || other == Op::kArrive || other == Op::kArriveExpect;
    const bool counterpart = this->op(i) == Op::kWait ? arrival : other == Op::kWait;
    paired = counterpart && meet(i, k, same_place);
  }
  std::vector<uint32_t> out;
  for (uint32_t k = first(); k < last(); ++k) {
    if (this->op(k) == op && (meet(i, k, same_place) || (!paired && meet(i, k, may_be_in_ring)))) out.push_back(k);
  }
  return out;
}

size_t Kernel::waits_around(uint32_t wait) const {
  size_t count = 0;
  for (const uint32_t i : all(Op::kWait)) count += meet(i, wait, same_place) || meet(i, wait, may_be_in_ring) ? 1 : 0;
  return count;
}

std::optional<uint32_t> Kernel::idesc(uint32_t mma) const {
  const ptx::OperandRoles where = roles(mma);
  if (where.idesc == kNone) return std::nullopt;
  const auto value = constant(operand(mma, where.idesc), mma);
  if (!value) return std::nullopt;
  return static_cast<uint32_t>(*value);
}

std::vector<Columns> Kernel::columns(uint32_t i) const {
  std::vector<Columns> out;
  const ptx::OperandRoles where = roles(i);
  const ptx::Form f = form(i);
  const auto add = [&](uint32_t which, int64_t count) {
    if (which == kNone || which >= at(i).operand_count) return;
    if (operand(i, which).kind != Kind::kAddress && operand(i, which).kind != Kind::kRegister) return;
    Sum base = sum(operand(i, which));
    // Lanes are in the high half: what has no effect on the columns is dropped.
    std::erase_if(base.terms, [](const auto& term) { return !has_effect_on_low_half(term.second); });
    // shl(x, 21) and the like whose mask was traced through.
    base.constant &= 0xffff;
    out.push_back({std::move(base), count});
  };
  switch (op(i)) {
    case Op::kLd:
    case Op::kSt:
      add(where.address, f.shape == ptx::LdStShape::k16x32bx2 ? 2 * f.columns : f.columns);
      break;
    case Op::kCp:
      add(where.address, 4);
      break;
    case Op::kDealloc:
      add(where.address, constant(operand(i, where.columns), i).value_or(512));
      break;
    case Op::kMma: {
      int64_t n = 256;
      if (const auto descriptor = idesc(i)) {
        const ptx::MmaShape shape = ptx::mma_shape(*descriptor, f);
        if (shape.d_columns != 0) n = shape.d_columns;
      }
      add(where.address, n);
      if (where.a != kNone && operand(i, where.a).kind == Kind::kAddress) add(where.a, 8);
      add(where.scale_a, 4);
      add(where.scale_b, 4);
      break;
    }
    default:
      break;
  }
  return out;
}

Overlap Kernel::overlap(uint32_t a, uint32_t b) const {
  bool unknown = false;
  for (const Columns& x : columns(a)) {
    for (const Columns& y : columns(b)) {
      if (x.base.terms != y.base.terms || x.base.variable != y.base.variable) {
        unknown = true;
        continue;
      }
      if (x.base.constant < y.base.constant + y.count && y.base.constant < x.base.constant + x.count)
        return Overlap::kYes;
    }
  }
  return unknown ? Overlap::kUnknown : Overlap::kNo;
}

Kernel::Guard Kernel::guard(uint32_t i) const {
  if (at(i).guard != kNone) return {at(i).guard, at(i).guard_negated, kNone};
  // `@p bra past; …; i; …; past:` with nothing in between that branches.
  for (uint32_t k = i; k > first(); --k) {
    if (is_branch_target(k) && k != i) return {};
    if (k == i && is_branch_target(k)) return {};
    const uint32_t above = k - 1;
    if (!is_branch(opcode(above))) {
      if (op(above) == Op::kExit || op(above) == Op::kTrap) return {};
      continue;
    }
    if (opcode(above).root != "bra" || at(above).guard == kNone) return {};
    const uint32_t past = function().labels[operand(above, 0).ref].instruction;
    if (past <= i || past > i + 6 || past == kNone) return {};
    if (!straight_line(i, past == last() ? i : past - 1)) return {};
    return {at(above).guard, !at(above).guard_negated, above};
  }
  return {};
}

}  // namespace tmemlint::seeded
