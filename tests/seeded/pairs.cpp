#include "tests/seeded/questions.h"
#include "tests/seeded/seeder.h"

namespace tmemlint::seeded {

using ptx::Operand;
using OperandKind = ptx::Operand::Kind;

void PairFaults::pair_cluster() {
  if (!is_pair() || !k_.function().reqnctapercluster.given()) return;
  const std::string_view all = k_.module().source->text();
  const size_t at = all.find(".reqnctapercluster", k_.function().name_span.begin);
  const size_t number = at == std::string_view::npos ? at : all.find('2', at);
  if (number == std::string_view::npos || number > k_.at(k_.first()).span.begin) return;
  Mutant& m = start(Kind::kPairCluster, k_.all(Op::kAlloc)[0], "a cluster of 3 CTAs");
  edit(m, {static_cast<ptx::Offset>(number), static_cast<ptx::Offset>(number) + 1}, "3");
  m.lines.insert(k_.module().source->position(k_.function().name_span.begin).line);
}

void PairFaults::pair_mask(uint32_t commit) {
  const ptx::OperandRoles where = k_.roles(commit);
  if (!is_pair() || where.mask == kNone) return;
  Mutant& m = start(Kind::kPairMask, commit, "commit with mask 1");
  edit(m, {k_.at(commit).span.begin, k_.at(commit).span.begin}, "{ .reg .b16 seed_m; mov.b16 seed_m, 1; ");
  edit(m, k_.operand(commit, where.mask).span, "seed_m");
  edit(m, {whole(commit).end, whole(commit).end}, " }");
  for (const uint32_t i : k_.on_barrier(commit, Op::kWait)) end(m, i);
}

// The test of the rank on the way to the mma takes the even CTA's side in both.
void PairFaults::pair_leader() {
  if (!is_pair() || k_.all(Op::kMma).empty()) return;
  const uint32_t mma = k_.all(Op::kMma)[0];
  for (uint32_t i = k_.first(); i < k_.last(); ++i) {
    if (k_.opcode(i).root != "setp" || k_.at(i).operand_count < 3 || i > mma) continue;
    for (uint32_t n = 1; n < 3; ++n) {
      const Operand& operand = k_.operand(i, n);
      if (operand.kind != OperandKind::kRegister || k_.definitions(operand.ref).size() != 1) continue;
      const uint32_t d = k_.definitions(operand.ref)[0];
      if (k_.opcode(d).root != "mov" || text(k_.operand(d, 1).span) != "%cluster_ctarank") continue;
      // Only the test that decides whether this warp issues: the mma lies behind it on every path.
      uint32_t branch = kNone;
      for (const uint32_t x : k_.forward(i, [&](uint32_t x) { return k_.op(x) == Op::kElect; })) {
        if (k_.opcode(x).root == "bra" && k_.at(x).guard != kNone && contains(k_.written(i), k_.at(x).guard))
          branch = x;
      }
      if (branch == kNone || !k_.always_before(branch, mma)) continue;
      Mutant& m = start(Kind::kPairLeader, i, "both CTAs take the leader's branch");
      edit(m, operand.span, "0");
      for (const Op op : {Op::kMma, Op::kCommit, Op::kElect}) end(m, op);
    }
  }
}

bool PairFaults::is_pair() const {
  const std::vector<uint32_t> allocs = k_.all(Op::kAlloc);
  return !allocs.empty() && k_.form(allocs[0]).cta_group == 2;
}

}  // namespace tmemlint::seeded
