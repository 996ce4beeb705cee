#include "analyzer/cluster/unreached.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "analyzer/cluster/value_origins.h"

namespace tmemlint::cluster {

using kernel::Block;
using program::Action;
using program::Meaning;
using program::Step;

namespace {

using Way = std::pair<uint32_t, size_t>;  // block, and number among its successors

bool is_wait(const Meaning& m) {
  return m.action == Action::kMbarrier &&
         (m.mbarrier == program::MbarrierAction::kTestWait || m.mbarrier == program::MbarrierAction::kTryWait);
}

class Finder {
public:
  Finder(const CompiledKernel& kernel, const BranchFacts& facts, const Coverage& coverage)
      : kernel_(kernel), graph_(kernel.graph), control_(facts.control()), coverage_(coverage) {}

  std::vector<UnreachedRegion> regions(const std::vector<bool>& can_be_reached, bool by_place) {
    std::map<Way, UnreachedRegion> found;
    for (uint32_t b = 0; b < graph_.blocks.size(); ++b) {
      std::optional<Way> leads_here;
      for (uint32_t s = kernel_.program->code[b].first; s < kernel_.program->code[b].last; ++s) {
        if (coverage_.executed[s] || !can_be_reached[s] || !counts(s)) continue;
        if (!leads_here) leads_here = missing_way_to(b);
        if (!leads_here) break;
        UnreachedRegion& region = found[*leads_here];
        region.block = leads_here->first;
        region.way = leads_here->second;
        region.instructions.push_back(kernel_.program->steps[s].instruction);
      }
    }
    std::vector<UnreachedRegion> out;
    for (auto& [way, region] : found) {
      std::sort(region.instructions.begin(), region.instructions.end());
      region.instructions.erase(std::unique(region.instructions.begin(), region.instructions.end()),
                                region.instructions.end());
      if (by_place ? asks_for_place(region) : !waits_again(region)) out.push_back(std::move(region));
    }
    return out;
  }

private:
  bool counts(uint32_t step) const {
    const Step& s = kernel_.program->steps[step];
    if (s.kind != Step::Kind::kInstruction) return false;
    const Meaning& m = kernel_.meaning_of(s.instruction);
    return m.action == Action::kTcgen05 || is_wait(m);
  }

  // Whether a block runs whenever a branch goes a way.
  bool leads_to(const Way& way, uint32_t block) const {
    for (uint32_t b = graph_.blocks[way.first].successors[way.second]; b != kNone; b = control_.after[b]) {
      if (b == block) return true;
      if (b == control_.after[way.first]) return false;
    }
    return false;
  }

  // The nearest branch that warps came to and that none left in the way to a block. Nothing where they went all the
  // ways to it but stopped before it: why is said otherwise.
  std::optional<Way> missing_way_to(uint32_t block) const {
    std::vector<uint32_t> work{block};
    std::set<uint32_t> seen{block};
    for (size_t n = 0; n < work.size(); ++n) {
      for (uint32_t decider : control_.deciders[work[n]]) {
        for (size_t way = 0; way < graph_.blocks[decider].successors.size(); ++way) {
          if (coverage_.came_to(decider) && !coverage_.went(decider, way) && leads_to({decider, way}, work[n]))
            return Way{decider, way};
        }
        if (!coverage_.came_to(decider) && seen.insert(decider).second) work.push_back(decider);
      }
    }
    return std::nullopt;
  }

  bool waits_again(const UnreachedRegion& region) {
    const bool only_waits = std::all_of(region.instructions.begin(), region.instructions.end(),
                                        [&](uint32_t i) { return is_wait(kernel_.meaning_of(i)); });
    const uint32_t condition = kernel_.program->code[region.block].condition;
    if (!only_waits || condition == kNone) return false;
    std::set<uint64_t> from;
    origins().collect(condition, from);
    const std::set<uint64_t>& results = results_of_waits();
    return std::any_of(from.begin(), from.end(), [&](uint64_t origin) { return results.contains(origin); });
  }

  bool asks_for_place(const UnreachedRegion& region) {
    const uint32_t condition = kernel_.program->code[region.block].condition;
    return condition != kNone && origins().of_place(condition);
  }

  const ValueOrigins& origins() {
    if (!origins_) origins_.emplace(*kernel_.program);
    return *origins_;
  }

  // Registers that waits write.
  const std::set<uint64_t>& results_of_waits() {
    if (results_) return *results_;
    results_.emplace();
    for (const Step& s : kernel_.program->steps) {
      if (s.kind != Step::Kind::kInstruction || !is_wait(kernel_.meaning_of(s.instruction))) continue;
      for (unsigned n = 0; n < s.destinations; ++n) results_->insert(kernel_.program->args[s.first_arg + n].ref);
    }
    return *results_;
  }

  const CompiledKernel& kernel_;
  const kernel::Graph& graph_;
  const kernel::Control& control_;
  const Coverage& coverage_;
  std::optional<ValueOrigins> origins_;
  std::optional<std::set<uint64_t>> results_;
};

}  // namespace

std::vector<UnreachedRegion> unreached_regions(const CompiledKernel& kernel, const BranchFacts& facts,
                                               const Coverage& coverage, const std::vector<bool>& can_be_reached,
                                               bool by_place) {
  return Finder(kernel, facts, coverage).regions(can_be_reached, by_place);
}

}  // namespace tmemlint::cluster
