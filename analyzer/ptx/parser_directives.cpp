// Directives that may stand in the module and in a function: .loc and the other debug information, .file, .pragma.
#include "analyzer/ptx/parser.h"

namespace tmemlint::ptx {

// Directives that may stand in a function as well.
bool DirectiveParser::parse_common_directive() {
  if (is_directive(".loc")) {
    parse_location();
  } else if (is_directive(".file")) {
    parse_file_directive();
  } else if (is_directive(".section")) {
    parse_section();
  } else if (is_directive(".pragma")) {
    parse_pragma();
  } else {
    return false;
  }
  return true;
}

void DirectiveParser::parse_file_directive() {
  next();
  SourceFile file;
  if (!parse_small_integer(file.index, "a file number")) return resynchronise_module();
  if (token().kind != Token::Kind::kString) {
    expected("a file name in quotes");
    return resynchronise_module();
  }
  file.path = text().substr(1, text().size() - 2);
  next();
  while (token().is(',')) {  // time stamp and size
    next();
    if (token().kind == Token::Kind::kInteger) next();
  }
  module_.files.push_back(std::move(file));
}

void DirectiveParser::parse_pragma() {
  next();
  while (token().kind == Token::Kind::kString || token().is(',')) next();
  end_statement();
}

// ---- debug information ----

void DirectiveParser::parse_section() {
  Span span = token().span();
  next();
  bool holds_strings = is_directive(".debug_str");
  while (is_directive() || is_word()) next();
  if (!token().is('{')) {
    expected("'{'");
    return resynchronise_module();
  }
  if (holds_strings) return parse_debug_strings();
  bool is_closed = lexer_.skip_block();
  if (!is_closed) error(span, "expected '}' before the end of the file: this section is not closed");
}

// Bytes with labels between them.
void DirectiveParser::parse_debug_strings() {
  next();
  bool are_bytes = false;
  while (!token().is('}')) {
    if (is_end()) {
      expected("'}'");
      return;
    }
    if (is_directive()) are_bytes = text() == ".b8";
    if (is_word()) debug_labels_[text()] = static_cast<uint32_t>(debug_strings_.size());
    if (are_bytes && token().kind == Token::Kind::kInteger) debug_strings_ += static_cast<char>(token().value);
    next();
  }
  next();
}

// The strings follow the code that names them.
void DirectiveParser::resolve_function_names() {
  if (named_locations_.empty() || debug_strings_.empty()) return;
  std::string_view strings = module_.spellings.emplace_back(std::move(debug_strings_));
  for (const NamedLocation& named : named_locations_) {
    auto label = debug_labels_.find(named.label);
    // kNone: an error ended that .loc.
    if (label == debug_labels_.end() || named.location == kNone) continue;
    uint64_t begin = uint64_t{label->second} + named.offset;
    if (begin >= strings.size()) continue;
    std::string_view rest = strings.substr(begin);
    module_.locations[named.location].function_name = rest.substr(0, rest.find('\0'));
  }
}

void DirectiveParser::parse_location() {
  next();
  Location location;
  if (!parse_location_triple(location)) return resynchronise();
  auto index = static_cast<uint32_t>(module_.locations.size());
  if (token().is(',')) {
    if (!parse_location_attributes(location)) return resynchronise();
    // A caller that no earlier .loc names was appended on the way.
    index = static_cast<uint32_t>(module_.locations.size());
    if (!named_locations_.empty() && named_locations_.back().location == kNone) {
      named_locations_.back().location = index;
    }
  }
  module_.locations.push_back(location);
  places_[place_key(location)] = index;
  location_ = index;
}

bool DirectiveParser::parse_location_triple(Location& location) {
  if (!parse_small_integer(location.file, "a file number")) return false;
  if (!parse_small_integer(location.line, "a line number")) return false;
  return token().kind != Token::Kind::kInteger || parse_small_integer(location.column, "a column");
}

bool DirectiveParser::parse_location_attributes(Location& location) {
  while (token().is(',')) {
    next();
    if (!is_word()) return expected("'function_name' or 'inlined_at'");
    bool is_name = text() == "function_name";
    bool is_place = text() == "inlined_at";
    if (!is_name && !is_place) return expected("'function_name' or 'inlined_at'");
    next();
    if (is_place) {
      Location caller;
      if (!parse_location_triple(caller)) return false;
      location.inlined_at = place(caller);
      continue;
    }
    if (!is_word()) return expected("a label of .debug_str");
    NamedLocation named{kNone, text(), 0};
    next();
    if (token().is('+')) {
      next();
      if (!parse_small_integer(named.offset, "an offset")) return false;
    }
    named_locations_.push_back(named);
  }
  return true;
}

uint64_t DirectiveParser::place_key(const Location& location) {
  return uint64_t{location.line} << 32 ^ uint64_t { location.column } << 12 ^ location.file;
}

// The latest .loc of this function with the file, line and column of `location`; a new one where there is none.
uint32_t DirectiveParser::place(const Location& location) {
  auto known = places_.find(place_key(location));
  if (known != places_.end() && known->second >= first_location_) {
    const Location& candidate = module_.locations[known->second];
    bool is_same =
        candidate.file == location.file && candidate.line == location.line && candidate.column == location.column;
    if (is_same) return known->second;
  }
  module_.locations.push_back(location);
  return static_cast<uint32_t>(module_.locations.size() - 1);
}

}  // namespace tmemlint::ptx
