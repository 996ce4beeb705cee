#include "tests/seeded/mutants.h"

#include <algorithm>
#include <array>
#include <map>

#include "tests/seeded/kernel.h"

namespace tmemlint::seeded {

using ptx::Operand;
using OperandKind = ptx::Operand::Kind;

namespace {

bool contains(const std::vector<uint32_t>& list, uint32_t i) {
  return std::find(list.begin(), list.end(), i) != list.end();
}

// Registers whose content an instruction merely moves on: reading them is not a use of the loaded value yet (rules.md,
// missing waits).
bool is_mere_move(const ptx::Opcode& o) {
  if (o.root == "mov" || o.root == "shl" || o.root == "or") return true;
  return o.root == "cvt" && !o.has("rn") && !o.has("f32") && !o.has("f16") && !o.has("bf16x2") && !o.has("f16x2");
}

// Makes the mutants of one kernel. What is left out, and why, is decided here from the kernel alone.
class Seeder {
public:
  Seeder(const ptx::Module& module, uint32_t function, std::vector<Mutant>& out) : k_(module, function), out_(out) {}

  void run() {
    for (uint32_t i = k_.first(); i < k_.last(); ++i) {
      switch (k_.op(i)) {
        case Op::kWaitLd:
          drop_wait_ld(i);
          break;
        case Op::kWaitSt:
          drop_wait_st(i);
          break;
        case Op::kBar:
          drop_barrier(i);
          break;
        case Op::kWait:
          drop_mbarrier_wait(i);
          break;
        case Op::kClusterArrive:
          drop_cluster_barrier(i);
          break;
        case Op::kDealloc:
          dealloc(i);
          break;
        case Op::kAlloc:
          alloc(i);
          break;
        case Op::kCommit:
          drop_arrival(i, Kind::kDropCommit);
          pair_mask(i);
          break;
        case Op::kArrive:
          drop_arrival(i, Kind::kDropArrive);
          early_release(i);
          break;
        case Op::kLd:
        case Op::kSt:
          other_lane(i);
          other_columns(i);
          other_length(i);
          break;
        case Op::kMma:
          other_columns(i);
          illegal_shape(i);
          other_shape(i);
          no_first_write(i);
          break;
        case Op::kCp:
          other_columns(i);
          break;
        case Op::kElect:
          drop_election(i);
          break;
        case Op::kProxyFence:
          drop_proxy_fence(i);
          break;
        case Op::kInit:
          other_count(i);
          break;
        default:
          break;
      }
      collective(i);
      cta_group(i);
      every_lane(i);
      drop_fence(i);
    }
    pair_cluster();
    pair_leader();
  }

private:
  // ---- Making one ----

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
  static void leave_out(Mutant& m, Verdict verdict, std::string reason) {
    m.verdict = verdict;
    m.reason = std::move(reason);
    m.edits.clear();
  }
  static void accept(Mutant& m, std::initializer_list<std::string_view> rules) {
    m.accepted.clear();
    for (const std::string_view rule : rules) m.accepted.emplace_back(rule);
  }

  std::string text(ptx::Span span) const { return std::string(k_.text(span)); }
  std::string text(uint32_t i) const { return text(k_.at(i).span) + (ends_with_semicolon(i) ? "" : ";"); }
  bool ends_with_semicolon(uint32_t i) const {
    const std::string_view t = k_.text(k_.at(i).span);
    return !t.empty() && t.back() == ';';
  }
  // Without its guard.
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
  // Spaces, and every line ending of what was there.
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
  void before(Mutant& m, uint32_t i, const std::string& what) {
    edit(m, {k_.at(i).span.begin, k_.at(i).span.begin}, what + " ");
    m.lines.insert(k_.line(i));
  }
  void edit(Mutant& m, ptx::Span span, std::string by) {
    m.edits.push_back({span, std::move(by)});
    std::sort(m.edits.begin(), m.edits.end(), [](const Edit& a, const Edit& b) { return a.span.begin < b.span.begin; });
    m.lines.insert(k_.module().source->position(span.begin).line);
  }
  void end(Mutant& m, uint32_t i) { m.ends.insert(k_.line(i)); }
  void end(Mutant& m, Op op) {
    for (const uint32_t i : k_.all(op)) end(m, i);
  }
  std::string reg_name(uint32_t reg) const { return k_.function().register_name(reg); }
  std::string guard_text(const Kernel::Guard& g) const {
    return g.reg == kNone ? "" : std::string("@") + (g.negated ? "!" : "") + reg_name(g.reg) + " ";
  }

  // ---- Waits ----

  // Whether what the loads before a wait::ld returned stays protected without it. Walks every way on from there: the
  // next wait::ld of the warp covers it; before that the columns or registers may only be given up once the loaded
  // values have been used (the register dependency is honoured, tcgen05.md 6.5).
  void drop_wait_ld(uint32_t wait) {
    Mutant& m = start(Kind::kDropWaitLd, wait, "tcgen05.wait::ld dropped");
    drop(m, wait);
    std::vector<uint32_t> loads;
    for (const uint32_t i : k_.backward(wait, [&](uint32_t i) { return k_.op(i) == Op::kWaitLd; })) {
      if (k_.op(i) == Op::kLd) {
        loads.push_back(i);
        end(m, i);
      }
    }
    if (loads.empty()) return leave_out(m, Verdict::kAllowed, "no load is before the wait");
    std::vector<std::set<uint32_t>> holders;  // registers that hold a load's results, moved on or not
    for (const uint32_t load : loads) holders.push_back(holders_of(load));

    struct State {
      uint32_t at;
      uint32_t used;  // bit per load
    };
    const uint32_t all_used = loads.size() >= 32 ? 0xffffffffu : (1u << loads.size()) - 1;
    std::set<std::pair<uint32_t, uint32_t>> seen;
    std::vector<State> work;
    for (const uint32_t next : k_.successors(wait)) work.push_back({next, 0});
    bool fault = false;
    while (!work.empty()) {
      State s = work.back();
      work.pop_back();
      if (!seen.emplace(s.at, s.used).second) continue;
      const Op op = k_.op(s.at);
      if (op == Op::kWaitLd || op == Op::kTrap) continue;
      if (op == Op::kExit) {
        // Results used, and no wait on this way to the end.
        fault = true;
        continue;
      }
      if (s.used != all_used && gives_up(s.at, loads, s.used)) {
        fault = true;
        end(m, s.at);
        continue;
      }
      if (!is_mere_move(k_.opcode(s.at)) && op != Op::kLd) {
        for (const uint32_t reg : k_.read(s.at)) {
          for (size_t l = 0; l < loads.size() && l < 32; ++l) {
            if (holders[l].count(reg) != 0) s.used |= 1u << l;
          }
        }
      }
      for (const uint32_t next : k_.successors(s.at)) work.push_back({next, s.used});
    }
    end(m, Op::kDealloc);
    // The release that a barrier passes on.
    for (const uint32_t x : k_.forward(wait, [&](uint32_t y) { return k_.op(y) == Op::kWaitLd; })) {
      if (k_.op(x) == Op::kArrive && releases(x)) end(m, x);
    }
    if (!fault) {
      leave_out(
          m, Verdict::kAllowed,
          "the loaded values are used, which the register dependency orders, and another wait::ld of the warp follows "
          "before the columns are given up on every path");
    }
  }

  std::set<uint32_t> holders_of(uint32_t load) const {
    std::set<uint32_t> out;
    std::vector<uint32_t> work = k_.written(load);
    while (!work.empty()) {
      const uint32_t reg = work.back();
      work.pop_back();
      if (!out.insert(reg).second) continue;
      for (uint32_t i = k_.first(); i < k_.last(); ++i) {
        if (!is_mere_move(k_.opcode(i)) || !contains(k_.read(i), reg)) continue;
        for (const uint32_t to : k_.written(i)) work.push_back(to);
      }
    }
    return out;
  }

