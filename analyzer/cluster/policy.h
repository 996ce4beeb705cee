// How a scenario decides what is unknown.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <utility>

#include "analyzer/assumptions/assumptions.h"

namespace tmemlint::cluster {

struct Policy {
  uint32_t trips = assumptions::kRounds;  // times round a loop whose end is not known
  std::set<uint32_t> flipped;             // blocks whose branch is decided the other way than usual
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
  unsigned occasions = 2;  // how often the usual scenario came to a branch that this policy decides another way

  bool usual() const { return flipped.empty() && !selection && !toward && trips == Policy{}.trips; }
};

// The other numbers of times that loops are let run.
inline constexpr auto kOtherTrips = std::to_array(assumptions::kOtherRounds);

}  // namespace tmemlint::cluster
