// Memory as one path knows it, and who last stored where.
#include "analyzer/warp/memory.h"

#include <gtest/gtest.h>

#include "analyzer/cluster/last_stores.h"

namespace tmemlint {
namespace {

using cluster::LastStores;
using value::Value;
using warp::Cell;
using warp::Memory;

std::vector<std::pair<uint64_t, uint64_t>> contents(const Memory& memory) {
  std::vector<std::pair<uint64_t, uint64_t>> out;
  for (const Cell& c : memory.cells()) out.emplace_back(c.address, c.value.number);
  return out;
}

using Contents = std::vector<std::pair<uint64_t, uint64_t>>;

TEST(Memory, AStoreReplacesTheBytesThatItWrites) {
  value::Terms terms;
  Memory memory;
  memory.store(terms, 16, 4, Value::of(1));
  memory.store(terms, 8, 4, Value::of(2));
  memory.store(terms, 12, 4, Value::of(3));
  EXPECT_EQ(contents(memory), (Contents{{8, 2}, {12, 3}, {16, 1}}));
  memory.store(terms, 10, 8, Value::of(4));  // touches all three
  EXPECT_EQ(contents(memory), (Contents{{8, 2}, {10, 4}, {18, 0}}));
  memory.store(terms, 10, 8, Value::of(4));
  memory.store(terms, 10, 4, Value::of(5));
  memory.store(terms, 0, 1, Value::of(6));
  EXPECT_EQ(contents(memory), (Contents{{0, 6}, {8, 2}, {10, 5}, {14, 0}, {18, 0}}));
  memory.store(terms, 32, 8, Value::of(0x1122334455667788));
  memory.store(terms, 34, 2, Value::of(0xabcd));
  EXPECT_EQ(memory.load(terms, 32, 8), Value::of(0x11223344abcd7788));
  EXPECT_EQ(memory.load(terms, 33, 2), Value::of(0xcd77));
}

TEST(Memory, ClobberedPlacesAreForgotten) {
  value::Terms terms;
  Memory memory;
  for (uint64_t n = 0; n < 8; ++n) memory.store(terms, 4 * n, 4, Value::of(n));
  memory.clobber(6, 7);  // bytes 6 to 12
  EXPECT_EQ(contents(memory), (Contents{{0, 0}, {16, 4}, {20, 5}, {24, 6}, {28, 7}}));
  memory.clobber(4, 12);
  EXPECT_EQ(memory.cells().size(), 5u);
}

TEST(Memory, CopiesDoNotSeeEachOther) {
  value::Terms terms;
  Memory first;
  first.store(terms, 0, 4, Value::of(1));
  Memory second = first;
  second.store(terms, 0, 4, Value::of(2));
  second.store(terms, 4, 4, Value::of(3));
  Memory third = second;
  third.clobber(0, 4);
  EXPECT_EQ(contents(first), (Contents{{0, 1}}));
  EXPECT_EQ(contents(second), (Contents{{0, 2}, {4, 3}}));
  EXPECT_EQ(contents(third), (Contents{{4, 3}}));
}

TEST(Memory, KnowsWhichLanesHaveWritten) {
  value::Terms terms;
  Memory memory;
  EXPECT_EQ(memory.writers(0, 64), 0u);
  memory.store(terms, 16, 4, Value::of(1), 0x1);
  memory.store(terms, 24, 8, Value::of(2), 0xf0);
  EXPECT_EQ(memory.writers(16, 4), 0x1u);
  EXPECT_EQ(memory.writers(18, 8), 0xf1u);
  memory.store(terms, 26, 2, Value::of(3), 0xf2);
  EXPECT_EQ(memory.writers(24, 2), 0xf0u);  // what stands beside the bytes that are written stays
  EXPECT_EQ(memory.writers(26, 1), 0xf2u);
  EXPECT_EQ(memory.writers(0, 16), 0u);
}

cluster::LastStore stored(uint32_t warp, uint32_t event, uint32_t instruction) {
  return cluster::LastStore::by_lanes({warp, event}, instruction, value::kAllLanes);
}

TEST(LastStores, NameTheLastOneOfEachSixteenBytes) {
  LastStores stores;
  EXPECT_EQ(stores.find(0), nullptr);
  stores.set(8, 16, stored(1, 10, 100));  // bytes 8 to 23: two pieces
  stores.set(4096 * 3, 4, stored(2, 20, 200));
  for (const uint32_t address : {0u, 8u, 16u, 31u}) {
    ASSERT_NE(stores.find(address), nullptr);
    EXPECT_EQ(stores.find(address)->warp, 1u);
  }
  EXPECT_EQ(stores.find(32), nullptr);
  EXPECT_EQ(stores.find(4096 * 3 + 12)->instruction, 200u);
  stores.set(16, 4, stored(3, 30, 300));
  EXPECT_EQ(stores.find(16)->warp, 3u);
  EXPECT_EQ(stores.find(0)->warp, 1u);
}

}  // namespace
}  // namespace tmemlint