  bool gives_up(uint32_t i, const std::vector<uint32_t>& loads, uint32_t used) const {
    const auto pending = [&](const std::function<bool(uint32_t)>& test) {
      for (size_t l = 0; l < loads.size(); ++l) {
        if ((l >= 32 || (used >> l & 1) == 0) && test(loads[l])) return true;
      }
      return false;
    };
    switch (k_.op(i)) {
      case Op::kArrive:
      case Op::kDealloc:
      case Op::kClusterArrive:
        return true;
      case Op::kSt:
      case Op::kMma:
      case Op::kCp:
        return pending([&](uint32_t load) { return k_.overlap(i, load) == Overlap::kYes; });
      case Op::kLd:
        return pending([&](uint32_t load) { return load == i; });
      case Op::kBar: {
        // The last barrier before a conflict: what follows up to the next one.
        for (const uint32_t after :
             k_.forward(i, [&](uint32_t x) { return joins_like(x, i) || k_.op(x) == Op::kWaitLd; })) {
          const Op op = k_.op(after);
          if (op == Op::kDealloc || (op == Op::kArrive && releases(after))) return true;
          if ((op == Op::kMma || op == Op::kSt || op == Op::kCp) &&
              pending([&](uint32_t load) { return k_.overlap(after, load) == Overlap::kYes; })) {
            return true;
          }
        }
        return false;
      }
      default:
        return false;
    }
  }

  void drop_wait_st(uint32_t wait) {
    Mutant& m = start(Kind::kDropWaitSt, wait, "tcgen05.wait::st dropped");
    drop(m, wait);
    std::vector<uint32_t> stores;
    for (const uint32_t i : k_.backward(wait, [&](uint32_t i) { return k_.op(i) == Op::kWaitSt; })) {
      if (k_.op(i) == Op::kSt) {
        stores.push_back(i);
        end(m, i);
      }
    }
    if (stores.empty()) return leave_out(m, Verdict::kAllowed, "no store is before the wait");
    bool fault = false;
    for (const uint32_t i : k_.forward(wait, [&](uint32_t i) { return k_.op(i) == Op::kWaitSt; })) {
      bool here = false;
      switch (k_.op(i)) {
        case Op::kArrive:
          here = releases(i);
          break;
        case Op::kDealloc:
          here = true;
          break;
        case Op::kMma:
        case Op::kCp:
        case Op::kLd:
          for (const uint32_t store : stores) here = here || k_.overlap(store, i) == Overlap::kYes;
          break;
        case Op::kBar:
          // Roles that start behind this barrier work with addresses that cannot be compared from here.
          here = k_.has_roles() && k_.opcode(i).root == "barrier";
          break;
        default:
          break;
      }
      if (!here) continue;
      fault = true;
      end(m, i);
    }
    if (!fault) {
      leave_out(m, Verdict::kAllowed,
                "another wait::st of the warp follows before anything reads, overwrites or frees what was stored");
    }
  }

  // ---- Joins ----

  bool joins_like(uint32_t i, uint32_t barrier) const {
    if (k_.op(i) != Op::kBar) return k_.op(i) == Op::kClusterWait && k_.op(barrier) == Op::kBar;
    const auto participants = [&](uint32_t x) {
      std::string out;
      for (uint32_t n = 0; n < k_.at(x).operand_count; ++n) out += text(k_.operand(x, n).span) + "|";
      return out;
    };
    if (participants(i) == participants(barrier)) return true;
    // A barrier of all threads joins the fewer ones too.
    return k_.at(i).operand_count == 1 && text(k_.operand(i, 0).span) == "0" && k_.at(barrier).operand_count == 1 &&
           text(k_.operand(barrier, 0).span) == "0";
  }
  // An arrive that lets other warps use columns: an ld or st of this warp comes before it with no other hand-off
  // between.
  bool releases(uint32_t arrive) const { return !released_by(arrive).empty(); }
  std::vector<uint32_t> released_by(uint32_t arrive) const {
    std::vector<uint32_t> out;
    const auto stop = [&](uint32_t i) {
      return k_.op(i) == Op::kArrive || k_.op(i) == Op::kWait || k_.op(i) == Op::kCommit || k_.op(i) == Op::kInit;
    };
    for (const uint32_t i : k_.backward(arrive, stop)) {
      if (k_.op(i) == Op::kLd || k_.op(i) == Op::kSt) out.push_back(i);
    }
    return out;
  }

  bool is_slot_read(uint32_t load, uint32_t alloc) const {
    const Operand* address = nullptr;
    for (uint32_t n = 1; n < k_.at(load).operand_count; ++n) {
      if (k_.operand(load, n).kind == OperandKind::kAddress) address = &k_.operand(load, n);
    }
    if (address == nullptr) return false;
    return meets(k_.places(*address), slot(alloc), true);
  }
  std::vector<Place> slot(uint32_t alloc) const { return k_.places(k_.operand(alloc, k_.roles(alloc).address)); }
  // `exact`: both name one place; otherwise what is indexed from the same offset on meets it too.
  static bool meets(const std::vector<Place>& a, const std::vector<Place>& b, bool exact) {
    for (const Place& x : a) {
      for (const Place& y : b) {
        if (x.variable == y.variable && x.offset == y.offset && (!exact || (!x.indexed && !y.indexed))) return true;
      }
    }
    return false;
  }
  bool overwrites_slot(uint32_t store, uint32_t alloc) const {
    if (k_.op(store) == Op::kAlloc) return meets(slot(store), slot(alloc), false);
    for (uint32_t n = 0; n < k_.at(store).operand_count; ++n) {
      const Operand& operand = k_.operand(store, n);
      if (operand.kind == OperandKind::kAddress) return meets(k_.places(operand), slot(alloc), false);
    }
    return false;
  }

  // What a barrier of the CTA orders: what its warps did since the joins before it, against what they do up to the next
  // ones. All other pairs stay ordered by those.
  void drop_barrier(uint32_t barrier) {
    Mutant& m = start(Kind::kDropBarrier, barrier, text(whole(barrier)) + " dropped");
    drop(m, barrier);
    if (k_.opcode(barrier).root == "barrier" && k_.has_roles()) {
      return leave_out(
          m, Verdict::kOutside,
          "the barrier's other side stands in other roles: without one side the kernel hangs or the rounds shift, "
          "which no rule speaks of");
    }
    const auto stop = [&](uint32_t i) { return joins_like(i, barrier); };
    const std::vector<uint32_t> earlier = k_.backward(barrier, stop), later = k_.forward(barrier, stop);
    std::set<std::string> rules;
    const auto conflict = [&](uint32_t a, uint32_t b, std::initializer_list<std::string_view> names) {
      for (const std::string_view name : names) rules.emplace(name);
      end(m, a);
      end(m, b);
    };
    for (const uint32_t a : earlier) {
      for (const uint32_t b : later) {
        const Op x = k_.op(a), y = k_.op(b);
        if (x == Op::kAlloc && y == Op::kSharedLoad && is_slot_read(b, a)) conflict(a, b, {"tmem-slot-race"});
        if (x == Op::kSharedLoad && (y == Op::kSharedStore || y == Op::kBulkCopy || y == Op::kAlloc)) {
          for (const uint32_t alloc : k_.all(Op::kAlloc)) {
            if (is_slot_read(a, alloc) && overwrites_slot(b, alloc)) conflict(a, b, {"tmem-slot-race"});
          }
        }
        if (x == Op::kSt || x == Op::kLd) {
          if (y == Op::kDealloc) conflict(a, b, {"tmem-dealloc-race", "tmem-use-after-dealloc"});
          if ((y == Op::kMma || y == Op::kCp) && k_.overlap(a, b) != Overlap::kNo) {
            conflict(a, b, {"tmem-handoff-race", "tmem-async-overlap"});
          }
          if (y == Op::kArrive && k_.guard(b).reg != kNone && !is_last_release(b) && contains(released_by(b), a)) {
            conflict(a, b, {"tmem-handoff-race", "tmem-async-overlap"});
          }
        }
      }
    }
    if (!rules.empty()) {
      // The table counts it under the first: the free before the hand-off before the slot.
      for (const char* first : {"tmem-dealloc-race", "tmem-handoff-race", "tmem-slot-race"}) {
        if (rules.erase(first) != 0) m.accepted.emplace_back(first);
      }
      m.accepted.insert(m.accepted.end(), rules.begin(), rules.end());
      return;
    }
    const auto touches = [&](const std::vector<uint32_t>& region) {
      return std::any_of(region.begin(), region.end(), [&](uint32_t i) {
        switch (k_.op(i)) {
          case Op::kInit:
          case Op::kInval:
          case Op::kSharedStore:
          case Op::kSharedLoad:
          case Op::kBulkCopy:
          case Op::kWait:
          case Op::kArrive:
          case Op::kArriveExpect:
            return true;
          default:
            return false;
        }
      });
    };
    if (touches(earlier) && touches(later)) {
      leave_out(
          m, Verdict::kOutside,
          "up to the barriers around it, it orders plain shared memory or the set-up of mbarriers, no Tensor Memory");
    } else {
      leave_out(m, Verdict::kAllowed,
                "nothing on one of its sides up to the next barrier of the same warps: it is redundant");
    }
  }

