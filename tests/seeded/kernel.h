// The seeder's own reading of a kernel: control flow between instructions, who defines a register, and which shared
// memory or Tensor Memory an address names. It uses the parser and the instruction table and nothing of the analysis,
// so that what is seeded, and what is left out as allowed, does not follow the tool under test.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analyzer/ptx/module.h"
#include "analyzer/ptx/tcgen05.h"

namespace tmemlint::seeded {

using ptx::kNone;

enum class Op : uint8_t {
  kOther,
  kAlloc,
  kDealloc,
  kRelinquish,
  kLd,
  kSt,
  kWaitLd,
  kWaitSt,
  kMma,
  kCp,
  kShift,
  kCommit,
  kBar,  // bar.sync, barrier.sync
  kClusterArrive,
  kClusterWait,
  kInit,  // mbarrier.init
  kInval,
  kArrive,  // mbarrier.arrive without a transaction count
  kArriveExpect,
  kWait,  // mbarrier.try_wait, test_wait
  kElect,
  kProxyFence,
  kSharedLoad,
  kSharedStore,  // st.shared, stmatrix, st.async, cp.async, atom
  kBulkCopy,     // cp.async.bulk into shared memory
  kExit,
  kTrap,
};

// base + constant, the base a sum of registers that could not be traced further (sorted) and at most one variable.
struct Sum {
  uint32_t variable = kNone;
  int64_t constant = 0;
  std::vector<std::pair<uint32_t, int64_t>> terms;  // register, factor
  bool exact() const { return terms.empty(); }
};

// Which mbarrier, or which slot: a variable and an offset; `indexed` when a stage index is added to it.
struct Place {
  uint32_t variable = kNone;
  int64_t offset = 0;
  bool indexed = false;
};
bool same_place(const Place& a, const Place& b);
// One is a ring of barriers, the other may be a later element of it.
bool may_be_in_ring(const Place& a, const Place& b);

struct Columns {
  Sum base;  // without lane terms
  int64_t count = 0;
};
enum class Overlap : uint8_t { kNo, kYes, kUnknown };

class Kernel {
public:
  Kernel(const ptx::Module& module, uint32_t function);

  const ptx::Module& module() const { return module_; }
  const ptx::Function& function() const { return module_.functions[function_]; }
  uint32_t first() const { return function().first_instruction; }
  uint32_t last() const { return function().last_instruction; }

  const ptx::Instruction& at(uint32_t i) const { return module_.instructions[i]; }
  const ptx::Opcode& opcode(uint32_t i) const { return module_.opcode(at(i)); }
  const ptx::Operand& operand(uint32_t i, uint32_t k) const { return module_.operands[at(i).first_operand + k]; }
  Op op(uint32_t i) const { return ops_[i - first()]; }
  ptx::Form form(uint32_t i) const { return ptx::decode(opcode(i)); }
  ptx::OperandRoles roles(uint32_t i) const { return ptx::roles(module_, at(i), form(i)); }
  uint32_t line(uint32_t i) const { return module_.source->position(at(i).opcode_span.begin).line; }
  std::string_view text(ptx::Span span) const;
  std::vector<uint32_t> all(Op op) const;

  const std::vector<uint32_t>& successors(uint32_t i) const { return successors_[i - first()]; }
  const std::vector<uint32_t>& predecessors(uint32_t i) const { return predecessors_[i - first()]; }
  // Every instruction that can come after `from` (before it), not going on through one for which `stop` holds; those
  // are part of the answer.
  std::vector<uint32_t> forward(uint32_t from, const std::function<bool(uint32_t)>& stop) const;
  std::vector<uint32_t> backward(uint32_t from, const std::function<bool(uint32_t)>& stop) const;
  // Warp roles that are dispatched by a table (Triton) end at a `barrier.sync`; the loop that dispatches them runs each
  // once.
  bool has_roles() const { return has_roles_; }
  bool leaves_role(uint32_t i) const { return has_roles_ && op(i) == Op::kBar && opcode(i).root == "barrier"; }
  // In a loop of its role; for an mbarrier wait, another loop than the one in which it spins.
  bool in_loop(uint32_t i) const;
  // The instruction above a wait and its spin loop.
  uint32_t outside_spin(uint32_t wait) const;
  // Whether every path from the entry to `then` passes `i`.
  bool always_before(uint32_t i, uint32_t then) const;
  // Between the two, in the text: no label and no branch.
  bool straight_line(uint32_t from, uint32_t to) const;
  bool is_branch_target(uint32_t i) const;

  std::vector<uint32_t> written(uint32_t i) const;  // registers
  std::vector<uint32_t> read(uint32_t i) const;     // the guard's too
  const std::vector<uint32_t>& definitions(uint32_t reg) const { return definitions_[reg]; }
  // The value of an integer operand or register as of instruction `i`, through constants only.
  std::optional<int64_t> constant(const ptx::Operand& operand, uint32_t i) const;
  std::optional<int64_t> constant_register(uint32_t reg, uint32_t i, int depth = 0) const;

  Sum sum(const ptx::Operand& operand) const;
  std::vector<Place> places(const ptx::Operand& operand) const;
  std::vector<Place> barrier(uint32_t i) const;  // of an mbarrier instruction or a commit
  // Instructions of kind `op` that work on the barrier of `i`. Those at the same place; where no counterpart of `i` (a
  // wait for an arrival, an arrival for a wait) is at the same place, those that may be in one ring with it. (For an
  // init: both, a ring is initialised one by one.)
  std::vector<uint32_t> on_barrier(uint32_t i, Op op) const;
  // How many waits there are on the barrier of a wait, or on one that may be in a ring with it.
  size_t waits_around(uint32_t wait) const;
  // The columns of an ld, st, cp, dealloc; of an mma: its accumulator, and its A operand where that is in Tensor
  // Memory.
  std::vector<Columns> columns(uint32_t i) const;
  std::optional<uint32_t> idesc(uint32_t mma) const;
  Overlap overlap(uint32_t a, uint32_t b) const;

  // The predicate under which an instruction runs: its guard, or that of the branch just above which skips it.
  struct Guard {
    uint32_t reg = kNone;
    bool negated = false;
    uint32_t branch = kNone;
  };
  Guard guard(uint32_t i) const;

private:
  bool meet(uint32_t a, uint32_t b, bool (*test)(const Place&, const Place&)) const;
  void link();
  Op classify(uint32_t i) const;
  void trace(uint32_t reg, int64_t factor, int depth, Sum& out) const;
  void trace_operand(const ptx::Operand& operand, int64_t factor, int depth, Sum& out) const;
  void trace_places(uint32_t reg, int64_t offset, bool indexed, int depth, std::vector<uint32_t>& seen,
                    std::vector<Place>& out) const;
  std::vector<uint32_t> walk(uint32_t from, const std::function<bool(uint32_t)>& stop,
                             const std::vector<std::vector<uint32_t>>& edges) const;

  const ptx::Module& module_;
  uint32_t function_;
  std::vector<Op> ops_;
  std::vector<std::vector<uint32_t>> successors_, predecessors_;
  std::vector<std::vector<uint32_t>> definitions_;  // by register
  std::vector<bool> targets_;
  bool has_roles_ = false;
};

}  // namespace tmemlint::seeded
