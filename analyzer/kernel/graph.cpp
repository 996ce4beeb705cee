#include "analyzer/kernel/graph.h"

#include <algorithm>
#include <array>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "analyzer/kernel/constant_registers.h"
#include "analyzer/kernel/order.h"

namespace tmemlint::kernel {

using ptx::Function;
using ptx::Instruction;
using ptx::Module;
using ptx::Opcode;
using ptx::Operand;

namespace {

// The system calls that the CUDA device runtime defines and that PTX declares without a body (PTX interoperability
// guide): none of them touches Tensor Memory, shared memory or barriers.
struct SystemCall {
  std::string_view name;
  bool returns;
};
constexpr std::array<SystemCall, 6> kSystemCalls = {{{"vprintf", true},
                                                     {"malloc", true},
                                                     {"free", true},
                                                     {"__assertfail", false},
                                                     {"__assert_fail", false},
                                                     {"__nvvm_reflect", true}}};

const SystemCall* system_call(std::string_view name) {
  for (const SystemCall& call : kSystemCalls) {
    if (call.name == name) return &call;
  }
  return nullptr;
}

// What a distinct opcode spelling means for the shape of the graph.
enum class Flow : uint8_t {
  kNone,
  kProtocol,  // its guard is decided like a branch
  kBranch,
  kIndexed,
  kCall,
  kReturn,
  kExit,
  kTrap
};

Flow flow_of(const Opcode& opcode) {
  const std::string_view root = opcode.root;
  if (root == "bra") return Flow::kBranch;
  if (root == "brx") return Flow::kIndexed;
  if (root == "call") return Flow::kCall;
  if (root == "ret") return Flow::kReturn;
  if (root == "exit") return Flow::kExit;
  if (root == "trap") return Flow::kTrap;
  return is_protocol_instruction(opcode) ? Flow::kProtocol : Flow::kNone;
}

// Lays a kernel and what it calls into blocks. Each activation of a function is laid out by itself: `enter` makes its
// frame, `lay_out` its blocks, `finish_block` their ends; a call waits in `pending_` until `bind` ties both together.
class Builder {
public:
  Builder(const Module& module, uint32_t kernel) : module_(module) {
    graph_.module = &module;
    graph_.kernel = kernel;
    graph_.reached.resize(module.instructions.size());
    flows_.reserve(module.opcodes.size());
    for (const Opcode& opcode : module.opcodes) flows_.push_back(flow_of(opcode));
  }

  Graph build() {
    Activation root;
    enter(graph_.kernel, kNone, kNone, root);
    // Callees are expanded from a list, not by recursion, so that no call depth can exhaust the stack.
    while (!pending_.empty()) {
      PendingCall call = pending_.back();
      pending_.pop_back();
      bind(call);
    }
    for (uint32_t b = 0; b < graph_.blocks.size(); ++b) {
      std::vector<uint32_t>& next = graph_.blocks[b].successors;
      if (graph_.blocks[b].ending == Ending::kJump && next.size() > 1) next.resize(1);
    }
    sort_blocks(graph_, root.entry);
    for (const Block& block : graph_.blocks) {
      for (uint32_t i = block.first; i < block.last; ++i) graph_.reached[i] = true;
      if (block.ender != kNone) graph_.reached[block.ender] = true;
    }
    return std::move(graph_);
  }

private:
  struct Activation {
    uint32_t frame = kNone;
    uint32_t entry = kNone;         // block
    std::vector<uint32_t> returns;  // blocks that end with the function's ret
  };
  struct PendingCall {
    uint32_t block;         // ends with the call
    uint32_t continuation;  // block after it
    uint32_t callee;        // function
    uint32_t frame;         // of the caller
    uint32_t instruction;
  };

  Flow flow(uint32_t instruction) const { return flows_[module_.instructions[instruction].opcode]; }

  // Instructions of the function that begin a block. The same for every activation.
  const std::vector<uint32_t>& leaders(uint32_t function) {
    auto [it, fresh] = leaders_.try_emplace(function);
    if (!fresh) return it->second;
    const Function& f = module_.functions[function];
    std::vector<uint32_t>& out = it->second;
    auto add = [&](uint32_t i) {
      if (i != kNone && i <= f.last_instruction) out.push_back(i);
    };
    add(f.first_instruction);
    for (const ptx::Label& label : f.labels) add(label.instruction);
    for (uint32_t i = f.first_instruction; i < f.last_instruction; ++i) {
      Flow kind = flow(i);
      if (kind == Flow::kNone) continue;
      const bool guarded = module_.instructions[i].guard != kNone;
      if (guarded && kind != Flow::kBranch && kind != Flow::kIndexed) add(i);
      if (guarded || kind != Flow::kProtocol) add(i + 1);
    }
    std::sort(out.begin(), out.end());
    out.erase(std::unique(out.begin(), out.end()), out.end());
    return out;
  }