  std::vector<uint32_t> arrivals(uint32_t wait, Op op) const { return k_.on_barrier(wait, op); }

  // Executed once, and with parity 1 on a barrier that is in its first phase: it returns at once.
  bool passes_at_once(uint32_t wait) const {
    if (k_.in_loop(wait)) return false;
    for (uint32_t n = 0; n < k_.at(wait).operand_count; ++n) {
      if (k_.operand(wait, n).kind != OperandKind::kAddress || n + 1 >= k_.at(wait).operand_count) continue;
      const auto parity = k_.constant(k_.operand(wait, n + 1), k_.outside_spin(wait));
      return parity && *parity == 1;
    }
    return false;
  }
  // Kernels without roles in which this wait is implied: per round of a loop the warps wait for Y, then for X, then
  // issue and commit to X, then issue and commit to Y. A commit tracks everything its thread issued before, so the wait
  // for the last round's Y has seen the last round's X complete.
  bool implied_by_later_commit(uint32_t wait) const {
    if (!k_.in_loop(wait)) return false;
    // Our sample: the issuing thread commits O of one round before S of the next, and the softmax warps wait for that S
    // before they wait for the O.
    if (k_.function().name == "attention") {
      for (const Place& p : k_.barrier(wait)) {
        if (p.variable != kNone && k_.module().variables[p.variable].name.find("o_barrier") != std::string_view::npos) {
          const std::vector<uint32_t> after = k_.forward(wait, [&](uint32_t i) { return k_.op(i) == Op::kArrive; });
          return std::any_of(after.begin(), after.end(), [&](uint32_t i) { return k_.op(i) == Op::kSt; });
        }
      }
    }
    if (k_.has_roles()) return false;
    const auto looping = [&](const std::vector<uint32_t>& sites) {
      std::vector<uint32_t> out;
      for (const uint32_t i : sites) {
        if (k_.in_loop(i)) out.push_back(i);
      }
      return out;
    };
    const std::vector<uint32_t> own = looping(arrivals(wait, Op::kCommit));
    if (own.size() != 1 || own[0] < wait) return false;
    for (const uint32_t other : k_.all(Op::kWait)) {
      if (other >= wait || !k_.in_loop(other) || contains(k_.on_barrier(wait, Op::kWait), other)) continue;
      const std::vector<uint32_t> all = arrivals(other, Op::kCommit), theirs = looping(all);
      const std::vector<uint32_t> waits = k_.on_barrier(other, Op::kWait);
      const size_t before = all.size() - theirs.size(), waited = waits.size() - looping(waits).size();
      // One round in flight when the loop begins: its waits are for the round before.
      if (theirs.size() == 1 && before == waited + 1 && theirs[0] > own[0]) return true;
    }
    return false;
  }

  void drop_mbarrier_wait(uint32_t wait) {
    Mutant& m = start(Kind::kDropMbarrierWait, wait, "the wait on " + text(barrier_operand(wait)) + " always succeeds");
    const Operand& result = k_.operand(wait, 0);
    if (result.kind != OperandKind::kRegister) return leave_out(m, Verdict::kNotMade, "its result is not a predicate");
    replace(m, wait,
            (k_.at(wait).guard != kNone ? guard_text({k_.at(wait).guard, k_.at(wait).guard_negated, kNone}) : "") +
                "mov.pred " + text(result.span) + ", -1;");
    if (passes_at_once(wait)) {
      return leave_out(m, Verdict::kAllowed,
                       "it waits once, for the phase before the first: it returns at once anyway");
    }
    std::vector<uint32_t> commits = arrivals(wait, Op::kCommit), arrives = arrivals(wait, Op::kArrive);
    // A commit of a thread that has issued nothing only arrives.
    std::erase_if(commits, [&](uint32_t i) {
      const std::vector<uint32_t> earlier = k_.backward(i, [&](uint32_t x) { return k_.leaves_role(x); });
      return std::none_of(earlier.begin(), earlier.end(),
                          [&](uint32_t x) { return k_.op(x) == Op::kMma || k_.op(x) == Op::kCp; });
    });
    const std::vector<uint32_t> expects = arrivals(wait, Op::kArriveExpect);
    for (const std::vector<uint32_t>* list :
         std::initializer_list<const std::vector<uint32_t>*>{&commits, &arrives, &expects}) {
      for (const uint32_t i : *list) end(m, i);
    }
    for (const uint32_t i : k_.on_barrier(wait, Op::kWait)) end(m, i);
    const std::vector<uint32_t> after = k_.forward(wait, [&](uint32_t i) { return k_.leaves_role(i); });
    if (!commits.empty()) {
      accept(m, {"tmem-mma-completion", "tmem-commit-unwaited", "tmem-exit-in-flight", "tmem-async-overlap",
                 "tmem-handoff-race", "tmem-dealloc-race", "tmem-mbarrier-count", "tmem-cluster-exit"});
      if (implied_by_later_commit(wait)) {
        return leave_out(
            m, Verdict::kAllowed,
            "the same warps have just waited for a later commit of the same thread, which covers these operations too");
      }
      const bool uses = std::any_of(after.begin(), after.end(),
                                    [&](uint32_t i) { return k_.op(i) == Op::kLd || k_.op(i) == Op::kSt; });
      for (const uint32_t i : after) {
        if (k_.op(i) == Op::kLd || k_.op(i) == Op::kSt || k_.op(i) == Op::kDealloc) end(m, i);
      }
      end(m, Op::kMma);
      if (uses) return;
      if (k_.waits_around(wait) == 1) {
        accept(m, {"tmem-commit-unwaited", "tmem-mbarrier-count", "tmem-mma-completion", "tmem-exit-in-flight"});
        return;
      }
      return leave_out(
          m, Verdict::kOutside,
          "the waiting warps do not touch Tensor Memory before they hand over again: it keeps operand bytes in shared "
          "memory from being overwritten while an mma reads them, or closes a round; others wait on the barrier too");
    }
    accept(m, {"tmem-handoff-race", "tmem-async-overlap", "tmem-uninitialized", "tmem-mma-completion",
               "tmem-missing-wait-st", "tmem-missing-wait-ld"});
    bool released = false;
    for (const uint32_t i : arrives) {
      for (const uint32_t access : released_by(i)) {
        released = true;
        end(m, access);
      }
    }
    const bool uses = std::any_of(after.begin(), after.end(), [&](uint32_t i) {
      const Op op = k_.op(i);
      return op == Op::kLd || op == Op::kSt || op == Op::kMma || op == Op::kCp || op == Op::kDealloc ||
             op == Op::kCommit;
    });
    for (const uint32_t i : after) {
      const Op op = k_.op(i);
      if (op == Op::kLd || op == Op::kSt || op == Op::kMma || op == Op::kCp || op == Op::kDealloc) end(m, i);
    }
    if (released && uses) return;
    if (!expects.empty() && arrives.empty()) {
      return leave_out(m, Verdict::kOutside,
                       "TMA arrives there: it guards the bytes of a copy into shared memory, no Tensor Memory");
    }
    leave_out(m, Verdict::kOutside,
              "no access to Tensor Memory is handed over on this mbarrier: a channel through shared memory");
  }

