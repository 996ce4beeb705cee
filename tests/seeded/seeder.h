// Makes the mutants of one kernel: the tools that all kinds of mutants share, and one class for the kinds of each
// subject. A kind decides from the kernel alone what it leaves out, and why: no result of the tool under test has a say
// in it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/seeded/kernel.h"
#include "tests/seeded/mutants.h"

namespace tmemlint::seeded {

// Adds mutants of a kernel to a list and writes their edits.
class Seeder {
public:
  Seeder(const Kernel& kernel, std::vector<Mutant>& out) : k_(kernel), out_(out) {}

protected:
  // Adds a mutant that changes instruction `i`.
  Mutant& start(Kind kind, uint32_t i, std::string what) {
    Mutant m;
    m.kind = kind;
    m.kernel = std::string(k_.function().name);
    m.line = k_.line(i);
    m.what = std::string(what);
    m.lines.insert(m.line);
    out_.push_back(std::move(m));
    return out_.back();
  }
  // The mutant is listed but not seeded.
  static void leave_out(Mutant& m, Verdict verdict, std::string reason) {
    m.verdict = verdict;
    m.reason = std::move(reason);
    m.edits.clear();
  }
  // Rules that count as finding it, in place of those of its kind.
  static void accept(Mutant& m, std::initializer_list<std::string_view> rules) {
    m.accepted.clear();
    for (const std::string_view rule : rules) m.accepted.emplace_back(rule);
  }

  // The text of a span, of an instruction with its semicolon.
  std::string text(ptx::Span span) const { return std::string(k_.text(span)); }
  std::string text(uint32_t i) const { return text(k_.at(i).span) + (ends_with_semicolon(i) ? "" : ";"); }
  bool ends_with_semicolon(uint32_t i) const {
    const std::string_view t = k_.text(k_.at(i).span);
    return !t.empty() && t.back() == ';';
  }
  // An instruction without its guard.
  std::string bare(uint32_t i) const {
    return text({k_.at(i).opcode_span.begin, k_.at(i).span.end}) + (ends_with_semicolon(i) ? "" : ";");
  }
  // The span of the instruction with its semicolon.
  ptx::Span whole(uint32_t i) const {
    ptx::Span span = k_.at(i).span;
    if (!ends_with_semicolon(i)) {
      const std::string_view all = k_.module().source->text();
      while (span.end < all.size() && all[span.end] != ';') ++span.end;
      ++span.end;
    }
    return span;
  }
  // As many spaces as the span has characters; line endings stay.
  std::string blank(ptx::Span span) const {
    std::string t = text(span);
    for (char& c : t) {
      if (c != '\n' && c != '\r') c = ' ';
    }
    return t;
  }
  void drop(Mutant& m, uint32_t i) { edit(m, whole(i), blank(whole(i))); }
  void replace(Mutant& m, uint32_t i, const std::string& by) {
    const std::string old = text(whole(i));
    edit(m, whole(i), by + std::string(static_cast<size_t>(std::count(old.begin(), old.end(), '\n')), '\n'));
  }
  // Writes `what` in front of an instruction.
  void before(Mutant& m, uint32_t i, const std::string& what) {
    edit(m, {k_.at(i).span.begin, k_.at(i).span.begin}, what + " ");
    m.lines.insert(k_.line(i));
  }
  void edit(Mutant& m, ptx::Span span, std::string by) {
    m.edits.push_back({span, std::move(by)});
    std::sort(m.edits.begin(), m.edits.end(), [](const Edit& a, const Edit& b) { return a.span.begin < b.span.begin; });
    m.lines.insert(k_.module().source->position(span.begin).line);
  }
  // A finding on the line of this instruction is one at the other end of the fault.
  void end(Mutant& m, uint32_t i) { m.ends.insert(k_.line(i)); }
  void end(Mutant& m, Op op) {
    for (const uint32_t i : k_.all(op)) end(m, i);
  }
  std::string reg_name(uint32_t reg) const { return k_.function().register_name(reg); }
  std::string guard_text(const Kernel::Guard& g) const {
    return g.reg == kNone ? "" : std::string("@") + (g.negated ? "!" : "") + reg_name(g.reg) + " ";
  }
  // Appends to `out` the instructions of [from, to) that compute the registers `needed`, in order, so that they can be
  // repeated elsewhere. False where they cannot: a register is computed from itself, loaded, or known before only on
  // some paths.
  bool slice(uint32_t from, uint32_t to, std::vector<uint32_t> needed, std::string& out) const;

