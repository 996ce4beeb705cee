// What a path has decided: the list of facts itself. What follows from them is in bounds.cpp, decide.cpp and
// assume.cpp.
#include "analyzer/value/facts.h"

#include "analyzer/assumptions/assumptions.h"

#include <algorithm>

namespace tmemlint::value {

namespace {

auto position(std::vector<Fact>& list, uint32_t term) {
  return std::lower_bound(list.begin(), list.end(), term, [](const Fact& f, uint32_t t) { return f.term < t; });
}

}  // namespace

const Fact* Facts::find(uint32_t term) const {
  auto at = position(const_cast<std::vector<Fact>&>(list_), term);
  return at != list_.end() && at->term == term ? &*at : nullptr;
}

bool Facts::set(uint32_t term, Interval interval) {
  auto at = position(list_, term);
  if (at != list_.end() && at->term == term) {
    at->interval = intersect(at->interval, interval);
    return false;
  }
  // Full: the oldest unknown is the least likely to be asked about again.
  const bool full = !unlimited && list_.size() >= assumptions::kFactsOfAPath;
  if (full) {
    list_.erase(list_.begin());
    at = position(list_, term);
  }
  Fact fact;
  fact.term = term;
  fact.interval = interval;
  list_.insert(at, fact);
  return full;
}

void Facts::set_lanes(uint32_t term, uint32_t lanes) {
  auto at = position(list_, term);
  if (at == list_.end() || at->term != term) {
    Fact fact;
    fact.term = term;
    at = list_.insert(at, fact);
  }
  at->lanes = lanes;
  at->per_lane = true;
}

void Facts::forget(const Terms& terms, uint64_t loops) {
  std::erase_if(list_, [&](const Fact& f) { return (terms[f.term].loops & loops) != 0; });
}

void Facts::join(const Facts& other) {
  std::vector<Fact> out;
  for (const Fact& f : list_) {
    const Fact* g = other.find(f.term);
    if (g == nullptr) continue;
    Fact both = f;
    both.interval = {std::min(f.interval.low, g->interval.low), std::max(f.interval.high, g->interval.high)};
    if (f.per_lane != g->per_lane || f.lanes != g->lanes) both.per_lane = false;
    if (both.interval == Interval{} && !both.per_lane) continue;
    out.push_back(both);
  }
  list_ = std::move(out);
}

size_t Facts::differences(const Facts& other) const {
  size_t same = 0;
  for (const Fact& f : list_) {
    const Fact* g = other.find(f.term);
    if (g != nullptr && *g == f) ++same;
  }
  return list_.size() + other.list_.size() - 2 * same;
}

uint32_t Facts::opposite(const Facts& other) const {
  for (const Fact& f : list_) {
    if (!f.decided() || f.interval.low < 0 || f.interval.low > 1) continue;
    const Fact* g = other.find(f.term);
    if (g == nullptr || !g->interval.one_number()) continue;
    if (f.interval.low + g->interval.low == 1 && f.interval.low * g->interval.low == 0) return f.term;
  }
  return 0;
}

bool FactsFilter::admits(uint32_t join, uint64_t number) const {
  const Fact* fact = facts_.find(join);
  if (fact == nullptr) return true;
  const unsigned width = terms_[join].width;
  const int64_t n = width == 1 ? static_cast<int64_t>(number) : sign_extend(number, width);
  return n >= fact->interval.low && n <= fact->interval.high;
}

}  // namespace tmemlint::value
