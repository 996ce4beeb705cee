// check_form: judges a spelling and its operands against the table.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <optional>

#include "analyzer/ptx/sync_form.h"
#include "analyzer/ptx/tcgen05.h"
#include "analyzer/ptx/tcgen05_table.h"

namespace tmemlint::ptx {
namespace {

using sv = std::string_view;
using Need = Combination::Need;

std::string quoted(sv text) {
  return "`" + std::string(text) + "`";
}
std::string dotted(sv word) {
  return "`." + std::string(word) + "`";
}

std::string listed(std::span<const sv> words, sv last = " or ") {
  std::string out;
  for (size_t i = 0; i < words.size(); ++i) {
    if (i > 0) out += i + 1 == words.size() ? last : sv(", ");
    out += dotted(words[i]);
  }
  return out;
}

// "the shape", but "`.sync`"
std::string named(Class cls) {
  const sv name = class_name(cls);
  return name.front() == '.' ? quoted(name) : "the " + std::string(name);
}

// What about the opcode makes the condition true; without an opcode, what would.
std::string described(const When& when, const Opcode* opcode = nullptr) {
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

unsigned edit_distance(sv a, sv b) {
  std::vector<unsigned> row(b.size() + 1);
  for (unsigned j = 0; j < row.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    unsigned diagonal = row[0];
    row[0] = static_cast<unsigned>(i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const unsigned above = row[j];
      row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1])});
      diagonal = above;
    }
  }
  return row[b.size()];
}

// The legal word that a misspelt one most resembles.
struct Guess {
  const Use* use = nullptr;
  sv word;
  unsigned distance = 0;
};
Guess guess(const InstructionForm& form, sv modifier) {
  Guess best;
  for (const Use& use : form.uses) {
    for (sv word : use.words) {
      const unsigned distance = edit_distance(modifier, word);
      if (!best.use || distance < best.distance) best = {&use, word, distance};
    }
  }
  // Words that share less than half of their letters are no misspelling of each other.
  if (best.use && size_t{best.distance} * 2 > std::max(best.word.size(), modifier.size())) best.use = nullptr;
  return best;
}

std::string spelling(sv root, const std::vector<sv>& modifiers) {
  std::string out(root);
  for (sv modifier : modifiers) out += "." + std::string(modifier);
  return out;
}

class Checker {
public:
  Checker(const Module& module, const Function& function, const Instruction& instruction, LegalOpcodes& legal)
      : module_(module),
        function_(function),
        instruction_(instruction),
        opcode_(module.opcode(instruction)),
        legal_(legal) {
    legal_.resize(module.opcodes.size());
  }

  std::vector<FormProblem> run() {
    judge(opcode_, problems_);
    return std::move(problems_);
  }

private:
  using Problems = std::vector<FormProblem>;

  // With fixes only for the spelling in the source: a fix is tried by judging it in turn.
  void judge(const Opcode& opcode, Problems& out) {
    const Name name = name_of(opcode);
    const InstructionForm* form = form_of(name.op);
    if (!form) return judge_unknown(opcode, out);
    if (!is_original(opcode) || !legal_[instruction_.opcode]) {
      judge_modifiers(opcode, name, *form, out);
      if (is_original(opcode) && out.empty()) legal_[instruction_.opcode] = true;
    }
    judge_operands(opcode, *form, out);
  }

  bool is_original(const Opcode& opcode) const { return &opcode == &opcode_; }

