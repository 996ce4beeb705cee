#include "analyzer/program/protocol_bits.h"

#include <bit>
#include <optional>

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

class ProtocolBits {
public:
  ProtocolBits(const Program& program, const std::vector<bool>& free_blocks)
      : program_(program), free_(free_blocks), bits_(program.register_width.size(), 0) {}

  std::vector<uint64_t> run() && {
    for (uint32_t b = 0; b < program_.code.size(); ++b) {
      const Code& code = program_.code[b];
      if (code.condition != kNone && code.skip_to == kNone && !free_[b])
        want(code.condition, program_.graph->blocks[b].ending == kernel::Ending::kIndexed ? kAll : 1);
    }
    do {
      changed_ = false;
      for (size_t s = program_.steps.size(); s-- > 0;) look(program_.steps[s]);
    } while (changed_);
    return std::move(bits_);
  }

private:
  void want(uint32_t reg, uint64_t bits) {
    if ((bits & ~bits_[reg]) == 0) return;
    bits_[reg] |= bits;
    changed_ = true;
  }
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

  void look(const Step& step) {
    if (step.is_marker()) return;
    if (step.kind == Step::Kind::kCopyIn) {
      want_all(step);
      return;
    }
    const Meaning& m = program_.meanings[program_.graph->module->instructions[step.instruction].opcode];
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
    const uint64_t out = wanted(step);
    if (out == 0) return;
    if (step.guard != kNone) want(step.guard, 1);
    if (m.action == Action::kPure && step.vector_count == 0) {
      want_of_operation(m.operation, step, out, 1);
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
  // Coordinates in a tensor are data; they stand in the vector operand.
  void want_of_copy(const Step& step) {
    if (step.guard != kNone) want(step.guard, 1);
    for (unsigned n = 0; n < step.argument_count; ++n) want(*arg(step, n), kAll);
  }

  const Program& program_;
  const std::vector<bool>& free_;
  std::vector<uint64_t> bits_;
  bool changed_ = false;
};

}  // namespace

std::vector<uint64_t> protocol_bits(const Program& program, const std::vector<bool>& free_blocks) {
  return ProtocolBits(program, free_blocks).run();
}

}  // namespace tmemlint::program
