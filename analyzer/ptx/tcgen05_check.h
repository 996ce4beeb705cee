// What the parts of check_form and check_target share: the words of their messages, and the check of the operands.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/ptx/tcgen05.h"
#include "analyzer/ptx/tcgen05_table.h"

namespace tmemlint::ptx {

std::string quoted(std::string_view text);
std::string dotted(std::string_view word);  // with its dot, and quoted
// "`.sync` or `.aligned`"
std::string listed(std::span<const std::string_view> words, std::string_view last = " or ");
// What about the opcode makes the condition true; without an opcode, what would.
std::string described(const When& when, const Opcode* opcode = nullptr);

// The spelling with one of these words in place of a modifier (by its index); empty unless exactly one of them makes
// the instruction legal.
using ReplaceModifier = std::function<std::string(size_t modifier, std::span<const std::string_view> words)>;

// Judges the operands as those of an instruction with this opcode, the instruction's own or one that is tried in its
// place.
void judge_operands(const Module& module, const Function& function, const Instruction& instruction,
                    const Opcode& opcode, const InstructionForm& form, const ReplaceModifier& replace,
                    std::vector<FormProblem>& out);

}  // namespace tmemlint::ptx
