// Everything that a scenario changes while it runs, in one place. It is a value: a copy goes on by itself, so that
// scenarios can share their common beginning, and two states can be compared.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analyzer/assumptions/assumptions.h"
#include "analyzer/cluster/barriers.h"
#include "analyzer/cluster/global_words.h"
#include "analyzer/cluster/last_stores.h"
#include "analyzer/cluster/model.h"
#include "analyzer/cluster/observation_log.h"
#include "analyzer/cluster/operand_memory.h"
#include "analyzer/cluster/shared_words.h"
#include "analyzer/cluster/tensor_memory.h"
#include "analyzer/cluster/warp_state.h"
#include "analyzer/value/facts.h"

namespace tmemlint::cluster {

// Times that warps which poll are let go on because nobody else can.
constexpr unsigned kMostPolls = assumptions::kPolls;

// An arrival on mbarriers that is under way: it comes as late as it can (Scheduler).
struct AsyncArrival {
  enum class Kind : uint8_t { kCommit, kCopy, kArrive } kind = Kind::kCommit;
  std::vector<uint32_t> targets;  // shared addresses of mbarriers
  std::vector<uint32_t> signals;  // by target: RunState::signals, or kNone where it stays in its CTA
  Site site;
  uint32_t warp = 0;  // of the cluster
  Knowledge knowledge;
  uint32_t written = 0;  // kCopy: shared address of what it writes, with `bytes`
  uint32_t bytes = 0;
  uint32_t count = 1;  // arrivals
  // kCommit: the last one of its thread, itself or before, that operations came before: when that one is known to have
  // arrived, nothing holds up those behind it.
  CommitNumber commit;
  std::optional<uint64_t> size;  // kCopy: bytes that it brings to each target, where that is known
  // OperandCopies: of a copy by target; of an arrival of cp.async those that its threads had asked for.
  std::vector<uint32_t> brings;
};

// Something that reaches another CTA: an arrival on its mbarrier, or a copy into its shared memory.
struct RemoteSignal {
  Site site;
  WarpEvent issued;
  CommitNumber commit;  // where it is one
  uint32_t rank = 0;    // of the CTA that it reaches
  uint32_t target = 0;  // shared address
  bool is_copy = false, observed = false;
};

// Exponential back-off. To look for numbers that do not exist costs much, and a loop would do so each time round: a
// branch whose preferred way was refused again and again is asked more and more seldom.
class Backoff {
public:
  bool tries() {
    if (pause_ == 0) return true;
    --pause_;
    return false;
  }
  void note(bool granted) {
    times_ = granted ? 0 : times_ + 1;
    pause_ = times_ < kPatient ? 0 : 1u << std::min<unsigned>(times_ - kPatient, assumptions::kDoublingsOfAPause);
  }

private:
  static constexpr unsigned kPatient = assumptions::kRefusalsBeforeAPause;
  unsigned times_ = 0, pause_ = 0;
};

// A loop that went round more often than what it counts through has room for.
struct Overrun {
  uint32_t instruction = ptx::kNone;  // that left its array
  uint32_t loop = ptx::kNone;
  uint32_t rounds = 0;  // that there is room for
};

// How the scenario has decided what is unknown, so far.
struct DecisionState {
  explicit DecisionState(const value::Terms& terms) : model(terms) { facts.unlimited = true; }

