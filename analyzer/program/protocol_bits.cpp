#include "analyzer/program/protocol_bits.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <utility>

#include "analyzer/program/steps.h"
#include "analyzer/value/operation.h"

namespace tmemlint::program {

namespace {

using value::Op;
using value::Operation;

constexpr uint64_t kAll = ~uint64_t{0};

// All bits up to the highest one of a mask: what carries from below can change.
uint64_t up_to_highest(uint64_t mask) {
  return mask == 0 ? 0 : kAll >> std::countl_zero(mask);
}

std::optional<uint64_t> number_of(const Arg* a) {
  if (a == nullptr || a->kind != Arg::Kind::kNumber) return std::nullopt;
  return a->number;
}

// The bits of each operand that the wanted bits of the result of a pure operation depend on.
class OperandBits {
public:
  OperandBits(const Operation& operation, const Arg* a, const Arg* b, const Arg* c)
      : operation_(operation), a_(a), b_(b), c_(c) {}

  uint64_t of(unsigned operand, uint64_t wanted) const {
    const auto b = number_of(b_);
    switch (operation_.op) {
      case Op::kMov:
      case Op::kNot:
      case Op::kXor:
      case Op::kLop3:
      case Op::kZext:
        return wanted;
      case Op::kAnd: {
        const auto other = number_of(operand == 0 ? b_ : a_);
        return other ? wanted & *other : wanted;
      }
      case Op::kOr: {
        const auto other = number_of(operand == 0 ? b_ : a_);
        return other ? wanted & ~*other : wanted;
      }
      case Op::kAdd:
      case Op::kSub:
      case Op::kMul:
      case Op::kNeg:
        return up_to_highest(wanted);
      case Op::kShl:
        return operand == 0 && b && *b < 64 ? wanted >> *b : kAll;
      case Op::kShr:
        return operand == 0 && b && *b < 64 && !operation_.is_signed ? wanted << *b : kAll;
      case Op::kBfe: {
        const auto length = number_of(c_);
        if (operand != 0 || !b || !length || *b >= 64 || operation_.is_signed) return kAll;
        const uint64_t field = *length >= 64 ? kAll : (uint64_t{1} << *length) - 1;
        return (wanted & field) << *b;
      }
      case Op::kRem:
        if (operand != 0 || !b || operation_.is_signed || !std::has_single_bit(*b)) return kAll;
        return wanted & (*b - 1);
      case Op::kDiv:
        if (operand != 0 || !b || operation_.is_signed || !std::has_single_bit(*b)) return kAll;
        return wanted << std::countr_zero(*b);
      case Op::kSelect:
        return operand == 0 ? 1 : wanted;
      case Op::kMulHi:
      case Op::kAbs:
      case Op::kMin:
      case Op::kMax:
      case Op::kEq:
      case Op::kLt:
      case Op::kBfi:
      case Op::kPrmt:
      case Op::kClz:
      case Op::kBrev:
      case Op::kBfind:
      case Op::kPopc:
      case Op::kFns:
      case Op::kSext:
      case Op::kFunnel:
      case Op::kButterfly:
      case Op::kGeneric:
        break;
    }
    return kAll;
  }

private:
  const Operation& operation_;
  const Arg* a_;
  const Arg* b_;
  const Arg* c_;
};

}  // namespace

// One block after the other, with what is known of its registers at the place that is looked at.
class BitsOfBlock {
public:
  explicit BitsOfBlock(ProtocolBits& all)
      : all_(all),
        program_(all.program_),
        bits_(program_.register_width.size(), 0),
        of_launch_(program_.register_width.size(), 0) {}

