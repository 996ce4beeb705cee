// Sets that many points of many paths share: of the loads and stores of Tensor Memory that a warp has under way.
//
// A set never changes. It has a number, and 0 is the empty one. To add one element to a set of n makes a new set that
// shares all but about log n parts with the old one, and to add the same one to the same set again gives the same
// number: so each event can carry the whole set, and what is kept grows with the number of events and not with its
// square.
//
// A set of a few elements is a list of them. A larger one is a binary tree by the bits of its elements' keys (a
// big-endian Patricia tree: Okasaki and Gill, "Fast mergeable integer maps", 1998). Its shape follows from its content
// alone, so that sets are united part by part, and parts that both have are not looked into.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "analyzer/value/value.h"

namespace tmemlint::warp {

// Sets of numbered elements in the order of their keys; no two elements of a set have the same key.
class SharedSets {
public:
  static constexpr uint32_t kEmpty = 0;
  static constexpr uint32_t kNotThere = 0;

  // A new element: the first one is number 1. `loops`: the set of loops that it varies with.
  uint32_t define(uint64_t key, uint64_t loops) {
    elements_.push_back({key, loops, kEmpty});
    return static_cast<uint32_t>(elements_.size() - 1);
  }

  // A part of a set is a set too: a group of elements in their order, or two parts, the second of which has larger
  // keys.
  bool is_group(uint32_t set) const { return nodes_[set].size <= kGroup; }
  std::span<const uint32_t> group(uint32_t set) const { return {nodes_[set].parts.data(), nodes_[set].size}; }
  uint32_t first_part(uint32_t set) const { return nodes_[set].parts[0]; }
  uint32_t second_part(uint32_t set) const { return nodes_[set].parts[1]; }
  uint32_t size(uint32_t set) const { return nodes_[set].size; }
  // The element under a key, of those that differ in the ignored lower bits the first; kNotThere when there is none.
  uint32_t find(uint32_t set, uint64_t key, uint64_t ignored_bits = 0) const;
  // How many parts all sets together have: what they take in memory.
  size_t parts() const { return nodes_.size(); }

  // The set of one element. The same number each time.
  uint32_t only(uint32_t element);
  // The set with one element more, or in the place of the one under its key. The same number again, unless another
  // element was added to this set in between.
  uint32_t with(uint32_t set, uint32_t element);
  // The set of what is in either; `choose(x, y)` of two elements under one key, the first one of `a`, says which
  // element under that key it is to be. It is `a` itself where `b` adds nothing.
  template <typename Choose>
  uint32_t united(uint32_t a, uint32_t b, Choose&& choose);
  // The set with `replace(element)` in the place of all elements that vary with one of the loops. The keys of both may
  // differ in what leaves them in their order with all other elements.
  template <typename Replace>
  uint32_t replaced(uint32_t set, uint64_t loops, Replace&& replace);

  // Goes through a set in the order of the keys.
  class Iterator {
  public:
    Iterator() = default;
    Iterator(const SharedSets* sets, uint32_t set) : sets_(sets) {
      if (set != kEmpty) descend(set);
    }
    uint32_t operator*() const { return sets_->nodes_[group_].parts[at_]; }
    Iterator& operator++() {
      if (++at_ == sets_->nodes_[group_].size) {
        group_ = kEmpty;
        if (depth_ != 0) descend(open_[--depth_]);
      }
      return *this;
    }
    // Only to be compared with the end.
    bool operator==(const Iterator& end) const { return group_ == end.group_; }

  private:
    // To the first element of a set; the second parts on the way come later.
    void descend(uint32_t set) {
      while (!sets_->is_group(set)) {
        open_[depth_++] = sets_->second_part(set);
        set = sets_->first_part(set);
      }
      group_ = set;
      at_ = 0;
    }
    const SharedSets* sets_ = nullptr;
    uint32_t group_ = kEmpty;
    uint32_t at_ = 0;  // in the group
    unsigned depth_ = 0;
    std::array<uint32_t, 64> open_;  // a key has 64 bits, each of which tells two parts apart once
  };

private:
  // Elements that make a list and not yet a tree.
  static constexpr uint32_t kGroup = 8;

