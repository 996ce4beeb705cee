// One step of a kernel while a warp executes it, and the families of instructions: what each does with its operands.
// Machine::execute makes one of these per step; nothing outside this folder needs them.
#pragma once

#include <bit>
#include <optional>

#include "analyzer/assumptions/assumptions.h"
#include "analyzer/warp/machine.h"

namespace tmemlint::warp {

// Bytes of the largest word that has a value; a larger one is loaded as an unknown.
constexpr unsigned kLargestWord = assumptions::kBytesOfAValue;

using value::operation;

// The first one of some lanes.
inline unsigned first_lane(uint32_t lanes) {
  return static_cast<unsigned>(std::countr_zero(lanes));
}

class Execution {
public:
  Execution(Machine& machine, const Step& step, const Meaning& meaning, uint64_t number, const Truth& guard)
      : machine_(machine), terms_(machine.terms_), step_(step), meaning_(meaning), number_(number), guard_(guard) {}

protected:
  const Arg& arg(unsigned n) const { return machine_.program_.args[step_.first_arg + n]; }
  // Of the vector operand.
  const Arg& element(unsigned n) const { return machine_.program_.args[step_.vector_first + n]; }
  bool has_vector_results() const { return step_.destinations > 0 && arg(0).kind == Arg::Kind::kNone; }
  // Lanes in which the guard holds or may hold.
  uint32_t lanes() const { return guard_.yes | guard_.unknown; }
  uint32_t existing() const { return machine_.existing_; }

  Value read(const Arg& arg) { return machine_.read(arg); }
  // Writes the destination numbered n: where the guard is not known, it is the new value or the old one.
  void result(unsigned n, const Value& value);
  // Writes an element of a vector of results.
  void element_result(const Arg& to, const Value& value) { machine_.write(to, value, lanes(), number_); }

  Value apply(const value::Operation& o, const Value& a) { return terms_.apply(o, a); }
  Value apply(const value::Operation& o, const Value& a, const Value& b) { return terms_.apply(o, a, b); }
  Value unknown(unsigned part, Uniformity uniformity, unsigned width) {
    return machine_.unknown(number_, part, uniformity, width);
  }

  // What parts of the CTA the machine is, and what the others write to shared memory.
  uint32_t warp() const { return machine_.warp_; }
  uint32_t rank() const { return machine_.rank_; }
  const std::vector<const SharedWrites*>& others() const { return machine_.others_; }

  Machine& machine_;
  Terms& terms_;
  const Step& step_;
  const Meaning& meaning_;
  const uint64_t number_;  // of the step, which names the unknowns that it makes
  const Truth& guard_;
};

// Instructions that compute registers from registers, lane by lane.
class Arithmetic : public Execution {
public:
  using Execution::Execution;
  void pure();
  void compare();
  void multiply();
  void move();
  void convert();
  void map_rank();
  void to_shared();
  void from_shared();
  // An operation that is not modelled: equal operands give equal results.
  void generic();
  // A result that depends on more than operands: an unknown.
  void fresh();

private:
  Uniformity uniformity_of_operands(const Value* args, unsigned count);
};

// Instructions through which lanes see each other's registers.
class Exchange : public Execution {
public:
  using Execution::Execution;
  void shuffle();
  void vote();
  void reduce();
  void elect();
  void active_mask() { result(0, Value::of(machine_.active)); }

private:
  unsigned source_of(unsigned lane, unsigned by, unsigned limit) const;
  Value voted(const Truth& truth) const;
};

class Loading : public Execution {
public:
  using Execution::Execution;
  void load();
  // The element numbered `index` of what is loaded, at its own address.
  Value load_one(const Value& address, unsigned index);

private:
  unsigned bytes() const { return meaning_.access_width / 8u; }
  void note_read(uint64_t address);
  Value load_known(uint64_t address, unsigned index);
  Value load_shared(uint64_t address, unsigned index, const std::optional<Value>& own);
  Value load_by_lane(const Value& address, unsigned index);
  std::optional<Value> load_listed(const Value& address, unsigned index);
  std::optional<Value> load_table(const Value& address);
  std::vector<uint64_t> places_in_table(const Value& address) const;
};

class Storing : public Execution {
public:
  using Execution::Execution;
  void store();
  // An atomic operation: the word at a known shared address holds something unknown from now on, for every warp.
  void change_atomically();
  // Step::Kind::kCopyIn.
  void copy_in();
};

}  // namespace tmemlint::warp
