// What is known of a term because of what it is made of.
#pragma once

#include "analyzer/value/term_store.h"

namespace tmemlint::value {

// Fills in a new operation (TermKind::kPure) or sum (TermKind::kSum) from its arguments: over which threads it is the
// same, the loops that renew it, its depth, and the bits that are 0. An operation may tell something of its arguments,
// too: that one of them is a divisor.
void derive_operation(TermStore& terms, Term& term);
void derive_sum(const TermStore& terms, Term& sum);

// Has to be called of an operation that gives the same for (a, b) and (b, a): exchanged between lanes, as reductions
// do it, its result is the same in both.
void note_commutative(TermStore& terms, uint32_t term, const Value& a, const Value& b);

}  // namespace tmemlint::value