  struct Element {
    uint64_t key = 0;
    uint64_t loops = 0;
    uint32_t alone = kEmpty;  // the set of it, once there is one
  };
  struct Node {
    uint64_t prefix =
        0;               // of an inner node: what the keys have in common, then a 1 where they differ first, then zeros
    uint64_t loops = 0;  // that any of the elements varies with
    uint32_t size = 0;
    std::array<uint32_t, kGroup> parts{};  // the elements; of an inner node the two halves
    // The element that was added to it last, and what came of it: code that runs again adds the same one again.
    uint32_t added = 0;
    uint32_t with_added = kEmpty;
  };
  // Elements in their order, on their way into a set: those of two groups.
  struct List {
    uint32_t size = 0;
    std::array<uint32_t, size_t{2} * kGroup> elements;
    void add(uint32_t element) { elements[size++] = element; }
  };

  static uint64_t lowest_bit(uint64_t prefix) { return prefix & (~prefix + 1); }
  // Whether a key lies in the range of keys of an inner node.
  static bool in_range(uint64_t key, uint64_t prefix) { return ((key ^ prefix) & ~(lowest_bit(prefix) * 2 - 1)) == 0; }
  uint64_t key_of(uint32_t element) const { return elements_[element].key; }
  // A key, or a prefix, in the range of a part.
  uint64_t some_key(const Node& node) const { return node.size <= kGroup ? key_of(node.parts[0]) : node.prefix; }

  uint32_t branch(uint64_t prefix, uint32_t first, uint32_t second);
  // An inner node with other halves: itself where they are its own.
  uint32_t branch_like(uint32_t set, const Node& node, uint32_t first, uint32_t second) {
    return first == node.parts[0] && second == node.parts[1] ? set : branch(node.prefix, first, second);
  }
  // Two sets of which neither lies in the range of the other.
  uint32_t side_by_side(uint32_t a, uint32_t b);
  uint32_t set_of(std::span<const uint32_t> elements);
  // A set with an element; `choose(x)` of the one that it has under that key.
  template <typename Choose>
  uint32_t inserted(uint32_t set, uint32_t element, Choose&& choose);
  template <typename Choose>
  uint32_t united_groups(uint32_t a, uint32_t b, Choose&& choose);

