// The warps of a CTA (of both CTAs of a pair), each followed along all its paths, with what they tell each other
// through shared memory.
#pragma once

#include <cstdint>
#include <iterator>
#include <memory>
#include <set>
#include <vector>

#include "analyzer/cluster/compiled_kernel.h"
#include "analyzer/kernel/launch.h"
#include "analyzer/warp/evaluate.h"

namespace tmemlint::cluster {

// By rank, then by warp. A copy shares the graphs, which never change.
class FollowedWarps {
public:
  class Iterator {
  public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = warp::WarpGraph;
    using difference_type = std::ptrdiff_t;
    using pointer = const warp::WarpGraph*;
    using reference = const warp::WarpGraph&;
    Iterator() = default;
    explicit Iterator(const std::shared_ptr<const warp::WarpGraph>* at) : at_(at) {}
    reference operator*() const { return **at_; }
    pointer operator->() const { return at_->get(); }
    Iterator& operator++() {
      ++at_;
      return *this;
    }
    Iterator operator++(int) { return Iterator(at_++); }
    bool operator==(const Iterator& other) const { return at_ == other.at_; }

  private:
    const std::shared_ptr<const warp::WarpGraph>* at_ = nullptr;
  };

  Iterator begin() const { return Iterator(graphs_.data()); }
  Iterator end() const { return Iterator(graphs_.data() + graphs_.size()); }
  size_t size() const { return graphs_.size(); }
  const warp::WarpGraph& operator[](size_t n) const { return *graphs_[n]; }
  void add(warp::WarpGraph graph) { graphs_.push_back(std::make_shared<const warp::WarpGraph>(std::move(graph))); }
  void replace(size_t n, warp::WarpGraph graph) {
    graphs_[n] = std::make_shared<const warp::WarpGraph>(std::move(graph));
  }

private:
  std::vector<std::shared_ptr<const warp::WarpGraph>> graphs_;
};

// A cluster is represented by two CTAs, the even and the odd one of a pair.
FollowedWarps follow_warps(const CompiledKernel& kernel, const kernel::Launch& launch);

// The same warps, some of them (indices) followed once more with the times round loops kept apart: for what was found
// on a path that joining those times may have made. `changed`: whether that shows anything new.
FollowedWarps follow_closer(const CompiledKernel& kernel, const kernel::Launch& launch, const FollowedWarps& warps,
                            const std::set<size_t>& which, bool* changed);

// How many instructions of the protocol no warp was seen to come to: code for warps that the block does not have.
// `first_warps`: counted as if there were only the first ones.
size_t count_unreached_protocol(const CompiledKernel& kernel, const FollowedWarps& warps,
                                size_t first_warps = SIZE_MAX);

}  // namespace tmemlint::cluster
