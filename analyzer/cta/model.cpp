#include "analyzer/cta/model.h"

#include <algorithm>
#include <array>

namespace tmemlint::cta {

using warp::Op;
using warp::Term;
using warp::TermKind;
using warp::Value;

namespace {

// Sizes that kernels are launched with, and the small numbers that loops turn on.
constexpr std::array<uint64_t, 34> kUsual = {0,   1,   2,   3,   4,   5,   6,   7,   8,    16,   17,   32,   63,   64,       65,       96,        127,
                                             128, 129, 192, 255, 256, 257, 320, 384, 512,  640,  1024, 2048, 4096, 1u << 16, 1u << 20, 1u << 30, 0x7fffffff};
constexpr size_t kMostLeaves = 12;
constexpr size_t kMostAttempts = 1500;

}  // namespace

bool Model::is_leaf(uint32_t term) const {
  const Term& t = terms_[term];
  if (t.kind == TermKind::kSum) return false;
  return t.kind != TermKind::kPure || t.operation.op == Op::kGeneric || t.args.size() > 4;
}

uint64_t Model::usual(uint32_t leaf) const {
  const Term& t = terms_[leaf];
  if (t.width == 1) return 0;
  return 128 & ~t.zero_bits;
}

uint64_t Model::evaluate(const Value& value) {
  return value.base == 0 ? value.number : value.number + evaluate(value.base);
}

uint64_t Model::evaluate(uint32_t term) {
  if (known_.size() < terms_.size()) known_.resize(terms_.size());
  if (known_[term].round == round_) return known_[term].number;
  const Term& t = terms_[term];
  uint64_t number = 0;
  if (is_leaf(term)) {
    const auto [it, fresh] = numbers_.try_emplace(term, 0);
    if (fresh) it->second = usual(term);
    number = it->second;
  } else if (t.kind == TermKind::kSum) {
    for (size_t n = 0; n < t.args.size(); ++n) number += t.coefficients[n] * evaluate(t.args[n].base);
    if (t.width < 64) number = warp::truncate(number, t.width);
  } else {
    uint64_t args[4] = {};
    for (size_t n = 0; n < t.args.size(); ++n) args[n] = evaluate(t.args[n]);
    number = warp::fold(t.operation, args, static_cast<unsigned>(t.args.size()));
  }
  known_[term] = {round_, number};
  return number;
}

bool Model::holds(uint32_t term) { return (evaluate(term) & 1) != 0; }

bool Model::agrees(uint32_t term, bool truth) {
  if (holds(term) != truth) return false;
  for (auto d = decisions_.rbegin(); d != decisions_.rend(); ++d) {
    if (holds(d->first) != d->second) return false;
  }
  return true;
}

bool Model::attempt(uint32_t leaf, uint64_t number, uint32_t term, bool truth) {
  uint64_t& place = numbers_[leaf];
  const uint64_t before = place;
  place = number & ~terms_[leaf].zero_bits;
  ++round_;
  if (agrees(term, truth)) return true;
  numbers_[leaf] = before;
  ++round_;
  return false;
}

void Model::leaves_of(uint32_t term, std::vector<uint32_t>& leaves, std::vector<bool>& seen) const {
  if (term == 0 || seen[term] || leaves.size() >= kMostLeaves) return;
  seen[term] = true;
  if (is_leaf(term)) {
    if (terms_[term].kind != TermKind::kAllocation) leaves.push_back(term);
    return;
  }
  for (const Value& v : terms_[term].args) leaves_of(v.base, leaves, seen);
}

std::vector<uint64_t> Model::candidates(uint32_t leaf, uint32_t term) {
  std::vector<uint64_t> out;
  if (terms_[leaf].width == 1) return {0, 1};
  const uint64_t here = numbers_[leaf];
  const Term& t = terms_[term];
  // Where a comparison turns over, if its sides are close to linear in the leaf.
  if (t.kind == TermKind::kPure && (t.operation.op == Op::kEq || t.operation.op == Op::kLt) && t.args.size() == 2) {
    const unsigned w = t.operation.width;
    auto difference = [&](uint64_t number) {
      numbers_[leaf] = number;
      ++round_;
      const int64_t d = warp::sign_extend(evaluate(t.args[0]), w) - warp::sign_extend(evaluate(t.args[1]), w);
      numbers_[leaf] = here;
      ++round_;
      return d;
    };
    const int64_t d0 = difference(here);
    for (const int64_t step : {int64_t{1}, int64_t{64}, int64_t{4096}}) {
      const int64_t slope = difference(here + static_cast<uint64_t>(step)) - d0;
      if (slope == 0) continue;
      const int64_t at = static_cast<int64_t>(here) - d0 * step / slope;
      for (int64_t near : {at, at - 1, at + 1, at - step, at + step}) out.push_back(static_cast<uint64_t>(near));
    }
  }
  out.insert(out.end(), kUsual.begin(), kUsual.end());
  out.push_back(~uint64_t{0});
  for (uint64_t& n : out) n = warp::truncate(n, terms_[leaf].width);
  return out;
}

bool Model::decide(uint32_t term, bool truth) {
  if (known_.size() < terms_.size()) known_.resize(terms_.size());
  if (holds(term) == truth) {
    decisions_.emplace_back(term, truth);
    return true;
  }
  std::vector<uint32_t> leaves;
  std::vector<bool> seen(terms_.size(), false);
  leaves_of(term, leaves, seen);
  const std::unordered_map<uint32_t, uint64_t> before = numbers_;
  size_t attempts = 0;
  for (uint32_t leaf : leaves) {
    for (uint64_t n : candidates(leaf, term)) {
      ++attempts;
      if (attempt(leaf, n, term, truth)) {
        decisions_.emplace_back(term, truth);
        return true;
      }
    }
  }
  // Two at once.
  for (size_t a = 0; a < leaves.size() && attempts < kMostAttempts; ++a) {
    const uint64_t old = numbers_[leaves[a]];
    for (uint64_t n : candidates(leaves[a], term)) {
      numbers_[leaves[a]] = n & ~terms_[leaves[a]].zero_bits;
      ++round_;
      for (size_t b = 0; b < leaves.size() && attempts < kMostAttempts; ++b) {
        if (b == a) continue;
        for (uint64_t k : candidates(leaves[b], term)) {
          if (++attempts >= kMostAttempts) break;
          if (attempt(leaves[b], k, term, truth)) {
            decisions_.emplace_back(term, truth);
            return true;
          }
        }
      }
      if (attempts >= kMostAttempts) break;
    }
    numbers_[leaves[a]] = old;
    ++round_;
  }
  numbers_ = before;
  ++round_;
  return false;
}

}  // namespace tmemlint::cta