  // Until nothing changes any more: along the paths which registers hold numbers of the launch, and back along them
  // which bits matter.
  void solve() {
    const auto blocks = static_cast<uint32_t>(program_.code.size());
    do {
      changed_ = false;
      for (uint32_t b = 0; b < blocks; ++b) pass_launch_on(b);
    } while (changed_);
    do {
      changed_ = false;
      for (uint32_t b = blocks; b-- > 0;) {
        look_back(b, program_.code[b].first);
        each_in(all_.bits_in_, b, [&](uint32_t r, uint64_t& in) { raise(in, bits_[r]); });
      }
    } while (changed_);
  }

  // Leaves in `bits()` what matters before a step.
  void look_back(uint32_t b, uint32_t step) {
    const Code& code = program_.code[b];
    begin_launch(b);
    with_launch_.assign(code.last - code.first, 0);
    for (uint32_t s = code.first; s < code.last; ++s) {
      with_launch_[s - code.first] = compares_with_launch(program_.steps[s]) ? 1 : 0;
      follow_launch(program_.steps[s]);
    }
    std::fill(bits_.begin(), bits_.end(), 0);
    for (size_t k = 0; k < next_count(program_, b); ++k)
      each_in(all_.bits_in_, next_begin(program_, b)[k], [&](uint32_t r, uint64_t& in) { bits_[r] |= in; });
    if (code.condition != kNone && code.skip_to == kNone && !all_.free_[b])
      want(code.condition, program_.graph->blocks[b].ending == kernel::Ending::kIndexed ? kAll : 1);
    for (uint32_t s = code.last; s-- > step;) look(program_.steps[s], with_launch_[s - code.first] != 0);
  }
  const std::vector<uint64_t>& bits() const { return bits_; }

private:
  template <typename T, typename F>
  void each_in(std::vector<std::vector<T>>& in, uint32_t block, F&& f) {
    const std::vector<uint32_t>& live = program_.code[block].live_in;
    for (size_t n = 0; n < live.size(); ++n) f(live[n], in[block][n]);
  }
  template <typename T>
  void raise(T& to, T bits) {
    if ((bits & ~to) == 0) return;
    to |= bits;
    changed_ = true;
  }

  void begin_launch(uint32_t b) {
    std::fill(of_launch_.begin(), of_launch_.end(), uint8_t{0});
    each_in(all_.of_launch_in_, b, [&](uint32_t r, uint8_t& in) { of_launch_[r] = in; });
  }
  void pass_launch_on(uint32_t b) {
    begin_launch(b);
    for (uint32_t s = program_.code[b].first; s < program_.code[b].last; ++s) follow_launch(program_.steps[s]);
    for (size_t k = 0; k < next_count(program_, b); ++k) {
      each_in(all_.of_launch_in_, next_begin(program_, b)[k],
              [&](uint32_t r, uint8_t& in) { raise(in, of_launch_[r]); });
    }
  }

  // Whether an operand is a number that only the launch, or memory other than shared one, gives.
  bool is_of_launch(const Arg& a) const {
    if (a.kind == Arg::Kind::kRegister) return of_launch_[a.ref] != 0;
    if (a.kind != Arg::Kind::kSpecial) return false;
    switch (program_.specials[a.ref].what) {
      case Special::kCta:
      case Special::kGridSize:
      case Special::kCluster:
      case Special::kGridClusters:
      case Special::kSmCount:
      case Special::kTime:
      case Special::kOther:
        return true;
      case Special::kThread:
      case Special::kBlockSize:
      case Special::kLane:
      case Special::kWarp:
      case Special::kWarpCount:
      case Special::kWarpSize:
      case Special::kLanesEqual:
      case Special::kLanesBelow:
      case Special::kLanesUpTo:
      case Special::kLanesAbove:
      case Special::kLanesFrom:
      case Special::kClusterRank:
      case Special::kClusterCtas:
      case Special::kCtaInCluster:
      case Special::kClusterShape:
      case Special::kExplicitCluster:
        break;
    }
    return false;
  }

