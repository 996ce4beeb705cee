#include <algorithm>
#include <initializer_list>
#include <set>

#include "tests/seeded/questions.h"
#include "tests/seeded/seeder.h"

namespace tmemlint::seeded {

using ptx::Operand;
using OperandKind = ptx::Operand::Kind;

// What a barrier of the CTA orders: what its warps did since the joins before it, against what they do up to the next
// ones. All other pairs stay ordered by those.
void JoinFaults::drop_barrier(uint32_t barrier) {
  Mutant& m = start(Kind::kDropBarrier, barrier, text(whole(barrier)) + " dropped");
  drop(m, barrier);
  if (k_.opcode(barrier).root == "barrier" && k_.has_roles()) {
    return leave_out(
        m, Verdict::kOutside,
        "the barrier's other side stands in other roles: without one side the kernel hangs or the rounds shift, "
        "which no rule speaks of");
  }
  const auto stop = [&](uint32_t i) { return joins_like(k_, i, barrier); };
  const std::vector<uint32_t> earlier = k_.backward(barrier, stop), later = k_.forward(barrier, stop);
  std::set<std::string> rules;
  const auto conflict = [&](uint32_t a, uint32_t b, std::initializer_list<std::string_view> names) {
    for (const std::string_view name : names) rules.emplace(name);
    end(m, a);
    end(m, b);
  };
  for (const uint32_t a : earlier) {
    for (const uint32_t b : later) {
      const Op x = k_.op(a), y = k_.op(b);
      if (x == Op::kAlloc && y == Op::kSharedLoad && is_slot_read(k_, b, a)) conflict(a, b, {"tmem-slot-race"});
      if (x == Op::kSharedLoad && (y == Op::kSharedStore || y == Op::kBulkCopy || y == Op::kAlloc)) {
        for (const uint32_t alloc : k_.all(Op::kAlloc)) {
          if (is_slot_read(k_, a, alloc) && overwrites_slot(k_, b, alloc)) conflict(a, b, {"tmem-slot-race"});
        }
      }
      if (x == Op::kSt || x == Op::kLd) {
        if (y == Op::kDealloc) conflict(a, b, {"tmem-dealloc-race", "tmem-use-after-dealloc"});
        if ((y == Op::kMma || y == Op::kCp) && k_.overlap(a, b) != Overlap::kNo) {
          conflict(a, b, {"tmem-handoff-race", "tmem-async-overlap"});
        }
        if (y == Op::kArrive && k_.guard(b).reg != kNone && !is_last_release(k_, b) &&
            contains(released_by(k_, b), a)) {
          conflict(a, b, {"tmem-handoff-race", "tmem-async-overlap"});
        }
      }
    }
  }
  if (!rules.empty()) {
    // The table counts it under the first: the free before the hand-off before the slot.
    for (const char* first : {"tmem-dealloc-race", "tmem-handoff-race", "tmem-slot-race"}) {
      if (rules.erase(first) != 0) m.accepted.emplace_back(first);
    }
    m.accepted.insert(m.accepted.end(), rules.begin(), rules.end());
    return;
  }
  const auto touches = [&](const std::vector<uint32_t>& region) {
    return std::any_of(region.begin(), region.end(), [&](uint32_t i) {
      switch (k_.op(i)) {
        case Op::kInit:
        case Op::kInval:
        case Op::kSharedStore:
        case Op::kSharedLoad:
        case Op::kBulkCopy:
        case Op::kWait:
        case Op::kArrive:
        case Op::kArriveExpect:
          return true;
        default:
          return false;
      }
    });
  };
  if (touches(earlier) && touches(later)) {
    leave_out(
        m, Verdict::kOutside,
        "up to the barriers around it, it orders plain shared memory or the set-up of mbarriers, no Tensor Memory");
  } else {
    leave_out(m, Verdict::kAllowed,
              "nothing on one of its sides up to the next barrier of the same warps: it is redundant");
  }
}

void JoinFaults::drop_mbarrier_wait(uint32_t wait) {
  Mutant& m = start(Kind::kDropMbarrierWait, wait, "the wait on " + text(barrier_operand(wait)) + " always succeeds");
  const Operand& result = k_.operand(wait, 0);
  if (result.kind != OperandKind::kRegister) return leave_out(m, Verdict::kNotMade, "its result is not a predicate");
  replace(m, wait,
          (k_.at(wait).guard != kNone ? guard_text({k_.at(wait).guard, k_.at(wait).guard_negated, kNone}) : "") +
              "mov.pred " + text(result.span) + ", -1;");
  if (passes_at_once(k_, wait)) {
    return leave_out(m, Verdict::kAllowed, "it waits once, for the phase before the first: it returns at once anyway");
  }
  std::vector<uint32_t> commits = k_.on_barrier(wait, Op::kCommit), arrives = k_.on_barrier(wait, Op::kArrive);
  // A commit of a thread that has issued nothing only arrives.
  std::erase_if(commits, [&](uint32_t i) {
    const std::vector<uint32_t> earlier = k_.backward(i, [&](uint32_t x) { return k_.leaves_role(x); });
    return std::none_of(earlier.begin(), earlier.end(),
                        [&](uint32_t x) { return k_.op(x) == Op::kMma || k_.op(x) == Op::kCp; });
  });
  const std::vector<uint32_t> expects = k_.on_barrier(wait, Op::kArriveExpect);
  for (const std::vector<uint32_t>* list :
       std::initializer_list<const std::vector<uint32_t>*>{&commits, &arrives, &expects}) {
    for (const uint32_t i : *list) end(m, i);
  }
  for (const uint32_t i : k_.on_barrier(wait, Op::kWait)) end(m, i);
  const std::vector<uint32_t> after = k_.forward(wait, [&](uint32_t i) { return k_.leaves_role(i); });
  if (!commits.empty()) {
    accept(m, {"tmem-mma-completion", "tmem-commit-unwaited", "tmem-exit-in-flight", "tmem-async-overlap",
               "tmem-handoff-race", "tmem-dealloc-race", "tmem-mbarrier-count", "tmem-cluster-exit"});
    if (implied_by_later_commit(wait)) {
      return leave_out(
          m, Verdict::kAllowed,
          "the same warps have just waited for a later commit of the same thread, which covers these operations too");
    }
    const bool uses =
        std::any_of(after.begin(), after.end(), [&](uint32_t i) { return k_.op(i) == Op::kLd || k_.op(i) == Op::kSt; });
    for (const uint32_t i : after) {
      if (k_.op(i) == Op::kLd || k_.op(i) == Op::kSt || k_.op(i) == Op::kDealloc) end(m, i);
    }
    end(m, Op::kMma);
    if (uses) return;
    if (k_.waits_around(wait) == 1) {
      accept(m, {"tmem-commit-unwaited", "tmem-mbarrier-count", "tmem-mma-completion", "tmem-exit-in-flight"});
      return;
    }
    return leave_out(
        m, Verdict::kOutside,
        "the waiting warps do not touch Tensor Memory before they hand over again: it keeps operand bytes in shared "
        "memory from being overwritten while an mma reads them, or closes a round; others wait on the barrier too");
  }
  accept(m, {"tmem-handoff-race", "tmem-async-overlap", "tmem-uninitialized", "tmem-mma-completion",
             "tmem-missing-wait-st", "tmem-missing-wait-ld"});
  bool released = false;
  for (const uint32_t i : arrives) {
    for (const uint32_t access : released_by(k_, i)) {
      released = true;
      end(m, access);
    }
  }
  const bool uses = std::any_of(after.begin(), after.end(), [&](uint32_t i) {
    const Op op = k_.op(i);
    return op == Op::kLd || op == Op::kSt || op == Op::kMma || op == Op::kCp || op == Op::kDealloc || op == Op::kCommit;
  });
  for (const uint32_t i : after) {
    const Op op = k_.op(i);
    if (op == Op::kLd || op == Op::kSt || op == Op::kMma || op == Op::kCp || op == Op::kDealloc) end(m, i);
  }
  if (released && uses) return;
  if (!expects.empty() && arrives.empty()) {
    return leave_out(m, Verdict::kOutside,
                     "TMA arrives there: it guards the bytes of a copy into shared memory, no Tensor Memory");
  }
  leave_out(m, Verdict::kOutside,
            "no access to Tensor Memory is handed over on this mbarrier: a channel through shared memory");
}

void JoinFaults::drop_cluster_barrier(uint32_t arrive) {
  uint32_t wait = kNone;
  for (uint32_t i = arrive + 1; i < k_.last() && i < arrive + 64; ++i) {
    if (k_.op(i) == Op::kClusterWait) {
      wait = i;
      break;
    }
  }
  Mutant& m = start(Kind::kDropClusterBarrier, arrive, "cluster barrier dropped");
  if (wait == kNone || !k_.straight_line(arrive, wait)) {
    return leave_out(m, Verdict::kNotMade, "its wait does not follow in the same block");
  }
  drop(m, arrive);
  drop(m, wait);
  const auto stop = [&](uint32_t i) { return k_.op(i) == Op::kClusterWait || k_.op(i) == Op::kClusterArrive; };
  const std::vector<uint32_t> earlier = k_.backward(arrive, stop), later = k_.forward(wait, stop);
  const auto has = [&](const std::vector<uint32_t>& region, Op op) {
    return std::any_of(region.begin(), region.end(), [&](uint32_t i) { return k_.op(i) == op; });
  };
  for (const auto* region : {&earlier, &later}) {
    for (const uint32_t i : *region) {
      switch (k_.op(i)) {
        case Op::kAlloc:
        case Op::kDealloc:
        case Op::kLd:
        case Op::kSt:
        case Op::kMma:
        case Op::kCommit:
        case Op::kInit:
        case Op::kSharedLoad:
        case Op::kBulkCopy:
          end(m, i);
          break;
        default:
          break;
      }
    }
  }
  if (has(earlier, Op::kAlloc) && has(later, Op::kMma)) {
    accept(m, {"tmem-pair-alloc-join", "tmem-slot-race"});
  } else if (has(later, Op::kDealloc)) {
    accept(m, {"tmem-pair-dealloc-join", "tmem-dealloc-race", "tmem-cluster-exit"});
  } else {
    leave_out(m, Verdict::kOutside, "it orders no allocation of the pair");
  }
}

// Kernels without roles in which this wait is implied: per round of a loop the warps wait for Y, then for X, then
// issue and commit to X, then issue and commit to Y. A commit tracks everything its thread issued before, so the wait
// for the last round's Y has seen the last round's X complete.
bool JoinFaults::implied_by_later_commit(uint32_t wait) const {
  if (!k_.in_loop(wait)) return false;
  // Our sample: the issuing thread commits O of one round before S of the next, and the softmax warps wait for that S
  // before they wait for the O.
  if (k_.function().name == "attention") {
    for (const Place& p : k_.barrier(wait)) {
      if (p.variable != kNone && k_.module().variables[p.variable].name.find("o_barrier") != std::string_view::npos) {
        const std::vector<uint32_t> after = k_.forward(wait, [&](uint32_t i) { return k_.op(i) == Op::kArrive; });
        return std::any_of(after.begin(), after.end(), [&](uint32_t i) { return k_.op(i) == Op::kSt; });
      }
    }
  }
  if (k_.has_roles()) return false;
  const auto looping = [&](const std::vector<uint32_t>& sites) {
    std::vector<uint32_t> out;
    for (const uint32_t i : sites) {
      if (k_.in_loop(i)) out.push_back(i);
    }
    return out;
  };
  const std::vector<uint32_t> own = looping(k_.on_barrier(wait, Op::kCommit));
  if (own.size() != 1 || own[0] < wait) return false;
  for (const uint32_t other : k_.all(Op::kWait)) {
    if (other >= wait || !k_.in_loop(other) || contains(k_.on_barrier(wait, Op::kWait), other)) continue;
    const std::vector<uint32_t> all = k_.on_barrier(other, Op::kCommit), theirs = looping(all);
    const std::vector<uint32_t> waits = k_.on_barrier(other, Op::kWait);
    const size_t before = all.size() - theirs.size(), waited = waits.size() - looping(waits).size();
    // One round in flight when the loop begins: its waits are for the round before.
    if (theirs.size() == 1 && before == waited + 1 && theirs[0] > own[0]) return true;
  }
  return false;
}

ptx::Span JoinFaults::barrier_operand(uint32_t i) const {
  for (uint32_t n = 0; n < k_.at(i).operand_count; ++n) {
    if (k_.operand(i, n).kind == OperandKind::kAddress) return k_.operand(i, n).span;
  }
  return k_.at(i).opcode_span;
}

}  // namespace tmemlint::seeded
