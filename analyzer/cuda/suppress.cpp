#include "analyzer/cuda/suppress.h"

#include <algorithm>

namespace tmemlint::cuda {
namespace {

bool matches(std::string_view pattern, std::string_view text) {
  if (pattern.empty()) return text.empty();
  if (pattern[0] == '*') return matches(pattern.substr(1), text) || (!text.empty() && matches(pattern, text.substr(1)));
  return !text.empty() && pattern[0] == text[0] && matches(pattern.substr(1), text.substr(1));
}

// Whether the line has the marker (as a whole word, in a comment) for this rule.
bool line_says(std::string_view line, std::string_view marker, std::string_view rule) {
  const size_t comment = std::min(line.find("//"), line.find("/*"));
  if (comment == std::string_view::npos) return false;
  for (size_t at = line.find(marker, comment); at != std::string_view::npos; at = line.find(marker, at + 1)) {
    std::string_view rest = line.substr(at + marker.size());
    if (!rest.empty() && rest[0] >= 'A' && rest[0] <= 'Z') continue;  // NOLINT of NOLINTNEXTLINE
    if (rest.empty() || rest[0] != '(') return true;
    rest = rest.substr(1, rest.find(')') - 1);
    if (names_rule(rest, rule)) return true;
  }
  return false;
}

bool in_block(const ptx::SourceText& text, uint32_t line, std::string_view rule) {
  bool inside = false;
  for (uint32_t i = 1; i <= line; ++i) {
    const std::string_view content = text.line(i);
    if (content.find("NOLINT") == std::string_view::npos) continue;
    if (line_says(content, "NOLINTBEGIN", rule)) inside = true;
    if (line_says(content, "NOLINTEND", rule)) inside = false;
  }
  return inside;
}

}  // namespace

bool names_rule(std::string_view list, std::string_view rule) {
  while (!list.empty()) {
    const size_t comma = list.find(',');
    std::string_view item = list.substr(0, comma);
    while (!item.empty() && item.front() == ' ') item.remove_prefix(1);
    while (!item.empty() && item.back() == ' ') item.remove_suffix(1);
    if (matches(item, rule)) return true;
    list = comma == std::string_view::npos ? std::string_view() : list.substr(comma + 1);
  }
  return false;
}

bool is_suppressed(const report::Place& place, std::string_view rule) {
  if (!place.text) return false;
  const ptx::SourceText& text = *place.text;
  const uint32_t line = text.position(place.span.begin).line;
  if (line_says(text.line(line), "NOLINT", rule)) return true;
  if (line > 1 && line_says(text.line(line - 1), "NOLINTNEXTLINE", rule)) return true;
  return text.text().find("NOLINTBEGIN") != std::string_view::npos && in_block(text, line, rule);
}

bool is_suppressed(const report::Finding& finding) {
  return is_suppressed(finding.place, finding.rule);
}

}  // namespace tmemlint::cuda
