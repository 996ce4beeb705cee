#include "analyzer/ptx/lexer.h"

#include <array>
#include <bit>
#include <charconv>
#include <cstring>

namespace tmemlint::ptx {

namespace {

enum Class : uint8_t {
  kLetter = 1,  // letters, _ and $: everything but digits that continues a word
  kDigit = 2,
  kSpace = 4,
  kHex = 8,
  kDot = 16,
  kPercent = 32,  // starts a word, never continues one
};

constexpr std::array<uint8_t, 256> make_classes() {
  std::array<uint8_t, 256> classes{};
  for (int c = 'a'; c <= 'z'; ++c) classes[c] = kLetter;
  for (int c = 'A'; c <= 'Z'; ++c) classes[c] = kLetter;
  for (int c = 'a'; c <= 'f'; ++c) classes[c] |= kHex;
  for (int c = 'A'; c <= 'F'; ++c) classes[c] |= kHex;
  for (int c = '0'; c <= '9'; ++c) classes[c] = kDigit | kHex;
  for (char c : {'_', '$'}) classes[static_cast<unsigned char>(c)] = kLetter;
  for (char c : {' ', '\t', '\n', '\r', '\v', '\f'}) classes[static_cast<unsigned char>(c)] = kSpace;
  classes['.'] = kDot;
  classes['%'] = kPercent;
  return classes;
}

constexpr std::array<uint8_t, 256> kClasses = make_classes();

bool is(char c, int classes) {
  return (kClasses[static_cast<unsigned char>(c)] & classes) != 0;
}

unsigned digit_value(char c) {
  if (c <= '9') return static_cast<unsigned>(c - '0');
  return static_cast<unsigned>((c | 0x20) - 'a') + 10;
}

}  // namespace

Lexer::Lexer(std::string_view text)
    : text_(text),
      cursor_(text.data()),
      end_(text.data() + text.size()),
      unclosed_comment_(static_cast<Offset>(text.size())) {
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  if (text.substr(0, kByteOrderMark.size()) == kByteOrderMark) cursor_ += kByteOrderMark.size();
}

void Lexer::stop() {
  cursor_ = end_;
  token_ = Token();
  token_.begin = token_.end = at(end_);
}

// False: the slash at the cursor begins no comment.
bool Lexer::skip_comment() {
  if (cursor_[1] == '/') {
    const void* newline = std::memchr(cursor_, '\n', static_cast<size_t>(end_ - cursor_));
    cursor_ = newline ? static_cast<const char*>(newline) : end_;
    return true;
  }
  if (cursor_[1] != '*') return false;
  size_t close = text_.find("*/", at(cursor_) + 2);
  if (close == std::string_view::npos) {
    unclosed_comment_ = at(cursor_);
    cursor_ = end_;
  } else {
    cursor_ = text_.data() + close + 2;
  }
  return true;
}

void Lexer::skip_space() {
  for (;;) {
    while (is(*cursor_, kSpace)) ++cursor_;
    if (*cursor_ == '/' && skip_comment()) continue;
    // Line markers that a preprocessor left behind; ptxas skips them too.
    if (*cursor_ != '#') return;
    const void* newline = std::memchr(cursor_, '\n', static_cast<size_t>(end_ - cursor_));
    cursor_ = newline ? static_cast<const char*>(newline) : end_;
  }
}

void Lexer::skip_line() {
  const void* newline = std::memchr(cursor_, '\n', static_cast<size_t>(end_ - cursor_));
  cursor_ = newline ? static_cast<const char*>(newline) : end_;
}

void Lexer::next() {
  skip();
  token_.begin = at(cursor_);
  token_.punctuation = '\0';
  char c = *cursor_;
  if (is(c, kLetter | kPercent)) {
    word();
  } else if (is(c, kDigit)) {
    number();
  } else if (c == '.') {
    directive();
  } else if (c == '"') {
    string();
  } else if (c == '\0') {
    token_.kind = Token::Kind::kEnd;
  } else if (static_cast<unsigned char>(c) > ' ' && static_cast<unsigned char>(c) < 0x7f) {
    token_.kind = Token::Kind::kPunctuation;
    token_.punctuation = c;
    ++cursor_;
  } else {
    ++cursor_;
    bad("a character that PTX does not have");
  }
  token_.end = at(cursor_);
}

void Lexer::bad(const char* complaint) {
  token_.kind = Token::Kind::kBad;
  complaint_ = complaint;
}

void Lexer::word() {
  const char* p = cursor_;
  uint64_t hash = hash_step(kHashSeed, *p++);
  token_.kind = Token::Kind::kWord;
  for (;;) {
    while (is(*p, kLetter)) hash = hash_step(hash, *p++);
    token_.prefix_hash = hash;
    token_.prefix_end = at(p);
    token_.is_numbered = false;
    if (!is(*p, kDigit)) break;
    const char* digits = p;
    uint32_t number = 0;
    do {
      number = number * 10 + static_cast<uint32_t>(*p - '0');
      hash = hash_step(hash, *p++);
    } while (is(*p, kDigit));
    if (is(*p, kLetter)) continue;
    token_.is_numbered = p - digits <= 9;
    token_.number = number;
    break;
  }
  token_.hash = hash;
  cursor_ = p;
  // "%" alone is the remainder operator of a constant expression.
  if (at(p) == token_.begin + 1 && p[-1] == '%') {
    token_.kind = Token::Kind::kPunctuation;
    token_.punctuation = '%';
  }
}

void Lexer::extend_opcode() {
  const char* p = text_.data() + token_.end;  // the cursor may have gone on to look for a colon
  uint64_t hash = token_.hash;
  for (;;) {
    while (is(*p, kLetter | kDigit | kDot)) hash = hash_step(hash, *p++);
    if (p[0] == ':' && p[1] == ':') {
      hash = hash_step(hash_step(hash, ':'), ':');
      p += 2;
    } else if (p[0] == ':' && is(p[-1], kDigit) && is(p[1], kDigit)) {
      hash = hash_step(hash, *p++);  // a ratio: .sp::2:4
    } else {
      break;
    }
  }
  token_.hash = hash;
  cursor_ = p;
  token_.end = at(p);
}

bool Lexer::continue_opcode(std::string& spelling) {
  if (peek() != '.') return false;
  const char* begin = cursor_;
  token_.end = at(begin);
  extend_opcode();
  spelling.append(begin, cursor_);
  return true;
}

void Lexer::directive() {
  if (is(cursor_[1], kDigit)) return decimal_float();
  const char* p = cursor_ + 1;
  for (;;) {
    while (is(*p, kLetter | kDigit)) ++p;
    if (p[0] != ':' || p[1] != ':') break;
    p += 2;
  }
  if (p == cursor_ + 1) {
    token_.kind = Token::Kind::kPunctuation;
    token_.punctuation = '.';
  } else {
    token_.kind = Token::Kind::kDirective;
  }
  cursor_ = p;
}

void Lexer::number() {
  const char* p = cursor_;
  // Tables of constants are megabytes of short decimal numbers: those in one pass. 19 digits cannot overflow.
  if (p[0] != '0' || !is(p[1], kDigit | kLetter)) {
    uint64_t value = 0;
    const char* end = p;
    do value = value * 10 + static_cast<uint64_t>(*end++ - '0');
    while (is(*end, kDigit) && end - p < 19);
    if (*end != '.' && !is(*end, kDigit | kLetter)) {
      token_.kind = Token::Kind::kInteger;
      token_.value = value;
      token_.is_unsigned = false;
      cursor_ = end;
      return;
    }
  }
  if (p[0] == '0' && (p[1] == 'x' || p[1] == 'X')) return integer(16, p + 2);
  if (p[0] == '0' && (p[1] == 'b' || p[1] == 'B')) return integer(2, p + 2);
  if (p[0] == '0' && (p[1] == 'f' || p[1] == 'F')) return bit_pattern(8);
  if (p[0] == '0' && (p[1] == 'd' || p[1] == 'D')) return bit_pattern(16);
  while (is(*p, kDigit)) ++p;
  if (*p == '.' || *p == 'e' || *p == 'E') return decimal_float();
  integer(cursor_[0] == '0' ? 8 : 10, cursor_);
}

void Lexer::integer(int base, const char* first) {
  const char* p = first;
  uint64_t value = 0;
  bool overflow = false;
  for (; is(*p, kHex) && (base == 16 || is(*p, kDigit)); ++p) {
    unsigned digit = digit_value(*p);
    if (digit >= static_cast<unsigned>(base)) break;
    overflow |= __builtin_mul_overflow(value, static_cast<uint64_t>(base), &value);
    overflow |= __builtin_add_overflow(value, static_cast<uint64_t>(digit), &value);
  }
  bool is_empty = p == first;
  token_.kind = Token::Kind::kInteger;
  token_.value = value;
  token_.is_unsigned = *p == 'U';
  if (token_.is_unsigned) ++p;
  bool is_malformed = is(*p, kLetter | kDigit);
  while (is(*p, kLetter | kDigit)) ++p;
  cursor_ = p;
  if (overflow) token_.value = ~uint64_t{0};  // ptxas accepts it
  if (is_empty || is_malformed) bad("malformed number");
}

// 0f or 0d and exactly so many hexadecimal digits.
void Lexer::bit_pattern(int digits) {
  const char* p = cursor_ + 2;
  uint64_t value = 0;
  int count = 0;
  for (; is(*p, kHex); ++p, ++count) value = value << 4 | digit_value(*p);
  token_.kind = Token::Kind::kFloat;
  token_.value = value;
  bool is_malformed = count != digits || is(*p, kLetter | kDigit);
  while (is(*p, kLetter | kDigit)) ++p;
  cursor_ = p;
  if (is_malformed) bad("malformed floating-point number");
}

void Lexer::decimal_float() {
  const char* p = cursor_;
  while (is(*p, kDigit)) ++p;
  if (*p == '.') ++p;
  while (is(*p, kDigit)) ++p;
  if (*p == 'e' || *p == 'E') {
    const char* exponent = p + 1;
    if (*exponent == '+' || *exponent == '-') ++exponent;
    if (is(*exponent, kDigit)) {
      p = exponent;
      while (is(*p, kDigit)) ++p;
    }
  }
  double value = 0;  // out of range: from_chars leaves 0, which is as good as any value nobody evaluates
  std::from_chars(cursor_, p, value);
  token_.kind = Token::Kind::kFloat;
  token_.value = std::bit_cast<uint64_t>(value);
  bool is_malformed = is(*p, kLetter | kDigit);
  while (is(*p, kLetter | kDigit)) ++p;
  cursor_ = p;
  if (is_malformed) bad("malformed number");
}

void Lexer::string() {
  const char* p = cursor_ + 1;
  while (*p != '"' && *p != '\n' && *p != '\0') ++p;
  token_.kind = Token::Kind::kString;
  cursor_ = p;
  if (*p == '"') {
    ++cursor_;
  } else {
    bad("string without a closing quote");
  }
}

bool Lexer::skip_block() {
  size_t depth = 1;
  while (depth > 0) {
    skip_space();
    if (*cursor_ == '\0') break;
    if (*cursor_ == '{') ++depth;
    if (*cursor_ == '}') --depth;
    if (*cursor_ == '"') {
      string();
    } else {
      ++cursor_;
    }
  }
  next();
  return depth == 0;
}

}  // namespace tmemlint::ptx