  uint32_t new_block(uint32_t frame, uint32_t first, uint32_t last) {
    Block block;
    block.frame = frame;
    block.first = first;
    block.last = last;
    graph_.blocks.push_back(std::move(block));
    return static_cast<uint32_t>(graph_.blocks.size() - 1);
  }

  void enter(uint32_t function, uint32_t caller, uint32_t call, Activation& out) {
    const Function& f = module_.functions[function];
    Frame frame;
    frame.function = function;
    frame.caller = caller;
    frame.call = call;
    frame.first_register = graph_.register_count;
    graph_.register_count += static_cast<uint32_t>(f.registers.size());
    out.frame = static_cast<uint32_t>(graph_.frames.size());
    graph_.frames.push_back(frame);
    instructions_ += f.last_instruction - f.first_instruction;
    lay_out(function, out);
  }

  void lay_out(uint32_t function, Activation& out) {
    const Function& f = module_.functions[function];
    const std::vector<uint32_t>& starts = leaders(function);
    // block_at[i]: the block that begins at leader i. A predicated instruction that needs its guard decided gets a
    // second block for itself, behind a block that only branches.
    std::unordered_map<uint32_t, uint32_t> block_at;
    std::vector<uint32_t> order;
    for (uint32_t start : starts) {
      if (start >= f.last_instruction) continue;
      order.push_back(start);
      block_at[start] = new_block(out.frame, start, start);
    }
    // Falling off the end of a body is a return.
    uint32_t end_block = new_block(out.frame, f.last_instruction, f.last_instruction);
    block_at[f.last_instruction] = end_block;
    end_path(end_block, out);

    for (size_t n = 0; n < order.size(); ++n) {
      uint32_t first = order[n];
      uint32_t last = n + 1 < order.size() ? order[n + 1] : f.last_instruction;
      finish_block(f, out, block_at, block_at[first], first, last);
    }
    out.entry = block_at[order.empty() ? f.last_instruction : order.front()];
  }

  void end_path(uint32_t block, Activation& out) {
    if (graph_.frames[out.frame].caller == kNone) {
      graph_.blocks[block].ending = Ending::kExit;
    } else {
      graph_.blocks[block].ending = Ending::kJump;
      returns_[out.frame].push_back(block);
    }
  }

  uint32_t target(const Function& f, const std::unordered_map<uint32_t, uint32_t>& block_at, const Operand& operand) {
    if (operand.kind != Operand::Kind::kLabel) return kNone;
    uint32_t at = f.labels[operand.ref].instruction;
    auto found = block_at.find(at);
    return found == block_at.end() ? kNone : found->second;
  }

  // Ends block `id`, whose instructions are [first, last): it is cut before an instruction that changes the way, and a
  // guarded one gets a block of its own behind a block that asks for its guard.
  void finish_block(const Function& f, Activation& out, const std::unordered_map<uint32_t, uint32_t>& block_at,
                    uint32_t id, uint32_t first, uint32_t last) {
    graph_.blocks[id].first = first;
    graph_.blocks[id].last = last;
    const uint32_t after = block_at.count(last) != 0 ? block_at.at(last) : block_at.at(f.last_instruction);
    const uint32_t ender = last - 1;
    const Flow kind = flow(ender);
    const Instruction& instruction = module_.instructions[ender];
    const bool guarded = instruction.guard != kNone;
    if (kind == Flow::kNone || (kind == Flow::kProtocol && !guarded)) {
      graph_.blocks[id].successors = {after};
      return;
    }
    uint32_t body = id;
    if (guarded && fixed_guard(out.frame, instruction)) {
      finish_fixed(f, out, block_at, id, after, ender);
      return;
    }
    if (guarded) {
      set_condition(id, out.frame, instruction);
      graph_.blocks[id].last = ender;
      if (kind != Flow::kBranch) {
        body = new_block(out.frame, ender, last);
        graph_.blocks[body].guard_is_taken = true;
        graph_.blocks[id].ending = Ending::kBranch;
        graph_.blocks[id].successors = {body, after};
      }
    } else if (kind != Flow::kProtocol) {
      graph_.blocks[id].last = ender;
    }
    end_block(f, out, block_at, body, after, ender, body != id);
  }

