#include "analyzer/warp/meeting.h"

#include "analyzer/assumptions/assumptions.h"

#include <algorithm>

namespace tmemlint::warp {

using value::Fact;
using value::Facts;
using value::Op;
using value::Uniformity;

namespace {

// States that are kept apart with Setting::decisions_apart, before those are merged that decided the most alike.
constexpr size_t kMostApart = assumptions::kStatesKeptApart;
// States of one kind that are kept apart with Setting::by_rounds because they decided differently for good.
constexpr size_t kMostCounted = assumptions::kStatesKeptToCount;
// Operations nested in two values that are still made a selection by what the paths decided differently; deeper ones
// become a join.
constexpr uint32_t kMostSelectedDepth = assumptions::kDepthOfChoices;

}  // namespace

// Whether two states come from different decisions about what is the same in all rounds of all loops.
bool Meeting::differs_for_good(const PathState& a, const PathState& b) const {
  return std::any_of(a.facts.list().begin(), a.facts.list().end(), [&](const Fact& f) {
    if (f.per_lane || terms_[f.term].width != 1 || terms_[f.term].loops != 0 || f.interval.low != f.interval.high) {
      return false;
    }
    const Fact* other = b.facts.find(f.term);
    return other != nullptr && other->interval.low == other->interval.high && other->interval != f.interval;
  });
}

PathState* Meeting::partner(std::vector<PathState>& states, const PathState& s) const {
  PathState* found = nullptr;
  size_t least = SIZE_MAX;
  size_t alike = 0;  // as far as the protocol goes
  for (PathState& existing : states) {
    if (!same_kind(existing, s)) continue;
    ++alike;
    // Counters that begin from different numbers, as those of what an unrolled loop leaves do, are counted by the
    // rounds as long as they are kept apart.
    if (!setting_.decisions_apart && (!setting_.by_rounds || !differs_for_good(existing, s))) return &existing;
    const size_t differences = existing.facts.differences(s.facts);
    if (differences >= least) continue;
    // While there is room for more, only one that decided the same.
    if (setting_.decisions_apart && differences != 0 && states.size() < kMostApart) continue;
    found = &existing;
    least = differences;
  }
  return !setting_.decisions_apart && alike < kMostCounted ? nullptr : found;
}

uint64_t Meeting::kind_of(const PathState& s) const {
  uint64_t hash = protocols_.hash_of_kind(s.protocol);
  const auto mix = [&](uint64_t n) { hash = (hash ^ n) * 0x9e3779b97f4a7c15u + (hash >> 29); };
  mix(s.gone_round);
  if (setting_.by_rounds) mix(1);
  for (const Waiting& w : s.waiting) mix((uint64_t{w.block} << 33) | (uint64_t{w.again} << 32) | w.lanes);
  return hash;
}

// The state that started the first time round, as long as it is the only one.
const PathState* Meeting::before_first_round(const PathState& s, const std::vector<PathState>& states,
                                             uint64_t bit) const {
  const PathState* first = nullptr;
  for (const PathState& other : states) {
    if ((other.gone_round & bit) != 0 || other.live != s.live || differs_for_good(other, s)) continue;
    if (first != nullptr) return nullptr;
    first = &other;
  }
  return first;
}

Value Meeting::restated(const Value& value, const PathState& s, const MeetingPlace& at, bool counts,
                        const Value* before) {
  if ((terms_.loops(value) & at.loop_bit) == 0) return counts ? rounds_.extrapolated(value, at, before) : value;
  // One round more has been gone than when it was computed.
  const bool may_count = counts && rounds_.may_be_counter(at.block, at.part);
  const uint64_t step = may_count ? rounds_.growth(value, at.block, at.loop_bit) : 0;
  if (step != 0) return minus(terms_, value, Value::of(step), at.width);
  return joins_.joined(at, {}, value, s.facts);
}

void Meeting::restate_at_head(PathState& s, const std::vector<PathState>& states, uint32_t head, uint64_t kind,
                              bool again, bool is_second) {
  const uint64_t bit = flow_.bit_of(flow_.headed(head));
  const bool counts = setting_.by_rounds && again && (s.gone_round & bit) != 0;
  const PathState* first = counts ? before_first_round(s, states, bit) : nullptr;
  MeetingPlace at{head, kind, bit, 0, 0};
  for (size_t n = 0; n < s.registers.size(); ++n) {
    Value& v = s.registers[n];
    if ((terms_.loops(v) & bit) == 0 && !counts) continue;
    at.part = (*s.live)[n];
    at.width = program_.register_width[at.part];
    v = restated(v, s, at, counts, first == nullptr ? nullptr : &first->registers[n]);
  }
  restate_memory(s, first, at, counts);
  const Facts before = s.facts;
  s.facts.forget(terms_, bit);
  if (counts) {
    rounds_.keep_facts(s.facts, before, head, bit);
    rounds_.set_count(s.facts, head, is_second);
  }
  restate_pending(s, bit);
}

void Meeting::restate_memory(PathState& s, const PathState* first, MeetingPlace at, bool counts) {
  bool any = counts;
  for (const Cell& c : s.memory.cells()) any = any || (terms_.loops(c.value) & at.loop_bit) != 0;
  if (!any) return;
  std::vector<Cell> cells = s.memory.cells();
  for (Cell& c : cells) {
    const Cell* before = nullptr;
    if (first != nullptr) {
      const std::vector<Cell>& all = first->memory.cells();
      const auto found = std::lower_bound(all.begin(), all.end(), c.address,
                                          [](const Cell& other, uint64_t a) { return other.address < a; });
      if (found != all.end() && found->address == c.address && found->bytes == c.bytes) before = &*found;
    }
    at.part = kMemoryPart | c.address;
    at.width = c.bytes * 8u;
    c.value = restated(c.value, s, at, counts, before == nullptr ? nullptr : &before->value);
  }
  s.memory.replace(std::move(cells));
}

// Where an access of an earlier round went is not known by the names of the round that begins.
void Meeting::restate_pending(PathState& s, uint64_t bit) {
  const auto somewhere = [&](uint32_t step) {
    return terms_.opaque(value::site_of(value::UnknownKind::kPendingAddress, step), setting_.warp, Uniformity::kWarp,
                         bit, 32);
  };
  s.protocol.loads = protocols_.loads.in_next_round(terms_, s.protocol.loads, bit, somewhere);
  s.protocol.stores = protocols_.stores.in_next_round(terms_, s.protocol.stores, bit, somewhere);
}

bool Meeting::merge(PathState& existing, const PathState& s, uint32_t block, bool head, uint64_t kind) {
  bool changed = false;
  MeetingPlace at{block, kind, head ? flow_.bit_of(flow_.headed(block)) : 0, 0, 0};
  const uint32_t truth = head ? 0 : existing.facts.opposite(s.facts);
  const bool in_existing = truth != 0 && existing.facts.find(truth)->interval.low != 0;
  const auto combine = [&](const Value& a, const Value& b, uint64_t part, unsigned width) -> Value {
    if (truth != 0 && terms_[a.base].depth < kMostSelectedDepth && terms_[b.base].depth < kMostSelectedDepth) {
      Value condition;
      condition.base = truth;
      const Value choices[3] = {condition, in_existing ? a : b, in_existing ? b : a};
      return terms_.apply({Op::kSelect, static_cast<uint8_t>(width), false, 0}, choices, 3);
    }
    at.part = part;
    at.width = width;
    return joins_.joined(at, a, b, s.facts);
  };
  for (size_t n = 0; n < existing.registers.size(); ++n) {
    Value& a = existing.registers[n];
    const Value& b = s.registers[n];
    if (a == b) continue;
    const uint32_t r = (*existing.live)[n];
    const Value v = combine(a, b, r, program_.register_width[r]);
    changed = changed || v != a;
    a = v;
  }
  if (!existing.memory.same(s.memory)) changed = merge_memory(existing, s, combine) || changed;
  const Facts before = existing.facts;
  joins_.join_facts(existing.facts, s.facts);
  changed = changed || !(before == existing.facts);
  changed = merge_protocol(existing, s) || changed;
  return changed || joins_.listing_changed();
}

template <typename Combine>
bool Meeting::merge_memory(PathState& existing, const PathState& s, Combine&& combine) {
  std::vector<Cell> out;
  const std::vector<Cell>& a = existing.memory.cells();
  const std::vector<Cell>& b = s.memory.cells();
  bool changed = false;
  size_t m = 0;
  for (const Cell& c : a) {
    while (m < b.size() && b[m].address < c.address) ++m;
    if (m == b.size() || b[m].address != c.address || b[m].bytes != c.bytes) {
      changed = true;  // written on one path only: not known
      continue;
    }
    Cell both = c;
    both.lanes |= b[m].lanes;
    if (c.value != b[m].value) both.value = combine(c.value, b[m].value, kMemoryPart | c.address, c.bytes * 8u);
    changed = changed || both.value != c.value;
    out.push_back(both);
  }
  if (changed) existing.memory.replace(std::move(out));
  return changed;
}

}  // namespace tmemlint::warp
