#include "analyzer/cluster/model.h"

#include "analyzer/assumptions/assumptions.h"
#include "analyzer/cluster/aim.h"

#include <algorithm>
#include <array>
#include <bit>

namespace tmemlint::cluster {

using value::Op;
using value::Term;
using value::TermKind;
using value::UnknownKind;
using value::Value;

namespace {

// Sizes that kernels are launched with, and the small numbers that loops turn on.
constexpr auto kUsual = std::to_array(assumptions::kNumbersTried);
constexpr size_t kMostLeaves = assumptions::kUnknownsOfADecision;
constexpr size_t kMostPairs = assumptions::kPairsTried;
constexpr size_t kMostRepairs = assumptions::kRepairsTried;
constexpr size_t kMostApproaches = assumptions::kApproachesTried;
constexpr uint32_t kMostAims = assumptions::kAimsTried;
constexpr size_t kMostMended = assumptions::kDecisionsMended;
// A size that is a multiple of every tile.
constexpr uint64_t kLarge = assumptions::kLargeSize;

}  // namespace

bool Model::is_leaf(uint32_t term) const {
  const Term& t = (*terms_)[term];
  if (t.kind == TermKind::kSum) return false;
  // What another lane holds is another number.
  return t.kind != TermKind::kPure || t.operation.op == Op::kGeneric || t.operation.op == Op::kButterfly ||
         t.args.size() > 4;
}

// Where a CTA stands and how many there are. A clock is taken to be like them: not negative.
bool Model::is_launch(uint32_t leaf) const {
  const UnknownKind kind = value::kind_of((*terms_)[leaf].site);
  return (*terms_)[leaf].kind == TermKind::kOpaque &&
         (kind == UnknownKind::kLaunch || kind == UnknownKind::kLaunchSize || kind == UnknownKind::kClock);
}

bool Model::is_size(uint32_t leaf) const {
  return is_launch(leaf) && value::kind_of((*terms_)[leaf].site) == UnknownKind::kLaunchSize;
}

// Where something stands among those that there are: the first one, unless a decision needs another.
bool Model::is_position(uint32_t leaf) const {
  return is_launch(leaf) && !is_size(leaf);
}

// Whether an unknown can be this number at all.
bool Model::can_be(uint32_t leaf, uint64_t number) const {
  if (!is_launch(leaf)) return true;
  if (is_size(leaf) && number == 0) return false;
  return !is_negative(leaf, number);
}

// Sizes and counts are not negative.
bool Model::is_plausible(uint32_t leaf, uint64_t number) const {
  return !is_negative(leaf, number) && can_be(leaf, number);
}

uint64_t Model::usual(uint32_t leaf) const {
  const Term& t = (*terms_)[leaf];
  if (t.width == 1) return 0;
  // The numbers of the first CTA, which always has work to do.
  if (is_position(leaf)) return 0;
  return (t.divisor ? 1 : assumptions::kUsualNumber) & ~t.zero_bits;
}

// Whether what is remembered of a term is still right: no unknown that it is computed from has got another number
// since. Few unknowns change while one decision is made, so that what was worked out since its beginning is compared
// with those only.
inline bool Model::stands(Known& known) {
  if (known.at == 0) return false;
  if (known.leaf || known.at == clock_) return true;
  const bool recent = known.at >= began_;
  for (uint64_t rest = recent ? known.leaves & changed_since_ : known.leaves; rest != 0; rest &= rest - 1) {
    if (changed_[static_cast<size_t>(std::countr_zero(rest))] > known.at) return false;
  }
  if (!recent) known.at = clock_;
  return true;
}

uint64_t Model::evaluate(const Value& value) {
  return value.base == 0 ? value.number : value.number + evaluate(value.base).number;
}

const Model::Known& Model::evaluate(uint32_t term) {
  Known& known = known_[term];
  if (stands(known)) return known;
  const Term& t = (*terms_)[term];
  uint64_t number = 0;
  uint64_t leaves = 0;
  auto argument = [&](uint32_t base) -> uint64_t {
    if (base == 0) return 0;
    Known& arg = known_[base];
    const Known& k = stands(arg) ? arg : evaluate(base);
    leaves |= k.leaves;
    return k.number;
  };
  if (known.at == 0 && is_leaf(term)) {
    known.leaf = true;
    leaves = uint64_t{1} << (leaf_count_++ % 64);
    number = usual(term);
  } else if (t.kind == TermKind::kSum) {
    for (size_t n = 0; n < t.args.size(); ++n) number += t.coefficients[n] * argument(t.args[n].base);
    if (t.width < 64) number = value::truncate(number, t.width);
  } else {
    uint64_t args[4] = {};
    for (size_t n = 0; n < t.args.size(); ++n) args[n] = t.args[n].number + argument(t.args[n].base);
    number = value::fold(t.operation, args, static_cast<unsigned>(t.args.size()));
  }
  known.at = clock_;
  known.number = number;
  known.leaves = leaves;
  return known;
}

// Gives an unknown a number.
void Model::set(uint32_t leaf, uint64_t number) {
  const Known& known = evaluate(leaf);
  changes_.emplace_back(leaf, known.number);
  put(leaf, number);
}

void Model::put(uint32_t leaf, uint64_t number) {
  Known& known = known_[leaf];
  known.number = number;
  changed_[static_cast<size_t>(std::countr_zero(known.leaves))] = ++clock_;
  changed_since_ |= known.leaves;
}

// Undoes all but the first `changes`.
void Model::take_back(size_t changes) {
  for (; changes_.size() > changes; changes_.pop_back()) put(changes_.back().first, changes_.back().second);
}

bool Model::holds(uint32_t term) {
  known_.grow(terms_->size());
  return (evaluate(term).number & 1) != 0;
}

// Whether a decision that held before the unknowns of `changed` got other numbers still does.
bool Model::keeps(std::pair<uint32_t, bool> decision, uint64_t changed) {
  if ((known_[decision.first].leaves & changed) == 0) return true;
  return ((evaluate(decision.first).number & 1) != 0) == decision.second;
}

bool Model::agrees(uint32_t term, bool truth, uint64_t changed) {
  if (holds(term) != truth) return false;
  return std::all_of(decisions_.rbegin(), decisions_.rend(), [&](const auto& d) { return keeps(d, changed); });
}

bool Model::is_negative(uint32_t leaf, uint64_t number) const {
  const unsigned width = (*terms_)[leaf].width;
  return width > 1 && value::sign_extend(number, width) < 0;
}

// `changed`: unknowns, as bits, that got other numbers since all decisions held.
bool Model::attempt(uint32_t leaf, uint64_t number, uint32_t term, bool truth, uint64_t changed) {
  ++attempts;
  number &= ~(*terms_)[leaf].zero_bits;
  if (changed == 0 && number == evaluate(leaf).number) return false;  // nothing changes
  const size_t before = changes_.size();
  set(leaf, number);
  if (agrees(term, truth, changed | known_[leaf].leaves)) return true;
  take_back(before);
  return false;
}

void Model::add_decision(uint32_t term, bool truth) {
  if (known_[term].decided) return;
  known_[term].decided = true;
  decisions_.emplace_back(term, truth);
}

void Model::forget_decisions(size_t from) {
  for (; decisions_.size() > from; decisions_.pop_back()) known_[decisions_.back().first].decided = false;
}

void Model::collect_leaves(uint32_t term, std::vector<uint32_t>& leaves) const {
  if (term == 0 || seen_[term] || leaves.size() >= kMostLeaves) return;
  seen_[term] = true;
  trail_.push_back(term);
  if (is_leaf(term)) {
    if ((*terms_)[term].kind != TermKind::kAllocation) leaves.push_back(term);
    return;
  }
  for (const Value& v : (*terms_)[term].args) collect_leaves(v.base, leaves);
}

std::vector<uint32_t> Model::leaves_of(uint32_t term) const {
  std::vector<uint32_t> leaves;
  seen_.resize(terms_->size(), false);
  collect_leaves(term, leaves);
  for (uint32_t t : trail_) seen_[t] = false;
  trail_.clear();
  return leaves;
}

std::vector<uint64_t> Model::candidates(uint32_t leaf, uint32_t term) {
  std::vector<uint64_t> out;
  if ((*terms_)[leaf].width == 1) return {0, 1};
  const uint64_t here = evaluate(leaf).number;
  const Term& t = (*terms_)[term];
  // Where a comparison turns over, if its sides are close to linear in the leaf.
  if (t.kind == TermKind::kPure && (t.operation.op == Op::kEq || t.operation.op == Op::kLt) && t.args.size() == 2) {
    const unsigned w = t.operation.width;
    auto difference = [&](uint64_t number) {
      const size_t before = changes_.size();
      set(leaf, number);
      const int64_t d = value::sign_extend(evaluate(t.args[0]), w) - value::sign_extend(evaluate(t.args[1]), w);
      take_back(before);
      return d;
    };
    const int64_t d0 = difference(here);
    for (const uint64_t size : assumptions::kSlopesTried) {
      const auto step = static_cast<int64_t>(size);
      const int64_t slope = difference(here + static_cast<uint64_t>(step)) - d0;
      if (slope == 0) continue;
      const int64_t at = static_cast<int64_t>(here) - d0 * step / slope;
      // The larger ones first: sizes that a kernel is really launched with are not negative.
      for (int64_t near : {at + 1, at + step, at, at - 1, at - step}) out.push_back(static_cast<uint64_t>(near));
    }
  }
  out.insert(out.end(), kUsual.begin(), kUsual.end());
  out.push_back(~uint64_t{0});
  for (uint64_t& n : out) n = value::truncate(n, (*terms_)[leaf].width);
  return out;
}

bool Model::of_parameters(uint32_t term) const {
  const std::vector<uint32_t> leaves = leaves_of(term);
  return leaves.size() < kMostLeaves &&
         std::all_of(leaves.begin(), leaves.end(), [&](uint32_t l) { return is_parameter(l); });
}

bool Model::of_words(uint32_t term) const {
  const std::vector<uint32_t> leaves = leaves_of(term);
  const auto is_word = [&](uint32_t l) {
    const Term& t = (*terms_)[l];
    return t.uniformity == value::Uniformity::kCta && t.kind == TermKind::kOpaque &&
           value::kind_of(t.site) == UnknownKind::kRunGlobal;
  };
  return leaves.size() < kMostLeaves &&
         std::all_of(leaves.begin(), leaves.end(), [&](uint32_t l) { return is_parameter(l) || is_word(l); });
}

// Whether an unknown is a parameter or a number of the launch.
bool Model::is_parameter(uint32_t leaf) const {
  const Term& t = (*terms_)[leaf];
  return t.uniformity == value::Uniformity::kCta &&
         (is_launch(leaf) || (t.kind == TermKind::kOpaque && value::kind_of(t.site) == UnknownKind::kParameter));
}

// By how much the two sides of a comparison would have to change for it to have this truth; 0: it has. Nothing for
// other conditions.
std::optional<uint64_t> Model::distance(uint32_t term, bool truth) {
  const Term& t = (*terms_)[term];
  if (t.kind != TermKind::kPure || t.args.size() != 2) return std::nullopt;
  if (t.operation.op != Op::kLt && (t.operation.op != Op::kEq || !truth)) return std::nullopt;
  const unsigned w = t.operation.width;
  __extension__ using Wide = __int128;
  auto number = [&](const Value& v) -> Wide {
    const uint64_t n = evaluate(v);
    if (t.operation.op == Op::kEq || t.operation.is_signed) return value::sign_extend(n, w);
    return value::truncate(n, w);
  };
  const Wide over = number(t.args[0]) - number(t.args[1]);
  const Wide miss = t.operation.op == Op::kEq ? (over < 0 ? -over : over) : truth ? over + 1 : -over;
  return miss < 0 ? 0 : static_cast<uint64_t>(miss);
}

// Tries with all unknowns one size, and with one of them another number: a condition on a product of sizes may need
// that.
bool Model::from_alike(uint64_t size, uint32_t term, bool truth, const std::vector<uint32_t>& leaves) {
  if (leaves.size() < 2) return false;
  const size_t before = changes_.size();
  uint64_t changed = 0;
  for (uint32_t leaf : leaves) {
    const Term& t = (*terms_)[leaf];
    if (t.width == 1 || evaluate(leaf).number == size || (t.zero_bits & size) != 0 || is_position(leaf)) continue;
    set(leaf, size);
    changed |= known_[leaf].leaves;
  }
  if (changed == 0) return false;
  ++attempts;
  if (agrees(term, truth, changed)) return true;
  for (uint32_t leaf : leaves) {
    for (uint64_t n : candidates(leaf, term)) {
      if (!is_plausible(leaf, n)) continue;
      if (attempt(leaf, n, term, truth, changed)) return true;
    }
  }
  take_back(before);
  return false;
}

// Changes one unknown after the other such that every decision goes on to hold and the comparison comes closer to what
// is wanted: a loop over a product of sizes ends early only if most of them are small.
bool Model::approach(uint32_t term, bool truth, const std::vector<uint32_t>& leaves) {
  std::optional<uint64_t> best = distance(term, truth);
  const size_t before = changes_.size();
  size_t tried = 0;
  while (best && *best != 0 && tried < kMostApproaches) {
    uint32_t which = 0;
    uint64_t to = 0;
    for (uint32_t leaf : leaves) {
      for (uint64_t n : candidates(leaf, term)) {
        n &= ~(*terms_)[leaf].zero_bits;
        if (!is_plausible(leaf, n) || n == evaluate(leaf).number) continue;
        ++tried;
        const size_t here = changes_.size();
        set(leaf, n);
        const uint64_t miss = *distance(term, truth);
        if (miss < *best && agrees(term, miss == 0 ? truth : !truth, known_[leaf].leaves)) {
          best = miss;
          which = leaf;
          to = n;
        }
        take_back(here);
        if (best == 0) break;
      }
      if (best == 0) break;
    }
    if (which == 0) break;
    set(which, to);
  }
  attempts += tried;
  if (tried >= kMostApproaches) terms_->uses().count(assumptions::Id::kApproachesTried);
  if (best == 0) return true;
  take_back(before);
  return false;
}

bool Model::decide(uint32_t term, bool truth) {
  changes_.clear();
  began_ = clock_;
  changed_since_ = 0;
  return find_numbers(term, truth);
}

bool Model::find_numbers(uint32_t term, bool truth) {
  if (holds(term) != truth) {
    if (failed_.contains({term, truth})) return false;
    if (!decide_parts(term, truth) && !search(term, truth)) {
      terms_->uses().count(assumptions::Id::kNoNumbersFound);
      failed_.insert({term, truth});
      failures_.emplace_back(term, truth);
      return false;
    }
  }
  add_decision(term, truth);
  return true;
}

// Several conditions that must hold together: one after the other. False where that is not it, or fails; nothing has
// changed then.
bool Model::decide_parts(uint32_t term, bool truth) {
  const Term& t = (*terms_)[term];
  if (t.kind != TermKind::kPure || t.width != 1 || t.args.size() != 2) return false;
  const Op together = truth ? Op::kAnd : Op::kOr;  // both must be true, or both false
  if (t.operation.op != together) return false;
  const size_t before = changes_.size();
  const size_t decided = decisions_.size();
  const size_t failures = failures_.size();
  bool all = true;
  for (size_t n = 0; n < 2 && all; ++n) {
    const value::Terms::Parts parts = terms_->parts((*terms_)[term].args[n].base);
    if (parts.size() != 1) continue;
    const bool inverse = parts[0].coefficient != 1;
    all = find_numbers(parts[0].term, truth != inverse);
  }
  if (all && holds(term) == truth) return true;
  forget_decisions(decided);
  take_back(before);
  // What failed beside the first condition need not fail without it.
  for (; failures_.size() > failures; failures_.pop_back()) failed_.erase(failures_.back());
  return false;
}

// Looks for numbers that make a condition true (or false) and keep every decision: of one unknown, of one and what
// mends a decision that it breaks, along a line, of two at once.
bool Model::search(uint32_t term, bool truth) {
  std::vector<uint32_t> leaves = leaves_of(term);
  // An unknown that no decision is about yet can take any number.
  uint64_t bound = 0;
  for (const auto& [decision, way] : decisions_) bound |= known_[decision].leaves;
  std::stable_partition(leaves.begin(), leaves.end(), [&](uint32_t l) { return (known_[l].leaves & bound) == 0; });
  if (leaves.size() >= kMostLeaves) terms_->uses().count(assumptions::Id::kUnknownsOfADecision);
  Numbers numbers(leaves.size());
  return search_one(term, truth, leaves, numbers) || search_repairs(term, truth, leaves, numbers) ||
         search_aims(term, truth) || from_alike(1, term, truth, leaves) || approach(term, truth, leaves) ||
         search_pairs(term, truth, leaves, numbers) || from_alike(kLarge, term, truth, leaves);
}

// What is wanted goes down to the unknowns; a decision that the new numbers break is mended the same way, by other
// unknowns.
bool Model::search_aims(uint32_t term, bool truth) {
  const size_t before = changes_.size();
  for (uint32_t plan = 0; plan < kMostAims; ++plan) {
    Aim aim(*this, plan);
    bool fits = aim.at_truth(term, truth) && !aim.repeats();
    for (size_t mended = 0; fits && mended <= kMostMended; ++mended) {
      ++attempts;
      if (holds(term) != truth) break;
      uint64_t changed = 0;
      for (size_t n = before; n < changes_.size(); ++n) changed |= known_[changes_[n].first].leaves;
      const auto broken =
          std::find_if(decisions_.begin(), decisions_.end(), [&](const auto& d) { return !keeps(d, changed); });
      if (broken == decisions_.end()) return true;
      fits = aim.at_truth(broken->first, broken->second);
    }
    take_back(before);
  }
  terms_->uses().count(assumptions::Id::kAimsTried);
  return false;
}

// Sizes and counts are not negative; what no such number satisfies may take others. `numbers` are set here.
bool Model::search_one(uint32_t term, bool truth, const std::vector<uint32_t>& leaves, Numbers& numbers) {
  terms_->uses().count(assumptions::Id::kNotNegative);
  for (const bool negative : {false, true}) {
    for (size_t l = 0; l < leaves.size(); ++l) {
      const uint32_t leaf = leaves[l];
      if (!negative) numbers[l] = candidates(leaf, term);
      for (uint64_t n : numbers[l]) {
        if (is_negative(leaf, n) != negative || !can_be(leaf, n)) continue;
        if (attempt(leaf, n, term, truth)) return true;
      }
    }
  }
  return false;
}

// A number that gives the condition its truth may break one earlier decision: another unknown of that decision may
// repair it.
bool Model::search_repairs(uint32_t term, bool truth, const std::vector<uint32_t>& leaves, const Numbers& numbers) {
  const size_t before = changes_.size();
  size_t repairs = 0;
  for (size_t a = 0; a < leaves.size() && repairs < kMostRepairs; ++a) {
    const uint64_t changed = known_[leaves[a]].leaves;
    for (uint64_t n : numbers[a]) {
      if (!is_plausible(leaves[a], n)) continue;
      if (repairs >= kMostRepairs) break;
      take_back(before);
      set(leaves[a], n & ~(*terms_)[leaves[a]].zero_bits);
      if (holds(term) != truth) continue;
      const auto broken =
          std::find_if(decisions_.begin(), decisions_.end(), [&](const auto& d) { return !keeps(d, changed); });
      if (broken == decisions_.end()) continue;
      const uint32_t other = broken->first;
      for (uint32_t b : leaves_of(other)) {
        if (b == leaves[a]) continue;
        for (uint64_t k : candidates(b, other)) {
          if (!is_plausible(b, k)) continue;
          if (++repairs > kMostRepairs) break;
          if (attempt(b, k, term, truth, changed)) return true;
        }
      }
    }
    take_back(before);
  }
  if (repairs >= kMostRepairs) terms_->uses().count(assumptions::Id::kRepairsTried);
  return false;
}

bool Model::search_pairs(uint32_t term, bool truth, const std::vector<uint32_t>& leaves, const Numbers& numbers) {
  const size_t before = changes_.size();
  size_t pairs = 0;
  for (size_t a = 0; a < leaves.size() && pairs < kMostPairs; ++a) {
    for (uint64_t n : numbers[a]) {
      if (!is_plausible(leaves[a], n)) continue;
      take_back(before);
      set(leaves[a], n & ~(*terms_)[leaves[a]].zero_bits);
      for (size_t b = 0; b < leaves.size() && pairs < kMostPairs; ++b) {
        if (b == a) continue;
        for (uint64_t k : candidates(leaves[b], term)) {
          if (!is_plausible(leaves[b], k)) continue;
          if (++pairs >= kMostPairs) break;
          if (attempt(leaves[b], k, term, truth, known_[leaves[a]].leaves)) return true;
        }
      }
      if (pairs >= kMostPairs) break;
    }
    take_back(before);
  }
  if (pairs >= kMostPairs) terms_->uses().count(assumptions::Id::kPairsTried);
  return false;
}

}  // namespace tmemlint::cluster