  // What only constants decide is no branch: debug builds ask `if (true)`.
  std::optional<bool> fixed_guard(uint32_t frame, const Instruction& instruction) {
    const uint32_t function = graph_.frames[frame].function;
    auto at = constants_.find(function);
    if (at == constants_.end()) at = constants_.try_emplace(function, module_, module_.functions[function]).first;
    const auto number = at->second.of(instruction.guard);
    if (!number) return std::nullopt;
    return (*number != 0) != instruction.guard_negated;
  }
  // Ends a block with an instruction whose guard is known.
  void finish_fixed(const Function& f, Activation& out, const std::unordered_map<uint32_t, uint32_t>& block_at,
                    uint32_t id, uint32_t after, uint32_t ender) {
    const Flow kind = flow(ender);
    if (!*fixed_guard(out.frame, module_.instructions[ender])) {
      graph_.blocks[id].last = ender;
      graph_.blocks[id].successors = {after};
      return;
    }
    if (kind != Flow::kProtocol) graph_.blocks[id].last = ender;
    end_block(f, out, block_at, id, after, ender, false, true);
  }

  // What comes behind a block whose last instruction changes the way. `alone`: it is the block's only one. `taken`: its
  // guard is known to hold.
  void end_block(const Function& f, Activation& out, const std::unordered_map<uint32_t, uint32_t>& block_at,
                 uint32_t body, uint32_t after, uint32_t ender, bool alone, bool taken = false) {
    const Flow kind = flow(ender);
    Block& block = graph_.blocks[body];
    block.ender = kind == Flow::kProtocol ? kNone : ender;
    if (alone && kind != Flow::kProtocol) block.last = ender;
    switch (kind) {
      case Flow::kBranch:
        branch(f, block_at, body, after, ender, taken);
        break;
      case Flow::kIndexed:
        indexed(f, out, block_at, body, ender);
        break;
      case Flow::kCall:
        call(out, body, after, ender);
        break;
      case Flow::kReturn:
        end_path(body, out);
        break;
      case Flow::kExit:
        block.ending = Ending::kExit;
        break;
      case Flow::kTrap:
        block.ending = Ending::kTrap;
        break;
      case Flow::kNone:
      case Flow::kProtocol:
        block.successors = {after};
        break;
    }
  }

  void set_condition(uint32_t block, uint32_t frame, const Instruction& instruction) {
    graph_.blocks[block].condition = graph_.register_number(frame, instruction.guard);
    graph_.blocks[block].condition_negated = instruction.guard_negated;
  }

  void branch(const Function& f, const std::unordered_map<uint32_t, uint32_t>& block_at, uint32_t id, uint32_t after,
              uint32_t at, bool taken) {
    const Instruction& instruction = module_.instructions[at];
    const uint32_t to =
        instruction.operand_count == 0 ? kNone : target(f, block_at, module_.operands_of(instruction)[0]);
    Block& block = graph_.blocks[id];
    if (to == kNone) {
      gap(at, "the target of this branch is not a label of the function");
      block.ending = Ending::kTrap;
    } else if (instruction.guard != kNone && !taken) {
      block.ending = Ending::kBranch;
      block.successors = {to, after};
    } else {
      block.successors = {to};
    }
  }

  void indexed(const Function& f, Activation& out, const std::unordered_map<uint32_t, uint32_t>& block_at, uint32_t id,
               uint32_t at) {
    const Instruction& instruction = module_.instructions[at];
    const Operand* operands = module_.operands_of(instruction);
    std::vector<uint32_t> targets;
    if (instruction.operand_count == 2 && operands[1].kind == Operand::Kind::kLabel) {
      for (const Operand& label : f.labels[operands[1].ref].targets) targets.push_back(target(f, block_at, label));
    }
    Block& block = graph_.blocks[id];
    if (targets.empty() || std::count(targets.begin(), targets.end(), kNone) != 0 ||
        operands[0].kind != Operand::Kind::kRegister) {
      gap(at, "the targets of this indexed branch are not known");
      block.ending = Ending::kTrap;
      return;
    }
    block.ending = Ending::kIndexed;
    block.condition = graph_.register_number(out.frame, operands[0].ref);
    block.successors = std::move(targets);
  }

