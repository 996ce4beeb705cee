// What registers and addresses of a kernel hold: constants, sums, places in shared memory, columns.
#include <algorithm>
#include <map>

#include "analyzer/ptx/descriptor.h"
#include "tests/seeded/kernel.h"

namespace tmemlint::seeded {

using ptx::Opcode;
using ptx::Operand;
using Kind = ptx::Operand::Kind;

namespace {

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

}  // namespace tmemlint::seeded
