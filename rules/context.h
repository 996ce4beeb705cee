// What a rule may look at, and how it reports.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analyzer/cluster/analysis.h"
#include "analyzer/cluster/joint.h"
#include "analyzer/report/finding.h"
#include "rules/problems.h"
#include "rules/rule.h"

namespace tmemlint::rules {

using ptx::kNone;

// A position in the kernel: an instruction, or a narrower span in it.
struct At {
  uint32_t instruction = kNone;
  ptx::Span span;  // empty: the whole instruction; without an instruction: a place in the module outside kernels

  At() = default;
  At(uint32_t i) : instruction(i) {}  // NOLINT(google-explicit-constructor): an instruction is a position
  At(uint32_t i, ptx::Span s) : instruction(i), span(s) {}
};

struct Draft {
  report::Level level = report::Level::kError;
  At at;
  std::string message;
  std::vector<std::pair<At, std::string>> related;
  const warp::WarpGraph* warp = nullptr;     // whose path it is; null: not about a path
  uint32_t node = kNone;                     // where on that warp's paths
  std::optional<uint32_t> in_warp;           // when no path of a warp is given
  std::vector<cluster::Decision> decisions;  // of the scenario that shows it
  bool rests_on_block = false;               // true only if the block has that many warps
};

// Where TMEM addresses lead: the parts of a value that is one.
struct TmemAddress {
  bool known = false;       // the lane and the column offset are numbers
  uint32_t allocation = 0;  // base term; 0: a literal address
  uint32_t lane = 0;        // of the first executing lane's value
  uint32_t column = 0;      // from the start of the allocation
};

class Context {
public:
  Context(const cluster::Analysis& analysis, const Problems& problems, std::shared_ptr<const ptx::SourceText> text,
          report::Results& results, report::SourceOf source_of)
      : analysis_(analysis),
        problems_(problems),
        text_(std::move(text)),
        results_(results),
        source_of_(std::move(source_of)) {}

  const ptx::Module& module() const { return *analysis_.kernel->module; }
  const cluster::Analysis& analysis() const { return analysis_; }
  const cluster::Joint& joint() const { return *analysis_.joint; }
  // What the joint run showed to be wrong.
  const Problems& problems() const { return problems_; }
  const value::Terms& terms() const { return *analysis_.kernel->terms; }
  const program::Program& program() const { return *analysis_.kernel->program; }
  const cluster::FollowedWarps& warps() const { return analysis_.warps; }
  const kernel::Launch& launch() const { return analysis_.launch; }
  const ptx::Function& kernel() const { return module().functions[analysis_.kernel->function]; }

  const ptx::Opcode& opcode(uint32_t instruction) const { return module().opcode(module().instructions[instruction]); }
  const program::Meaning& meaning(uint32_t instruction) const {
    return program().meanings[module().instructions[instruction].opcode];
  }
  const ptx::Form& form(uint32_t instruction) const { return meaning(instruction).form; }
  // Of an event's instruction.
  const program::Meaning& meaning(const warp::Event& event) const { return meaning(event.instruction); }
  const ptx::Form& form(const warp::Event& event) const { return form(event.instruction); }
  // nCols of an alloc or dealloc; of others a number.
  value::Value columns_of(const warp::WarpGraph& w, const warp::Event& event) const;
  uint32_t instruction_of(uint32_t step) const { return program().steps[step].instruction; }
  std::string_view name(
      uint32_t instruction) const;  // the opcode as a reader names it: "tcgen05.ld", "mbarrier.arrive"

  TmemAddress tmem_address(const value::Value& value, uint32_t lanes) const;
  // All the addresses that a value may be, when they can be listed (a stage index has a few values); else empty.
  std::vector<TmemAddress> tmem_addresses(const value::Value& value, uint32_t lanes) const;
  // Whether two uniform values may be the same number; false when nothing is known to make them so.
  bool may_equal(const value::Value& a, const value::Value& b) const;

  void report(Draft draft);
  // A question that could not be decided; said once per place and reason.
  void incomplete(uint32_t instruction, std::string reason);
  report::Place place(At at) const;

  void begin(const Rule& rule) { rule_ = &rule; }
  // Hands the findings of the rule over to the results.
  void end();
  // The warps of whose paths anything but notes was reported.
  const std::set<const warp::WarpGraph*>& blamed() const { return blamed_; }

private:
  struct Merged {
    Draft draft;
    std::vector<uint32_t> warps;
  };
  void fold_floods();
  std::vector<report::Related> scenario_path(const std::vector<cluster::Decision>& decisions) const;
  std::vector<report::SourcePosition> written_at(const report::Place& place) const;
  report::Related branch_step(uint32_t instruction, uint32_t next, bool holds) const;
  std::vector<report::Related> path_to(const warp::WarpGraph& warp, uint32_t node) const;

  const cluster::Analysis& analysis_;
  const Problems& problems_;
  std::shared_ptr<const ptx::SourceText> text_;
  report::Results& results_;
  report::SourceOf source_of_;
  const Rule* rule_ = nullptr;
  std::vector<Merged> merged_;
  std::unordered_map<uint32_t, std::vector<size_t>> merged_at_;    // by instruction: in merged_
  std::set<std::pair<ptx::Offset, std::string>> said_incomplete_;  // where, and why
  std::set<const warp::WarpGraph*> blamed_;
};

// "lane 0", "lanes 0-15", "lanes 0, 4-7"
std::string list_numbers(uint64_t set);
std::string lanes_text(uint32_t lanes);

}  // namespace tmemlint::rules
