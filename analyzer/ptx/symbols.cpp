#include "analyzer/ptx/symbols.h"

#include <algorithm>
#include <bit>

namespace tmemlint::ptx {

NameKey::NameKey(std::string_view source, const Token& token)
    : text(source.substr(token.begin, token.end - token.begin)),
      hash(token.hash),
      prefix(source.substr(token.begin, token.prefix_end - token.begin)),
      prefix_hash(token.prefix_hash),
      number(token.number),
      is_numbered(token.is_numbered) {}

NameKey::NameKey(std::string_view spelled) : text(spelled), hash(hash_of(spelled)) {
  size_t last = spelled.find_last_not_of("0123456789");
  prefix = spelled.substr(0, last + 1);
  prefix_hash = hash_of(prefix);
  size_t digits = spelled.size() - prefix.size();
  is_numbered = digits >= 1 && digits <= 9;
  if (!is_numbered) return;
  for (char c : spelled.substr(prefix.size())) number = number * 10 + static_cast<uint32_t>(c - '0');
}

void SymbolTable::clear() {
  // The size follows the names of the function that ends, so that one huge function does not make every small one
  // after it pay for emptying a huge table.
  slots_.assign(std::max<size_t>(64, std::bit_ceil(names_.size() * 2 + 1)), kNone);
  names_.clear();
  entries_.clear();
  references_.clear();
  scopes_.clear();
}

void SymbolTable::open_scope() {
  scopes_.push_back(static_cast<uint32_t>(entries_.size()));
}

void SymbolTable::close_scope() {
  while (entries_.size() > scopes_.back()) {
    const Entry& entry = entries_.back();
    Name& name = names_[entry.name];
    (entry.count > 0 ? name.range : name.exact) = entry.previous;
    entries_.pop_back();
  }
  scopes_.pop_back();
}

size_t SymbolTable::slot_of(std::string_view text, uint64_t hash) const {
  size_t mask = slots_.size() - 1;
  size_t slot = static_cast<size_t>(hash >> 32) & mask;
  while (slots_[slot] != kNone) {
    const Name& name = names_[slots_[slot]];
    if (name.hash == hash && name.text == text) break;
    slot = (slot + 1) & mask;
  }
  return slot;
}

uint32_t SymbolTable::lookup(std::string_view text, uint64_t hash) const {
  return slots_.empty() ? kNone : slots_[slot_of(text, hash)];
}

void SymbolTable::grow() {
  size_t size = std::max<size_t>(64, slots_.size() * 2);
  slots_.assign(size, kNone);
  for (uint32_t i = 0; i < names_.size(); ++i) slots_[slot_of(names_[i].text, names_[i].hash)] = i;
}

uint32_t SymbolTable::name_at(std::string_view text, uint64_t hash) {
  if (names_.size() * 2 >= slots_.size()) grow();
  size_t slot = slot_of(text, hash);
  if (slots_[slot] != kNone) return slots_[slot];
  slots_[slot] = static_cast<uint32_t>(names_.size());
  names_.push_back({text, hash});
  return slots_[slot];
}

uint32_t SymbolTable::in_range(uint32_t name, uint32_t number) const {
  uint32_t entry = names_[name].range;
  while (entry != kNone && number >= entries_[entry].count) entry = entries_[entry].previous;
  return entry;
}

Symbol SymbolTable::find(const NameKey& key) const {
  uint32_t range = kNone;
  if (key.is_numbered) {
    uint32_t prefix = lookup(key.prefix, key.prefix_hash);
    // Declaring a numbered name interns its prefix.
    if (prefix == kNone) return {};
    range = in_range(prefix, key.number);
    if (range == kNone && !names_[prefix].has_numbered) return {};
    if (range != kNone && !names_[prefix].has_numbered) {
      Symbol symbol = entries_[range].symbol;
      symbol.index += key.number;
      return symbol;
    }
  }
  uint32_t name = lookup(key.text, key.hash);
  uint32_t exact = name == kNone ? kNone : names_[name].exact;
  if (range != kNone && (exact == kNone || entries_[exact].symbol.scope < entries_[range].symbol.scope)) {
    Symbol symbol = entries_[range].symbol;
    symbol.index += key.number;
    return symbol;
  }
  return exact == kNone ? Symbol() : entries_[exact].symbol;
}

bool SymbolTable::declare(const NameKey& key, Symbol::Kind kind, uint32_t index) {
  if (key.is_numbered) {
    uint32_t prefix = name_at(key.prefix, key.prefix_hash);
    names_[prefix].has_numbered = true;
    uint32_t range = in_range(prefix, key.number);
    if (range != kNone && entries_[range].symbol.scope == depth()) return false;
  }
  uint32_t name = name_at(key.text, key.hash);
  uint32_t previous = names_[name].exact;
  if (previous != kNone && entries_[previous].symbol.scope == depth()) return false;
  names_[name].exact = static_cast<uint32_t>(entries_.size());
  entries_.push_back({{kind, index, depth()}, name, 0, previous});
  return true;
}

void SymbolTable::declare_range(const NameKey& key, uint32_t index, uint32_t count) {
  if (count == 0) return;
  uint32_t name = name_at(key.text, key.hash);
  uint32_t previous = names_[name].range;
  names_[name].range = static_cast<uint32_t>(entries_.size());
  entries_.push_back({{Symbol::Kind::kRegister, index, depth()}, name, count, previous});
}

void SymbolTable::refer(uint32_t name, uint32_t reference) {
  references_.push_back({reference, names_[name].references});
  names_[name].references = static_cast<uint32_t>(references_.size() - 1);
}

}  // namespace tmemlint::ptx
