// One scenario of the joint run.
#pragma once

#include <array>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <unordered_map>
#include <vector>

#include "analyzer/cluster/analysis.h"
#include "analyzer/cluster/barrier.h"
#include "analyzer/cluster/global_words.h"
#include "analyzer/cluster/joint.h"
#include "analyzer/cluster/last_stores.h"
#include "analyzer/cluster/model.h"
#include "analyzer/cluster/tensor_memory.h"
#include "analyzer/kernel/control.h"
#include "analyzer/warp/lanes.h"
#include "analyzer/warp/machine.h"

namespace tmemlint::cluster {

// Addresses of shared memory carry the CTA's rank above the offset.
inline uint32_t rank_of(uint32_t address) {
  return address >> kernel::kRankShift;
}
inline uint32_t in_rank(uint32_t address, uint32_t rank) {
  return (address & ((1u << kernel::kRankShift) - 1)) | (rank << kernel::kRankShift);
}

// How a scenario decides what is unknown.
struct Policy {
  uint32_t trips = 2;                             // times round a loop whose end is not known
  std::set<uint32_t> flipped;                     // blocks whose branch is decided the other way than usual
  std::optional<std::pair<uint32_t, bool>> wish;  // a truth that selects a number, and what it is to be
  unsigned occasions = 2;  // how often the usual policy comes to a branch that this one decides another way
};

// The other numbers of times that loops are let run.
inline constexpr std::array<uint32_t, 3> kOtherTrips = {1, 0, 5};

// What is the same in every scenario of a kernel.
struct Ground {
  const Analysis* analysis = nullptr;
  kernel::Control control;
  // How many events only the first, and only the second way of a block's branch leads through.
  std::array<uint32_t, 2> events_ahead(uint32_t block) const;
  // Where a loop is asked how often it goes round: at its top, else at its bottom, else where it is left first. Its
  // other exits are breaks.
  struct LoopEnd {
    uint32_t block = kNone;
    bool at_top = false;
  };
  std::vector<LoopEnd> loop_ends;   // by loop
  std::vector<bool> guards_writes;  // by block: its branch decides whether a loop that writes Tensor Memory is entered
  // Whether a way of a block's branch lets a loop that writes Tensor Memory run no time, by a condition on what decides
  // how often that runs.
  bool runs_no_time(uint32_t block, uint8_t way) const;
  // What a block does to words of global memory that orders warps; empty if no two warps can meet that way.
  struct GlobalOrder {
    bool releases = false, acquires = false;
  };
  std::vector<GlobalOrder> global_orders;           // by block, with what is left out behind it
  std::vector<std::vector<uint32_t>> loop_writers;  // by loop that writes Tensor Memory: the instructions that do
  bool uses_cluster = false;                        // some instruction may reach another CTA
  // The blocks of LastStores::kBytes that the lanes of a store reach: counted from the block of the number that the
  // offsets of a table are added to and that is `within` bytes from that block's begin. Warps and scenarios store with
  // the same tables.
  std::span<const uint32_t> blocks_of(const value::Lanes& offsets, uint32_t table, uint32_t lanes, uint32_t within,
                                      unsigned bytes) const;
  explicit Ground(const Analysis& analysis);

private:
  void find_global_orders();
  void find_guards() const;
  bool leads_to(uint32_t from, uint32_t without, uint32_t end, const std::vector<bool>& blocks) const;
  void find_loop_ends();
  std::vector<uint32_t> events_in_;  // by block
  std::vector<bool> writes_;         // by block: Tensor Memory
  struct Blocks {
    uint32_t lanes = 0;
    std::vector<uint32_t> blocks;
  };
  mutable std::unordered_map<uint64_t, Blocks> blocks_;
  mutable std::map<uint32_t, std::array<uint32_t, 2>> ahead_;
  mutable std::vector<uint8_t> runs_no_time_;  // by block: the way that does; made when something asks for it
};

// The loads of a warp that it has not waited for.
class PendingLoads {
public:
  explicit PendingLoads(size_t loads) : newest_(loads, kNone) {}
  void add(uint32_t load, uint32_t operation) {
    all_.push_back({load, operation, newest_[load]});
    newest_[load] = static_cast<uint32_t>(all_.size() - 1);
  }
  void clear() {
    for (const Pending& p : all_) newest_[p.load] = kNone;
    all_.clear();
  }
  bool empty() const { return all_.empty(); }
  // The operations of all, in the order of their issue.
  template <typename F>
  void each(F&& f) const {
    for (const Pending& p : all_) f(p.operation);
  }
  // Those of a set of Program::loads.
  template <typename F>
  void each_of(const std::vector<uint32_t>& set, F&& f) const {
    if (set.size() > all_.size()) {
      for (const Pending& p : all_) {
        if (program::contains(set, p.load)) f(p.operation);
      }
      return;
    }
    for (uint32_t load : set) {
      for (uint32_t n = newest_[load]; n != kNone; n = all_[n].previous) f(all_[n].operation);
    }
  }

private:
  struct Pending {
    uint32_t load, operation;
    uint32_t previous;  // of the same load: in all_
  };
  std::vector<Pending> all_;
  std::vector<uint32_t> newest_;  // by load: in all_
};

class Run : private warp::CommonMemory {
public:
  // `all`: where accesses are noted, of all scenarios.
  Run(const Ground& ground, const Policy& policy, bool log, uint64_t budget, Joint& all);
  void go();
  // Whether nothing touched Tensor Memory.
  bool idle() const { return operations_.empty(); }
  uint32_t number_of(uint32_t warp) const { return warps_[warp]->number; }
  // Whether warps may have gone by guesses that do not agree.
  bool guesses_contradict() const { return followed_ != SIZE_MAX || globals_.first_contradiction() != SIZE_MAX; }

