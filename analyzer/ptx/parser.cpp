// The file, the statements of the module, and functions up to their bodies.
#include "analyzer/ptx/parser.h"

#include <algorithm>
#include <cstring>
#include <limits>

namespace tmemlint::ptx {

Module parse(std::shared_ptr<const SourceText> source) {
  return Parser(std::move(source)).parse();
}

// ---- the file ----

Parser::Parser(std::shared_ptr<const SourceText> source) : BodyParser(std::move(source)) {}

Module Parser::parse() {
  module_.source = source_;
  parse_file();
  auto size = static_cast<Offset>(lexer_.text().size());
  if (lexer_.unclosed_comment() != size && module_.errors.size() < kMaxErrors) {
    module_.errors.push_back({{lexer_.unclosed_comment(), lexer_.unclosed_comment() + 2}, "comment without '*/'"});
  }
  resolve_function_names();
  std::stable_sort(module_.errors.begin(), module_.errors.end(),
                   [](const Problem& a, const Problem& b) { return a.span.begin < b.span.begin; });
  if (module_.errors.size() == kMaxErrors) module_.errors.push_back({{size, size}, "too many errors"});
  return std::move(module_);
}

void Parser::parse_file() {
  std::string_view text = lexer_.text();
  if (source_->text().size() > std::numeric_limits<Offset>::max() - 64) {
    module_.errors.push_back({{0, 0}, "the file is larger than 4 GiB"});
    is_stopped_ = true;
    return;
  }
  if (const void* nul = text.empty() ? nullptr : std::memchr(text.data(), '\0', text.size())) {
    auto offset = static_cast<Offset>(static_cast<const char*>(nul) - text.data());
    error({offset, offset + 1}, "a NUL byte: this is a binary file, not PTX");
    is_stopped_ = true;
    return;
  }
  reserve();
  locals_.clear();
  globals_.clear();
  next();
  if (!parse_header()) return;
  while (!is_end()) parse_module_statement();
}

void Parser::reserve() {
  size_t size = lexer_.text().size();
  // A few times less than dense code needs: doubling twice is cheap, memory nobody fills is not.
  module_.operands.reserve(size / 24 + 16);
  module_.instructions.reserve(size / 64 + 16);
  register_budget_ = size + (uint64_t{1} << 24);
  scratch_.reserve(256);
  grow_opcodes();
}

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

void Parser::parse_address_size() {
  next();
  if (!parse_small_integer(module_.address_size, "32 or 64")) resynchronise_module();
}

// ---- statements of the module ----

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

// ---- functions ----

void Parser::parse_function(bool is_entry) {
  next();
  std::optional<Token> name = find_function_name();
  if (!name) {
    expected("a function name");
    function_ = kNone;
    return resynchronise_module();
  }
  begin_function(*name, is_entry);
  if (!parse_signature()) {
    function_ = kNone;
    return resynchronise_module();
  }
  if (token().is(';')) {
    next();
  } else if (token().is('{')) {
    Function& f = function();
    f.has_body = true;
    f.first_instruction = static_cast<uint32_t>(module_.instructions.size());
    parse_body();
  } else {
    expected("'{' or ';'");
    resynchronise_module();
  }
  function_ = kNone;
}

// Return parameters come before the name of the function that owns them, so the name is looked for first.
std::optional<Token> Parser::find_function_name() {
  Lexer before = lexer_;
  Offset previous_end = previous_end_;
  while (token().is('(') || is_directive(".attribute") || is_directive(".noreturn")) {
    if (is_directive()) {
      next();
    } else {
      skip_parentheses();
    }
  }
  if (!is_word()) return std::nullopt;
  Token name = token();
  lexer_ = before;
  previous_end_ = previous_end;
  return name;
}

void Parser::begin_function(const Token& name, bool is_entry) {
  function_ = declare_function(name, is_entry);
  Function& f = function();
  f.parameters.clear();
  f.returns.clear();
  f.registers.clear();
  f.register_names.clear();
  f.name_span = name.span();
  f.first_instruction = f.last_instruction = static_cast<uint32_t>(module_.instructions.size());
  locals_.clear();
  locals_.open_scope();
  references_.clear();
  block_references_.assign(1, 0);
  opcode_kind_ = OpcodeKind::kOther;
  location_ = kNone;
  first_location_ = static_cast<uint32_t>(module_.locations.size());
}

uint32_t Parser::declare_function(const Token& name, bool is_entry) {
  Symbol known = globals_.find(key(name));
  bool is_redefined = known.kind == Symbol::Kind::kFunction && module_.functions[known.index].has_body;
  if (known.kind == Symbol::Kind::kFunction && !is_redefined) return known.index;
  if (known.kind != Symbol::Kind::kNone) {
    error(name.span(), "'" + std::string(text(name)) + "' is already defined");
  }
  auto index = static_cast<uint32_t>(module_.functions.size());
  Function& f = module_.functions.emplace_back();
  f.name = text(name);
  f.is_entry = is_entry;
  globals_.declare(key(name), Symbol::Kind::kFunction, index);
  return index;
}

// Everything between .entry or .func and the body or semicolon.
bool Parser::parse_signature() {
  parse_function_directives();
  if (token().is('(') && !parse_parameters(true)) return false;
  parse_function_directives();
  if (!is_word()) return expected("a function name");
  next();
  if (token().is('(') && !parse_parameters(false)) return false;
  parse_function_directives();
  return true;
}

bool Parser::parse_parameters(bool are_returns) {
  next();
  while (!token().is(')')) {
    if (!parse_parameter(are_returns)) return false;
    if (!token().is(',')) break;
    next();
  }
  return expect(')', "')'");
}

bool Parser::parse_parameter(bool is_return) {
  Declaration declaration;
  Variable& variable = declaration.variable;
  variable.function = function_;
  variable.is_parameter = !is_return;
  variable.is_return = is_return;
  if (!parse_declaration(declaration)) return false;
  auto& list = is_return ? function().returns : function().parameters;
  if (declaration.is_register) {
    auto index = static_cast<uint32_t>(function().registers.size());
    if (!parse_register(declaration)) return false;
    list.push_back({kNone, index});
    return true;
  }
  auto index = static_cast<uint32_t>(module_.variables.size());
  if (!parse_variable(declaration)) return false;
  list.push_back({index, kNone});
  return true;
}

void Parser::parse_function_directives() {
  while (is_directive()) parse_function_directive();
}

void Parser::parse_function_directive() {
  Function& f = function();
  std::string_view name = text();
  if (name == ".pragma") return parse_pragma();
  next();
  if (name == ".reqntid") {
    f.reqntid = parse_dimensions();
  } else if (name == ".maxntid") {
    f.maxntid = parse_dimensions();
  } else if (name == ".reqnctapercluster") {
    f.reqnctapercluster = parse_dimensions();
  } else if (name == ".maxclusterrank" && token().kind == Token::Kind::kInteger) {
    parse_small_integer(f.maxclusterrank, "a number");
  } else if (name == ".explicitcluster") {
    f.explicit_cluster = true;
  } else if (name == ".noreturn") {
    f.is_noreturn = true;
  } else if (token().is('(') && name == ".attribute") {
    skip_parentheses();
  } else {
    // What concerns only resources, and what future versions add: up to three numbers.
    parse_dimensions();
  }
}

Dimensions Parser::parse_dimensions() {
  Dimensions dimensions;
  uint32_t* axes[] = {&dimensions.x, &dimensions.y, &dimensions.z};
  for (uint32_t* axis : axes) {
    if (token().kind != Token::Kind::kInteger || !parse_small_integer(*axis, "a number")) break;
    if (!token().is(',')) break;
    next();
  }
  return dimensions;
}

}  // namespace tmemlint::ptx
