// How long things may be: a file 600 lines, a class 600, a function 80. What is longer says why in a comment that
// begins with `// Long because`: a file among its first lines, a function (a table of cases, a plain switch) directly
// above it. No class may be longer.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "tests/files.h"

namespace tmemlint {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Folders whose sources are checked, with all that is below them.
const std::vector<std::string> kChecked = {"analyzer", "rules", "tests"};

constexpr size_t kFileLines = 600;
constexpr size_t kClassLines = 600;
constexpr size_t kFunctionLines = 80;
constexpr std::string_view kReason = "// Long because ";

bool starts_raw_string(std::string_view text, size_t quote) {
  return quote > 0 && text[quote - 1] == 'R' &&
         (quote == 1 || std::isalnum(static_cast<unsigned char>(text[quote - 2])) == 0);
}

// Where the literal that begins with the quote at `at` ends: behind its last quote.
size_t end_of_literal(std::string_view text, size_t at) {
  if (text[at] == '"' && starts_raw_string(text, at)) {
    const size_t open = text.find('(', at);
    const std::string close = ")" + std::string(text.substr(at + 1, open - at - 1)) + "\"";
    return std::min(text.size(), text.find(close, open) + close.size());
  }
  size_t end = at + 1;
  while (end < text.size() && text[end] != text[at] && text[end] != '\n') end += text[end] == '\\' ? 2 : 1;
  return std::min(text.size(), end + 1);
}

// The text with spaces for comments, literals and preprocessor lines: what is left has the braces that open scopes.
std::string code_of(std::string_view text) {
  std::string out(text);
  const auto blank = [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      if (out[i] != '\n') out[i] = ' ';
    }
    return end;
  };
  bool line_is_empty = true;  // so far
  for (size_t i = 0; i < text.size();) {
    const char c = text[i];
    const bool digit_separator = c == '\'' && i > 0 && std::isalnum(static_cast<unsigned char>(text[i - 1])) != 0;
    if (c == '/' && text.substr(i, 2) == "//") {
      i = blank(i, std::min(text.size(), text.find('\n', i)));
    } else if (c == '/' && text.substr(i, 2) == "/*") {
      i = blank(i, std::min(text.size(), text.find("*/", i) + 2));
    } else if (c == '#' && line_is_empty) {
      size_t end = text.find('\n', i);
      while (end != std::string_view::npos && text[end - 1] == '\\') end = text.find('\n', end + 1);
      i = blank(i, std::min(text.size(), end));
    } else if (c == '"' || (c == '\'' && !digit_separator)) {
      i = blank(i, end_of_literal(text, i));
    } else {
      line_is_empty = c == '\n' || (line_is_empty && c == ' ');
      ++i;
    }
  }
  return out;
}

enum class Scope { kNamespace, kClass, kFunction, kOther };

bool has_word(std::string_view text, std::string_view word) {
  const auto is_letter = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
  for (size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    const size_t end = at + word.size();
    if ((at == 0 || !is_letter(text[at - 1])) && (end == text.size() || !is_letter(text[end]))) return true;
  }
  return false;
}

// What a brace opens, by the declaration before it and the scope around both.
Scope opened_by(std::string_view declaration, Scope around) {
  if (around == Scope::kFunction || around == Scope::kOther) return Scope::kOther;
  if (has_word(declaration, "namespace") || has_word(declaration, "extern")) return Scope::kNamespace;
  const bool has_parameters = declaration.find(')') != std::string_view::npos;
  if (!has_parameters && has_word(declaration, "enum")) return Scope::kOther;
  for (const std::string_view word : {"class", "struct", "union"}) {
    if (!has_parameters && has_word(declaration, word)) return Scope::kClass;
  }
  return has_parameters ? Scope::kFunction : Scope::kOther;
}

struct Part {
  Scope scope;
  size_t begin;  // line where the declaration begins, from 0
  size_t open;   // lines of its braces
  size_t close;
  size_t lines() const { return close - open + 1; }
};

// Classes and functions of a file, the inner ones first; not those inside of functions.
std::vector<Part> parts_of(std::string_view text) {
  std::vector<Part> out;
  std::vector<Part> around = {{Scope::kNamespace, 0, 0, 0}};
  const std::string code = code_of(text);
  std::string declaration;
  size_t declared_at = 0, line = 0, parentheses = 0;
  for (const char c : code) {
    if (c == '\n') ++line;
    if (c == '(') ++parentheses;
    if (c == ')' && parentheses > 0) --parentheses;
    if (c == '{') {
      const Scope scope = parentheses > 0 ? Scope::kOther : opened_by(declaration, around.back().scope);
      around.push_back({scope, declared_at, line, 0});
    } else if (c == '}' && around.size() > 1) {
      Part part = around.back();
      around.pop_back();
      part.close = line;
      if (part.scope == Scope::kClass || part.scope == Scope::kFunction) out.push_back(part);
    }
    // `public:` begins nothing.
    const bool label = c == ':' && (declaration == "public" || declaration == "private" || declaration == "protected");
    if (label || (parentheses == 0 && (c == '{' || c == '}' || c == ';'))) {
      declaration.clear();
    } else if (!declaration.empty() || std::isspace(static_cast<unsigned char>(c)) == 0) {
      if (declaration.empty()) declared_at = line;
      declaration += c;
    }
  }
  return out;
}

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> out;
  std::istringstream in{std::string(text)};
  for (std::string line; std::getline(in, line);) out.push_back(line);
  return out;
}

