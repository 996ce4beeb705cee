// The parser's own state; nobody outside parser*.cpp includes this. A chain of classes, each of which adds one kind of
// syntax to those before it:
//
// Cursor             parser_cursor.cpp        the current token, errors, the next statement after one
// ConstantParser     parser_constants.cpp     constant expressions
// OperandParser      parser_operands.cpp      operands and names
// DeclarationParser  parser_declarations.cpp  variables and registers, branch tables
// DirectiveParser    parser_directives.cpp    .loc and the other debug information, .file, .pragma
// BodyParser         parser_bodies.cpp        blocks, statements, instructions
// Parser             parser.cpp               the file, statements of the module, functions and their parameters
//
// A parse function that fails has reported why and returns false; the statement it belongs to is then given up and
// parsing goes on at the next one. Nesting of blocks needs no recursion; nesting of operands and expressions does, and
// is bounded.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analyzer/assumptions/assumptions.h"
#include "analyzer/ptx/lexer.h"
#include "analyzer/ptx/module.h"
#include "analyzer/ptx/symbols.h"

namespace tmemlint::ptx {

// Where the parser stands in the text, and its errors.
class Cursor {
protected:
  explicit Cursor(std::shared_ptr<const SourceText> source);

  static constexpr size_t kMaxErrors = assumptions::kErrorsOfAnInput;
  void error(Span span, std::string message);
  // Error at the current token: "expected X before 'token'". Always false.
  bool expected(const char* what);
  bool expect(char punctuation, const char* what);
  std::string describe_token() const;
  bool at_line_start() const;
  bool too_deep(int depth);
  // After an error in a body or at module level: to the next statement.
  void resynchronise();
  void resynchronise_module();
  void end_statement();
  bool parse_small_integer(uint32_t& value, const char* what);
  void skip_parentheses();
  void next() {
    previous_end_ = lexer_.token().end;
    lexer_.next();
  }
  const Token& token() const { return lexer_.token(); }
  std::string_view text() const { return lexer_.text(lexer_.token()); }
  std::string_view text(const Token& t) const { return lexer_.text(t); }
  NameKey key(const Token& t) const { return NameKey(lexer_.text(), t); }
  bool is_word() const { return token().kind == Token::Kind::kWord; }
  bool is_directive() const { return token().kind == Token::Kind::kDirective; }
  bool is_end() const { return token().kind == Token::Kind::kEnd; }
  bool is_directive(std::string_view name) const { return is_directive() && text() == name; }

  std::shared_ptr<const SourceText> source_;
  Module module_;
  Lexer lexer_;
  Offset previous_end_ = 0;
  bool is_stopped_ = false;   // after an error that ends parsing
  uint32_t open_braces_ = 0;  // of vectors in the statement being parsed
};

// Constant expressions.
class ConstantParser : protected Cursor {
protected:
  using Cursor::Cursor;

  struct Constant {
    uint64_t bits = 0;
    bool is_unsigned = false;
    bool is_float = false;
  };
  bool parse_expression(Constant& result, int depth);

private:
  bool parse_binary(Constant& left, int minimum, int depth);
  bool parse_unary(Constant& result, int depth);
  bool parse_primary(Constant& result, int depth);
  bool parse_cast_or_parentheses(Constant& result, int depth);
  int binary_operator(int& precedence, int& length) const;
  bool combine(Constant& left, int op, const Constant& right, Span span);
};

// Operands, and what the names in them mean.
class OperandParser : protected ConstantParser {
protected:
  using ConstantParser::ConstantParser;

  enum class OpcodeKind : uint8_t { kOther, kCall, kBranch, kMove };

  // Operands separated by commas (or joined by |), up to something else.
  bool parse_list(int depth);
  // Moves scratch_ from `mark` on to Module::operands; the result is the index of the first.
  uint32_t emit_operands(size_t mark);
  Operand resolve_name(const NameKey& name, Span span);
  void add_reference(const Operand& operand, const NameKey& name, uint32_t label, uint32_t index);
  void report_unresolved();
  Function& function() { return module_.functions[function_]; }

  // Names that were no register or variable when they were met: labels further on, or errors.
  struct LabelReference {
    uint32_t name = 0;       // locals_
    uint32_t label = kNone;  // whose targets hold the operand; kNone: Module::operands holds it
    uint32_t operand = 0;
    bool must_be_label = false;
  };
  Operand& operand_of(const LabelReference& reference);