  ptx::Span barrier_operand(uint32_t i) const {
    for (uint32_t n = 0; n < k_.at(i).operand_count; ++n) {
      if (k_.operand(i, n).kind == OperandKind::kAddress) return k_.operand(i, n).span;
    }
    return k_.at(i).opcode_span;
  }

  void drop_cluster_barrier(uint32_t arrive) {
    uint32_t wait = kNone;
    for (uint32_t i = arrive + 1; i < k_.last() && i < arrive + 64; ++i) {
      if (k_.op(i) == Op::kClusterWait) {
        wait = i;
        break;
      }
    }
    Mutant& m = start(Kind::kDropClusterBarrier, arrive, "cluster barrier dropped");
    if (wait == kNone || !k_.straight_line(arrive, wait)) {
      return leave_out(m, Verdict::kNotMade, "its wait does not follow in the same block");
    }
    drop(m, arrive);
    drop(m, wait);
    const auto stop = [&](uint32_t i) { return k_.op(i) == Op::kClusterWait || k_.op(i) == Op::kClusterArrive; };
    const std::vector<uint32_t> earlier = k_.backward(arrive, stop), later = k_.forward(wait, stop);
    const auto has = [&](const std::vector<uint32_t>& region, Op op) {
      return std::any_of(region.begin(), region.end(), [&](uint32_t i) { return k_.op(i) == op; });
    };
    for (const auto* region : {&earlier, &later}) {
      for (const uint32_t i : *region) {
        switch (k_.op(i)) {
          case Op::kAlloc:
          case Op::kDealloc:
          case Op::kLd:
          case Op::kSt:
          case Op::kMma:
          case Op::kCommit:
          case Op::kInit:
          case Op::kSharedLoad:
          case Op::kBulkCopy:
            end(m, i);
            break;
          default:
            break;
        }
      }
    }
    if (has(earlier, Op::kAlloc) && has(later, Op::kMma)) {
      accept(m, {"tmem-pair-alloc-join", "tmem-slot-race"});
    } else if (has(later, Op::kDealloc)) {
      accept(m, {"tmem-pair-dealloc-join", "tmem-dealloc-race", "tmem-cluster-exit"});
    } else {
      leave_out(m, Verdict::kOutside, "it orders no allocation of the pair");
    }
  }

  // ---- Arrivals ----

  void drop_arrival(uint32_t i, Kind kind) {
    Mutant& m = start(kind, i, text(k_.at(i).opcode_span) + " dropped");
    drop(m, i);
    bool waited = false;
    for (const uint32_t wait : k_.on_barrier(i, Op::kWait)) {
      end(m, wait);
      waited = waited || !passes_at_once(wait);
    }
    for (const Op op : {Op::kInit, Op::kArrive, Op::kArriveExpect, Op::kCommit}) {
      for (const uint32_t other : k_.on_barrier(i, op)) end(m, other);
    }
    for (const uint32_t before : k_.backward(i, [&](uint32_t x) { return x != i && k_.op(x) == k_.op(i); })) {
      if (k_.op(before) == Op::kMma || k_.op(before) == Op::kCp || k_.op(before) == Op::kLd || k_.op(before) == Op::kSt)
        end(m, before);
    }
    for (const Op op : {Op::kLd, Op::kSt, Op::kDealloc}) end(m, op);
    if (!waited) return leave_out(m, Verdict::kAllowed, "no wait on this mbarrier that does not return at once");
    if (is_last_release(i)) {
      return leave_out(m, Verdict::kAllowed, "the last \"free\" arrival: nobody waits for that round any more");
    }
    if (kind == Kind::kDropArrive) {
      accept(m, {"tmem-mbarrier-count", "tmem-handoff-race"});
    }
  }

  // An arrival that says "free": the other side waits for it only before it uses the resource again. Behind the loop
  // that does so, nobody waits for it. It is told by its waits: in their first round they return at once (parity 1, or
  // a parity that starts there), or are skipped.
  bool is_last_release(uint32_t i) const {
    if (k_.in_loop(i)) return false;
    // A copy before the loop is followed by further rounds.
    const std::vector<uint32_t> after = k_.forward(i, nullptr);
    for (const uint32_t other : k_.on_barrier(i, k_.op(i))) {
      if (other != i && contains(after, other)) return false;
    }
    bool free = false;
    for (const uint32_t wait : k_.on_barrier(i, Op::kWait)) {
      const Start start = start_of(wait);
      // A wait behind the loop closes the last round too, unless it is one for the round before.
      if (start != Start::kSkipsFirst && !k_.in_loop(wait)) {
        const std::vector<uint32_t> later = k_.forward(wait, [&](uint32_t x) { return k_.leaves_role(x); });
        bool more = false;
        for (const uint32_t other : k_.on_barrier(wait, Op::kWait))
          more = more || (other != wait && contains(later, other));
        if (!more && !passes_at_once(wait)) return false;
      }
      free = free || start != Start::kFull;
    }
    return free;
  }

  // How a wait begins: for the first round's arrivals, for the phase before the first (parity 1), or, behind a test,
  // with the second round for the first.
  enum class Start : uint8_t { kFull, kFree, kSkipsFirst };
  Start start_of(uint32_t wait) const {
    Start out = Start::kFull;
    for (uint32_t n = 0; n + 1 < k_.at(wait).operand_count; ++n) {
      if (k_.operand(wait, n).kind != OperandKind::kAddress) continue;
      const Operand& parity = k_.operand(wait, n + 1);
      if (parity.kind != OperandKind::kRegister) return out;
      std::vector<uint32_t> work{parity.ref};
      std::set<uint32_t> seen;
      while (!work.empty()) {
        const uint32_t reg = work.back();
        work.pop_back();
        if (!seen.insert(reg).second) continue;
        for (const uint32_t d : k_.definitions(reg)) {
          const ptx::Opcode& o = k_.opcode(d);
          if (o.root == "mov" && k_.operand(d, 1).kind == OperandKind::kInteger && k_.operand(d, 1).value == 1)
            out = Start::kFree;
          if (o.root == "mov" && k_.operand(d, 1).kind == OperandKind::kRegister) work.push_back(k_.operand(d, 1).ref);
          if (o.root != "and" && o.root != "xor" && o.root != "not") continue;
          for (const uint32_t from : k_.read(d)) {
            for (const uint32_t dd : k_.definitions(from)) {  // (round - 1) & 1
              const bool less = k_.opcode(dd).root == "add" && k_.operand(dd, 2).kind == OperandKind::kInteger;
              if (less && k_.operand(dd, 2).value == -1) return Start::kSkipsFirst;
            }
            if (o.root != "and") work.push_back(from);
          }
        }
      }
    }
    return out;
  }

  // Definitions in [from, to) of what `i` needs, in order; nothing when a register there is defined from itself.
  bool slice(uint32_t from, uint32_t to, std::vector<uint32_t> needed, std::string& out) const {
    std::vector<uint32_t> copied;
    for (uint32_t i = to; i > from; --i) {
      const uint32_t d = i - 1;
      const std::vector<uint32_t> writes = k_.written(d);
      const bool wanted = std::any_of(writes.begin(), writes.end(), [&](uint32_t r) { return contains(needed, r); });
      if (!wanted) continue;
      const Op op = k_.op(d);
      if (op != Op::kOther || k_.at(d).guard != kNone) return false;
      const ptx::Opcode& o = k_.opcode(d);
      if (o.root == "ld" || o.root == "shfl" || o.root == "atom" || o.root == "tcgen05" || o.root == "vote")
        return false;
      for (const uint32_t r : k_.read(d)) {
        if (contains(writes, r)) return false;
        if (!contains(needed, r)) needed.push_back(r);
      }
      copied.push_back(d);
    }
    for (auto it = copied.rbegin(); it != copied.rend(); ++it) out += text(*it) + " ";
    // What is defined elsewhere has to be defined before, by one instruction.
    for (const uint32_t r : needed) {
      bool here = false;
      for (const uint32_t d : k_.definitions(r)) here = here || contains(copied, d);
      if (here) continue;
      for (const uint32_t d : k_.definitions(r)) {
        if (d >= from && d < to) return false;
      }
      if (k_.definitions(r).size() == 1 && k_.definitions(r)[0] >= from) return false;
    }
    return true;
  }

