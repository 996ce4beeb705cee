// Numbers for what a scenario does not know: decisions that hold at once, and those that arithmetic rules out.
#include "analyzer/cluster/model.h"

#include <gtest/gtest.h>

namespace tmemlint::cluster {
namespace {

using value::Op;
using value::Operation;
using value::Terms;
using value::Uniformity;
using value::Value;

constexpr Operation op(Op o, uint8_t width = 32, bool is_signed = false, uint32_t aux = 0) {
  return {o, width, is_signed, aux};
}

// Sites of unknowns, as the machine and the joint run name them: what decides is of_parameters.
constexpr uint64_t kParameter = value::site_of(value::UnknownKind::kParameter);
constexpr uint64_t kLaunch = value::site_of(value::UnknownKind::kLaunch);
constexpr uint64_t kSize = value::site_of(value::UnknownKind::kLaunchSize);
constexpr uint64_t kLoaded = value::site_of(value::UnknownKind::kRunGlobal);

class Numbers : public testing::Test {
protected:
  Value parameter(uint64_t n, uint64_t zero_bits = 0) {
    return terms.opaque(kParameter, n, Uniformity::kCta, 0, 32, zero_bits);
  }
  Value flag(uint64_t n) { return terms.opaque(kParameter, n, Uniformity::kCta, 0, 1); }
  // Conditions, signed; as terms.
  uint32_t less(const Value& a, const Value& b) { return terms.apply(op(Op::kLt, 32, true), a, b).base; }
  uint32_t less(const Value& a, uint64_t b) { return less(a, Value::of(b)); }
  uint32_t more(const Value& a, uint64_t b) { return less(Value::of(b), a); }
  uint32_t equal(const Value& a, uint64_t b) { return terms.apply(op(Op::kEq), a, Value::of(b)).base; }
  // A disjunction is kept as the negation of a conjunction.
  static bool decide(Model& of, const Value& condition, bool truth) {
    const Terms::Parts parts = of.terms().parts(condition.base);
    return of.decide(parts[0].term, parts[0].coefficient == 1 ? truth : !truth);
  }
  static bool holds(Model& of, const Value& condition) { return (of.number(condition) & 1) != 0; }
  Value product(const Value& a, const Value& b) { return terms.apply(op(Op::kMul), a, b); }

