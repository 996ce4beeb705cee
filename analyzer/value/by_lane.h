// Operations on what differs from lane to lane: on numbers, on a base beside numbers, on groups of lanes.
#pragma once

#include <optional>

#include "analyzer/value/arithmetic.h"

namespace tmemlint::value {

// An operation on numbers that differ from lane to lane.
Value apply_by_lane(LaneTables& tables, Operation operation, const Value* args, unsigned count);

// The operation on the base, and on the numbers by lane, apart from each other: what these do not interfere with is
// worked out once for all lanes. Nothing where they do interfere.
std::optional<Value> beside_base(Arithmetic& terms, Operation operation, const Value* args);

// An operation on a choice that all lanes make in the same way, between values that differ from lane to lane: the
// choice between its results, where these do not differ.
std::optional<Value> by_choice(Arithmetic& terms, Operation operation, const Value* args, unsigned count);

// Lanes with the same arguments are worked out together; the results are put together again if one base can express
// them, else the operation is kept as a term with a value per lane.
Value by_groups(Arithmetic& terms, Operation operation, const Value* args, unsigned count);

// `on` in the lanes of the mask, `off` in the others. When no common base can express it, an unknown per lane named
// by the site.
Value blend(TermStore& terms, uint32_t mask, const Value& on, const Value& off, uint64_t site, uint64_t loops,
            unsigned width);

// What the lanes that differ in one bit hold (shfl.bfly); nothing where that is not one term.
std::optional<Value> butterfly(Arithmetic& terms, const Value& value, unsigned bit_of_lane);

}  // namespace tmemlint::value