  std::vector<Sighting> sightings;
  // What may only happen because guesses of words of memory contradict each other.
  std::vector<Sighting> doubtful;
  std::vector<warp::Uncertain> uncertain;
  std::vector<cluster::Step> log;
  std::vector<Decision> decisions;
  std::map<uint32_t, unsigned> choices;      // blocks whose branch the policy decided, and how often; no ends of loops
  std::map<uint32_t, unsigned> other_trips;  // how often another number of trips would have gone another way
  std::map<uint32_t, bool> selections;       // truths of parameters that select a number, as they were decided
  bool chose_trips = false;
  bool guessed_data = false;  // a decision was about more than parameters
  uint64_t asked = 0, decided = 0, steps = 0;
  uint64_t work = 0;    // of deciding what is unknown, in steps
  uint64_t spared = 0;  // steps that were only replayed
  // What counts against the budget.
  uint64_t cost() const { return steps + work - spared; }
  bool over_budget = false;
  bool nothing_new = false;     // what this policy wishes is ruled out: it goes the way the usual one does
  bool excused = false;         // it ended with a wait that nothing ends, as it may for numbers that never come
  bool short_of_warps = false;  // it ended with waits that warps which a guessed block does not have may end
  bool complete = false;        // every warp came to its end
  // A commit as often as it was executed, in that order.
  struct Commit {
    uint32_t instruction = kNone, warp = 0, lane = 0;
    std::vector<uint32_t> targets;  // shared addresses
    bool covers = false;            // operations, that no commit before it does
  };
  std::vector<Commit> commits;
  std::set<uint32_t> allocs_freed,
      allocs_left;                // allocs some, and those not all of whose columns were freed in the end
  std::set<uint32_t> odd_allocs;  // allocs of a size that is not legal: their own rule says so
  std::set<uint32_t> waited;      // shared addresses of mbarriers that were waited on

private:
  enum class State : uint8_t { kReady, kPoll, kMbarrier, kInit, kNamed, kCluster, kAlloc, kConverge, kOver };

  struct Release {
    uint32_t event = 0;
    uint32_t instruction = kNone;
    std::vector<std::pair<uint32_t, uint32_t>> used;  // of pending loads: operation, lanes that had used its results
  };

