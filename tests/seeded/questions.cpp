#include "tests/seeded/questions.h"

#include <algorithm>
#include <set>

namespace tmemlint::seeded {

using ptx::Operand;
using OperandKind = ptx::Operand::Kind;

namespace {

std::vector<Place> slot(const Kernel& k, uint32_t alloc) {
  return k.places(k.operand(alloc, k.roles(alloc).address));
}
// `exact`: both name one place; otherwise what is indexed from the same offset on meets it too.
bool meets(const std::vector<Place>& a, const std::vector<Place>& b, bool exact) {
  for (const Place& x : a) {
    for (const Place& y : b) {
      if (x.variable == y.variable && x.offset == y.offset && (!exact || (!x.indexed && !y.indexed))) return true;
    }
  }
  return false;
}

// How a wait begins: for the first round's arrivals, for the phase before the first (parity 1), or, behind a test,
// with the second round for the first.
enum class Start : uint8_t { kFull, kFree, kSkipsFirst };
Start start_of(const Kernel& k, uint32_t wait) {
  Start out = Start::kFull;
  for (uint32_t n = 0; n + 1 < k.at(wait).operand_count; ++n) {
    if (k.operand(wait, n).kind != OperandKind::kAddress) continue;
    const Operand& parity = k.operand(wait, n + 1);
    if (parity.kind != OperandKind::kRegister) return out;
    std::vector<uint32_t> work{parity.ref};
    std::set<uint32_t> seen;
    while (!work.empty()) {
      const uint32_t reg = work.back();
      work.pop_back();
      if (!seen.insert(reg).second) continue;
      for (const uint32_t d : k.definitions(reg)) {
        const ptx::Opcode& o = k.opcode(d);
        if (o.root == "mov" && k.operand(d, 1).kind == OperandKind::kInteger && k.operand(d, 1).value == 1)
          out = Start::kFree;
        if (o.root == "mov" && k.operand(d, 1).kind == OperandKind::kRegister) work.push_back(k.operand(d, 1).ref);
        if (o.root != "and" && o.root != "xor" && o.root != "not") continue;
        for (const uint32_t from : k.read(d)) {
          for (const uint32_t dd : k.definitions(from)) {  // (round - 1) & 1
            const bool less = k.opcode(dd).root == "add" && k.operand(dd, 2).kind == OperandKind::kInteger;
            if (less && k.operand(dd, 2).value == -1) return Start::kSkipsFirst;
          }
          if (o.root != "and") work.push_back(from);
        }
      }
    }
  }
  return out;
}

}  // namespace

bool contains(const std::vector<uint32_t>& list, uint32_t i) {
  return std::find(list.begin(), list.end(), i) != list.end();
}

bool joins_like(const Kernel& k, uint32_t i, uint32_t barrier) {
  if (k.op(i) != Op::kBar) return k.op(i) == Op::kClusterWait && k.op(barrier) == Op::kBar;
  const auto participants = [&](uint32_t x) {
    std::string out;
    for (uint32_t n = 0; n < k.at(x).operand_count; ++n) out += std::string(k.text(k.operand(x, n).span)) + "|";
    return out;
  };
  if (participants(i) == participants(barrier)) return true;
  // A barrier of all threads joins the fewer ones too.
  return k.at(i).operand_count == 1 && k.text(k.operand(i, 0).span) == "0" && k.at(barrier).operand_count == 1 &&
         k.text(k.operand(barrier, 0).span) == "0";
}

bool releases(const Kernel& k, uint32_t arrive) {
  return !released_by(k, arrive).empty();
}

std::vector<uint32_t> released_by(const Kernel& k, uint32_t arrive) {
  std::vector<uint32_t> out;
  const auto stop = [&](uint32_t i) {
    return k.op(i) == Op::kArrive || k.op(i) == Op::kWait || k.op(i) == Op::kCommit || k.op(i) == Op::kInit;
  };
  for (const uint32_t i : k.backward(arrive, stop)) {
    if (k.op(i) == Op::kLd || k.op(i) == Op::kSt) out.push_back(i);
  }
  return out;
}

bool is_slot_read(const Kernel& k, uint32_t load, uint32_t alloc) {
  const Operand* address = nullptr;
  for (uint32_t n = 1; n < k.at(load).operand_count; ++n) {
    if (k.operand(load, n).kind == OperandKind::kAddress) address = &k.operand(load, n);
  }
  if (address == nullptr) return false;
  return meets(k.places(*address), slot(k, alloc), true);
}

bool overwrites_slot(const Kernel& k, uint32_t store, uint32_t alloc) {
  if (k.op(store) == Op::kAlloc) return meets(slot(k, store), slot(k, alloc), false);
  for (uint32_t n = 0; n < k.at(store).operand_count; ++n) {
    const Operand& operand = k.operand(store, n);
    if (operand.kind == OperandKind::kAddress) return meets(k.places(operand), slot(k, alloc), false);
  }
  return false;
}

bool passes_at_once(const Kernel& k, uint32_t wait) {
  if (k.in_loop(wait)) return false;
  for (uint32_t n = 0; n < k.at(wait).operand_count; ++n) {
    if (k.operand(wait, n).kind != OperandKind::kAddress || n + 1 >= k.at(wait).operand_count) continue;
    const auto parity = k.constant(k.operand(wait, n + 1), k.outside_spin(wait));
    return parity && *parity == 1;
  }
  return false;
}

bool is_last_release(const Kernel& k, uint32_t i) {
  if (k.in_loop(i)) return false;
  // A copy before the loop is followed by further rounds.
  const std::vector<uint32_t> after = k.forward(i, nullptr);
  for (const uint32_t other : k.on_barrier(i, k.op(i))) {
    if (other != i && contains(after, other)) return false;
  }
  bool free = false;
  for (const uint32_t wait : k.on_barrier(i, Op::kWait)) {
    const Start start = start_of(k, wait);
    // A wait behind the loop closes the last round too, unless it is one for the round before.
    if (start != Start::kSkipsFirst && !k.in_loop(wait)) {
      const std::vector<uint32_t> later = k.forward(wait, [&](uint32_t x) { return k.leaves_role(x); });
      bool more = false;
      for (const uint32_t other : k.on_barrier(wait, Op::kWait))
        more = more || (other != wait && contains(later, other));
      if (!more && !passes_at_once(k, wait)) return false;
    }
    free = free || start != Start::kFull;
  }
  return free;
}

std::vector<uint32_t> needs(const Kernel& k, uint32_t i, const Kernel::Guard& guard) {
  std::vector<uint32_t> out = k.read(i);
  if (guard.reg != kNone && !contains(out, guard.reg)) out.push_back(guard.reg);
  return out;
}

}  // namespace tmemlint::seeded
