#include "analyzer/warp/shared_sets.h"

namespace tmemlint::warp {

uint32_t SharedSets::branch(uint64_t prefix, uint32_t first, uint32_t second) {
  Node node;
  node.prefix = prefix;
  node.loops = nodes_[first].loops | nodes_[second].loops;
  node.size = nodes_[first].size + nodes_[second].size;
  node.parts[0] = first;
  node.parts[1] = second;
  nodes_.push_back(node);
  return static_cast<uint32_t>(nodes_.size() - 1);
}

uint32_t SharedSets::side_by_side(uint32_t a, uint32_t b) {
  const uint64_t x = some_key(nodes_[a]);
  const uint64_t y = some_key(nodes_[b]);
  const uint64_t bit = std::bit_floor(x ^ y);
  const uint64_t prefix = (x & ~(bit * 2 - 1)) | bit;
  return (x & bit) == 0 ? branch(prefix, a, b) : branch(prefix, b, a);
}

uint32_t SharedSets::set_of(std::span<const uint32_t> elements) {
  if (elements.size() <= kGroup) {
    if (elements.size() == 1) return only(elements.front());
    Node node;
    node.size = static_cast<uint32_t>(elements.size());
    for (uint32_t n = 0; n < node.size; ++n) {
      node.loops |= elements_[elements[n]].loops;
      node.parts[n] = elements[n];
    }
    nodes_.push_back(node);
    return static_cast<uint32_t>(nodes_.size() - 1);
  }
  const uint64_t low = key_of(elements.front());
  const uint64_t bit = std::bit_floor(low ^ key_of(elements.back()));
  size_t half = 1;
  while ((key_of(elements[half]) & bit) == 0) ++half;
  const uint32_t first = set_of(elements.first(half));
  return branch((low & ~(bit * 2 - 1)) | bit, first, set_of(elements.subspan(half)));
}

uint32_t SharedSets::only(uint32_t element) {
  Element& e = elements_[element];
  if (e.alone == kEmpty) {
    Node node;
    node.loops = e.loops;
    node.size = 1;
    node.parts[0] = element;
    e.alone = static_cast<uint32_t>(nodes_.size());
    nodes_.push_back(node);
  }
  return e.alone;
}

uint32_t SharedSets::with(uint32_t set, uint32_t element) {
  if (set == kEmpty) return only(element);
  if (nodes_[set].added == element) return nodes_[set].with_added;
  const uint32_t result = inserted(set, element, [&](uint32_t) { return element; });
  nodes_[set].added = element;
  nodes_[set].with_added = result;
  return result;
}

uint32_t SharedSets::find(uint32_t set, uint64_t key, uint64_t ignored_bits) const {
  while (!is_group(set)) {
    const uint64_t bit = lowest_bit(nodes_[set].prefix);
    set = nodes_[set].parts[(bit & ignored_bits) == 0 && (key & bit) != 0];
  }
  for (uint32_t element : group(set)) {
    if (((key_of(element) ^ key) & ~ignored_bits) == 0) return element;
  }
  return kNotThere;
}

}  // namespace tmemlint::warp
