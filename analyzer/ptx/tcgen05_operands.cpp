// The operands of a tcgen05 instruction, as check_form judges them: kinds, types, numbers of registers, ranges.
#include <algorithm>
#include <optional>

#include "analyzer/ptx/tcgen05_check.h"

namespace tmemlint::ptx {

using sv = std::string_view;

std::string quoted(sv text) {
  return "`" + std::string(text) + "`";
}
std::string dotted(sv word) {
  return "`." + std::string(word) + "`";
}

std::string listed(std::span<const sv> words, sv last) {
  std::string out;
  for (size_t i = 0; i < words.size(); ++i) {
    if (i > 0) out += i + 1 == words.size() ? last : sv(", ");
    out += dotted(words[i]);
  }
  return out;
}

namespace {

// "the shape", but "`.sync`"
std::string named(Class cls) {
  const sv name = class_name(cls);
  return name.front() == '.' ? quoted(name) : "the " + std::string(name);
}

}  // namespace

std::string described(const When& when, const Opcode* opcode) {
  switch (when.test) {
    case When::Test::kAlways:
      return "always";
    case When::Test::kPresent:
      return "with " + named(when.cls);
    case When::Test::kAbsent:
      return "without " + named(when.cls);
    case When::Test::kOneOf:
      break;
  }
  if (opcode) {
    for (sv modifier : opcode->modifiers) {
      if (std::ranges::find(when.words, modifier) != when.words.end()) return "with " + dotted(modifier);
    }
  }
  return "with " + listed(when.words);
}

namespace {

class OperandCheck {
public:
  using Problems = std::vector<FormProblem>;

  OperandCheck(const Module& module, const Function& function, const Instruction& instruction,
               const ReplaceModifier& replace)
      : module_(module), function_(function), instruction_(instruction), replace_(replace) {}

  void judge(const Opcode& opcode, const InstructionForm& form, Problems& out) {
    const SlotMatch match = match_operands(module_, instruction_, opcode, form);
    for (size_t i = 0; i < form.operands.size(); ++i) {
      const Slot& slot = form.operands[i];
      if (match.slot_operand[i] != kNone) {
        judge_operand(opcode, form, slot, operand(match.slot_operand[i]), out);
      } else if (!slot.optional && holds(slot.when, opcode)) {
        const bool conditional = slot.when.test != When::Test::kAlways;
        add(out, instruction_.span,
            quoted(form.name) + (conditional ? " " + described(slot.when, &opcode) : std::string()) +
                " needs the operand " + quoted(slot.name));
      }
    }
    if (match.extra == kNone) return;
    const Operand& extra = operand(match.extra);
    if (match.extra_slot != kNone) {
      const Slot& slot = form.operands[match.extra_slot];
      add(out, extra.span,
          quoted(form.name) + " takes the operand " + quoted(slot.name) + " only " + described(slot.when));
    } else {
      size_t most = 0;
      for (const Slot& slot : form.operands) most += holds(slot.when, opcode);
      add(out, extra.span,
          quoted(form.name) + " takes " + (most == 0 ? "no operand" : "at most " + std::to_string(most) + " operands") +
              " here; this one is too many");
    }
  }

private:
  static void add(Problems& out, Span span, std::string message, std::string fix = {}) {
    out.push_back({span, std::move(message), std::move(fix)});
  }

  const Operand& operand(uint32_t index) const { return module_.operands_of(instruction_)[index]; }

  std::optional<int64_t> immediate(const Operand& o) const {
    if (o.kind == Operand::Kind::kInteger) return o.value;
    if (o.kind == Operand::Kind::kSpecial && o.ref < module_.special_registers.size() &&
        module_.special_registers[o.ref] == "WARP_SZ") {
      return 32;
    }
    return std::nullopt;
  }

  Type type_of(uint32_t reg) const {
    return reg < function_.registers.size() ? function_.registers[reg].type : Type::kNone;
  }

  static bool is_integer(Type type, unsigned width) { return is_integer_type(type) && bits(type) == width; }