  void follow_launch(const Step& step) {
    if (step.kind == Step::Kind::kCopyIn || step.is_marker()) return;
    const Meaning& m = meaning(step);
    bool given = m.action == Action::kLoad && m.space != MemorySpace::kShared && m.space != MemorySpace::kLocal;
    // The result of a comparison is a truth, not a number.
    if (computes_registers(m.action) && m.action != Action::kCompare)
      each_arg(program_, step, [&](const Arg& a, bool written) { given = given || (!written && is_of_launch(a)); });
    each_arg(program_, step, [&](const Arg& a, bool written) {
      if (!written || a.kind != Arg::Kind::kRegister || a.address) return;
      if (given || step.guard == kNone) of_launch_[a.ref] = given ? 1 : 0;
    });
  }

  bool compares_with_launch(const Step& step) const {
    if (step.kind != Step::Kind::kInstruction || meaning(step).action != Action::kCompare) return false;
    const Arg* a = arg(step, step.destinations);
    const Arg* b = arg(step, step.destinations + 1u);
    return a != nullptr && b != nullptr && (is_of_launch(*a) || is_of_launch(*b));
  }

  const Meaning& meaning(const Step& step) const {
    return program_.meanings[program_.graph->module->instructions[step.instruction].opcode];
  }

  void want(uint32_t reg, uint64_t bits) { bits_[reg] |= bits; }
  void want(const Arg& a, uint64_t bits) {
    if (a.kind == Arg::Kind::kRegister && bits != 0) want(a.ref, bits);
  }
  const Arg* arg(const Step& step, unsigned n) const {
    return n < step.argument_count ? &program_.args[step.first_arg + n] : nullptr;
  }

  // The wanted bits of what a step writes.
  uint64_t wanted(const Step& step) const {
    uint64_t out = 0;
    each_arg(program_, step, [&](const Arg& a, bool written) {
      if (written && !a.address && a.kind == Arg::Kind::kRegister) out |= bits_[a.ref];
    });
    return out;
  }

  void look(const Step& step, bool with_launch) {
    if (step.is_marker()) return;
    if (step.kind == Step::Kind::kCopyIn) {
      want_all(step);
      return;
    }
    const uint64_t out = wanted(step);
    each_replaced(program_, step, [&](uint32_t r) { bits_[r] = 0; });
    const Meaning& m = meaning(step);
    switch (m.action) {
      case Action::kTcgen05:
      case Action::kMbarrier:
      case Action::kBarrier:
      case Action::kClusterBarrier:
        want_all(step);
        return;
      case Action::kAsyncCopy:
        want_of_copy(step);
        return;
      case Action::kStore:
        // Of global memory nothing is followed.
        if (m.space != MemorySpace::kGlobal) want_all(step);
        return;
      case Action::kProxyFence:
      case Action::kReleaseFence:
      case Action::kGridDependency:
      case Action::kNothing:
        if (step.guard != kNone) want(step.guard, 1);
        return;
      case Action::kLoad:
      case Action::kPure:
      case Action::kCompare:
      case Action::kMulAdd:
      case Action::kMove:
      case Action::kConvert:
      case Action::kToShared:
      case Action::kFromShared:
      case Action::kMapRank:
      case Action::kShuffle:
      case Action::kVote:
      case Action::kElect:
      case Action::kReduce:
      case Action::kActiveMask:
      case Action::kGeneric:
      case Action::kFresh:
        break;
    }
    // An atomic changes a word that others go by; one of global memory gives a number that is not known.
    if (m.atomic != Atomic::kNone) {
      want_all(step);
      return;
    }
    if (out == 0) return;
    if (step.guard != kNone) want(step.guard, 1);
    if (m.action == Action::kPure && step.vector_count == 0) {
      want_of_operation(m.operation, step, out, 1);
    } else if (m.action == Action::kCompare) {
      want_of_comparison(step, with_launch);
    } else if (m.action == Action::kMulAdd && m.half == Meaning::Half::kLow) {
      each_source(step, [&](const Arg& a) { want(a, up_to_highest(out)); });
    } else if (m.action == Action::kMulAdd && m.half == Meaning::Half::kWide && !m.operation.is_signed) {
      each_source(step, [&](const Arg& a) { want(a, up_to_highest(out)); });
    } else if (m.action == Action::kMove && step.vector_count == 0) {
      each_source(step, [&](const Arg& a) { want(a, out); });
    } else if (m.action == Action::kConvert) {
      const uint64_t field = m.from_width >= 64 ? kAll : (uint64_t{1} << m.from_width) - 1;
      const bool extends = m.from_signed && (out & ~field) != 0;
      each_source(step, [&](const Arg& a) { want(a, extends ? field : out & field); });
    } else {
      each_source(step, [&](const Arg& a) { want(a, kAll); });
    }
  }

