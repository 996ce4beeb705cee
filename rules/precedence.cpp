#include "rules/precedence.h"

#include <algorithm>
#include <set>
#include <utility>

namespace tmemlint::rules {

namespace {

using Kind = ProblemKind;
constexpr auto kYields = Precedence::Relation::kYields;
constexpr auto kNeeds = Precedence::Relation::kNeeds;

constexpr Precedence kTable[] = {
    {Kind::kWaitNeverEnds, kYields, Kind::kTooManyArrivals, End::kAt, End::kOther, false,
     "the phases of an mbarrier drift with its arrivals, and a wait for one of them never ends"},
    {Kind::kWaitOvertaken, kYields, Kind::kTooManyArrivals, End::kOther, End::kAt, false,
     "arrivals that come too early complete phases too early"},
    {Kind::kWaitOvertaken, kYields, Kind::kMaskWithoutPair, End::kOther, End::kAt, false,
     "a mask that names the wrong CTAs completes phases of theirs"},
    {Kind::kLeftAllocated, kNeeds, Kind::kForeignDealloc, End::kAt, End::kOther, false,
     "the paths of the warp that allocates tell it better, unless another warp frees"},
    {Kind::kLeftAllocated, kYields, Kind::kSeveralWarps, End::kAt, End::kAt, false,
     "each of several warps allocates, and one address is kept: the others cannot be freed"},
    {Kind::kDeallocRace, kYields, Kind::kSeveralWarps, End::kAt, End::kAt, false,
     "one of several warps that execute a dealloc comes too early"},
    {Kind::kOutOfBounds, kYields, Kind::kAllocSize, End::kOther, End::kAt, false,
     "how many columns an alloc of an illegal size gives is not known"},
    {Kind::kDeallocSize, kYields, Kind::kAllocSize, End::kOther, End::kAt, false,
     "a size that was rounded up in the alloc alone was meant to be one number"},
    {Kind::kUnordered, kYields, Kind::kNotComplete, End::kBoth, End::kBoth, true,
     "who waits for the completion of an operation comes after it", true},
    {Kind::kNotComplete, kYields, Kind::kUnordered, End::kBoth, End::kBoth, true,
     "what reads before anything is there should wait for the write, in later rounds too", true},
    {Kind::kOperandOverwritten, kYields, Kind::kOperandEarly, End::kBoth, End::kBoth, false,
     "what is read before it is there is written while it may still be read", true},
    {std::nullopt, kYields, Kind::kIssuedTwice, End::kAt, End::kAt, false,
     "what the second issue of an operation does is not meant to be done"},
    {std::nullopt, kYields, Kind::kIssuedTwice, End::kOther, End::kAt, false,
     "what the second issue of an operation does is not meant to be done"},
};

using Meeting = std::pair<uint32_t, uint32_t>;
Meeting meeting(const Problem& p, End end) {
  switch (end) {
    case End::kAt:
      return {p.at, 0};
    case End::kOther:
      return {p.other, 0};
    case End::kBoth:
      break;
  }
  return std::minmax(p.at, p.other);
}

// Where the problems that a row drops others for are.
std::set<Meeting> meetings(const Precedence& row, const std::vector<Problem>& problems) {
  std::set<Meeting> out;
  for (const Problem& p : problems) {
    if (p.kind == row.of && (p.certain || !row.only_certain)) out.insert(meeting(p, row.of_end));
  }
  return out;
}

bool is_dropped(const Precedence& row, const std::set<Meeting>& others, const Problem& p) {
  if (row.kind ? p.kind != *row.kind : p.kind == row.of) return false;
  if (row.unless_certain && p.certain) return false;
  return others.contains(meeting(p, row.end)) == (row.relation == kYields);
}

}  // namespace

std::span<const Precedence> precedences() {
  return kTable;
}

void drop_consequences(std::vector<Problem>& problems, bool mixes_groups) {
  std::vector<bool> dropped(problems.size(), false);
  for (const Precedence& row : kTable) {
    const std::set<Meeting> others = meetings(row, problems);
    if (others.empty() && row.relation == kYields) continue;
    for (size_t n = 0; n < problems.size(); ++n) {
      if (is_dropped(row, others, problems[n])) dropped[n] = true;
    }
  }
  // A wait that a phase overtakes is one that may never end; where two rounds are over before the first was waited for,
  // the arrivals are too many.
  for (size_t n = 0; n < problems.size(); ++n) {
    const auto* hang = problems[n].if_shown_by<cluster::Hang>();
    if (hang == nullptr) continue;
    for (size_t k = 0; k < problems.size(); ++k) {
      if (problems[k].kind == Kind::kWaitOvertaken && problems[k].at == problems[n].other)
        dropped[hang->overtaken ? k : n] = true;
    }
  }
  // Warps that race may also miss each other's phases: the race says what is missing. Which warps show a race first
  // says little of which others do.
  const bool any_race = std::any_of(problems.begin(), problems.end(), [](const Problem& p) {
    return p.kind == Kind::kUnordered || p.kind == Kind::kNotComplete || p.kind == Kind::kOperandEarly ||
           p.kind == Kind::kOperandOverwritten;
  });
  for (size_t n = 0; n < problems.size(); ++n) {
    const auto* overtaken = problems[n].if_shown_by<cluster::OvertakenWait>();
    if (overtaken != nullptr && !overtaken->stale && any_race) dropped[n] = true;
  }
  // One .cta_group for all of a kernel: where that is broken, nothing about pairs means anything.
  for (size_t n = 0; n < problems.size(); ++n) {
    if (mixes_groups && traits_of(problems[n].kind).about_pairs) dropped[n] = true;
  }
  std::vector<Problem> kept;
  for (size_t n = 0; n < problems.size(); ++n) {
    if (!dropped[n]) kept.push_back(problems[n]);
  }
  problems = std::move(kept);
}

}  // namespace tmemlint::rules
