#include "tests/seeded/questions.h"
#include "tests/seeded/seeder.h"

namespace tmemlint::seeded {

using ptx::Operand;

void ArrivalFaults::drop_arrival(uint32_t i, Kind kind) {
  Mutant& m = start(kind, i, text(k_.at(i).opcode_span) + " dropped");
  drop(m, i);
  bool waited = false;
  for (const uint32_t wait : k_.on_barrier(i, Op::kWait)) {
    end(m, wait);
    waited = waited || !passes_at_once(k_, wait);
  }
  for (const Op op : {Op::kInit, Op::kArrive, Op::kArriveExpect, Op::kCommit}) {
    for (const uint32_t other : k_.on_barrier(i, op)) end(m, other);
  }
  for (const uint32_t before : k_.backward(i, [&](uint32_t x) { return x != i && k_.op(x) == k_.op(i); })) {
    if (k_.op(before) == Op::kMma || k_.op(before) == Op::kCp || k_.op(before) == Op::kLd || k_.op(before) == Op::kSt)
      end(m, before);
  }
  for (const Op op : {Op::kLd, Op::kSt, Op::kDealloc}) end(m, op);
  if (!waited) return leave_out(m, Verdict::kAllowed, "no wait on this mbarrier that does not return at once");
  if (is_last_release(k_, i)) {
    return leave_out(m, Verdict::kAllowed, "the last \"free\" arrival: nobody waits for that round any more");
  }
  if (kind == Kind::kDropArrive) {
    accept(m, {"tmem-mbarrier-count", "tmem-handoff-race"});
  }
}

void ArrivalFaults::early_release(uint32_t arrive) {
  const std::vector<uint32_t> accesses = released_by(k_, arrive);
  if (accesses.empty()) return;
  if (is_last_release(k_, arrive)) {
    Mutant& m = start(Kind::kEarlyRelease, arrive, "mbarrier.arrive moved up");
    return leave_out(m, Verdict::kAllowed, "the last \"free\" arrival: nobody waits for that round any more");
  }
  const Kernel::Guard guard = k_.guard(arrive);
  const uint32_t last = guard.branch != kNone ? guard.branch : arrive;
  std::vector<uint32_t> targets;
  for (uint32_t i = last; i > k_.first(); --i) {
    const Op op = k_.op(i);
    if ((op == Op::kWaitLd || op == Op::kWaitSt) && targets.empty()) targets.push_back(i);
    if (contains(accesses, i)) {
      targets.push_back(i);
      break;
    }
  }
  for (const uint32_t target : targets) {
    const bool wait = k_.op(target) == Op::kWaitLd || k_.op(target) == Op::kWaitSt;
    Mutant& m = start(Kind::kEarlyRelease, arrive,
                      std::string("mbarrier.arrive moved before ") + (wait ? "the wait" : "the access") + " in line " +
                          std::to_string(k_.line(target)));
    std::string definitions;
    if (!k_.straight_line(target, last) || !slice(target, arrive, needs(k_, arrive, guard), definitions)) {
      leave_out(m, Verdict::kNotMade, "a branch, or the computation of its operands, stands between");
      continue;
    }
    before(m, target, definitions + guard_text(guard) + bare(arrive));
    drop(m, arrive);
    for (const uint32_t access : accesses) end(m, access);
    for (const uint32_t w : k_.on_barrier(arrive, Op::kWait)) end(m, w);
    const bool store = k_.op(target) == Op::kSt || k_.op(target) == Op::kWaitSt;
    if (store) {
      accept(m, {"tmem-handoff-race", "tmem-missing-wait-st", "tmem-async-overlap", "tmem-mma-completion",
                 "tmem-uninitialized"});
    } else if (wait) {
      accept(m, {"tmem-missing-wait-ld", "tmem-handoff-race", "tmem-async-overlap"});
    } else {
      accept(m, {"tmem-handoff-race", "tmem-missing-wait-ld", "tmem-async-overlap", "tmem-mma-completion"});
    }
    end(m, Op::kMma);
  }
}

void ArrivalFaults::other_count(uint32_t init) {
  const ptx::Operand& count = k_.operand(init, 1);
  const auto value = k_.constant(count, init);
  if (!value) return;
  std::vector<int64_t> others{*value + 1};
  if (*value > 1) others.push_back(*value / 2);
  for (const int64_t other : others) {
    Mutant& m = start(Kind::kOtherCount, init,
                      "mbarrier.init with " + std::to_string(other) + " for " + std::to_string(*value));
    edit(m, count.span, std::to_string(other));
    bool waited = false, arrived = false;
    for (const Op op : {Op::kWait, Op::kArrive, Op::kArriveExpect, Op::kCommit}) {
      for (const uint32_t i : k_.on_barrier(init, op)) {
        end(m, i);
        if (op == Op::kWait) {
          waited = waited || !passes_at_once(k_, i);
        } else {
          arrived = true;
        }
      }
    }
    if (!waited || !arrived) {
      leave_out(m, Verdict::kAllowed, "nobody waits there for a round to complete");
    }
  }
}

}  // namespace tmemlint::seeded
