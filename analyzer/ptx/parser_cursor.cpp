// Where the parser stands in the text, its errors, and where it goes on after one.
#include <utility>

#include "analyzer/assumptions/assumptions.h"
#include "analyzer/ptx/parser.h"
#include "analyzer/ptx/source.h"

namespace tmemlint::ptx {

namespace {

constexpr int kMaxDepth = assumptions::kExpressionsNested;  // of vectors and groups, and of parentheses in expressions

}  // namespace

Cursor::Cursor(std::shared_ptr<const SourceText> source)
    : source_(std::move(source)), lexer_(without_trailing_nuls(source_->text())) {}

// ---- errors ----

void Cursor::error(Span span, std::string message) {
  if (is_stopped_) return;
  module_.errors.push_back({span, std::move(message)});
  if (module_.errors.size() < kMaxErrors) return;
  is_stopped_ = true;
  lexer_.stop();
}

bool Cursor::at_line_start() const {
  std::string_view gap = lexer_.text().substr(previous_end_, token().begin - previous_end_);
  return gap.find('\n') != std::string_view::npos;
}

std::string Cursor::describe_token() const {
  if (is_end()) return "the end of the file";
  constexpr size_t kLongest = 40;
  std::string shown(text().substr(0, kLongest));
  for (char& c : shown) {
    if (c < ' ' || c > '~') c = '?';
  }
  if (text().size() > kLongest) shown += "...";
  return "'" + shown + "'";
}

bool Cursor::expected(const char* what) {
  if (token().kind == Token::Kind::kBad) {
    error(token().span(), lexer_.complaint());
    return false;
  }
  // What is missing at the end of a line is shown there, not on the line after it.
  Span span = token().span();
  if ((at_line_start() || is_end()) && previous_end_ > 0) span = {previous_end_ - 1, previous_end_};
  error(span, "expected " + std::string(what) + " before " + describe_token());
  return false;
}

bool Cursor::expect(char punctuation, const char* what) {
  if (!token().is(punctuation)) return expected(what);
  next();
  return true;
}

bool Cursor::too_deep(int depth) {
  if (depth < kMaxDepth) return false;
  error(token().span(), "nested too deep");
  return true;
}

// ---- the next statement ----

void Cursor::end_statement() {
  if (token().is(';')) return next();
  expected("';'");
  // A forgotten semicolon at the end of a line costs nothing else.
  if (!at_line_start()) resynchronise();
}

void Cursor::resynchronise() {
  uint32_t open = std::exchange(open_braces_, 0);
  while (!is_end()) {
    if (token().is(';')) return next();
    if (token().is('@') && at_line_start()) return;
    if (token().is('{')) ++open;
    if (token().is('}') && open-- == 0) return;
    next();
  }
}

// To the next statement of the module: after a semicolon or a block, or to a directive at the beginning of a line.
void Cursor::resynchronise_module() {
  while (!is_end()) {
    if (is_directive() && at_line_start()) return;
    if (token().is(';') || token().is('}')) return next();
    if (token().is('{')) {
      lexer_.skip_block();
      return;
    }
    next();
  }
}

bool Cursor::parse_small_integer(uint32_t& value, const char* what) {
  if (token().kind != Token::Kind::kInteger || token().value > 0xffffffffu) return expected(what);
  value = static_cast<uint32_t>(token().value);
  next();
  return true;
}

// Stops early where no list of attributes or parameters would go on, so that an unclosed one costs little.
void Cursor::skip_parentheses() {
  uint32_t depth = 0;
  while (!is_end() && !token().is(';') && !token().is('{') && !token().is('}') && !is_directive(".func")) {
    if (token().is('(')) ++depth;
    if (token().is(')')) --depth;
    next();
    if (depth == 0) return;
  }
}

}  // namespace tmemlint::ptx
