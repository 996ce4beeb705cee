// Who last wrote each 16 bytes of shared memory: an ordinary store, or an asynchronous copy.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <map>
#include <span>
#include <unordered_map>
#include <vector>

#include "analyzer/assumptions/assumptions.h"
#include "analyzer/cluster/clock.h"
#include "analyzer/kernel/layout.h"
#include "analyzer/ptx/descriptor.h"
#include "analyzer/ptx/module.h"
#include "analyzer/value/value.h"

namespace tmemlint::cluster {

struct LastStore {
  uint16_t warp = UINT16_MAX;
  bool is_copy = false;
  uint32_t event = 0, instruction = ptx::kNone;
  uint32_t lanes = 0;  // that stored; of a copy: its number among OperandCopies

  static LastStore by_lanes(const WarpEvent& event, uint32_t instruction, uint32_t lanes) {
    return {static_cast<uint16_t>(event.warp), false, event.event, instruction, lanes};
  }
  static LastStore by_copy(const WarpEvent& event, uint32_t instruction, uint32_t copy) {
    return {static_cast<uint16_t>(event.warp), true, event.event, instruction, copy};
  }
  bool anybody() const { return warp != UINT16_MAX; }
  uint32_t copy() const { return lanes; }
};

class LastStores {
public:
  static constexpr uint32_t kBytes = assumptions::kBytesOfAStoredBlock;

  void set(uint32_t address, unsigned bytes, const LastStore& store) {
    const uint32_t last = (address + bytes - 1) / kBytes;
    for (uint32_t g = address / kBytes; g <= last; ++g) set_block(g, store);
  }
  // Of the 16 bytes from 16 * block on.
  void set_block(uint32_t block, const LastStore& store) { page(block / kPage)[block % kPage] = store; }
  // Nothing when nobody stored there.
  const LastStore* find(uint32_t address) const {
    const uint32_t g = address / kBytes;
    const auto it = pages_.find(g / kPage);
    if (it == pages_.end() || !it->second[g % kPage].anybody()) return nullptr;
    return &it->second[g % kPage];
  }
  // Whether somebody wrote where no matrix can start: what a descriptor names is not certain then, since its address is
  // cut off (ISA 9.7.16.4.1). No device has so much shared memory.
  bool beyond_descriptors() const { return beyond_; }
  // All blocks that somebody stored to, ascending.
  template <typename F>
  void each(F&& f) const {
    std::map<uint32_t, const Page*> sorted;
    for (const auto& [number, page] : pages_) sorted[number] = &page;
    for (const auto& [number, page] : sorted) {
      for (uint32_t n = 0; n < kPage; ++n) {
        if ((*page)[n].anybody()) f(number * kPage + n, (*page)[n]);
      }
    }
  }

private:
  static constexpr uint32_t kPage = 256;
  using Page = std::array<LastStore, kPage>;
  // Stores come close to each other: the page of the last one is at hand.
  Page& page(uint32_t number) {
    if (last_.page == nullptr || last_.number != number) {
      last_ = Last(&pages_[number], number);
      const uint32_t offset = (number * kPage * kBytes) & ((1u << kernel::kRankShift) - 1);
      beyond_ = beyond_ || offset > ptx::matrix_start(~uint64_t{0});
    }
    return *last_.page;
  }

  // A copy has pages of its own: it starts without one at hand.
  struct Last {
    Last() = default;
    Last(Page* p, uint32_t n) : page(p), number(n) {}
    Last(const Last&) {}
    Last& operator=(const Last& other) {
      if (this != &other) *this = Last();
      return *this;
    }
    Last(Last&&) = default;
    Last& operator=(Last&&) = default;
    ~Last() = default;
    Page* page = nullptr;
    uint32_t number = 0;
  };

  std::unordered_map<uint32_t, Page> pages_;
  Last last_;
  bool beyond_ = false;
};

// The blocks of LastStores::kBytes that the lanes of a store reach. Warps and scenarios store with the same tables of
// offsets, so they are worked out once.
class StoreBlocks {
public:
  // Counted from the block of the number that the offsets of a table are added to and that is `within` bytes from that
  // block's begin.
  std::span<const uint32_t> of(const value::Lanes& offsets, uint32_t table, uint32_t lanes, uint32_t within,
                               unsigned bytes) {
    const uint64_t key = (uint64_t{table} << 32) | (bytes << 8) | within;
    auto [known, fresh] = known_.try_emplace(key);
    Blocks& of = known->second;
    if (!fresh && of.lanes == lanes) return of.blocks;
    of.lanes = lanes;
    of.blocks.clear();
    for (uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
      const auto address = static_cast<uint32_t>(within + offsets[static_cast<size_t>(std::countr_zero(rest))]);
      // Below the first block the number is a negative one.
      for (int32_t b = static_cast<int32_t>(address) >> 4; b <= static_cast<int32_t>(address + bytes - 1) >> 4; ++b)
        of.blocks.push_back(static_cast<uint32_t>(b));
    }
    static_assert(LastStores::kBytes == 1u << 4);
    std::sort(of.blocks.begin(), of.blocks.end());
    of.blocks.erase(std::unique(of.blocks.begin(), of.blocks.end()), of.blocks.end());
    return of.blocks;
  }

private:
  struct Blocks {
    uint32_t lanes = 0;
    std::vector<uint32_t> blocks;
  };
  std::unordered_map<uint64_t, Blocks> known_;
};

}  // namespace tmemlint::cluster
