// What a load finds: the words that the path itself has stored, those that other warps were seen to store, else
// unknowns.
#include <algorithm>
#include <bit>
#include <iterator>

#include "analyzer/assumptions/assumptions.h"
#include "analyzer/warp/execution.h"

namespace tmemlint::warp {

using value::FactsFilter;
using value::hash_with;
using value::kLanes;
using value::Lanes;
using value::Op;
using value::site_of;
using value::truncate;
using value::UnknownKind;

using kernel::kLocalWindow;
using kernel::kParamWindow;
using kernel::kSharedWindow;

namespace {

// Parts of a step's site: an element of what is loaded, from memory that the path knows only in part.
constexpr unsigned kPartlyKnownPart = 200;

// Stores of other warps that a word of shared memory is listed as; of more, it is an unknown.
constexpr size_t kMostCandidates = assumptions::kCandidatesOfALoad;
// Places that an address with an unknown index may name, and whose words are then listed; of more, the result is an
// unknown.
constexpr size_t kMostPlaces = assumptions::kPlacesOfALoad;

}  // namespace

void Loading::note_read(uint64_t address) {
  const Extent extent{address, address + bytes()};
  std::vector<Extent>& reads = machine_.shared_reads;
  if (std::find(reads.begin(), reads.end(), extent) == reads.end()) reads.push_back(extent);
}

Value Loading::load_known(uint64_t address, unsigned index) {
  const uint64_t window = kernel::window_of(address);
  const unsigned width = bytes() * 8;
  const std::optional<Value> own = machine_.memory.load(terms_, address, bytes());
  if (window == kSharedWindow) return load_shared(address, index, own);
  if (own) return *own;
  if (machine_.memory.touches(address, bytes())) return unknown(kPartlyKnownPart + index, Uniformity::kLane, width);
  if (window == kParamWindow && address - kParamWindow < machine_.program().layout.kernel_parameters()) {
    return terms_.opaque(site_of(UnknownKind::kParameter), (address << 4) | bytes(), Uniformity::kCta, 0, width);
  }
  return unknown(kPartlyKnownPart + index, window == kLocalWindow ? Uniformity::kLane : Uniformity::kWarp, width);
}

// `own`: what the path itself has stored there.
Value Loading::load_shared(uint64_t address, unsigned index, const std::optional<Value>& own) {
  if (machine_.common != nullptr) return machine_.common->load_shared(address, bytes(), meaning_.fresh);
  note_read(address);
  std::vector<Value> candidates;
  bool listed = true;
  if (own) candidates.push_back(*own);
  const bool own_unknown = !own && machine_.memory.touches(address, bytes());
  for (const SharedWrites* other : others()) {
    for (const auto& [at, record] : other->overlapping(address, bytes())) {
      if (record.unknown || at > address || at + record.bytes < address + bytes()) {
        listed = false;
        continue;
      }
      const Value v = extract(terms_, record.value, record.bytes, static_cast<unsigned>(address - at), bytes());
      if (std::find(candidates.begin(), candidates.end(), v) == candidates.end()) candidates.push_back(v);
    }
  }
  const unsigned width = bytes() * 8;
  if (candidates.size() == 1 && listed && !own_unknown) return candidates[0];
  if (candidates.empty() && listed && !own_unknown && !meaning_.fresh) {
    // Never written by a thread: asynchronous copies may change it, so it is another word each time it is read.
    return machine_.unknown(site_of(UnknownKind::kUnwrittenWord, number_), index, Uniformity::kWarp, width);
  }
  const uint32_t join =
      terms_.join(site_of(UnknownKind::kWrittenWord, number_),
                  (machine_.generation << 48) | (uint64_t{warp()} << 40) | index, machine_.loops, width);
  const bool closed = listed && !own_unknown && !candidates.empty();
  if (closed && candidates.size() > kMostCandidates) terms_.uses().count(assumptions::Id::kCandidatesOfALoad);
  terms_.set_list(join, candidates, closed && candidates.size() <= kMostCandidates);
  uint64_t zero = closed ? ~uint64_t{0} : 0;
  for (const Value& c : candidates) zero &= c.table != 0 ? 0 : terms_.zero_bits(c, 0);
  terms_.set_zero_bits(join, zero | ~truncate(~uint64_t{0}, width));
  Value v;
  v.base = join;
  return v;
}

// An element of a small array, at an index that may be one of a few: one of the words that stand there.
std::optional<Value> Loading::load_listed(const Value& address, unsigned index) {
  if (!terms_.uniform(address, kAllLanes)) return std::nullopt;
  const auto places = terms_.enumerate(address, 0, 64, FactsFilter(terms_, machine_.facts));
  if (!places || places->empty()) return std::nullopt;
  if (places->size() > kMostPlaces) {
    terms_.uses().count(assumptions::Id::kPlacesOfALoad);
    return std::nullopt;
  }
  std::vector<Value> words;
  for (uint64_t at : *places) {
    const uint64_t window = kernel::window_of(at);
    if (window != kLocalWindow && window != kSharedWindow) return std::nullopt;
    words.push_back(load_known(at, index));
  }
  const Value& first = words.front();
  if (std::all_of(words.begin(), words.end(), [&](const Value& w) { return w == first; })) return first;
  const bool one_base = std::all_of(words.begin(), words.end(), [&](const Value& w) {
    return w.base == first.base && w.table == 0 && w.without_base == first.without_base;
  });
  // One base and another offset each (stages of one allocation): the offset is what is listed.
  const unsigned width = bytes() * 8;
  const uint32_t join = terms_.join(site_of(UnknownKind::kElement, number_),
                                    (uint64_t{warp()} << 40) | (uint64_t{rank()} << 56) | index, machine_.loops, width);
  std::vector<Value> set;
  for (const Value& w : words) {
    const Value item = one_base ? Value::of(w.number) : w;
    if (std::find(set.begin(), set.end(), item) == set.end()) set.push_back(item);
  }
  const bool lists = std::all_of(words.begin(), words.end(), [&](const Value& w) { return one_base || w.base == 0; });
  terms_.set_list(join, std::move(set), lists);
  terms_.set_zero_bits(join, ~truncate(~uint64_t{0}, width));
  Value offset;
  offset.base = join;
  if (!one_base || first.base == 0) return offset;
  Value base = first;
  base.number = 0;
  return apply(operation(Op::kAdd, width), base, offset);
}

// The addresses in a table of constants that one of them may be; none where they are too many, or not known to lie
// there.
std::vector<uint64_t> Loading::places_in_table(const Value& address) const {
  constexpr size_t kMost = assumptions::kPlacesInATable;
  const program::ConstantTables& tables = machine_.program().tables;
  const Value one = terms_.lane(address, first_lane(lanes()));
  std::vector<uint64_t> out;
  if (const auto all = terms_.enumerate(one, 0, 64, FactsFilter(terms_, machine_.facts))) {
    // An index beyond the end of a table is another fault.
    std::copy_if(all->begin(), all->end(), std::back_inserter(out),
                 [&](uint64_t at) { return tables.word(at, bytes()).has_value(); });
  } else if (machine_.common != nullptr) {
    // Which one it is depends on an index that a scenario has a number for.
    const auto* table = tables.find(one.number);
    if (table == nullptr) return out;
    const unsigned aligned = static_cast<unsigned>(std::countr_one(terms_.zero_bits(Value::of_term(one.base), 0)));
    const uint64_t step = std::max<uint64_t>(bytes(), uint64_t{1} << std::min(aligned, 63u));
    for (uint64_t at = table->begin + (one.number - table->begin) % step; at + bytes() <= table->end(); at += step) {
      out.push_back(at);
      if (out.size() > kMost) break;
    }
  }
  if (out.size() > kMost) {
    terms_.uses().count(assumptions::Id::kPlacesInATable);
    out.clear();
  }
  return out;
}

// A number of a table of constants, or one of those that an unknown index may lead to.
std::optional<Value> Loading::load_table(const Value& address) {
  const program::ConstantTables& tables = machine_.program().tables;
  if (tables.empty() || bytes() > kLargestWord || !terms_.uniform(address, lanes())) return std::nullopt;
  if (address.known()) {
    const auto number = tables.word(terms_.number_in(address, first_lane(lanes())), bytes());
    if (!number) return std::nullopt;
    terms_.uses().count(assumptions::Id::kTablesOfConstants);
    return Value::of(*number);
  }
  const std::vector<uint64_t> places = places_in_table(address);
  if (places.empty()) return std::nullopt;
  terms_.uses().count(assumptions::Id::kTablesOfConstants);
  const unsigned width = bytes() * 8;
  std::vector<Value> numbers;
  for (uint64_t at : places) {
    const Value number = Value::of(*tables.word(at, bytes()));
    if (std::find(numbers.begin(), numbers.end(), number) == numbers.end()) numbers.push_back(number);
  }
  if (numbers.size() == 1) return numbers.front();
  if (machine_.common != nullptr) {
    // A choice by the index, so that whoever decides about the index decides about the number.
    Value out = Value::of(*tables.word(places.back(), bytes()));
    for (size_t n = places.size() - 1; n-- > 0;) {
      const Value choices[3] = {apply(operation(Op::kEq, 64), address, Value::of(places[n])),
                                Value::of(*tables.word(places[n], bytes())), out};
      out = terms_.apply(operation(Op::kSelect, width), choices, 3);
    }
    return out;
  }
  // The same address gives the same number.
  uint64_t hash = hash_with(bytes(), address);
  uint64_t zero = ~uint64_t{0};
  for (const Value& number : numbers) {
    hash = hash_with(hash, number);
    zero &= ~number.number;
  }
  const uint32_t join = terms_.join(site_of(UnknownKind::kTableWord, address.base), hash, terms_.loops(address), width);
  terms_.set_list(join, std::move(numbers), true);
  terms_.set_zero_bits(join, zero);
  Value out;
  out.base = join;
  return out;
}

// Another word per lane; worth reading one by one only if all of them are numbers.
Value Loading::load_by_lane(const Value& address, unsigned index) {
  Lanes n{};
  bool numbers = true;
  for (unsigned l = 0; l < kLanes && numbers; ++l) {
    if (((lanes() >> l) & 1) == 0) continue;
    const uint64_t at = terms_.number_in(address, l);
    const std::optional<uint64_t> constant = machine_.program().tables.word(at, bytes());
    const Value mine = constant ? Value::of(*constant) : terms_.lane(load_known(at, index), l);
    numbers = mine.base == 0;
    n[l] = mine.number;
  }
  if (numbers) return terms_.from_lanes(n, meaning_.access_width);
  return unknown(index, Uniformity::kLane, meaning_.access_width);
}

Value Loading::load_one(const Value& address, unsigned index) {
  const bool one_known_place = address.known() && terms_.uniform(address, lanes());
  const uint64_t at = one_known_place ? terms_.number_in(address, first_lane(lanes())) : 0;
  const uint64_t window = kernel::window_of(at);
  if (one_known_place && machine_.common != nullptr && window == kSharedWindow) {
    return machine_.common->load_shared(at, bytes(), meaning_.fresh);
  }
  if (bytes() > kLargestWord) {
    return unknown(index, terms_.uniform(address, lanes()) ? Uniformity::kWarp : Uniformity::kLane, 64);
  }
  if (one_known_place) {
    const bool global = window == kernel::kGlobalWindow || window == kernel::kConstWindow;
    return global ? unknown(index, Uniformity::kWarp, meaning_.access_width) : load_known(at, index);
  }
  if (address.known() && (kernel::window_of(address.number) != kernel::kGlobalWindow ||
                          machine_.program().tables.find(terms_.number_in(address, first_lane(lanes()))) != nullptr)) {
    return load_by_lane(address, index);
  }
  if (std::optional<Value> one = load_listed(address, index)) return *one;
  const bool same = terms_.uniform(address, lanes());
  if (same && machine_.common != nullptr && !meaning_.fresh) {
    const Value where = terms_.lane(address, first_lane(lanes()));
    return machine_.common->load_global(where, index, meaning_.access_width);
  }
  return unknown(index, same ? Uniformity::kWarp : Uniformity::kLane, meaning_.access_width);
}

void Loading::load() {
  // ld d, [a] {, cache policy}: the address is the bracketed operand.
  unsigned at = step_.argument_count - 1u;
  for (unsigned n = 0; n < step_.argument_count; ++n) {
    if (arg(n).address) at = n;
  }
  // An unknown address of global memory stays one.
  Value address = read(arg(at));
  const bool unknown_global = meaning_.space == MemorySpace::kGlobal && !address.known();
  if (!unknown_global) address = machine_.generic_address(arg(at), meaning_.space);
  const bool vector = step_.vector_count != 0 && arg(0).kind == Arg::Kind::kNone;
  const unsigned count = vector ? step_.vector_count : 1;
  for (unsigned n = 0; n < count; ++n) {
    const Arg& to = vector ? element(n) : arg(0);
    if (to.kind != Arg::Kind::kRegister) continue;
    const uint64_t offset = uint64_t{n} * meaning_.access_width / 8;
    const bool in_place = n == 0 || (unknown_global && machine_.program().tables.empty());
    const Value here = in_place ? address : apply(operation(Op::kAdd, 64), address, Value::of(offset));
    const std::optional<Value> constant = load_table(here);
    Value v = constant ? *constant : load_one(unknown_global ? address : here, n);
    if (meaning_.access_signed && to.width > meaning_.access_width) {
      v = apply(operation(Op::kSext, to.width, false, meaning_.access_width), v);
    }
    if (v.constant()) v.number = truncate(v.number, to.width);
    if (vector) {
      element_result(to, v);
    } else {
      result(0, v);
    }
  }
}

}  // namespace tmemlint::warp
