#include "analyzer/cluster/canonical_state.h"

#include <algorithm>
#include <map>

namespace tmemlint::cluster {

namespace {

// The numbers of events of each warp, or of commits of each thread, that a state refers to, ascending.
class References {
public:
  explicit References(size_t owners) : by_owner_(owners) {}
  size_t owners() const { return by_owner_.size(); }
  void add(uint32_t owner, uint32_t number) { by_owner_[owner].push_back(number); }
  void sort() {
    for (std::vector<uint32_t>& list : by_owner_) {
      std::sort(list.begin(), list.end());
      list.erase(std::unique(list.begin(), list.end()), list.end());
    }
  }
  // How many of them are not behind a number.
  uint64_t rank(uint32_t owner, uint32_t number) const {
    const std::vector<uint32_t>& list = by_owner_[owner];
    return static_cast<uint64_t>(std::upper_bound(list.begin(), list.end(), number) - list.begin());
  }

private:
  std::vector<std::vector<uint32_t>> by_owner_;
};

// First pass: which events and commits matter at all.
class Collect {
public:
  Collect(References& events, References& commits) : events_(events), commits_(commits) {}
  void number(uint64_t) {}
  void event(const WarpEvent& e) { events_.add(e.warp, e.event); }
  void commit(const CommitNumber& c) {
    if (c.number != 0) commits_.add(c.issuer, c.number);
  }
  void clock(const Clock&) {}

private:
  References& events_;
  References& commits_;
};

// Second pass: everything, as numbers.
class Write {
public:
  Write(const References& events, const References& commits) : events_(events), commits_(commits) {}
  void number(uint64_t n) { out.push_back(n); }
  void event(const WarpEvent& e) { out.push_back(events_.rank(e.warp, e.event)); }
  void commit(const CommitNumber& c) {
    out.push_back(c.number == 0 ? 0 : (uint64_t{c.issuer} << 32) + 1 + commits_.rank(c.issuer, c.number));
  }
  void clock(const Clock& c) {
    for (uint32_t w = 0; w < c.size(); ++w) out.push_back(events_.rank(w, c.event(w)));
    for (uint32_t i = 0; i < commits_.owners(); ++i) out.push_back(commits_.rank(i, c.commit(i)));
  }
  CanonicalState out;

private:
  const References& events_;
  const References& commits_;
};

template <typename Visitor>
class Walk {
public:
  Walk(const RunState& state, const program::Program& program, const std::vector<bool>& counts, Visitor& v)
      : state_(state), program_(program), counts_(counts), v_(v) {}

  void run() {
    for (const WarpState& w : state_.warps) warp(w);
    columns();
    allocations();
    words();
    barriers();
    arrivals();
    state_.stored.each([&](uint32_t block, const LastStore& s) {
      v_.number(block);
      if (s.is_copy) {
        copy(s.copy());
        return;
      }
      v_.event({s.warp, s.event});
      v_.number((uint64_t{s.instruction} << 32) | s.lanes);
    });
    for (const auto& [block, reads] : state_.operand_reads.all()) {
      v_.number((uint64_t{block} << 32) | reads.size());
      for (const OperandReads::Read& r : reads) {
        operation(r.operation);
        v_.number(r.saw_a_write ? 1 : 0);
      }
    }
    for (const auto& [rank, r] : state_.relinquished) v_.event(r.event);
    if (state_.released_globally) knowledge(*state_.released_globally);
  }

private:
  void knowledge(const Knowledge& k) {
    v_.clock(k.any);
    v_.clock(k.fenced);
    v_.clock(k.strict);
  }
  void value(const value::Value& v) {
    v_.number(v.base);
    v_.number((uint64_t{v.table} << 32) | v.without_base);
    v_.number(v.number);
  }
  void site(const Site& s) {
    v_.number(s.instruction);
    v_.number((uint64_t{s.warp.rank} << 32) | s.warp.number);
  }

  void warp(const WarpState& w) {
    v_.number(w.over ? 1 : 0);
    v_.number(w.exited);
    v_.number(w.step);
    v_.number(w.groups.size());
    for (const LaneGroup& g : w.groups) group(w, g);
    wait(w, w.wait);
    for (const AskedPhase& p : w.failed) asked(p);
    v_.number(w.failed.size());
    for (const AskedPhase& p : w.passed) asked(p);
    v_.number(w.passed.size());
    v_.number((w.poll_released ? 2 : 0) | (w.reached_global ? 1 : 0));
    v_.number(w.polled.second == state_.writes ? w.polled.first : kNone);
    v_.number(w.cluster_arrived);
    v_.number(w.cluster_phase - state_.cluster.phase);
    v_.number(w.last_relaxed_wait);
    w.knowledge.each_level([&](const Clock& c) { v_.clock(c); });
    w.loads.each([&](uint32_t n) { operation(n); });
    v_.number(w.stores.size());
    for (uint32_t n : w.stores) operation(n);
    v_.number(w.uncommitted.size());
    for (uint32_t n : w.uncommitted) operation(n);
    v_.number(w.forgotten_fence != 0 ? 1 : 0);
    if (w.forgotten_fence != 0) v_.event({w.index, w.forgotten_fence});
    for (const ProxyFence& f : w.proxy_fences) {
      v_.event({w.index, f.event});
      v_.event({w.index, f.joined});
      v_.number(f.lanes);
      v_.clock(f.known);
    }
    lanes(w);
  }

