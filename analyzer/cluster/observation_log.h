// Where a scenario's observations, open questions and counts are written down while it runs.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analyzer/assumptions/assumptions.h"
#include "analyzer/cluster/observations.h"
#include "analyzer/value/containers.h"
#include "analyzer/warp/events.h"

namespace tmemlint::cluster {

// Keys of observations.
class KeySet {
public:
  // False where it is there already.
  bool add(const ObservationKey& key);
  const ObservationKey& operator[](size_t n) const { return keys_[n]; }  // in the order in which they were added

private:
  std::vector<ObservationKey> keys_;
  value::ContentIndex index_;
};

// One event that a warp executed, for --explain-kernel.
struct LogLine {
  WarpId warp;
  uint32_t instruction = kNone;
  std::string text;
  int32_t columns = 0;  // that an alloc took, or (negative) a dealloc gave back
};

class ObservationLog {
public:
  ObservationLog() = default;
  explicit ObservationLog(bool with_lines) : with_lines_(with_lines) {}

  // Of observations with the same ObservationKey the first one is kept.
  void add(Observation what);
  // A question that stays open at an instruction: the kernel is incomplete there.
  void add_uncertain(uint32_t instruction, std::string reason) {
    uncertain_.push_back({instruction, std::move(reason)});
  }
  // A decision of the scenario.
  void add_decision(uint32_t branch, bool taken) { decisions_.push_back({branch, taken}); }
  // `text` makes what the line says: only where there is a log.
  template <typename F>
  void add_line(const WarpId& warp, uint32_t instruction, F&& text, int32_t columns = 0) {
    if (with_lines_ && lines_.size() < kMostLines) lines_.push_back({warp, instruction, text(), columns});
  }
  void add_line(const WarpId& warp, uint32_t instruction) {
    add_line(warp, instruction, [] { return std::string(); });
  }

  // Questions: an access against another, a free, a round of a barrier.
  void count(uint64_t asked, uint64_t decided) {
    asked_ += asked;
    decided_ += decided;
  }
  void count_decided() { count(1, 1); }

  // Observations from now on rest on guesses that may contradict each other (Observed::doubtful).
  void set_doubtful() { doubtful_ = true; }
  // Observations from now on come after that many guesses of words of memory.
  void set_guesses(uint32_t guesses) { guesses_ = guesses; }
  // Marks the observations that came after more guesses than can be trusted.
  void mark_doubtful_after(size_t guesses);

  // References to them stay valid while more are added.
  std::deque<Observed>& observed() { return observed_; }
  KeySet& keys() { return keys_; }  // by observation
  std::vector<warp::Uncertain>& uncertain() { return uncertain_; }
  std::vector<LogLine>& lines() { return lines_; }
  std::vector<Decision>& decisions() { return decisions_; }
  uint64_t asked() const { return asked_; }
  uint64_t decided() const { return decided_; }

private:
  static constexpr size_t kMostLines = assumptions::kLinesOfALog;

  std::deque<Observed> observed_;
  std::vector<uint32_t> guesses_before_;  // by observation
  KeySet keys_;
  std::vector<warp::Uncertain> uncertain_;
  std::vector<Decision> decisions_;
  std::vector<LogLine> lines_;
  uint64_t asked_ = 0, decided_ = 0;
  uint32_t guesses_ = 0;
  bool doubtful_ = false;
  bool with_lines_ = false;
};

}  // namespace tmemlint::cluster