  struct Warp {
    explicit Warp(const Ground& ground, value::Terms& terms, uint32_t rank, uint32_t number, size_t warps);
    warp::Machine machine;
    uint32_t rank, number, index = 0;
    // Lanes that branched apart; the first group runs, and its registers are in the machine.
    struct Group {
      warp::Waiting at;
      std::vector<value::Value> registers;  // by the registers that its block needs; of all but the first group
      bool in_machine = false;
      // A group that waits, while other lanes of its warp go on: `registers` are all of them then.
      State parked = State::kReady;
      uint32_t step = 0;
      uint32_t address = 0, named = 0, named_generation = 0;
      uint64_t changes = 0;  // Run::changes_ when it began to wait
    };
    std::vector<Group> waiting;
    uint32_t step = 0;
    State state = State::kReady;
    uint32_t exited = 0;  // lanes
    // What it waits for.
    uint32_t address = 0, phase = 0;
    // The try_waits that were not complete, since one was: a warp that comes to one of them again waits for them all.
    struct Failed {
      uint32_t step = kNone, address = 0, phase = 0;
      bool operator==(const Failed&) const = default;
    };
    std::vector<Failed> failed;
    std::vector<Failed> passed;  // those that were complete, as of phases that are still the last ones
    Knowledge known, at_fence, unfenced;
    std::vector<Release> releases;
    std::vector<uint32_t> rounds;  // by loop
    PendingLoads loads;
    std::vector<uint32_t> stores;       // pending: operations
    std::vector<uint32_t> uncommitted;  // operations
    uint32_t commits = 0;
    struct ProxyFence {
      uint32_t event = 0;
      Clock known;
    };
    std::deque<ProxyFence> proxy_fences;             // the last ones
    std::pair<uint32_t, uint64_t> polled{kNone, 0};  // a load that polls: its step, and the writes it had seen
    bool released = false;                           // a poll that nothing else can go on without
    bool reached_global = false;                     // an atomic or polling load of global memory since the block began
    uint64_t ticked_step = 0;       // number of the step for which the clock was last advanced by a memory access
    uint32_t last_relaxed = kNone;  // instruction of the last relaxed wait
    uint32_t cluster_arrived = 0;   // lanes, in the phase `cluster_phase`
    uint32_t cluster_phase = 0;     // phases that it has arrived in
    uint32_t last_exit = kNone;     // instruction
    uint32_t named = 0;             // the named barrier that it waits for
    uint32_t named_generation = 0;
  };

  // An arrival that comes when it comes.
  struct Arrival {
    enum class Kind : uint8_t { kCommit, kCopy, kArrive } kind = Kind::kCommit;
    std::vector<uint32_t> targets;  // shared addresses
    uint32_t warp = 0;
    uint32_t commit = 0;
    uint32_t instruction = kNone;
    Knowledge knowledge;
    uint32_t written = 0;  // shared address of what a copy writes, with `bytes`
    uint32_t bytes = 0;
    uint32_t count = 1;             // arrivals
    std::vector<uint32_t> remotes;  // by target: index of the remote signal, or kNone
  };

  struct Word {
    uint32_t bytes = 4;
    value::Value value;
    bool known = false;
    uint32_t warp = 0, event = 0;  // who wrote it
    uint32_t instruction = kNone;
    uint32_t allocation = UINT32_MAX;                    // whose address it is, as alloc wrote it
    uint32_t overwrote = UINT32_MAX;                     // the allocation whose address was here before
    bool atomic = false;                                 // changed by atomics to what is not known
    std::shared_ptr<Knowledge> knowledge;                // of those who wrote it, for a reader that polls
    std::vector<std::pair<uint32_t, uint32_t>> readers;  // of an allocation's address: warp, event
  };
  struct Region {
    uint32_t end = 0;
    uint64_t serial = 0;
  };

