#include "analyzer/cluster/shared_words.h"

namespace tmemlint::cluster {

void SharedWords::erase(uint32_t begin, uint32_t end) {
  auto at = first(begin);
  while (at != words_.end() && at->first < end) {
    if (at->first + at->second.bytes > begin) {
      at = words_.erase(at);
    } else {
      ++at;
    }
  }
}

SharedWords::Copied SharedWords::copied(uint32_t address, uint32_t bytes) const {
  auto region = copied_.upper_bound(address);
  if (region == copied_.begin()) return {};
  --region;
  if (address + bytes > region->second.end) return {};
  return {region->first, region->second.serial};
}

}  // namespace tmemlint::cluster