  void lanes(const WarpState& w) {
    const LaneOrder& order = w.knowledge.lanes();
    v_.event({w.index, order.joined()});
    v_.number(order.all_apart().size());
    for (const LaneOrder::Apart& a : order.all_apart()) {
      v_.event({w.index, a.first});
      v_.event({w.index, a.last});
      v_.event({w.index, a.covered});
      v_.number((uint64_t{a.lanes} << 32) | a.missed_by);
      v_.number(a.covered == 0 ? 0 : 1);
    }
    v_.number(w.copies.size());
    for (const PendingCopy& p : w.copies) {
      copy(p.copy);
      v_.number((uint64_t{p.lanes} << 32) | (p.group == kNone ? kNone : w.copy_groups - p.group));
    }
  }

  void copy(uint32_t n) {
    const OperandCopy& c = state_.copies[n];
    site(c.site);
    v_.number((uint64_t{c.begin} << 8) | (c.observers.size() << 1) | (c.traced ? 1 : 0));
    for (const WarpEvent& o : c.observers) v_.event(o);
  }

  bool is_counted(uint32_t reg) const { return counts_.empty() || counts_[reg]; }

  // The registers of the first group are the warp's, by their numbers; those of the others are by what their block
  // needs, of parked ones by their numbers too.
  void group(const WarpState& w, const LaneGroup& g) {
    v_.number(g.at.block);
    v_.number((uint64_t{g.at.lanes} << 1) | (g.at.again ? 1 : 0));
    const std::vector<uint32_t>& live = program_.code[g.at.block].live_in;
    const bool by_number = g.in_machine || g.parked;
    const std::vector<value::Value>& registers = g.in_machine ? w.registers : g.registers;
    for (size_t n = 0; n < live.size(); ++n) {
      if (is_counted(live[n])) value(registers[by_number ? live[n] : n]);
    }
    if (!g.parked) return;
    v_.number(g.parked->step);
    wait(w, g.parked->wait);
  }

  void wait(const WarpState& w, const std::optional<Wait>& wait) {
    v_.number(wait ? 1 + wait->index() : 0);
    if (!wait) return;
    if (const auto* phase = std::get_if<WaitForPhase>(&*wait)) asked({w.step, phase->address, phase->phase});
    if (const auto* init = std::get_if<WaitForInit>(&*wait)) v_.number(init->address);
    if (const auto* named = std::get_if<WaitForNamedBarrier>(&*wait)) v_.number(named->barrier);
    if (const auto* room = std::get_if<WaitForColumns>(&*wait)) v_.number(room->asked);
  }

  // Which phase it was does not matter, but whether it is over.
  void asked(const AskedPhase& p) {
    v_.number(p.step);
    v_.number(p.address);
    v_.number(state_.mbarriers.is_over(p.address, p.phase) ? 1 : 0);
  }

  void operation(uint32_t n) {
    const Operation& o = state_.tensor_memory.operations()[n];
    site({o.instruction, o.id});
    v_.event({o.warp, o.event});
    v_.event({o.warp, o.waited});
    v_.number(o.waited == 0 ? 0 : 1);
    v_.commit(o.commit);
    v_.number((uint64_t{o.lane} << 32) | o.first_of_run);
    v_.number(o.idesc ? 1 + uint64_t{*o.idesc} : 0);
    v_.number(o.d_column);
    v_.number((uint64_t{o.lanes} << 32) | o.used);
  }

  void access(uint32_t n) {
    v_.number(n == kNoAccess ? 0 : 1);
    if (n == kNoAccess) return;
    const Access& a = state_.tensor_memory.accesses()[n];
    operation(a.operation);
    v_.number((uint64_t{static_cast<uint8_t>(a.role)} << 8) | (a.reads ? 4 : 0) | (a.writes ? 2 : 0) |
              (a.reads && a.saw_a_write ? 1 : 0) | (uint64_t{a.reads ? a.saw_halves : uint8_t{0}} << 16) |
              (uint64_t{a.halves} << 24));
  }

