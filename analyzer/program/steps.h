// What a step, or several steps one behind the other, reads and overwrites. Said once here, for liveness, for straight
// runs, and for whoever follows values through a program.
#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/program/program.h"

namespace tmemlint::program {

// Every argument of a step, those of its vector too, and whether the step writes it. An address in brackets among the
// written ones is only read.
template <typename F>
void each_arg(const Program& program, const Step& step, F&& f) {
  const bool vector_written =
      step.vector_count != 0 && step.destinations > 0 && program.args[step.first_arg].kind == Arg::Kind::kNone;
  for (unsigned n = 0; n < step.argument_count; ++n) f(program.args[step.first_arg + n], n < step.destinations);
  for (unsigned n = 0; n < step.vector_count; ++n) f(program.args[step.vector_first + n], vector_written);
}

// Registers whose value before a step matters to it: a write under a guard keeps what other lanes have.
template <typename F>
void each_needed(const Program& program, const Step& step, F&& f) {
  if (step.guard != kNone) f(step.guard);
  if (step.is_marker()) return;
  each_arg(program, step, [&](const Arg& a, bool written) {
    if (a.kind == Arg::Kind::kRegister && (!written || a.address || step.guard != kNone)) f(a.ref);
  });
}

// And those whose value before it is gone behind it.
template <typename F>
void each_replaced(const Program& program, const Step& step, F&& f) {
  if (step.guard != kNone || step.is_marker()) return;
  each_arg(program, step, [&](const Arg& a, bool written) {
    if (a.kind == Arg::Kind::kRegister && written && !a.address) f(a.ref);
  });
}

// The same of steps that run one behind the other: what they need from before the first of them, and what is gone
// behind the last. Each register once, in the order in which the steps name it.
class StepRange {
public:
  explicit StepRange(const Program& program)
      : program_(program), needed_in_(program.register_width.size(), 0), replaced_in_(needed_in_) {}

  void look(uint32_t first, uint32_t last) {
    ++range_;
    needed_.clear();
    replaced_.clear();
    for (uint32_t s = first; s < last; ++s) {
      const Step& step = program_.steps[s];
      each_needed(program_, step, [&](uint32_t r) { need(r); });
      each_replaced(program_, step, [&](uint32_t r) {
        if (replaced_in_[r] == range_) return;
        replaced_in_[r] = range_;
        replaced_.push_back(r);
      });
    }
  }
  // A register that is read behind the last step.
  void need(uint32_t r) {
    if (replaced_in_[r] == range_ || needed_in_[r] == range_) return;
    needed_in_[r] = range_;
    needed_.push_back(r);
  }

  const std::vector<uint32_t>& needed() const { return needed_; }
  const std::vector<uint32_t>& replaced() const { return replaced_; }

private:
  const Program& program_;
  std::vector<uint32_t> needed_, replaced_;
  std::vector<uint32_t> needed_in_, replaced_in_;  // by register: the last range that does
  uint32_t range_ = 0;
};

}  // namespace tmemlint::program
