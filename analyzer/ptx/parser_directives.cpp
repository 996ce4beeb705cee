// The file header, the statements of the module, and debug information (.loc, .file, .section).
#include "analyzer/ptx/parser.h"

namespace tmemlint::ptx {

// ---- the file ----

bool Parser::parse_header() {
  if (!is_directive(".version")) {
    error(token().span(), "no .version: this is not PTX");
    is_stopped_ = true;
    return false;
  }
  if (!parse_version()) resynchronise_module();
  if (!is_directive(".target")) {
    error(module_.version_span, "no .target after .version");
  } else if (!parse_target()) {
    resynchronise_module();
  }
  return true;
}

bool Parser::parse_version() {
  module_.version_span.begin = token().begin;
  next();
  module_.version_span.end = token().end;
  std::string_view number = text();
  size_t dot = number.find('.');
  bool is_number = token().kind == Token::Kind::kFloat && dot != std::string_view::npos && number.size() < 10 &&
                   number.find_first_not_of("0123456789.") == std::string_view::npos;
  if (!is_number) return expected("a version such as 8.7");
  auto read = [](std::string_view digits) {
    uint32_t value = 0;
    for (char c : digits) value = value * 10 + static_cast<uint32_t>(c - '0');
    return value;
  };
  module_.version_major = read(number.substr(0, dot));
  module_.version_minor = read(number.substr(dot + 1));
  next();
  return true;
}

bool Parser::parse_target() {
  module_.target_span.begin = token().begin;
  do {
    next();
    if (!is_word()) return expected("a target such as sm_100a");
    if (module_.target.empty()) {
      module_.target = text();
    } else {
      module_.target_options.push_back(text());
    }
    module_.target_span.end = token().end;
    next();
  } while (token().is(','));
  return true;
}

void Parser::parse_module_statement() {
  open_braces_ = 0;
  if (is_directive()) return parse_module_directive();
  if (token().is('@') && lexer_.following() == '@') {  // @@DWARF lines of old compilers
    lexer_.skip_line();
    return next();
  }
  expected("a directive");
  skip_stray_statements();
}

// After a '}' too many, what was meant to be the rest of a body stands here; one error is enough for all of it.
void Parser::skip_stray_statements() {
  do {
    next();
  } while (!is_end() && !(is_directive() && at_line_start() && starts_function_or_section()));
}

bool Parser::starts_function_or_section() const {
  return is_linkage(text()) || text() == ".entry" || text() == ".func" || text() == ".section" || text() == ".alias";
}

void Parser::parse_module_directive() {
  Declaration declaration;
  declaration.variable.span = token().span();
  while (is_directive() && is_linkage(text())) {
    declaration.variable.is_extern |= text() == ".extern";
    next();
  }
  std::string_view name = is_directive() ? text() : std::string_view();
  if (name == ".entry" || name == ".func") return parse_function(name == ".entry");
  if (name == ".address_size") return parse_address_size();
  if (parse_common_directive()) return;
  if (name == ".alias") return parse_alias();
  if (starts_variable(name)) return parse_variables(declaration);
  if (name.empty()) {
    expected("a declaration");
  } else {
    error(token().span(), "unknown directive '" + std::string(name) + "'");
    next();
  }
  resynchronise_module();
}

// Directives that may stand in a function as well.
bool Parser::parse_common_directive() {
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

// To the next statement of the module: after a semicolon or a block, or to a directive at the beginning of a line.
void Parser::resynchronise_module() {
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

bool Parser::parse_small_integer(uint32_t& value, const char* what) {
  if (token().kind != Token::Kind::kInteger || token().value > 0xffffffffu) return expected(what);
  value = static_cast<uint32_t>(token().value);
  next();
  return true;
}

void Parser::parse_address_size() {
  next();
  if (!parse_small_integer(module_.address_size, "32 or 64")) resynchronise_module();
}

void Parser::parse_file_directive() {
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

void Parser::parse_pragma() {
  next();
  while (token().kind == Token::Kind::kString || token().is(',')) next();
  end_statement();
}

void Parser::parse_alias() {
  next();
  uint32_t functions[2] = {kNone, kNone};
  for (uint32_t& index : functions) {
    if (&index != functions && !expect(',', "','")) return resynchronise_module();
    if (!is_word()) {
      expected("a function name");
      return resynchronise_module();
    }
    Symbol symbol = globals_.find(key(token()));
    if (symbol.kind != Symbol::Kind::kFunction) {
      error(token().span(), "unknown function '" + std::string(text()) + "'");
    } else {
      index = symbol.index;
    }
    next();
  }
  if (functions[0] != kNone) module_.functions[functions[0]].alias_of = functions[1];
  end_statement();
}

// ---- debug information ----

void Parser::parse_section() {
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
void Parser::parse_debug_strings() {
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
void Parser::resolve_function_names() {
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

void Parser::parse_location() {
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

bool Parser::parse_location_triple(Location& location) {
  if (!parse_small_integer(location.file, "a file number")) return false;
  if (!parse_small_integer(location.line, "a line number")) return false;
  return token().kind != Token::Kind::kInteger || parse_small_integer(location.column, "a column");
}

bool Parser::parse_location_attributes(Location& location) {
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

uint64_t Parser::place_key(const Location& location) {
  return uint64_t{location.line} << 32 ^ uint64_t { location.column } << 12 ^ location.file;
}

// The latest .loc of this function with the file, line and column of `location`; a new one where there is none.
uint32_t Parser::place(const Location& location) {
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
