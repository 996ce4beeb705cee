// The value domain: numbers per lane, terms, and what operations make of them. Expectations are worked out by hand.
#include "analyzer/value/value.h"

#include <gtest/gtest.h>

#include "analyzer/value/facts.h"

namespace tmemlint::value {
namespace {

constexpr Operation op(Op o, uint8_t width = 32, bool is_signed = false, uint32_t aux = 0) {
  return {o, width, is_signed, aux};
}

Value lane_ids(Terms& terms) {
  std::array<uint64_t, kLanes> n;
  for (unsigned l = 0; l < kLanes; ++l) n[l] = l;
  return terms.from_lanes(n, 32);
}

TEST(Fold, FollowsTheIsa) {
  auto f = [](Operation o, std::vector<uint64_t> args) {
    return fold(o, args.data(), static_cast<unsigned>(args.size()));
  };
  EXPECT_EQ(f(op(Op::kAdd), {0xffffffff, 2}), 1u);
  EXPECT_EQ(f(op(Op::kShl), {1, 32}), 0u);  // shifts clamp, they do not wrap
  EXPECT_EQ(f(op(Op::kShr, 32, true), {0x80000000, 40}), 0xffffffffu);
  EXPECT_EQ(f(op(Op::kBfe), {0x12345678, 4, 14}), 0x567u);  // (0x12345678 >> 4) & 0x3fff
  EXPECT_EQ(f(op(Op::kBfi), {3, 0, 21, 2}), 0x600000u);
  EXPECT_EQ(f(op(Op::kPrmt), {0x44332211, 0x88776655, 0x5410}), 0x66552211u);
  EXPECT_EQ(f(op(Op::kLop3, 32, false, 0xea), {0xf0, 0x3c, 0x01}), 0x31u);  // (a & b) | c
  EXPECT_EQ(f(op(Op::kMulHi), {0x80000000, 6}), 3u);
  EXPECT_EQ(f(op(Op::kMin, 32, true), {0xffffffff, 1}), 0xffffffffu);  // -1 < 1
  EXPECT_EQ(f(op(Op::kMin), {0xffffffff, 1}), 1u);
  EXPECT_EQ(f(op(Op::kClz), {1}), 31u);
  EXPECT_EQ(f(op(Op::kBfind), {0x100}), 8u);
  EXPECT_EQ(f(op(Op::kFns), {0xf0, 0, 2}), 5u);  // second set bit from bit 0 on
  EXPECT_EQ(f(op(Op::kSext, 64, false, 32), {0x80000000}), 0xffffffff80000000u);
}

// All lanes at once give what each gives alone, for every operation and width.
TEST(Fold, OfAllLanesIsFoldOfEach) {
  uint64_t seed = 1;
  auto random = [&seed] {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    const uint64_t n = seed >> 7;
    return n % 3 == 0 ? n % 70 : n % 3 == 1 ? n : ~(n % 5);
  };
  for (int which = 0; which < static_cast<int>(Op::kGeneric); ++which) {
    for (const uint8_t width : {uint8_t{1}, uint8_t{16}, uint8_t{32}, uint8_t{64}}) {
      for (const bool is_signed : {false, true}) {
        for (const bool same_amount : {false, true}) {
          const Operation o = op(static_cast<Op>(which), width, is_signed, 16);
          Lanes args[4];
          for (Lanes& a : args) {
            for (uint64_t& n : a) n = random();
          }
          if (same_amount) args[1].fill(random() % 80);
          Lanes all;
          fold_lanes(o, args, 4, all);
          for (unsigned l = 0; l < kLanes; ++l) {
            const uint64_t alone[4] = {args[0][l], args[1][l], args[2][l], args[3][l]};
            ASSERT_EQ(all[l], fold(o, alone, 4)) << "operation " << which << " width " << int{width} << " lane " << l;
          }
        }
      }
    }
  }
}

// Numbers are added to all lanes without looking at each, as long as none of them wraps around.
TEST(Terms, SumsWrapInTheLanesThatReachTheEnd) {
  Terms terms;
  const Value tid = lane_ids(terms);
  for (const uint64_t n : {uint64_t{7}, uint64_t{0xffffffff}, uint64_t{0xfffffff0}, uint64_t{0xffffffe0}}) {
    const Value sum = terms.apply(op(Op::kAdd), tid, Value::of(n));
    const Value wide = terms.apply(op(Op::kAdd, 64), tid, Value::of(n));
    const Value cut = terms.apply(op(Op::kZext, 32, false, 32), wide);
    const Value short_cut = terms.apply(op(Op::kZext, 32, false, 4), wide);
    for (unsigned l = 0; l < kLanes; ++l) {
      EXPECT_EQ(terms.number_in(sum, l), (n + l) & 0xffffffff);
      EXPECT_EQ(terms.number_in(wide, l), n + l);
      EXPECT_EQ(terms.number_in(short_cut, l), (n + l) & 0xf);
    }
    EXPECT_EQ(cut, sum);
    EXPECT_EQ(terms.apply(op(Op::kSub), sum, Value::of(n)), tid);
  }
}

// What an unknown may be is remembered only as long as it is true.
TEST(Terms, AListThatGrowsIsSeen) {
  Terms terms;
  Value place;
  place.base = terms.join(1, 0, 0, 32);
  auto list = [&](std::vector<Value> values) {
    terms.mutable_term(place.base).set = std::move(values);
    terms.mutable_term(place.base).listed = true;
    terms.list_changed();
  };
  const Value next = terms.apply(op(Op::kAdd), place, Value::of(10));
  list({Value::of(1), Value::of(2)});
  EXPECT_EQ(terms.enumerate(next, 0, 32), (std::vector<uint64_t>{11, 12}));
  EXPECT_EQ(terms.enumerate(next, 0, 32), (std::vector<uint64_t>{11, 12}));
  list({Value::of(1), Value::of(2), Value::of(5)});
  EXPECT_EQ(terms.enumerate(next, 0, 32), (std::vector<uint64_t>{11, 12, 15}));
  // Facts about the place leave out what they exclude; facts about others do not matter.
  Facts facts;
  facts.set(place.base, {2, 9});
  EXPECT_EQ(terms.enumerate(next, 0, 32, FactsFilter(terms, facts)), (std::vector<uint64_t>{12, 15}));
  EXPECT_EQ(terms.enumerate(next, 0, 32, FactsFilter(terms, Facts())), (std::vector<uint64_t>{11, 12, 15}));
  EXPECT_EQ(terms.enumerate(next, 0, 32), (std::vector<uint64_t>{11, 12, 15}));
}

// What is known of a join's bits may become less; what was simplified by them before does not stay.
TEST(Terms, BitsThatAreNoLongerZeroAreSeen) {
  Terms terms;
  Value place;
  place.base = terms.join(1, 0, 0, 32);
  terms.opaque(2, 0, Uniformity::kCta, 0, 32);
  terms.set_zero_bits(place.base, ~uint64_t{0xf0});
  EXPECT_EQ(terms.apply(op(Op::kAnd), place, Value::of(0xf)), Value::of(0));
  terms.set_zero_bits(place.base, ~uint64_t{0xff});
  EXPECT_NE(terms.apply(op(Op::kAnd), place, Value::of(0xf)), Value::of(0));
}

TEST(Terms, LaneArithmeticIsExact) {
  Terms terms;
  const Value tid = lane_ids(terms);
  const Value window = terms.apply(op(Op::kShl), terms.apply(op(Op::kShr), tid, Value::of(5)), Value::of(21));
  EXPECT_EQ(window, Value::of(0));  // one warp: tid >> 5 is 0 in every lane
  const Value even = terms.apply(op(Op::kEq), terms.apply(op(Op::kAnd), tid, Value::of(1)), Value::of(0));
  for (unsigned l = 0; l < kLanes; ++l) EXPECT_EQ(terms.number_in(even, l), l % 2 == 0 ? 1u : 0u);
  EXPECT_FALSE(terms.uniform(even, kAllLanes));
  EXPECT_TRUE(terms.uniform(even, 0x55555555));
}

TEST(Terms, LinearFormsAreEqualHoweverTheyAreWritten) {
  Terms terms;
  const Value n = terms.opaque(1, 0, Uniformity::kCta, 0, 32);
  const Value a = terms.apply(op(Op::kMul), terms.apply(op(Op::kAdd), n, Value::of(3)), Value::of(8));
  const Value b = terms.apply(op(Op::kAdd), terms.apply(op(Op::kShl), n, Value::of(3)), Value::of(24));
  EXPECT_EQ(a, b);
  EXPECT_EQ(terms.apply(op(Op::kSub), a, b), Value::of(0));
  EXPECT_EQ(terms.apply(op(Op::kEq), a, b), Value::of(1));
}

TEST(Terms, AllocationAddressesTakeLanesAndColumnsByOrAndPrmt) {
  Terms terms;
  const Value base = terms.allocation(7, 0, 0);
  const Value lane = Value::of(96u << 16);
  const Value sum = terms.apply(op(Op::kAdd), base, lane);
  EXPECT_EQ(terms.apply(op(Op::kOr), base, lane), sum);
  const Value prmt[3] = {base, Value::of(96), Value::of(0x5410)};
  EXPECT_EQ(terms.apply(op(Op::kPrmt), prmt, 3), sum);
  EXPECT_EQ(terms.apply(op(Op::kShr), sum, Value::of(16)), Value::of(96));
  // Below the allocation unit of 32 columns or-ing adds; at bit 5 the base may have a one.
  EXPECT_EQ(terms.apply(op(Op::kOr), base, Value::of(31)), terms.apply(op(Op::kAdd), base, Value::of(31)));
  EXPECT_NE(terms.apply(op(Op::kOr), base, Value::of(32)), terms.apply(op(Op::kAdd), base, Value::of(32)));
}

TEST(Terms, WordsThatArePackedComeOutAgain) {
  Terms terms;
  const Value low = terms.opaque(1, 0, Uniformity::kCta, 0, 32);
  const Value high = terms.opaque(2, 0, Uniformity::kCta, 0, 32);
  const Value packed = terms.apply(op(Op::kOr, 64), low, terms.apply(op(Op::kShl, 64), high, Value::of(32)));
  EXPECT_EQ(terms.apply(op(Op::kShr, 64), packed, Value::of(32)), high);
  EXPECT_EQ(terms.apply(op(Op::kZext, 32, false, 32), packed), low);
  // A carry out of the lower word may reach the upper one.
  Value more = packed;
  more.number = 1;
  EXPECT_NE(terms.apply(op(Op::kShr, 64), more, Value::of(32)), high);
  // The upper word may be negative.
  EXPECT_NE(terms.apply(op(Op::kShr, 64, true), packed, Value::of(32)), high);
}

TEST(Terms, BitsBesideABaseStayApart) {
  Terms terms;
  const Value block = terms.opaque(1, 0, Uniformity::kCta, 0, 32);
  const Value start = terms.apply(op(Op::kShl), block, Value::of(7));
  const Value index = terms.apply(op(Op::kAdd), start, lane_ids(terms));
  const Value warp = terms.apply(op(Op::kShr), index, Value::of(5));
  EXPECT_TRUE(terms.uniform(warp, kAllLanes));
  EXPECT_EQ(warp, terms.apply(op(Op::kShr), start, Value::of(5)));
  const Value half = terms.apply(op(Op::kShr), index, Value::of(4));
  EXPECT_EQ(terms.lane(half, 15), terms.apply(op(Op::kShr), start, Value::of(4)));
  EXPECT_EQ(terms.lane(half, 16), terms.apply(op(Op::kAdd), terms.lane(half, 15), Value::of(1)));
  EXPECT_EQ(terms.apply(op(Op::kAnd), index, Value::of(127)), lane_ids(terms));
}

// Whatever the base is, what an operation makes of a base and numbers by lane is in each lane what it makes of that
// lane.
TEST(Terms, PartsWorkedOutApartAreWhatTheWholeIs) {
  uint64_t seed = 1;
  auto random = [&seed](uint64_t below) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (seed >> 20) % below;
  };
  const std::vector<Operation> operations = {
      op(Op::kLt),
      op(Op::kLt, 32, true),
      op(Op::kShr),
      op(Op::kShr, 32, true),
      op(Op::kAnd),
      op(Op::kOr),
      op(Op::kXor),
      op(Op::kZext, 64, false, 32),
      op(Op::kSext, 64, false, 32),
      op(Op::kZext, 32, false, 8),
      op(Op::kSext, 32, false, 8),
      op(Op::kMin),
      op(Op::kMax, 32, true),
  };
  unsigned apart = 0;
  for (unsigned round = 0; round < 2000; ++round) {
    Terms terms;
    const uint64_t unit = uint64_t{1} << random(8);
    // Two unknowns; the numbers that they may be are tried one after the other.
    auto unknown = [&](uint64_t site) {
      Value v;
      v.base = terms.join(site, 0, 0, 32);
      terms.set_zero_bits(v.base, ~(uint64_t{0xffffffff} & ~(unit - 1)));
      v.number = random(2) == 0 ? random(300) : 0xffffffff - random(300);
      return v;
    };
    const uint64_t step = 1 + random(3);
    Lanes n;
    for (unsigned l = 0; l < kLanes; ++l) n[l] = l / 8 * (step - 1) + l;
    const Value by_lane = terms.from_lanes(n, 32);
    const Operation o = operations[random(operations.size())];
    const unsigned count = o.op == Op::kZext || o.op == Op::kSext ? 1 : 2;
    Value args[2] = {terms.apply(op(Op::kAdd), unknown(1), by_lane),
                     random(2) == 0 ? unknown(2) : Value::of(random(200))};
    if (o.op == Op::kShr) args[1] = Value::of(random(34));
    if (o.op != Op::kShr && count == 2 && random(2) == 0) std::swap(args[0], args[1]);
    const Value result = terms.apply(o, args, count);
    // What is asked of the result afterwards: of a choice, as compilers do it of how often a loop goes round.
    const Operation then = operations[random(7)];
    const Value number = Value::of(random(34));
    const Value difference = terms.apply(op(Op::kSub), result, by_lane);
    const Value answer = o.width != 32 || o.op == Op::kLt ? result : terms.apply(then, difference, number);
    for (const Value& v : {result, answer}) {
      if (v.base != 0 && terms[v.base].uniformity != Uniformity::kLane) ++apart;
    }
    const std::vector<uint64_t> numbers = {0,  unit, 0x80000000, 0x7fffffff & ~(unit - 1), 0xffffffff & ~(unit - 1),
                                           128};
    for (uint64_t x : numbers) {
      for (uint64_t y : numbers) {
        for (const auto& [site, one] : {std::pair{1, x}, std::pair{2, y}}) {
          terms.set_list(terms.join(site, 0, 0, 32), {Value::of(one & ~(unit - 1))}, true);
        }
        for (unsigned l = 0; l < kLanes; ++l) {
          uint64_t of_lane[2];
          for (unsigned k = 0; k < count; ++k) of_lane[k] = terms.enumerate(args[k], l, 32).value().front();
          const uint64_t expected = fold(o, of_lane, count);
          ASSERT_EQ(terms.enumerate(result, l, o.op == Op::kLt ? 1 : o.width), (std::vector<uint64_t>{expected}))
              << "operation " << static_cast<int>(o.op) << " signed " << o.is_signed << " lane " << l << ", "
              << of_lane[0] << " and " << of_lane[1];
          if (answer == result) continue;
          const uint64_t asked[2] = {truncate(expected - n[l], 32), number.number};
          ASSERT_EQ(terms.enumerate(answer, l, then.op == Op::kLt ? 1 : then.width),
                    (std::vector<uint64_t>{fold(then, asked, 2)}))
              << "operation " << static_cast<int>(then.op) << " of operation " << static_cast<int>(o.op) << " lane "
              << l << ", " << of_lane[0] << " and " << of_lane[1];
        }
      }
    }
  }
  EXPECT_GT(apart, 200u);  // it was about something
}

TEST(Terms, ATruthSurvivesSelectionAndComparison) {
  Terms terms;
  const Value n = terms.opaque(1, 0, Uniformity::kCta, 0, 32);
  const Value p = terms.apply(op(Op::kLt, 32, true), n, Value::of(4));
  const Value selected[3] = {p, Value::of(1), Value::of(0)};
  const Value word = terms.apply(op(Op::kSelect), selected, 3);
  EXPECT_EQ(terms.apply(op(Op::kEq), word, Value::of(1)), p);
  EXPECT_EQ(terms.apply(op(Op::kEq), word, Value::of(0)), terms.apply(op(Op::kNot, 1), p));
  EXPECT_EQ(terms.apply(op(Op::kAnd, 1), p, terms.apply(op(Op::kNot, 1), p)), Value::of(0));
}

TEST(Terms, OneLaneOfABlendKeepsItsTerm) {
  Terms terms;
  const Value n = terms.opaque(1, 0, Uniformity::kCta, 0, 32);
  const Value mixed = terms.blend(1, n, Value::of(9), 2, 0, 32);
  EXPECT_EQ(terms.lane(mixed, 0), n);
  EXPECT_EQ(terms.lane(mixed, 5), Value::of(9));
  EXPECT_FALSE(terms.uniform(mixed, 3));
  EXPECT_TRUE(terms.uniform(mixed, 0xfffffffe));
}

TEST(Facts, SpellingsOfOneQuestionAgree) {
  Terms terms;
  const Value n = terms.opaque(1, 0, Uniformity::kCta, 0, 32);
  auto less = [&](const Value& a, const Value& b) { return terms.apply(op(Op::kLt, 32, true), a, b).base; };
  Facts facts;
  ASSERT_TRUE(assume(terms, facts, less(n, Value::of(1)), false));  // n >= 1
  EXPECT_EQ(decide(terms, facts, less(Value::of(0), n)), std::optional<bool>(true));
  EXPECT_EQ(decide(terms, facts, less(n, Value::of(0))), std::optional<bool>(false));
  EXPECT_EQ(decide(terms, facts, less(n, Value::of(5))), std::nullopt);
  ASSERT_TRUE(assume(terms, facts, less(n, Value::of(2)), true));  // so n == 1
  EXPECT_EQ(decide(terms, facts, terms.apply(op(Op::kEq), n, Value::of(1)).base), std::optional<bool>(true));
  EXPECT_EQ(decide(terms, facts, terms.apply(op(Op::kEq), n, Value::of(3)).base), std::optional<bool>(false));
}

TEST(Facts, JoiningKeepsWhatHoldsOnBothPaths) {
  Terms terms;
  const Value n = terms.opaque(1, 0, Uniformity::kCta, 0, 32);
  const uint32_t p = terms.apply(op(Op::kLt, 32, true), n, Value::of(8)).base;
  Facts yes;
  Facts no;
  assume(terms, yes, p, true);
  assume(terms, no, p, false);
  EXPECT_EQ(yes.opposite(no), p);
  yes.join(no);
  EXPECT_EQ(decide(terms, yes, p), std::nullopt);
}

}  // namespace
}  // namespace tmemlint::value
