// check_form: judges a spelling against the table, and proposes what to write instead.
#include <algorithm>
#include <array>

#include "analyzer/ptx/sync_form.h"
#include "analyzer/ptx/tcgen05_check.h"

namespace tmemlint::ptx {
namespace {

using sv = std::string_view;
using Need = Combination::Need;

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
    const auto replace = [this, &opcode](size_t modifier, std::span<const sv> words) {
      return fix_replaced(opcode, modifier, words);
    };
    judge_operands(module_, function_, instruction_, opcode, *form, replace, out);
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

  // Where the modifiers of an opcode stand, by class, and the classes about which something has been said.
  struct Seen {
    static constexpr size_t kNowhere = ~size_t{0};
    std::array<size_t, kClassCount> where;
    std::array<bool, kClassCount> judged{};
    Seen() { where.fill(kNowhere); }
    size_t& at(Class cls) { return where[static_cast<size_t>(cls)]; }
    bool& said(Class cls) { return judged[static_cast<size_t>(cls)]; }
  };

  void judge_modifiers(const Opcode& opcode, const Name& name, const InstructionForm& form, Problems& out) {
    Seen seen;
    judge_words(opcode, name, form, seen, out);
    for (const Use& use : form.uses) {
      if (!use.required || seen.at(use.cls) != Seen::kNowhere || seen.said(use.cls)) continue;
      seen.said(use.cls) = true;
      add(out, instruction_.opcode_span,
          use.words.size() == 1 ? quoted(form.name) + " needs " + dotted(use.words.front())
                                : quoted(form.name) + " needs " + a_or_the(use.cls) + ": " + listed(use.words),
          fix_inserted(opcode, name, form, use.cls, use.words));
    }
    for (const Combination& rule : form.combinations) {
      if (seen.said(rule.cls) || !holds(rule.when, opcode)) continue;
      if (breaks(opcode, name, form, rule, seen, out)) seen.said(rule.cls) = true;
    }
  }

  // Each modifier by itself.
  void judge_words(const Opcode& opcode, const Name& name, const InstructionForm& form, Seen& seen, Problems& out) {
    for (size_t i = name.modifiers; i < opcode.modifiers.size(); ++i) {
      const sv modifier = opcode.modifiers[i];
      const Word* word = find_word(modifier);
      if (!word) {
        judge_unknown_word(opcode, form, i, seen, out);
        continue;
      }
      const auto use = std::ranges::find(form.uses, word->cls, &Use::cls);
      if (use == form.uses.end()) {
        add(out, modifier_span(opcode, i), quoted(form.name) + " takes no " + dotted(modifier), fix_removed(opcode, i));
        continue;
      }
      if (seen.at(word->cls) != Seen::kNowhere) {
        const sv first = opcode.modifiers[seen.at(word->cls)];
        add(out, modifier_span(opcode, i),
            first == modifier ? dotted(modifier) + " is written twice"
                              : quoted(form.name) + " takes one " + std::string(class_name(word->cls)) + "; here are " +
                                    dotted(first) + " and " + dotted(modifier),
            first == modifier ? fix_removed(opcode, i) : std::string());
        seen.said(word->cls) = true;
        continue;
      }
      seen.at(word->cls) = i;
      if (std::ranges::find(use->words, modifier) == use->words.end()) {
        add(out, modifier_span(opcode, i),
            dotted(modifier) + " is not legal for " + quoted(form.name) + "; " + legal(*use),
            use->required ? fix_replaced(opcode, i, use->words) : fix_removed(opcode, i));
        seen.said(word->cls) = true;
      }
    }
  }

  // Whether the opcode, to which the rule applies, is not as it says; then it is reported.
  bool breaks(const Opcode& opcode, const Name& name, const InstructionForm& form, const Combination& rule, Seen& seen,
              Problems& out) {
    const size_t index = seen.at(rule.cls);
    const std::string reason = rule.why.empty() ? std::string() : " (" + std::string(rule.why) + ")";
    const auto use = std::ranges::find(form.uses, rule.cls, &Use::cls);
    const std::span<const sv> words = rule.words.empty() && use != form.uses.end() ? use->words : rule.words;
    switch (rule.need) {
      case Need::kRequired:
        if (index != Seen::kNowhere) return false;
        add(out, instruction_.opcode_span,
            quoted(form.name) + " " + described(rule.when, &opcode) + " needs " +
                (words.size() == 1 ? dotted(words.front()) : a_or_the(rule.cls) + ": " + listed(words)) + reason,
            fix_inserted(opcode, name, form, rule.cls, words));
        return true;
      case Need::kForbidden:
        if (index == Seen::kNowhere) return false;
        add(out, modifier_span(opcode, index),
            quoted(form.name) + " " + described(rule.when, &opcode) + " takes no " + dotted(opcode.modifiers[index]) +
                reason,
            fix_removed(opcode, index));
        return true;
      case Need::kOneOf:
        if (index == Seen::kNowhere || std::ranges::find(rule.words, opcode.modifiers[index]) != rule.words.end()) {
          return false;
        }
        add(out, modifier_span(opcode, index),
            dotted(opcode.modifiers[index]) + " is not legal for " + quoted(form.name) + " " +
                described(rule.when, &opcode) + reason + "; legal " + (rule.words.size() == 1 ? "is " : "are ") +
                listed(rule.words, " and "),
            fix_replaced(opcode, index, rule.words));
        return true;
      case Need::kBefore: {
        const size_t other = seen.at(rule.when.cls);
        if (index == Seen::kNowhere || other == Seen::kNowhere || index < other) return false;
        std::vector<sv> modifiers = opcode.modifiers;
        std::swap(modifiers[index], modifiers[other]);
        add(out, modifier_span(opcode, index),
            dotted(opcode.modifiers[index]) + " stands before " + dotted(opcode.modifiers[other]),
            fix(opcode, std::move(modifiers)));
        return true;
      }
    }
    return false;
  }

  void judge_unknown_word(const Opcode& opcode, const InstructionForm& form, size_t i, Seen& seen, Problems& out) {
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
    seen.said(meant.use->cls) = true;  // not missing, only misspelt
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