  std::vector<Element> elements_ = std::vector<Element>(1);
  std::vector<Node> nodes_ = std::vector<Node>(1);
};

template <typename Choose>
uint32_t SharedSets::inserted(uint32_t set, uint32_t element, Choose&& choose) {
  const uint64_t key = key_of(element);
  std::array<uint32_t, 64> way;  // the inner nodes down to the place of the key
  unsigned depth = 0;
  uint32_t at = set;
  while (!is_group(at) && in_range(key, nodes_[at].prefix)) {
    way[depth++] = at;
    at = nodes_[at].parts[(key & lowest_bit(nodes_[at].prefix)) != 0];
  }
  uint32_t result = kEmpty;
  if (!is_group(at)) {
    result = side_by_side(at, only(element));
  } else {
    List list;
    uint32_t n = 0;
    const std::span<const uint32_t> group = this->group(at);
    while (n < group.size() && key_of(group[n]) < key) list.add(group[n++]);
    if (n < group.size() && key_of(group[n]) == key) {
      const uint32_t chosen = choose(group[n]);
      if (chosen == group[n]) return set;
      list.add(chosen);
      ++n;
    } else {
      list.add(element);
    }
    while (n < group.size()) list.add(group[n++]);
    result = set_of({list.elements.data(), list.size});
  }
  while (depth != 0) {
    const Node& node = nodes_[way[--depth]];
    const bool is_second = (key & lowest_bit(node.prefix)) != 0;
    result = branch(node.prefix, is_second ? node.parts[0] : result, is_second ? result : node.parts[1]);
  }
  return result;
}

template <typename Choose>
uint32_t SharedSets::united_groups(uint32_t a, uint32_t b, Choose&& choose) {
  const Node x = nodes_[a];
  const Node y = nodes_[b];
  List list;
  uint32_t m = 0;
  bool is_a = true;
  for (uint32_t n = 0; n < x.size; ++n) {
    const uint64_t key = key_of(x.parts[n]);
    for (; m < y.size && key_of(y.parts[m]) < key; ++m) list.add(y.parts[m]);
    const bool both = m < y.size && key_of(y.parts[m]) == key;
    const uint32_t chosen = both ? choose(x.parts[n], y.parts[m++]) : x.parts[n];
    is_a = is_a && chosen == x.parts[n];
    list.add(chosen);
  }
  while (m < y.size) list.add(y.parts[m++]);
  return is_a && list.size == x.size ? a : set_of({list.elements.data(), list.size});
}

template <typename Choose>
uint32_t SharedSets::united(uint32_t a, uint32_t b, Choose&& choose) {
  if (a == b || b == kEmpty) return a;
  if (a == kEmpty) return b;
  if (is_group(a) && is_group(b)) return united_groups(a, b, choose);
  const Node x = nodes_[a];
  const Node y = nodes_[b];
  if (is_group(b)) {
    uint32_t out = a;
    for (uint32_t n = 0; n < y.size; ++n) {
      const uint32_t element = y.parts[n];
      out = inserted(out, element, [&](uint32_t existing) { return choose(existing, element); });
    }
    return out;
  }
  if (is_group(a)) {
    uint32_t out = b;
    for (uint32_t n = 0; n < x.size; ++n) {
      const uint32_t element = x.parts[n];
      out = inserted(out, element, [&](uint32_t existing) { return choose(element, existing); });
    }
    return out;
  }
  if (x.prefix == y.prefix) {
    const uint32_t first = united(x.parts[0], y.parts[0], choose);
    return branch_like(a, x, first, united(x.parts[1], y.parts[1], choose));
  }
  // One may lie within a half of the other.
  const uint64_t x_bit = lowest_bit(x.prefix);
  const uint64_t y_bit = lowest_bit(y.prefix);
  if (x_bit > y_bit && in_range(y.prefix, x.prefix)) {
    if ((y.prefix & x_bit) == 0) return branch_like(a, x, united(x.parts[0], b, choose), x.parts[1]);
    return branch_like(a, x, x.parts[0], united(x.parts[1], b, choose));
  }
  if (y_bit > x_bit && in_range(x.prefix, y.prefix)) {
    if ((x.prefix & y_bit) == 0) return branch_like(b, y, united(a, y.parts[0], choose), y.parts[1]);
    return branch_like(b, y, y.parts[0], united(a, y.parts[1], choose));
  }
  return side_by_side(a, b);
}

template <typename Replace>
uint32_t SharedSets::replaced(uint32_t set, uint64_t loops, Replace&& replace) {
  const Node node = nodes_[set];
  if ((node.loops & loops) == 0) return set;
  if (is_group(set)) {
    std::vector<uint32_t> elements(node.parts.begin(), node.parts.begin() + node.size);
    for (uint32_t& element : elements) {
      if ((elements_[element].loops & loops) != 0) element = replace(element);
    }
    std::sort(elements.begin(), elements.end(), [&](uint32_t a, uint32_t b) { return key_of(a) < key_of(b); });
    elements.erase(std::unique(elements.begin(), elements.end()), elements.end());
    return set_of(elements);
  }
  const uint32_t first = replaced(node.parts[0], loops, replace);
  const uint32_t second = replaced(node.parts[1], loops, replace);
  return united(first, second, [](uint32_t x, uint32_t) { return x; });
}

}  // namespace tmemlint::warp