  value::Facts facts;                                    // of all warps
  Model model;                                           // numbers with which all decisions hold
  std::map<std::pair<uint32_t, bool>, Backoff> backoff;  // by block, and the way that the policy prefers
  unsigned refused = 0;       // times that the model ruled out what this policy prefers and the usual one does not
  bool differs = false;       // one was granted
  bool nothing_new = false;   // what the policy prefers is ruled out: the scenario goes the way that the usual one does
  bool chose_trips = false;   // it was decided how often a loop runs
  bool guessed_data = false;  // a decision was about more than parameters
  std::map<uint32_t, unsigned> choices;  // blocks whose branch the policy decided, and how often; no ends of loops
  std::set<uint32_t> on_data;            // those of them that were decided about more than parameters
  std::unordered_map<uint32_t, uint32_t> decided_at;      // conditions (terms): the block that asked first
  std::set<std::pair<uint32_t, uint32_t>> same_question;  // blocks that ask what another one has decided, and that one
  std::map<uint32_t, unsigned> other_trips;  // how often another number of trips would have gone another way
  std::map<uint32_t, bool> selections;       // conditions on parameters that select a number, as they were decided
  // The ways that branches on what is not known went, each once; and by block, as bits.
  struct Way {
    uint32_t block = 0;
    uint8_t way = 0;
    bool of_parameters = false;  // nothing else decides it
    uint32_t decided = 0;        // decisions before it that were kept
  };
  std::vector<Way> ways;
  std::set<uint32_t> open_loops;   // of which it was decided, or followed from decisions, whether they go round again
  std::optional<Overrun> overrun;  // the scenario is not believed from here on
  std::vector<uint8_t> went;
};

// What changed that a warp may wait for, since the scheduler last woke warps.
struct Changes {
  std::vector<uint32_t> phases;  // mbarriers of which a phase is over: shared addresses
  bool init = false;             // some mbarrier was initialised
  bool named = false;            // a named barrier was completed
  bool cluster = false;          // the cluster barrier was
  bool word = false;             // a word of shared memory was written
  bool freed = false;            // columns were freed
  bool any() const { return !phases.empty() || init || named || cluster || word || freed; }
  void clear() {
    phases.clear();  // keeps its room: phases are over all the time
    init = named = cluster = word = freed = false;
  }
};

// Whose turn it is to take steps.
struct Turn {
  uint32_t warp = 0;          // of the cluster
  uint64_t until = 0;         // RunState::steps at which it ends; 0: it has not begun
  bool any_progress = false;  // some warp took a step since the first one had its turn
};

struct RunState {
  explicit RunState(const value::Terms& terms) : decisions(terms) {}

  std::vector<WarpState> warps;  // by rank, then by number
  DecisionState decisions;
  GlobalWords globals;
  SharedWords words;
  LastStores stored;  // to shared memory
  OperandCopies copies;
  OperandReads operand_reads;
  Mbarriers mbarriers;
  NamedBarriers named;
  ClusterBarrier cluster;
  TensorMemory tensor_memory;
  Issuers issuers;
  std::deque<AsyncArrival> under_way;
  std::vector<RemoteSignal> signals;

  // --- allocation ---
  struct Relinquish {
    WarpEvent event;
    Site site;
  };
  std::map<uint32_t, Relinquish> relinquished;                    // by rank
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> alloc_warps;  // by step and rank: the warp that executed an alloc

  // --- pairs ---
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> pair_issuers;  // by instruction and pair: rank
  struct PairFree {
    uint32_t cluster_phase, instruction;
  };
  std::map<uint32_t, std::vector<PairFree>> pair_frees;  // by rank
  // What one warp of each CTA of a pair has to execute, in the order in which the CTA did.
  struct PairedSteps {
    std::vector<Site> allocs, frees, relinquishes;
  };
  std::map<uint32_t, PairedSteps> paired_steps;  // by rank

  std::vector<uint32_t> unreleased;  // mbarriers that are not known to be released to other CTAs: shared addresses

  // --- words of global memory ---
  std::optional<Knowledge> released_globally;  // by all releases through global memory
  std::set<uint32_t> unfollowed;               // warps that an atomic gave a result that is not known
  bool guesses_contradict = false;             // warps may have gone by guesses that do not agree

  // --- what the end asks for ---
  std::set<uint32_t> freed;  // allocs of which columns were freed, or perhaps were
  std::vector<CommitIssue> commits;
  std::set<uint32_t> waited;  // shared addresses of mbarriers that were waited for

  // --- counters ---
  Turn turn;
  Changes changes;
  uint64_t serial = 0;          // of unknowns
  uint64_t writes = 0;          // of words of shared memory
  uint64_t progress = 0;        // of what a wait can be for: arrivals, barriers
  unsigned polling = 0;         // warps that wait for a word
  unsigned polls_released = 0;  // times that they were let go on because nothing else could
  uint64_t steps = 0;           // warp-instructions executed
  uint64_t work = 0;            // of deciding what is unknown, in steps
  uint64_t spared = 0;          // steps that were only replayed
  // What the scenario has cost so far. A straight run that was only replayed counts as one step.
  uint64_t cost() const { return steps + work - spared; }

  ObservationLog log;
};

}  // namespace tmemlint::cluster