  uint32_t function_ = kNone;  // whose body or signature is being parsed
  SymbolTable globals_, locals_;
  std::vector<LabelReference> references_;
  std::vector<Operand> scratch_;                 // operands of the statement being parsed, innermost list last
  OpcodeKind opcode_kind_ = OpcodeKind::kOther;  // of the instruction being parsed

private:
  bool parse_operand(int depth);
  bool parse_name_operand();
  bool parse_plain_name(Operand& operand);
  void parse_special_register(Operand& operand);
  bool parse_indexed(Operand& operand);
  bool parse_vector(int depth);
  bool parse_group(int depth);
  bool parse_bracket(int depth);
  void close_bracket(size_t mark, Span span);
  bool parse_address_element(int depth);
  bool parse_negated();
  bool parse_constant();
  static bool is_constant_end(char c);
  NameKey name_at(Span span) const;
};

// Variables and registers, tables of branches and calls.
class DeclarationParser : protected OperandParser {
protected:
  using OperandParser::OperandParser;

  struct Declaration {
    Variable variable;
    uint8_t vector = 1;
    bool is_register = false;
    bool has_alignment = false;
  };
  static bool is_linkage(std::string_view directive);
  static bool starts_variable(std::string_view directive);
  // The directives before the names: linkage, state space, alignment, vector, type.
  bool parse_declaration(Declaration& declaration);
  void parse_variables(Declaration& declaration);
  bool parse_register(const Declaration& declaration);
  bool parse_variable(Declaration declaration);
  void parse_targets(uint32_t label, bool are_calls);
  void parse_call_prototype(uint32_t label);

  uint64_t register_budget_ = 0;  // how many more registers may be declared

private:
  bool apply_directive(Declaration& declaration, bool& is_pointee);
  bool parse_register_count(std::optional<uint32_t>& count);
  void already_declared(const Token& name);
  bool parse_extents(Variable& variable, uint64_t& elements, std::vector<uint64_t>& extents);
  template <typename Bytes>
  bool parse_initialiser(Bytes& initial, uint64_t& elements);
  void add_variable(const NameKey& name, const Variable& variable);
  bool parse_table_entry(uint32_t label);
  void add_target(uint32_t label, const NameKey& name, Span span);
};

// Directives that may stand in the module and in a function: .loc and the other debug information, .file, .pragma.
class DirectiveParser : protected DeclarationParser {
protected:
  using DeclarationParser::DeclarationParser;

  bool parse_common_directive();
  void parse_pragma();
  void resolve_function_names();

  uint32_t location_ = kNone;    // the .loc in force
  uint32_t first_location_ = 0;  // of the current function

private:
  void parse_file_directive();
  void parse_section();
  void parse_debug_strings();
  void parse_location();
  bool parse_location_triple(Location& location);
  bool parse_location_attributes(Location& location);
  static uint64_t place_key(const Location& location);
  uint32_t place(const Location& location);

  std::unordered_map<uint64_t, uint32_t> places_;  // place_key to the latest .loc there
  struct NamedLocation {
    uint32_t location = 0;
    std::string_view label;
    uint32_t offset = 0;
  };
  std::vector<NamedLocation> named_locations_;
  std::string debug_strings_;
  std::unordered_map<std::string_view, uint32_t> debug_labels_;  // offsets into debug_strings_
};

// Bodies of functions: blocks, statements, instructions and their opcodes.
class BodyParser : protected DirectiveParser {
protected:
  using DirectiveParser::DirectiveParser;

  void parse_body();
  bool starts_function_or_section() const;
  void grow_opcodes();

  std::vector<uint32_t> block_references_;  // references_.size() when each open block began

private:
  void open_block();
  // True when it was the function's own block.
  bool close_block();
  void end_body();
  void parse_statement();
  bool is_next_function();
  void parse_body_directive();
  void parse_label(const Token& name);
  void parse_instruction(const std::optional<Token>& guard, bool negated, Offset begin);
  void parse_guarded();
  bool parse_instruction_operands(Instruction& instruction);
  uint32_t opcode_index(Offset& end);
  uint32_t add_opcode(std::string_view text, bool is_in_source);

  bool is_body_left_ = false;  // the next function began before the body of this one ended
  std::vector<uint32_t> opcode_slots_;
  std::vector<uint64_t> opcode_hashes_;
  std::vector<OpcodeKind> opcode_kinds_;
  std::string spelling_;  // of an opcode with white space inside
};

// The file, the statements of the module, and functions up to their bodies.
class Parser : protected BodyParser {
public:
  explicit Parser(std::shared_ptr<const SourceText> source);
  Module parse();

private:
  void parse_file();
  void reserve();
  bool parse_header();
  bool parse_version();
  bool parse_target();
  void parse_address_size();

  void parse_module_statement();
  void skip_stray_statements();
  void parse_module_directive();
  void parse_alias();

  void parse_function(bool is_entry);
  std::optional<Token> find_function_name();
  void begin_function(const Token& name, bool is_entry);
  uint32_t declare_function(const Token& name, bool is_entry);
  bool parse_signature();
  bool parse_parameters(bool are_returns);
  bool parse_parameter(bool is_return);
  void parse_function_directives();
  void parse_function_directive();
  Dimensions parse_dimensions();
};

}  // namespace tmemlint::ptx
