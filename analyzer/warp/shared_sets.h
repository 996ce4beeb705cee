// Sets that many points of many paths share: of the loads and stores of Tensor Memory that a warp has under way.
//
// A set never changes. It has a number; sets with the same content have the same number, and 0 is the empty one. To add
// one element to a set of n makes a new set that shares all but about log n parts with the old one, so that each event
// can carry the whole set, and what is kept grows with the number of events and not with its square.
//
// A set is a binary tree by the bits of its elements' keys (a big-endian Patricia tree: Okasaki and Gill, "Fast
// mergeable integer maps", 1998). The shape of the tree follows from its content alone.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "analyzer/value/value.h"

namespace tmemlint::warp {

// Sets of numbered elements, each under a key, in the order of the keys.
class SharedSets {
public:
  static constexpr uint32_t kEmpty = 0;

  // A part of a set is a set too: one element, or two parts of which the first has the smaller keys.
  bool is_element(uint32_t set) const { return nodes_[set].right == kEmpty; }
  uint32_t element(uint32_t set) const { return nodes_[set].left; }
  uint32_t first_part(uint32_t set) const { return nodes_[set].left; }
  uint32_t second_part(uint32_t set) const { return nodes_[set].right; }
  uint32_t size(uint32_t set) const { return nodes_[set].size; }
  // The loops that any of the elements varies with.
  uint64_t loops(uint32_t set) const { return nodes_[set].loops; }
  // The element under a key, of those with the lower bits ignored the first; kNotThere when there is none.
  static constexpr uint32_t kNotThere = 0xffffffffu;
  uint32_t find(uint32_t set, uint64_t key, uint64_t ignored_bits = 0) const;
  // How many parts all sets together have: what they take in memory.
  size_t parts() const { return nodes_.size(); }

  // The set with one element more, or another one under that key.
  uint32_t with(uint32_t set, uint64_t key, uint32_t element, uint64_t loops);
  // The set of what is in either; `choose(x, y)` of two elements under one key.
  template <typename Choose>
  uint32_t united(uint32_t a, uint32_t b, Choose&& choose);
  // The set with some elements replaced: `replace(element)` returns a set of what takes its place, of all elements that
  // vary with one of the loops.
  template <typename Replace>
  uint32_t replaced(uint32_t set, uint64_t loops, Replace&& replace);

  // Goes through a set in the order of the keys.
  class Iterator {
  public:
    Iterator() = default;
    Iterator(const SharedSets* sets, uint32_t set) : sets_(sets) {
      if (set != kEmpty) descend(set);
    }
    uint32_t operator*() const { return sets_->element(open_[depth_ - 1]); }
    Iterator& operator++() {
      --depth_;
      if (depth_ != 0) descend(open_[--depth_]);
      return *this;
    }
    // Only to be compared with the end.
    bool operator==(const Iterator& end) const { return depth_ == end.depth_; }

  private:
    // To the first element of a set; the second parts on the way come later.
    void descend(uint32_t set) {
      while (!sets_->is_element(set)) {
        open_[depth_++] = sets_->second_part(set);
        set = sets_->first_part(set);
      }
      open_[depth_++] = set;
    }
    const SharedSets* sets_ = nullptr;
    unsigned depth_ = 0;
    std::array<uint32_t, 66> open_;  // a key has 64 bits, so that a tree is no deeper
  };

private:
  // An element: its key, and its number in `left`. Else what the keys have in common, then a 1 where they differ first,
  // then zeros.
  struct Node {
    uint64_t prefix = 0;
    uint64_t loops = 0;
    uint32_t left = kEmpty;
    uint32_t right = kEmpty;
    uint32_t size = 0;
  };

  static uint64_t lowest_bit(uint64_t prefix) { return prefix & (~prefix + 1); }
  // Whether a key lies in the range of keys of an inner node.
  static bool in_range(uint64_t key, uint64_t prefix) { return ((key ^ prefix) & ~(lowest_bit(prefix) * 2 - 1)) == 0; }

  uint32_t intern(const Node& node);
  uint32_t element_of(uint64_t key, uint32_t element, uint64_t loops);
  uint32_t branch(uint64_t prefix, uint32_t left, uint32_t right);
  // Two sets of which neither lies in the range of the other.
  uint32_t side_by_side(uint32_t a, uint32_t b);

  std::vector<Node> nodes_ = std::vector<Node>(1);
  value::ContentIndex index_;
};

template <typename Choose>
uint32_t SharedSets::united(uint32_t a, uint32_t b, Choose&& choose) {
  if (a == b || b == kEmpty) return a;
  if (a == kEmpty) return b;
  const Node x = nodes_[a];
  const Node y = nodes_[b];
  const bool x_is_element = x.right == kEmpty;
  const bool y_is_element = y.right == kEmpty;
  if (x_is_element && y_is_element && x.prefix == y.prefix) {
    const uint32_t chosen = choose(x.left, y.left);
    return chosen == x.left ? a : chosen == y.left ? b : element_of(x.prefix, chosen, x.loops | y.loops);
  }
  const uint64_t x_bit = x_is_element ? 0 : lowest_bit(x.prefix);
  const uint64_t y_bit = y_is_element ? 0 : lowest_bit(y.prefix);
  if (!x_is_element && !y_is_element && x.prefix == y.prefix) {
    const uint32_t left = united(x.left, y.left, choose);
    return branch(x.prefix, left, united(x.right, y.right, choose));
  }
  // One may lie within a half of the other.
  if (x_bit > y_bit && in_range(y.prefix, x.prefix)) {
    if ((y.prefix & x_bit) == 0) return branch(x.prefix, united(x.left, b, choose), x.right);
    return branch(x.prefix, x.left, united(x.right, b, choose));
  }
  if (y_bit > x_bit && in_range(x.prefix, y.prefix)) {
    if ((x.prefix & y_bit) == 0) return branch(y.prefix, united(a, y.left, choose), y.right);
    return branch(y.prefix, y.left, united(a, y.right, choose));
  }
  return side_by_side(a, b);
}

template <typename Replace>
uint32_t SharedSets::replaced(uint32_t set, uint64_t loops, Replace&& replace) {
  const Node node = nodes_[set];
  if ((node.loops & loops) == 0) return set;
  if (is_element(set)) return replace(node.left);
  const uint32_t left = replaced(node.left, loops, replace);
  const uint32_t right = replaced(node.right, loops, replace);
  return united(left, right, [](uint32_t x, uint32_t) { return x; });
}

}  // namespace tmemlint::warp
