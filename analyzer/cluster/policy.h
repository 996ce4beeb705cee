// How a scenario decides what is unknown.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "analyzer/assumptions/assumptions.h"

namespace tmemlint::cluster {

struct Policy {
  uint32_t trips = assumptions::kRounds;  // times round a loop whose end is not known
  std::set<uint32_t> flipped;             // blocks whose branch is decided the other way than usual
  // In which rounds of the loop that it is in: data changes from round to round.
  enum class In : uint8_t { kAllRounds, kFirstRound, kOddRounds, kLastRound } flipped_in = In::kAllRounds;
  // Loops that are let run more often than `trips` at least: a ring's stages come back in the end.
  std::map<uint32_t, uint32_t> least;
  uint32_t gives_up = UINT32_MAX;  // block whose branch ends a poll for which nothing came, after a number of tries
  // A condition that selects a number (a term), and what it is to be.
  std::optional<std::pair<uint32_t, bool>> selection;
  // A way that no scenario let a branch go: it goes there the first time that it can.
  struct Toward {
    uint32_t block = 0;
    size_t way = 0;
    // The condition on parameters that makes it so, and its truth, where that is known: it is decided before all else.
    std::optional<std::pair<uint32_t, bool>> condition;
  };
  std::optional<Toward> toward;
  // Rounds of loops that count through arrays of shared memory: more than these there is no room for.
  std::map<uint32_t, uint32_t> room;
  unsigned occasions = 2;  // how often the usual scenario came to a branch that this policy decides another way

  uint32_t room_of(uint32_t loop) const {
    const auto at = room.find(loop);
    return at == room.end() ? UINT32_MAX : at->second;
  }
  uint32_t trips_of(uint32_t loop) const {
    const auto at = least.find(loop);
    return at == least.end() ? trips : std::max(trips, at->second);
  }
  // Whether the branch of a block goes the other way than usual in this round, counted from 0, of a loop.
  bool flips(uint32_t block, uint32_t loop, uint32_t round) const {
    if (!flipped.contains(block)) return false;
    switch (flipped_in) {
      case In::kAllRounds:
        return true;
      case In::kFirstRound:
        return round == 0;
      case In::kOddRounds:
        return round % 2 == 1;
      case In::kLastRound:
        return round + 1 == trips_of(loop);
    }
    return true;
  }
  bool usual() const {
    return flipped.empty() && !selection && !toward && trips == Policy{}.trips && gives_up == UINT32_MAX;
  }
};

// The other numbers of times that loops are let run.
inline constexpr auto kOtherTrips = std::to_array(assumptions::kOtherRounds);

}  // namespace tmemlint::cluster
