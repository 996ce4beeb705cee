// A scenario under way, as the operations of its warps see it: the kernel, the policy, the state, and what they share.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "analyzer/cluster/footprints.h"
#include "analyzer/cluster/kernel_facts.h"
#include "analyzer/cluster/policy.h"
#include "analyzer/cluster/run_state.h"
#include "analyzer/warp/machine.h"

namespace tmemlint::cluster {

// How an operation of a warp ends. Only the scheduler moves the warp on, lets it wait, or ends the scenario.
struct Done {};
// Something that the scenario cannot go on without is not known. An empty reason: an observation says it all.
struct Unknown {
  uint32_t instruction = kNone;
  std::string reason;
};
using Outcome = std::variant<Done, Wait, Unknown>;

// An instruction that a warp executes: its step, what it means, and the lanes that execute it.
struct Execution {
  WarpState& warp;
  warp::Machine& machine;
  uint32_t number;  // Program::steps
  const program::Step& step;
  const program::Meaning& meaning;
  uint32_t lanes;

  uint32_t instruction() const { return step.instruction; }
  Site site() const { return {step.instruction, warp.id}; }
  WarpEvent event() const { return {warp.index, warp.knowledge.now()}; }
};

struct Scene {
  Scene(const KernelFacts& of, const Policy& p, RunState& s, Footprints& f)
      : facts(of),
        kernel(of.kernel),
        launch(of.launch),
        program(*of.kernel.program),
        terms(*of.kernel.terms),
        policy(p),
        state(s),
        log(s.log),
        footprints(f) {
    footprints.coverage.prepare(program);
  }

  const KernelFacts& facts;
  const CompiledKernel& kernel;
  const kernel::Launch& launch;
  const program::Program& program;
  value::Terms& terms;
  const Policy& policy;
  RunState& state;
  ObservationLog& log;
  Footprints& footprints;
  uint32_t ranks = 1;  // CTAs that are stepped together
  uint32_t warps_per_cta = 1;
  std::vector<std::unique_ptr<warp::Machine>> machines;  // by warp of the cluster

  uint32_t instruction_of(uint32_t step) const { return program.steps[step].instruction; }
  warp::Machine& machine_of(const WarpState& w) { return *machines[w.index]; }
  WarpState& warp(uint32_t index) { return state.warps[index]; }
  const program::Arg* arg(const program::Step& step, uint32_t n) const {
    return n < step.argument_count ? &program.args[step.first_arg + n] : nullptr;
  }
  // The bracketed operands of a step: the first and the last one, kNone where it has none.
  std::pair<uint32_t, uint32_t> addresses_of(const program::Step& step) const;
  // Whether a warp knows of anything that another CTA did.
  bool knows_cta(const WarpState& w, uint32_t rank) const;
  // Threads of a CTA that have not left.
  uint32_t threads_left(uint32_t rank) const;
};

inline std::pair<uint32_t, uint32_t> Scene::addresses_of(const program::Step& step) const {
  std::pair<uint32_t, uint32_t> out{kNone, kNone};
  for (uint32_t k = 0; k < step.argument_count; ++k) {
    if (!program.args[step.first_arg + k].address) continue;
    if (out.first == kNone) out.first = k;
    out.second = k;
  }
  return out;
}

inline bool Scene::knows_cta(const WarpState& w, uint32_t rank) const {
  for (uint32_t k = 0; k < warps_per_cta; ++k) {
    if (w.knowledge.any().event(rank * warps_per_cta + k) != 0) return true;
  }
  return false;
}

inline uint32_t Scene::threads_left(uint32_t rank) const {
  uint32_t n = 0;
  for (uint32_t k = 0; k < warps_per_cta; ++k) {
    const uint32_t index = rank * warps_per_cta + k;
    if ((machines[index]->existing() & ~state.warps[index].exited) != 0) n += value::kLanes;
  }
  return n;
}

}  // namespace tmemlint::cluster
