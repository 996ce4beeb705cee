// Every spelling that the instruction table can produce, with every single change of it: legal here, and against ptxas
// where that is installed.
#include <gtest/gtest.h>

#include <algorithm>

#include "analyzer/ptx/tcgen05_table.h"
#include "tests/ptxas_oracle.h"
#include "tests/tcgen05_spellings.h"

namespace tmemlint::test {
namespace {

using namespace tmemlint::ptx;
using sv = std::string_view;

TEST(Tcgen05Table, EverySpellingIsLegalSomewhere) {
  size_t count = 0;
  for (const InstructionForm& form : instruction_forms()) {
    const auto& all = spellings(form);
    EXPECT_FALSE(all.empty()) << form.name;
    EXPECT_LE(form.operands.size(), size_t{SlotMatch::kMaxSlots});
    std::vector<std::string> lines;
    for (const Spelling& spelling : all) lines.push_back(with_operands(spelling.opcode(), spelling));
    for (const Spelling& spelling : covering_pairs(form)) {
      for (std::string& line : legal_lines(spelling)) lines.push_back(std::move(line));
    }
    count += lines.size();
    const Judged blackwell = judge(kernel(lines, "sm_100a", "9.4"));
    const Judged rubin = judge(kernel(lines, "sm_107a", "9.4"));
    EXPECT_TRUE(rubin.parse.empty()) << rubin.parse.begin()->second;
    for (const auto& [line, problems] : rubin.form) {
      ADD_FAILURE() << lines.at(line - kFirstLine) << "\n" << problems.front().message;
    }
    for (const auto& [line, problems] : rubin.target) {
      if (blackwell.target.contains(line)) {
        ADD_FAILURE() << lines.at(line - kFirstLine) << "\n" << problems.front().message;
      }
    }
  }
  RecordProperty("spellings", static_cast<int>(count));
}

// ---- against ptxas

bool in_ptx_90(const Spelling& spelling) {
  for (const Feature& feature : features()) {
    if (feature.version <= 900) continue;
    for (sv modifier : spelling.modifiers) {
      if (std::ranges::find(feature.words, modifier) != feature.words.end()) return false;
    }
  }
  return true;
}

TEST(Tcgen05Table, LegalSpellingsAgreeWithPtxas) {
  if (const std::string why = no_ptxas(); !why.empty()) GTEST_SKIP() << why;
  Differences differences("spelling");
  std::vector<Change> all, operands, pairs;
  for (const InstructionForm& form : instruction_forms()) {
    size_t ratios = 0;
    for (const Spelling& spelling : spellings(form)) {
      // A syntax error for ptxas 13.0, after which it must be called again: once is enough.
      const bool ratio = std::ranges::find(spelling.modifiers, "sp::2:4") != spelling.modifiers.end();
      if (ratio && ++ratios > 1) continue;
      all.push_back({with_operands(spelling.opcode(), spelling), "as it is", std::string(form.name)});
    }
    for (const Spelling& spelling : covering_pairs(form)) {
      if (!in_ptx_90(spelling)) continue;
      for (std::string& line : legal_lines(spelling)) {
        operands.push_back({std::move(line), "as it is", std::string(form.name)});
      }
      for (bool optional : {false, true}) {
        pairs.push_back(
            {spelling.opcode() + operands_of(spelling, optional).text(), "as it is", std::string(form.name)});
      }
    }
  }
  compare(all, "sm_100a", differences);
  compare(operands, "sm_100a", differences);
  // Which target has a feature depends on one word, or on two together.
  for (const char* target : {"sm_100f", "sm_103a", "sm_103f", "sm_110a", "sm_110f"}) {
    compare(pairs, target, differences);
  }
  RecordProperty("spellings", static_cast<int>(all.size()));
  RecordProperty("lines", static_cast<int>(all.size() + operands.size() + 5 * pairs.size()));
}

// Each operand replaced by everything that some operand may be, left out, written twice.
TEST(Tcgen05Table, ChangedOperandsAgreeWithPtxas) {
  if (const std::string why = no_ptxas(); !why.empty()) GTEST_SKIP() << why;
  Differences differences("operand");
  std::map<std::string, std::vector<Change>> by_target;
  for (const InstructionForm& form : instruction_forms()) {
    std::vector<Change>& changes = by_target[form.op == Tcgen05::kLdRed ? "sm_103a" : "sm_100a"];
    const std::string name(form.name);
    std::set<sv> words_seen;
    for (const Spelling& spelling : covering_pairs(form)) {
      if (!in_ptx_90(spelling)) continue;
      // Once with each word is enough here.
      bool is_new = form.uses.empty();
      for (sv word : spelling.modifiers) is_new = words_seen.insert(word).second || is_new;
      if (!is_new) continue;
      const Operands legal = operands_of(spelling, true);
      const auto add = [&](const Operands& operands, const std::string& what) {
        changes.push_back({spelling.opcode() + operands.text(), what, name});
      };
      for (size_t i = 0; i < legal.slots.size(); ++i) {
        const std::string slot(legal.slots[i]->name);
        Operands changed = legal;
        for (const char* other : {"%r1",
                                  "%rd1",
                                  "%f1",
                                  "%h1",
                                  "%p1",
                                  "!%p1",
                                  "[%r1]",
                                  "[%rd1]",
                                  "[%f1]",
                                  "[%r1+4]",
                                  "[mbar]",
                                  "[mbar+4]",
                                  "0",
                                  "2",
                                  "33",
                                  "-1",
                                  "0x123456789",
                                  "0x7fffffff",
                                  "1.5",
                                  "{%r1}",
                                  "{%r1,%r2,%r3}",
                                  "{%r1,%r2,%r3,%r4}",
                                  "{%h1,%h2,%h3,%h4}",
                                  "{1,2,3,4}",
                                  "mbar",
                                  "WARP_SZ",
                                  "%tid.x"}) {
          changed.texts[i] = other;
          add(changed, slot + " " + other);
        }
        changed.texts[i] = legal.texts[i] + ", " + legal.texts[i];
        add(changed, slot + " twice");
        changed = legal;
        changed.texts.erase(changed.texts.begin() + static_cast<ptrdiff_t>(i));
        changed.slots.erase(changed.slots.begin() + static_cast<ptrdiff_t>(i));
        add(changed, slot + " missing");
      }
      Operands more = legal;
      more.texts.push_back("%r1");
      add(more, "one more");
    }
  }
  size_t count = 0;
  for (const auto& [target, changes] : by_target) {
    count += changes.size();
    compare(changes, target, differences);
  }
  EXPECT_EQ(differences.unused(), "");
  RecordProperty("changes", static_cast<int>(count));
}

TEST(Tcgen05Table, ChangedSpellingsAgreeWithPtxas) {
  if (const std::string why = no_ptxas(); !why.empty()) GTEST_SKIP() << why;
  Differences differences("spelling");
  std::map<std::string, std::vector<Change>> by_target;
  for (const InstructionForm& form : instruction_forms()) {
    std::set<std::string> misspelt;
    std::vector<Change>& changes = by_target[form.op == Tcgen05::kLdRed ? "sm_103a" : "sm_100a"];
    std::set<sv> words_seen;
    for (const Spelling& spelling : spellings(form)) {
      if (!in_ptx_90(spelling)) continue;
      const auto add = [&](const std::vector<sv>& modifiers, const std::string& what) {
        const Spelling changed{&form, modifiers};
        changes.push_back({with_operands(changed.opcode(), spelling), what, std::string(form.name)});
      };
      // What no spelling has: each word of the table added, neighbours the other way round. Once with each word.
      bool is_new = form.uses.empty();
      for (sv word : spelling.modifiers) is_new = words_seen.insert(word).second || is_new;
      for (const Word& word : words()) {
        if (!is_new || word.text.find("2:4") != sv::npos) continue;  // a syntax error
        std::vector<sv> modifiers = spelling.modifiers;
        modifiers.push_back(word.text);
        add(modifiers, "add ." + std::string(word.text));
      }
      for (size_t i = 1; is_new && i < spelling.modifiers.size(); ++i) {
        std::vector<sv> modifiers = spelling.modifiers;
        std::swap(modifiers[i - 1], modifiers[i]);
        add(modifiers, "swap ." + std::string(modifiers[i]) + " with ." + std::string(modifiers[i - 1]));
      }
      for (size_t i = 0; i < spelling.modifiers.size(); ++i) {
        const sv word = spelling.modifiers[i];
        const std::string name = " ." + std::string(word);
        std::vector<sv> modifiers = spelling.modifiers;
        modifiers.erase(modifiers.begin() + static_cast<ptrdiff_t>(i));
        add(modifiers, "drop" + name);
        modifiers = spelling.modifiers;
        modifiers.insert(modifiers.begin() + static_cast<ptrdiff_t>(i), word);
        add(modifiers, "duplicate" + name);
        for (const Word& other : words()) {
          if (other.cls != find_word(word)->cls || other.text == word) continue;
          modifiers = spelling.modifiers;
          modifiers[i] = other.text;
          add(modifiers, "replace" + name);
        }
        // One of each is enough, and a misspelt number is a syntax error, after which ptxas must be called again.
        if (!misspelt.insert(std::string(word)).second) continue;
        const std::string wrong = std::string(word) + "z";
        modifiers = spelling.modifiers;
        modifiers[i] = wrong;
        add(modifiers, "misspell" + name);
      }
    }
  }
  size_t count = 0;
  for (const auto& [target, changes] : by_target) {
    count += changes.size();
    compare(changes, target, differences);
  }
  EXPECT_EQ(differences.unused(), "");
  RecordProperty("changes", static_cast<int>(count));
}

}  // namespace
}  // namespace tmemlint::test