  const Kernel& k_;
  std::vector<Mutant>& out_;
};

// Waits for loads and stores, and fences.
class WaitFaults : Seeder {
public:
  using Seeder::Seeder;

  void drop_wait_ld(uint32_t wait);
  void drop_wait_st(uint32_t wait);
  void drop_proxy_fence(uint32_t i);
  void drop_fence(uint32_t i);

private:
  std::set<uint32_t> holders_of(uint32_t load) const;
  bool gives_up(uint32_t i, const std::vector<uint32_t>& loads, uint32_t used) const;
  bool is_bulk_store(uint32_t i) const;
};

// What joins warps: barriers of the CTA and of the cluster, waits on an mbarrier.
class JoinFaults : Seeder {
public:
  using Seeder::Seeder;

  void drop_barrier(uint32_t barrier);
  void drop_mbarrier_wait(uint32_t wait);
  void drop_cluster_barrier(uint32_t arrive);

private:
  bool implied_by_later_commit(uint32_t wait) const;
  ptx::Span barrier_operand(uint32_t i) const;
};

// Arrivals on an mbarrier, and how many it is initialised for.
class ArrivalFaults : Seeder {
public:
  using Seeder::Seeder;

  void drop_arrival(uint32_t i, Kind kind);
  void early_release(uint32_t arrive);
  void other_count(uint32_t init);
};

// Allocations and what frees them.
class AllocationFaults : Seeder {
public:
  using Seeder::Seeder;

  void alloc(uint32_t i);
  void dealloc(uint32_t i);

private:
  struct Sizes {
    std::vector<uint32_t> slots;  // registers that hold the address
    std::vector<uint32_t> frees;
    int64_t columns = 0;
  };

  Sizes allocation(uint32_t alloc) const;
  void too_small(uint32_t i, const Sizes& sizes);
  void every_warp(uint32_t i);
  void move_dealloc(uint32_t d, uint32_t target, const std::string& where,
                    std::initializer_list<std::string_view> rules);
  void free_early(uint32_t d);
};

// Which lanes and columns are accessed, with which shape, and what wrote them before.
class AccessFaults : Seeder {
public:
  using Seeder::Seeder;

  void other_lane(uint32_t i);
  void other_columns(uint32_t i);
  void other_length(uint32_t i);
  void illegal_shape(uint32_t i);
  void other_shape(uint32_t i);
  void no_first_write(uint32_t i);

private:
  void shift(Mutant& m, const ptx::Operand& address, int64_t by);
  uint32_t previous_mma(uint32_t i) const;
  bool written_by_store(uint32_t store, uint32_t mma, bool constant_flag) const;
};

// Who executes an instruction: all lanes, one lane, and for one CTA or two.
class IssueFaults : Seeder {
public:
  using Seeder::Seeder;

  void collective(uint32_t i);
  void cta_group(uint32_t i);
  void every_lane(uint32_t i);
  void drop_election(uint32_t elect);

private:
  bool elected(uint32_t reg) const;
  ptx::Span predicate_span(uint32_t elect) const;
};

// Pairs of CTAs.
class PairFaults : Seeder {
public:
  using Seeder::Seeder;

  void pair_cluster();
  void pair_mask(uint32_t commit);
  void pair_leader();

private:
  bool is_pair() const;
};

}  // namespace tmemlint::seeded
