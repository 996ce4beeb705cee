#include "analyzer/ptx/parser.h"

#include <algorithm>
#include <cstring>
#include <limits>

namespace tmemlint::ptx {

namespace {

constexpr size_t kMaxErrors = 100;
constexpr uint32_t kMaxNesting = 4096;  // of blocks; ptxas itself gives up below 3000

}  // namespace

Module parse(std::shared_ptr<const SourceText> source) {
  return Parser(std::move(source)).parse();
}

Parser::Parser(std::shared_ptr<const SourceText> source)
    : source_(std::move(source)), lexer_(without_trailing_nuls(source_->text())) {}

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

// ---- bodies and statements ----

void Parser::parse_body() {
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

void Parser::open_block() {
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

bool Parser::close_block() {
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

void Parser::end_body() {
  function().last_instruction = static_cast<uint32_t>(module_.instructions.size());
  if (!is_stopped_) report_unresolved();
}

Operand& Parser::operand_of(const LabelReference& reference) {
  if (reference.label == kNone) return module_.operands[reference.operand];
  return function().labels[reference.label].targets[reference.operand];
}

void Parser::report_unresolved() {
  std::unordered_map<uint64_t, uint32_t> seen;  // name and what it had to be, to label or Module::names index
  for (const LabelReference& reference : references_) {
    Operand& operand = operand_of(reference);
    bool is_address = operand.kind == Operand::Kind::kAddress;
    if ((is_address ? operand.base : operand.kind) != Operand::Kind::kUnresolved) continue;
    std::string_view name = locals_.name(reference.name);
    auto [known, is_new] = seen.try_emplace(uint64_t{reference.name} << 1 | reference.must_be_label, 0);
    if (is_new) {
      known->second = static_cast<uint32_t>(reference.must_be_label ? function().labels.size() : module_.names.size());
      const char* what = reference.must_be_label ? "undefined label '" : "unknown name '";
      error(operand.span, what + std::string(name) + "'");
      if (reference.must_be_label) {
        function().labels.push_back({name, kNone, {}, false, operand.span});
      } else {
        module_.names.push_back(name);
      }
    }
    operand.ref = known->second;
    if (reference.must_be_label) operand.kind = Operand::Kind::kLabel;
  }
}

void Parser::parse_statement() {
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

void Parser::parse_label(const Token& name) {
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

// ---- instructions ----

void Parser::parse_guarded() {
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

void Parser::parse_instruction(const std::optional<Token>& guard, bool negated, Offset begin) {
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

bool Parser::parse_instruction_operands(Instruction& instruction) {
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

uint32_t Parser::opcode_index(Offset& end) {
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

uint32_t Parser::add_opcode(std::string_view text, bool is_in_source) {
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

void Parser::grow_opcodes() {
  opcode_slots_.assign(std::max<size_t>(256, opcode_slots_.size() * 2), kNone);
  size_t mask = opcode_slots_.size() - 1;
  for (uint32_t i = 0; i < opcode_hashes_.size(); ++i) {
    size_t slot = static_cast<size_t>(opcode_hashes_[i] >> 32) & mask;
    while (opcode_slots_[slot] != kNone) slot = (slot + 1) & mask;
    opcode_slots_[slot] = i;
  }
}

// ---- errors ----

void Parser::error(Span span, std::string message) {
  if (is_stopped_) return;
  module_.errors.push_back({span, std::move(message)});
  if (module_.errors.size() < kMaxErrors) return;
  is_stopped_ = true;
  lexer_.stop();
}

bool Parser::at_line_start() const {
  std::string_view gap = lexer_.text().substr(previous_end_, token().begin - previous_end_);
  return gap.find('\n') != std::string_view::npos;
}

std::string Parser::describe_token() const {
  if (is_end()) return "the end of the file";
  constexpr size_t kLongest = 40;
  std::string shown(text().substr(0, kLongest));
  for (char& c : shown) {
    if (c < ' ' || c > '~') c = '?';
  }
  if (text().size() > kLongest) shown += "...";
  return "'" + shown + "'";
}

bool Parser::expected(const char* what) {
  if (token().kind == Token::Kind::kBad) {
    error(token().span(), lexer_.complaint());
    return false;
  }
  // What is missing at the end of a line is shown there, not on the line after it.
  Span span = token().span();
  if ((at_line_start() || is_end()) && previous_end_ > 0) span = {previous_end_ - 1, previous_end_};
  error(span, "expected " + std::string(what) + " before " + describe_token());
  return false;
}

bool Parser::expect(char punctuation, const char* what) {
  if (!token().is(punctuation)) return expected(what);
  next();
  return true;
}

void Parser::end_statement() {
  if (token().is(';')) return next();
  expected("';'");
  // A forgotten semicolon at the end of a line costs nothing else.
  if (!at_line_start()) resynchronise();
}

void Parser::resynchronise() {
  uint32_t open = std::exchange(open_braces_, 0);
  while (!is_end()) {
    if (token().is(';')) return next();
    if (token().is('@') && at_line_start()) return;
    if (token().is('{')) ++open;
    if (token().is('}') && open-- == 0) return;
    next();
  }
}

}  // namespace tmemlint::ptx
