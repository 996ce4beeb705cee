#include <algorithm>
#include <initializer_list>

#include "tests/seeded/questions.h"
#include "tests/seeded/seeder.h"

namespace tmemlint::seeded {

using ptx::Operand;

void AllocationFaults::alloc(uint32_t i) {
  const ptx::OperandRoles where = k_.roles(i);
  const Operand& columns = k_.operand(i, where.columns);
  const Sizes sizes = allocation(i);
  const std::string own = guard_text({k_.at(i).guard, k_.at(i).guard_negated, kNone});
  const std::string group = ".cta_group::" + std::to_string(k_.form(i).cta_group);
  {
    Mutant& m = start(Kind::kAllocNotPower, i, "alloc of 96 columns, an immediate");
    edit(m, columns.span, "96");
  }
  {
    Mutant& m = start(Kind::kAllocNotPower, i, "alloc of 96 columns, in a register");
    edit(m, {k_.at(i).span.begin, k_.at(i).span.begin}, "{ .reg .b32 seed_n; mov.b32 seed_n, 96; ");
    edit(m, columns.span, "seed_n");
    edit(m, {whole(i).end, whole(i).end}, " }");
    accept(m, {"tmem-alloc-size"});
  }
  {
    Mutant& m = start(Kind::kAllocAfterRelinquish, i, "relinquish_alloc_permit before the alloc");
    before(m, i, own + "tcgen05.relinquish_alloc_permit" + group + ".sync.aligned;");
  }
  {
    Mutant& m = start(Kind::kGrowingAlloc, i, "a smaller allocation, freed again, before the alloc");
    if (sizes.columns < 64) {
      leave_out(m, Verdict::kNotMade, "no smaller allocation than 32 columns");
    } else {
      const std::string slot = text(k_.operand(i, where.address).span), half = std::to_string(sizes.columns / 2);
      before(m, i,
             "{ .reg .b32 seed_t; " + own + "tcgen05.alloc" + group + ".sync.aligned.shared::cta.b32 " + slot + ", " +
                 half + "; " + own + "ld.shared.b32 seed_t, " + slot + "; " + own + "tcgen05.dealloc" + group +
                 ".sync.aligned.b32 seed_t, " + half + "; }");
    }
  }
  every_warp(i);
  too_small(i, sizes);
}

void AllocationFaults::dealloc(uint32_t i) {
  {
    Mutant& m = start(Kind::kDropDealloc, i, "dealloc dropped");
    drop(m, i);
    end(m, Op::kAlloc);
    end(m, Op::kExit);
  }
  {
    Mutant& m = start(Kind::kDoubleDealloc, i, "dealloc twice");
    edit(m, {whole(i).end, whole(i).end}, " " + text(i));
  }
  const ptx::OperandRoles where = k_.roles(i);
  if (const auto columns = k_.constant(k_.operand(i, where.columns), i)) {
    const int64_t other = *columns > 32 ? *columns / 2 : 64;
    Mutant& m = start(Kind::kDeallocOtherSize, i,
                      "dealloc of " + std::to_string(other) + " columns for " + std::to_string(*columns));
    edit(m, k_.operand(i, where.columns).span, std::to_string(other));
    end(m, Op::kAlloc);
  }
  every_warp(i);
  free_early(i);
}

AllocationFaults::Sizes AllocationFaults::allocation(uint32_t alloc) const {
  Sizes out;
  out.columns = k_.constant(k_.operand(alloc, k_.roles(alloc).columns), alloc).value_or(0);
  for (const uint32_t load : k_.all(Op::kSharedLoad)) {
    if (is_slot_read(k_, load, alloc)) {
      for (const uint32_t reg : k_.written(load)) out.slots.push_back(reg);
    }
  }
  const std::vector<uint32_t> allocs = k_.all(Op::kAlloc);
  for (const uint32_t d : k_.all(Op::kDealloc)) {
    if (allocs.size() == 1) {
      out.frees.push_back(d);
      continue;
    }
    for (const auto& [reg, factor] : k_.sum(k_.operand(d, k_.roles(d).address)).terms) {
      if (contains(out.slots, reg)) out.frees.push_back(d);
    }
  }
  return out;
}

void AllocationFaults::too_small(uint32_t i, const Sizes& sizes) {
  Mutant& m = start(Kind::kAllocTooSmall, i, "alloc and dealloc of " + std::to_string(sizes.columns / 2) + " columns");
  if (sizes.columns < 64) return leave_out(m, Verdict::kNotMade, "no smaller allocation than 32 columns");
  const std::string half = std::to_string(sizes.columns / 2);
  edit(m, k_.operand(i, k_.roles(i).columns).span, half);
  for (const uint32_t d : sizes.frees) edit(m, k_.operand(d, k_.roles(d).columns).span, half);
  bool used = false, unknown = false;
  for (uint32_t a = k_.first(); a < k_.last(); ++a) {
    const Op op = k_.op(a);
    if (op != Op::kLd && op != Op::kSt && op != Op::kMma && op != Op::kCp) continue;
    for (const Columns& c : k_.columns(a)) {
      const bool ours = std::any_of(c.base.terms.begin(), c.base.terms.end(),
                                    [&](const auto& t) { return contains(sizes.slots, t.first); });
      // A stage index takes the value 1 at least, or there would be none.
      int64_t stage = 0;
      for (const auto& [reg, factor] : c.base.terms) {
        if (!contains(sizes.slots, reg) && factor >= 32) stage += factor;
      }
      if (ours && c.base.terms.size() <= 2 && (c.base.terms.size() == 1 || stage != 0)) {
        if (c.base.constant + stage + c.count > sizes.columns / 2) {
          used = true;
          end(m, a);
        }
      } else {
        unknown = true;
        end(m, a);
      }
    }
  }
  if (used) return;
  if (unknown) {
    leave_out(m, Verdict::kNotMade, "whether the other half is used depends on a stage index");
  } else {
    leave_out(m, Verdict::kAllowed, "the kernel uses no more than half of the columns");
  }
}

void AllocationFaults::every_warp(uint32_t i) {
  const Kernel::Guard guard = k_.guard(i);
  if (guard.reg == kNone) return;
  Mutant& m = start(Kind::kEveryWarp, i, std::string(k_.op(i) == Op::kAlloc ? "alloc" : "dealloc") + " by every warp");
  if (guard.branch == kNone) {
    edit(m, {k_.at(i).span.begin, k_.at(i).opcode_span.begin},
         blank({k_.at(i).span.begin, k_.at(i).opcode_span.begin}));
  } else {
    drop(m, guard.branch);
    m.lines.insert(k_.line(i));
  }
  if (k_.op(i) == Op::kAlloc) {
    accept(m, {"tmem-one-warp", "tmem-slot-race"});
  } else {
    accept(m, {"tmem-one-warp", "tmem-double-dealloc", "tmem-dealloc-race"});
  }
}

void AllocationFaults::move_dealloc(uint32_t d, uint32_t target, const std::string& where,
                                    std::initializer_list<std::string_view> rules) {
  Mutant& m =
      start(Kind::kFreeEarly, d, "dealloc moved before " + where + " in line " + std::to_string(k_.line(target)));
  const Kernel::Guard guard = k_.guard(d);
  std::string definitions;
  if (!slice(target, d, needs(k_, d, guard), definitions)) {
    return leave_out(m, Verdict::kNotMade, "its operands cannot be computed there");
  }
  // Blocks between the two: a definition there that is copied may not run at all otherwise; it only computes.
  before(m, target, definitions + guard_text(guard) + bare(d));
  drop(m, d);
  accept(m, rules);
  end(m, Op::kLd);
  end(m, Op::kSt);
  end(m, Op::kMma);
  end(m, Op::kAlloc);
}

void AllocationFaults::free_early(uint32_t d) {
  // The warps that free also load: before their last load, and behind its wait but before they join the others.
  uint32_t load = kNone, wait = kNone;
  for (uint32_t i = k_.first(); i < d; ++i) {
    if (k_.op(i) == Op::kLd && k_.always_before(i, d) && !k_.in_loop(i)) load = i;
  }
  if (load != kNone) {
    for (uint32_t i = load; i < d; ++i) {
      if (k_.op(i) == Op::kWaitLd) {
        wait = i;
        break;
      }
    }
    move_dealloc(d, load, "the last load", {"tmem-use-after-dealloc", "tmem-dealloc-race"});
    if (wait != kNone) {
      move_dealloc(d, wait, "the wait of the last load", {"tmem-missing-wait-ld", "tmem-dealloc-race"});
      if (wait + 1 < d)
        move_dealloc(d, wait + 1, "the joins behind the last load", {"tmem-dealloc-race", "tmem-use-after-dealloc"});
    }
    return;
  }
  // Otherwise before the last join.
  std::vector<uint32_t> joins;
  const auto stop = [&](uint32_t i) { return k_.op(i) == Op::kBar || k_.op(i) == Op::kClusterWait; };
  for (const uint32_t i : k_.backward(d, stop)) {
    if (stop(i)) joins.push_back(i);
  }
  if (joins.size() != 1 || k_.in_loop(joins[0])) {
    Mutant& m = start(Kind::kFreeEarly, d, "dealloc moved before the last join");
    return leave_out(m, Verdict::kNotMade, "several joins lead to it, or the join is in a loop");
  }
  uint32_t target = joins[0];
  if (k_.op(target) == Op::kClusterWait) {
    while (target > k_.first() && k_.op(target) != Op::kClusterArrive) --target;
  }
  const std::vector<uint32_t> earlier = k_.backward(target, stop);
  const bool needed = std::any_of(earlier.begin(), earlier.end(), [&](uint32_t i) {
    return k_.op(i) == Op::kLd || k_.op(i) == Op::kSt || k_.op(i) == Op::kMma;
  });
  if (!needed) {
    Mutant& m = start(Kind::kFreeEarly, d, "dealloc moved before the last join");
    return leave_out(m, Verdict::kAllowed, "the join before it has already ordered every access");
  }
  if (k_.op(joins[0]) == Op::kClusterWait) {
    move_dealloc(d, target, "the last join", {"tmem-pair-dealloc-join", "tmem-dealloc-race"});
  } else {
    move_dealloc(d, target, "the last join", {"tmem-dealloc-race", "tmem-use-after-dealloc", "tmem-mma-completion"});
  }
}

}  // namespace tmemlint::seeded