  // Empty unless the opcode with these modifiers is legal with the operands that are there.
  std::string fix(const Opcode& opcode, std::vector<sv> modifiers) {
    if (!is_original(opcode)) return {};
    Opcode tried;
    tried.root = opcode.root;
    tried.modifiers = std::move(modifiers);
    Problems problems;
    judge(tried, problems);
    return problems.empty() ? spelling(tried.root, tried.modifiers) : std::string();
  }
  std::string fix_removed(const Opcode& opcode, size_t index) {
    std::vector<sv> modifiers = opcode.modifiers;
    modifiers.erase(modifiers.begin() + static_cast<ptrdiff_t>(index));
    return fix(opcode, std::move(modifiers));
  }
  std::string fix_replaced(const Opcode& opcode, size_t index, std::span<const sv> words) {
    std::string found;
    for (sv word : words) {
      std::vector<sv> modifiers = opcode.modifiers;
      modifiers[index] = word;
      std::string text = fix(opcode, std::move(modifiers));
      if (text.empty()) continue;
      if (!found.empty()) return {};  // more than one would do: the message lists them
      found = std::move(text);
    }
    return found;
  }
  // Where the class stands in the ISA's order.
  std::string fix_inserted(const Opcode& opcode, const Name& name, const InstructionForm& form, Class cls,
                           std::span<const sv> words) {
    if (words.size() != 1) return {};
    size_t at = name.modifiers;
    const auto rank = [&](Class c) { return std::ranges::find(form.uses, c, &Use::cls) - form.uses.begin(); };
    while (at < opcode.modifiers.size()) {
      const Word* word = find_word(opcode.modifiers[at]);
      if (word && rank(word->cls) > rank(cls)) break;
      ++at;
    }
    std::vector<sv> modifiers = opcode.modifiers;
    modifiers.insert(modifiers.begin() + static_cast<ptrdiff_t>(at), words.front());
    return fix(opcode, std::move(modifiers));
  }

  void add(Problems& out, Span span, std::string message, std::string fix = {}) {
    out.push_back({span, std::move(message), std::move(fix)});
  }

  Span modifier_span(const Opcode& opcode, size_t index) const {
    return is_original(opcode) ? tmemlint::ptx::modifier_span(module_, instruction_, index) : instruction_.opcode_span;
  }

  void judge_unknown(const Opcode& opcode, Problems& out) {
    const InstructionForm* best = nullptr;
    unsigned best_distance = 0;
    const std::string written =
        opcode.modifiers.empty() ? std::string("tcgen05") : "tcgen05." + std::string(opcode.modifiers.front());
    for (const InstructionForm& form : instruction_forms()) {
      const unsigned distance = edit_distance(written, form.name);
      if (!best || distance < best_distance) best = &form, best_distance = distance;
    }
    std::string message = quoted(written) + " is no instruction of PTX";
    if (written == "tcgen05.wait") message = "`tcgen05.wait` needs to say for what: `.wait::ld` or `.wait::st`";
    if (written == "tcgen05.fence") {
      message = "`tcgen05.fence` needs to say which: `.fence::before_thread_sync` or `.fence::after_thread_sync`";
    }
    std::string text;
    if (best && best_distance <= 3 && written != "tcgen05.wait" && written != "tcgen05.fence") {
      message += "; is " + quoted(best->name) + " meant?";
      std::vector<sv> modifiers = opcode.modifiers;
      if (best->name.find('.', 8) == sv::npos) {
        modifiers.front() = best->name.substr(8);
        text = fix(opcode, std::move(modifiers));
      }
    }
    add(out, opcode.modifiers.empty() ? instruction_.opcode_span : modifier_span(opcode, 0), std::move(message),
        std::move(text));
  }

