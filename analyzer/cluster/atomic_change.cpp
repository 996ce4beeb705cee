#include <bit>

#include "analyzer/cluster/memory_operations.h"
#include "analyzer/value/unknowns.h"

namespace tmemlint::cluster {

using program::Atomic;
using value::Op;
using value::Value;

std::optional<Value> AtomicChange::apply(Value& word) {
  const program::Arg* operand = scene_.arg(e_.step, operand_index_);
  if (operand == nullptr) return std::nullopt;
  const Value operands = e_.machine.read(*operand);
  if (!scene_.terms.uniform(operands, e_.lanes)) return std::nullopt;
  operand_ = e_.machine.of_lane(operands, static_cast<unsigned>(std::countr_zero(e_.lanes)), e_.meaning.access_width);
  old_ = word;
  switch (e_.meaning.atomic) {
    case Atomic::kAdd:
      return add(word);
    case Atomic::kExchange:
      word = operand_;
      return read_by_lanes(old_, word);
    case Atomic::kAnd:
      return combine(word, Op::kAnd, false);
    case Atomic::kOr:
      return combine(word, Op::kOr, false);
    case Atomic::kXor:
      // Of several lanes each undoes what the one before did: not followed.
      if (!std::has_single_bit(e_.lanes)) return std::nullopt;
      return combine(word, Op::kXor, false);
    case Atomic::kMin:
      return combine(word, Op::kMin, e_.meaning.access_signed);
    case Atomic::kMax:
      return combine(word, Op::kMax, e_.meaning.access_signed);
    case Atomic::kCompareSwap:
      return compare_swap(word);
    case Atomic::kIncrement:
    case Atomic::kDecrement:
      return count(word);
    case Atomic::kNone:
    case Atomic::kOther:
      return std::nullopt;
  }
  return std::nullopt;
}

std::optional<Value> AtomicChange::add(Value& word) {
  value::Terms& terms = scene_.terms;
  const auto bits = static_cast<uint8_t>(e_.meaning.access_width);
  value::Lanes turns{};
  uint64_t count = 0;
  for (unsigned l = 0; l < value::kLanes; ++l) turns[l] = ((e_.lanes >> l) & 1) != 0 ? count++ : 0;
  const value::Operation times{Op::kMul, bits, false, 0};
  const value::Operation plus{Op::kAdd, bits, false, 0};
  word = terms.apply(plus, old_, terms.apply(times, operand_, Value::of(count)));
  if (word.constant()) word.number = value::truncate(word.number, bits);
  if (std::has_single_bit(e_.lanes)) return old_;
  return terms.apply(plus, old_, terms.apply(times, operand_, terms.from_lanes(turns, bits)));
}

std::optional<Value> AtomicChange::combine(Value& word, Op op, bool is_signed) {
  const auto bits = static_cast<uint8_t>(e_.meaning.access_width);
  word = scene_.terms.apply({op, bits, is_signed, 0}, old_, operand_);
  if (word.constant()) word.number = value::truncate(word.number, bits);
  return read_by_lanes(old_, word);
}

std::optional<Value> AtomicChange::compare_swap(Value& word) {
  const program::Arg* fresh = scene_.arg(e_.step, operand_index_ + 1);
  if (fresh == nullptr || !old_.constant() || !operand_.constant()) return std::nullopt;
  const Value fresh_value = e_.machine.read(*fresh);
  if (!scene_.terms.uniform(fresh_value, e_.lanes)) return std::nullopt;
  const unsigned width = e_.meaning.access_width;
  if (value::truncate(old_.number, width) == value::truncate(operand_.number, width))
    word = e_.machine.of_lane(fresh_value, static_cast<unsigned>(std::countr_zero(e_.lanes)), width);
  return read_by_lanes(old_, word);
}

// atom.inc and atom.dec, which begin anew behind their limit.
std::optional<Value> AtomicChange::count(Value& word) {
  if (!old_.constant() || !operand_.constant()) return std::nullopt;
  const unsigned width = e_.meaning.access_width;
  const uint64_t limit = value::truncate(operand_.number, width);
  uint64_t now = value::truncate(old_.number, width);
  value::Lanes before{};
  for (unsigned l = 0; l < value::kLanes; ++l) {
    before[l] = now;
    if (((e_.lanes >> l) & 1) == 0) continue;
    if (e_.meaning.atomic == Atomic::kIncrement) {
      now = now >= limit ? 0 : now + 1;
    } else {
      now = now == 0 || now > limit ? limit : now - 1;
    }
  }
  word = Value::of(now);
  return std::has_single_bit(e_.lanes) ? old_ : scene_.terms.from_lanes(before, width);
}

// For operations that give the same when they are repeated: the first lane changes the word, the others read what it
// left and change nothing.
std::optional<Value> AtomicChange::read_by_lanes(const Value& old, const Value& word) {
  if (std::has_single_bit(e_.lanes) || word == old) return old;
  return scene_.terms.blend(e_.lanes & (~e_.lanes + 1), old, word,
                            value::site_of(value::UnknownKind::kRunMixed, ++scene_.state.serial), 0,
                            e_.meaning.access_width);
}

}  // namespace tmemlint::cluster
