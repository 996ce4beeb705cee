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

// ---- the grammar

enum class SyncOperand : uint8_t {
  kStateOut,      // 64-bit register, or _
  kPredicateOut,  // predicate
  kMbarrier,      // [32- or 64-bit register ± offset], [variable ± offset]
  kNumber,        // 32-bit register or immediate
  kState,         // 64-bit register or immediate
};
// An instruction of a name, or one of that name with the word `with`. The longest name counts, and of equal ones the
// first whose word is there.
struct SyncForm {
  sv name;
  sv with;
  std::span<const std::span<const sv>> classes;  // one word of each at most
  std::span<const SyncOperand> operands;
  uint32_t optional = 0;  // operands at the end that may be left out
};

constexpr sv kLocalSpaces[] = {"shared", "shared::cta"};
constexpr sv kAnySpaces[] = {"shared", "shared::cta", "shared::cluster"};
constexpr sv kArriveSemantics[] = {"release", "relaxed"};
constexpr sv kWaitSemantics[] = {"acquire", "relaxed"};
constexpr sv kTxSemantics[] = {"relaxed"};
constexpr sv kCta[] = {"cta"};
constexpr sv kParity[] = {"parity"};
constexpr sv kFenceSemantics[] = {"sc", "acq_rel", "acquire", "release"};
constexpr sv kFenceScopes[] = {"cta", "cluster", "gpu", "sys"};
constexpr sv kFenceRestrictions[] = {"sync_restrict::shared::cta", "sync_restrict::shared::cluster"};
constexpr sv kProxies[] = {"async", "alias", "tensormap::generic", "async::generic"};
constexpr sv kProxySpaces[] = {"global", "shared::cta", "shared::cluster"};

constexpr std::span<const sv> kInitClasses[] = {kLocalSpaces, kB64};
constexpr std::span<const sv> kTxClasses[] = {kTxSemantics, kScopes, kAnySpaces, kB64};
constexpr std::span<const sv> kArriveClasses[] = {kArriveSemantics, kScopes, kAnySpaces, kB64};
constexpr std::span<const sv> kNoCompleteClasses[] = {kNoComplete, kRelease, kCta, kLocalSpaces, kB64};
constexpr std::span<const sv> kWaitClasses[] = {kParity, kWaitSemantics, kScopes, kLocalSpaces, kB64};
constexpr std::span<const sv> kClusterArriveClasses[] = {kArriveSemantics, kAligned};
constexpr std::span<const sv> kClusterWaitClasses[] = {kAcquire, kAligned};
constexpr std::span<const sv> kAlignedClasses[] = {kAligned};
constexpr std::span<const sv> kElectClasses[] = {kSync};
constexpr std::span<const sv> kInitFenceClasses[] = {kRelease, kCluster};
constexpr std::span<const sv> kProxyFenceClasses[] = {kProxySpaces};
constexpr std::span<const sv> kFenceClasses[] = {kFenceSemantics, kFenceScopes, kFenceRestrictions};
constexpr std::span<const sv> kSetMaxRegisterClasses[] = {kSync, kAligned, kU32};

constexpr SyncOperand kInit[] = {SyncOperand::kMbarrier, SyncOperand::kNumber};
constexpr SyncOperand kInval[] = {SyncOperand::kMbarrier};
constexpr SyncOperand kArrive[] = {SyncOperand::kStateOut, SyncOperand::kMbarrier, SyncOperand::kNumber};
constexpr SyncOperand kWait[] = {SyncOperand::kPredicateOut, SyncOperand::kMbarrier, SyncOperand::kState};
constexpr SyncOperand kTryWait[] = {SyncOperand::kPredicateOut, SyncOperand::kMbarrier, SyncOperand::kState,
                                    SyncOperand::kNumber};
constexpr SyncOperand kParityWait[] = {SyncOperand::kPredicateOut, SyncOperand::kMbarrier, SyncOperand::kNumber};
constexpr SyncOperand kParityTryWait[] = {SyncOperand::kPredicateOut, SyncOperand::kMbarrier, SyncOperand::kNumber,
                                          SyncOperand::kNumber};
constexpr SyncOperand kNumbers[] = {SyncOperand::kNumber, SyncOperand::kNumber};
constexpr SyncOperand kNumber[] = {SyncOperand::kNumber};

