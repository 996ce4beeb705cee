// tmem-descriptor: what instruction descriptors and shared-memory descriptors say, and the lanes of the operands in
// Tensor Memory that an instruction descriptor's shape calls for (ISA 9.7.16.4, 9.7.16.10.5).
#include <algorithm>
#include <bit>
#include <map>

#include "analyzer/assumptions/assumptions.h"
#include "analyzer/ptx/descriptor.h"
#include "rules/facts.h"

namespace tmemlint::rules {

namespace {

using value::Op;
using value::Term;
using value::TermKind;
using value::Value;

// What is known of a number bit by bit; `value` has no bit outside `known`.
struct Bits {
  uint64_t known = 0;
  uint64_t value = 0;

  static Bits of(uint64_t number) { return {~uint64_t{0}, number}; }
  uint64_t zeros() const { return known & ~value; }
  bool operator==(const Bits&) const = default;
};

Bits operator|(Bits a, Bits b) {
  const uint64_t ones = a.value | b.value;
  return {ones | (a.zeros() & b.zeros()), ones};
}
Bits operator&(Bits a, Bits b) {
  const uint64_t ones = a.value & b.value;
  return {ones | a.zeros() | b.zeros(), ones};
}
Bits operator^(Bits a, Bits b) {
  const uint64_t known = a.known & b.known;
  return {known, (a.value ^ b.value) & known};
}
// A bit of a sum is known where both bits and the carry into it are: the carries of the smallest and of the largest
// sum.
Bits operator+(Bits a, Bits b) {
  const uint64_t least = a.value + b.value;
  const uint64_t most = ~a.zeros() + ~b.zeros();
  const uint64_t no_carry = ~(most ^ a.zeros() ^ b.zeros());
  const uint64_t carry = least ^ a.value ^ b.value;
  const uint64_t known = a.known & b.known & (no_carry | carry);
  return {known, least & known};
}
// Whichever of the two it is.
Bits either(Bits a, Bits b) {
  const uint64_t known = a.known & b.known & ~(a.value ^ b.value);
  return {known, a.value & known};
}
Bits shifted_left(Bits a, unsigned left) {
  if (left >= 64) return Bits::of(0);
  return {(a.known << left) | value::truncate(~uint64_t{0}, left), a.value << left};
}
Bits low_bits(Bits a, unsigned width) {
  return a & Bits::of(value::truncate(~uint64_t{0}, width));
}

// A descriptor is put together from an address that is known to the machine only and from fields that are constants:
// what the constants leave no doubt about can be judged.
class KnownBits {
public:
  explicit KnownBits(const value::Terms& terms) : terms_(terms) {}

  Bits of(const Value& value, unsigned lane) { return of_value(terms_.lane(value, lane), kMostDepth); }

private:
  static constexpr unsigned kMostDepth = assumptions::kDepthOfKnownBits;

  // Of a value that is the same in all lanes.
  Bits of_value(const Value& value, unsigned depth) {
    const Bits number = Bits::of(value.number);
    if (value.base == 0) return number;
    if (value.plain != 0 || value.table != 0) return {};
    return number + of_term(value.base, depth);
  }

  Bits of_term(uint32_t index, unsigned depth) {
    if (const auto it = seen_.find(index); it != seen_.end()) return it->second;
    const Term& term = terms_[index];
    // Sound while it is being worked out, for a join that leads back to itself.
    const Bits zeros = {term.zero_bits, 0};
    seen_[index] = zeros;
    if (depth == 0) return zeros;
    const Bits computed = low_bits(compute(term, depth - 1), term.width);
    return seen_[index] = {computed.known | zeros.known, computed.value & ~zeros.known};
  }

