// Every spelling that the instruction table can produce, and operands for each. For tests.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analyzer/ptx/tcgen05_table.h"

namespace tmemlint::test {

// The parts of an opcode; they stay in `storage`.
inline ptx::Opcode opcode_of(const std::string& text, std::vector<std::string>& storage) {
  storage.clear();
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, '.');) storage.push_back(part);
  ptx::Opcode opcode;
  opcode.text = text;
  opcode.root = storage.front();
  for (size_t i = 1; i < storage.size(); ++i) opcode.modifiers.push_back(storage[i]);
  return opcode;
}

struct Spelling {
  const ptx::InstructionForm* form;
  std::vector<std::string_view> modifiers;  // after the name
  std::string opcode() const {
    std::string out(form->name);
    for (std::string_view modifier : modifiers) out += "." + std::string(modifier);
    return out;
  }
};

inline bool legal(const Spelling& spelling) {
  std::vector<std::string> storage;
  const std::string text = spelling.opcode();
  const ptx::Opcode opcode = opcode_of(text, storage);
  for (const ptx::Combination& rule : spelling.form->combinations) {
    if (!holds(rule.when, opcode)) continue;
    std::string_view there;
    for (std::string_view modifier : spelling.modifiers) {
      if (ptx::find_word(modifier)->cls == rule.cls) there = modifier;
    }
    switch (rule.need) {
      case ptx::Combination::Need::kRequired:
        if (there.empty()) return false;
        break;
      case ptx::Combination::Need::kForbidden:
        if (!there.empty()) return false;
        break;
      case ptx::Combination::Need::kOneOf:
        if (!there.empty() && std::ranges::find(rule.words, there) == rule.words.end()) return false;
        break;
      case ptx::Combination::Need::kBefore:
        break;  // the ISA's order is the table's
    }
  }
  return true;
}

inline const std::vector<Spelling>& spellings(const ptx::InstructionForm& form) {
  static std::map<const ptx::InstructionForm*, std::vector<Spelling>> all;
  std::vector<Spelling>& out = all[&form];
  if (!out.empty()) return out;
  Spelling now{&form, {}};
  const std::function<void(size_t)> extend = [&](size_t use) {
    if (use == form.uses.size()) {
      if (legal(now)) out.push_back(now);
      return;
    }
    if (!form.uses[use].required) extend(use + 1);
    for (std::string_view word : form.uses[use].words) {
      now.modifiers.push_back(word);
      extend(use + 1);
      now.modifiers.pop_back();
    }
  };
  extend(0);
  return out;
}

inline std::string register_list(unsigned count) {
  std::string out = "{";
  for (unsigned i = 0; i < count; ++i) out += (i ? ",%r" : "%r") + std::to_string(i);
  return out + "}";
}

inline bool has_wide_mask(const Spelling& spelling) {
  return std::ranges::find(spelling.modifiers, "multicast::cluster::32b") != spelling.modifiers.end();
}

// What may stand in a slot; the first is the plain one.
inline std::vector<std::string> legal_operands(const ptx::Slot& slot, const ptx::Form& form, bool wide) {
  switch (slot.kind) {
    case ptx::OperandKind::kTmemAddress:
      return {"[%r150]", "[%r150+4]", "[%r150+-4]"};
    case ptx::OperandKind::kMatrixA:
      if (form.ashift) return {"[%r151]"};
      return {"%rd1", "[%r151]", "[%r151+8]", "0x40"};
    case ptx::OperandKind::kTmemBase:
      return {"%r152", "0"};
    case ptx::OperandKind::kSharedAddress:
      return {"[%r153]", "[%rd3]", "[%r153+8]", form.op == ptx::Tcgen05::kCommit ? "[mbar]" : "[slot]"};
    case ptx::OperandKind::kColumns:
      return {"64", "%r152", "512"};
    case ptx::OperandKind::kData:
      return {register_list(form.registers)};
    case ptx::OperandKind::kSparseMetadata:
      return {register_list((form.num + 31u) / 32u)};
    case ptx::OperandKind::kRegister32:
      return {"%r154", "%f1"};
    case ptx::OperandKind::kImmediate:
      return {"1", "0", "-1"};
    case ptx::OperandKind::kDescriptor:
      return {"%rd2", "0x4000"};
    case ptx::OperandKind::kIdesc:
      return {"%r155", "0x8200010"};
    case ptx::OperandKind::kPredicate:
      return {"%p1", "!%p1", "0", "1"};
    case ptx::OperandKind::kLaneMask:
      return {register_list(4u * form.cta_group)};
    case ptx::OperandKind::kScaleInput:
      return {"1", "0", "15"};
    case ptx::OperandKind::kCtaMask:
      return {wide ? "%r156" : "%h1"};
  }
  return {};
}

struct Operands {
  std::vector<const ptx::Slot*> slots;
  std::vector<std::string> texts;
  std::string text() const {
    std::string out;
    for (const std::string& text : texts) out += (out.empty() ? " " : ", ") + text;
    return out + ";";
  }
};

// Legal ones for a spelling, without the optional ones unless asked for.
inline Operands operands_of(const Spelling& spelling, bool optional = false) {
  std::vector<std::string> storage;
  const std::string text = spelling.opcode();
  const ptx::Opcode opcode = opcode_of(text, storage);
  Operands out;
  for (const ptx::Slot& slot : spelling.form->operands) {
    if ((slot.optional && !optional) || !holds(slot.when, opcode)) continue;
    out.slots.push_back(&slot);
    out.texts.push_back(legal_operands(slot, decode(opcode), has_wide_mask(spelling)).front());
  }
  return out;
}

// The opcode with operands that are legal for `as`.
inline std::string with_operands(const std::string& opcode, const Spelling& as) {
  return opcode + operands_of(as).text();
}

// Every way to fill the operands that changes one of them, and with the optional ones one by one and all together.
inline std::vector<std::string> legal_lines(const Spelling& spelling) {
  std::vector<std::string> storage;
  const std::string text = spelling.opcode();
  const ptx::Form form = decode(opcode_of(text, storage));
  const Operands all = operands_of(spelling, true);
  std::vector<std::string> out = {text + operands_of(spelling).text(), text + all.text()};
  for (size_t i = 0; i < all.slots.size(); ++i) {
    Operands changed = all;
    for (const std::string& operand : legal_operands(*all.slots[i], form, has_wide_mask(spelling))) {
      changed.texts[i] = operand;
      out.push_back(text + changed.text());
    }
    if (!all.slots[i]->optional) continue;
    changed.texts.erase(changed.texts.begin() + static_cast<ptrdiff_t>(i));
    out.push_back(text + changed.text());
  }
  return out;
}

// Some of the spellings: every two words that may stand together do so in one of them. Leaving a word out counts as a
// word.
inline std::vector<Spelling> covering_pairs(const ptx::InstructionForm& form) {
  std::vector<Spelling> out;
  std::set<std::pair<std::string_view, std::string_view>> seen;
  for (const Spelling& spelling : spellings(form)) {
    std::vector<std::string_view> here;
    for (const ptx::Use& use : form.uses) {
      std::string_view word = ptx::class_name(use.cls);
      for (std::string_view modifier : spelling.modifiers) {
        if (ptx::find_word(modifier)->cls == use.cls) word = modifier;
      }
      here.push_back(word);
    }
    bool is_new = here.empty();
    for (size_t i = 0; i < here.size(); ++i) {
      for (size_t j = 0; j <= i; ++j) is_new = seen.insert({here[j], here[i]}).second || is_new;
    }
    if (is_new) out.push_back(spelling);
  }
  return out;
}

}  // namespace tmemlint::test
