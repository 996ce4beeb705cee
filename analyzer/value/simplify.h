// What an operation is, said more simply, where not all of its arguments are numbers: another operation, a linear form,
// a number. Nothing where it is as simple as it can be; `count` arguments, none of which differs from lane to lane
// beside its base.
#pragma once

#include <optional>

#include "analyzer/value/arithmetic.h"

namespace tmemlint::value {

std::optional<Value> simplify(Arithmetic& terms, Operation operation, const Value* args, unsigned count);

// The same of one kind of operation each. In simplify_bits.cpp:
std::optional<Value> simplify_logic(Arithmetic& terms, Operation operation, const Value* args);  // and, or, xor
std::optional<Value> simplify_shift_right(Arithmetic& terms, Operation operation, const Value* args);
std::optional<Value> simplify_extract(Arithmetic& terms, Operation operation, const Value* args);  // bfe
std::optional<Value> simplify_insert(Arithmetic& terms, Operation operation, const Value* args);   // bfi
std::optional<Value> simplify_permute(Arithmetic& terms, const Value* args);                       // prmt
std::optional<Value> simplify_lop3(Arithmetic& terms, Operation operation, const Value* args);
std::optional<Value> simplify_extension(Arithmetic& terms, Operation operation, const Value* args);  // from aux bits
// In simplify_truths.cpp:
std::optional<Value> simplify_select(Arithmetic& terms, Operation operation, const Value* args);
std::optional<Value> simplify_equal(Arithmetic& terms, Operation operation, const Value* args);
std::optional<Value> simplify_less(Arithmetic& terms, Operation operation, const Value* args);
// Of a truth value, or a choice between two numbers, with numbers: worked out for both truths.
std::optional<Value> simplify_of_truth(Arithmetic& terms, Operation operation, const Value* args, unsigned count);

}  // namespace tmemlint::value