  // CommonMemory
  value::Value load_shared(uint64_t generic, unsigned bytes, bool polls) override;
  bool poll(Warp& w, uint32_t n, const program::Step& step, const program::Meaning& m);
  bool atomic(Warp& w, uint32_t n, const program::Step& step, const program::Meaning& m);
  std::optional<value::Value> change(Warp& w, const program::Step& step, unsigned address, uint32_t lanes,
                                     unsigned width, value::Value& word);
  value::Value of_lanes(const value::Value& value, uint32_t lanes) const;
  bool order_globally(Warp& w, uint32_t block);
  void store_shared(uint64_t generic, unsigned bytes, const value::Value* value) override;
  void store_data(const value::Value& where, uint32_t lanes, unsigned bytes) override;
  void wake_polls();
  value::Value load_global(const value::Value& address, unsigned index, unsigned width) override;
  // The first word that may reach to this address or behind it: a word has at most 16 bytes.
  std::map<uint32_t, Word>::iterator first_word(uint32_t address) {
    return words_.lower_bound(address >= 16 ? address - 16 : 0);
  }
  void erase_words(uint32_t begin, uint32_t end);

  // Stepping
  bool advance(Warp& w);
  bool let_other_lanes_go_on();
  void resume(Warp& w, Warp::Group group);
  bool converged(Warp& w, uint32_t n);
  bool deliver();
  bool run_step(Warp& w, uint32_t n);
  bool leave(Warp& w, uint32_t block);
  uint32_t only_way(Warp& w, uint32_t block);
  void begin_block(Warp& w);
  void lanes_exit(Warp& w, uint32_t lanes, uint32_t instruction);
  void tick(Warp& w);
  void tick_access();
  Knowledge handed_on(const Warp& w) const;
  void told(Warp& w, const Knowledge& k);
  void proxy_fence(Warp& w, uint32_t n);
  bool choose(Warp& w, uint32_t block, bool* unusual);
  void wish_came(bool unusual, bool granted);
  void note_ways(Warp& w, uint32_t block, const warp::Truth& t);
  void guessed(uint32_t term);
  void set_doubtful_apart();
  template <typename F>
  void note_other_trips(F&& way);
  void go_to(Warp& w, std::vector<Warp::Group>& groups, uint32_t from, uint32_t block, uint32_t lanes);
  void follow(Warp& w, std::vector<Warp::Group> groups);
  void stop(uint32_t instruction, std::string reason);
  void stuck();
  void finish();

  // Events
  bool tcgen05(Warp& w, uint32_t n, const program::Step& step, const program::Meaning& m, uint32_t lanes);
  bool alloc(Warp& w, uint32_t n, const program::Step& step, const ptx::OperandRoles& roles, const ptx::Form& form,
             uint32_t lanes);
  void dealloc(Warp& w, uint32_t n, const program::Step& step, const ptx::OperandRoles& roles, const ptx::Form& form,
               uint32_t lanes);
  void load_store(Warp& w, uint32_t n, const program::Step& step, const ptx::OperandRoles& roles, const ptx::Form& form,
                  uint32_t lanes);
  void single(Warp& w, uint32_t n, const program::Step& step, const ptx::OperandRoles& roles, const ptx::Form& form,
              uint32_t lanes);
  void commit(Warp& w, uint32_t n, const program::Step& step, const ptx::OperandRoles& roles, const ptx::Form& form,
              uint32_t lanes);
  bool mbarrier(Warp& w, uint32_t n, const program::Step& step, const program::Meaning& m, uint32_t lanes);
  template <typename F>
  bool wait_for(Warp& w, uint32_t n, const program::Meaning& m, const value::Value& address,
                const value::Value& operand, uint32_t lanes, F&& write);
  bool barrier(Warp& w, uint32_t n, const program::Step& step, const program::Meaning& m, uint32_t lanes);
  bool cluster_barrier(Warp& w, uint32_t n, const program::Meaning& m, uint32_t lanes);
  void copy(Warp& w, uint32_t n, const program::Step& step, uint32_t lanes);