  static sv type_name(Type type) {
    switch (type) {
      case Type::kNone:
        return "unknown";
      case Type::kPred:
        return ".pred";
      case Type::kB8:
        return ".b8";
      case Type::kU8:
        return ".u8";
      case Type::kS8:
        return ".s8";
      case Type::kB16:
        return ".b16";
      case Type::kU16:
        return ".u16";
      case Type::kS16:
        return ".s16";
      case Type::kF16:
        return ".f16";
      case Type::kF16x2:
        return ".f16x2";
      case Type::kBf16:
        return ".bf16";
      case Type::kBf16x2:
        return ".bf16x2";
      case Type::kB32:
        return ".b32";
      case Type::kU32:
        return ".u32";
      case Type::kS32:
        return ".s32";
      case Type::kF32:
        return ".f32";
      case Type::kTf32:
        return ".tf32";
      case Type::kB64:
        return ".b64";
      case Type::kU64:
        return ".u64";
      case Type::kS64:
        return ".s64";
      case Type::kF64:
        return ".f64";
      case Type::kB128:
        return ".b128";
      case Type::kOther:
        return "another type";
    }
    return {};
  }

  sv text(const Operand& o) const {
    const sv source = module_.source ? module_.source->text() : sv{};
    return o.span.begin < o.span.end && o.span.end <= source.size()
               ? source.substr(o.span.begin, o.span.end - o.span.begin)
               : sv{};
  }

  // "`%rd1` is a .b64 register"
  std::string what_is(const Operand& o) const {
    std::string subject = text(o).empty() || text(o).size() > 40 ? "this" : quoted(text(o));
    switch (o.kind) {
      case Operand::Kind::kRegister:
        if (o.negated && type_of(o.ref) != Type::kPred) return subject + " negates a register";
        return subject + " is a " + std::string(type_name(type_of(o.ref))) + " register";
      case Operand::Kind::kInteger:
        return subject + " is an immediate";
      case Operand::Kind::kFloat:
        return subject + " is a floating-point immediate";
      case Operand::Kind::kSpecial:
        return subject + " is a special register";
      case Operand::Kind::kVariable:
        return subject + " is a variable";
      case Operand::Kind::kLabel:
        return subject + " is a label";
      case Operand::Kind::kFunction:
        return subject + " is a function";
      case Operand::Kind::kAddress:
        if (o.base == Operand::Kind::kRegister) {
          return subject + " is an address in a " + std::string(type_name(type_of(o.ref))) + " register";
        }
        if (o.base == Operand::Kind::kInteger) return subject + " is an immediate address";
        return subject + " is the address of a variable";
      case Operand::Kind::kVector:
        return subject + " is a vector";
      case Operand::Kind::kGroup:
        return subject + " is a group";
      case Operand::Kind::kSink:
        return "`_` discards a result";
      case Operand::Kind::kUnresolved:
        return subject + " is not declared";
    }
    return subject;
  }

  void wrong(const Operand& o, const Slot& slot, const InstructionForm& form, sv wanted, Problems& out,
             std::string fix = {}) {
    add(out, o.span, what_is(o) + "; " + quoted(slot.name) + " of " + quoted(form.name) + " is " + std::string(wanted),
        std::move(fix));
  }

  // `[%r1]` for `%r1` and the other way round.
  std::string bracketed(const Operand& o, unsigned width) const {
    if (o.kind != Operand::Kind::kRegister || o.negated || !is_integer(type_of(o.ref), width)) return {};
    return "[" + std::string(text(o)) + "]";
  }
  std::string unbracketed(const Operand& o, unsigned width) const {
    if (o.kind != Operand::Kind::kAddress || o.base != Operand::Kind::kRegister || o.value != 0) return {};
    if (!is_integer(type_of(o.ref), width) || o.ref >= function_.registers.size()) return {};
    return function_.register_name(o.ref);
  }

  bool is_register(const Operand& o, unsigned width) const {
    return o.kind == Operand::Kind::kRegister && !o.negated && is_integer(type_of(o.ref), width);
  }
  bool is_data_register(const Operand& o) const {
    return o.kind == Operand::Kind::kRegister && !o.negated && bits(type_of(o.ref)) == 32;
  }
  bool is_address(const Operand& o, unsigned width) const {
    return o.kind == Operand::Kind::kAddress && o.base == Operand::Kind::kRegister && is_integer(type_of(o.ref), width);
  }

