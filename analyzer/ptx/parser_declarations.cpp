// Declarations: variables and registers, tables of branches and calls.
#include <algorithm>

#include "analyzer/assumptions/assumptions.h"
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

// The bytes of an initialiser, as its tokens come by. Only whole numbers have bytes here: one with anything else in it
// (an address, a mask, an expression, a floating-point number) is not known.
class InitialBytes {
public:
  // `extents`: of the variable, outermost first, 0 where none is written; the elements of a vector are the innermost.
  InitialBytes(const Variable& variable, std::vector<uint64_t> extents)
      : element_(bits(variable.type) / 8), extents_(std::move(extents)) {
    if (!is_integer_type(variable.type)) give_up();
  }

  void number(uint64_t value) {
    if (negative_) value = 0 - value;
    negative_ = false;
    if (bytes_.size() >= assumptions::kBytesOfATable) give_up();
    if (!known_) return;
    for (unsigned n = 0; n < element_; ++n) bytes_.push_back(static_cast<uint8_t>(value >> (8 * n)));
  }
  void minus() {
    if (negative_) give_up();
    negative_ = true;
  }
  void open() { starts_.push_back(bytes_.size()); }
  // What an inner list leaves out is 0.
  void close() {
    if (starts_.empty()) return give_up();
    const size_t start = starts_.back();
    starts_.pop_back();
    if (starts_.empty()) return;  // the whole of it: `bytes` fills it up
    uint64_t size = element_;
    for (size_t n = starts_.size(); n < extents_.size(); ++n) size = saturating_product(size, extents_[n]);
    if (size > assumptions::kBytesOfATable || bytes_.size() > start + size) return give_up();
    if (known_) bytes_.resize(start + size);
  }
  void give_up() {
    known_ = false;
    bytes_.clear();
  }
  // All bytes of a variable of that size; nothing where they are not known.
  std::vector<uint8_t> bytes(uint64_t size) {
    if (!known_ || bytes_.size() > size || size > assumptions::kBytesOfATable) return {};
    bytes_.resize(size);
    return std::move(bytes_);
  }

private:
  unsigned element_;
  std::vector<uint64_t> extents_;
  std::vector<uint8_t> bytes_;
  std::vector<size_t> starts_;  // of the lists that are open: their first bytes
  bool negative_ = false;
  bool known_ = true;
};

}  // namespace

bool DeclarationParser::is_linkage(std::string_view directive) {
  return directive == ".visible" || directive == ".extern" || directive == ".weak" || directive == ".common";
}

bool DeclarationParser::starts_variable(std::string_view directive) {
  return directive == ".reg" || directive == ".attribute" || directive == ".align" ||
         space_of(directive) != Space::kNone;
}

// ---- variables and registers ----

bool DeclarationParser::parse_declaration(Declaration& declaration) {
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
bool DeclarationParser::apply_directive(Declaration& declaration, bool& is_pointee) {
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

void DeclarationParser::parse_variables(Declaration& declaration) {
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

bool DeclarationParser::parse_register_count(std::optional<uint32_t>& count) {
  if (!token().is('<')) return true;
  next();
  uint32_t value = 0;
  if (!parse_small_integer(value, "the number of registers")) return false;
  count = value;
  return expect('>', "'>'");
}

bool DeclarationParser::parse_register(const Declaration& declaration) {
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

void DeclarationParser::already_declared(const Token& name) {
  error(name.span(), "'" + std::string(text(name)) + "' is already declared in this scope");
}

bool DeclarationParser::parse_variable(Declaration declaration) {
  Token name = token();
  Variable& variable = declaration.variable;
  variable.name = text(name);
  variable.span = name.span();
  next();
  std::optional<uint32_t> count;
  if (!parse_register_count(count)) return false;
  uint64_t elements = 1;
  std::vector<uint64_t> extents;
  if (!parse_extents(variable, elements, extents)) return false;
  uint64_t bytes = saturating_product(elements, uint64_t{bits(variable.type) / 8} * declaration.vector);
  variable.size = variable.is_unsized ? 0 : bytes;
  if (token().is('=')) {
    next();
    uint64_t initialised = 0;
    if (declaration.vector > 1) extents.push_back(declaration.vector);
    InitialBytes initial(variable, std::move(extents));
    if (!parse_initialiser(initial, initialised)) return false;
    if (variable.is_unsized) variable.size = saturating_product(bytes, initialised);
    variable.is_unsized = false;
    if (std::vector<uint8_t> known = initial.bytes(variable.size); !known.empty()) {
      variable.initial = static_cast<uint32_t>(module_.initial_bytes.size());
      module_.initial_bytes.push_back(std::move(known));
    }
  }
  if (!count) {
    add_variable(key(name), variable);
    return true;
  }
  constexpr uint32_t kMostVariables = assumptions::kVariablesOfARange;
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
bool DeclarationParser::parse_extents(Variable& variable, uint64_t& elements, std::vector<uint64_t>& extents) {
  while (token().is('[')) {
    next();
    Constant extent;
    if (token().is(']')) {
      variable.is_unsized = true;
    } else {
      if (!parse_expression(extent, 0)) return false;
      elements = saturating_product(elements, extent.bits);
    }
    extents.push_back(extent.bits);
    if (!expect(']', "']'")) return false;
  }
  return true;
}

// Counts the elements of the outermost list.
template <typename Bytes>
bool DeclarationParser::parse_initialiser(Bytes& initial, uint64_t& elements) {
  uint32_t depth = 0;
  bool is_list = token().is('{');
  elements = is_list ? 0 : 1;
  bool is_empty = true;
  while (!is_end()) {
    // Tables of constants make up much of some files: their numbers take the short way.
    if (token().kind == Token::Kind::kInteger) {
      is_empty = false;
      initial.number(token().value);
      next();
      continue;
    }
    bool is_separator = token().is(',') || token().is(';');
    if (depth == 0 && (is_separator || token().is(')'))) return true;
    if (token().is(';')) return expected("'}'");
    if (token().kind == Token::Kind::kBad) return expected("a value");
    if (is_word()) module_.names_in_initialisers.push_back(text());
    if (token().is('{')) {
      initial.open();
    } else if (token().is('}')) {
      initial.close();
    } else if (token().is('-')) {
      initial.minus();
    } else if (!token().is(',')) {
      initial.give_up();
    }
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

void DeclarationParser::add_variable(const NameKey& name, const Variable& variable) {
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

bool DeclarationParser::parse_table_entry(uint32_t label) {
  Token name = token();
  next();
  std::optional<uint32_t> count;
  if (!parse_register_count(count)) return false;
  if (!count) {
    add_target(label, key(name), name.span());
    return true;
  }
  constexpr uint32_t kMostTargets = assumptions::kVariablesOfARange;
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

void DeclarationParser::add_target(uint32_t label, const NameKey& name, Span span) {
  auto& targets = function().labels[label].targets;
  targets.push_back(resolve_name(name, span));
  bool is_open = targets.back().kind == Operand::Kind::kUnresolved || targets.back().kind == Operand::Kind::kLabel;
  if (is_open) add_reference(targets.back(), name, label, static_cast<uint32_t>(targets.size() - 1));
}

void DeclarationParser::parse_targets(uint32_t label, bool are_calls) {
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
void DeclarationParser::parse_call_prototype(uint32_t label) {
  function().labels[label].is_call_prototype = true;
  while (!is_end() && !token().is(';') && !token().is('{') && !token().is('}')) next();
  end_statement();
}

}  // namespace tmemlint::ptx
