// A kernel compiled for evaluation: per block the steps that matter, with operands resolved to registers, numbers and
// addresses. Registers are those of the whole graph (of all its activations) that matter, numbered from 0.
//
// Only the slice is kept that the protocol is made of: the events, what their addresses, predicates and counts are
// computed from, the branches that decide whether they run, and the stores that all of this is loaded from (slice.h).
// Register reads and writes that matter to a pending tcgen05.ld (its results being used, or overwritten) are steps of
// their own, called markers.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "analyzer/kernel/graph.h"
#include "analyzer/kernel/layout.h"
#include "analyzer/program/constant_tables.h"
#include "analyzer/program/meaning.h"
#include "analyzer/program/special.h"

namespace tmemlint::program {

using ptx::kNone;

struct Arg {
  enum class Kind : uint8_t {
    kNone,      // missing, or something that has no value here: a label, a vector (its elements are the step's vector)
    kRegister,  // ref: register; number is added
    kNumber,
    kSpecial,  // ref: Program::specials, Module::special_registers
    kShared,   // number is an offset in the CTA's shared memory
    kSink,     // written, but nothing needs it
  };
  Kind kind = Kind::kNone;
  bool negated = false;
  bool address = false;  // written in brackets
  uint8_t width = 32;    // bits of the register
  uint32_t ref = kNone;
  uint64_t number = 0;
};

struct Step {
  enum class Kind : uint8_t {
    kInstruction,
    kUse,        // results of pending loads are used: `loads`
    kOverwrite,  // a destination register of pending loads (but for the instruction itself) is written: `loads`
    kCopyIn,     // args[1] -> memory at number (a register passed to a `.param`), or register to register
  };
  Kind kind = Kind::kInstruction;
  bool guard_negated = false;
  bool as_data = false;      // the result is an unknown per lane: nothing exact is needed of it
  uint8_t destinations = 0;  // leading args that are written
  uint8_t argument_count = 0;
  uint32_t instruction = kNone;  // Module::instructions
  uint32_t guard = kNone;        // register
  uint32_t first_arg = 0;        // Program::args
  uint32_t vector_first = 0;     // Program::args of a vector operand of loads and stores, moves
  uint16_t vector_count = 0;
  uint32_t loads = 0;         // kUse, kOverwrite: index into Program::load_sets; tcgen05.ld: into Program::loads
  uint32_t roles = kNone;     // tcgen05: index into Program::roles
  uint32_t straight = kNone;  // the straight run that begins here: index into Program::straights

  // Computes nothing: says which loads an instruction touches.
  bool is_marker() const { return kind == Kind::kUse || kind == Kind::kOverwrite; }
};

// Steps, one behind the other, that only compute registers from registers and from what is the same for all of a
// warp's run (special registers, the CTA's rank).
struct Straight {
  uint32_t first = 0, last = 0;  // Program::steps
  // In Program::straight_refs: the registers it starts from, the special registers it reads, and those of the registers
  // it writes that are needed behind it.
  uint32_t reads = 0, specials = 0, writes = 0, end = 0;
  bool of_rank = false;  // it computes addresses of the CTA's own shared memory
};

struct Code {
  uint32_t first = 0, last = 0;  // Program::steps
  // Set where nothing that matters depends on which way the block's branch goes: the block that all of its ways meet
  // in.
  uint32_t skip_to = kNone;
  uint32_t condition = kNone;  // register that decides the block's branch
  // Some branches ask whether a variable still has the negative number that it began with, which stands for "none yet":
  // the way (0 or 1, in Block::successors) that they go if it has. -1 for any other branch.
  int8_t none_yet = -1;
  std::vector<uint32_t> live_in;  // registers, ascending
  std::vector<uint32_t> loads;    // Program::loads that this block issues
};

// A tcgen05.ld or ld.red of the graph (one activation of it).
struct LoadSite {
  uint32_t instruction = kNone;
  uint32_t frame = 0;
};

struct Program {
  const kernel::Graph* graph = nullptr;
  kernel::Layout layout;
  std::vector<Meaning> meanings;          // by Module::opcodes
  std::vector<SpecialRegister> specials;  // by Module::special_registers
  std::vector<Arg> args;
  std::vector<Step> steps;
  std::vector<Code> code;  // by block
  std::vector<LoadSite> loads;
  std::vector<std::vector<uint32_t>> load_sets;  // each ascending
  std::vector<ptx::OperandRoles> roles;
  std::vector<uint8_t> register_width;  // by register
  std::vector<Straight> straights;
  std::vector<uint32_t> straight_refs;
  ConstantTables tables;
  std::vector<uint32_t> never_written;  // registers that something reads and nothing writes

  explicit Program(const kernel::Graph& g) : graph(&g), layout(g) {}
};

// Whether a load is one of a set.
inline bool contains(const std::vector<uint32_t>& set, uint32_t load) {
  if (set.size() == 1) return set.front() == load;  // nearly always
  return std::binary_search(set.begin(), set.end(), load);
}

inline void add_once(std::vector<uint32_t>& to, uint32_t number) {
  if (std::find(to.begin(), to.end(), number) == to.end()) to.push_back(number);
}

// The blocks that follow a block, as far as evaluation goes.
inline const uint32_t* next_begin(const Program& p, uint32_t block) {
  return p.code[block].skip_to != kNone ? &p.code[block].skip_to : p.graph->blocks[block].successors.data();
}
inline size_t next_count(const Program& p, uint32_t block) {
  return p.code[block].skip_to != kNone ? 1 : p.graph->blocks[block].successors.size();
}

Program compile(const kernel::Graph& graph);

}  // namespace tmemlint::program
