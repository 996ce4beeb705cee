#include "analyzer/report/encoding.h"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>

#include <cstdint>

namespace tmemlint::report {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD in UTF-8

bool is_control(char32_t code) {
  return code < 0x20 || (code >= 0x7f && code < 0xa0);
}

// The bidirectional controls can make a line read as something it is not.
bool reorders_text(char32_t code) {
  return (code >= 0x202a && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
}

}  // namespace

Character first_character(std::string_view text) {
  auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  size_t length = 0;
  char32_t code = 0;
  char32_t smallest = 0;  // an encoding longer than needed is invalid
  if ((lead & 0xe0) == 0xc0) {
    length = 2, code = lead & 0x1f, smallest = 0x80;
  } else if ((lead & 0xf0) == 0xe0) {
    length = 3, code = lead & 0x0f, smallest = 0x800;
  } else if ((lead & 0xf8) == 0xf0) {
    length = 4, code = lead & 0x07, smallest = 0x10000;
  } else {
    return {};
  }
  if (text.size() < length) return {};
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {};
    code = (code << 6) | (byte(i) & 0x3f);
  }
  const bool surrogate = code >= 0xd800 && code <= 0xdfff;
  if (code < smallest || code > 0x10ffff || surrogate) return {};
  return {code, length};
}

size_t utf16_length(std::string_view text) {
  size_t units = 0;
  while (!text.empty()) {
    const Character character = first_character(text);
    units += character.code >= 0x10000 ? 2 : 1;
    text.remove_prefix(character.bytes);
  }
  return units;
}

std::string printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const Character character = first_character(text);
    if (character.code == '\n' || character.code == '\r' || character.code == '\t') {
      out += ' ';
    } else if (character.code == 0xfffd || is_control(character.code) || reorders_text(character.code)) {
      out += kReplacement;
    } else {
      out += text.substr(0, character.bytes);
    }
    text.remove_prefix(character.bytes);
  }
  return out;
}

namespace {

// "ns::kernel<...>" of a mangled name that the demangler does not take (it gives up on long template arguments); the
// name itself when it is not mangled.
std::string outer_name(const std::string& name) {
  if (!name.starts_with("_Z")) return name;
  size_t at = 2;
  if (at < name.size() && name[at] == 'N') ++at;
  std::string out;
  while (at < name.size() && name[at] >= '0' && name[at] <= '9') {
    size_t length = 0;
    for (; at < name.size() && name[at] >= '0' && name[at] <= '9'; ++at)
      length = length * 10 + static_cast<size_t>(name[at] - '0');
    if (length == 0 || length > name.size() - at) return name;
    if (!out.empty()) out += "::";
    out += name.substr(at, length);
    at += length;
  }
  if (out.empty()) return name;
  return at < name.size() && name[at] == 'I' ? out + "<...>" : out;
}

}  // namespace

std::string readable_kernel(const std::string& name) {
  constexpr size_t kLongest = 110;
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> plain(abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status),
                                                          &std::free);
  std::string out =
      status == 0 && plain != nullptr && name.starts_with("_Z") ? std::string(plain.get()) : outer_name(name);
  if (out.starts_with("void ")) out.erase(0, 5);
  if (out.size() > kLongest) out = out.substr(0, kLongest - 3) + "...";
  return out;
}

}  // namespace tmemlint::report
