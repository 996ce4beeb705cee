// Who last stored to each 16 bytes of shared memory, by ordinary stores.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <unordered_map>

#include "analyzer/ptx/module.h"

namespace tmemlint::cluster {

struct LastStore {
  uint32_t warp = ptx::kNone, event = 0, instruction = ptx::kNone;
};

class LastStores {
public:
  static constexpr uint32_t kBytes = 16;

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
    if (it == pages_.end() || it->second[g % kPage].warp == ptx::kNone) return nullptr;
    return &it->second[g % kPage];
  }
  void erase(uint32_t address, uint32_t bytes) {
    const uint32_t end = (address + bytes - 1) / kBytes + 1;
    for (uint32_t g = address / kBytes; g < end;) {
      const uint32_t stop = std::min(end, (g / kPage + 1) * kPage);
      if (const auto it = pages_.find(g / kPage); it != pages_.end()) {
        std::fill(it->second.begin() + g % kPage, it->second.begin() + (stop - 1) % kPage + 1, LastStore{});
      }
      g = stop;
    }
  }

private:
  static constexpr uint32_t kPage = 256;
  using Page = std::array<LastStore, kPage>;
  // Stores come close to each other: the page of the last one is at hand.
  Page& page(uint32_t number) {
    if (last_ == nullptr || last_number_ != number) {
      last_ = &pages_[number];
      last_number_ = number;
    }
    return *last_;
  }

  std::unordered_map<uint32_t, Page> pages_;
  Page* last_ = nullptr;
  uint32_t last_number_ = 0;
};

}  // namespace tmemlint::cluster
