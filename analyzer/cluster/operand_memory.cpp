#include "analyzer/cluster/operand_memory.h"

namespace tmemlint::cluster {

bool OperandCopies::any_unsized(uint32_t begin, uint32_t end, const WarpEvent& after) const {
  for (auto at = unsized_.lower_bound(begin); at != unsized_.end() && at->first <= end; ++at) {
    if (after.event <= at->second[after.warp]) return true;
  }
  return false;
}

}  // namespace tmemlint::cluster