std::string_view without_indent(std::string_view line) {
  return line.substr(std::min(line.size(), line.find_first_not_of(' ')));
}

// The comment lines directly above a line, and those from the first line on.
bool reason_above(const std::vector<std::string>& lines, size_t line) {
  while (line > 0 && without_indent(lines[line - 1]).starts_with("//")) {
    if (without_indent(lines[--line]).starts_with(kReason)) return true;
  }
  return false;
}
bool reason_at_top(const std::vector<std::string>& lines) {
  const auto end = std::ranges::find_if(lines, [](std::string_view line) { return !line.starts_with("//"); });
  return std::any_of(lines.begin(), end, [](std::string_view line) { return line.starts_with(kReason); });
}

// What of a file is too long.
std::vector<std::string> too_long(const std::string& name, std::string_view text) {
  std::vector<std::string> out;
  const std::vector<std::string> lines = lines_of(text);
  if (lines.size() > kFileLines && !reason_at_top(lines))
    out.push_back(name + ": a file of " + std::to_string(lines.size()) + " lines");
  for (const Part& part : parts_of(text)) {
    const bool is_class = part.scope == Scope::kClass;
    if (part.lines() <= (is_class ? kClassLines : kFunctionLines)) continue;
    if (!is_class && reason_above(lines, part.begin)) continue;
    out.push_back(name + ":" + std::to_string(part.begin + 1) + (is_class ? ": a class of " : ": a function of ") +
                  std::to_string(part.lines()) + " lines: " + std::string(without_indent(lines[part.begin])));
  }
  return out;
}

TEST(Limits, OfFilesClassesAndFunctions) {
  const std::filesystem::path root = TMEMLINT_SOURCE_DIR;
  for (const std::string& folder : kChecked) {
    size_t files = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root / folder)) {
      const std::filesystem::path& path = entry.path();
      if (path.extension() != ".cpp" && path.extension() != ".h") continue;
      ++files;
      EXPECT_THAT(too_long(std::filesystem::relative(path, root).string(), test::read_file(path)), IsEmpty());
    }
    EXPECT_GT(files, 0u) << folder;
  }
}

std::string repeated(const std::string& line, size_t count) {
  std::string out;
  for (size_t i = 0; i < count; ++i) out += line;
  return out;
}

TEST(Limits, AreKeptOrExplained) {
  const std::string body = repeated("  go();\n", 79);
  EXPECT_THAT(too_long("f", "void f() {\n" + body.substr(8) + "}\n"), IsEmpty());
  EXPECT_THAT(too_long("f", "int a;\nvoid f(int b = {}) {\n" + body + "}\n"),
              ElementsAre("f:2: a function of 81 lines: void f(int b = {}) {"));
  EXPECT_THAT(too_long("f", "// Long because it is a table.\nvoid f() {\n" + body + "}\n"), IsEmpty());
  EXPECT_THAT(too_long("f", "// Long because it is a table.\n\nvoid f() {\n" + body + "}\n"), testing::SizeIs(1));
  EXPECT_THAT(too_long("f", "// What it is.\n" + repeated("int a;\n", 600)), ElementsAre("f: a file of 601 lines"));
  EXPECT_THAT(too_long("f", "// What it is.\n// Long because it is one thing.\n" + repeated("int a;\n", 600)),
              IsEmpty());
  const std::string members = "class C {\npublic:\n" + repeated("  int a;\n", 600) + "};\n";
  EXPECT_THAT(too_long("f", "// Long because it is one thing.\n" + members),
              ElementsAre(HasSubstr("f:2: a class of 603 lines")));
}

TEST(Limits, AreCountedFromBraceToBrace) {
  // Braces in literals and comments open nothing; a function in a class is found; a lambda belongs to its function.
  const std::string text = R"x(namespace n {
#define OPEN {
const char kBrace = '{', kQuote = '"';
const std::vector<int> kTable = {1'000,
                                 2};  // {
class C : public B {
public:
  C() : a_("{\"{") {}
  template <typename T>
  void f(T x) const {
    call([&] {
      return R"({{)";
    });
  }
};
enum class E { kOne };
}  // namespace n
)x";
  std::vector<std::string> found;
  for (const Part& p : parts_of(text)) {
    found.push_back((p.scope == Scope::kClass ? "class at " : "function at ") + std::to_string(p.begin + 1) + ": " +
                    std::to_string(p.open + 1) + "-" + std::to_string(p.close + 1));
  }
  EXPECT_THAT(found, ElementsAre("function at 8: 8-8", "function at 9: 10-14", "class at 6: 6-15"));
}

}  // namespace
}  // namespace tmemlint
