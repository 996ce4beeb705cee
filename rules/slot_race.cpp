// tmem-slot-race: the word of shared memory that holds a TMEM address is read or written too early.
#include <map>

#include "rules/between_warps.h"

namespace tmemlint::rules {

namespace {

using cluster::SlotRace;

void check_slot_race(Context& context) {
  std::map<uint32_t, uint32_t> first;  // by alloc: the access that is told of
  for_each(context, {ProblemKind::kAccessBesideAlloc}, [&](const Problem& p) -> std::optional<Draft> {
    if (first.try_emplace(p.other, p.at).first->second != p.at) return std::nullopt;
    Draft d = draft(p, report::Level::kError,
                    name(context, p.at) + " touches column " + std::to_string(p.as<cluster::StrayAccess>().column) +
                        " by a literal address, but no barrier orders the alloc" + other_warp_text(p) +
                        " before it: it may come before anything is allocated");
    d.related.emplace_back(p.other, "the alloc that it relies on");
    return d;
  });
  for_each(context, {ProblemKind::kSlotReadEarly, ProblemKind::kSlotOverwritten}, [&](const Problem& p) {
    const auto& race = p.as<SlotRace>();
    const std::string warp = warp_text(race.other);
    switch (race.kind) {
      case SlotRace::Kind::kReadBesideAlloc: {
        Draft d = draft(p, report::Level::kError,
                        "this reads the address that the alloc of " + warp +
                            " writes, but no barrier orders the alloc before it: it may read what was there before");
        d.related.emplace_back(race.alloc, "the alloc that writes the slot");
        return d;
      }
      case SlotRace::Kind::kWriteBesideAlloc: {
        Draft d = draft(p, report::Level::kError,
                        "this writes to the place of the TMEM address that the alloc of " + warp +
                            " writes, and no barrier orders the two: either may be left");
        d.related.emplace_back(race.alloc, "the alloc that writes the slot");
        return d;
      }
      case SlotRace::Kind::kWriteBesideRead:
        break;
    }
    Draft d = draft(p, report::Level::kError,
                    "this overwrites the TMEM address that an alloc wrote to shared memory, while " + warp +
                        " may not have read it yet: no barrier lies between");
    d.related.emplace_back(race.alloc, "the alloc that wrote the address");
    if (race.read != kNone) d.related.emplace_back(race.read, "reads it");
    return d;
  });
}

}  // namespace

extern const Rule kSlotRace;
const Rule kSlotRace = {
    "tmem-slot-race",
    report::Level::kError,
    "The address that alloc writes to shared memory is read too early, or overwritten too early.",
    "Put a CTA barrier between the alloc and the first read, and between the last read and the next write of the slot.",
    check_slot_race,
};

}  // namespace tmemlint::rules
