#include "analyzer/cluster/branch_facts.h"

#include <algorithm>
#include <set>

#include "analyzer/assumptions/assumptions.h"
#include "analyzer/cluster/value_origins.h"
#include "analyzer/ptx/effects.h"

namespace tmemlint::cluster {

using kernel::Block;
using kernel::Ending;
using program::Action;
using program::Meaning;

namespace {

bool overlap(const std::set<uint64_t>& a, const std::set<uint64_t>& b) {
  return std::any_of(a.begin(), a.end(), [&](uint64_t n) { return b.contains(n); });
}

// How much an instruction of the protocol says about which way of a branch is the usual one.
constexpr uint32_t kWeightOfTensorMemory = assumptions::kWeightOfTensorMemory;
constexpr uint32_t kWeightOfBarrier = assumptions::kWeightOfABarrier;
constexpr uint8_t kNoWay = 2;

bool writes_tensor_memory(const Meaning& m) {
  if (m.action != Action::kTcgen05) return false;
  const std::span<const ptx::TmemAccess> accesses = ptx::effects_of(m.form).accesses;
  return m.form.op != ptx::Tcgen05::kShift &&
         std::any_of(accesses.begin(), accesses.end(), [](const ptx::TmemAccess& a) { return a.writes; });
}

}  // namespace

BranchFacts::BranchFacts(const program::Program& program)
    : program_(program), graph_(*program.graph), control_(kernel::control_of(*program.graph)) {
  count_protocol();
  find_loop_ends();
  find_loop_writers();
  find_give_ups();
}

std::set<uint64_t> BranchFacts::asked_by(uint32_t block) const {
  std::set<uint64_t> out;
  if (program_.code[block].condition == kNone) return out;
  if (!origins_) origins_.emplace(program_);
  origins_->collect(program_.code[block].condition, out);
  return out;
}

// A loop that does nothing of the protocol but to ask mbarriers is a poll. Its exits that do not go by an answer give
// up.
void BranchFacts::find_give_ups() {
  for (uint32_t n = 0; n < graph_.loops.size(); ++n) {
    const kernel::Loop& l = graph_.loops[n];
    std::set<uint64_t> answers;
    bool polls = true;
    for (uint32_t b = l.head; b < l.end && polls; ++b) {
      for (uint32_t s = program_.code[b].first; s < program_.code[b].last && polls; ++s) {
        const program::Step& step = program_.steps[s];
        if (step.kind != program::Step::Kind::kInstruction) continue;
        const Meaning& m = program_.meanings[graph_.module->instructions[step.instruction].opcode];
        if (!program::is_protocol(m.action)) continue;
        polls = m.action == Action::kMbarrier &&
                (m.mbarrier == program::MbarrierAction::kTestWait || m.mbarrier == program::MbarrierAction::kTryWait);
        if (step.destinations != 0) answers.insert(program_.args[step.first_arg].ref);
      }
    }
    if (!polls || answers.empty()) continue;
    for (uint32_t b = l.head; b < l.end; ++b) {
      if (!leaves(b, n) || program_.code[b].condition == kNone) continue;
      if (overlap(asked_by(b), answers)) continue;
      give_ups_[b] = graph_.in_loop(graph_.blocks[b].successors[0], n) ? 1 : 0;
    }
  }
}

std::vector<uint32_t> BranchFacts::loops_with(uint32_t block) const {
  const auto asked = [&](uint32_t loop) {
    const uint32_t end = loop_ends_[loop].block;
    return end == kNone ? std::set<uint64_t>() : asked_by(end);
  };
  std::vector<uint32_t> out;
  std::set<uint64_t> around;
  for (uint32_t loop = graph_.blocks[block].loop; loop != kNone; loop = graph_.loops[loop].parent) {
    out.push_back(loop);
    around.merge(asked(loop));
  }
  for (uint32_t loop = 0; loop < graph_.loops.size(); ++loop) {
    if (std::find(out.begin(), out.end(), loop) != out.end()) continue;
    if (overlap(asked(loop), around)) out.push_back(loop);
  }
  return out;
}

void BranchFacts::count_protocol() {
  protocol_in_.assign(graph_.blocks.size(), 0);
  writes_.assign(graph_.blocks.size(), false);
  for (uint32_t b = 0; b < graph_.blocks.size(); ++b) {
    for (uint32_t i = graph_.blocks[b].first; i < graph_.blocks[b].last; ++i) {
      const Meaning& m = program_.meanings[graph_.module->instructions[i].opcode];
      if (program::is_protocol(m.action))
        protocol_in_[b] += m.action == Action::kTcgen05 ? kWeightOfTensorMemory : kWeightOfBarrier;
      if (writes_tensor_memory(m)) writes_[b] = true;
    }
  }
}

void BranchFacts::find_loop_writers() {
  guards_writes_.assign(graph_.blocks.size(), false);
  for (const kernel::Loop& l : graph_.loops) {
    std::vector<uint32_t> writers;
    for (uint32_t b = l.head; b < l.end; ++b) {
      for (uint32_t i = graph_.blocks[b].first; writes_[b] && i < graph_.blocks[b].last; ++i) {
        if (writes_tensor_memory(program_.meanings[graph_.module->instructions[i].opcode])) writers.push_back(i);
      }
    }
    if (writers.empty()) continue;
    loop_writers_.push_back(std::move(writers));
    for (uint32_t d : control_.deciders[l.head]) {
      if (d < l.head || d >= l.end) guards_writes_[d] = true;
    }
  }
}

// Whether some path from a block to one of `blocks` goes neither through `without` nor through `end`.
bool BranchFacts::leads_to(uint32_t from, uint32_t without, uint32_t end, const std::vector<bool>& blocks) const {
  std::vector<bool> seen(graph_.blocks.size(), false);
  std::vector<uint32_t> work{from};
  while (!work.empty()) {
    const uint32_t b = work.back();
    work.pop_back();
    if (b == end || b == without || seen[b]) continue;
    if (blocks[b]) return true;
    seen[b] = true;
    work.insert(work.end(), graph_.blocks[b].successors.begin(), graph_.blocks[b].successors.end());
  }
  return false;
}

bool BranchFacts::runs_no_time(uint32_t block, uint8_t way) const {
  if (runs_no_time_.empty()) find_guards();
  return runs_no_time_[block] == way;
}

// Of a branch of which one way leads to a write of Tensor Memory and the other does not, before both meet: notes the
// other one in runs_no_time_.
void BranchFacts::note_guard(uint32_t b) const {
  const Block& block = graph_.blocks[b];
  if (block.ending != Ending::kBranch || block.successors.size() != 2 || writes_[b]) return;
  const bool first = leads_to(block.successors[0], b, control_.after[b], writes_);
  const bool second = leads_to(block.successors[1], b, control_.after[b], writes_);
  if (first != second) runs_no_time_[b] = first ? 1 : 0;
}

// Finds the branches that guard loops: those whose condition is computed from the same inputs as the one that decides
// how often the loop runs, as `if (0 < n)` before a loop that asks `i < n` at its end. A branch on anything else guards
// no loop; it is a condition of its own.
void BranchFacts::find_guards() const {
  runs_no_time_.assign(graph_.blocks.size(), kNoWay);
  if (loop_writers_.empty()) return;
  for (uint32_t n = 0; n < graph_.loops.size(); ++n) {
    const kernel::Loop& l = graph_.loops[n];
    if (std::none_of(writes_.begin() + l.head, writes_.begin() + l.end, [](bool w) { return w; })) continue;
    std::set<uint64_t> of_loop;
    for (uint32_t b = l.head; b < l.end; ++b) {
      const std::vector<uint32_t>& next = graph_.blocks[b].successors;
      if (std::any_of(next.begin(), next.end(), [&](uint32_t s) { return !graph_.in_loop(s, n); }))
        of_loop.merge(asked_by(b));
    }
    if (of_loop.empty()) continue;
    const Block& head = graph_.blocks[l.head];
    if (head.successors.size() == 2 && graph_.in_loop(head.successors[0], n) != graph_.in_loop(head.successors[1], n))
      note_guard(l.head);
    std::vector<uint32_t> work = control_.deciders[l.head];
    std::set<uint32_t> seen;
    while (!work.empty()) {
      const uint32_t d = work.back();
      work.pop_back();
      if ((d >= l.head && d < l.end) || !seen.insert(d).second) continue;
      if (!overlap(asked_by(d), of_loop)) continue;
      note_guard(d);
      work.insert(work.end(), control_.deciders[d].begin(), control_.deciders[d].end());
    }
  }
}

bool BranchFacts::guards_a_loop(uint32_t b) const {
  if (program_.code[b].condition == kNone) return false;
  const std::array<std::vector<bool>, 2> ahead = ahead_of(b);
  const std::set<uint64_t> asked = asked_by(b);
  for (uint32_t loop = 0; loop < graph_.loops.size(); ++loop) {
    const uint32_t head = graph_.loops[loop].head;
    const uint32_t end = loop_ends_[loop].block;
    if ((ahead[0][head] || ahead[1][head]) && end != kNone && overlap(asked_by(end), asked)) return true;
  }
  return false;
}

bool BranchFacts::breaks_a_loop(uint32_t b) const {
  for (uint32_t loop = graph_.blocks[b].loop; loop != kNone; loop = graph_.loops[loop].parent) {
    if (leaves(b, loop)) return true;
  }
  return false;
}

// Whether one way of a branch leads out of a loop and the other stays in it, and neither leads only into a trap.
bool BranchFacts::leaves(uint32_t b, uint32_t loop) const {
  const Block& block = graph_.blocks[b];
  if (block.ending != Ending::kBranch || block.successors.size() != 2) return false;
  if (graph_.in_loop(block.successors[0], loop) == graph_.in_loop(block.successors[1], loop)) return false;
  return control_.can_exit[block.successors[0]] && control_.can_exit[block.successors[1]];
}

// The last block of the chain of blocks with one successor each that begins at `b`, within a loop.
uint32_t BranchFacts::end_of_chain(uint32_t b, uint32_t loop) const {
  const kernel::Loop& l = graph_.loops[loop];
  for (uint32_t steps = l.head; steps < l.end; ++steps) {
    const Block& block = graph_.blocks[b];
    if (block.successors.size() != 1 || !graph_.in_loop(block.successors[0], loop) || block.successors[0] == l.head)
      break;
    b = block.successors[0];
  }
  return b;
}

// Whether nothing is done between `b`, in a loop, and the loop's next round.
bool BranchFacts::leads_straight_to_head(uint32_t b, uint32_t loop) const {
  const kernel::Loop& l = graph_.loops[loop];
  for (uint32_t steps = l.head; steps < l.end && b != l.head; ++steps) {
    const Block& block = graph_.blocks[b];
    if (block.successors.size() != 1 || program_.code[b].first != program_.code[b].last) return false;
    b = block.successors[0];
  }
  return b == l.head;
}

void BranchFacts::find_loop_ends() {
  loop_ends_.resize(graph_.loops.size());
  for (uint32_t loop = 0; loop < graph_.loops.size(); ++loop) find_loop_end(loop);
}

void BranchFacts::find_loop_end(uint32_t loop) {
  const kernel::Loop& l = graph_.loops[loop];
  LoopEnd& end = loop_ends_[loop];
  const uint32_t top = end_of_chain(l.head, loop);
  if (leaves(top, loop)) {
    const Block& block = graph_.blocks[top];
    end = {top, !leads_straight_to_head(block.successors[graph_.in_loop(block.successors[0], loop) ? 0 : 1], loop)};
    return;
  }
  for (uint32_t b = l.head; b < l.end; ++b) {
    if (!leaves(b, loop)) continue;
    if (end.block == kNone) end.block = b;
    const Block& block = graph_.blocks[b];
    const uint32_t stays = block.successors[graph_.in_loop(block.successors[0], loop) ? 0 : 1];
    const Block& last = graph_.blocks[end_of_chain(stays, loop)];
    if (stays == l.head || (last.successors.size() == 1 && last.successors[0] == l.head)) {
      end.block = b;
      return;
    }
  }
}

std::array<std::vector<bool>, 2> BranchFacts::ahead_of(uint32_t block) const {
  std::array<std::vector<bool>, 2> seen;
  for (size_t side = 0; side < 2; ++side) {
    seen[side].assign(graph_.blocks.size(), false);
    std::vector<uint32_t> work{graph_.blocks[block].successors[side]};
    while (!work.empty()) {
      const uint32_t b = work.back();
      work.pop_back();
      if (b == control_.after[block] || b == block || seen[side][b]) continue;
      seen[side][b] = true;
      for (uint32_t next : graph_.blocks[b].successors) work.push_back(next);
    }
  }
  for (uint32_t b = 0; b < graph_.blocks.size(); ++b) {
    if (seen[0][b] && seen[1][b]) seen[0][b] = seen[1][b] = false;
  }
  return seen;
}

std::array<uint32_t, 2> BranchFacts::protocol_ahead(uint32_t block) const {
  auto [it, fresh] = ahead_.try_emplace(block);
  if (!fresh) return it->second;
  const std::array<std::vector<bool>, 2> ahead = ahead_of(block);
  std::array<uint32_t, 2> out{};
  for (uint32_t b = 0; b < graph_.blocks.size(); ++b) {
    for (size_t side = 0; side < 2; ++side) {
      if (ahead[side][b]) out[side] += protocol_in_[b];
    }
  }
  it->second = out;
  return out;
}

}  // namespace tmemlint::cluster
