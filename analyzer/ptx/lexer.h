// Tokens of PTX text.
//
// The text is read in place and ends in a NUL byte (a std::string's), so nothing here checks for the end: the NUL is
// in no character class. Words are hashed while they are scanned, with and without their trailing number, because every
// one of them is looked up next, mostly as "%r" + 123.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "analyzer/ptx/source.h"

namespace tmemlint::ptx {

struct Token {
  enum class Kind : uint8_t {
    kEnd,
    kWord,         // identifier, with its leading % or $
    kDirective,    // .identifier, with the dot; "::" inside belongs to it
    kInteger,      // value; is_unsigned when suffixed with U
    kFloat,        // value: bit pattern as in Operand::Kind::kFloat
    kString,       // with its quotes
    kPunctuation,  // one character
    kBad           // lexer.complaint() says why
  };
  Kind kind = Kind::kEnd;
  char punctuation = '\0';  // '\0' unless kPunctuation
  bool is_unsigned = false;
  bool is_numbered = false;  // of kWord: ends in a decimal number that fits `number`
  Offset begin = 0, end = 0;
  Offset prefix_end = 0;     // of kWord: where its trailing digits begin
  uint32_t number = 0;       // of kWord: the trailing number
  uint64_t hash = 0;         // of kWord
  uint64_t prefix_hash = 0;  // of kWord: without the trailing digits
  uint64_t value = 0;        // of kInteger and kFloat

  bool is(char c) const { return punctuation == c; }
  Span span() const { return {begin, end}; }
};

constexpr uint64_t kHashSeed = 0x243f6a8885a308d3u;
constexpr uint64_t hash_step(uint64_t hash, char c) {
  return (hash ^ static_cast<unsigned char>(c)) * 0x9e3779b97f4a7c15u;
}
constexpr uint64_t hash_of(std::string_view text, uint64_t hash = kHashSeed) {
  for (char c : text) hash = hash_step(hash, c);
  return hash;
}

class Lexer {
public:
  // `text` must be followed by a NUL byte and hold none.
  explicit Lexer(std::string_view text);

  const Token& token() const { return token_; }
  void next();
  // Extends the current word to an opcode spelling: up to the last character that can belong to one without white
  // space ("ld" to "ld.global.u32"). Its `hash` becomes that of the whole spelling.
  void extend_opcode();
  // Appends modifiers that white space separates from the opcode ("ld .global"), one run of them; false: none follow.
  bool continue_opcode(std::string& spelling);
  // The next character that is neither white space nor comment; the current token stays.
  char peek() {
    skip();
    return *cursor_;
  }
  // The character right behind the current token.
  char following() const { return *cursor_; }
  // Skips a balanced { } block whose opening brace is the current token, without making tokens of what is inside. The
  // current token becomes what follows it. False: the text ended first.
  bool skip_block();
  // Skips to the end of the line that the current token ends on.
  void skip_line();
  // Makes the token at `offset` the current one.
  void move_to(Offset offset) {
    cursor_ = text_.data() + offset;
    next();
  }
  // Everything from here on is kEnd.
  void stop();

  std::string_view text(const Token& token) const { return text_.substr(token.begin, token.end - token.begin); }
  std::string_view text() const { return text_; }
  // Why the current token is kBad.
  const char* complaint() const { return complaint_; }
  // Where a comment begins that nothing closes; text().size() when there is none.
  Offset unclosed_comment() const { return unclosed_comment_; }

private:
  void skip() {
    auto c = static_cast<unsigned char>(*cursor_);
    if (c <= ' ' || c == '/' || c == '#') skip_space();
  }
  void skip_space();
  bool skip_comment();
  void word();
  void directive();
  void number();
  void integer(int base, const char* first);
  void bit_pattern(int digits);
  void decimal_float();
  void string();
  void bad(const char* complaint);
  Offset at(const char* p) const { return static_cast<Offset>(p - text_.data()); }

  std::string_view text_;
  const char* cursor_;
  const char* end_;
  Token token_;
  const char* complaint_ = "";
  Offset unclosed_comment_;
};

}  // namespace tmemlint::ptx