  Bits compute(const Term& term, unsigned depth) {
    const auto arg = [&](size_t n) { return low_bits(of_value(term.args[n], depth), term.operation.width); };
    switch (term.kind) {
      case TermKind::kSum: {
        Bits sum = Bits::of(0);
        for (size_t n = 0; n < term.args.size(); ++n) {
          const uint64_t factor = term.coefficients[n];
          if (!std::has_single_bit(factor)) return {};
          sum = sum + shifted_left(of_value(term.args[n], depth), static_cast<unsigned>(std::countr_zero(factor)));
        }
        return sum;
      }
      case TermKind::kJoin: {
        if (!term.listed || term.set.empty()) return {};
        Bits all = of_value(term.set.front(), depth);
        for (const Value& value : term.set) all = either(all, of_value(value, depth));
        return all;
      }
      case TermKind::kPure:
        break;
      case TermKind::kNone:
      case TermKind::kOpaque:
      case TermKind::kAllocation:
        return {};
    }
    switch (term.operation.op) {
      case Op::kOr:
        return arg(0) | arg(1);
      case Op::kAnd:
        return arg(0) & arg(1);
      case Op::kXor:
        return arg(0) ^ arg(1);
      case Op::kNot:
        return arg(0) ^ Bits::of(~uint64_t{0});
      case Op::kShl:
        if (!term.args[1].constant()) return {};
        return shifted_left(arg(0), static_cast<unsigned>(std::min<uint64_t>(term.args[1].number, 64)));
      case Op::kShr: {
        if (!term.args[1].constant() || term.operation.is_signed || term.args[1].number >= 64) return {};
        const auto by = static_cast<unsigned>(term.args[1].number);
        const Bits from = arg(0);
        return {(from.known >> by) | ~(~uint64_t{0} >> by), from.value >> by};
      }
      case Op::kZext:
        return low_bits(of_value(term.args[0], depth), term.operation.aux);
      case Op::kSelect:
        return either(arg(1), arg(2));
      // Not computed bit by bit: no bit is known.
      case Op::kMov:
      case Op::kAdd:
      case Op::kSub:
      case Op::kMul:
      case Op::kMulHi:
      case Op::kNeg:
      case Op::kAbs:
      case Op::kMin:
      case Op::kMax:
      case Op::kDiv:
      case Op::kRem:
      case Op::kEq:
      case Op::kLt:
      case Op::kBfe:
      case Op::kBfi:
      case Op::kPrmt:
      case Op::kLop3:
      case Op::kClz:
      case Op::kBrev:
      case Op::kBfind:
      case Op::kPopc:
      case Op::kFns:
      case Op::kSext:
      case Op::kFunnel:
      case Op::kButterfly:
      case Op::kGeneric:
        return {};
    }
    return {};
  }

  const value::Terms& terms_;
  std::map<uint32_t, Bits> seen_;
};

// What an operand may hold where it is used.
struct Candidates {
  std::vector<uint64_t> values;  // every one of them; empty: not listed
  Bits bits;                     // known of all of them
};

std::string hexadecimal(uint64_t value) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  do {
    out.insert(out.begin(), kDigits[value % 16]);
    value /= 16;
  } while (value != 0);
  return "0x" + out;
}

std::string sentences(const std::vector<std::string>& all) {
  std::string out;
  for (const std::string& sentence : all) (out += out.empty() ? "" : "; ") += sentence;
  return out;
}

// What is said of each of them.
std::vector<std::string> said_of_each(const std::vector<std::vector<std::string>>& said) {
  if (said.empty()) return {};
  std::vector<std::string> out = said.front();
  for (const std::vector<std::string>& other : said) {
    std::erase_if(out, [&](const std::string& s) { return std::find(other.begin(), other.end(), s) == other.end(); });
  }
  return out;
}

class DescriptorCheck {
public:
  DescriptorCheck(Context& context, const warp::WarpGraph& w, const warp::Event& e, KnownBits& known)
      : context_(context),
        warp_(w),
        event_(e),
        operands_(w.operands_of(e)),
        known_(known),
        form_(context.form(e)),
        instruction_(context.module().instructions[e.instruction]),
        roles_(ptx::roles(context.module(), instruction_, form_)) {}

  void run() {
    if (form_.op == ptx::Tcgen05::kShift) {
      lanes_of("taddr", roles_.address, {0, 32, 64, 96}, "the lane of its address is a multiple of 32");
    }
    if (form_.op == ptx::Tcgen05::kCp) smem("the shared-memory descriptor", roles_.descriptor, false);
    if (form_.op != ptx::Tcgen05::kMma && form_.op != ptx::Tcgen05::kMmaWs) return;
    if (form_.kind == ptx::MmaKind::kNone) return;
    idesc();
    if (!in_brackets(roles_.a)) smem("the descriptor of A", roles_.a, false);
    smem("the descriptor of B", roles_.b, true);
    alignment();
  }

private:
  const ptx::Operand& operand(uint32_t index) const { return context_.module().operands_of(instruction_)[index]; }
  bool in_brackets(uint32_t index) const {
    return index != kNone && operand(index).kind == ptx::Operand::Kind::kAddress;
  }
  std::string_view target() const { return context_.module().target; }