constexpr SyncForm kSyncForms[] = {
    {"mbarrier.init", {}, kInitClasses, kInit},
    {"mbarrier.inval", {}, kInitClasses, kInval},
    {"mbarrier.expect_tx", {}, kTxClasses, kInit},
    {"mbarrier.complete_tx", {}, kTxClasses, kInit},
    {"mbarrier.arrive.expect_tx", {}, kArriveClasses, kArrive},
    {"mbarrier.arrive", "noComplete", kNoCompleteClasses, kArrive},
    {"mbarrier.arrive", {}, kArriveClasses, kArrive, 1},
    {"mbarrier.arrive_drop.expect_tx", {}, kArriveClasses, kArrive},
    {"mbarrier.arrive_drop", "noComplete", kNoCompleteClasses, kArrive},
    {"mbarrier.arrive_drop", {}, kArriveClasses, kArrive, 1},
    {"mbarrier.test_wait", "parity", kWaitClasses, kParityWait},
    {"mbarrier.test_wait", {}, kWaitClasses, kWait},
    {"mbarrier.try_wait", "parity", kWaitClasses, kParityTryWait, 1},
    {"mbarrier.try_wait", {}, kWaitClasses, kTryWait, 1},
    {"barrier.cluster.arrive", {}, kClusterArriveClasses, {}},
    {"barrier.cluster.wait", {}, kClusterWaitClasses, {}},
    {"bar.sync", {}, {}, kNumbers, 1},
    {"bar.cta.sync", {}, {}, kNumbers, 1},
    {"bar.arrive", {}, {}, kNumbers},
    {"bar.cta.arrive", {}, {}, kNumbers},
    {"bar.warp.sync", {}, {}, kNumber},
    {"barrier.sync", {}, kAlignedClasses, kNumbers, 1},
    {"barrier.cta.sync", {}, kAlignedClasses, kNumbers, 1},
    {"barrier.arrive", {}, kAlignedClasses, kNumbers},
    {"barrier.cta.arrive", {}, kAlignedClasses, kNumbers},
    {"elect", {}, kElectClasses, {}},  // its operands are judged by themselves
    {"fence.mbarrier_init", {}, kInitFenceClasses, {}},
    {"fence.proxy.async", {}, kProxyFenceClasses, {}},
    {"fence", {}, kFenceClasses, {}},
    {"setmaxnreg.inc", {}, kSetMaxRegisterClasses, {}},
    {"setmaxnreg.dec", {}, kSetMaxRegisterClasses, {}},
};
// Instructions that are not judged, of roots whose every name is known here.
constexpr sv kOtherNames[] = {"mbarrier.pending_count", "bar.red",    "bar.cta.red", "barrier.red",
                              "barrier.cta.red",        "fence.proxy"};

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
    {"mbarrier.expect_tx", WordRule::Need::kOneOf, kB64, {}, {}},
    {"mbarrier.complete_tx", WordRule::Need::kOneOf, kB64, {}, {}},
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
    {"fence.proxy", WordRule::Need::kOneOf, kProxies, {}, {}},
    {"fence", WordRule::Need::kOneOf, kFenceScopes, kFenceSemantics, "the scope is written beside the semantics"},
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
    {"bar.arrive", {}, {}, 1, 32, kLargest, 32, "the number of threads"},
    {"bar.cta.sync", {}, {}, 1, 0, kLargest, 32, "the number of threads"},
    {"bar.cta.arrive", {}, {}, 1, 32, kLargest, 32, "the number of threads"},
    {"barrier.sync", {}, {}, 1, 0, kLargest, 32, "the number of threads"},
    {"barrier.arrive", {}, {}, 1, 32, kLargest, 32, "the number of threads"},
    {"barrier.cta.sync", {}, {}, 1, 0, kLargest, 32, "the number of threads"},
    {"barrier.cta.arrive", {}, {}, 1, 32, kLargest, 32, "the number of threads"},
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
      words += reason;
      say(out, instruction.opcode_span, name_in_message(opcode) + " needs " + words);
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

const SyncForm* sync_form_of(const Opcode& opcode) {
  const SyncForm* best = nullptr;
  for (const SyncForm& form : kSyncForms) {
    if (!is_named(opcode, form.name) || (!form.with.empty() && !has(opcode, form.with))) continue;
    if (!best || form.name.size() > best->name.size()) best = &form;
  }
  return best;
}

bool has_width(const Function& function, const Operand& operand, unsigned width) {
  if (operand.ref >= function.registers.size()) return false;
  const Type type = function.registers[operand.ref].type;
  return is_integer_type(type) && bits(type) == width;
}

// What is legal there; empty when the operand is.
sv legal_instead(const Module& module, const Function& function, const Operand& operand, SyncOperand kind) {
  const bool is_register = operand.kind == Operand::Kind::kRegister && !operand.negated;
  const bool is_number = operand.kind == Operand::Kind::kInteger ||
                         (operand.kind == Operand::Kind::kSpecial && operand.ref < module.special_registers.size() &&
                          module.special_registers[operand.ref] == "WARP_SZ");
  switch (kind) {
    case SyncOperand::kStateOut:
      if (operand.kind == Operand::Kind::kSink || (is_register && has_width(function, operand, 64))) return {};
      return "a 64-bit register for the state, or `_`";
    case SyncOperand::kPredicateOut:
      if (is_register && operand.ref < function.registers.size() &&
          function.registers[operand.ref].type == Type::kPred) {
        return {};
      }
      return "a predicate for the result";
    case SyncOperand::kMbarrier:
      if (operand.kind == Operand::Kind::kAddress &&
          (operand.base == Operand::Kind::kVariable ||
           (operand.base == Operand::Kind::kRegister &&
            (has_width(function, operand, 32) || has_width(function, operand, 64))))) {
        return {};
      }
      return "the mbarrier's address in brackets: a 32- or 64-bit register or a shared variable";
    case SyncOperand::kNumber:
      if (is_number || (is_register && has_width(function, operand, 32))) return {};
      return "a 32-bit register or an immediate";
    case SyncOperand::kState:
      if (is_number || (is_register && has_width(function, operand, 64))) return {};
      return "a 64-bit register with a state";
  }
  return {};
}

