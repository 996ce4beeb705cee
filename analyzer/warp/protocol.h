// The state of the Tensor Memory protocol of one warp at a point of a path: what it has allocated, and which of its
// loads and stores it has not waited for.
//
// A state is three numbers (Protocol). What they stand for is kept once per warp in a ProtocolTable, whatever the
// number of events that carry it: none of them leaves anything out.
#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/program/program.h"
#include "analyzer/value/value.h"
#include "analyzer/warp/shared_sets.h"

namespace tmemlint::warp {

using ptx::kNone;
using value::Terms;
using value::Value;

// An allocation as one warp sees it along a path.
struct Held {
  uint32_t term = 0;      // base term of the address (TermKind::kAllocation)
  uint32_t step = kNone;  // the alloc, when this warp made it
  uint8_t live = 0;       // allocations of that site not yet freed, up to 2
  bool foreign = false;   // allocated by another warp, freed by this one
  bool operator==(const Held&) const = default;
};

// What a warp holds: allocations, the permit to allocate more, and its lanes.
struct Holdings {
  std::vector<Held> held;        // ordered by term
  int64_t smallest = INT64_MAX;  // columns that the smallest alloc so far asks for at most
  uint32_t smallest_step = kNone;
  uint32_t relinquished = kNone;  // step of the relinquish_alloc_permit that ran
  bool unknown_dealloc = false;   // a dealloc ran, and it is not known what it freed
  uint32_t exited = 0;            // lanes that have left the kernel
  bool operator==(const Holdings&) const = default;

  uint32_t live_allocations() const;
};

// A tcgen05.ld that no tcgen05.wait::ld has followed.
struct PendingLoad {
  uint32_t load = kNone;  // Program::loads
  uint32_t step = kNone;
  uint32_t lanes = 0;  // that issued it
  uint32_t used = 0;   // lanes in which one of its registers was read by more than a move, on every path here
  Value address;
  bool operator==(const PendingLoad&) const = default;
  uint32_t place() const { return load; }
};

// A tcgen05.st that no tcgen05.wait::st has followed.
struct PendingStore {
  uint32_t step = kNone;
  Value address;
  bool operator==(const PendingStore&) const = default;
  uint32_t place() const { return step; }
};

// All the sets of pending accesses that one warp was seen to have.
template <typename Access>
class PendingSets {
public:
  // One of them. Goes by loads in the order of Program::loads, by stores in the order of their steps.
  class Set {
  public:
    class Iterator {
    public:
      Iterator() = default;
      Iterator(const PendingSets* all, uint32_t set) : all_(all), at_(&all->sets_, set) {}
      const Access& operator*() const { return all_->accesses_[*at_]; }
      const Access* operator->() const { return &**this; }
      Iterator& operator++() {
        ++at_;
        return *this;
      }
      bool operator==(const Iterator& end) const { return at_ == end.at_; }

    private:
      const PendingSets* all_ = nullptr;
      SharedSets::Iterator at_;
    };

    Set(const PendingSets* all, uint32_t number) : all_(all), number_(number) {}
    Iterator begin() const { return {all_, number_}; }
    Iterator end() const { return {all_, SharedSets::kEmpty}; }
    bool empty() const { return number_ == SharedSets::kEmpty; }
    size_t size() const { return all_->sets_.size(number_); }
    uint32_t number() const { return number_; }

    // The access of a load or of a store's step; null when it is not pending. Of several the first.
    const Access* find(uint32_t place) const {
      const uint32_t element = all_->sets_.find(number_, uint64_t{place} << 32, kOfPlace);
      return element == SharedSets::kNotThere ? nullptr : &all_->accesses_[element];
    }

    // The first access for which `matches(access)` holds. `may_match(part)` is asked before about the parts that the
    // set is made of: what it rules out is not looked at. A part has a number, as sets have: a rule can remember what
    // it found out about it, in every set that has this part.
    template <typename MayMatch, typename Matches>
    const Access* first(MayMatch&& may_match, Matches&& matches) const {
      return empty() ? nullptr : first_in(number_, may_match, matches);
    }

