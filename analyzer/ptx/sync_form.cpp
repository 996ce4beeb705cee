#include "analyzer/ptx/sync_form.h"

#include <algorithm>
#include <span>

namespace tmemlint::ptx {
namespace {

using sv = std::string_view;

constexpr int64_t kMaxCount = (int64_t{1} << 20) - 1;  // of arrivals and of transaction bytes: ISA 9.7.13.15.1

// Modifiers of the instructions whose name begins with `name`.
struct WordRule {
  enum class Need : uint8_t { kForbidden, kOneOf };
  sv name;
  Need need;
  std::span<const sv> words;
  std::span<const sv> when;  // only if one of these is there; empty: always
  sv why;
};

constexpr sv kOtherSpaces[] = {"shared::cluster", "global"};
constexpr sv kRelease[] = {"release"};
constexpr sv kAcquire[] = {"acquire"};
constexpr sv kNotWait[] = {"release", "gpu", "sys"};
constexpr sv kNotArrive[] = {"acquire", "gpu", "sys"};
constexpr sv kNotClusterWait[] = {"release", "relaxed"};
constexpr sv kNotInitFence[] = {"acquire", "acq_rel", "sc", "cta", "gpu", "sys"};
constexpr sv kSemantics[] = {"relaxed", "acquire", "release"};
constexpr sv kScopes[] = {"cta", "cluster"};
constexpr sv kNoComplete[] = {"noComplete"};
constexpr sv kSharedCluster[] = {"shared::cluster"};
constexpr sv kB64[] = {"b64"};
constexpr sv kU32[] = {"u32"};
constexpr sv kSync[] = {"sync"};
constexpr sv kAligned[] = {"aligned"};
constexpr sv kCluster[] = {"cluster"};

constexpr WordRule kWordRules[] = {
    {"mbarrier.init", WordRule::Need::kForbidden, kOtherSpaces, {}, "an mbarrier is initialised by its own CTA"},
    {"mbarrier.inval", WordRule::Need::kForbidden, kOtherSpaces, {}, "an mbarrier is invalidated by its own CTA"},
    {"mbarrier.test_wait", WordRule::Need::kForbidden, kOtherSpaces, {}, "a CTA waits on its own mbarriers only"},
    {"mbarrier.try_wait", WordRule::Need::kForbidden, kOtherSpaces, {}, "a CTA waits on its own mbarriers only"},
    {"mbarrier.arrive", WordRule::Need::kForbidden, kSharedCluster, kNoComplete, "it returns a state"},
    {"mbarrier.arrive_drop", WordRule::Need::kForbidden, kSharedCluster, kNoComplete, "it returns a state"},
    {"mbarrier.test_wait",
     WordRule::Need::kForbidden,
     kNotWait,
     {},
     "a wait is `.acquire` or `.relaxed`, in the scope `.cta` or `.cluster`"},
    {"mbarrier.try_wait",
     WordRule::Need::kForbidden,
     kNotWait,
     {},
     "a wait is `.acquire` or `.relaxed`, in the scope `.cta` or `.cluster`"},
    {"mbarrier.arrive",
     WordRule::Need::kForbidden,
     kNotArrive,
     {},
     "an arrive is `.release` or `.relaxed`, in the scope `.cta` or `.cluster`"},
    {"mbarrier.arrive_drop",
     WordRule::Need::kForbidden,
     kNotArrive,
     {},
     "an arrive is `.release` or `.relaxed`, in the scope `.cta` or `.cluster`"},
    {"mbarrier", WordRule::Need::kOneOf, kScopes, kSemantics, "the scope is written beside the semantics"},
    {"mbarrier.init", WordRule::Need::kOneOf, kB64, {}, {}},
    {"mbarrier.inval", WordRule::Need::kOneOf, kB64, {}, {}},
    {"mbarrier.test_wait", WordRule::Need::kOneOf, kB64, {}, {}},
    {"mbarrier.try_wait", WordRule::Need::kOneOf, kB64, {}, {}},
    {"mbarrier.arrive", WordRule::Need::kOneOf, kB64, {}, {}},
    {"mbarrier.arrive_drop", WordRule::Need::kOneOf, kB64, {}, {}},
    {"barrier.cluster.arrive", WordRule::Need::kForbidden, kAcquire, {}, "an arrive is `.release` or `.relaxed`"},
    {"barrier.cluster.wait", WordRule::Need::kForbidden, kNotClusterWait, {}, "a wait is `.acquire`"},
    {"fence.mbarrier_init",
     WordRule::Need::kForbidden,
     kNotInitFence,
     {},
     "it is `fence.mbarrier_init.release.cluster`"},
    {"fence.mbarrier_init", WordRule::Need::kOneOf, kRelease, {}, {}},
    {"fence.mbarrier_init", WordRule::Need::kOneOf, kCluster, {}, {}},
    {"elect", WordRule::Need::kOneOf, kSync, {}, {}},
    {"setmaxnreg.inc", WordRule::Need::kOneOf, kSync, {}, {}},
    {"setmaxnreg.inc", WordRule::Need::kOneOf, kAligned, {}, {}},
    {"setmaxnreg.inc", WordRule::Need::kOneOf, kU32, {}, {}},
    {"setmaxnreg.dec", WordRule::Need::kOneOf, kSync, {}, {}},
    {"setmaxnreg.dec", WordRule::Need::kOneOf, kAligned, {}, {}},
    {"setmaxnreg.dec", WordRule::Need::kOneOf, kU32, {}, {}},
};

// An operand that, when it is an immediate, has a range.
struct ImmediateRule {
  sv name;
  sv with, without;  // a modifier that is there, one that is not
  uint32_t operand;
  int64_t least, most, multiple;
  sv what;
};

constexpr int64_t kLargest = INT64_MAX;
constexpr ImmediateRule kImmediateRules[] = {
    {"mbarrier.test_wait", "parity", {}, 2, 0, 1, 1, "the parity"},
    {"mbarrier.try_wait", "parity", {}, 2, 0, 1, 1, "the parity"},
    {"mbarrier.init", {}, {}, 1, 1, kMaxCount, 1, "the count"},
    {"mbarrier.arrive", {}, "expect_tx", 2, 1, kMaxCount, 1, "the count"},
    {"mbarrier.arrive_drop", {}, "expect_tx", 2, 1, kMaxCount, 1, "the count"},
    {"mbarrier.arrive", "expect_tx", {}, 2, -kMaxCount, kMaxCount, 1, "the transaction count"},
    {"mbarrier.arrive_drop", "expect_tx", {}, 2, -kMaxCount, kMaxCount, 1, "the transaction count"},
    {"mbarrier.expect_tx", {}, {}, 1, -kMaxCount, kMaxCount, 1, "the transaction count"},
    {"mbarrier.complete_tx", {}, {}, 1, -kMaxCount, kMaxCount, 1, "the transaction count"},
    {"setmaxnreg", {}, {}, 0, 24, 256, 8, "the register count"},
    {"bar.sync", {}, {}, 0, 0, 15, 1, "the barrier"},
    {"bar.arrive", {}, {}, 0, 0, 15, 1, "the barrier"},
    {"bar.cta.sync", {}, {}, 0, 0, 15, 1, "the barrier"},
    {"bar.cta.arrive", {}, {}, 0, 0, 15, 1, "the barrier"},
    {"barrier.sync", {}, {}, 0, 0, 15, 1, "the barrier"},
    {"barrier.arrive", {}, {}, 0, 0, 15, 1, "the barrier"},
    {"barrier.cta.sync", {}, {}, 0, 0, 15, 1, "the barrier"},
    {"barrier.cta.arrive", {}, {}, 0, 0, 15, 1, "the barrier"},
    {"bar.sync", {}, {}, 1, 0, kLargest, 32, "the number of threads"},
    {"bar.arrive", {}, {}, 1, 0, kLargest, 32, "the number of threads"},
    {"bar.cta.sync", {}, {}, 1, 0, kLargest, 32, "the number of threads"},
    {"bar.cta.arrive", {}, {}, 1, 0, kLargest, 32, "the number of threads"},
    {"barrier.sync", {}, {}, 1, 0, kLargest, 32, "the number of threads"},
    {"barrier.arrive", {}, {}, 1, 0, kLargest, 32, "the number of threads"},
    {"barrier.cta.sync", {}, {}, 1, 0, kLargest, 32, "the number of threads"},
    {"barrier.cta.arrive", {}, {}, 1, 0, kLargest, 32, "the number of threads"},
    {"cp.async.bulk", "mbarrier::complete_tx::bytes", "tensor", 2, 0, kLargest, 16, "the size"},
    {"cp.async.bulk", "bulk_group", "tensor", 2, 0, kLargest, 16, "the size"},
};

// Not by push_back of a braced problem: g++ 12 takes the literal in it for an overrun.
void say(std::vector<FormProblem>& out, Span span, std::string message, std::string fix = {}) {
  FormProblem problem;
  problem.span = span;
  problem.message = std::move(message);
  problem.fix = std::move(fix);
  out.push_back(std::move(problem));
}

bool is_named(const Opcode& opcode, sv name) {
  size_t dot = name.find('.');
  if (opcode.root != name.substr(0, dot)) return false;
  for (size_t i = 0; dot != sv::npos; ++i) {
    name = name.substr(dot + 1);
    dot = name.find('.');
    if (i >= opcode.modifiers.size() || opcode.modifiers[i] != name.substr(0, dot)) return false;
  }
  return true;
}

bool has(const Opcode& opcode, sv word) {
  return std::ranges::find(opcode.modifiers, word) != opcode.modifiers.end();
}

std::string name_in_message(const Opcode& opcode) {
  std::string out(opcode.root);
  if (!opcode.modifiers.empty()) out += "." + std::string(opcode.modifiers.front());
  return "`" + out + "`";
}

void judge_words(const Module& module, const Instruction& instruction, std::vector<FormProblem>& out) {
  const Opcode& opcode = module.opcode(instruction);
  for (const WordRule& rule : kWordRules) {
    if (!is_named(opcode, rule.name)) continue;
    const auto there = [&](sv word) { return has(opcode, word); };
    if (!rule.when.empty() && std::ranges::none_of(rule.when, there)) continue;
    const std::string reason = rule.why.empty() ? std::string() : ": " + std::string(rule.why);
    if (rule.need == WordRule::Need::kOneOf) {
      if (std::ranges::any_of(rule.words, there)) continue;
      std::string words;
      for (sv word : rule.words) words += (words.empty() ? "`." : " or `.") + std::string(word) + "`";
      say(out, instruction.opcode_span, name_in_message(opcode) + " needs " + words + reason);
      continue;
    }
    for (size_t i = 0; i < opcode.modifiers.size(); ++i) {
      if (std::ranges::find(rule.words, opcode.modifiers[i]) == rule.words.end()) continue;
      say(out, modifier_span(module, instruction, i),
          name_in_message(opcode) + " takes no `." + std::string(opcode.modifiers[i]) + "`" + reason);
    }
  }
}

void judge_immediates(const Module& module, const Instruction& instruction, std::vector<FormProblem>& out) {
  const Opcode& opcode = module.opcode(instruction);
  for (const ImmediateRule& rule : kImmediateRules) {
    if (!is_named(opcode, rule.name) || rule.operand >= instruction.operand_count) continue;
    if (!rule.with.empty() && !has(opcode, rule.with)) continue;
    if (!rule.without.empty() && has(opcode, rule.without)) continue;
    const Operand& operand = module.operands_of(instruction)[rule.operand];
    if (operand.kind != Operand::Kind::kInteger) continue;
    const int64_t value = operand.value;
    if (value >= rule.least && value <= rule.most && value % rule.multiple == 0) continue;
    std::string message =
        std::string(rule.what) + " of `" + std::string(rule.name) + "` is " + std::to_string(value) + "; it is ";
    if (rule.most == 1) {
      message += "0 or 1";
    } else {
      if (rule.multiple != 1) message += "a multiple of " + std::to_string(rule.multiple);
      if (rule.most != kLargest) {
        message +=
            (rule.multiple != 1 ? " from " : "from ") + std::to_string(rule.least) + " to " + std::to_string(rule.most);
      }
    }
    say(out, operand.span, std::move(message));
  }
}

void judge_operands(const Module& module, const Function& function, const Instruction& instruction,
                    std::vector<FormProblem>& out) {
  const Opcode& opcode = module.opcode(instruction);
  const Operand* operands = module.operands_of(instruction);
  const uint32_t count = instruction.operand_count;
  const auto is_predicate = [&](const Operand& operand) {
    return operand.kind == Operand::Kind::kRegister && operand.ref < function.registers.size() &&
           function.registers[operand.ref].type == Type::kPred;
  };
  if (opcode.root == "elect") {
    if (count >= 2 && operands[0].joined_with_next && is_predicate(operands[1])) return;
    say(out, count > 0 ? operands[0].span : instruction.span,
        "`elect.sync` names its leader in a predicate: `elect.sync d|p, membermask`, with `_` for a `d` that "
        "is not needed");
    return;
  }
  if (opcode.root == "setmaxnreg" && count > 0 && operands[0].kind == Operand::Kind::kRegister) {
    say(out, operands[0].span, "the register count of `setmaxnreg` is an immediate");
    return;
  }
  if ((is_named(opcode, "bar.arrive") || is_named(opcode, "barrier.arrive")) && count < 2) {
    say(out, instruction.span, name_in_message(opcode) + " needs the number of threads that the barrier waits for");
    return;
  }
  if (opcode.root != "mbarrier") return;
  const bool arrives = is_named(opcode, "mbarrier.arrive") || is_named(opcode, "mbarrier.arrive_drop");
  if (arrives && has(opcode, "shared::cluster") && count > 0 && operands[0].kind == Operand::Kind::kRegister) {
    say(out, operands[0].span, "an arrive on a `.shared::cluster` mbarrier returns no state: its destination is `_`",
        "_");
  }
  for (uint32_t i = 0; i < count; ++i) {
    const Operand& operand = operands[i];
    if (operand.kind != Operand::Kind::kAddress || operand.base != Operand::Kind::kVariable) continue;
    if (operand.ref >= module.variables.size()) continue;
    if (module.variables[operand.ref].alignment % 8 == 0 && operand.value % 8 != 0) {
      say(out, operand.span, "an mbarrier is 8 bytes at a multiple of 8; this address is not one");
    }
  }
}

}  // namespace

std::vector<FormProblem> check_sync_form(const Module& module, const Function& function,
                                         const Instruction& instruction) {
  std::vector<FormProblem> out;
  const sv root = module.opcode(instruction).root;
  // Most instructions of a kernel are none of these.
  if (root != "mbarrier" && root != "bar" && root != "barrier" && root != "elect" && root != "setmaxnreg" &&
      root != "fence" && root != "cp") {
    return out;
  }
  judge_words(module, instruction, out);
  judge_immediates(module, instruction, out);
  judge_operands(module, function, instruction, out);
  return out;
}

}  // namespace tmemlint::ptx