  void judge_operand(const Opcode& opcode, const InstructionForm& form, const Slot& slot, const Operand& o,
                     Problems& out) {
    switch (slot.kind) {
      case OperandKind::kTmemAddress:
        if (is_address(o, 32)) return;
        if (o.kind == Operand::Kind::kAddress && o.base == Operand::Kind::kVariable) {
          add(out, o.span,
              what_is(o) + ", not the Tensor Memory address that it may hold; load that into a 32-bit register");
          return;
        }
        return wrong(o, slot, form, "a 32-bit register in brackets, with or without an offset", out, bracketed(o, 32));
      case OperandKind::kMatrixA:
        if (is_address(o, 32)) {
          return;
        }
        if (is_register(o, 64) || immediate(o)) {
          if (opcode.has("ashift")) {
            add(out, o.span,
                "`.ashift` shifts the rows of A in Tensor Memory: A is `[taddr]` then, not a shared-memory descriptor");
          }
          return;
        }
        return wrong(o, slot, form, "a 64-bit shared-memory descriptor, or a 32-bit register in brackets", out);
      case OperandKind::kTmemBase:
        if (is_register(o, 32) || immediate(o)) return;
        return wrong(o, slot, form, "a 32-bit register or an immediate, without brackets", out, unbracketed(o, 32));
      case OperandKind::kSharedAddress:
        return judge_shared_address(opcode, form, slot, o, out);
      case OperandKind::kColumns:
        return judge_columns(opcode, form, slot, o, out);
      case OperandKind::kData:
        return judge_data(opcode, form, slot, o, out);
      case OperandKind::kSparseMetadata: {
        const Form decoded = decode(opcode);
        if (decoded.num == 0) return;
        return judge_vector(form, slot, o, (decoded.num + 31u) / 32u, "two bits for each value that it keeps", out);
      }
      case OperandKind::kLaneMask: {
        const unsigned groups = decode(opcode).cta_group;
        if (groups == 0) return;
        return judge_vector(form, slot, o, 4 * groups,
                            groups == 1 ? "one bit for each of 128 lanes" : "one bit for each of the pair's 256 lanes",
                            out);
      }
      case OperandKind::kRegister32:
        if (is_data_register(o)) return;
        return wrong(o, slot, form, "a 32-bit register", out);
      case OperandKind::kImmediate:
        if (immediate(o)) return;
        return wrong(o, slot, form, "an integer immediate", out);
      case OperandKind::kDescriptor:
        if (is_register(o, 64) || immediate(o)) return;
        return wrong(o, slot, form, "a 64-bit register or an immediate, without brackets", out, unbracketed(o, 64));
      case OperandKind::kIdesc:
        if (is_register(o, 32) || immediate(o)) return;
        return wrong(o, slot, form, "a 32-bit register or an immediate, without brackets", out, unbracketed(o, 32));
      case OperandKind::kPredicate:
        if (o.kind == Operand::Kind::kRegister && type_of(o.ref) == Type::kPred) return;
        if (immediate(o)) return;
        return wrong(o, slot, form, "a predicate, negated or not, or 0 or 1", out);
      case OperandKind::kScaleInput: {
        const std::optional<int64_t> value = immediate(o);
        if (value && *value >= 0 && *value <= 15) return;
        return wrong(o, slot, form, "an immediate from 0 to 15", out);
      }
      case OperandKind::kCtaMask: {
        const bool wide = opcode.has("multicast::cluster::32b");
        if (is_register(o, wide ? 32 : 16)) return;
        return wrong(o, slot, form, wide ? "a 32-bit register" : "a 16-bit register", out);
      }
    }
  }

  void judge_shared_address(const Opcode& opcode, const InstructionForm& form, const Slot& slot, const Operand& o,
                            Problems& out) {
    if (is_address(o, 32) || is_address(o, 64)) return;
    if (o.kind == Operand::Kind::kAddress && o.base == Operand::Kind::kVariable) {
      if (o.ref >= module_.variables.size()) return;
      const Variable& variable = module_.variables[o.ref];
      if (variable.space != Space::kShared) {
        add(out, o.span, what_is(o) + " outside shared memory; " + quoted(slot.name) + " is in `.shared`");
        return;
      }
      const int64_t size = form.op == Tcgen05::kCommit ? 8 : 4;
      if (variable.alignment % size == 0 && o.value % size != 0) {
        add(out, o.span,
            quoted(text(o)) + " is not aligned: " + quoted(slot.name) + " is an object of " + std::to_string(size) +
                " bytes at a multiple of " + std::to_string(size));
      }
      return;
    }
    (void)opcode;
    wrong(o, slot, form, "an address in brackets: a 32- or 64-bit register or a shared variable", out,
          bracketed(o, 32).empty() ? bracketed(o, 64) : bracketed(o, 32));
  }

