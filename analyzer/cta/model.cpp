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
constexpr std::array<uint64_t, 18> kUsual = {0,  1,   2,   3,   4,   5,   8,    16,   63,
                                             64, 127, 128, 129, 256, 512, 1024, 4096, 1u << 20};
constexpr size_t kMostLeaves = 12;
constexpr size_t kMostAttempts = 400;
constexpr size_t kMostRepairs = 120;

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

bool Model::holds(uint32_t term) {
  return (evaluate(term) & 1) != 0;
}

bool Model::agrees(uint32_t term, bool truth) {
  if (holds(term) != truth) return false;
  for (auto d = decisions_.rbegin(); d != decisions_.rend(); ++d) {
    if (holds(d->first) != d->second) return false;
  }
  return true;
}

bool Model::is_negative(uint32_t leaf, uint64_t number) const {
  const unsigned width = terms_[leaf].width;
  return width > 1 && warp::sign_extend(number, width) < 0;
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
      // The larger ones first: sizes that a kernel is really launched with are not negative.
      for (int64_t near : {at + 1, at + step, at, at - 1, at - step}) out.push_back(static_cast<uint64_t>(near));
    }
  }
  out.insert(out.end(), kUsual.begin(), kUsual.end());
  out.push_back(~uint64_t{0});
  for (uint64_t& n : out) n = warp::truncate(n, terms_[leaf].width);
  return out;
}

bool Model::of_parameters(uint32_t term) const {
  std::vector<uint32_t> leaves;
  std::vector<bool> seen(terms_.size(), false);
  leaves_of(term, leaves, seen);
  return leaves.size() < kMostLeaves && std::all_of(leaves.begin(), leaves.end(), [&](uint32_t l) {
           const uint64_t kind = terms_[l].site >> 60;
           return terms_[l].kind == TermKind::kOpaque && terms_[l].uniformity == warp::Uniformity::kCta &&
                  (kind == 1 || kind == 2);
         });
}

bool Model::decide(uint32_t term, bool truth) {
  if (known_.size() < terms_.size()) known_.resize(terms_.size());
  auto accept = [&] {
    decisions_.emplace_back(term, truth);
    return true;
  };
  if (holds(term) == truth) return accept();
  if (failed_.contains({term, truth})) return false;
  const std::unordered_map<uint32_t, uint64_t> before = numbers_;
  // Several conditions that must hold together: one after the other.
  const Term& t = terms_[term];
  if (t.kind == TermKind::kPure && t.width == 1 && t.args.size() == 2 &&
      ((t.operation.op == Op::kAnd && truth) || (t.operation.op == Op::kOr && !truth))) {
    const size_t decided = decisions_.size();
    bool all = true;
    for (size_t n = 0; n < 2 && all; ++n) {
      const std::vector<warp::Terms::Part> parts = terms_.parts(terms_[term].args[n].base);
      if (parts.size() != 1) continue;
      const bool inverse = parts[0].coefficient != 1;
      all = decide(parts[0].term, truth != inverse);
    }
    if (all && holds(term) == truth) {
      return accept();
    }
    decisions_.resize(decided);
    numbers_ = before;
    ++round_;
  }
  std::vector<uint32_t> leaves;
  std::vector<bool> seen(terms_.size(), false);
  leaves_of(term, leaves, seen);
  size_t attempts = 0;
  // Sizes and counts are not negative; what no such number satisfies may take others.
  for (const bool negative : {false, true}) {
    for (uint32_t leaf : leaves) {
      const bool launch = terms_[leaf].site >> 60 == 2;
      for (uint64_t n : candidates(leaf, term)) {
        if (is_negative(leaf, n) != negative || (launch && (negative || n == 0))) continue;
        ++attempts;
        if (attempt(leaf, n, term, truth)) {
          this->attempts += attempts;
          return accept();
        }
      }
    }
  }
  // What makes it true may break an earlier decision that other numbers keep.
  size_t repairs = 0;
  for (size_t a = 0; a < leaves.size() && repairs < kMostRepairs; ++a) {
    const uint64_t old = numbers_[leaves[a]];
    for (uint64_t n : candidates(leaves[a], term)) {
      if (is_negative(leaves[a], n)) continue;
      if (repairs >= kMostRepairs) break;
      numbers_[leaves[a]] = n & ~terms_[leaves[a]].zero_bits;
      ++round_;
      if (holds(term) != truth) continue;
      const auto broken =
          std::find_if(decisions_.begin(), decisions_.end(), [&](const auto& d) { return holds(d.first) != d.second; });
      if (broken == decisions_.end()) continue;
      const uint32_t other = broken->first;
      std::vector<uint32_t> its;
      seen.assign(terms_.size(), false);
      leaves_of(other, its, seen);
      for (uint32_t b : its) {
        if (b == leaves[a] || (terms_[b].site >> 60) == 2) continue;
        numbers_.try_emplace(b, usual(b));
        for (uint64_t k : candidates(b, other)) {
          if (is_negative(b, k)) continue;
          if (++repairs > kMostRepairs) break;
          if (attempt(b, k, term, truth)) {
            this->attempts += attempts + repairs;
            return accept();
          }
        }
      }
    }
    numbers_[leaves[a]] = old;
    ++round_;
  }
  attempts += repairs;
  // Two at once.
  for (size_t a = 0; a < leaves.size() && attempts < kMostAttempts; ++a) {
    const uint64_t old = numbers_[leaves[a]];
    for (uint64_t n : candidates(leaves[a], term)) {
      if (is_negative(leaves[a], n)) continue;
      numbers_[leaves[a]] = n & ~terms_[leaves[a]].zero_bits;
      ++round_;
      for (size_t b = 0; b < leaves.size() && attempts < kMostAttempts; ++b) {
        if (b == a) continue;
        for (uint64_t k : candidates(leaves[b], term)) {
          if (++attempts >= kMostAttempts) break;
          if (attempt(leaves[b], k, term, truth)) {
            this->attempts += attempts;
            return accept();
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
  this->attempts += attempts;
  failed_.insert({term, truth});
  return false;
}

}  // namespace tmemlint::cta
