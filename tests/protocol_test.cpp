// What an event shows of the protocol's state, and the shared sets that it is kept in.
#include <gmock/gmock.h>

#include <chrono>
#include <map>
#include <random>

#include "analyzer/warp/shared_sets.h"
#include "tests/small_kernel.h"

namespace tmemlint::test {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;
using warp::SharedSets;

// A set by what it holds, in its order.
std::vector<uint32_t> content(const SharedSets& sets, uint32_t set) {
  std::vector<uint32_t> out;
  for (SharedSets::Iterator at(&sets, set), end(&sets, SharedSets::kEmpty); !(at == end); ++at) out.push_back(*at);
  return out;
}

// Sets with the operations of a map from keys to elements.
class Sets : public ::testing::Test {
protected:
  using Map = std::map<uint64_t, uint32_t>;  // element by key

  uint32_t element(uint64_t key, uint64_t loops = 0) {
    keys.push_back(key);
    return sets.define(key, loops);
  }
  void expect_same(uint32_t set, const Map& map) {
    std::vector<uint32_t> expected;
    for (const auto& [key, value] : map) expected.push_back(value);
    EXPECT_EQ(content(sets, set), expected);
    EXPECT_EQ(sets.size(set), map.size());
    for (const auto& [key, value] : map) EXPECT_EQ(sets.find(set, key), value);
    EXPECT_EQ(sets.find(set, 12345678901u), SharedSets::kNotThere);
  }

  SharedSets sets;
  std::vector<uint64_t> keys = {0};  // by element
};

TEST_F(Sets, AreMapsInTheOrderOfTheirKeys) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 40; ++round) {
    const uint64_t range = round % 2 == 0 ? 40 : ~uint64_t{0};
    uint32_t a = SharedSets::kEmpty;
    uint32_t b = SharedSets::kEmpty;
    Map of_a, of_b;
    for (int n = 0; n < round * 3; ++n) {
      const uint32_t e = element(random() % range);
      const bool to_a = random() % 2 == 0;
      uint32_t& set = to_a ? a : b;
      const uint32_t before = set;
      const std::vector<uint32_t> had = content(sets, before);
      set = sets.with(set, e);
      (to_a ? of_a : of_b)[keys[e]] = e;
      EXPECT_EQ(content(sets, before), had);  // it never changes
      EXPECT_EQ(sets.with(before, e), set);   // nothing new
      EXPECT_EQ(sets.with(set, e), set);
    }
    expect_same(a, of_a);
    expect_same(b, of_b);
    // The smaller element under a key that both have.
    const auto smaller = [](uint32_t x, uint32_t y) { return std::min(x, y); };
    const uint32_t both = sets.united(a, b, smaller);
    Map expected = of_a;
    for (const auto& [key, value] : of_b) {
      const auto [at, fresh] = expected.try_emplace(key, value);
      if (!fresh) at->second = std::min(at->second, value);
    }
    expect_same(both, expected);
    EXPECT_EQ(sets.united(both, a, smaller), both);
    EXPECT_EQ(sets.united(both, b, smaller), both);
  }
}

TEST_F(Sets, ReplaceWhatVariesWithALoop) {
  uint32_t set = SharedSets::kEmpty;
  for (uint64_t n = 0; n < 100; ++n) set = sets.with(set, element(n << 32, n % 3 == 0 ? 1 : 2));
  const uint32_t next = sets.replaced(set, 1, [&](uint32_t e) { return element(keys[e], 0); });
  EXPECT_EQ(sets.size(next), 100u);
  for (uint64_t n = 0; n < 100; ++n) EXPECT_EQ(sets.find(next, n << 32) == sets.find(set, n << 32), n % 3 != 0);
  EXPECT_EQ(sets.replaced(next, 1, [](uint32_t e) { return e; }), next);
}

// --- events ---

std::string store_at(unsigned column) {
  return "tcgen05.st.sync.aligned.32x32b.x1.b32 [%tw+" + std::to_string(column) + "], {%t};\n";
}
std::string load_at(unsigned column) {
  return "tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r1}, [%tw+" + std::to_string(column) + "];\n";
}

const warp::Event* event_of(const Joint& joint, const warp::WarpGraph& w, ptx::Tcgen05 op) {
  for (const warp::Event& e : w.events) {
    if (e.kind != warp::Event::Kind::kTcgen05) continue;
    const program::Program& program = *joint.analysis->kernel->program;
    if (program.meanings[joint.module->instructions[e.instruction].opcode].form.op == op) return &e;
  }
  return nullptr;
}

