// The registry of what the analysis assumes and of the limits that it sets itself, and the counters of their uses.
// The rows are in assumptions.def.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tmemlint::assumptions {

// The numbers: kStatesAtABlock is one, kOtherRounds an array.
#define ASSUMPTION(...)
#define LIMIT(name, number, ...) inline constexpr uint64_t k##name = number;
#define TMEMLINT_NUMBERS(...) \
  { __VA_ARGS__ }
#define NUMBERS(name, numbers, ...) inline constexpr uint64_t k##name[] = TMEMLINT_NUMBERS numbers;
#include "analyzer/assumptions/assumptions.def"
#undef ASSUMPTION
#undef LIMIT
#undef NUMBERS

enum class Id : uint8_t {
#define ASSUMPTION(name, ...) k##name,
#define LIMIT(name, ...) k##name,
#define NUMBERS(name, ...) k##name,
#include "analyzer/assumptions/assumptions.def"
#undef ASSUMPTION
#undef LIMIT
#undef NUMBERS
};

// How many rows there are.
inline constexpr size_t kRows = 0
// NOLINTBEGIN(bugprone-macro-parentheses): the rows are summands.
#define ASSUMPTION(...) +1
#define LIMIT(...) +1
#define NUMBERS(...) +1
#include "analyzer/assumptions/assumptions.def"
#undef ASSUMPTION
#undef LIMIT
#undef NUMBERS
    // NOLINTEND(bugprone-macro-parentheses)
    ;

enum class Area : uint8_t {
  kInput,
  kLaunch,
  kControlFlow,
  kLayout,
  kSlice,
  kValues,
  kOneWarp,
  kScenarios,
  kTogether,
  kRules
};

// How a user sees that it was relied on.
enum class Shown : uint8_t {
  kError,       // as an error of the input
  kIncomplete,  // as an incomplete place
  kLevel,       // in the level of a finding
  kSaid,        // as a sentence of the report
  kOpen,        // less is known: what depends on it is not judged, or is an incomplete place
  kReport,      // in what the report leaves out
  kSilent,      // not at all
};

struct Row {
  std::string id;  // "states-at-a-block"
  Area area;
  Shown shown;
  std::string_view how;          // it shows, or why it does not
  std::string_view not_counted;  // why; empty where uses are counted
  std::string sentence;          // with its numbers
  std::span<const uint64_t> numbers;
};

// All rows, in the order of their ids' enumerators.
const std::vector<Row>& rows();
inline const Row& row(Id id) {
  return rows()[static_cast<size_t>(id)];
}
std::string_view to_string(Area area);
std::string_view to_string(Shown shown);

// How often each was relied on.
class Uses {
public:
  void count(Id id, uint64_t times = 1) { times_[static_cast<size_t>(id)] += times; }
  uint64_t of(Id id) const { return times_[static_cast<size_t>(id)]; }
  void add(const Uses& other) {
    for (size_t n = 0; n < kRows; ++n) times_[n] += other.times_[n];
  }

private:
  std::array<uint64_t, kRows> times_{};
};

// docs/limits.md.
std::string page();

}  // namespace tmemlint::assumptions