  void judge_columns(const Opcode& opcode, const InstructionForm& form, const Slot& slot, const Operand& o,
                     Problems& out) {
    if (is_register(o, 32)) return;
    const std::optional<int64_t> value = immediate(o);
    if (!value) return wrong(o, slot, form, "a 32-bit integer register or an immediate", out);
    const bool exclusive = opcode.has("exclusive");
    if (legal_columns(module_.target, exclusive, *value)) return;
    const std::string capacity = std::to_string(column_capacity(module_.target, exclusive));
    out.push_back({o.span,
                   quoted(form.name) + " of " + std::to_string(*value) + " columns; legal are " +
                       (exclusive ? "the multiples of 32 up to " + capacity : "32, 64, 128, 256 and 512"),
                   {},
                   true});
  }

  void judge_data(const Opcode& opcode, const InstructionForm& form, const Slot& slot, const Operand& o,
                  Problems& out) {
    const Form decoded = decode(opcode);
    if (o.kind != Operand::Kind::kVector) {
      const bool one = decoded.registers == 1 && is_data_register(o);
      return wrong(o, slot, form, "a list of 32-bit registers in braces", out,
                   one ? "{" + std::string(text(o)) + "}" : std::string());
    }
    const auto count = static_cast<uint64_t>(o.value);
    if (decoded.registers != 0 && count != decoded.registers) {
      // The same instruction with as many registers as there are.
      std::string text_of_fix;
      for (size_t i = 0; i < opcode.modifiers.size(); ++i) {
        const Word* word = find_word(opcode.modifiers[i]);
        if (!word || word->cls != Class::kNum) continue;
        const auto use = std::ranges::find(form.uses, Class::kNum, &Use::cls);
        text_of_fix = replace_(i, use->words);
      }
      add(out, o.span,
          counted(count) + "; " + quoted(form.name) + shape_and_num(opcode) + " has " +
              std::to_string(decoded.registers),
          std::move(text_of_fix));
    }
    judge_elements(form, slot, o, out);
  }

  static std::string counted(uint64_t count) {
    return std::to_string(count) + (count == 1 ? " register" : " registers") + " here";
  }

  std::string shape_and_num(const Opcode& opcode) const {
    std::string out = " with ";
    for (Class cls : {Class::kSpCompress, Class::kShape, Class::kNum}) {
      for (sv modifier : opcode.modifiers) {
        const Word* word = find_word(modifier);
        if (word && word->cls == cls) out += "`." + std::string(modifier) + "` ";
      }
    }
    out.pop_back();
    return out;
  }

  void judge_vector(const InstructionForm& form, const Slot& slot, const Operand& o, unsigned count, sv why,
                    Problems& out) {
    if (o.kind != Operand::Kind::kVector) {
      return wrong(o, slot, form, "a list of " + std::to_string(count) + " registers in braces", out);
    }
    if (static_cast<uint64_t>(o.value) != count) {
      add(out, o.span,
          counted(static_cast<uint64_t>(o.value)) + "; " + quoted(slot.name) + " has " + std::to_string(count) + ", " +
              std::string(why));
    }
    judge_elements(form, slot, o, out);
  }

  void judge_elements(const InstructionForm& form, const Slot& slot, const Operand& o, Problems& out) {
    for (int64_t i = 0; i < o.value; ++i) {
      const Operand& element = module_.operands[o.ref + static_cast<uint64_t>(i)];
      if (is_data_register(element)) continue;
      add(out, element.span,
          what_is(element) + "; the elements of " + quoted(slot.name) + " of " + quoted(form.name) +
              " are 32-bit registers");
      return;  // one is enough: the others are mostly wrong in the same way
    }
  }

  const Module& module_;
  const Function& function_;
  const Instruction& instruction_;
  const ReplaceModifier& replace_;
};

}  // namespace

void judge_operands(const Module& module, const Function& function, const Instruction& instruction,
                    const Opcode& opcode, const InstructionForm& form, const ReplaceModifier& replace,
                    std::vector<FormProblem>& out) {
  OperandCheck(module, function, instruction, replace).judge(opcode, form, out);
}

}  // namespace tmemlint::ptx