  Terms terms;
  Model model{terms};
};

TEST_F(Numbers, EitherWayOfAComparison) {
  const Value n = parameter(1);
  for (const bool truth : {true, false}) {
    Model fresh(terms);
    ASSERT_TRUE(fresh.decide(less(n, 4), truth));
    EXPECT_EQ(fresh.holds(less(n, 4)), truth);
    EXPECT_EQ(fresh.number(n) < 4, truth);
  }
}

TEST_F(Numbers, AllDecisionsHoldAtOnce) {
  const Value n = parameter(1);
  ASSERT_TRUE(model.decide(more(n, 10), true));
  ASSERT_TRUE(model.decide(less(n, 12), true));
  EXPECT_EQ(model.number(n), 11u);
  EXPECT_TRUE(model.holds(more(n, 10)));
}

TEST_F(Numbers, WhatDecisionsRuleOutIsRefusedAndChangesNothing) {
  const Value n = parameter(1);
  ASSERT_TRUE(model.decide(less(n, 4), true));
  const uint64_t before = model.number(n);
  EXPECT_FALSE(model.decide(more(n, 10), true));
  EXPECT_EQ(model.number(n), before);
  EXPECT_TRUE(model.holds(less(n, 4)));
  // The way that the numbers say is always open.
  EXPECT_TRUE(model.decide(more(n, 10), false));
}

TEST_F(Numbers, ARefusalIsRemembered) {
  const Value n = parameter(1);
  ASSERT_TRUE(model.decide(less(n, 4), true));
  ASSERT_FALSE(model.decide(more(n, 10), true));
  const uint64_t tried = model.attempts;
  EXPECT_GT(tried, 0u);
  EXPECT_FALSE(model.decide(more(n, 10), true));
  EXPECT_EQ(model.attempts, tried);
}

TEST_F(Numbers, AProductAgreesWithItsFactors) {
  const Value tiles = parameter(1);
  const Value k_tiles = parameter(2);
  const Value total = product(tiles, k_tiles);
  ASSERT_TRUE(model.decide(equal(tiles, 2), true));
  ASSERT_TRUE(model.decide(equal(k_tiles, 3), true));
  EXPECT_EQ(model.number(total), 6u);
  EXPECT_FALSE(model.decide(more(total, 6), true));
  EXPECT_FALSE(model.decide(less(total, 6), true));
  EXPECT_TRUE(model.decide(equal(total, 6), true));
}

TEST_F(Numbers, AFactorFollowsFromTheProduct) {
  const Value tiles = parameter(1);
  const Value k_tiles = parameter(2);
  ASSERT_TRUE(model.decide(equal(tiles, 2), true));
  ASSERT_TRUE(model.decide(equal(product(tiles, k_tiles), 10), true));
  EXPECT_EQ(model.number(k_tiles), 5u);
  EXPECT_FALSE(model.decide(equal(k_tiles, 4), true));
}

TEST_F(Numbers, NoTilesMeansNothingInTotal) {
  const Value tiles = parameter(1);
  const Value total = product(tiles, parameter(2));
  ASSERT_TRUE(model.decide(more(tiles, 0), false));
  EXPECT_EQ(model.number(tiles), 0u);  // sizes are not negative
  EXPECT_FALSE(model.decide(more(total, 0), true));
}

TEST_F(Numbers, TwoNumbersMayHaveToChangeTogether) {
  const Value a = parameter(1);
  const Value b = parameter(2);
  const Value sum = terms.apply(op(Op::kAdd), a, b);
  ASSERT_TRUE(model.decide(equal(sum, 256), true));  // as with the usual 128 each
  ASSERT_TRUE(model.decide(less(a, b), true));
  EXPECT_EQ(model.number(a) + model.number(b), 256u);
  EXPECT_LT(model.number(a), model.number(b));
}

TEST_F(Numbers, CountsAreNotNegativeWhereTheyNeedNotBe) {
  const Value n = parameter(1);
  ASSERT_TRUE(model.decide(less(n, 1), true));
  EXPECT_EQ(model.number(n), 0u);
  // Asked for, they are.
  const Value m = parameter(2);
  ASSERT_TRUE(model.decide(less(m, 0), true));
  EXPECT_TRUE(model.holds(less(m, 0)));
}

TEST_F(Numbers, NoGridHasNoBlocks) {
  const Value blocks = terms.opaque(kSize, 1, Uniformity::kCta, 0, 32);
  EXPECT_FALSE(model.decide(equal(blocks, 0), true));
  EXPECT_TRUE(model.decide(equal(blocks, 1), true));
  // But every grid has a first block; there is none before it.
  const Value block = terms.opaque(kLaunch, 1, Uniformity::kCta, 0, 32);
  for (const uint64_t number : {0, 1, 7}) {
    Model fresh(terms);
    EXPECT_TRUE(fresh.decide(equal(block, number), true));
    EXPECT_EQ(fresh.number(block), number);
  }
  EXPECT_FALSE(model.decide(less(block, 0), true));
}

TEST_F(Numbers, BitsThatAreZeroStayZero) {
  const Value aligned = parameter(1, 0xf);
  EXPECT_FALSE(model.decide(equal(aligned, 40), true));
  EXPECT_TRUE(model.decide(equal(aligned, 48), true));
  EXPECT_EQ(model.number(aligned), 48u);
}

TEST_F(Numbers, ConditionsThatHoldTogether) {
  const Value n = parameter(1);
  const Value m = parameter(2);
  const Value both = terms.apply(op(Op::kAnd, 1), terms.apply(op(Op::kLt, 32, true), n, Value::of(4)),
                                 terms.apply(op(Op::kLt, 32, true), m, Value::of(4)));
  ASSERT_TRUE(model.decide(both.base, true));
  EXPECT_LT(model.number(n), 4u);
  EXPECT_LT(model.number(m), 4u);
  EXPECT_FALSE(model.decide(more(n, 9), true));
}

TEST_F(Numbers, FlagsAreOneOrTheOther) {
  const Value p = flag(1);
  const Value q = flag(2);
  const Value either = terms.apply(op(Op::kOr, 1), p, q);
  ASSERT_TRUE(model.decide(p.base, false));
  ASSERT_TRUE(decide(model, either, true));
  EXPECT_TRUE(model.holds(q.base));
  EXPECT_FALSE(model.decide(q.base, false));
}

TEST_F(Numbers, RemaindersAndMasks) {
  const Value n = parameter(1);
  const Value rest = terms.apply(op(Op::kRem), n, Value::of(64));
  ASSERT_TRUE(model.decide(equal(rest, 0), false));
  EXPECT_NE(model.number(n) % 64, 0u);
  const Value m = parameter(2);
  const Value low = terms.apply(op(Op::kAnd), m, Value::of(1));
  ASSERT_TRUE(model.decide(equal(low, 1), true));
  EXPECT_EQ(model.number(m) & 1, 1u);
}

TEST_F(Numbers, WhatComesFromParametersAndWhatDoesNot) {
  const Value n = parameter(1);
  const Value blocks = terms.opaque(kLaunch, 1, Uniformity::kCta, 0, 32);
  const Value word = terms.opaque(kLoaded, 1, Uniformity::kCta, 0, 32);
  EXPECT_TRUE(model.of_parameters(less(n, 4)));
  EXPECT_TRUE(model.of_parameters(less(blocks, n)));
  EXPECT_FALSE(model.of_parameters(less(word, 4)));
  EXPECT_FALSE(model.of_parameters(less(terms.apply(op(Op::kAdd), n, word), 4)));
  EXPECT_FALSE(model.of_parameters(less(terms.opaque(kParameter, 9, Uniformity::kLane, 0, 32), 4)));
}

TEST_F(Numbers, AnEarlierDecisionMayChangeItsReason) {
  // n < 4 or m < 4 was made true by n; it stays true with n >= 4 by m.
  const Value n = parameter(1);
  const Value m = parameter(2);
  const Value either = terms.apply(op(Op::kOr, 1), terms.apply(op(Op::kLt, 32, true), n, Value::of(4)),
                                   terms.apply(op(Op::kLt, 32, true), m, Value::of(4)));
  for (const bool first : {true, false}) {
    Model fresh(terms);
    ASSERT_TRUE(decide(fresh, either, true));
    ASSERT_TRUE(fresh.decide(less(first ? n : m, 4), false));
    EXPECT_TRUE(holds(fresh, either));
    EXPECT_FALSE(fresh.decide(less(first ? m : n, 4), false));
  }
}

TEST_F(Numbers, ProductsOfSizesCanBeSmall) {
  // 128 each at first: what is asked of their product needs all but one of them to change.
  Value all = Value::of(1);
  for (uint64_t k = 1; k <= 4; ++k) all = product(all, parameter(k));
  Model four(terms);
  ASSERT_TRUE(four.decide(equal(all, 4), true));
  EXPECT_EQ(four.number(all), 4u);
  // A loop over it that has run 20 times ends soon, not after 2^28 rounds.
  Model twenty(terms);
  for (uint64_t k = 0; k < 20; ++k) ASSERT_TRUE(twenty.decide(more(all, k), true));
  uint64_t rounds = 20;
  while (rounds < 100 && !twenty.decide(more(all, rounds), false)) ++rounds;
  EXPECT_LE(rounds, 40u);
  EXPECT_GT(twenty.number(all), 19u);
}

// x / d by a multiplier and a shift that belong to d: d == 1 ? x : mulhi(x, multiplier) >> shift.
TEST_F(Numbers, QuotientsByAMultiplierAreQuotients) {
  const Value x = parameter(1);
  const Value d = parameter(2);
  const Value product_high = terms.apply(op(Op::kMulHi), x, parameter(3));
  const Value shifted = terms.apply(op(Op::kShr), product_high, parameter(4));
  Value is_one;
  is_one.base = equal(d, 1);
  const Value arms[3] = {is_one, x, shifted};
  const Value quotient = terms.apply(op(Op::kSelect), arms, 3);
  EXPECT_EQ(model.number(d), 1u);
  EXPECT_EQ(model.number(quotient), model.number(x));
  // Of an ordinary choice by a parameter nothing is known.
  const Value e = parameter(5);
  Value e_is_one;
  e_is_one.base = equal(e, 1);
  const Value others[3] = {e_is_one, x, parameter(6)};
  terms.apply(op(Op::kSelect), others, 3);
  EXPECT_NE(model.number(e), 1u);
}

TEST_F(Numbers, ANumberThatNoDecisionNeedsChangesNothingElse) {
  // Many decisions about many unknowns, each of which is evaluated again only when its own change: all hold in the end.
  std::vector<std::pair<uint32_t, bool>> decided;
  for (uint64_t k = 0; k < 100; ++k) {
    const Value n = parameter(100 + k);
    const Value sum = terms.apply(op(Op::kAdd), n, parameter(100 + (k * 7) % 100));
    for (const uint32_t term : {less(n, 3 + k % 5), equal(sum, k)}) {
      const bool truth = k % 3 != 0;
      if (model.decide(term, truth)) decided.emplace_back(term, truth);
    }
  }
  EXPECT_GT(decided.size(), 100u);
  for (const auto& [term, truth] : decided) EXPECT_EQ(model.holds(term), truth);
}

TEST_F(Numbers, WhatFailedBesideAnotherConditionMayHoldWithoutIt) {
  // n > 5 and n < 3 cannot hold together; n < 3 can.
  const Value n = parameter(1);
  Value high, low;
  high.base = more(n, 5);
  low.base = less(n, 3);
  const Value both = terms.apply(op(Op::kAnd, 1), high, low);
  EXPECT_FALSE(decide(model, both, true));
  EXPECT_TRUE(model.decide(low.base, true));
  EXPECT_LT(model.number(n), 3u);
}

// --- sizes of grids: products and quotients ---

class Tiles : public Numbers {
protected:
  Value divide(const Value& a, uint64_t b) { return terms.apply(op(Op::kDiv), a, Value::of(b)); }
  Value shift_right(const Value& a, uint64_t by) { return terms.apply(op(Op::kShr, 32), a, Value::of(by)); }
  // (n + size - 1) / size
  Value tiles_of(const Value& n, unsigned shift) {
    return shift_right(terms.apply(op(Op::kAdd), n, Value::of((uint64_t{1} << shift) - 1)), shift);
  }
  // As compilers divide signed numbers by a power of two.
  Value signed_quotient(const Value& n, unsigned shift) {
    const Value sign = terms.apply(op(Op::kShr, 32, true), n, Value::of(31));
    const Value rounding = terms.apply(op(Op::kShr), sign, Value::of(32 - shift));
    return terms.apply(op(Op::kShr, 32, true), terms.apply(op(Op::kAdd), n, rounding), Value::of(shift));
  }
  Value least(const Value& a, const Value& b) { return terms.apply(op(Op::kMin, 32, true), a, b); }
  Value plus(const Value& a, const Value& b) { return terms.apply(op(Op::kAdd), a, b); }
  bool decided(const Value& a, const Value& b, bool truth) {
    const uint32_t term = less(a, b);
    return model.decide(term, truth) && model.holds(term) == truth;
  }
  Value rows = parameter(1), columns = parameter(2), depth = parameter(3);
  Value cluster = terms.opaque(kLaunch, 1, Uniformity::kCta, 0, 32);
  Value clusters = terms.opaque(kSize, 1, Uniformity::kCta, 0, 32);
};

TEST_F(Tiles, BothSizesGrowWhereOneAloneIsNotEnough) {
  const Value tiles = product(divide(rows, 256), divide(columns, 256));
  EXPECT_EQ(model.number(tiles), 0u);
  ASSERT_TRUE(decided(cluster, tiles, true));
  EXPECT_EQ(model.number(rows) % 256, 0u);
  // The first CTA has two tiles and no third.
  ASSERT_TRUE(decided(plus(cluster, clusters), tiles, true));
  EXPECT_TRUE(decided(plus(cluster, product(clusters, Value::of(2))), tiles, false));
}

TEST_F(Tiles, HoweverTheyAreDivided) {
  for (const auto& quotient : {signed_quotient(rows, 8), shift_right(rows, 8), tiles_of(rows, 8)}) {
    Model fresh(terms);
    const Value tiles = product(product(quotient, signed_quotient(columns, 9)), divide(depth, 192));
    ASSERT_TRUE(fresh.decide(less(cluster, tiles), true));
    ASSERT_TRUE(fresh.decide(more(tiles, 5), true));
    EXPECT_GT(fresh.number(tiles), 5u);
  }
  // By a multiplication: n / 192 is the upper half of n * 0xAAAAAAAB, shifted by 7.
  const Value by_product = shift_right(terms.apply(op(Op::kMulHi), rows, Value::of(0xaaaaaaab)), 7);
  ASSERT_TRUE(model.decide(less(cluster, product(by_product, shift_right(columns, 8))), true));
  EXPECT_GE(model.number(rows), 192u);
}

TEST_F(Tiles, TheSmallerOfTwoSizes) {
  const Value tiles = least(divide(rows, 256), divide(columns, 256));
  ASSERT_TRUE(decided(Value::of(2), tiles, true));
  EXPECT_GE(model.number(rows), 768u);
  EXPECT_GE(model.number(columns), 768u);
  ASSERT_TRUE(decided(tiles, Value::of(4), true));
}

TEST_F(Tiles, DecisionsThatNewSizesBreakAreMended) {
  // A tile count is 1, and one of the sizes is small: the grid can still be larger than the first CTA's cluster.
  const Value k_tiles = divide(depth, 64);
  ASSERT_TRUE(model.decide(equal(k_tiles, 3), true));
  ASSERT_TRUE(model.decide(less(plus(rows, columns), 700), true));
  ASSERT_TRUE(decided(Value::of(5), product(k_tiles, product(divide(rows, 256), divide(columns, 256))), false));
  EXPECT_TRUE(decided(Value::of(2), product(k_tiles, product(divide(rows, 256), divide(columns, 256))), true));
  EXPECT_EQ(model.number(k_tiles), 3u);
  EXPECT_LT(model.number(rows) + model.number(columns), 700u);
}

TEST_F(Tiles, WhatIsNotPossibleIsStillRefused) {
  const Value tiles = product(divide(rows, 256), divide(columns, 256));
  ASSERT_TRUE(model.decide(less(rows, 256), true));
  EXPECT_FALSE(decided(cluster, tiles, true));
  EXPECT_LT(model.number(rows), 256u);
}

TEST_F(Tiles, WholeTilesOfAGroup) {
  // group = min(blocks - first, 8), first = tile / (8 * n_tiles) * 8, as grouped orders have it.
  const Value m_tiles = tiles_of(rows, 7);
  const Value n_tiles = tiles_of(columns, 8);
  const Value in_group = product(n_tiles, Value::of(8));
  const Value first = product(terms.apply(op(Op::kDiv), cluster, in_group), Value::of(8));
  const Value left = least(terms.apply(op(Op::kSub), m_tiles, first), Value::of(8));
  ASSERT_TRUE(decided(Value::of(5), left, true));
  ASSERT_TRUE(decided(cluster, product(m_tiles, n_tiles), true));
  EXPECT_TRUE(decided(plus(cluster, product(clusters, Value::of(3))), product(m_tiles, n_tiles), false));
}

}  // namespace
}  // namespace tmemlint::cluster
