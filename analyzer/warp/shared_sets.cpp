#include "analyzer/warp/shared_sets.h"

namespace tmemlint::warp {

uint32_t SharedSets::intern(const Node& node) {
  constexpr uint64_t kFactor = 0x9e3779b97f4a7c15u;
  uint64_t hash = (node.prefix ^ (uint64_t{node.left} << 32) ^ node.right) * kFactor;
  hash ^= hash >> 29;
  hash *= kFactor;
  const uint32_t found = index_.find(hash, [&](uint32_t n) {
    const Node& other = nodes_[n];
    return other.prefix == node.prefix && other.left == node.left && other.right == node.right;
  });
  if (found != 0) return found;
  index_.add(hash);
  nodes_.push_back(node);
  return static_cast<uint32_t>(nodes_.size() - 1);
}

uint32_t SharedSets::element_of(uint64_t key, uint32_t element, uint64_t loops) {
  return intern({key, loops, element, kEmpty, 1});
}

uint32_t SharedSets::branch(uint64_t prefix, uint32_t left, uint32_t right) {
  const Node& l = nodes_[left];
  const Node& r = nodes_[right];
  return intern({prefix, l.loops | r.loops, left, right, l.size + r.size});
}

uint32_t SharedSets::side_by_side(uint32_t a, uint32_t b) {
  const uint64_t x = nodes_[a].prefix;
  const uint64_t y = nodes_[b].prefix;
  const uint64_t bit = std::bit_floor(x ^ y);
  const uint64_t prefix = (x & ~(bit * 2 - 1)) | bit;
  return (x & bit) == 0 ? branch(prefix, a, b) : branch(prefix, b, a);
}

uint32_t SharedSets::with(uint32_t set, uint64_t key, uint32_t element, uint64_t loops) {
  return united(set, element_of(key, element, loops), [](uint32_t, uint32_t added) { return added; });
}

uint32_t SharedSets::find(uint32_t set, uint64_t key, uint64_t ignored_bits) const {
  if (set == kEmpty) return kNotThere;
  while (!is_element(set)) {
    const Node& node = nodes_[set];
    const uint64_t bit = lowest_bit(node.prefix);
    if ((bit & ignored_bits) == 0 && (key & bit) != 0) {
      set = node.right;
    } else {
      set = node.left;
    }
  }
  return ((nodes_[set].prefix ^ key) & ~ignored_bits) == 0 ? element(set) : kNotThere;
}

}  // namespace tmemlint::warp
