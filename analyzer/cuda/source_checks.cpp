#include "analyzer/cuda/source_checks.h"

#include <algorithm>

namespace tmemlint::cuda {
namespace {

using report::Finding;
using report::Level;

constexpr const char* kVolatileRule = "tmem-asm-volatile";
constexpr const char* kMemoryRule = "tmem-asm-memory";
constexpr const char* kWaitRule = "tmem-missing-wait-ld";

struct Words {
  const char* rule;
  Level level;
  std::string message;
  const char* other;
};

Words words_for(const SourceFact& fact) {
  switch (fact.kind) {
    case SourceFact::Kind::kNotVolatile:
      return {kVolatileRule, Level::kWarning,
              "this asm statement with " + fact.opcode +
                  " is not volatile: the compiler may remove it, merge it with another or move it "
                  "across the statements that it must stay in order with; write asm volatile",
              ""};
    case SourceFact::Kind::kImplicitlyVolatile:
      return {kVolatileRule, Level::kNote,
              "this asm statement with " + fact.opcode +
                  " is volatile only because it has no results; NVIDIA's rules for inline PTX ask for "
                  "asm volatile",
              ""};
    case SourceFact::Kind::kStaleSlot:
      return {kMemoryRule, Level::kWarning,
              "the compiler is not told that this " + fact.opcode +
                  " writes shared memory, and nothing else stops it from reading the slot "
                  "earlier; add \"memory\" to the clobbers",
              "this read may be moved in front of the alloc"};
    case SourceFact::Kind::kLateStore:
      return {kMemoryRule, Level::kWarning,
              "the compiler is not told that this " + fact.opcode +
                  " reads shared memory, and nothing else keeps an earlier store in front "
                  "of it; add \"memory\" to the clobbers",
              "this store may be moved behind it"};
    case SourceFact::Kind::kNoMemoryClobber:
      return {kMemoryRule, Level::kNote,
              "the compiler is not told that this " + fact.opcode +
                  " writes shared memory; only a barrier behind it keeps the reads of the "
                  "slot in place; add \"memory\" to the clobbers",
              ""};
    case SourceFact::Kind::kEarlyRead:
      break;
  }
  return {kWaitRule, Level::kWarning, "results of this load are used before the tcgen05.wait::ld that follows",
          "used here, before the wait"};
}

bool at_position(const report::Place& place, const Position& position) {
  if (!place.text || place.text->path() != position.file) return false;
  const ptx::LineColumn at = place.text->position(place.span.begin);
  return at.line == position.line && (position.column == 0 || at.column == position.column);
}

bool speaks_of(const Finding& finding, const Position& position) {
  return at_position(finding.place, position) ||
         std::any_of(finding.related.begin(), finding.related.end(),
                     [&](const report::Related& r) { return at_position(r.place, position); });
}

// What the PTX showed about this load already. A note is as much as PTX allows, since compilers move reads; in the
// source, the order is the author's. True when nothing is left to add.
bool raise_known(const SourceFact& fact, const report::Related& other, std::vector<Finding>& findings) {
  for (Finding& finding : findings) {
    if (finding.rule != kWaitRule || !speaks_of(finding, fact.instruction)) continue;
    if (finding.level == Level::kNote) {
      if (!at_position(finding.place, fact.instruction)) continue;
      finding.level = Level::kWarning;
      if (other.place.text) finding.related.push_back(other);
    }
    return true;
  }
  return false;
}

}  // namespace

std::string kernel_name(const Translation& translation, const std::string& symbol) {
  for (const Kernel& kernel : translation.kernels) {
    if (kernel.symbol == symbol) return kernel.name;
  }
  return symbol;
}

void add_calls(const std::vector<Call>& calls, Texts& texts, std::vector<report::Related>& related) {
  for (const Call& call : calls) {
    if (call.at.line == 0) continue;
    related.push_back(
        {texts.place(call.at), call.function.empty() ? "called here" : "in " + call.function + ", called here"});
  }
}

void check_source(const Translation& translation, const Options& options, Texts& texts,
                  std::vector<Finding>& findings) {
  for (const SourceFact& fact : translation.facts) {
    Words words = words_for(fact);
    if (options.enabled && !options.enabled(words.rule)) continue;
    report::Related other;
    if (fact.other.at.line != 0) other = {texts.place(fact.other.at), words.other};
    if (fact.kind == SourceFact::Kind::kEarlyRead && raise_known(fact, other, findings)) continue;
    Finding finding;
    finding.rule = words.rule;
    finding.level = words.level;
    finding.message = std::move(words.message);
    finding.place = texts.place(fact.instruction);
    finding.kernel = kernel_name(translation, fact.kernel);
    if (other.place.text) finding.related.push_back(std::move(other));
    add_calls(fact.at.calls, texts, finding.related);
    if (fact.edit.line != 0) {
      report::Fix fix;
      fix.place = texts.place(fact.edit);
      fix.place.span.end = fix.place.span.begin;
      fix.text = fact.insertion;
      finding.fixes.push_back(std::move(fix));
    }
    findings.push_back(std::move(finding));
  }
}

}  // namespace tmemlint::cuda
