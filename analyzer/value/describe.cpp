#include "analyzer/value/describe.h"

namespace tmemlint::value {

namespace {

std::string name_of(const TermStore& terms, uint32_t number) {
  const Term& term = terms[number];
  switch (term.kind) {
    case TermKind::kNone:
    case TermKind::kSum:  // not within a sum
      return "term" + std::to_string(number);
    case TermKind::kPure: {
      std::string out = std::string(traits(term.operation.op).name) + "(";
      for (const Value& v : term.args) {
        if (&v != term.args.data()) out += ", ";
        out += describe(terms, v);
      }
      return out + ")";
    }
    case TermKind::kOpaque:
      return "x" + std::to_string(number);
    case TermKind::kJoin:
      return "join" + std::to_string(number);
    case TermKind::kAllocation:
      return "alloc" + std::to_string(number);
  }
  return {};
}

std::string hexadecimal(uint32_t number) {
  std::string out;
  for (; number != 0; number >>= 4) out.insert(out.begin(), "0123456789abcdef"[number & 0xf]);
  return "0x" + (out.empty() ? "0" : out);
}

}  // namespace

std::string describe(const TermStore& terms, const Value& value) {
  std::string out;
  const auto add = [&out](const std::string& part) { out += (out.empty() ? "" : " + ") + part; };
  for (const Summand part : terms.summands(value.base)) {
    const auto factor = static_cast<int64_t>(part.coefficient);
    add((factor == 1 ? "" : std::to_string(factor) + "*") + name_of(terms, part.term));
  }
  if (value.base == 0 || value.number != 0) add(std::to_string(value.number));
  if (value.table != 0) add("by lane");
  if (value.without_base != 0) out += ", only in lanes " + hexadecimal(~value.without_base);
  return out;
}

}  // namespace tmemlint::value
