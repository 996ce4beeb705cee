// check_target: whether a module's .target and .version have an instruction.
#include <algorithm>
#include <optional>

#include "analyzer/ptx/tcgen05_check.h"

namespace tmemlint::ptx {
namespace {

using sv = std::string_view;

std::string version_text(unsigned version) {
  return std::to_string(version / 100) + "." + std::to_string(version % 100);
}

// "sm_100a, sm_100f and sm_103a", without the old names of sm_110.
std::string target_list(uint16_t set) {
  std::vector<sv> names;
  for (const TargetRow& row : targets()) {
    if ((set & row.target) && row.target != k101a && row.target != k101f) names.push_back(row.name);
  }
  std::string out;
  for (size_t i = 0; i < names.size(); ++i) {
    if (i > 0) out += i + 1 == names.size() ? " and " : ", ";
    out += quoted(names[i]);
  }
  return out;
}

// Of "sm_103a": 103; 0 when it is no name of a target.
unsigned number_of(sv target) {
  if (!target.starts_with("sm_")) return 0;
  unsigned number = 0;
  for (char c : target.substr(3)) {
    if (c < '0' || c > '9') break;
    number = number * 10 + static_cast<unsigned>(c - '0');
    if (number > 10000) return 0;
  }
  return number;
}

// Targets that are known to have no tcgen05: all before Blackwell, its plain targets, and the consumer Blackwells. What
// is not known here may be a later one that has.
bool lacks_tcgen05(sv target) {
  const unsigned number = number_of(target);
  if (number == 0) return false;
  if (number < 100 || number == 120 || number == 121) return true;
  const bool plain = target.back() >= '0' && target.back() <= '9';
  return plain && (number == 100 || number == 101 || number == 103 || number == 107 || number == 110);
}

// Of an instruction on a target that has no tcgen05 at all.
std::string not_on(sv target, const InstructionForm& form) {
  uint16_t having = 0xffff;
  for (const Feature& feature : features()) {
    if (feature.words.empty() && !feature.by_role && (feature.op == Tcgen05::kNone || feature.op == form.op)) {
      having &= feature.targets;
    }
  }
  // A plain Blackwell target lacks only the letter.
  uint16_t siblings = 0;
  for (const TargetRow& row : targets()) {
    if (row.name.substr(0, row.name.size() - 1) != target || !(having & row.target)) continue;
    siblings |= row.target;
  }
  return quoted(form.name) + " does not exist on " + quoted(target) + "; it exists on " +
         target_list(siblings ? siblings : having);
}

// The part of an instruction that a feature is about, if the instruction has it.
struct Part {
  Span span;
  std::string what;
};
std::optional<Part> part_of(const Module& module, const Instruction& instruction, const Opcode& opcode,
                            const Name& name, const InstructionForm& form, const Feature& feature) {
  Part out{instruction.opcode_span, feature.what.empty() ? quoted(form.name) : quoted(feature.what)};
  if (!feature.words.empty()) {
    size_t index = name.modifiers;
    while (index < opcode.modifiers.size() &&
           std::ranges::find(feature.words, opcode.modifiers[index]) == feature.words.end()) {
      ++index;
    }
    if (index == opcode.modifiers.size()) return std::nullopt;
    out.span = modifier_span(module, instruction, index);
    out.what = dotted(opcode.modifiers[index]);
    for (sv modifier : opcode.modifiers) {
      if (std::ranges::find(feature.when.words, modifier) != feature.when.words.end()) {
        out.what += " with " + dotted(modifier);
      }
    }
  } else if (feature.by_role) {
    const SlotMatch match = match_operands(module, instruction, opcode, form);
    uint32_t operand = kNone;
    for (size_t i = 0; i < form.operands.size(); ++i) {
      if (form.operands[i].role == feature.role) operand = match.slot_operand[i];
    }
    if (operand == kNone) return std::nullopt;
    out.span = module.operands_of(instruction)[operand].span;
  }
  return out;
}

}  // namespace

std::vector<FormProblem> check_target(const Module& module, const Instruction& instruction, LegalOpcodes& legal) {
  std::vector<FormProblem> out;
  legal.resize(module.opcodes.size());
  if (legal[instruction.opcode]) return out;
  const Opcode& opcode = module.opcode(instruction);
  const Name name = name_of(opcode);
  const InstructionForm* form = form_of(name.op);
  if (!form) {
    legal[instruction.opcode] = true;
    return out;
  }

  const unsigned version = module.version_major * 100 + module.version_minor;
  const auto target = std::ranges::find(targets(), module.target, &TargetRow::name);
  const bool known = target != targets().end();
  if (!known && lacks_tcgen05(module.target)) {
    out.push_back({instruction.opcode_span, not_on(module.target, *form), {}});
    return out;
  }
  if (version == 0) return out;  // no .version: an error of the module
  if (known && version < target->version) {
    out.push_back({module.target_span,
                   quoted(module.target) + " exists from PTX ISA " + version_text(target->version) +
                       " on; this is `.version " + version_text(version) + "`",
                   {}});
    out.back().is_about_module = true;
  }

  bool reads_operands = false;
  std::vector<uint16_t> versions;  // what has been said about the version, to say it once
  for (const Feature& feature : features()) {
    if (feature.op != Tcgen05::kNone && feature.op != name.op) continue;
    if (!holds(feature.when, opcode)) continue;
    reads_operands = reads_operands || feature.by_role;
    const std::optional<Part> part = part_of(module, instruction, opcode, name, *form, feature);
    if (!part) continue;
    if (known && !(feature.targets & target->target)) {
      out.push_back({part->span,
                     part->what + " does not exist on " + quoted(module.target) + "; it exists on " +
                         target_list(feature.targets) + " from PTX ISA " + version_text(feature.version) + " on",
                     {}});
    } else if (version < feature.version && std::ranges::find(versions, feature.version) == versions.end()) {
      versions.push_back(feature.version);
      out.push_back({part->span,
                     part->what + " exists from PTX ISA " + version_text(feature.version) + " on; this is `.version " +
                         version_text(version) + "`",
                     {}});
    }
  }
  if (out.empty() && !reads_operands) legal[instruction.opcode] = true;
  return out;
}

}  // namespace tmemlint::ptx
