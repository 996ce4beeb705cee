// Declarations: functions and their parameters, variables and registers, tables of branches and calls.
#include <algorithm>

#include "analyzer/ptx/parser.h"

namespace tmemlint::ptx {

namespace {

Space space_of(std::string_view directive) {
  directive = directive.substr(0, directive.find("::"));
  if (directive == ".shared") return Space::kShared;
  if (directive == ".param") return Space::kParam;
  if (directive == ".global") return Space::kGlobal;
  if (directive == ".const") return Space::kConst;
  if (directive == ".local") return Space::kLocal;
  if (directive == ".tex") return Space::kTexture;
  return Space::kNone;
}

uint64_t saturating_product(uint64_t a, uint64_t b) {
  uint64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? ~uint64_t{0} : product;
}

}  // namespace

bool Parser::is_linkage(std::string_view directive) {
  return directive == ".visible" || directive == ".extern" || directive == ".weak" || directive == ".common";
}

bool Parser::starts_variable(std::string_view directive) {
  return directive == ".reg" || directive == ".attribute" || directive == ".align" ||
         space_of(directive) != Space::kNone;
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

// ---- variables and registers ----

// A function inside a function: a '}' is missing above it.
bool Parser::is_next_function() {
  Lexer before = lexer_;
  Offset previous_end = previous_end_;
  while (is_directive() && is_linkage(text())) next();
  bool is_function = is_directive(".entry") || is_directive(".func");
  lexer_ = before;
  previous_end_ = previous_end;
  return is_function;
}

void Parser::parse_body_directive() {
  if (parse_common_directive()) return;
  std::string_view name = text();
  if (starts_function_or_section() && is_next_function()) {
    expected("'}'");
    while (locals_.depth() > 1) locals_.close_scope();
    is_body_left_ = true;
    return;
  }
  if (!starts_variable(name) && !is_linkage(name)) {
    error(token().span(), "unknown directive '" + std::string(name) + "'");
    next();
    return resynchronise();
  }
  Declaration declaration;
  declaration.variable.function = function_;
  parse_variables(declaration);
}

bool Parser::parse_declaration(Declaration& declaration) {
  bool is_pointee = false;
  while (is_directive()) {
    if (!apply_directive(declaration, is_pointee)) return false;
  }
  if (!is_word()) return expected("a name");
  Variable& variable = declaration.variable;
  if (!declaration.has_alignment) {
    variable.alignment = std::max(1u, bits(variable.type) / 8 * declaration.vector);
  }
  return true;
}

// What follows .ptr (its state space and alignment) describes the memory pointed to, not the parameter.
bool Parser::apply_directive(Declaration& declaration, bool& is_pointee) {
  Variable& variable = declaration.variable;
  std::string_view name = text();
  next();
  if (name == ".reg") {
    declaration.is_register = true;
  } else if (name == ".align") {
    uint32_t alignment = 0;
    if (!parse_small_integer(alignment, "an alignment")) return false;
    if (is_pointee) return true;
    variable.alignment = std::max(1u, alignment);
    declaration.has_alignment = true;
  } else if (name == ".ptr") {
    is_pointee = true;
  } else if (is_linkage(name)) {
    variable.is_extern |= name == ".extern";
  } else if (name == ".v2" || name == ".v4" || name == ".v8") {
    declaration.vector = static_cast<uint8_t>(name[2] - '0');
  } else if (name == ".attribute") {
    if (token().is('(')) skip_parentheses();
  } else if (Space space = space_of(name); space != Space::kNone) {
    if (!is_pointee) variable.space = space;
  } else {
    variable.type = type_from_suffix(name.substr(1));
    if (variable.type == Type::kNone) variable.type = Type::kOther;
  }
  return true;
}

// Stops early where no list of attributes or parameters would go on, so that an unclosed one costs little.
void Parser::skip_parentheses() {
  uint32_t depth = 0;
  while (!is_end() && !token().is(';') && !token().is('{') && !token().is('}') && !is_directive(".func")) {
    if (token().is('(')) ++depth;
    if (token().is(')')) --depth;
    next();
    if (depth == 0) return;
  }
}

void Parser::parse_variables(Declaration& declaration) {
  bool is_good = parse_declaration(declaration);
  while (is_good) {
    is_good = declaration.is_register ? parse_register(declaration) : parse_variable(declaration);
    if (!is_good || !token().is(',')) break;
    next();
    if (!is_word()) is_good = expected("a name");
  }
  if (is_good) return end_statement();
  if (function_ == kNone) {
    resynchronise_module();
  } else {
    resynchronise();
  }
}

bool Parser::parse_register_count(std::optional<uint32_t>& count) {
  if (!token().is('<')) return true;
  next();
  uint32_t value = 0;
  if (!parse_small_integer(value, "the number of registers")) return false;
  count = value;
  return expect('>', "'>'");
}

bool Parser::parse_register(const Declaration& declaration) {
  Token name = token();
  next();
  std::optional<uint32_t> count;
  if (!parse_register_count(count)) return false;
  if (function_ == kNone) {
    error(name.span(), "registers cannot be declared outside of functions");
    return true;
  }
  uint32_t needed = count.value_or(1);
  if (needed > register_budget_) {
    error(name.span(), "too many registers");
    return true;
  }
  register_budget_ -= needed;
  auto& registers = function().registers;
  auto first = static_cast<uint32_t>(registers.size());
  if (needed != 0) function().register_names.push_back({text(name), first, count.has_value()});
  registers.resize(registers.size() + needed, Register{declaration.variable.type, declaration.vector});
  if (!count) {
    if (!locals_.declare(key(name), Symbol::Kind::kRegister, first)) already_declared(name);
    return true;
  }
  locals_.declare_range(key(name), first, needed);
  return true;
}

void Parser::already_declared(const Token& name) {
  error(name.span(), "'" + std::string(text(name)) + "' is already declared in this scope");
}

bool Parser::parse_variable(Declaration declaration) {
  Token name = token();
  Variable& variable = declaration.variable;
  variable.name = text(name);
  variable.span = name.span();
  next();
  std::optional<uint32_t> count;
  if (!parse_register_count(count)) return false;
  uint64_t elements = 1;
  if (!parse_extents(variable, elements)) return false;
  uint64_t bytes = saturating_product(elements, uint64_t{bits(variable.type) / 8} * declaration.vector);
  variable.size = variable.is_unsized ? 0 : bytes;
  if (token().is('=')) {
    next();
    uint64_t initialised = 0;
    if (!skip_initialiser(initialised)) return false;
    if (variable.is_unsized) variable.size = saturating_product(bytes, initialised);
    variable.is_unsized = false;
  }
  if (!count) {
    add_variable(key(name), variable);
    return true;
  }
  constexpr uint32_t kMostVariables = 1 << 16;
  if (*count > kMostVariables) {
    error(name.span(), "too many variables");
    return true;
  }
  for (uint32_t i = 0; i < *count; ++i) {
    variable.name = module_.spellings.emplace_back(std::string(text(name)) + std::to_string(i));
    add_variable(NameKey(variable.name), variable);
  }
  return true;
}

// [2][3]; an extent that is missing counts once.
bool Parser::parse_extents(Variable& variable, uint64_t& elements) {
  while (token().is('[')) {
    next();
    if (token().is(']')) {
      variable.is_unsized = true;
    } else {
      Constant extent;
      if (!parse_expression(extent, 0)) return false;
      elements = saturating_product(elements, extent.bits);
    }
    if (!expect(']', "']'")) return false;
  }
  return true;
}

// Counts the elements of the outermost list.
bool Parser::skip_initialiser(uint64_t& elements) {
  uint32_t depth = 0;
  bool is_list = token().is('{');
  elements = is_list ? 0 : 1;
  bool is_empty = true;
  while (!is_end()) {
    // Tables of constants make up much of some files: their numbers take the short way.
    if (token().kind == Token::Kind::kInteger) {
      is_empty = false;
      next();
      continue;
    }
    bool is_separator = token().is(',') || token().is(';');
    if (depth == 0 && (is_separator || token().is(')'))) return true;
    if (token().is(';')) return expected("'}'");
    if (token().kind == Token::Kind::kBad) return expected("a value");
    if (token().is('{') || token().is('(')) ++depth;
    if (token().is('}') || token().is(')')) {
      if (depth == 0) return expected("';'");
      --depth;
    } else if (is_list && depth == 1 && token().is(',')) {
      ++elements;
    } else if (!token().is('{') || depth > 1) {
      is_empty = false;
    }
    next();
    if (depth == 0 && is_list) {
      if (!is_empty) ++elements;
      return true;
    }
  }
  return expected("';'");
}

void Parser::add_variable(const NameKey& name, const Variable& variable) {
  auto index = static_cast<uint32_t>(module_.variables.size());
  SymbolTable& table = function_ == kNone ? globals_ : locals_;
  if (!table.declare(name, Symbol::Kind::kVariable, index)) {
    Symbol known = table.find(name);
    bool is_redeclaration = known.kind == Symbol::Kind::kVariable && function_ == kNone;
    if (!is_redeclaration && name.text != "_") {
      error(variable.span, "'" + std::string(name.text) + "' is already declared in this scope");
    } else if (is_redeclaration && module_.variables[known.index].is_extern) {
      module_.variables[known.index] = variable;
      return;
    }
  }
  module_.variables.push_back(variable);
}

// ---- tables of branches and calls ----

bool Parser::parse_table_entry(uint32_t label) {
  Token name = token();
  next();
  std::optional<uint32_t> count;
  if (!parse_register_count(count)) return false;
  if (!count) {
    add_target(label, key(name), name.span());
    return true;
  }
  constexpr uint32_t kMostTargets = 1 << 16;
  if (*count > kMostTargets) {
    error(name.span(), "too many targets");
    return false;
  }
  for (uint32_t i = 0; i < *count; ++i) {
    std::string_view spelled = module_.spellings.emplace_back(std::string(text(name)) + std::to_string(i));
    add_target(label, NameKey(spelled), name.span());
  }
  return true;
}

void Parser::add_target(uint32_t label, const NameKey& name, Span span) {
  auto& targets = function().labels[label].targets;
  targets.push_back(resolve_name(name, span));
  bool is_open = targets.back().kind == Operand::Kind::kUnresolved || targets.back().kind == Operand::Kind::kLabel;
  if (is_open) add_reference(targets.back(), name, label, static_cast<uint32_t>(targets.size() - 1));
}

void Parser::parse_targets(uint32_t label, bool are_calls) {
  // Names in .branchtargets are labels, as those of a branch are.
  opcode_kind_ = are_calls ? OpcodeKind::kCall : OpcodeKind::kBranch;
  do {
    next();
    if (!is_word()) {
      expected(are_calls ? "a function name" : "a label");
      return resynchronise();
    }
    if (!parse_table_entry(label)) return resynchronise();
  } while (token().is(','));
  end_statement();
}

// Who is called is found from the call; the signature adds nothing.
void Parser::parse_call_prototype(uint32_t label) {
  function().labels[label].is_call_prototype = true;
  while (!is_end() && !token().is(';') && !token().is('{') && !token().is('}')) next();
  end_statement();
}

}  // namespace tmemlint::ptx