  private:
    template <typename MayMatch, typename Matches>
    const Access* first_in(uint32_t part, MayMatch&& may_match, Matches&& matches) const {
      if (!may_match(part)) return nullptr;
      if (all_->sets_.is_group(part)) {
        for (uint32_t element : all_->sets_.group(part)) {
          if (matches(all_->accesses_[element])) return &all_->accesses_[element];
        }
        return nullptr;
      }
      const Access* found = first_in(all_->sets_.first_part(part), may_match, matches);
      return found != nullptr ? found : first_in(all_->sets_.second_part(part), may_match, matches);
    }

    const PendingSets* all_;
    uint32_t number_;
  };

  Set operator[](uint32_t set) const { return {this, set}; }
  // The parts that sets are made of, and the accesses that their elements are.
  const SharedSets& sets() const { return sets_; }
  const Access& access(uint32_t element) const { return accesses_[element]; }

  // The set with one more; a load takes the place of the one that was issued there before.
  uint32_t with(const Terms& terms, uint32_t set, const Access& access);
  // What is pending on either of two paths that meet.
  uint32_t united(const Terms& terms, uint32_t a, uint32_t b);
  // The set as the next round of some loops sees it, whose values have other names then: an address that they make up
  // is `unknown(step)`.
  template <typename Unknown>
  uint32_t in_next_round(const Terms& terms, uint32_t set, uint64_t loops, Unknown&& unknown) {
    return sets_.replaced(set, loops, [&](uint32_t element) {
      Access access = accesses_[element];
      access.address = unknown(access.step);
      return element_of(access, terms.loops(access.address));
    });
  }

private:
  static constexpr uint64_t kOfPlace = 0xffffffffu;  // bits of a key that tell accesses of one place apart

  // The number of an access, whose address varies with some loops.
  uint32_t element_of(const Access& access, uint64_t loops);

  SharedSets sets_;
  std::vector<Access> accesses_ = std::vector<Access>(1);  // numbered from 1
  value::ContentIndex index_;
};

extern template class PendingSets<PendingLoad>;
extern template class PendingSets<PendingStore>;

using PendingLoads = PendingSets<PendingLoad>::Set;
using PendingStores = PendingSets<PendingStore>::Set;

// Calls `f` with each pending load that is one of a list (Program::load_sets), in their order, until it returns true;
// true then. The work is that of the smaller of the two.
template <typename F>
bool for_pending_of(const PendingLoads& pending, const std::vector<uint32_t>& loads, F&& f) {
  if (loads.size() <= pending.size()) {
    for (uint32_t load : loads) {
      const PendingLoad* p = pending.find(load);
      if (p != nullptr && f(*p)) return true;
    }
    return false;
  }
  for (const PendingLoad& p : pending) {
    if (program::contains(loads, p.load) && f(p)) return true;
  }
  return false;
}

// The state of the protocol at a point of a path, by numbers in a ProtocolTable.
struct Protocol {
  uint32_t holdings = 0;
  uint32_t loads = SharedSets::kEmpty;
  uint32_t stores = SharedSets::kEmpty;
  bool operator==(const Protocol&) const = default;
};

class ProtocolTable {
public:
  PendingSets<PendingLoad> loads;
  PendingSets<PendingStore> stores;

  const Holdings& holdings(const Protocol& p) const { return holdings_[p.holdings]; }
  uint32_t number_of(const Holdings& holdings);

  // Whether two paths may be merged as far as the protocol goes: they hold the same, and either both or none of them
  // have loads pending, and stores.
  bool alike(const Protocol& a, const Protocol& b) const;
  // The same for states that are alike.
  uint64_t hash_of_kind(const Protocol& p) const;
  // `a` becomes what may be so on either path; true when that changed it.
  bool merge(const Terms& terms, Protocol& a, const Protocol& b);

private:
  std::vector<Holdings> holdings_ = std::vector<Holdings>(1);  // those of a warp that has done nothing yet first
  value::ContentIndex index_;
};

}  // namespace tmemlint::warp
