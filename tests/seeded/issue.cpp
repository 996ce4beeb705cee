#include <algorithm>

#include "tests/seeded/questions.h"
#include "tests/seeded/seeder.h"

namespace tmemlint::seeded {

using ptx::Operand;
using OperandKind = ptx::Operand::Kind;

void IssueFaults::collective(uint32_t i) {
  switch (k_.op(i)) {
    case Op::kAlloc:
    case Op::kDealloc:
    case Op::kRelinquish:
    case Op::kLd:
    case Op::kSt:
    case Op::kWaitLd:
    case Op::kWaitSt:
      break;
    default:
      return;
  }
  Mutant& m = start(Kind::kLaneGuard, i, text(k_.at(i).opcode_span) + " in lane 0 only");
  std::string head = "{ .reg .pred seed_p; .reg .b32 seed_l; mov.u32 seed_l, %laneid; setp.eq.u32 seed_p, seed_l, 0; ";
  if (k_.at(i).guard != kNone) {
    head += ".reg .pred seed_g; mov.pred seed_g, " + reg_name(k_.at(i).guard) + "; ";
    if (k_.at(i).guard_negated) head += "not.pred seed_g, seed_g; ";
    head += "and.pred seed_p, seed_p, seed_g; ";
  }
  edit(m, {k_.at(i).span.begin, k_.at(i).opcode_span.begin}, head + "@seed_p ");
  edit(m, {whole(i).end, whole(i).end}, " }");
}

void IssueFaults::cta_group(uint32_t i) {
  if (k_.opcode(i).root != "tcgen05") return;
  const uint8_t group = k_.form(i).cta_group;
  if (group == 0) return;
  const std::string old = text(k_.at(i).opcode_span);
  const size_t at = old.find("cta_group::");
  if (at == std::string::npos) return;
  Mutant& m = start(Kind::kOtherCtaGroup, i, old + " with the other cta_group");
  const ptx::Offset digit = k_.at(i).opcode_span.begin + static_cast<ptx::Offset>(at) + 11;
  edit(m, {digit, digit + 1}, group == 1 ? "2" : "1");
  // Whichever of the two the report takes for the odd one.
  for (uint32_t other = k_.first(); other < k_.last(); ++other) {
    if (k_.opcode(other).root == "tcgen05" && k_.form(other).cta_group != 0) end(m, other);
  }
}

void IssueFaults::every_lane(uint32_t i) {
  const Op op = k_.op(i);
  if (op != Op::kMma && op != Op::kCp && op != Op::kShift && op != Op::kCommit) return;
  if (k_.at(i).guard == kNone || !elected(k_.at(i).guard)) return;
  Mutant& m = start(Kind::kEveryLane, i, text(k_.at(i).opcode_span) + " without its election");
  const ptx::Span guard{k_.at(i).span.begin, k_.at(i).opcode_span.begin};
  edit(m, guard, blank(guard));
  for (const uint32_t d : k_.definitions(k_.at(i).guard)) end(m, d);
}

// An election whose result a branch tests: then every lane takes it.
void IssueFaults::drop_election(uint32_t elect) {
  const std::vector<uint32_t> writes = k_.written(elect);
  uint32_t predicate = kNone;
  for (const uint32_t reg : writes) {
    if (k_.function().registers[reg].type == ptx::Type::kPred) predicate = reg;
  }
  if (predicate == kNone) return;
  for (uint32_t i = k_.first(); i < k_.last(); ++i) {
    if (k_.at(i).guard == predicate && k_.op(i) != Op::kOther) return;  // see every_lane
  }
  std::vector<uint32_t> issued;
  for (const uint32_t i : k_.forward(elect, [&](uint32_t x) {
         return k_.op(x) == Op::kElect || k_.op(x) == Op::kBar || k_.op(x) == Op::kClusterArrive;
       })) {
    if (k_.op(i) == Op::kMma || k_.op(i) == Op::kCp || k_.op(i) == Op::kCommit) issued.push_back(i);
  }
  // Behind a join, what a loop leads to may be another thread's.
  std::erase_if(issued, [&](uint32_t i) { return i < elect; });
  if (issued.empty()) return;
  Mutant& m = start(Kind::kEveryLane, elect, "the election always succeeds");
  replace(m, elect, "mov.pred " + text(predicate_span(elect)) + ", -1;");
  for (const uint32_t i : issued) end(m, i);
}

bool IssueFaults::elected(uint32_t reg) const {
  const std::vector<uint32_t>& definitions = k_.definitions(reg);
  return !definitions.empty() &&
         std::all_of(definitions.begin(), definitions.end(), [&](uint32_t d) { return k_.op(d) == Op::kElect; });
}

ptx::Span IssueFaults::predicate_span(uint32_t elect) const {
  for (uint32_t n = 0; n < k_.at(elect).operand_count; ++n) {
    const Operand& operand = k_.operand(elect, n);
    if (operand.kind == OperandKind::kRegister && k_.function().registers[operand.ref].type == ptx::Type::kPred)
      return operand.span;
  }
  return k_.at(elect).opcode_span;
}

}  // namespace tmemlint::seeded