  // Barriers
  Mbarrier* find(uint32_t address);
  bool is_over(const Warp::Failed& failed);
  void arrive(Mbarrier& b, uint32_t count, const Knowledge& knowledge, uint32_t instruction);
  void settle(Mbarrier& b);
  void check_named(uint32_t rank, uint32_t id);
  void check_cluster();
  bool reaches(Warp& w, uint32_t address, uint32_t instruction, uint32_t commit);
  uint32_t threads_left(uint32_t rank) const;

  // Tensor Memory
  struct Place {
    bool known = false;
    bool based = false;  // on an allocation
    uint32_t allocation = UINT32_MAX;
    uint32_t column = 0, lane = 0;
    int64_t offset = 0;  // from the allocation's first column
  };
  Place place(Warp& w, const value::Value& value, uint32_t lanes);
  void note_course(const Warp& w, uint32_t instruction, const Place& at);
  void touch(Warp& w, uint32_t operation, Role role, bool reads, bool writes, const Place& at, uint32_t columns,
             uint8_t halves, uint32_t rank, bool certain);
  void conflict(Warp& w, uint32_t earlier, uint32_t access, uint32_t rank, bool has_older);
  void freed(Warp& w, const Access& earlier, uint32_t here, uint32_t rank, uint32_t cta_group);
  uint32_t start(Warp& w, uint32_t n, const ptx::Form& form, uint32_t lanes);
  bool knows_cta(const Warp& w, uint32_t rank) const;
  const Release* last_release(const Operation& op, uint32_t until) const;
  void release(Warp& w, uint32_t instruction);
  void load_not_waited(Warp& w, uint32_t operation, uint32_t at);
  void check_operand(Warp& w, uint32_t operation, const value::Value& descriptor, uint32_t lanes);
  void reach_peer(Warp& w, uint32_t operation);

