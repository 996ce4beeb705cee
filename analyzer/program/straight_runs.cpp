#include "analyzer/program/straight_runs.h"

#include <algorithm>

#include "analyzer/program/steps.h"

namespace tmemlint::program {

namespace {

constexpr uint32_t kShortest = 2;
constexpr uint32_t kLongest = 24;  // the longer, the less likely it is to start from the same again

class StraightRuns {
public:
  explicit StraightRuns(Program& program) : program_(program), range_(program) {}

  // From the last step of a block to the first. `live`: the registers that are needed behind it, a bit each.
  void find(const Code& code, std::vector<uint64_t>& live) {
    for (uint32_t last = code.last; last > code.first;) {
      uint32_t first = last;
      while (first > code.first && last - first < kLongest && only_computes(program_.steps[first - 1])) --first;
      const bool is_run = last - first >= kShortest;
      if (!is_run) first = last - 1;
      range_.look(first, last);
      if (is_run) add(first, last, live);
      for (uint32_t r : range_.replaced()) live[r / 64] &= ~(uint64_t{1} << (r % 64));
      for (uint32_t r : range_.needed()) live[r / 64] |= uint64_t{1} << (r % 64);
      last = first;
    }
  }

private:
  bool only_computes(const Step& step) const {
    const ptx::Module& module = *program_.graph->module;
    return step.kind == Step::Kind::kInstruction &&
           computes_registers(program_.meanings[module.instructions[step.instruction].opcode].action);
  }

  // The run that `range_` looked at.
  void add(uint32_t first, uint32_t last, const std::vector<uint64_t>& live) {
    auto is_live = [&](uint32_t r) { return ((live[r / 64] >> (r % 64)) & 1) != 0; };
    Straight s;
    s.first = first;
    s.last = last;
    written_.clear();
    specials_.clear();
    for (uint32_t n = first; n < last; ++n) {
      each_arg(program_, program_.steps[n], [&](const Arg& a, bool written) {
        if (a.kind == Arg::Kind::kRegister && written && !a.address && is_live(a.ref)) add_once(written_, a.ref);
        if (a.kind == Arg::Kind::kSpecial) add_once(specials_, a.ref);
        s.of_rank = s.of_rank || a.kind == Arg::Kind::kShared;
      });
    }
    s.reads = append(range_.needed());
    s.specials = append(specials_);
    s.writes = append(written_);
    s.end = static_cast<uint32_t>(program_.straight_refs.size());
    program_.steps[first].straight = static_cast<uint32_t>(program_.straights.size());
    program_.straights.push_back(s);
  }

  uint32_t append(const std::vector<uint32_t>& refs) {
    const auto at = static_cast<uint32_t>(program_.straight_refs.size());
    program_.straight_refs.insert(program_.straight_refs.end(), refs.begin(), refs.end());
    return at;
  }

  Program& program_;
  StepRange range_;
  std::vector<uint32_t> written_, specials_;
};

}  // namespace

void find_straight_runs(Program& program, const Liveness& liveness) {
  StraightRuns runs(program);
  std::vector<uint64_t> live;
  for (uint32_t b = 0; b < program.code.size(); ++b) {
    liveness.behind(b, live);
    runs.find(program.code[b], live);
  }
}

}  // namespace tmemlint::program
