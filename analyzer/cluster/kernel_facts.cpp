#include "analyzer/cluster/kernel_facts.h"

#include <algorithm>

#include "analyzer/cluster/value_origins.h"
#include "analyzer/ptx/effects.h"

namespace tmemlint::cluster {

namespace {

// Adds to each block whose branch is pruned what the blocks do that are skipped: no warp executes those.
void add_pruned(const CompiledKernel& code, std::vector<GlobalOrder>& orders) {
  const kernel::Graph& g = code.graph;
  const std::vector<GlobalOrder> own = orders;
  for (uint32_t b = 0; b < g.blocks.size(); ++b) {
    const uint32_t end = code.program->code[b].skip_to;
    if (end == kNone) continue;
    std::vector<bool> seen(g.blocks.size(), false);
    std::vector<uint32_t> work = g.blocks[b].successors;
    while (!work.empty()) {
      const uint32_t next = work.back();
      work.pop_back();
      if (next == end || seen[next]) continue;
      seen[next] = true;
      orders[b].releases = orders[b].releases || own[next].releases;
      orders[b].acquires = orders[b].acquires || own[next].acquires;
      work.insert(work.end(), g.blocks[next].successors.begin(), g.blocks[next].successors.end());
    }
  }
}

// Releases and acquires of words of global memory (memory consistency model of the ISA): by atomics, and by loads and
// stores that say so; by relaxed and volatile ones where the kernel has fences. Many of them are no steps of the
// program, since what global memory holds is not known.
std::vector<GlobalOrder> find_global_orders(const CompiledKernel& code) {
  const std::vector<program::Meaning>& meanings = code.program->meanings;
  const bool fences =
      std::any_of(meanings.begin(), meanings.end(), [](const program::Meaning& m) { return m.memory_fence; });
  std::vector<GlobalOrder> by_opcode(meanings.size());
  GlobalOrder any;
  for (size_t n = 0; n < meanings.size(); ++n) {
    const program::Meaning& m = meanings[n];
    if (m.space != program::MemorySpace::kGlobal && m.space != program::MemorySpace::kGeneric) continue;
    const bool by_fence = fences && m.strong;
    const bool acquires = m.reads_memory && (m.acquires || by_fence);
    by_opcode[n].releases = m.writes_memory && (m.releases || by_fence);
    // A generic one may be of shared memory: the step that executes it knows.
    by_opcode[n].acquires = acquires && m.space == program::MemorySpace::kGlobal;
    any.releases = any.releases || by_opcode[n].releases;
    any.acquires = any.acquires || acquires;
  }
  if (!any.releases || !any.acquires) return {};
  const kernel::Graph& g = code.graph;
  std::vector<GlobalOrder> out(g.blocks.size());
  for (uint32_t b = 0; b < g.blocks.size(); ++b) {
    for (uint32_t i = g.blocks[b].first; i < g.blocks[b].last; ++i) {
      const GlobalOrder& order = by_opcode[code.module->instructions[i].opcode];
      out[b].releases = out[b].releases || order.releases;
      out[b].acquires = out[b].acquires || order.acquires;
    }
  }
  add_pruned(code, out);
  return out;
}

bool arrives(const program::Meaning& m) {
  if (m.action == program::Action::kTcgen05) return ptx::effects_of(m.form).signals_completion;
  if (m.action != program::Action::kMbarrier) return false;
  switch (m.mbarrier) {
    case program::MbarrierAction::kArrive:
    case program::MbarrierAction::kArriveDrop:
    case program::MbarrierAction::kArriveExpectTx:
    case program::MbarrierAction::kAsyncArrive:
      return true;
    case program::MbarrierAction::kInit:
    case program::MbarrierAction::kInvalidate:
    case program::MbarrierAction::kExpectTx:
    case program::MbarrierAction::kCompleteTx:
    case program::MbarrierAction::kTestWait:
    case program::MbarrierAction::kTryWait:
    case program::MbarrierAction::kPendingCount:
      break;
  }
  return false;
}

}  // namespace

KernelFacts::KernelFacts(const CompiledKernel& compiled, const kernel::Launch& of)
    : kernel(compiled), launch(of), branches(*compiled.program), global_orders(find_global_orders(compiled)) {
  const std::vector<program::Step>& steps = compiled.program->steps;
  uses_cluster = std::any_of(steps.begin(), steps.end(), [&](const program::Step& s) {
    return s.instruction < compiled.module->instructions.size() && compiled.meaning_of(s.instruction).may_leave_cta;
  });
  for (const program::Step& s : steps) {
    if (s.kind == program::Step::Kind::kInstruction && arrives(compiled.meaning_of(s.instruction)) &&
        std::find(arriving.begin(), arriving.end(), s.instruction) == arriving.end())
      arriving.push_back(s.instruction);
  }
}

bool KernelFacts::address_counts_in(uint32_t step, uint32_t loop) const {
  const auto [known, fresh] = counting_.try_emplace({step, loop}, false);
  if (!fresh) return known->second;
  const ValueOrigins origins(*kernel.program);
  const uint32_t end = branches.loop_end(loop).block;
  const uint32_t asked = end == kNone ? kNone : kernel.program->code[end].condition;
  known->second = origins.address_counts_in(step, kernel.graph.loops[loop]) ||
                  (asked != kNone && origins.address_shares_parameter(step, asked));
  return known->second;
}

}  // namespace tmemlint::cluster