  Candidates candidates(uint32_t index, unsigned width) {
    Candidates out;
    // Threads with descriptors of their own: which of them issues it is another rule's matter.
    if (index >= operands_.size() || !context_.terms().uniform(operands_[index], event_.lanes)) return out;
    const auto lane = static_cast<unsigned>(std::countr_zero(event_.lanes));
    if (auto values = context_.terms().enumerate(operands_[index], lane, width)) out.values = std::move(*values);
    out.bits = low_bits(known_.of(operands_[index], lane), width);
    for (size_t n = 0; n < out.values.size(); ++n) {
      out.bits = n == 0 ? Bits::of(out.values[n]) : either(out.bits, Bits::of(out.values[n]));
    }
    if (out.values.empty()) {
      // A few open bits (the id of a scale factor) can be tried out.
      const uint64_t open = value::truncate(~out.bits.known, width);
      constexpr auto kMostOpen = static_cast<int>(assumptions::kOpenBitsTried);
      if (std::popcount(open) > kMostOpen) {
        context_.terms().uses().count(assumptions::Id::kOpenBitsTried);
      } else {
        uint64_t some = 0;
        do {
          out.values.push_back(out.bits.value | some);
          some = (some - open) & open;
        } while (some != 0);
      }
    }
    return out;
  }

  void report(uint32_t index, std::string message) {
    Draft d;
    d.at = At(event_.instruction, index == kNone ? ptx::Span{} : operand(index).span);
    d.message = std::move(message);
    d.warp = &warp_;
    d.node = event_.node;
    context_.report(std::move(d));
  }

  std::string of_instruction() const { return " of " + std::string(context_.name(event_.instruction)); }

  void idesc() {
    idesc_ = candidates(roles_.idesc, 32);
    if (idesc_.values.empty()) return;
    std::vector<std::vector<std::string>> said;
    for (uint64_t value : idesc_.values) {
      said.push_back(ptx::judge_idesc(static_cast<uint32_t>(value), form_, target()));
      if (said.back().empty()) return;  // it may be this one
    }
    report_each(roles_.idesc, "the instruction descriptor" + of_instruction(), idesc_.values, said);
  }

  // Each of the values is illegal; what is said of each.
  void report_each(uint32_t index, const std::string& subject, const std::vector<uint64_t>& values,
                   const std::vector<std::vector<std::string>>& said) {
    if (values.size() == 1) return report(index, subject + ", " + hexadecimal(values[0]) + ": " + sentences(said[0]));
    const std::vector<std::string> same = said_of_each(said);
    if (!same.empty()) return report(index, subject + ": " + sentences(same));
    report(index, subject + " is illegal whichever of its " + std::to_string(values.size()) + " values it has; " +
                      hexadecimal(values[0]) + ": " + sentences(said[0]));
  }

  void smem(const char* subject, uint32_t index, bool is_b) {
    if (index == kNone) return;
    const Candidates found = candidates(index, 64);
    if (found.bits.known == 0) return;
    const auto judge = [&](uint64_t value, uint64_t known) {
      std::vector<std::string> out = ptx::judge_smem_descriptor(value, known, target());
      if (form_.kind == ptx::MmaKind::kNone || idesc_.values.empty()) return out;
      std::vector<std::vector<std::string>> layout;
      layout.reserve(idesc_.values.size());
      for (uint64_t idesc : idesc_.values) {
        layout.push_back(ptx::judge_operand_layout(static_cast<uint32_t>(idesc), form_, is_b, value, known));
      }
      for (std::string& sentence : said_of_each(layout)) out.push_back(std::move(sentence));
      return out;
    };
    const std::string whose = subject + of_instruction();
    const std::vector<std::string> said = judge(found.bits.value, found.bits.known);
    // The whole value is not shown: the start address in it is where this tool puts the variable.
    if (!said.empty()) return report(index, whose + ": " + sentences(said));
    std::vector<std::vector<std::string>> each;
    for (uint64_t value : found.values) {
      each.push_back(judge(value, ~uint64_t{0}));
      if (each.back().empty()) return;  // it may be this one
    }
    if (!each.empty()) report_each(index, whose, found.values, each);
  }

