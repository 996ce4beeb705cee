// Which of two problems is reported where one of them only follows from the other: what has one cause is one finding.
//
// The table says it row by row. A problem that some row drops is gone from every rule, so that a new row needs a
// reason: who changes what the one problem is about must thereby have changed the other one too.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "rules/problems.h"

namespace tmemlint::rules {

// Which instruction of a problem is meant.
enum class End : uint8_t {
  kAt,
  kOther,
  kBoth,  // both, in either order
};

struct Precedence {
  enum class Relation : uint8_t {
    kYields,  // dropped where the other one is there
    kNeeds,   // dropped where the other one is not there
  };
  std::optional<ProblemKind> kind;  // none: of any kind but that of `of`
  Relation relation = Relation::kYields;
  ProblemKind of = ProblemKind::kUnallocated;  // the other problem's kind
  // The two meet where these are the same.
  End end = End::kAt;
  End of_end = End::kAt;
  bool only_certain = false;  // only if the other one is certain (Problem::certain)
  std::string_view why;
  bool unless_certain = false;  // a problem that is certain itself is not dropped
};

std::span<const Precedence> precedences();

// Drops what follows from other problems of the list; with mixed .cta_group values all that is about pairs too.
void drop_consequences(std::vector<Problem>& problems, bool mixes_groups);

}  // namespace tmemlint::rules
