#include "analyzer/warp/rounds.h"

#include "analyzer/assumptions/assumptions.h"

namespace tmemlint::warp {

using value::Fact;
using value::Facts;
using value::Interval;
using value::Op;
using value::Operation;
using value::Term;
using value::TermKind;
using value::Uniformity;

namespace {

// Assumption: nothing goes round more often than 8 million times.
constexpr int64_t kMostRounds = assumptions::kMostRoundsOfALoop;

}  // namespace

Value Rounds::count(uint32_t head) {
  const uint32_t rounds =
      terms_.join(value::site_of(value::UnknownKind::kRounds, head), owner_of(setting_), flow_.loops_of(head), 32);
  Term& term = terms_.mutable_term(rounds);
  term.uniformity = Uniformity::kWarp;
  term.zero_bits = ~static_cast<uint64_t>(kMostRounds);
  return terms_.with_base({}, rounds);
}

void Rounds::set_count(Facts& facts, uint32_t head, bool is_second) {
  terms_.uses().count(assumptions::Id::kMostRoundsOfALoop);
  facts.set(count(head).base, is_second ? Interval{0, 0} : Interval{1, kMostRounds});
}

uint64_t Rounds::growth(const Value& value, uint32_t head, uint64_t bit) {
  if (value.plain != 0) return 0;
  const uint32_t rounds = count(head).base;
  uint64_t out = 0;
  for (const Terms::Part part : terms_.parts(value.base)) {
    if (part.term == rounds) {
      out = part.coefficient;
    } else if ((terms_[part.term].loops & bit) != 0) {
      return 0;
    }
  }
  return out;
}

Value Rounds::extrapolated(const Value& value, const MeetingPlace& at, const Value* before) {
  if (before == nullptr || *before == value || !may_be_counter(at.block, at.part)) return value;
  const Value step = minus(terms_, value, *before, at.width);
  if (!step.constant() || step.number == 0) return value;
  return plus(terms_, value, times(terms_, count(at.block), step.number, at.width), at.width);
}

void Rounds::keep_facts(Facts& facts, const Facts& before, uint32_t head, uint64_t bit) {
  for (const Fact& fact : before.list()) {
    const Term& term = terms_[fact.term];
    if ((term.loops & bit) == 0 || fact.per_lane || fact.interval.low != fact.interval.high) continue;
    const Operation o = term.operation;
    if (term.kind != TermKind::kPure || (o.op != Op::kLt && o.op != Op::kEq)) continue;
    Value args[2];
    bool counter = false;
    bool known = true;
    for (size_t n = 0; n < 2; ++n) {
      const Value arg = term.args[n];
      const uint64_t step = arg.table != 0 ? 0 : growth(arg, head, bit);
      counter = counter || step != 0;
      known = known && (step != 0 || (terms_.loops(arg) & bit) == 0);
      args[n] = step != 0 ? minus(terms_, arg, Value::of(step), o.width) : arg;
    }
    if (!counter || !known) continue;
    const Value now = terms_.apply(o, args, 2);
    const Terms::Parts parts = terms_.parts(now.base);
    if (parts.size() != 1 || now.table != 0 || now.plain != 0) continue;
    const bool inverse = parts[0].coefficient != 1;
    assume(terms_, facts, parts[0].term, (fact.interval.low != 0) != inverse);
  }
}

}  // namespace tmemlint::warp
