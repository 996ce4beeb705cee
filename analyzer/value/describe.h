// A value as text, for who debugs the analysis: nothing that the command prints comes from here.
#pragma once

#include <string>

#include "analyzer/value/term_store.h"

namespace tmemlint::value {

// Such as "4*x12 + min(join7, 3) + 16 + by lane, only in lanes 0x1": terms by number, operations by name.
std::string describe(const TermStore& terms, const Value& value);

}  // namespace tmemlint::value
