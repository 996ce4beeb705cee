// tmem-operand-race: shared memory that mma and cp read, and what writes it (ISA 9.7.16.6.2, 9.7.16.12).
#include "rules/between_warps.h"

namespace tmemlint::rules {

namespace {

void check_operand_race(Context& context) {
  for_each(context, {ProblemKind::kOperandOverwritten, ProblemKind::kOperandEarly}, [&](const Problem& p) {
    const auto& race = p.as<cluster::OperandRace>();
    const std::string read = name(context, race.read.instruction);
    const std::string write = name(context, race.write.instruction);
    switch (race.kind) {
      case cluster::OperandRace::Kind::kOverwritten: {
        Draft d = draft(
            p, report::Level::kError,
            write + " writes over shared memory that " + read + other_warp_text(p, " of warp ") + " may still read: " +
                (race.ordered ? "that it was issued does not mean that it is complete; wait for the "
                                "arrival of a tcgen05.commit behind it"
                              : "nothing orders the two; wait for the arrival of a tcgen05.commit behind it"));
        d.related.emplace_back(p.other, "may still read it");
        return d;
      }
      case cluster::OperandRace::Kind::kCopyUnseen: {
        Draft d = draft(p, report::Level::kError,
                        read +
                            " reads shared memory before the copy that brings it is known to be complete: wait for the "
                            "phase of its mbarrier, or for its group, on the way here");
        d.related.emplace_back(p.other, "the copy");
        return d;
      }
      case cluster::OperandRace::Kind::kStoreUnseen: {
        Draft d = draft(p, report::Level::kError,
                        read + " reads shared memory that " + write + other_warp_text(p, " of warp ") +
                            " stores, and nothing orders the two: it may read old bytes");
        d.related.emplace_back(p.other, "the store");
        return d;
      }
      case cluster::OperandRace::Kind::kStoreNotHeld:
        break;
    }
    Draft d = draft(p, report::Level::kError,
                    name(context, p.at) +
                        " hands over what other lanes of the warp may still store: they left a branch "
                        "or loop at another time and nothing joins them; execute bar.warp.sync ahead "
                        "of it");
    d.related.emplace_back(race.write.instruction, "the store");
    if (race.read.instruction != p.at) d.related.emplace_back(race.read.instruction, "reads it");
    return d;
  });
}

}  // namespace

extern const Rule kOperandRace;
const Rule kOperandRace = {
    "tmem-operand-race",
    report::Level::kError,
    "Shared memory that an mma or cp reads is written while it may still be read, or read before what brings it is "
    "complete.",
    "Let the writer wait for a commit behind the mma or cp, and the mma or cp for the copy's mbarrier or group.",
    check_operand_race,
};

}  // namespace tmemlint::rules
