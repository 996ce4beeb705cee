// Shared by the two rules on tcgen05.wait: which columns an access touches.
#pragma once

#include "rules/facts.h"

namespace tmemlint::rules {

// What an access of one warp touches, from its address on. Empty (columns == 0) when it cannot be told.
struct Footprint {
  uint32_t allocation = 0;
  uint32_t lane = 0, lanes = 0;
  uint32_t column = 0, columns = 0;
};
Footprint footprint(const Context& context, const value::Value& address, uint32_t executing, const ptx::Form& form);
bool overlap(const Footprint& a, const Footprint& b);
// Whether two accesses on one path start at the same address, whichever that is.
inline bool same_start(const value::Value& a, const value::Value& b) {
  return a.base != 0 && a == b;
}

}  // namespace tmemlint::rules