  Sighting& see(Fault fault, const Warp& w, uint32_t at, uint32_t other = kNone);
  // `text` makes what the log says of it: only where there is a log.
  template <typename F>
  void add_log(const Warp& w, uint32_t instruction, uint32_t lanes, F&& text, int32_t columns = 0) {
    if (log_events_ && log.size() < 20'000) log.push_back({w.rank, w.number, instruction, lanes, text(), columns});
  }
  void add_log(const Warp& w, uint32_t instruction, uint32_t lanes) {
    add_log(w, instruction, lanes, [] { return std::string(); });
  }
  uint32_t instruction_of(uint32_t step) const { return program_.steps[step].instruction; }
  const program::Arg* arg(const program::Step& step, uint32_t n) const {
    return n < step.argument_count ? &program_.args[step.first_arg + n] : nullptr;
  }
  // A value as a number. Truths that it is chosen by and that nothing has decided yet are decided the way the model has
  // them. What is computed from parameters alone takes the number that the model has for them, if it may be `picked`.
  std::optional<uint64_t> number(Warp& w, const value::Value& value, uint32_t lanes, unsigned width, bool pick = false);
  std::optional<uint64_t> pick_number(Warp& w, const value::Value& value, unsigned width);
  void decide_truths(Warp& w, uint32_t term);
  std::string_view opcode_text(uint32_t instruction) const;

  // Finding numbers for what is not possible costs much, and a loop asks for it each time round: a branch whose wish
  // was refused again and again is asked more and more seldom.
  class Patience {
  public:
    bool has() {
      if (pause_ == 0) return true;
      --pause_;
      return false;
    }
    void note(bool granted) {
      times_ = granted ? 0 : times_ + 1;
      pause_ = times_ < 3 ? 0 : 1u << std::min(times_ - 3, 6u);
    }

  private:
    unsigned times_ = 0, pause_ = 0;
  };
  std::map<std::pair<uint32_t, bool>, Patience> patience_;  // by block, and the way that is wished for
  unsigned refused_ = 0;                                    // wishes of this policy alone that the model ruled out
  bool differs_ = false;                                    // one was granted
  const Ground& ground_;
  const Policy& policy_;
  const kernel::Graph& graph_;
  const program::Program& program_;
  value::Terms& terms_;
  const kernel::Launch& launch_;
  Joint& all_;
  const bool log_events_;
  const uint64_t budget_;
  uint32_t warps_per_cta_ = 0;
  uint32_t ranks_ = 1;
  bool stopped_ = false;
  uint64_t serial_ = 0;
  unsigned polls_released_ = 0;
  unsigned polling_ = 0;                            // warps that wait for a word
  Knowledge told_globally_;                         // by all releases through global memory
  std::set<uint32_t> unfollowed_;                   // warps that an atomic gave a result that is not known
  std::vector<std::pair<uint32_t, uint8_t>> ways_;  // that branches on what is not known went: block and way
  std::vector<uint8_t> went_;                       // by block: those of `ways_`, as bits
  size_t followed_ = SIZE_MAX;                      // sightings before a second one was given such a result
  std::shared_ptr<Knowledge> step_knowledge_;       // what the running step hands on, when something asked for it
  uint64_t writes_ = 0;                             // of words of shared memory
  uint64_t changes_ = 0;                            // of what a wait can be for: arrivals, barriers, writes

  std::vector<std::unique_ptr<Warp>> warps_;  // by rank, then by warp
  Warp* current_ = nullptr;
  value::Facts facts_;
  Model model_;
  std::map<uint32_t, Word> words_;      // shared memory, by address
  std::map<uint32_t, Region> regions_;  // written by copies
  GlobalWords globals_;
  std::unordered_map<uint32_t, Mbarrier> mbarriers_;
  std::map<std::pair<uint32_t, uint32_t>, NamedBarrier> named_;  // by rank and number
  uint32_t cluster_phase_ = 0;
  Knowledge cluster_arriving_, cluster_done_;
  uint32_t cluster_relaxed_ = kNone;  // instruction of the last relaxed arrive
  std::deque<Arrival> under_way_;
  std::vector<Operation> operations_;
  std::vector<Access> accesses_;
  std::vector<uint32_t> checked_;  // by access: the access it was last held against
  // A read of columns that nothing has written: a finding in the end if nothing excuses it.
  struct UnwrittenRead {
    uint32_t access, warp;
    uint32_t alloc;  // instruction
    uint32_t columns;
    int64_t offset;  // from the allocation's first column
    bool zero_trips;
    size_t ways;  // of `ways_`, that were gone before
  };
  std::vector<UnwrittenRead> unwritten_reads_;
  std::vector<Allocation> allocations_;
  std::unordered_map<uint32_t, uint32_t> allocation_of_;  // by term
  std::vector<Columns> columns_;                          // by rank
  std::map<uint32_t, std::pair<uint32_t, uint32_t>>
      early_reads_;                                  // shared address -> warp, event, of words nobody wrote
  std::vector<bool> walked_;                         // scratch of decide_truths, by term
  std::set<uint32_t> wrote_;                         // instructions that wrote Tensor Memory
  std::map<uint32_t, uint32_t> early_instructions_;  // shared address -> instruction of that read
  struct Relinquish {
    uint32_t warp, event, instruction;
  };
  std::map<uint32_t, Relinquish> relinquished_;  // by rank
  std::map<uint32_t, uint32_t> site_warp_;       // alloc or dealloc step (and rank) -> warp that executed it
  LastStores stored_;
  struct Remote {
    uint32_t warp, event, commit, instruction, rank, target;
    bool is_copy = false, observed = false;
  };
  std::vector<Remote> remote_;                                      // signals and accesses that reach another CTA
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> pair_issuers_;  // instruction and pair -> rank
  struct PairFree {
    uint32_t phase, instruction;
  };
  std::map<uint32_t, std::vector<PairFree>> pair_frees_;  // by rank
  std::vector<std::array<uint32_t, 4>> seen_;             // what `see` was told: fault, at, other, parity of the rank
  value::ContentIndex seen_index_;
  bool said_unfenced_ = false;
};

}  // namespace tmemlint::cluster
