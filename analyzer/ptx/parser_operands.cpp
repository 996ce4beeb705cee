// Operands and what the names in them mean.
#include <array>
#include <unordered_map>

#include "analyzer/ptx/parser.h"

namespace tmemlint::ptx {

namespace {

constexpr std::array<std::string_view, 48> kSpecialRegisters = {"%tid",
                                                                "%ntid",
                                                                "%laneid",
                                                                "%warpid",
                                                                "%nwarpid",
                                                                "%ctaid",
                                                                "%nctaid",
                                                                "%smid",
                                                                "%nsmid",
                                                                "%gridid",
                                                                "%clusterid",
                                                                "%nclusterid",
                                                                "%cluster_ctaid",
                                                                "%cluster_nctaid",
                                                                "%cluster_ctarank",
                                                                "%cluster_nctarank",
                                                                "%is_explicit_cluster",
                                                                "%lanemask_eq",
                                                                "%lanemask_le",
                                                                "%lanemask_lt",
                                                                "%lanemask_ge",
                                                                "%lanemask_gt",
                                                                "%clock",
                                                                "%clock_hi",
                                                                "%clock64",
                                                                "%globaltimer",
                                                                "%globaltimer_lo",
                                                                "%globaltimer_hi",
                                                                "%total_smem_size",
                                                                "%aggr_smem_size",
                                                                "%dynamic_smem_size",
                                                                "%reserved_smem_offset_begin",
                                                                "%reserved_smem_offset_end",
                                                                "%reserved_smem_offset_cap",
                                                                "%reserved_smem_offset_0",
                                                                "%reserved_smem_offset_1",
                                                                "%current_graph_exec",
                                                                "%pm0",
                                                                "%pm1",
                                                                "%pm2",
                                                                "%pm3",
                                                                "%pm4",
                                                                "%pm5",
                                                                "%pm6",
                                                                "%pm7",
                                                                "%smid_cga",
                                                                "%virtual_smid",
                                                                "WARP_SZ"};

bool is_special(std::string_view name) {
  for (std::string_view special : kSpecialRegisters) {
    if (special == name) return true;
  }
  return name.starts_with("%envreg") || (name.starts_with("%pm") && name.ends_with("_64"));
}

uint8_t component_of(std::string_view suffix) {
  if (suffix.size() != 2) return Operand::kWhole;
  switch (suffix[1]) {
    case 'x':
    case 'r':
      return 0;
    case 'y':
    case 'g':
      return 1;
    case 'z':
    case 'b':
      return 2;
    case 'w':
    case 'a':
      return 3;
    default:
      return Operand::kWhole;
  }
}

}  // namespace

// ---- lists ----

bool OperandParser::parse_list(int depth) {
  for (;;) {
    if (!parse_operand(depth)) return false;
    Operand& last = scratch_.back();
    bool is_joinable = last.kind == Operand::Kind::kRegister || last.kind == Operand::Kind::kSink;
    if (is_joinable && token().is('|')) {
      last.joined_with_next = true;
    } else if (!token().is(',')) {
      return true;
    }
    next();
  }
}

bool OperandParser::parse_operand(int depth) {
  if (is_word()) return parse_name_operand();
  switch (token().punctuation) {
    case '{':
      return parse_vector(depth);
    case '[':
      return parse_bracket(depth);
    case '(':
      if (opcode_kind_ == OpcodeKind::kCall) return parse_group(depth);
      return parse_constant();
    case '!':
    case '-':
      return parse_negated();
    default:
      return parse_constant();
  }
}

bool OperandParser::parse_vector(int depth) {
  if (too_deep(depth)) return false;
  Operand vector;
  vector.kind = Operand::Kind::kVector;
  vector.span.begin = token().begin;
  size_t mark = scratch_.size();
  ++open_braces_;
  next();
  if (!parse_list(depth + 1)) return false;
  if (!token().is('}')) return expected("'}'");
  --open_braces_;
  vector.span.end = token().end;
  next();
  vector.value = static_cast<int64_t>(scratch_.size() - mark);
  vector.ref = emit_operands(mark);
  scratch_.push_back(vector);
  return true;
}

bool OperandParser::parse_group(int depth) {
  if (too_deep(depth)) return false;
  Operand group;
  group.kind = Operand::Kind::kGroup;
  group.span.begin = token().begin;
  size_t mark = scratch_.size();
  next();
  if (!token().is(')') && !parse_list(depth + 1)) return false;
  if (!token().is(')')) return expected("')'");
  group.span.end = token().end;
  next();
  group.value = static_cast<int64_t>(scratch_.size() - mark);
  group.ref = emit_operands(mark);
  scratch_.push_back(group);
  return true;
}

// [base + offset], or the list of a tensor, texture or surface operand.
bool OperandParser::parse_bracket(int depth) {
  if (too_deep(depth)) return false;
  Offset begin = token().begin;
  size_t mark = scratch_.size();
  next();
  while (parse_address_element(depth + 1)) {
    if (token().is(',')) {
      next();
      continue;
    }
    if (!token().is(']')) return expected("']'");
    Span span = {begin, token().end};
    next();
    close_bracket(mark, span);
    return true;
  }
  return false;
}

void OperandParser::close_bracket(size_t mark, Span span) {
  size_t count = scratch_.size() - mark;
  if (count == 1 && scratch_.back().kind == Operand::Kind::kAddress) {
    scratch_.back().span = span;
    return;
  }
  for (size_t i = mark; i < scratch_.size(); ++i) {
    Operand& element = scratch_[i];
    if (element.kind != Operand::Kind::kAddress) continue;
    // Only a register with an offset needs to stay an address.
    if (element.value == 0 || element.base != Operand::Kind::kRegister) element.kind = element.base;
    element.base = Operand::Kind::kRegister;
  }
  Operand group;
  group.kind = Operand::Kind::kGroup;
  group.bracketed = true;
  group.span = span;
  group.value = static_cast<int64_t>(count);
  group.ref = emit_operands(mark);
  scratch_.push_back(group);
}

bool OperandParser::parse_address_element(int depth) {
  if (token().is('{')) return parse_vector(depth);
  Operand address;
  if (!is_word()) {
    if (!parse_constant()) return false;
    address = scratch_.back();
    scratch_.pop_back();
    if (address.kind == Operand::Kind::kFloat) {
      error(address.span, "a floating-point number is no address");
      return false;
    }
  } else {
    if (!parse_plain_name(address)) return false;
    // ptxas knows `[%r + -8]` only; the intent of `[%r - 8]` is as clear.
    if (token().is('+') || token().is('-')) {
      if (token().is('+')) next();
      Constant offset;
      if (!parse_expression(offset, depth)) return false;
      address.value = static_cast<int64_t>(static_cast<uint64_t>(address.value) + offset.bits);
      address.span.end = previous_end_;
    }
  }
  address.base = address.kind;
  address.kind = Operand::Kind::kAddress;
  scratch_.push_back(address);
  return true;
}

// ---- names ----

bool OperandParser::parse_name_operand() {
  Operand operand;
  if (text() == "WARP_SZ" && !is_constant_end(lexer_.peek())) return parse_constant();
  if (!parse_plain_name(operand)) return false;
  if (operand.kind == Operand::Kind::kVariable) {
    if (token().is('[')) return parse_indexed(operand);
    if (token().is('+')) {
      next();
      Constant offset;
      if (!parse_expression(offset, 0)) return false;
      operand.value = static_cast<int64_t>(offset.bits);
      operand.span.end = previous_end_;
    }
  }
  scratch_.push_back(operand);
  return true;
}

// A name with its component (`%r.x`, `%tid.x`); the current token becomes what follows it.
bool OperandParser::parse_plain_name(Operand& operand) {
  if (token().end - token().begin == 1 && text()[0] == '_') {
    operand.kind = Operand::Kind::kSink;
    operand.span = token().span();
    next();
    return true;
  }
  operand = resolve_name(key(token()), token().span());
  if (operand.kind == Operand::Kind::kUnresolved && is_special(text())) {
    parse_special_register(operand);
    return true;
  }
  next();
  if (!is_directive()) return true;
  // Video instructions select bytes and half words (`%r1.b0`, `%r2.h10`); those stay whole registers here.
  if (operand.kind != Operand::Kind::kRegister) return expected("',' or ';'");
  operand.component = component_of(text());
  operand.span.end = token().end;
  next();
  return true;
}

void OperandParser::parse_special_register(Operand& operand) {
  std::string_view name = text();
  operand = Operand();
  operand.kind = Operand::Kind::kSpecial;
  operand.span = token().span();
  next();
  if (is_directive() && component_of(text()) != Operand::kWhole) {
    operand.span.end = token().end;
    std::string_view spelled = lexer_.text().substr(operand.span.begin, operand.span.end - operand.span.begin);
    bool has_space = spelled.size() != name.size() + text().size();
    if (has_space) spelled = module_.spellings.emplace_back(std::string(name) + std::string(text()));
    name = spelled;
    next();
  }
  // Few distinct ones exist, so a linear search will do.
  auto& known = module_.special_registers;
  uint32_t index = 0;
  while (index < known.size() && known[index] != name) ++index;
  if (index == known.size()) known.push_back(name);
  operand.ref = index;
}

// `a[3]` is the address of the fourth element, as in C: loaded from it is an address operand, moved it is the address
// itself. With a register as index it is kept as a group of both.
bool OperandParser::parse_indexed(Operand& operand) {
  next();
  size_t mark = scratch_.size();
  if (is_word() && text() != "WARP_SZ") {
    Operand index;
    if (!parse_plain_name(index)) return false;
    scratch_.push_back(operand);
    scratch_.push_back(index);
    if (!token().is(']')) return expected("']'");
    Span span = {operand.span.begin, token().end};
    next();
    close_bracket(mark, span);
    return true;
  }
  Constant offset;
  if (!parse_expression(offset, 0)) return false;
  if (!token().is(']')) return expected("']'");
  operand.span.end = token().end;
  next();
  uint64_t element_size = bits(module_.variables[operand.ref].type) / 8;
  operand.value = static_cast<int64_t>(offset.bits * element_size);
  if (opcode_kind_ != OpcodeKind::kMove) {
    operand.kind = Operand::Kind::kAddress;
    operand.base = Operand::Kind::kVariable;
  }
  scratch_.push_back(operand);
  return true;
}

Operand OperandParser::resolve_name(const NameKey& name, Span span) {
  Operand operand;
  operand.span = span;
  Symbol symbol = locals_.find(name);
  if (symbol.kind == Symbol::Kind::kNone) symbol = globals_.find(name);
  // A branch goes to a label, whatever else has that name further out; `brx.idx` takes a register as well.
  bool is_hidden = opcode_kind_ == OpcodeKind::kBranch &&
                   (symbol.kind == Symbol::Kind::kVariable || symbol.kind == Symbol::Kind::kFunction);
  if (is_hidden) symbol = Symbol();
  operand.ref = symbol.index;
  switch (symbol.kind) {
    case Symbol::Kind::kRegister:
      operand.kind = Operand::Kind::kRegister;
      break;
    case Symbol::Kind::kVariable:
      operand.kind = Operand::Kind::kVariable;
      break;
    case Symbol::Kind::kLabel:
      operand.kind = Operand::Kind::kLabel;
      break;
    case Symbol::Kind::kFunction:
      operand.kind = Operand::Kind::kFunction;
      break;
    case Symbol::Kind::kNone:
      operand.kind = Operand::Kind::kUnresolved;
      operand.ref = kNone;
      break;
  }
  return operand;
}

uint32_t OperandParser::emit_operands(size_t mark) {
  auto first = static_cast<uint32_t>(module_.operands.size());
  for (size_t i = mark; i < scratch_.size(); ++i) {
    const Operand& operand = scratch_[i];
    Operand::Kind kind = operand.kind == Operand::Kind::kAddress ? operand.base : operand.kind;
    if (kind == Operand::Kind::kUnresolved || kind == Operand::Kind::kLabel) {
      bool is_label = kind == Operand::Kind::kLabel;
      if (is_label && locals_.depth() == 1) continue;
      NameKey name = is_label ? NameKey(function().labels[operand.ref].name) : name_at(operand.span);
      add_reference(operand, name, kNone, first + static_cast<uint32_t>(i - mark));
    }
  }
  module_.operands.insert(module_.operands.end(), scratch_.begin() + static_cast<ptrdiff_t>(mark), scratch_.end());
  scratch_.resize(mark);
  return first;
}

// ---- labels further on ----

Operand& OperandParser::operand_of(const LabelReference& reference) {
  if (reference.label == kNone) return module_.operands[reference.operand];
  return function().labels[reference.label].targets[reference.operand];
}

// Remembers an operand that a label further on may answer: one that means nothing yet, or a label of an enclosing block
// that this block may redefine.
void OperandParser::add_reference(const Operand& operand, const NameKey& name, uint32_t label, uint32_t index) {
  bool is_label = operand.kind == Operand::Kind::kLabel || operand.base == Operand::Kind::kLabel;
  if (is_label && locals_.find(name).scope == locals_.depth()) return;
  uint32_t id = locals_.intern(name);
  locals_.refer(id, static_cast<uint32_t>(references_.size()));
  references_.push_back({id, label, index, opcode_kind_ == OpcodeKind::kBranch});
}

// The name that an unresolved operand consists of or, in brackets, begins with.
NameKey OperandParser::name_at(Span span) const {
  Lexer lexer = lexer_;
  lexer.move_to(span.begin);
  while (lexer.token().kind == Token::Kind::kPunctuation) lexer.next();
  return NameKey(lexer.text(), lexer.token());
}

void OperandParser::report_unresolved() {
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

// ---- constants ----

bool OperandParser::is_constant_end(char c) {
  return c == ',' || c == ';' || c == '}' || c == ']' || c == ')';
}

// !p, -r, or a constant expression that begins so.
bool OperandParser::parse_negated() {
  Offset begin = token().begin;
  Lexer before = lexer_;
  next();
  bool is_name = is_word() && text() != "WARP_SZ";
  if (!is_name) {
    lexer_ = before;
    return parse_constant();
  }
  if (!parse_name_operand()) return false;
  scratch_.back().negated = true;
  scratch_.back().span.begin = begin;
  return true;
}

bool OperandParser::parse_constant() {
  Operand operand;
  operand.span.begin = token().begin;
  bool is_plain =
      (token().kind == Token::Kind::kInteger || token().kind == Token::Kind::kFloat) && is_constant_end(lexer_.peek());
  Constant constant;
  if (is_plain) {
    constant = {token().value, token().is_unsigned, token().kind == Token::Kind::kFloat};
    next();
  } else if (!parse_expression(constant, 0)) {
    return false;
  }
  operand.kind = constant.is_float ? Operand::Kind::kFloat : Operand::Kind::kInteger;
  operand.value = static_cast<int64_t>(constant.bits);
  operand.span.end = previous_end_;
  scratch_.push_back(operand);
  return true;
}

}  // namespace tmemlint::ptx