  std::vector<uint32_t> needs(uint32_t i, const Kernel::Guard& guard) const {
    std::vector<uint32_t> out = k_.read(i);
    if (guard.reg != kNone && !contains(out, guard.reg)) out.push_back(guard.reg);
    return out;
  }

  void early_release(uint32_t arrive) {
    const std::vector<uint32_t> accesses = released_by(arrive);
    if (accesses.empty()) return;
    if (is_last_release(arrive)) {
      Mutant& m = start(Kind::kEarlyRelease, arrive, "mbarrier.arrive moved up");
      return leave_out(m, Verdict::kAllowed, "the last \"free\" arrival: nobody waits for that round any more");
    }
    const Kernel::Guard guard = k_.guard(arrive);
    const uint32_t last = guard.branch != kNone ? guard.branch : arrive;
    std::vector<uint32_t> targets;
    for (uint32_t i = last; i > k_.first(); --i) {
      const Op op = k_.op(i);
      if ((op == Op::kWaitLd || op == Op::kWaitSt) && targets.empty()) targets.push_back(i);
      if (contains(accesses, i)) {
        targets.push_back(i);
        break;
      }
    }
    for (const uint32_t target : targets) {
      const bool wait = k_.op(target) == Op::kWaitLd || k_.op(target) == Op::kWaitSt;
      Mutant& m = start(Kind::kEarlyRelease, arrive,
                        std::string("mbarrier.arrive moved before ") + (wait ? "the wait" : "the access") +
                            " in line " + std::to_string(k_.line(target)));
      std::string definitions;
      if (!k_.straight_line(target, last) || !slice(target, arrive, needs(arrive, guard), definitions)) {
        leave_out(m, Verdict::kNotMade, "a branch, or the computation of its operands, stands between");
        continue;
      }
      before(m, target, definitions + guard_text(guard) + bare(arrive));
      drop(m, arrive);
      for (const uint32_t access : accesses) end(m, access);
      for (const uint32_t w : k_.on_barrier(arrive, Op::kWait)) end(m, w);
      const bool store = k_.op(target) == Op::kSt || k_.op(target) == Op::kWaitSt;
      if (store) {
        accept(m, {"tmem-handoff-race", "tmem-missing-wait-st", "tmem-async-overlap", "tmem-mma-completion",
                   "tmem-uninitialized"});
      } else if (wait) {
        accept(m, {"tmem-missing-wait-ld", "tmem-handoff-race", "tmem-async-overlap"});
      } else {
        accept(m, {"tmem-handoff-race", "tmem-missing-wait-ld", "tmem-async-overlap", "tmem-mma-completion"});
      }
      end(m, Op::kMma);
    }
  }

  void other_count(uint32_t init) {
    const ptx::Operand& count = k_.operand(init, 1);
    const auto value = k_.constant(count, init);
    if (!value) return;
    std::vector<int64_t> others{*value + 1};
    if (*value > 1) others.push_back(*value / 2);
    for (const int64_t other : others) {
      Mutant& m = start(Kind::kOtherCount, init,
                        "mbarrier.init with " + std::to_string(other) + " for " + std::to_string(*value));
      edit(m, count.span, std::to_string(other));
      bool waited = false, arrived = false;
      for (const Op op : {Op::kWait, Op::kArrive, Op::kArriveExpect, Op::kCommit}) {
        for (const uint32_t i : k_.on_barrier(init, op)) {
          end(m, i);
          if (op == Op::kWait) {
            waited = waited || !passes_at_once(i);
          } else {
            arrived = true;
          }
        }
      }
      if (!waited || !arrived) {
        leave_out(m, Verdict::kAllowed, "nobody waits there for a round to complete");
      }
    }
  }

  // ---- Allocation ----

  struct Sizes {
    std::vector<uint32_t> slots;  // registers that hold the address
    std::vector<uint32_t> frees;
    int64_t columns = 0;
  };
  Sizes allocation(uint32_t alloc) const {
    Sizes out;
    out.columns = k_.constant(k_.operand(alloc, k_.roles(alloc).columns), alloc).value_or(0);
    for (const uint32_t load : k_.all(Op::kSharedLoad)) {
      if (is_slot_read(load, alloc)) {
        for (const uint32_t reg : k_.written(load)) out.slots.push_back(reg);
      }
    }
    const std::vector<uint32_t> allocs = k_.all(Op::kAlloc);
    for (const uint32_t d : k_.all(Op::kDealloc)) {
      if (allocs.size() == 1) {
        out.frees.push_back(d);
        continue;
      }
      for (const auto& [reg, factor] : k_.sum(k_.operand(d, k_.roles(d).address)).terms) {
        if (contains(out.slots, reg)) out.frees.push_back(d);
      }
    }
    return out;
  }

  void alloc(uint32_t i) {
    const ptx::OperandRoles where = k_.roles(i);
    const Operand& columns = k_.operand(i, where.columns);
    const Sizes sizes = allocation(i);
    const std::string own = guard_text({k_.at(i).guard, k_.at(i).guard_negated, kNone});
    const std::string group = ".cta_group::" + std::to_string(k_.form(i).cta_group);
    {
      Mutant& m = start(Kind::kAllocNotPower, i, "alloc of 96 columns, an immediate");
      edit(m, columns.span, "96");
    }
    {
      Mutant& m = start(Kind::kAllocNotPower, i, "alloc of 96 columns, in a register");
      edit(m, {k_.at(i).span.begin, k_.at(i).span.begin}, "{ .reg .b32 seed_n; mov.b32 seed_n, 96; ");
      edit(m, columns.span, "seed_n");
      edit(m, {whole(i).end, whole(i).end}, " }");
      accept(m, {"tmem-alloc-size"});
    }
    {
      Mutant& m = start(Kind::kAllocAfterRelinquish, i, "relinquish_alloc_permit before the alloc");
      before(m, i, own + "tcgen05.relinquish_alloc_permit" + group + ".sync.aligned;");
    }
    {
      Mutant& m = start(Kind::kGrowingAlloc, i, "a smaller allocation, freed again, before the alloc");
      if (sizes.columns < 64) {
        leave_out(m, Verdict::kNotMade, "no smaller allocation than 32 columns");
      } else {
        const std::string slot = text(k_.operand(i, where.address).span), half = std::to_string(sizes.columns / 2);
        before(m, i,
               "{ .reg .b32 seed_t; " + own + "tcgen05.alloc" + group + ".sync.aligned.shared::cta.b32 " + slot + ", " +
                   half + "; " + own + "ld.shared.b32 seed_t, " + slot + "; " + own + "tcgen05.dealloc" + group +
                   ".sync.aligned.b32 seed_t, " + half + "; }");
      }
    }
    every_warp(i);
    too_small(i, sizes);
  }

  void too_small(uint32_t i, const Sizes& sizes) {
    Mutant& m =
        start(Kind::kAllocTooSmall, i, "alloc and dealloc of " + std::to_string(sizes.columns / 2) + " columns");
    if (sizes.columns < 64) return leave_out(m, Verdict::kNotMade, "no smaller allocation than 32 columns");
    const std::string half = std::to_string(sizes.columns / 2);
    edit(m, k_.operand(i, k_.roles(i).columns).span, half);
    for (const uint32_t d : sizes.frees) edit(m, k_.operand(d, k_.roles(d).columns).span, half);
    bool used = false, unknown = false;
    for (uint32_t a = k_.first(); a < k_.last(); ++a) {
      const Op op = k_.op(a);
      if (op != Op::kLd && op != Op::kSt && op != Op::kMma && op != Op::kCp) continue;
      for (const Columns& c : k_.columns(a)) {
        const bool ours = std::any_of(c.base.terms.begin(), c.base.terms.end(),
                                      [&](const auto& t) { return contains(sizes.slots, t.first); });
        // A stage index takes the value 1 at least, or there would be none.
        int64_t stage = 0;
        for (const auto& [reg, factor] : c.base.terms) {
          if (!contains(sizes.slots, reg) && factor >= 32) stage += factor;
        }
        if (ours && c.base.terms.size() <= 2 && (c.base.terms.size() == 1 || stage != 0)) {
          if (c.base.constant + stage + c.count > sizes.columns / 2) {
            used = true;
            end(m, a);
          }
        } else {
          unknown = true;
          end(m, a);
        }
      }
    }
    if (used) return;
    if (unknown) {
      leave_out(m, Verdict::kNotMade, "whether the other half is used depends on a stage index");
    } else {
      leave_out(m, Verdict::kAllowed, "the kernel uses no more than half of the columns");
    }
  }