  void want_of_operation(const Operation& operation, const Step& step, uint64_t out, unsigned first) {
    const OperandBits operands(operation, arg(step, first), arg(step, first + 1), arg(step, first + 2));
    for (unsigned n = first; n < step.argument_count; ++n) want(*arg(step, n), operands.of(n - first, out));
  }

  void want_of_comparison(const Step& step, bool with_launch) {
    const Arg* a = arg(step, step.destinations);
    const Arg* b = arg(step, step.destinations + 1u);
    const Arg* combined = arg(step, step.destinations + 2u);
    if (combined != nullptr) want(*combined, 1);
    if (a == nullptr || b == nullptr || with_launch) return;
    want(*a, kAll);
    want(*b, kAll);
  }

  template <typename F>
  void each_source(const Step& step, F&& f) {
    each_arg(program_, step, [&](const Arg& a, bool written) {
      if (!written || a.address) f(a);
    });
  }
  void want_all(const Step& step) {
    if (step.guard != kNone) want(step.guard, 1);
    each_source(step, [&](const Arg& a) { want(a, kAll); });
  }
  // Where a copy goes in shared memory, and the mbarrier that it completes on, the last of its addresses. Where its
  // data are in global memory, and the coordinates in a tensor, do not matter.
  void want_of_copy(const Step& step) {
    if (step.guard != kNone) want(step.guard, 1);
    const Arg* last = nullptr;
    for (unsigned n = 0; n < step.argument_count; ++n) {
      const Arg& a = *arg(step, n);
      if (!a.address) continue;
      if (last == nullptr) want(a, kAll);
      last = &a;
    }
    const Copy& copy = meaning(step).copy;
    if (last != nullptr && copy.on_mbarrier) want(*last, kAll);
    // The size of a bulk copy and the mask of a multicast.
    if (!copy.on_mbarrier) return;
    for (unsigned n = 0; n < step.argument_count; ++n) {
      if (!arg(step, n)->address) want(*arg(step, n), kAll);
    }
  }

  ProtocolBits& all_;
  const Program& program_;
  // Of the block at hand: by register; by step.
  std::vector<uint64_t> bits_;
  std::vector<uint8_t> of_launch_;
  std::vector<uint8_t> with_launch_;
  bool changed_ = false;
};

ProtocolBits::ProtocolBits(const Program& program, std::vector<bool> free_blocks)
    : program_(program), free_(std::move(free_blocks)) {
  for (const Code& code : program.code) {
    bits_in_.emplace_back(code.live_in.size(), 0);
    of_launch_in_.emplace_back(code.live_in.size(), uint8_t{0});
  }
  BitsOfBlock(*this).solve();
}

const std::vector<ProtocolBits::Bits>& ProtocolBits::before(uint32_t block, uint32_t step) {
  const auto [known, fresh] = known_.try_emplace({block, step});
  if (!fresh) return known->second;
  BitsOfBlock here(*this);
  here.look_back(block, step);
  for (uint32_t r = 0; r < here.bits().size(); ++r) {
    if (here.bits()[r] != 0) known->second.emplace_back(r, here.bits()[r]);
  }
  return known->second;
}

}  // namespace tmemlint::program
