// Containers of this folder, for many small things that are never taken away again. They know nothing of values.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace tmemlint::value {

// A vector of something that most of its owners have none of.
template <typename T>
class Rare {
public:
  Rare() = default;
  Rare(Rare&&) noexcept = default;
  Rare& operator=(Rare&&) noexcept = default;
  Rare(const Rare& other)
      : values_(other.values_ == nullptr ? nullptr : std::make_unique<std::vector<T>>(*other.values_)) {}
  Rare& operator=(const Rare& other) {
    values_ = Rare(other).values_;
    return *this;
  }
  ~Rare() = default;

  size_t size() const { return values_ == nullptr ? 0 : values_->size(); }
  bool empty() const { return size() == 0; }
  const T* begin() const { return values_ == nullptr ? nullptr : values_->data(); }
  const T* end() const { return begin() + size(); }
  const T& front() const { return values_->front(); }
  void push_back(const T& value) {
    if (values_ == nullptr) values_ = std::make_unique<std::vector<T>>();
    values_->push_back(value);
  }
  void clear() { values_.reset(); }
  Rare& operator=(std::vector<T> values) {
    values_ = values.empty() ? nullptr : std::make_unique<std::vector<T>>(std::move(values));
    return *this;
  }
  bool operator==(const std::vector<T>& other) const { return std::equal(begin(), end(), other.begin(), other.end()); }

private:
  std::unique_ptr<std::vector<T>> values_;
};

// An array that comes into being when it is first needed. A copy is an array of its own.
template <typename T, size_t kSize>
class Block {
public:
  Block() = default;
  Block(Block&&) noexcept = default;
  Block& operator=(Block&&) noexcept = default;
  Block(const Block& other) {
    if (!other.exists()) return;
    make();
    std::copy_n(other.elements_.get(), kSize, elements_.get());
  }
  Block& operator=(const Block& other) {
    *this = Block(other);
    return *this;
  }
  ~Block() = default;

  bool exists() const { return elements_ != nullptr; }
  void make() { elements_ = std::make_unique<T[]>(kSize); }
  T& operator[](size_t n) { return elements_[n]; }
  const T& operator[](size_t n) const { return elements_[n]; }

private:
  std::unique_ptr<T[]> elements_;
};

// A vector whose elements stay where they are while it grows. A copy has elements of its own.
template <typename T>
class Growing {
public:
  T& operator[](size_t n) { return blocks_[n / kBlock][n % kBlock]; }
  const T& operator[](size_t n) const { return blocks_[n / kBlock][n % kBlock]; }
  size_t size() const { return size_; }
  T& emplace_back() {
    if (size_ % kBlock == 0) blocks_.emplace_back().make();
    return (*this)[size_++];
  }

private:
  static constexpr size_t kBlock = 128;
  std::vector<Block<T, kBlock>> blocks_;
  size_t size_ = 0;
};

// Keeps short runs of elements that never change and stay where they are. It cannot be copied: who has been given such
// a run would still look at the original.
template <typename T>
class Kept {
public:
  const T* keep(const T* from, size_t count) {
    if (count == 0) return nullptr;
    if (blocks_.empty() || used_ + count > kBlock) {
      blocks_.push_back(std::make_unique<T[]>(std::max(count, kBlock)));
      used_ = 0;
    }
    T* to = blocks_.back().get() + used_;
    std::copy(from, from + count, to);
    used_ += count;
    return to;
  }

private:
  static constexpr size_t kBlock = 512;
  std::vector<std::unique_ptr<T[]>> blocks_;
  size_t used_ = 0;  // of the last block
};

// A table by number of which only the parts that are asked for come into being. A copy is a table of its own.
template <typename T>
class Sparse {
public:
  // Must hold more than any number that is asked for.
  void grow(size_t size) {
    if (blocks_.size() * kBlock < size) blocks_.resize((size + kBlock - 1) / kBlock);
  }
  T& operator[](size_t n) {
    Block<T, kBlock>& block = blocks_[n / kBlock];
    if (!block.exists()) block.make();
    return block[n % kBlock];
  }

private:
  static constexpr size_t kBlock = 64;
  std::vector<Block<T, kBlock>> blocks_;
};

// Finds by content what is numbered 1, 2, … in the order in which it is added.
class ContentIndex {
public:
  // The number of what has this hash and `is` it, else 0; `add` then takes its place.
  template <typename Is>
  uint32_t find(uint64_t long_hash, Is&& is) {
    const uint32_t hash = folded(long_hash);
    if (hashes_.size() * 2 >= slots_.size()) grow();
    for (at_ = slot_of(hash); slots_[at_] != 0; at_ = slot_of(at_ + 1)) {
      if (hashes_[slots_[at_]] == hash && is(slots_[at_])) return slots_[at_];
    }
    return 0;
  }
  // Adds what the last `find` did not find.
  void add(uint64_t long_hash) {
    slots_[at_] = static_cast<uint32_t>(hashes_.size());
    hashes_.push_back(folded(long_hash));
  }

private:
  static uint32_t folded(uint64_t hash) { return static_cast<uint32_t>(hash ^ (hash >> 32)); }
  size_t slot_of(size_t hash) const { return hash & (slots_.size() - 1); }
  void grow() {
    slots_.assign(slots_.empty() ? 512 : slots_.size() * 2, 0);
    for (uint32_t n = 1; n < hashes_.size(); ++n) {
      size_t at = slot_of(hashes_[n]);
      while (slots_[at] != 0) at = slot_of(at + 1);
      slots_[at] = n;
    }
  }

  std::vector<uint32_t> slots_;         // open addressing: 0 is free
  std::vector<uint32_t> hashes_ = {0};  // by number
  size_t at_ = 0;
};

}  // namespace tmemlint::value