  void call(Activation& out, uint32_t id, uint32_t after, uint32_t at) {
    const Instruction& instruction = module_.instructions[at];
    const Operand* operands = module_.operands_of(instruction);
    const Operand* callee = nullptr;
    for (uint16_t n = 0; n < instruction.operand_count && callee == nullptr; ++n) {
      if (operands[n].kind != Operand::Kind::kGroup) callee = &operands[n];
    }
    Block& block = graph_.blocks[id];
    block.call = Block::Call::kOpaque;
    block.successors = {after};
    if (callee == nullptr || callee->kind != Operand::Kind::kFunction) {
      gap(at, "an indirect call: what it calls is not known");
      return;
    }
    const Function& f = module_.functions[callee->ref];
    if (!f.has_body) {
      const SystemCall* known = system_call(f.name);
      if (known != nullptr) graph_.uses.count(assumptions::Id::kSystemCalls);
      if (f.is_noreturn || (known != nullptr && !known->returns)) {
        block.ending = Ending::kTrap;
        block.successors.clear();
      } else if (known == nullptr) {
        gap(at, "'" + std::string(f.name) + "' is called but its body is not in this file");
      }
      return;
    }
    for (uint32_t frame = out.frame; frame != kNone; frame = graph_.frames[frame].caller) {
      if (graph_.frames[frame].function == callee->ref) {
        gap(at, "a recursive call of '" + std::string(f.name) + "' is not followed");
        return;
      }
    }
    block.call = Block::Call::kEnter;
    pending_.push_back({id, after, callee->ref, out.frame, at});
  }

  void bind(const PendingCall& call) {
    const Function& f = module_.functions[call.callee];
    // What is beyond is a gap.
    const bool too_deep = graph_.frames.size() >= assumptions::kActivations;
    if (too_deep || instructions_ + (f.last_instruction - f.first_instruction) > assumptions::kInstructionsOfAKernel) {
      graph_.uses.count(too_deep ? assumptions::Id::kActivations : assumptions::Id::kInstructionsOfAKernel);
      gap(call.instruction,
          "the kernel's call tree is too large: this call of '" + std::string(f.name) + "' is not followed");
      graph_.blocks[call.block].call = Block::Call::kOpaque;
      return;
    }
    Activation activation;
    enter(call.callee, call.frame, call.instruction, activation);
    graph_.blocks[call.block].call_frame = activation.frame;
    graph_.blocks[call.block].successors = {activation.entry};
    // Results are fetched in a block of their own between the callee's ret and what follows the call.
    uint32_t landing = new_block(call.frame, call.instruction, call.instruction);
    graph_.blocks[landing].call = Block::Call::kLeave;
    graph_.blocks[landing].call_frame = activation.frame;
    graph_.blocks[landing].successors = {call.continuation};
    for (uint32_t block : returns_[activation.frame]) graph_.blocks[block].successors = {landing};
    returns_.erase(activation.frame);
  }

  void gap(uint32_t instruction, std::string reason) { graph_.gaps.push_back({instruction, std::move(reason)}); }

  const Module& module_;
  Graph graph_;
  std::vector<Flow> flows_;  // by opcode
  std::unordered_map<uint32_t, std::vector<uint32_t>> leaders_;
  std::unordered_map<uint32_t, ConstantRegisters> constants_;    // by function
  std::unordered_map<uint32_t, std::vector<uint32_t>> returns_;  // by frame
  std::vector<PendingCall> pending_;
  size_t instructions_ = 0;
};

}  // namespace

uint64_t Graph::loop_set(uint32_t loop) const {
  uint64_t set = 0;
  for (; loop != kNone; loop = loops[loop].parent) set |= uint64_t{1} << (loop % 64);
  return set;
}

bool is_protocol_instruction(const Opcode& opcode) {
  const std::string_view root = opcode.root;
  if (root == "tcgen05" || root == "mbarrier" || root == "bar" || root == "barrier" || root == "griddepcontrol" ||
      root == "clusterlaunchcontrol") {
    return true;
  }
  if (root == "cp") return opcode.has("async");
  if (root == "st" || root == "red") return opcode.has("async");
  if (root == "fence")
    return opcode.has("proxy") || opcode.text.starts_with("fence.proxy") || opcode.has("mbarrier_init");
  return root == "multimem";
}

std::vector<uint32_t> call_tree(const Module& module, uint32_t kernel) {
  std::vector<uint32_t> out = {kernel};
  std::unordered_set<uint32_t> seen = {kernel};
  for (size_t n = 0; n < out.size(); ++n) {
    const Function& f = module.functions[out[n]];
    for (uint32_t i = f.first_instruction; i < f.last_instruction; ++i) {
      const Instruction& instruction = module.instructions[i];
      const Operand* operands = module.operands_of(instruction);
      for (uint16_t k = 0; k < instruction.operand_count; ++k) {
        // Not calls alone: a function whose address is taken may be called, too (ptxas counts it as well).
        if (operands[k].kind == Operand::Kind::kFunction && seen.insert(operands[k].ref).second) {
          out.push_back(operands[k].ref);
        }
      }
    }
  }
  return out;
}

Graph build_graph(const Module& module, uint32_t kernel) {
  return Builder(module, kernel).build();
}

}  // namespace tmemlint::kernel
