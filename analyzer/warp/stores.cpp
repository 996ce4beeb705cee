// What a store changes: the path's own memory, what other warps may find in shared memory, or the memory that the
// driver keeps for all warps.
//
// Assumption: a store to an unknown address does not touch what the protocol is made of.
#include <algorithm>

#include "analyzer/assumptions/assumptions.h"
#include "analyzer/warp/execution.h"

namespace tmemlint::warp {

using value::FactsFilter;
using value::Op;
using value::Term;
using value::TermKind;
using value::truncate;

using kernel::kSharedWindow;

namespace {

// Parts of a step's site: unknowns that a store leaves in memory.
constexpr unsigned kSomeLanePart = 300;     // one of several lanes' words
constexpr unsigned kOldWordPart = 301;      // what stood in private memory before
constexpr unsigned kMatrixPart = 302;       // data of stmatrix
constexpr unsigned kMaybeStoredPart = 302;  // and the elements of a vector: where the guard is not known
// Numbers that a word stored in shared memory may be for the other warps to see them; of more, they see an unknown.
constexpr size_t kMostNumbers = assumptions::kNumbersOfAStoredWord;
// Bytes of the largest vector.
constexpr unsigned kLargestVector = assumptions::kBytesOfAVector;

// Whether a value is data: another unknown in each of the lanes.
bool holds_data(const Terms& terms, const Value& value, uint32_t lanes) {
  return value.base != 0 && (value.without_base & lanes) == 0 && terms[value.base].uniformity == Uniformity::kLane;
}

// One store of a word by some lanes.
class Store {
public:
  Store(Machine& machine, const Value& address, unsigned bytes, uint32_t lanes, uint64_t site)
      : machine_(machine), terms_(machine.terms()), address_(address), bytes_(bytes), lanes_(lanes), site_(site) {
    same_place_ = terms_.uniform(address, lanes);
    at_ = terms_.number_in(address, first_lane(lanes));
  }

  void run(const Value& value) {
    const uint64_t window = kernel::window_of(at_);
    if (window == kernel::kGlobalWindow || window == kernel::kConstWindow) return;
    if (window == kSharedWindow && machine_.common != nullptr) return to_common(value);
    if (!same_place_) return clobber_places();
    if (bytes_ > kLargestWord) return machine_.memory.clobber(at_, bytes_);
    Value stored = value;
    if (stored.constant()) stored.number = truncate(stored.number, width());
    if (window == kSharedWindow) {
      stored = word_for_all(stored);
      machine_.memory.store(terms_, at_, bytes_, stored, kAllLanes);
      return;
    }
    const uint32_t writers = machine_.memory.writers(at_, bytes_);
    if ((writers & ~lanes_ & machine_.existing()) != 0) {
      // Private memory of some lanes only, which others have written as well.
      const std::optional<Value> old = machine_.memory.load(terms_, at_, bytes_);
      const Value before = old ? *old : machine_.unknown(site_, kOldWordPart, Uniformity::kLane, width());
      stored = terms_.blend(lanes_, stored, before, value::site_of(value::UnknownKind::kMixedWord, site_),
                            machine_.loops, width());
    }
    machine_.memory.store(terms_, at_, bytes_, stored,
                          lanes_ | machine_.memory.writers(at_, bytes_) | ~machine_.existing());
  }

private:
  unsigned width() const { return bytes_ * 8; }

  // Shared memory that the driver keeps for all warps.
  void to_common(const Value& value) {
    if (same_place_) {
      if (!terms_.uniform(value, lanes_)) {
        machine_.common->store_shared(at_, bytes_, nullptr, lanes_);  // which of them stays there is not known
        return;
      }
      const Value one = machine_.of_lane(value, first_lane(lanes_), std::min(64u, width()));
      machine_.common->store_shared(at_, bytes_, &one, lanes_);
      return;
    }
    if (holds_data(terms_, value, lanes_)) {
      machine_.common->store_data(address_, lanes_, bytes_);
      return;
    }
    for (uint32_t rest = lanes_; rest != 0; rest &= rest - 1) {
      const unsigned l = first_lane(rest);
      const Value one = terms_.lane(value, l);
      const bool known = one.base == 0 || terms_[one.base].uniformity != Uniformity::kLane;
      machine_.common->store_shared(terms_.number_in(address_, l), bytes_, known ? &one : nullptr, 1u << l);
    }
  }

  // Another place in each lane.
  void clobber_places() {
    const auto [low, high] = terms_.span_of(address_, lanes_);
    if (!machine_.memory.touches(low, high - low + bytes_)) return;
    for (uint32_t rest = lanes_; rest != 0; rest &= rest - 1) {
      machine_.memory.clobber(terms_.number_in(address_, first_lane(rest)), bytes_);
    }
  }