  void judge_modifiers(const Opcode& opcode, const Name& name, const InstructionForm& form, Problems& out) {
    constexpr size_t kNowhere = ~size_t{0};
    std::array<size_t, kClassCount> where;
    std::array<bool, kClassCount> judged{};  // classes about which something has been said
    where.fill(kNowhere);
    const auto at = [&](Class cls) -> size_t& { return where[static_cast<size_t>(cls)]; };
    const auto said = [&](Class cls) -> bool& { return judged[static_cast<size_t>(cls)]; };

    for (size_t i = name.modifiers; i < opcode.modifiers.size(); ++i) {
      const sv modifier = opcode.modifiers[i];
      const Word* word = find_word(modifier);
      if (!word) {
        judge_unknown_word(opcode, form, i, out, judged);
        continue;
      }
      const auto use = std::ranges::find(form.uses, word->cls, &Use::cls);
      if (use == form.uses.end()) {
        add(out, modifier_span(opcode, i), quoted(form.name) + " takes no " + dotted(modifier), fix_removed(opcode, i));
        continue;
      }
      if (at(word->cls) != kNowhere) {
        const sv first = opcode.modifiers[at(word->cls)];
        add(out, modifier_span(opcode, i),
            first == modifier ? dotted(modifier) + " is written twice"
                              : quoted(form.name) + " takes one " + std::string(class_name(word->cls)) + "; here are " +
                                    dotted(first) + " and " + dotted(modifier),
            first == modifier ? fix_removed(opcode, i) : std::string());
        said(word->cls) = true;
        continue;
      }
      at(word->cls) = i;
      if (std::ranges::find(use->words, modifier) == use->words.end()) {
        add(out, modifier_span(opcode, i),
            dotted(modifier) + " is not legal for " + quoted(form.name) + "; " + legal(*use),
            use->required ? fix_replaced(opcode, i, use->words) : fix_removed(opcode, i));
        said(word->cls) = true;
      }
    }

    for (const Use& use : form.uses) {
      if (!use.required || at(use.cls) != kNowhere || said(use.cls)) continue;
      said(use.cls) = true;
      add(out, instruction_.opcode_span,
          use.words.size() == 1 ? quoted(form.name) + " needs " + dotted(use.words.front())
                                : quoted(form.name) + " needs " + a_or_the(use.cls) + ": " + listed(use.words),
          fix_inserted(opcode, name, form, use.cls, use.words));
    }

    for (const Combination& rule : form.combinations) {
      if (said(rule.cls) || !holds(rule.when, opcode)) continue;
      const size_t index = at(rule.cls);
      const std::string reason = rule.why.empty() ? std::string() : " (" + std::string(rule.why) + ")";
      const auto use = std::ranges::find(form.uses, rule.cls, &Use::cls);
      const std::span<const sv> words = rule.words.empty() && use != form.uses.end() ? use->words : rule.words;
      switch (rule.need) {
        case Need::kRequired:
          if (index != kNowhere) continue;
          add(out, instruction_.opcode_span,
              quoted(form.name) + " " + described(rule.when, &opcode) + " needs " +
                  (words.size() == 1 ? dotted(words.front()) : a_or_the(rule.cls) + ": " + listed(words)) + reason,
              fix_inserted(opcode, name, form, rule.cls, words));
          break;
        case Need::kForbidden:
          if (index == kNowhere) continue;
          add(out, modifier_span(opcode, index),
              quoted(form.name) + " " + described(rule.when, &opcode) + " takes no " + dotted(opcode.modifiers[index]) +
                  reason,
              fix_removed(opcode, index));
          break;
        case Need::kOneOf:
          if (index == kNowhere || std::ranges::find(rule.words, opcode.modifiers[index]) != rule.words.end()) continue;
          add(out, modifier_span(opcode, index),
              dotted(opcode.modifiers[index]) + " is not legal for " + quoted(form.name) + " " +
                  described(rule.when, &opcode) + reason + "; legal " + (rule.words.size() == 1 ? "is " : "are ") +
                  listed(rule.words, " and "),
              fix_replaced(opcode, index, rule.words));
          break;
        case Need::kBefore:
          if (index == kNowhere || at(rule.when.cls) == kNowhere || index < at(rule.when.cls)) continue;
          std::vector<sv> modifiers = opcode.modifiers;
          std::swap(modifiers[index], modifiers[at(rule.when.cls)]);
          add(out, modifier_span(opcode, index),
              dotted(opcode.modifiers[index]) + " stands before " + dotted(opcode.modifiers[at(rule.when.cls)]),
              fix(opcode, std::move(modifiers)));
          break;
      }
      said(rule.cls) = true;
    }
  }