  void every_warp(uint32_t i) {
    const Kernel::Guard guard = k_.guard(i);
    if (guard.reg == kNone) return;
    Mutant& m =
        start(Kind::kEveryWarp, i, std::string(k_.op(i) == Op::kAlloc ? "alloc" : "dealloc") + " by every warp");
    if (guard.branch == kNone) {
      edit(m, {k_.at(i).span.begin, k_.at(i).opcode_span.begin},
           blank({k_.at(i).span.begin, k_.at(i).opcode_span.begin}));
    } else {
      drop(m, guard.branch);
      m.lines.insert(k_.line(i));
    }
    if (k_.op(i) == Op::kAlloc) {
      accept(m, {"tmem-one-warp", "tmem-slot-race"});
    } else {
      accept(m, {"tmem-one-warp", "tmem-double-dealloc", "tmem-dealloc-race"});
    }
  }

  void dealloc(uint32_t i) {
    {
      Mutant& m = start(Kind::kDropDealloc, i, "dealloc dropped");
      drop(m, i);
      end(m, Op::kAlloc);
      end(m, Op::kExit);
    }
    {
      Mutant& m = start(Kind::kDoubleDealloc, i, "dealloc twice");
      edit(m, {whole(i).end, whole(i).end}, " " + text(i));
    }
    const ptx::OperandRoles where = k_.roles(i);
    if (const auto columns = k_.constant(k_.operand(i, where.columns), i)) {
      const int64_t other = *columns > 32 ? *columns / 2 : 64;
      Mutant& m = start(Kind::kDeallocOtherSize, i,
                        "dealloc of " + std::to_string(other) + " columns for " + std::to_string(*columns));
      edit(m, k_.operand(i, where.columns).span, std::to_string(other));
      end(m, Op::kAlloc);
    }
    every_warp(i);
    free_early(i);
  }

  void move_dealloc(uint32_t d, uint32_t target, const std::string& where,
                    std::initializer_list<std::string_view> rules) {
    Mutant& m =
        start(Kind::kFreeEarly, d, "dealloc moved before " + where + " in line " + std::to_string(k_.line(target)));
    const Kernel::Guard guard = k_.guard(d);
    std::string definitions;
    if (!slice(target, d, needs(d, guard), definitions)) {
      return leave_out(m, Verdict::kNotMade, "its operands cannot be computed there");
    }
    // Blocks between the two: a definition there that is copied may not run at all otherwise; it only computes.
    before(m, target, definitions + guard_text(guard) + bare(d));
    drop(m, d);
    accept(m, rules);
    end(m, Op::kLd);
    end(m, Op::kSt);
    end(m, Op::kMma);
    end(m, Op::kAlloc);
  }

  void free_early(uint32_t d) {
    // The warps that free also load: before their last load, and behind its wait but before they join the others.
    uint32_t load = kNone, wait = kNone;
    for (uint32_t i = k_.first(); i < d; ++i) {
      if (k_.op(i) == Op::kLd && k_.always_before(i, d) && !k_.in_loop(i)) load = i;
    }
    if (load != kNone) {
      for (uint32_t i = load; i < d; ++i) {
        if (k_.op(i) == Op::kWaitLd) {
          wait = i;
          break;
        }
      }
      move_dealloc(d, load, "the last load", {"tmem-use-after-dealloc", "tmem-dealloc-race"});
      if (wait != kNone) {
        move_dealloc(d, wait, "the wait of the last load", {"tmem-missing-wait-ld", "tmem-dealloc-race"});
        if (wait + 1 < d)
          move_dealloc(d, wait + 1, "the joins behind the last load", {"tmem-dealloc-race", "tmem-use-after-dealloc"});
      }
      return;
    }
    // Otherwise before the last join.
    std::vector<uint32_t> joins;
    const auto stop = [&](uint32_t i) { return k_.op(i) == Op::kBar || k_.op(i) == Op::kClusterWait; };
    for (const uint32_t i : k_.backward(d, stop)) {
      if (stop(i)) joins.push_back(i);
    }
    if (joins.size() != 1 || k_.in_loop(joins[0])) {
      Mutant& m = start(Kind::kFreeEarly, d, "dealloc moved before the last join");
      return leave_out(m, Verdict::kNotMade, "several joins lead to it, or the join is in a loop");
    }
    uint32_t target = joins[0];
    if (k_.op(target) == Op::kClusterWait) {
      while (target > k_.first() && k_.op(target) != Op::kClusterArrive) --target;
    }
    const std::vector<uint32_t> earlier = k_.backward(target, stop);
    const bool needed = std::any_of(earlier.begin(), earlier.end(), [&](uint32_t i) {
      return k_.op(i) == Op::kLd || k_.op(i) == Op::kSt || k_.op(i) == Op::kMma;
    });
    if (!needed) {
      Mutant& m = start(Kind::kFreeEarly, d, "dealloc moved before the last join");
      return leave_out(m, Verdict::kAllowed, "the join before it has already ordered every access");
    }
    if (k_.op(joins[0]) == Op::kClusterWait) {
      move_dealloc(d, target, "the last join", {"tmem-pair-dealloc-join", "tmem-dealloc-race"});
    } else {
      move_dealloc(d, target, "the last join", {"tmem-dealloc-race", "tmem-use-after-dealloc", "tmem-mma-completion"});
    }
  }

  // ---- Addresses ----

  void shift(Mutant& m, const Operand& address, int64_t by) {
    const std::string base = reg_name(address.ref);
    edit(m, address.span, "[" + base + "+" + std::to_string(address.value + by) + "]");
  }

  void other_lane(uint32_t i) {
    const Operand& address = k_.operand(i, k_.roles(i).address);
    if (address.kind != OperandKind::kAddress || address.base != OperandKind::kRegister) return;
    for (const int64_t lanes : {16, 32}) {
      Mutant& m = start(Kind::kOtherLane, i, text(k_.at(i).opcode_span) + " at lanes +" + std::to_string(lanes));
      shift(m, address, lanes << 16);
      if (lanes == 16 && k_.form(i).lanes == 16) {
        leave_out(m, Verdict::kAllowed, "a shape of 16 lanes stays within the warp's window");
      }
    }
  }

  void other_columns(uint32_t i) {
    const ptx::OperandRoles where = k_.roles(i);
    std::vector<uint32_t> addresses{where.address};
    if (k_.op(i) == Op::kMma && where.a != kNone && k_.operand(i, where.a).kind == OperandKind::kAddress)
      addresses.push_back(where.a);
    if (k_.op(i) == Op::kMma && where.scale_a != kNone) addresses.push_back(where.scale_a);
    const std::vector<uint32_t> allocs = k_.all(Op::kAlloc);
    std::vector<int64_t> distances{512};
    if (allocs.size() == 1) {
      const int64_t columns = k_.constant(k_.operand(allocs[0], k_.roles(allocs[0]).columns), allocs[0]).value_or(512);
      if (columns < 512) distances.push_back(columns);
    }
    for (const uint32_t which : addresses) {
      if (which == kNone || which >= k_.at(i).operand_count) continue;
      const Operand& address = k_.operand(i, which);
      if (address.kind != OperandKind::kAddress || address.base != OperandKind::kRegister) continue;
      for (const int64_t by : distances) {
        Mutant& m =
            start(Kind::kOtherColumn, i,
                  text(k_.at(i).opcode_span) + ": " + text(address.span) + " at columns +" + std::to_string(by));
        shift(m, address, by);
        end(m, Op::kAlloc);
      }
    }
  }

  // ---- Who executes ----

