// States that reach the same block: which of them become one, and what is then known.
#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/warp/evaluate.h"
#include "analyzer/warp/flow.h"
#include "analyzer/warp/joins.h"
#include "analyzer/warp/path_state.h"
#include "analyzer/warp/rounds.h"

namespace tmemlint::warp {

class Meeting {
public:
  Meeting(const Setting& setting, const Flow& flow, ProtocolTable& protocols)
      : setting_(setting),
        program_(*setting.program),
        flow_(flow),
        terms_(*setting.terms),
        protocols_(protocols),
        rounds_(setting, flow),
        joins_(setting, flow, rounds_) {}

  // A state is about to reach a block; `times`: how often the loop that it is the head of has been followed.
  void begin(unsigned times) { joins_.begin(times); }

  // The state that another one is merged with, if any: the one that decided the most alike.
  PathState* partner(std::vector<PathState>& states, const PathState& s) const;

  // What tells states apart that are not merged, as a number: joins are named by it.
  uint64_t kind_of(const PathState& s) const;

  // At a loop's head, what the last time round computed becomes "the value at the head". `states`: those that have
  // reached the head before. `again`: it came round the loop, `is_second`: for the first time.
  void restate_at_head(PathState& s, const std::vector<PathState>& states, uint32_t head, uint64_t kind, bool again,
                       bool is_second);

  // `existing` becomes what holds of both; true when that changed it. `head`: of a loop.
  bool merge(PathState& existing, const PathState& s, uint32_t block, bool head, uint64_t kind);

  // The protocol of `existing` becomes what may be so on either path; true when that changed it.
  bool merge_protocol(PathState& existing, const PathState& s) {
    return protocols_.merge(terms_, existing.protocol, s.protocol);
  }

private:
  bool same_kind(const PathState& a, const PathState& b) const {
    return a.waiting == b.waiting && a.gone_round == b.gone_round && protocols_.alike(a.protocol, b.protocol);
  }
  bool differs_for_good(const PathState& a, const PathState& b) const;
  const PathState* before_first_round(const PathState& s, const std::vector<PathState>& states, uint64_t bit) const;
  Value restated(const Value& value, const PathState& s, const MeetingPlace& at, bool counts, const Value* before);
  void restate_memory(PathState& s, const PathState* first, MeetingPlace at, bool counts);
  void restate_pending(PathState& s, uint64_t bit);
  template <typename Combine>
  bool merge_memory(PathState& existing, const PathState& s, Combine&& combine);

  const Setting& setting_;
  const Program& program_;
  const Flow& flow_;
  Terms& terms_;
  ProtocolTable& protocols_;
  Rounds rounds_;
  Joins joins_;
};

}  // namespace tmemlint::warp