  // The lanes that an operand in Tensor Memory may begin at, when all of them are known. The lane field has more bits
  // than there are lanes; as for ld and st, the lane modulo 128 is what counts.
  std::vector<uint32_t> start_lanes(uint32_t index) const {
    constexpr uint32_t kLanesOfTensorMemory = 128;
    std::vector<uint32_t> out;
    if (index >= operands_.size() || !in_brackets(index)) return out;
    if (!context_.terms().uniform(operands_[index], event_.lanes)) return out;
    for (const TmemAddress& address : context_.tmem_addresses(operands_[index], event_.lanes)) {
      out.push_back(address.lane % kLanesOfTensorMemory);
    }
    return out;
  }

  bool lanes_of(const char* name, uint32_t index, const std::vector<uint32_t>& legal, const std::string& rule) {
    const std::vector<uint32_t> lanes = start_lanes(index);
    const auto is_legal = [&](uint32_t lane) { return std::find(legal.begin(), legal.end(), lane) != legal.end(); };
    if (lanes.empty() || std::any_of(lanes.begin(), lanes.end(), is_legal)) return true;
    report(index, "`" + std::string(name) + "`" + of_instruction() + " begins at lane " +
                      std::to_string(lanes.front()) + ", but " + rule);
    return false;
  }

  void alignment() {
    bool whole = false;  // some possible shape takes all lanes
    bool half = idesc_.values.empty();
    std::string shape;
    for (uint64_t value : idesc_.values) {
      const ptx::MmaShape s = ptx::mma_shape(static_cast<uint32_t>(value), form_);
      if (s.layout == 0) return;
      whole = whole || !s.half_lanes;
      half = half || s.half_lanes;
      shape = " with M = " + std::to_string(s.m) + " (layout " + s.layout + ")";
    }
    if (idesc_.values.size() != 1) shape.clear();
    std::vector<uint32_t> legal = {0};
    if (half) legal.push_back(16);
    const std::string rule = "the operands in Tensor Memory" + shape + " begin at lane " + (half ? "0 or 16" : "0");
    struct Placed {
      const char* name;
      uint32_t index;
    };
    const Placed operands[] = {{"d-tmem", roles_.address}, {"a-tmem", roles_.a}, {"sp-meta-tmem", roles_.metadata}};
    for (const Placed& o : operands) {
      if (std::string_view(o.name) == "sp-meta-tmem" && !form_.sparse) continue;
      if (!lanes_of(o.name, o.index, legal, rule)) return;
    }
    if (!half || whole) return;
    // Half of the lanes: all operands in the same half.
    const std::vector<uint32_t> d = start_lanes(roles_.address);
    if (d.size() != 1) return;
    for (const Placed& o : {operands[1], operands[2]}) {
      if (std::string_view(o.name) == "sp-meta-tmem" && !form_.sparse) continue;
      if (!lanes_of(o.name, o.index, d, rule + ", all in the same half; D begins at lane " + std::to_string(d[0])))
        return;
    }
  }

  Context& context_;
  const warp::WarpGraph& warp_;
  const warp::Event& event_;
  const std::span<const value::Value> operands_;
  KnownBits& known_;
  const ptx::Form& form_;
  const ptx::Instruction& instruction_;
  const ptx::OperandRoles roles_;
  Candidates idesc_;
};

// Whether there is something to judge: a descriptor, or an address with lanes of its own rules.
bool has_descriptor(ptx::Tcgen05 op) {
  return op == ptx::Tcgen05::kMma || op == ptx::Tcgen05::kMmaWs || op == ptx::Tcgen05::kCp ||
         op == ptx::Tcgen05::kShift;
}

void check_descriptor(Context& context) {
  KnownBits known(context.terms());
  for (const warp::WarpGraph& w : context.warps()) {
    for (const warp::Event& e : w.events) {
      if (e.kind == warp::Event::Kind::kTcgen05 && e.lanes != 0 && has_descriptor(context.form(e).op))
        DescriptorCheck(context, w, e, known).run();
    }
  }
}

}  // namespace

extern const Rule kDescriptor;
const Rule kDescriptor = {
    "tmem-descriptor",
    report::Level::kError,
    "An instruction descriptor or shared-memory descriptor that the ISA forbids, or an operand of mma at a lane that "
    "its "
    "shape does not allow.",
    "Correct the field that the message names; tmemlint --decode-descriptor prints the fields of a value.",
    check_descriptor,
    /*source_only=*/false,
    /*stands_alone=*/true,
};

}  // namespace tmemlint::rules
