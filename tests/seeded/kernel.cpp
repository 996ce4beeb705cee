#include "tests/seeded/kernel.h"

#include <algorithm>

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

}  // namespace

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
      case ptx::Tcgen05::kNone:
      case ptx::Tcgen05::kUnknown:
      case ptx::Tcgen05::kFenceBefore:
      case ptx::Tcgen05::kFenceAfter:
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