TEST(Events, WaitsShowWhatTheyDrain) {
  const std::string body = begin(32) + store_at(0) + store_at(3) + load_at(8) + kWaitStores + load_at(9) + kWaitLoads;
  const Joint joint = joint_of(ptx_kernel(body + end(32)));
  for (const warp::WarpGraph& w : joint.analysis->warps) {
    const warp::Event* stores = event_of(joint, w, ptx::Tcgen05::kWaitSt);
    const warp::Event* loads = event_of(joint, w, ptx::Tcgen05::kWaitLd);
    ASSERT_NE(stores, nullptr);
    ASSERT_NE(loads, nullptr);
    EXPECT_EQ(w.stores_before(*stores).size(), 2u);
    EXPECT_EQ(w.loads_before(*stores).size(), 1u);
    EXPECT_EQ(w.stores_before(*loads).size(), 0u);
    EXPECT_EQ(w.loads_before(*loads).size(), 2u);
    std::vector<uint64_t> columns;
    for (const warp::PendingStore& p : w.stores_before(*stores)) columns.push_back(p.address.number & 0xff);
    EXPECT_THAT(columns, ElementsAre(0, 3));
    // By the load and by the step.
    for (const warp::PendingLoad& p : w.loads_before(*loads)) EXPECT_EQ(w.loads_before(*loads).find(p.load), &p);
    for (const warp::PendingStore& p : w.stores_before(*stores)) EXPECT_EQ(w.stores_before(*stores).find(p.step), &p);
    EXPECT_EQ(w.stores_before(*stores).find(0), nullptr);
    // Other events show the same.
    for (const warp::Event& e : w.events) {
      if (e.kind != warp::Event::Kind::kExit) continue;
      EXPECT_TRUE(w.loads_before(e).empty() && w.stores_before(e).empty());
    }
  }
}

// Each of two sides of a branch brings `stores` stores of its own; behind it a load reads what one of them wrote.
std::vector<std::string> said_of_branch(unsigned stores, unsigned column) {
  std::string sides[2];
  for (unsigned n = 0; n < stores; ++n) {
    sides[0] += store_at(n);
    sides[1] += store_at(n);
  }
  sides[1] += "tcgen05.st.sync.aligned.32x32b.x1.b32 [%tw+" + std::to_string(column) + "], {%t}; // @st\n";
  return said(ptx_kernel(begin(512) + "setp.eq.u32 %p1, %n, 7;\n@%p1 bra OTHER;\n" + sides[0] + "bra JOIN;\nOTHER:\n" +
                         sides[1] + "JOIN:\n" + load_at(column) + kWaitLoads + kWaitStores + end(512)));
}

// The place of the conflict must not matter, however many stores are pending where paths meet.
TEST(PendingStores, AreAllKeptWherePathsMeet) {
  EXPECT_THAT(said_of_branch(100, 400), Contains("error tmem-missing-wait-st @st"));
  EXPECT_THAT(said_of_branch(300, 400), Contains("error tmem-missing-wait-st @st"));
}

struct Measured {
  size_t parts = 0;  // of all sets
  double seconds = 0;
  std::vector<std::string> said;
};

Measured measured(const std::string& body) {
  const std::string text = ptx_kernel(begin(512) + body + kWaitStores + kWaitLoads + end(512));
  const auto start = std::chrono::steady_clock::now();
  Measured out;
  out.said = said(text);
  out.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  const Joint joint = joint_of(text);
  for (const warp::WarpGraph& w : joint.analysis->warps) {
    out.parts = std::max(out.parts, w.protocols.loads.sets().parts() + w.protocols.stores.sets().parts());
  }
  return out;
}

TEST(PendingStores, ThousandsTakeNoSquare) {
  std::string in_a_row, with_loads;
  for (unsigned n = 0; n < 4000; ++n) {
    in_a_row += store_at(n % 512);
    // Loads of other columns than those that are stored.
    with_loads += store_at(n % 256) + load_at(256 + n % 256);
  }
  const Measured row = measured(in_a_row);
  EXPECT_LE(row.parts, 4000u * 14);
  EXPECT_THAT(row.said, IsEmpty());
  const Measured pairs = measured(with_loads);
  EXPECT_LE(pairs.parts, 8000u * 14);
  EXPECT_THAT(pairs.said, Not(Contains(::testing::HasSubstr("missing-wait-st"))));
  EXPECT_THAT(pairs.said, Not(Contains(::testing::HasSubstr("incomplete"))));
  // A square of them would be minutes.
  EXPECT_LT(row.seconds + pairs.seconds, 60);
}

}  // namespace
}  // namespace tmemlint::test
