#include "analyzer/report/uri.h"

#include <algorithm>
#include <filesystem>

namespace tmemlint::report {
namespace {

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool is_unreserved(char c) {
  return is_letter(c) || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_' || c == '~' || c == '/';
}

std::string percent_encoded(std::string_view path) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string out;
  for (const char c : path) {
    if (is_unreserved(c)) {
      out += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      out += '%';
      out += kDigits[byte >> 4];
      out += kDigits[byte & 15];
    }
  }
  return out;
}

bool has_drive(std::string_view path) {
  return path.size() > 2 && is_letter(path[0]) && path[1] == ':' && (path[2] == '\\' || path[2] == '/');
}

}  // namespace

std::string uri_of(std::string_view path) {
  if (has_drive(path)) {
    std::string rest(path.substr(2));
    std::replace(rest.begin(), rest.end(), '\\', '/');
    return "file:///" + std::string(path.substr(0, 2)) + percent_encoded(rest);
  }
  const std::string normal = std::filesystem::path(path).lexically_normal().generic_string();
  if (!normal.empty() && normal.front() == '/') return "file://" + percent_encoded(normal);
  return percent_encoded(normal);
}

}  // namespace tmemlint::report