  void columns() {
    for (const Columns& cta : state_.tensor_memory.columns()) {
      cta.each_run([&](uint32_t first, const Column& c) {
        if (c.touches.empty() && c.written == 0) return;
        v_.number(first);
        v_.number((uint64_t{c.written} << 32) | c.touches.size());
        for (const Touch& t : c.touches) {
          v_.number(t.halves);
          access(t.access);
        }
        for (uint32_t write : c.last_write.access) access(write);
        for (uint32_t write : c.older_write.access) access(write);
      });
    }
  }

  void allocations() {
    for (const Allocation& a : state_.tensor_memory.allocations()) {
      if (!a.live) continue;
      site(a.alloc);
      v_.number((uint64_t{a.rank} << 32) | (a.base << 16) | a.columns);
      v_.event(a.made);
    }
  }

  void words() {
    for (const auto& [address, word] : state_.words.all()) {
      v_.number((uint64_t{address} << 32) | word.bytes);
      v_.number((word.known ? 2 : 0) | (word.atomic ? 1 : 0));
      if (word.known) value(word.value);
      v_.event(word.writer);
      v_.number(word.instruction);
      if (word.knowledge != nullptr) knowledge(*word.knowledge);
      for (const WarpEvent& r : word.readers) v_.event(r);
    }
  }

  void contributors(const Contributors& c) {
    v_.number((uint64_t{c.arrivals.size()} << 32) | (c.commits.size() << 1) | (c.copies ? 1 : 0));
    for (const WarpEvent& e : c.arrivals) v_.event(e);
    for (const CommitNumber& n : c.commits) v_.commit(n);
  }

  void barriers() {
    std::map<uint32_t, const Mbarrier*> sorted;
    for (const auto& [address, b] : state_.mbarriers.all()) sorted[address] = &b;
    for (const auto& [address, b] : sorted) {
      v_.number((uint64_t{address} << 32) | b->count);
      v_.number(static_cast<uint64_t>(b->pending));
      v_.number((b->phase == b->first ? 16 : 0) | (b->live ? 8 : 0) | (b->expects ? 4 : 0) | (b->copied ? 2 : 0) |
                (b->phase & 1));
      v_.number(b->invalidated.instruction);
      for (const WarpEvent& e : b->released) v_.event(e);
      v_.number(b->released.size());
      v_.number(b->earlier == nullptr ? 0 : 1 + (b->earlier->phase & 1));
      if (b->earlier != nullptr) knowledge(b->earlier->done);
      v_.number((uint64_t{b->under_way} << 32) | (b->phase - b->seen));
      v_.number((uint64_t{b->init} << 32) | b->relaxed_arrive);
      v_.event(b->initialised);
      knowledge(b->arriving);
      knowledge(b->done);
      contributors(b->previous);
      contributors(b->current);
      v_.number(b->seen_by.size());
      for (const PhaseWait& w : b->seen_by) {
        v_.event(w.event);
        v_.number(w.site.instruction);
      }
      v_.number(b->seen_by_before.size());
      for (const PhaseWait& w : b->seen_by_before) v_.number(w.event.warp);
      v_.number(b->bytes.announced);
      v_.number(b->bytes.brought);
      v_.number((static_cast<uint64_t>(b->surplus) << 1) | (b->bytes.known ? 1 : 0));
      for (uint32_t n : b->brings) copy(n);
      for (uint32_t n : b->brought) copy(n);
    }
    for (const auto& [key, b] : state_.named.all()) {
      v_.number((uint64_t{key.first} << 32) | key.second);
      v_.number((uint64_t{b.arrived} << 32) | b.expected);
      knowledge(b.arriving);
      knowledge(b.done);
    }
    knowledge(state_.cluster.arriving);
    knowledge(state_.cluster.done);
  }

  void arrivals() {
    for (const AsyncArrival& a : state_.under_way) {
      v_.number(static_cast<uint64_t>(a.kind));
      site(a.site);
      for (uint32_t t : a.targets) v_.number(t);
      knowledge(a.knowledge);
      v_.number((uint64_t{a.written} << 32) | a.bytes);
      v_.number(a.count);
      for (uint32_t n : a.brings) copy(n);
    }
  }

  const RunState& state_;
  const program::Program& program_;
  const std::vector<bool>& counts_;
  Visitor& v_;
};

}  // namespace

CanonicalState canonical_state(const RunState& state, const program::Program& program,
                               const std::vector<bool>& counts) {
  References events(state.warps.size());
  References commits(state.issuers.size());
  Collect collect(events, commits);
  Walk(state, program, counts, collect).run();
  events.sort();
  commits.sort();
  Write write(events, commits);
  Walk(state, program, counts, write).run();
  return std::move(write.out);
}

}  // namespace tmemlint::cluster
