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
  // Loops that go round until the state of all warps comes back, or so often that this is given up (Returns).
  std::set<uint32_t> endless;
  unsigned occasions = 2;  // how often the usual scenario came to a branch that this policy decides another way

  bool usual() const { return flipped.empty() && !selection && endless.empty() && trips == Policy{}.trips; }
};

// The other numbers of times that loops are let run.
inline constexpr auto kOtherTrips = std::to_array(assumptions::kOtherRounds);

}  // namespace tmemlint::cluster
