#include "analyzer/cluster/value_origins.h"

namespace tmemlint::cluster {

using program::Action;
using program::Arg;
using program::Step;

namespace {

// Whether an instruction computes its results from its operands alone.
bool is_computation(Action action) {
  switch (action) {
    case Action::kPure:
    case Action::kCompare:
    case Action::kMulAdd:
    case Action::kMove:
    case Action::kConvert:
    case Action::kShuffle:
    case Action::kGeneric:
      return true;
    case Action::kNothing:
    case Action::kToShared:
    case Action::kFromShared:
    case Action::kMapRank:
    case Action::kVote:
    case Action::kElect:
    case Action::kReduce:
    case Action::kActiveMask:
    case Action::kLoad:
    case Action::kStore:
    case Action::kFresh:
    case Action::kTcgen05:
    case Action::kMbarrier:
    case Action::kBarrier:
    case Action::kClusterBarrier:
    case Action::kProxyFence:
    case Action::kReleaseFence:
    case Action::kAsyncCopy:
    case Action::kGridDependency:
      return false;
  }
  return false;
}

// Whether a special register says which thread of its block, or which CTA of its cluster, it is read in.
bool is_place(program::Special what) {
  using program::Special;
  switch (what) {
    case Special::kThread:
    case Special::kLane:
    case Special::kWarp:
    case Special::kClusterRank:
    case Special::kCtaInCluster:
      return true;
    case Special::kBlockSize:
    case Special::kWarpCount:
    case Special::kWarpSize:
    case Special::kLanesEqual:
    case Special::kLanesBelow:
    case Special::kLanesUpTo:
    case Special::kLanesAbove:
    case Special::kLanesFrom:
    case Special::kClusterCtas:
    case Special::kClusterShape:
    case Special::kExplicitCluster:
    case Special::kCta:
    case Special::kGridSize:
    case Special::kCluster:
    case Special::kGridClusters:
    case Special::kSmCount:
    case Special::kTime:
    case Special::kOther:
      return false;
  }
  return false;
}

}  // namespace

ValueOrigins::ValueOrigins(const program::Program& program)
    : program_(program), writers_(program.register_width.size()) {
  for (uint32_t s = 0; s < program.steps.size(); ++s) {
    const Step& step = program.steps[s];
    if (step.kind == Step::Kind::kUse || step.kind == Step::Kind::kOverwrite) continue;
    each(step, true, [&](const Arg& a) { writers_[a.ref].push_back(s); });
  }
}

void ValueOrigins::collect(uint32_t reg, std::set<uint64_t>& out) const {
  walk(reg, [&](const Step& step, uint32_t r) {
    if (!computes(step)) out.insert(origin(step, r));
  });
}

bool ValueOrigins::of_place(uint32_t reg) const {
  bool found = false;
  walk(reg, [&](const Step& step, uint32_t) {
    for (unsigned n = step.destinations; n < step.argument_count; ++n) {
      const Arg& a = program_.args[step.first_arg + n];
      found = found || (a.kind == Arg::Kind::kSpecial && is_place(program_.specials[a.ref].what));
    }
  });
  return found;
}

template <typename F>
void ValueOrigins::walk(uint32_t reg, F&& f) const {
  std::vector<bool> seen(writers_.size(), false);
  std::vector<uint32_t> work{reg};
  while (!work.empty()) {
    const uint32_t r = work.back();
    work.pop_back();
    if (seen[r]) continue;
    seen[r] = true;
    for (const uint32_t s : writers_[r]) {
      const Step& step = program_.steps[s];
      f(step, r);
      if (computes(step)) each(step, false, [&](const Arg& a) { work.push_back(a.ref); });
    }
  }
}

bool ValueOrigins::computes(const Step& step) const {
  if (step.kind != Step::Kind::kInstruction) return true;
  const ptx::Module& module = *program_.graph->module;
  return is_computation(program_.meanings[module.instructions[step.instruction].opcode].action);
}

uint64_t ValueOrigins::origin(const Step& step, uint32_t reg) const {
  constexpr uint64_t kParameter = uint64_t{1} << 63;  // registers have small numbers
  for (unsigned n = step.destinations; n < step.argument_count; ++n) {
    const Arg& a = program_.args[step.first_arg + n];
    if (a.address && a.kind == Arg::Kind::kNumber) return kParameter | a.number;
  }
  return reg;
}

template <typename F>
void ValueOrigins::each(const Step& step, bool written, F&& f) const {
  auto one = [&](const Arg& a, bool is_written) {
    if (a.kind == Arg::Kind::kRegister && (is_written && !a.address) == written) f(a);
  };
  const bool vector_written =
      step.vector_count != 0 && step.destinations > 0 && program_.args[step.first_arg].kind == Arg::Kind::kNone;
  for (unsigned n = 0; n < step.argument_count; ++n) one(program_.args[step.first_arg + n], n < step.destinations);
  for (unsigned n = 0; n < step.vector_count; ++n) one(program_.args[step.vector_first + n], vector_written);
}

}  // namespace tmemlint::cluster