  void collective(uint32_t i) {
    switch (k_.op(i)) {
      case Op::kAlloc:
      case Op::kDealloc:
      case Op::kRelinquish:
      case Op::kLd:
      case Op::kSt:
      case Op::kWaitLd:
      case Op::kWaitSt:
        break;
      default:
        return;
    }
    Mutant& m = start(Kind::kLaneGuard, i, text(k_.at(i).opcode_span) + " in lane 0 only");
    std::string head =
        "{ .reg .pred seed_p; .reg .b32 seed_l; mov.u32 seed_l, %laneid; setp.eq.u32 seed_p, seed_l, 0; ";
    if (k_.at(i).guard != kNone) {
      head += ".reg .pred seed_g; mov.pred seed_g, " + reg_name(k_.at(i).guard) + "; ";
      if (k_.at(i).guard_negated) head += "not.pred seed_g, seed_g; ";
      head += "and.pred seed_p, seed_p, seed_g; ";
    }
    edit(m, {k_.at(i).span.begin, k_.at(i).opcode_span.begin}, head + "@seed_p ");
    edit(m, {whole(i).end, whole(i).end}, " }");
  }

  bool elected(uint32_t reg) const {
    const std::vector<uint32_t>& definitions = k_.definitions(reg);
    return !definitions.empty() &&
           std::all_of(definitions.begin(), definitions.end(), [&](uint32_t d) { return k_.op(d) == Op::kElect; });
  }

  void every_lane(uint32_t i) {
    const Op op = k_.op(i);
    if (op != Op::kMma && op != Op::kCp && op != Op::kShift && op != Op::kCommit) return;
    if (k_.at(i).guard == kNone || !elected(k_.at(i).guard)) return;
    Mutant& m = start(Kind::kEveryLane, i, text(k_.at(i).opcode_span) + " without its election");
    const ptx::Span guard{k_.at(i).span.begin, k_.at(i).opcode_span.begin};
    edit(m, guard, blank(guard));
    for (const uint32_t d : k_.definitions(k_.at(i).guard)) end(m, d);
  }

  // An election whose result a branch tests: then every lane takes it.
  void drop_election(uint32_t elect) {
    const std::vector<uint32_t> writes = k_.written(elect);
    uint32_t predicate = kNone;
    for (const uint32_t reg : writes) {
      if (k_.function().registers[reg].type == ptx::Type::kPred) predicate = reg;
    }
    if (predicate == kNone) return;
    for (uint32_t i = k_.first(); i < k_.last(); ++i) {
      if (k_.at(i).guard == predicate && k_.op(i) != Op::kOther) return;  // see every_lane
    }
    std::vector<uint32_t> issued;
    for (const uint32_t i : k_.forward(elect, [&](uint32_t x) {
           return k_.op(x) == Op::kElect || k_.op(x) == Op::kBar || k_.op(x) == Op::kClusterArrive;
         })) {
      if (k_.op(i) == Op::kMma || k_.op(i) == Op::kCp || k_.op(i) == Op::kCommit) issued.push_back(i);
    }
    // Behind a join, what a loop leads to may be another thread's.
    std::erase_if(issued, [&](uint32_t i) { return i < elect; });
    if (issued.empty()) return;
    Mutant& m = start(Kind::kEveryLane, elect, "the election always succeeds");
    replace(m, elect, "mov.pred " + text(predicate_span(elect)) + ", -1;");
    for (const uint32_t i : issued) end(m, i);
  }
  ptx::Span predicate_span(uint32_t elect) const {
    for (uint32_t n = 0; n < k_.at(elect).operand_count; ++n) {
      const Operand& operand = k_.operand(elect, n);
      if (operand.kind == OperandKind::kRegister && k_.function().registers[operand.ref].type == ptx::Type::kPred)
        return operand.span;
    }
    return k_.at(elect).opcode_span;
  }

  // ---- Groups, shapes, first writes, fences ----

  void cta_group(uint32_t i) {
    if (k_.opcode(i).root != "tcgen05") return;
    const uint8_t group = k_.form(i).cta_group;
    if (group == 0) return;
    const std::string old = text(k_.at(i).opcode_span);
    const size_t at = old.find("cta_group::");
    if (at == std::string::npos) return;
    Mutant& m = start(Kind::kOtherCtaGroup, i, old + " with the other cta_group");
    const ptx::Offset digit = k_.at(i).opcode_span.begin + static_cast<ptx::Offset>(at) + 11;
    edit(m, {digit, digit + 1}, group == 1 ? "2" : "1");
    // Whichever of the two the report takes for the odd one.
    for (uint32_t other = k_.first(); other < k_.last(); ++other) {
      if (k_.opcode(other).root == "tcgen05" && k_.form(other).cta_group != 0) end(m, other);
    }
  }

  void illegal_shape(uint32_t i) {
    const auto idesc = k_.idesc(i);
    if (!idesc) return;
    Mutant& m = start(Kind::kIllegalShape, i, "M of the instruction descriptor is illegal");
    const bool scaled = k_.form(i).block_scale;
    const uint32_t other = scaled ? *idesc | 3u << 27 : (*idesc & ~(31u << 24)) | 12u << 24;
    edit(m, k_.operand(i, k_.roles(i).idesc).span, std::to_string(other));
    accept(m, {"tmem-descriptor"});
  }

  void other_length(uint32_t i) {
    const std::string old = text(k_.at(i).opcode_span);
    const uint16_t num = k_.form(i).num;
    const std::string from = ".x" + std::to_string(num) + ".";
    const size_t at = old.find(from);
    if (num == 0 || at == std::string::npos) return;
    const uint16_t other = num > 1 ? num / 2 : 2;
    Mutant& m = start(Kind::kIllegalShape, i, old + " with x" + std::to_string(other));
    const ptx::Offset begin = k_.at(i).opcode_span.begin + static_cast<ptx::Offset>(at);
    edit(m, {begin, begin + static_cast<ptx::Offset>(from.size()) - 1}, ".x" + std::to_string(other));
    accept(m, {"tmem-instruction-form"});
  }

  // The mma before, on the same accumulator in the same block.
  uint32_t previous_mma(uint32_t i) const {
    for (uint32_t p = i; p > k_.first(); --p) {
      const uint32_t b = p - 1;
      if (k_.op(b) == Op::kMma) return k_.straight_line(b, i) && k_.overlap(b, i) == Overlap::kYes ? b : kNone;
      if (k_.op(b) == Op::kCommit || k_.op(b) == Op::kWait) return kNone;
    }
    return kNone;
  }

  void other_shape(uint32_t i) {
    const uint32_t before = previous_mma(i);
    if (before == kNone || previous_mma(before) != kNone) return;  // one for each chain: its second
    const auto idesc = k_.idesc(i), first = k_.idesc(before);
    if (!idesc || !first) return;
    const uint32_t n = (*idesc >> 17 & 63) * 8;
    if (n % 64 != 0) return;
    Mutant& m =
        start(Kind::kOtherShape, i, "N = " + std::to_string(n / 2) + " behind an mma with N = " + std::to_string(n));
    edit(m, k_.operand(i, k_.roles(i).idesc).span, std::to_string((*idesc & ~(63u << 17)) | (n / 16) << 17));
    for (uint32_t x = before; x < k_.last() && k_.op(x) != Op::kCommit; ++x) {
      if (k_.op(x) == Op::kMma) end(m, x);
    }
  }

  void no_first_write(uint32_t i) {
    const ptx::OperandRoles where = k_.roles(i);
    if (where.enable_input_d == kNone) return;
    const Operand& flag = k_.operand(i, where.enable_input_d);
    const auto known = k_.constant(flag, i);
    if (known && *known != 0) return;
    Mutant& m = start(Kind::kNoFirstWrite, i, "the mma accumulates from the start");
    edit(m, flag.span, "1");
    end(m, Op::kLd);
    for (const uint32_t other : k_.all(Op::kMma)) {
      if (k_.overlap(other, i) != Overlap::kNo) end(m, other);
    }
    for (const uint32_t other : k_.all(Op::kMma)) {
      if (other >= i || !contains(k_.forward(other, nullptr), i)) continue;
      const Overlap overlap = k_.overlap(other, i);
      // A copy in front of a loop runs whenever the loop does: its branch only selects the issuing warp.
      const bool ran = k_.always_before(other, i) || !k_.in_loop(other);
      if (ran && overlap == Overlap::kYes) {
        return leave_out(m, Verdict::kAllowed,
                         "an earlier mma has written the accumulator on every path: a wrong sum, but defined");
      }
      const auto flag_there = k_.constant(k_.operand(other, k_.roles(other).enable_input_d), other);
      if (!k_.in_loop(other) && k_.in_loop(i) && overlap == Overlap::kUnknown && known && flag_there == 0 &&
          k_.idesc(other) == k_.idesc(i)) {
        return leave_out(m, Verdict::kAllowed,
                         "copies of this mma in front of the loop have written every stage of the accumulator");
      }
    }
    for (const uint32_t store : k_.all(Op::kSt)) {
      if (written_by_store(store, i, known.has_value())) {
        return leave_out(m, Verdict::kAllowed, "tcgen05.st has written the accumulator before");
      }
    }
  }