  void judge_unknown_word(const Opcode& opcode, const InstructionForm& form, size_t i, Problems& out,
                          std::array<bool, kClassCount>& judged) {
    const sv modifier = opcode.modifiers[i];
    std::string message = "there is no modifier " + dotted(modifier);
    for (const InstructionForm& other : instruction_forms()) {
      if (other.name == std::string(form.name) + "." + std::string(modifier)) {
        message = dotted(modifier) + " stands right after " + quoted(form.name);
        add(out, modifier_span(opcode, i), std::move(message));
        return;
      }
    }
    const Guess meant = guess(form, modifier);
    if (!meant.use) {
      add(out, modifier_span(opcode, i), std::move(message), fix_removed(opcode, i));
      return;
    }
    judged[static_cast<size_t>(meant.use->cls)] = true;  // not missing, only misspelt
    const std::array<sv, 1> only = {meant.word};
    add(out, modifier_span(opcode, i), message + "; " + legal(*meant.use), fix_replaced(opcode, i, only));
  }

  static std::string a_or_the(Class cls) {
    const sv name = class_name(cls);
    if (name.front() == '.') return quoted(name);
    const bool vowel = sv("aeiou").find(name.front()) != sv::npos;
    return (vowel ? "an " : "a ") + std::string(name);
  }

  static std::string legal(const Use& use) {
    if (use.words.size() == 1) return "legal as " + std::string(class_name(use.cls)) + " is " + listed(use.words);
    return "legal as " + std::string(class_name(use.cls)) + " are " + listed(use.words, " and ");
  }

  // ---- operands

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

  static bool is_integer(Type type, unsigned width) {
    switch (type) {
      case Type::kB8:
      case Type::kU8:
      case Type::kS8:
        return width == 8;
      case Type::kB16:
      case Type::kU16:
      case Type::kS16:
        return width == 16;
      case Type::kB32:
      case Type::kU32:
      case Type::kS32:
        return width == 32;
      case Type::kB64:
      case Type::kU64:
      case Type::kS64:
        return width == 64;
      default:
        return false;
    }
  }

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

  void judge_operands(const Opcode& opcode, const InstructionForm& form, Problems& out) {
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
        text_of_fix = fix_replaced(opcode, i, use->words);
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
  const Opcode& opcode_;
  LegalOpcodes& legal_;  // as far as the modifiers go
  Problems problems_;
};

}  // namespace

std::vector<FormProblem> check_form(const Module& module, const Function& function, const Instruction& instruction,
                                    LegalOpcodes& legal) {
  const sv root = module.opcode(instruction).root;
  if (root == "tcgen05") return Checker(module, function, instruction, legal).run();
  if (root.ends_with("tcgen05")) return {{instruction.opcode_span, quoted(root) + " is no instruction of PTX", {}}};
  return check_sync_form(module, function, instruction);
}

bool has_judged_form(const Opcode& opcode) {
  return opcode.root.ends_with("tcgen05") || has_sync_form(opcode);
}

Span modifier_span(const Module& module, const Instruction& instruction, size_t index) {
  const Span whole = instruction.opcode_span;
  if (!module.source || whole.end > module.source->text().size() || whole.begin >= whole.end) return whole;
  const sv written = module.source->text().substr(whole.begin, whole.end - whole.begin);
  std::vector<size_t> dots;
  for (size_t i = 0; i < written.size(); ++i) {
    if (written[i] == '.') dots.push_back(i);
  }
  // A comment inside the opcode may hold dots of its own.
  if (dots.size() != module.opcode(instruction).modifiers.size() || index >= dots.size()) return whole;
  size_t end = index + 1 < dots.size() ? dots[index + 1] : written.size();
  while (end > dots[index] + 1 && (written[end - 1] == ' ' || written[end - 1] == '\t' || written[end - 1] == '\n' ||
                                   written[end - 1] == '\r')) {
    --end;
  }
  return {whole.begin + static_cast<Offset>(dots[index]), whole.begin + static_cast<Offset>(end)};
}

}  // namespace tmemlint::ptx
