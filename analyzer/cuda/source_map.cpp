#include "analyzer/cuda/source_map.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "analyzer/assumptions/assumptions.h"
#include "analyzer/report/sources.h"

namespace tmemlint::cuda {
namespace {

constexpr std::string_view kTag = "// @tmem ";
constexpr std::string_view kBegin = "// begin inline asm";
constexpr std::string_view kEnd = "// end inline asm";

// The asm statement around an offset: where its text begins and the number of its origin. False when there is none.
bool tag_before(std::string_view text, size_t offset, size_t& begin, uint32_t& number) {
  const size_t opened = text.rfind(kBegin, offset);
  if (opened == std::string_view::npos) return false;
  const size_t closed = text.rfind(kEnd, offset);
  if (closed != std::string_view::npos && closed > opened) return false;
  const size_t tag = text.find(kTag, opened);
  if (tag == std::string_view::npos || tag > offset) return false;
  number = static_cast<uint32_t>(std::strtoul(text.data() + tag + kTag.size(), nullptr, 10));
  begin = text.find('\n', tag);
  if (begin == std::string_view::npos || begin > offset) return false;
  ++begin;
  return true;
}

}  // namespace

std::shared_ptr<const ptx::SourceText> Texts::of(const std::string& file) {
  std::shared_ptr<const ptx::SourceText>& text = texts_[file];
  if (text) return text;
  auto content = report::read_regular_file(file);
  text = std::make_shared<const ptx::SourceText>(content ? ptx::SourceText::named_by_input(file, std::move(*content))
                                                         : ptx::SourceText::without_text(file));
  return text;
}

report::Place Texts::place(const Position& position) {
  report::Place out;
  out.text = of(position.file);
  const ptx::Offset begin = out.text->offset_of(position.line, std::max<uint32_t>(position.column, 1));
  const std::string_view line = out.text->line(position.line);
  // To the end of the statement: the instruction in an asm string, or the C++ around.
  size_t end = std::min<size_t>(position.column == 0 ? 0 : position.column - 1, line.size());
  const size_t first = end;
  while (end < line.size() && line[end] != ';' && line[end] != '"' && line.substr(end, 2) != "\\n") ++end;
  if (end < line.size() && line[end] == ';') ++end;
  while (end > first && (line[end - 1] == ' ' || line[end - 1] == '\t' || line[end - 1] == '\r')) --end;
  out.span = {begin, begin + static_cast<ptx::Offset>(std::max<size_t>(end - first, 1))};
  return out;
}

Written written_at(const report::Place& place, const Translation& translation) {
  Written out;
  if (!place.text) return out;
  const std::string_view text = place.text->text();
  size_t begin = 0;
  uint32_t number = 0;
  const bool in_asm = tag_before(text, place.span.begin, begin, number);
  if (!in_asm) number = place.has_source ? place.source.line : 0;
  if (number == 0 || number >= translation.origins.size()) return out;
  const Origin& origin = translation.origins[number];
  out.at = origin.at;
  out.calls = origin.calls;
  if (!in_asm || origin.statement == Origin::kNo) return out;
  const AsmStatement& statement = translation.statements[origin.statement];
  // Operands hold neither ';' nor a line's end, so both texts have the same pieces.
  const std::string_view before = text.substr(begin, place.span.begin - begin);
  const auto piece =
      static_cast<size_t>(std::count_if(before.begin(), before.end(), [](char c) { return c == ';' || c == '\n'; }));
  if (piece < statement.pieces.size()) out.at = statement.pieces[piece];
  return out;
}

Written written_at_nvcc(const report::Place& place, Texts& texts) {
  Written out;
  if (!place.has_source || place.source.line == 0) return out;
  out.at = {place.source.file, place.source.line, place.source.column};
  for (const report::SourcePosition& call : place.inlined_at)
    out.calls.push_back({{}, {call.file, call.line, call.column}});
  while (out.at.file.starts_with("/usr/") && !out.calls.empty()) {
    out.at = out.calls.front().at;
    out.calls.erase(out.calls.begin());
  }
  // Upwards to the statement's keyword, and from there the line that has this instruction.
  const std::string_view ptx = place.text->text();
  size_t opened = ptx.rfind(kBegin, place.span.begin);
  const size_t closed = ptx.rfind(kEnd, place.span.begin);
  if (opened == std::string_view::npos || (closed != std::string_view::npos && closed > opened)) return out;
  size_t root = ptx.find_last_of(";\n{}", place.span.begin);  // the span may be a modifier or an operand
  root = ptx.find_first_not_of(" \t", root == std::string_view::npos ? 0 : root + 1);
  if (root == std::string_view::npos) return out;
  if (ptx[root] == '@') root = ptx.find_first_not_of(" \t", std::min(ptx.find_first_of(" \t", root), ptx.size()));
  if (root == std::string_view::npos || root >= std::max(place.span.end, place.span.begin + 1)) return out;
  size_t end = root;
  int dots = 0;
  while (end < ptx.size() && (std::isalnum(static_cast<unsigned char>(ptx[end])) != 0 || ptx[end] == '_' ||
                              ptx[end] == '.' || ptx[end] == ':')) {
    if (ptx[end] == '.' && ++dots == 2) break;
    ++end;
  }
  const std::string_view name = ptx.substr(root, end - root);
  if (name.empty()) return out;
  const auto text = texts.of(out.at.file);
  constexpr uint32_t kLongestStatement = assumptions::kLinesOfAStatement;
  const uint32_t last = out.at.line;
  for (uint32_t line = out.at.line; line > 0 && line + kLongestStatement > last; --line) {
    const std::string_view content = text->line(line);
    const size_t found = content.find(name);
    if (found != std::string_view::npos) {
      out.at.line = line;
      out.at.column = static_cast<uint32_t>(found + 1);
      return out;
    }
    if (content.find("asm") != std::string_view::npos) break;
  }
  return out;
}

}  // namespace tmemlint::cuda