  // The word that several lanes store in one place of shared memory: some lane's value. The other warps may find it.
  Value word_for_all(const Value& value) {
    const Value stored = terms_.uniform(value, lanes_)
                             ? machine_.of_lane(value, first_lane(lanes_), width())
                             : machine_.unknown(site_, kSomeLanePart, Uniformity::kWarp, width());
    SharedWrites::Record record;
    record.bytes = static_cast<uint8_t>(bytes_);
    record.value = stored;
    if (means_the_same_to_all(stored)) {
      machine_.writes.add(at_, record);
      return stored;
    }
    const auto numbers = terms_.enumerate(stored, 0, width(), FactsFilter(terms_, machine_.facts));
    if (numbers && numbers->size() > kMostNumbers) terms_.uses().count(assumptions::Id::kNumbersOfAStoredWord);
    if (numbers && numbers->size() <= kMostNumbers) {
      for (uint64_t n : *numbers) {
        record.value = Value::of(n);
        machine_.writes.add(at_, record);
      }
      return stored;
    }
    record.value = Value{};
    record.unknown = true;
    machine_.writes.add(at_, record);
    return stored;
  }

  // Terms of this warp's paths mean nothing to another warp.
  bool means_the_same_to_all(const Value& value) const {
    for (const Terms::Part part : terms_.parts(value.base)) {
      const Term& t = terms_[part.term];
      if (t.kind != TermKind::kAllocation && (t.loops != 0 || t.uniformity != Uniformity::kCta)) return false;
    }
    return true;
  }

  Machine& machine_;
  Terms& terms_;
  const Value& address_;
  const unsigned bytes_;
  const uint32_t lanes_;
  const uint64_t site_;
  bool same_place_ = false;
  uint64_t at_ = 0;  // the address in the first lane
};

}  // namespace

void Machine::store(const Value& address, unsigned bytes, const Value& value, uint32_t lanes, uint64_t site) {
  if (!address.known() || lanes == 0) return;  // assumed not to touch what the protocol is made of
  Store(*this, address, bytes, lanes, site).run(value);
}

void Storing::change_atomically() {
  for (unsigned n = 0; n < step_.argument_count; ++n) {
    if (!arg(n).address) continue;
    const Value address = machine_.generic_address(arg(n), meaning_.space);
    if (!address.constant() || kernel::window_of(address.number) != kSharedWindow) return;
    SharedWrites::Record record;
    record.bytes = 8;
    record.unknown = true;
    machine_.writes.add(address.number, record);
    machine_.memory.clobber(address.number, record.bytes);
    return;
  }
}

void Storing::store() {
  unsigned at = 0;
  while (at < step_.argument_count && !arg(at).address) ++at;
  if (at >= step_.argument_count) return;
  if (!read(arg(at)).known()) return;  // as in Machine::store
  const Value address = machine_.generic_address(arg(at), meaning_.space);
  const unsigned bytes = meaning_.access_width / 8;
  if (meaning_.address_lanes != 0) {
    const auto rows = static_cast<uint32_t>(truncate(kAllLanes, meaning_.address_lanes));
    machine_.store(address, bytes, unknown(kMatrixPart, Uniformity::kLane, 64), lanes() & rows, number_);
    return;
  }
  const unsigned count = step_.vector_count != 0 ? step_.vector_count : 1;
  if (machine_.common != nullptr && count > 1 && bytes * count <= kLargestVector && guard_.unknown == 0) {
    // A vector of data is one piece of data.
    bool data = true;
    for (unsigned n = 0; n < count && data; ++n) data = holds_data(terms_, read(element(n)), lanes());
    if (data) return machine_.store(address, bytes * count, read(element(0)), lanes(), number_);
  }
  for (unsigned n = 0; n < count; ++n) {
    if (step_.vector_count == 0 && at + 1u >= step_.argument_count) return;
    Value v = read(step_.vector_count != 0 ? element(n) : arg(at + 1));
    if (guard_.unknown != 0) {
      v = unknown(kMaybeStoredPart + n, Uniformity::kWarp, std::min(meaning_.access_width, uint8_t{64}));
    }
    const Value where = n == 0 ? address : apply(operation(Op::kAdd, 64), address, Value::of(uint64_t{n} * bytes));
    machine_.store(where, bytes, v, lanes(), number_ | (uint64_t{n} << 32));
  }
}

void Storing::copy_in() {
  const Arg& to = arg(0);
  const Arg& from = arg(1);
  Value v;
  if (from.address) {
    Meaning word;
    word.access_width = from.width;
    v = Loading(machine_, step_, word, number_, guard_).load_one(Value::of(from.number), 0);
  } else {
    v = read(from);
  }
  if (to.address) {
    machine_.store(Value::of(to.number), to.width / 8, v, machine_.active, number_);
  } else {
    machine_.write(to, v, machine_.active, number_);
  }
}

}  // namespace tmemlint::warp
