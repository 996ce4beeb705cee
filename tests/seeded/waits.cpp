#include <functional>
#include <set>
#include <utility>

#include "tests/seeded/questions.h"
#include "tests/seeded/seeder.h"

namespace tmemlint::seeded {

namespace {

// Registers whose content an instruction merely moves on: reading them is not a use of the loaded value yet (rules.md,
// missing waits).
bool is_mere_move(const ptx::Opcode& o) {
  if (o.root == "mov" || o.root == "shl" || o.root == "or") return true;
  return o.root == "cvt" && !o.has("rn") && !o.has("f32") && !o.has("f16") && !o.has("bf16x2") && !o.has("f16x2");
}

}  // namespace

// Whether what the loads before a wait::ld returned stays protected without it. Walks every way on from there: the
// next wait::ld of the warp covers it; before that the columns or registers may only be given up once the loaded
// values have been used (the register dependency is honoured, tcgen05.md 6.5).
void WaitFaults::drop_wait_ld(uint32_t wait) {
  Mutant& m = start(Kind::kDropWaitLd, wait, "tcgen05.wait::ld dropped");
  drop(m, wait);
  std::vector<uint32_t> loads;
  for (const uint32_t i : k_.backward(wait, [&](uint32_t i) { return k_.op(i) == Op::kWaitLd; })) {
    if (k_.op(i) == Op::kLd) {
      loads.push_back(i);
      end(m, i);
    }
  }
  if (loads.empty()) return leave_out(m, Verdict::kAllowed, "no load is before the wait");
  std::vector<std::set<uint32_t>> holders;  // registers that hold a load's results, moved on or not
  for (const uint32_t load : loads) holders.push_back(holders_of(load));

  struct State {
    uint32_t at;
    uint32_t used;  // bit per load
  };
  const uint32_t all_used = loads.size() >= 32 ? 0xffffffffu : (1u << loads.size()) - 1;
  std::set<std::pair<uint32_t, uint32_t>> seen;
  std::vector<State> work;
  for (const uint32_t next : k_.successors(wait)) work.push_back({next, 0});
  bool fault = false;
  while (!work.empty()) {
    State s = work.back();
    work.pop_back();
    if (!seen.emplace(s.at, s.used).second) continue;
    const Op op = k_.op(s.at);
    if (op == Op::kWaitLd || op == Op::kTrap) continue;
    if (op == Op::kExit) {
      // Results used, and no wait on this way to the end.
      fault = true;
      continue;
    }
    if (s.used != all_used && gives_up(s.at, loads, s.used)) {
      fault = true;
      end(m, s.at);
      continue;
    }
    if (!is_mere_move(k_.opcode(s.at)) && op != Op::kLd) {
      for (const uint32_t reg : k_.read(s.at)) {
        for (size_t l = 0; l < loads.size() && l < 32; ++l) {
          if (holders[l].count(reg) != 0) s.used |= 1u << l;
        }
      }
    }
    for (const uint32_t next : k_.successors(s.at)) work.push_back({next, s.used});
  }
  end(m, Op::kDealloc);
  // The release that a barrier passes on.
  for (const uint32_t x : k_.forward(wait, [&](uint32_t y) { return k_.op(y) == Op::kWaitLd; })) {
    if (k_.op(x) == Op::kArrive && releases(k_, x)) end(m, x);
  }
  if (!fault) {
    leave_out(
        m, Verdict::kAllowed,
        "the loaded values are used, which the register dependency orders, and another wait::ld of the warp follows "
        "before the columns are given up on every path");
  }
}

void WaitFaults::drop_wait_st(uint32_t wait) {
  Mutant& m = start(Kind::kDropWaitSt, wait, "tcgen05.wait::st dropped");
  drop(m, wait);
  std::vector<uint32_t> stores;
  for (const uint32_t i : k_.backward(wait, [&](uint32_t i) { return k_.op(i) == Op::kWaitSt; })) {
    if (k_.op(i) == Op::kSt) {
      stores.push_back(i);
      end(m, i);
    }
  }
  if (stores.empty()) return leave_out(m, Verdict::kAllowed, "no store is before the wait");
  bool fault = false;
  for (const uint32_t i : k_.forward(wait, [&](uint32_t i) { return k_.op(i) == Op::kWaitSt; })) {
    bool here = false;
    switch (k_.op(i)) {
      case Op::kArrive:
        here = releases(k_, i);
        break;
      case Op::kDealloc:
        here = true;
        break;
      case Op::kMma:
      case Op::kCp:
      case Op::kLd:
        for (const uint32_t store : stores) here = here || k_.overlap(store, i) == Overlap::kYes;
        break;
      case Op::kBar:
        // Roles that start behind this barrier work with addresses that cannot be compared from here.
        here = k_.has_roles() && k_.opcode(i).root == "barrier";
        break;
      default:
        break;
    }
    if (!here) continue;
    fault = true;
    end(m, i);
  }
  if (!fault) {
    leave_out(m, Verdict::kAllowed,
              "another wait::st of the warp follows before anything reads, overwrites or frees what was stored");
  }
}

void WaitFaults::drop_proxy_fence(uint32_t i) {
  Mutant& m = start(Kind::kDropProxyFence, i, "fence.proxy.async dropped");
  drop(m, i);
  const auto uses = [&](uint32_t x) {
    return k_.op(x) == Op::kMma || k_.op(x) == Op::kCp || k_.op(x) == Op::kProxyFence || is_bulk_store(x) ||
           k_.op(x) == Op::kBulkCopy;
  };
  bool read = false;
  for (const uint32_t x : k_.forward(i, uses)) {
    if (k_.op(x) == Op::kMma || k_.op(x) == Op::kCp) {
      read = true;
      end(m, x);
    }
  }
  bool stored = false;
  for (const uint32_t x :
       k_.backward(i, [&](uint32_t x) { return k_.op(x) == Op::kProxyFence || k_.op(x) == Op::kMma; })) {
    if (k_.op(x) == Op::kSharedStore && k_.opcode(x).root != "cp") {
      stored = true;
      end(m, x);
    }
  }
  if (!read || !stored) {
    leave_out(m, Verdict::kOutside, "it stands before a TMA copy, not before an mma or cp that reads what was stored");
  }
}

void WaitFaults::drop_fence(uint32_t i) {
  if (k_.opcode(i).root != "tcgen05") return;
  const ptx::Tcgen05 op = k_.form(i).op;
  if (op != ptx::Tcgen05::kFenceBefore && op != ptx::Tcgen05::kFenceAfter) return;
  Mutant& m = start(Kind::kDropFence, i, "tcgen05.fence dropped");
  leave_out(m, Verdict::kAllowed,
            "mbarriers with acquire and release, bar.sync and cluster barriers order without it: a note by rules.md, "
            "and notes are "
            "not counted");
}

std::set<uint32_t> WaitFaults::holders_of(uint32_t load) const {
  std::set<uint32_t> out;
  std::vector<uint32_t> work = k_.written(load);
  while (!work.empty()) {
    const uint32_t reg = work.back();
    work.pop_back();
    if (!out.insert(reg).second) continue;
    for (uint32_t i = k_.first(); i < k_.last(); ++i) {
      if (!is_mere_move(k_.opcode(i)) || !contains(k_.read(i), reg)) continue;
      for (const uint32_t to : k_.written(i)) work.push_back(to);
    }
  }
  return out;
}

bool WaitFaults::gives_up(uint32_t i, const std::vector<uint32_t>& loads, uint32_t used) const {
  const auto pending = [&](const std::function<bool(uint32_t)>& test) {
    for (size_t l = 0; l < loads.size(); ++l) {
      if ((l >= 32 || (used >> l & 1) == 0) && test(loads[l])) return true;
    }
    return false;
  };
  switch (k_.op(i)) {
    case Op::kArrive:
    case Op::kDealloc:
    case Op::kClusterArrive:
      return true;
    case Op::kSt:
    case Op::kMma:
    case Op::kCp:
      return pending([&](uint32_t load) { return k_.overlap(i, load) == Overlap::kYes; });
    case Op::kLd:
      return pending([&](uint32_t load) { return load == i; });
    case Op::kBar: {
      // The last barrier before a conflict: what follows up to the next one.
      for (const uint32_t after :
           k_.forward(i, [&](uint32_t x) { return joins_like(k_, x, i) || k_.op(x) == Op::kWaitLd; })) {
        const Op op = k_.op(after);
        if (op == Op::kDealloc || (op == Op::kArrive && releases(k_, after))) return true;
        if ((op == Op::kMma || op == Op::kSt || op == Op::kCp) &&
            pending([&](uint32_t load) { return k_.overlap(after, load) == Overlap::kYes; })) {
          return true;
        }
      }
      return false;
    }
    default:
      return false;
  }
}

bool WaitFaults::is_bulk_store(uint32_t i) const {
  return k_.opcode(i).root == "cp" && k_.opcode(i).has("bulk") && k_.op(i) == Op::kOther && k_.at(i).operand_count >= 2;
}

}  // namespace tmemlint::seeded
