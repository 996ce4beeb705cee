// Bodies of functions: blocks, statements, instructions and their opcodes.
#include <algorithm>
#include <limits>
#include <utility>

#include "analyzer/assumptions/assumptions.h"
#include "analyzer/ptx/parser.h"

namespace tmemlint::ptx {

namespace {

constexpr uint32_t kMaxNesting = assumptions::kBlocksNested;  // of blocks; ptxas itself gives up below 3000

}  // namespace

// ---- blocks and statements ----

void BodyParser::parse_body() {
  next();
  while (!is_end()) {
    if (!token().is('}')) {
      parse_statement();
    } else if (close_block()) {
      return;
    }
    if (std::exchange(is_body_left_, false)) return end_body();
  }
  error(token().span(),
        "expected '}' before the end of the file: the body of '" + std::string(function().name) + "' is not closed");
  end_body();
}

void BodyParser::open_block() {
  if (locals_.depth() >= kMaxNesting) {
    error(token().span(), "blocks are nested more than " + std::to_string(kMaxNesting) + " deep");
    is_stopped_ = true;
    lexer_.stop();
    return;
  }
  locals_.open_scope();
  block_references_.push_back(static_cast<uint32_t>(references_.size()));
  next();
}

bool BodyParser::close_block() {
  if (locals_.depth() == 1) {
    end_body();
    next();
    return true;
  }
  locals_.close_scope();
  block_references_.pop_back();
  next();
  return false;
}

void BodyParser::end_body() {
  function().last_instruction = static_cast<uint32_t>(module_.instructions.size());
  if (!is_stopped_) report_unresolved();
}

void BodyParser::parse_statement() {
  open_braces_ = 0;
  if (is_directive()) return parse_body_directive();
  if (is_word()) {
    if (lexer_.following() != '.' && lexer_.peek() == ':') return parse_label(token());
    return parse_instruction(std::nullopt, false, token().begin);
  }
  if (token().is('@')) return parse_guarded();
  if (token().is('{')) return open_block();
  expected("a statement");
  resynchronise();
}

void BodyParser::parse_label(const Token& name) {
  NameKey name_key = key(name);
  Span span = name.span();
  auto index = static_cast<uint32_t>(function().labels.size());
  if (!locals_.declare(name_key, Symbol::Kind::kLabel, index)) {
    error(span, "'" + std::string(name_key.text) + "' is already declared in this scope");
  }
  function().labels.push_back({name_key.text, static_cast<uint32_t>(module_.instructions.size()), {}, false, span});
  locals_.claim(locals_.intern(name_key), block_references_.back(), [&](uint32_t reference) {
    Operand& operand = operand_of(references_[reference]);
    if (operand.kind != Operand::Kind::kAddress) {
      operand.kind = Operand::Kind::kLabel;
    } else {
      operand.base = Operand::Kind::kLabel;
    }
    operand.ref = index;
  });
  next();
  next();
  if (!is_directive()) return;
  if (text() == ".branchtargets") {
    parse_targets(index, false);
  } else if (text() == ".calltargets") {
    parse_targets(index, true);
  } else if (text() == ".callprototype") {
    parse_call_prototype(index);
  }
}

bool BodyParser::starts_function_or_section() const {
  return is_linkage(text()) || text() == ".entry" || text() == ".func" || text() == ".section" || text() == ".alias";
}

// A function inside a function: a '}' is missing above it.
bool BodyParser::is_next_function() {
  Lexer before = lexer_;
  Offset previous_end = previous_end_;
  while (is_directive() && is_linkage(text())) next();
  bool is_function = is_directive(".entry") || is_directive(".func");
  lexer_ = before;
  previous_end_ = previous_end;
  return is_function;
}

void BodyParser::parse_body_directive() {
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

// ---- instructions ----

void BodyParser::parse_guarded() {
  Offset begin = token().begin;
  if (lexer_.following() == '@') {  // @@DWARF lines of old compilers
    lexer_.skip_line();
    return next();
  }
  next();
  bool negated = token().is('!');
  if (negated) next();
  if (!is_word()) {
    expected("a predicate register");
    return resynchronise();
  }
  Token guard = token();
  next();
  if (!is_word()) {
    expected("an instruction");
    return resynchronise();
  }
  parse_instruction(guard, negated, begin);
}

void BodyParser::parse_instruction(const std::optional<Token>& guard, bool negated, Offset begin) {
  Instruction instruction;
  instruction.guard_negated = negated;
  instruction.location = location_;
  instruction.span.begin = begin;
  if (guard) {
    Operand predicate = resolve_name(key(*guard), guard->span());
    if (predicate.kind == Operand::Kind::kRegister) {
      instruction.guard = predicate.ref;
    } else if (predicate.kind == Operand::Kind::kUnresolved) {
      error(guard->span(), "unknown name '" + std::string(text(*guard)) + "'");
    } else {
      error(guard->span(), "'" + std::string(text(*guard)) + "' is no predicate register");
    }
  }
  char first = text().front();
  if (first == '%' || first == '$') {
    expected("an instruction");
    return resynchronise();
  }
  instruction.opcode_span.begin = token().begin;
  instruction.opcode = opcode_index(instruction.opcode_span.end);
  opcode_kind_ = opcode_kinds_[instruction.opcode];
  next();
  if (!parse_instruction_operands(instruction)) return resynchronise();
  instruction.span.end = token().is(';') ? token().end : previous_end_;
  module_.instructions.push_back(instruction);
  end_statement();
}

bool BodyParser::parse_instruction_operands(Instruction& instruction) {
  scratch_.clear();
  if (!token().is(';') && !parse_list(0)) return false;
  if (scratch_.size() > std::numeric_limits<uint16_t>::max()) {
    error(instruction.opcode_span, "an instruction with more than 65535 operands");
    return false;
  }
  instruction.operand_count = static_cast<uint16_t>(scratch_.size());
  instruction.first_operand = emit_operands(0);
  return true;
}

uint32_t BodyParser::opcode_index(Offset& end) {
  lexer_.extend_opcode();
  std::string_view spelled = text();
  bool is_in_source = lexer_.peek() != '.';
  if (!is_in_source) {
    spelling_ = spelled;
    while (lexer_.continue_opcode(spelling_)) {
    }
    spelled = spelling_;
  }
  end = token().end;
  if (spelled.back() == '.') error({end - 1, end}, "expected a modifier after '.'");
  size_t mask = opcode_slots_.size() - 1;
  uint64_t hash = token().hash;
  for (size_t slot = static_cast<size_t>(hash >> 32) & mask;; slot = (slot + 1) & mask) {
    uint32_t index = opcode_slots_[slot];
    if (index == kNone) {
      index = opcode_slots_[slot] = add_opcode(spelled, is_in_source);
      opcode_hashes_.push_back(hash);
      if (module_.opcodes.size() * 2 > opcode_slots_.size()) grow_opcodes();
      return index;
    }
    if (opcode_hashes_[index] == hash && module_.opcodes[index].text == spelled) return index;
  }
}

uint32_t BodyParser::add_opcode(std::string_view text, bool is_in_source) {
  if (!is_in_source) text = module_.spellings.emplace_back(text);
  Opcode opcode;
  opcode.text = text;
  size_t dot = text.find('.');
  opcode.root = text.substr(0, dot);
  opcode.modifiers.reserve(static_cast<size_t>(std::count(text.begin(), text.end(), '.')));
  while (dot != std::string_view::npos) {
    size_t next_dot = text.find('.', dot + 1);
    opcode.modifiers.push_back(text.substr(dot + 1, next_dot - dot - 1));
    dot = next_dot;
  }
  OpcodeKind kind = OpcodeKind::kOther;
  if (opcode.root == "call") kind = OpcodeKind::kCall;
  if (opcode.root == "bra" || opcode.root == "brx") kind = OpcodeKind::kBranch;
  if (opcode.root == "mov") kind = OpcodeKind::kMove;
  opcode_kinds_.push_back(kind);
  module_.opcodes.push_back(std::move(opcode));
  return static_cast<uint32_t>(module_.opcodes.size() - 1);
}

void BodyParser::grow_opcodes() {
  opcode_slots_.assign(std::max<size_t>(256, opcode_slots_.size() * 2), kNone);
  size_t mask = opcode_slots_.size() - 1;
  for (uint32_t i = 0; i < opcode_hashes_.size(); ++i) {
    size_t slot = static_cast<size_t>(opcode_hashes_[i] >> 32) & mask;
    while (opcode_slots_[slot] != kNone) slot = (slot + 1) & mask;
    opcode_slots_[slot] = i;
  }
}

}  // namespace tmemlint::ptx