// Everything that the rules above, which know reasons, have not said.
void judge_grammar(const Module& module, const Function& function, const Instruction& instruction,
                   std::vector<FormProblem>& out) {
  const Opcode& opcode = module.opcode(instruction);
  const SyncForm* form = sync_form_of(opcode);
  for (sv other : kOtherNames) {
    if (is_named(opcode, other) && (!form || form->name.size() < other.size())) return;
  }
  if (!form) {
    const bool all_known =
        opcode.root == "mbarrier" || opcode.root == "bar" || opcode.root == "barrier" || opcode.root == "setmaxnreg";
    if (!all_known) return;
    return say(out, instruction.opcode_span, name_in_message(opcode) + " is no instruction of PTX");
  }
  const std::string name = "`" + std::string(form->name) + "`";
  const auto first = static_cast<size_t>(std::ranges::count(form->name, '.'));
  std::vector<sv> taken(form->classes.size());
  for (size_t i = first; i < opcode.modifiers.size(); ++i) {
    const sv modifier = opcode.modifiers[i];
    size_t c = 0;
    while (c < form->classes.size() && std::ranges::find(form->classes[c], modifier) == form->classes[c].end()) ++c;
    if (c < form->classes.size() && taken[c].empty()) {
      taken[c] = modifier;
      continue;
    }
    std::string message = name + " takes no `." + std::string(modifier) + "`";
    if (c < form->classes.size()) {
      message = taken[c] == modifier
                    ? "`." + std::string(modifier) + "` is written twice"
                    : name + " takes one of `." + std::string(taken[c]) + "` and `." + std::string(modifier) + "`";
    }
    return say(out, modifier_span(module, instruction, i), std::move(message));
  }
  if (opcode.root == "mbarrier") {
    const auto there = [&](sv word) { return has(opcode, word); };
    if (std::ranges::any_of(kScopes, there) && std::ranges::none_of(kSemantics, there)) {
      return say(out, instruction.opcode_span, name + " with a scope needs the semantics beside it");
    }
  }
  if (opcode.root == "elect" || opcode.root == "setmaxnreg") {
    const uint32_t most = opcode.root == "elect" ? 3 : 1;
    if (instruction.operand_count == most &&
        legal_instead(module, function, module.operands_of(instruction)[most - 1], SyncOperand::kNumber).empty()) {
      return;
    }
    return say(out, instruction.span,
               opcode.root == "elect" ? "`elect.sync` is `elect.sync d|p, membermask`" : name + " takes one immediate");
  }
  const auto most = static_cast<uint32_t>(form->operands.size());
  if (instruction.operand_count > most || instruction.operand_count + form->optional < most) {
    std::string count = most == 0 ? "no operand" : std::to_string(most) + (most == 1 ? " operand" : " operands");
    if (form->optional != 0) count = std::to_string(most - form->optional) + " or " + count;
    return say(out, instruction.span,
               name + (form->with.empty() ? "" : " with `." + std::string(form->with) + "`") + " takes " + count +
                   "; here are " + std::to_string(instruction.operand_count));
  }
  for (uint32_t i = 0; i < instruction.operand_count; ++i) {
    const Operand& operand = module.operands_of(instruction)[i];
    const sv legal = legal_instead(module, function, operand, form->operands[i]);
    if (!legal.empty()) say(out, operand.span, "this operand of " + name + " is " + std::string(legal));
  }
}

}  // namespace

bool has_sync_form(const Opcode& opcode) {
  const sv root = opcode.root;
  return root == "mbarrier" || root == "bar" || root == "barrier" || root == "elect" || root == "setmaxnreg" ||
         root == "fence" || root == "cp";
}

std::vector<FormProblem> check_sync_form(const Module& module, const Function& function,
                                         const Instruction& instruction) {
  std::vector<FormProblem> out;
  if (!has_sync_form(module.opcode(instruction))) return out;
  judge_words(module, instruction, out);
  judge_immediates(module, instruction, out);
  judge_operands(module, function, instruction, out);
  // Later versions may have more.
  const bool version_is_known = module.version_major * 100 + module.version_minor <= 900;
  if (out.empty() && version_is_known) judge_grammar(module, function, instruction, out);
  return out;
}

}  // namespace tmemlint::ptx
