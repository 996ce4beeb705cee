// What names mean, by scope.
//
// One table holds the names of a function (its nested scopes shadow each other), another those of the module. A
// register range such as %r<100> is one symbol of the name "%r"; a name looked up as a member of a range is split
// before its trailing digits, all of them, as ptxas does.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "analyzer/ptx/lexer.h"
#include "analyzer/ptx/module.h"

namespace tmemlint::ptx {

// A name together with what the lexer already knows about it.
struct NameKey {
  std::string_view text;
  uint64_t hash = 0;
  std::string_view prefix;  // without its trailing digits
  uint64_t prefix_hash = 0;
  uint32_t number = 0;
  bool is_numbered = false;

  NameKey(std::string_view source, const Token& token);
  explicit NameKey(std::string_view spelled);  // of a name that stands nowhere in the source
};

struct Symbol {
  enum class Kind : uint8_t { kNone, kRegister, kVariable, kLabel, kFunction };
  Kind kind = Kind::kNone;
  uint32_t index = 0;  // in the array that the kind names; for a range, of its register 0
  uint32_t scope = 0;  // nesting depth
};

class SymbolTable {
public:
  // Forgets everything.
  void clear();
  void open_scope();
  void close_scope();
  uint32_t depth() const { return static_cast<uint32_t>(scopes_.size()); }

  // What a name means here; kNone when nothing declares it. A member of a range answers its own register index.
  Symbol find(const NameKey& key) const;
  // False: this scope has that name already; the older declaration stays.
  bool declare(const NameKey& key, Symbol::Kind kind, uint32_t index);
  // A range of `count` registers; `key` is the name before the angle bracket.
  void declare_range(const NameKey& key, uint32_t index, uint32_t count);

  // References to names that may become labels later. `intern` gives a name its number; a reference is appended to the
  // name's list with `refer`, and `claim` takes off those that a label just declared in the current scope answers: they
  // stand in this scope or in one nested in it.
  uint32_t intern(const NameKey& key) { return name_at(key.text, key.hash); }
  std::string_view name(uint32_t id) const { return names_[id].text; }
  void refer(uint32_t name, uint32_t reference);
  template <typename Visit>
  void claim(uint32_t name, uint32_t first_reference, Visit visit) {
    uint32_t& head = names_[name].references;
    while (head != kNone && references_[head].reference >= first_reference) {
      visit(references_[head].reference);
      head = references_[head].previous;
    }
  }

private:
  struct Name {
    std::string_view text;
    uint64_t hash = 0;
    uint32_t exact = kNone;       // entries_: the innermost declaration of the name itself
    uint32_t range = kNone;       // entries_: the innermost range with this prefix
    uint32_t references = kNone;  // references_: the latest one
    bool has_numbered = false;    // some name that is this one plus digits is declared by itself
  };
  struct Entry {
    Symbol symbol;
    uint32_t name = 0;
    uint32_t count = 0;     // of a range; 0 for a plain name
    uint32_t previous = 0;  // what it shadows
  };
  struct Reference {
    uint32_t reference = 0;
    uint32_t previous = kNone;
  };

  size_t slot_of(std::string_view text, uint64_t hash) const;
  uint32_t lookup(std::string_view text, uint64_t hash) const;
  uint32_t name_at(std::string_view text, uint64_t hash);
  void grow();
  uint32_t in_range(uint32_t name, uint32_t number) const;

  std::vector<uint32_t> slots_;  // open addressing, names_ indices
  std::vector<Name> names_;
  std::vector<Entry> entries_;
  std::vector<Reference> references_;
  std::vector<uint32_t> scopes_;  // entries_ when the scope opened
};

}  // namespace tmemlint::ptx