  // Whether the accumulator of an mma has been written by this store of all its warps when the mma runs.
  bool written_by_store(uint32_t store, uint32_t mma, bool constant_flag) const {
    const Columns d = k_.columns(mma)[0], s = k_.columns(store)[0];
    // Another stage than the one that was stored is used as well.
    if (d.base.terms.size() > 1) return false;
    std::vector<std::pair<uint32_t, int64_t>> more = s.base.terms;
    for (const auto& term : d.base.terms) std::erase(more, term);
    if (more.size() + d.base.terms.size() == s.base.terms.size()) {
      if (!contains(k_.forward(store, nullptr), mma)) return false;
      // With eight warps each half stores its part of the columns.
      const int64_t count = more.empty() ? s.count : 2 * s.count;
      return s.base.constant < d.base.constant + d.count && d.base.constant < s.base.constant + count;
    }
    // Warps of other roles know the address by another register. A flag that is not constant says that the mma also
    // sums up: that is the accumulator which was zeroed; one that never accumulates otherwise is not.
    return !k_.in_loop(store) && k_.has_roles() && !constant_flag;
  }

  void drop_proxy_fence(uint32_t i) {
    Mutant& m = start(Kind::kDropProxyFence, i, "fence.proxy.async dropped");
    drop(m, i);
    const auto uses = [&](uint32_t x) {
      return k_.op(x) == Op::kMma || k_.op(x) == Op::kCp || k_.op(x) == Op::kProxyFence || is_bulk_store(x) ||
             k_.op(x) == Op::kBulkCopy;
    };
    bool read = false;
    for (const uint32_t x : k_.forward(i, uses)) {
      if (k_.op(x) == Op::kMma || k_.op(x) == Op::kCp) {
        read = true;
        end(m, x);
      }
    }
    bool stored = false;
    for (const uint32_t x :
         k_.backward(i, [&](uint32_t x) { return k_.op(x) == Op::kProxyFence || k_.op(x) == Op::kMma; })) {
      if (k_.op(x) == Op::kSharedStore && k_.opcode(x).root != "cp") {
        stored = true;
        end(m, x);
      }
    }
    if (!read || !stored) {
      leave_out(m, Verdict::kOutside,
                "it stands before a TMA copy, not before an mma or cp that reads what was stored");
    }
  }
  bool is_bulk_store(uint32_t i) const {
    return k_.opcode(i).root == "cp" && k_.opcode(i).has("bulk") && k_.op(i) == Op::kOther &&
           k_.at(i).operand_count >= 2;
  }

  void drop_fence(uint32_t i) {
    if (k_.opcode(i).root != "tcgen05") return;
    const ptx::Tcgen05 op = k_.form(i).op;
    if (op != ptx::Tcgen05::kFenceBefore && op != ptx::Tcgen05::kFenceAfter) return;
    Mutant& m = start(Kind::kDropFence, i, "tcgen05.fence dropped");
    leave_out(m, Verdict::kAllowed,
              "mbarriers with acquire and release, bar.sync and cluster barriers order without it: a note by rules.md, "
              "and notes are "
              "not counted");
  }

  // ---- Pairs ----

  bool is_pair() const {
    const std::vector<uint32_t> allocs = k_.all(Op::kAlloc);
    return !allocs.empty() && k_.form(allocs[0]).cta_group == 2;
  }

  void pair_cluster() {
    if (!is_pair() || !k_.function().reqnctapercluster.given()) return;
    const std::string_view all = k_.module().source->text();
    const size_t at = all.find(".reqnctapercluster", k_.function().name_span.begin);
    const size_t number = at == std::string_view::npos ? at : all.find('2', at);
    if (number == std::string_view::npos || number > k_.at(k_.first()).span.begin) return;
    Mutant& m = start(Kind::kPairCluster, k_.all(Op::kAlloc)[0], "a cluster of 3 CTAs");
    edit(m, {static_cast<ptx::Offset>(number), static_cast<ptx::Offset>(number) + 1}, "3");
    m.lines.insert(k_.module().source->position(k_.function().name_span.begin).line);
  }

  void pair_mask(uint32_t commit) {
    const ptx::OperandRoles where = k_.roles(commit);
    if (!is_pair() || where.mask == kNone) return;
    Mutant& m = start(Kind::kPairMask, commit, "commit with mask 1");
    edit(m, {k_.at(commit).span.begin, k_.at(commit).span.begin}, "{ .reg .b16 seed_m; mov.b16 seed_m, 1; ");
    edit(m, k_.operand(commit, where.mask).span, "seed_m");
    edit(m, {whole(commit).end, whole(commit).end}, " }");
    for (const uint32_t i : k_.on_barrier(commit, Op::kWait)) end(m, i);
  }

  // The test of the rank on the way to the mma takes the even CTA's side in both.
  void pair_leader() {
    if (!is_pair() || k_.all(Op::kMma).empty()) return;
    const uint32_t mma = k_.all(Op::kMma)[0];
    for (uint32_t i = k_.first(); i < k_.last(); ++i) {
      if (k_.opcode(i).root != "setp" || k_.at(i).operand_count < 3 || i > mma) continue;
      for (uint32_t n = 1; n < 3; ++n) {
        const Operand& operand = k_.operand(i, n);
        if (operand.kind != OperandKind::kRegister || k_.definitions(operand.ref).size() != 1) continue;
        const uint32_t d = k_.definitions(operand.ref)[0];
        if (k_.opcode(d).root != "mov" || text(k_.operand(d, 1).span) != "%cluster_ctarank") continue;
        // Only the test that decides whether this warp issues: the mma lies behind it on every path.
        uint32_t branch = kNone;
        for (const uint32_t x : k_.forward(i, [&](uint32_t x) { return k_.op(x) == Op::kElect; })) {
          if (k_.opcode(x).root == "bra" && k_.at(x).guard != kNone && contains(k_.written(i), k_.at(x).guard))
            branch = x;
        }
        if (branch == kNone || !k_.always_before(branch, mma)) continue;
        Mutant& m = start(Kind::kPairLeader, i, "both CTAs take the leader's branch");
        edit(m, operand.span, "0");
        for (const Op op : {Op::kMma, Op::kCommit, Op::kElect}) end(m, op);
      }
    }
  }

  Kernel k_;
  std::vector<Mutant>& out_;
};

}  // namespace

std::vector<Mutant> mutants(const ptx::Module& module) {
  std::vector<Mutant> out;
  for (uint32_t f = 0; f < module.functions.size(); ++f) {
    if (module.functions[f].is_entry && module.functions[f].has_body) Seeder(module, f, out).run();
  }
  return out;
}

std::string mutated(std::string_view text, const Mutant& mutant) {
  std::string out;
  size_t at = 0;
  for (const Edit& edit : mutant.edits) {
    out += text.substr(at, edit.span.begin - at);
    out += edit.text;
    at = edit.span.end;
  }
  out += text.substr(at);
  return out;
}

std::vector<std::string> accepted_rules(const Mutant& mutant) {
  if (!mutant.accepted.empty()) return mutant.accepted;
  std::vector<std::string> out;
  for (const std::string_view rule : info(mutant.kind).accepted) out.emplace_back(rule);
  return out;
}

}  // namespace tmemlint::seeded
