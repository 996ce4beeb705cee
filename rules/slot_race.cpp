// tmem-slot-race: the word of shared memory that holds a TMEM address is read or written too early.
#include "rules/sightings.h"

namespace tmemlint::rules {

namespace {

using cluster::Fault;
using cluster::Sighting;

void check_slot_race(Context& context) {
  for_each(context, {Fault::kSlotRead, Fault::kSlotOverwritten}, [&](const Sighting& s) {
    if (s.fault == Fault::kSlotRead) {
      Draft d = draft(s, report::Level::kError,
                      "this reads the address that the alloc of warp " + std::to_string(s.other_warp) +
                          " writes, but no barrier orders the alloc before it: it may read what was there before");
      d.related.emplace_back(s.other, "the alloc that writes the slot");
      return d;
    }
    if (s.first == 1) {
      Draft d = draft(s, report::Level::kError,
                      "this writes to the place of the TMEM address that the alloc of warp " +
                          std::to_string(s.other_warp) + " writes, and no barrier orders the two: either may be left");
      d.related.emplace_back(s.other, "the alloc that writes the slot");
      return d;
    }
    Draft d = draft(s, report::Level::kError,
                    "this overwrites the TMEM address that an alloc wrote to shared memory, while warp " +
                        std::to_string(s.other_warp) + " may not have read it yet: no barrier lies between");
    d.related.emplace_back(s.other, "the alloc that wrote the address");
    if (s.third != kNone) d.related.emplace_back(s.third, "reads it");
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
