// The control flow of one kernel with every call bound: callees are laid into the graph once per call site.
//
// Blocks are stored in a weak topological order (Bourdoncle): a loop's blocks are contiguous, its head first, and
// every edge but a back edge goes forward. Evaluation iterates in that order, and lanes that took different branches
// meet again where the order brings them to the same block: after both sides of a branch, after the loop that they
// left at different iterations. (For reducible code that is the post-dominator of the branch.)
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/assumptions/assumptions.h"
#include "analyzer/ptx/module.h"

namespace tmemlint::kernel {

using ptx::kNone;

// One activation of a function body. Frame 0 is the kernel itself.
struct Frame {
  uint32_t function = kNone;    // Module::functions
  uint32_t caller = kNone;      // frame
  uint32_t call = kNone;        // Module::instructions: the call, in the caller
  uint32_t first_register = 0;  // graph-wide number of the function's register 0
  uint32_t first_variable = 0;  // Graph::variables range of this activation's own variables
};

// How a block ends.
enum class Ending : uint8_t {
  kJump,     // one successor
  kBranch,   // successors[0] where the condition holds, successors[1] where it does not
  kIndexed,  // brx.idx: successors by index
  kExit,     // ret of the kernel, exit
  kTrap,     // trap, a callee that does not return: the path ends, nothing after it counts
};

struct Block {
  uint32_t frame = 0;
  uint32_t first = 0, last = 0;  // Module::instructions, half open
  Ending ending = Ending::kJump;
  uint32_t condition = kNone;  // register (graph-wide) of kBranch, kIndexed
  bool condition_negated = false;
  uint32_t ender = kNone;       // Module::instructions: the branch, ret, call; kNone for a fall-through
  bool guard_is_taken = false;  // the block is one predicated instruction whose guard the branch before it decided
  enum class Call : uint8_t { kNone, kEnter, kLeave, kOpaque } call = Call::kNone;
  uint32_t call_frame = kNone;  // kEnter: the frame entered at the end of this block; kLeave: the frame that was left
                                // before this block
  std::vector<uint32_t> successors;
  std::vector<uint32_t> predecessors;
  uint32_t loop = kNone;  // innermost
};

struct Loop {
  uint32_t head = 0;  // block
  uint32_t end = 0;   // one past its last block
  uint32_t parent = kNone;
  bool irreducible = false;  // entered at a block other than its head
};

// A place that the graph could not follow.
struct Gap {
  uint32_t instruction = kNone;
  std::string reason;
};

struct Graph {
  const ptx::Module* module = nullptr;
  uint32_t kernel = kNone;  // Module::functions
  std::vector<Frame> frames;
  std::vector<Block> blocks;
  std::vector<Loop> loops;  // an outer loop before its inner ones
  std::vector<Gap> gaps;
  std::vector<bool> reached;  // Module::instructions of the kernel's call tree that some block holds
  uint32_t register_count = 0;
  assumptions::Uses uses;  // while the graph was built

  const ptx::Function& function_of(uint32_t frame) const { return module->functions[frames[frame].function]; }
  uint32_t register_number(uint32_t frame, uint32_t reg) const { return frames[frame].first_register + reg; }
  bool in_loop(uint32_t block, uint32_t loop) const {
    return loop != kNone && block >= loops[loop].head && block < loops[loop].end;
  }
  // Loops as a set: bit (loop % 64) of the loop and of every loop around it.
  uint64_t loop_set(uint32_t loop) const;
};

// Instructions whose predication splits a block, so that a guard is decided like a branch.
bool is_protocol_instruction(const ptx::Opcode& opcode);

// Functions that `kernel` reaches through direct calls, itself first.
std::vector<uint32_t> call_tree(const ptx::Module& module, uint32_t kernel);

Graph build_graph(const ptx::Module& module, uint32_t kernel);

}  // namespace tmemlint::kernel
