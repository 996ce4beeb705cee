// The semantics of instructions over the 32 lanes of a warp: registers, memory and decided facts in, the same out.
// A Machine knows nothing of paths or of the protocol; what drives it does: `evaluate` for one warp along all its
// paths, the joint run of analyzer/cluster for all warps together.
//
// What a Machine holds and how operands are read and results written is here. What each family of instructions does is
// in execution.h: arithmetic.cpp, exchange.cpp (between lanes), loads.cpp and stores.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "analyzer/kernel/launch.h"
#include "analyzer/program/program.h"
#include "analyzer/value/facts.h"
#include "analyzer/warp/memory.h"
#include "analyzer/warp/replays.h"

namespace tmemlint::warp {

using program::Arg;
using program::Meaning;
using program::MemorySpace;
using program::Program;
using program::Step;
using program::Straight;
using value::Facts;
using value::kAllLanes;
using value::Terms;
using value::Uniformity;
using value::Value;

// A truth value over the lanes of a mask: where it is known, and the one unknown that decides the rest.
struct Truth {
  uint32_t yes = 0;       // lanes where it is certainly true
  uint32_t no = 0;        // lanes where it is certainly false
  uint32_t unknown = 0;   // the others
  uint32_t term = 0;      // that decides them; 0: several do
  bool inverted = false;  // they are true where the term is false
};

// Memory that several warps see at once: how a driver that steps all warps together answers for it. Addresses are
// generic.
class CommonMemory {
public:
  virtual ~CommonMemory() = default;
  // A word of up to 16 bytes of shared memory.
  // `polls`: the load may see what other threads write meanwhile (volatile, relaxed, acquire).
  virtual Value load_shared(uint64_t address, unsigned bytes, bool polls) = 0;
  // A word that the executing lanes write; nothing when they write another value each, or one that is not known.
  virtual void store_shared(uint64_t address, unsigned bytes, const Value* value, uint32_t lanes) = 0;
  // Another word in each of the lanes, none of them known, each at an address of its own.
  virtual void store_data(const Value& where, uint32_t lanes, unsigned bytes) = 0;
  // A word of global memory at an address that is the same in all executing lanes.
  virtual Value load_global(const Value& address, unsigned index, unsigned width) = 0;
};

class Machine {
public:
  Machine(const Program& program, Terms& terms, const kernel::Launch& launch, uint32_t rank, uint32_t warp,
          std::vector<const SharedWrites*> others);

  std::vector<Value> registers;
  Memory memory;
  Facts facts;
  uint32_t active = kAllLanes;
  // Lanes whose values the registers hold: all, unless the driver keeps those of other lanes elsewhere.
  uint32_t present = kAllLanes;
  uint64_t loops = 0;                // set of loops around the code being executed
  uint64_t generation = 0;           // of what the other warps write; names what is read from them
  CommonMemory* common = nullptr;    // shared and global memory, when the driver keeps it; `others` is not asked then
  uint64_t* serial = nullptr;        // counts unknowns, when each time that code runs gives new ones
  Replays* replays = nullptr;        // what straight runs were seen to do
  SharedWrites writes;               // what was written to shared memory so far, on any path
  std::vector<Extent> shared_reads;  // what was read of shared memory so far, on any path

  uint32_t existing() const { return existing_; }
  uint32_t rank() const { return rank_; }
  const Program& program() const { return program_; }
  Terms& terms() { return terms_; }

  // Executes a straight run, or does what it was seen to do before: true then.
  bool run(const Straight& straight);
  // Executes a step that is not an event of the protocol. What an event changes is the driver's business: it calls
  // `write`, `write_unknowns` and `store`.
  void execute(const Step& step, uint32_t step_number);
  const Meaning& meaning(const Step& step) const;

  Value read(const Arg& arg);
  Value read_register(uint32_t r) {
    const Value& v = registers[r];
    if (v.base == 0 || !terms_.is_selection(v.base)) return v;
    ++beyond_registers_;
    return resolve(terms_, facts, v);
  }
  // The generic address that a bracketed operand names in a state space.
  Value generic_address(const Arg& arg, MemorySpace space);
  void write(const Arg& arg, const Value& value, uint32_t lanes, uint64_t site);
  void store(const Value& address, unsigned bytes, const Value& value, uint32_t lanes, uint64_t site);
  // New unknowns in all registers that a step writes.
  void write_unknowns(const Step& step, uint32_t lanes, Uniformity uniformity, uint64_t site);
  // A shared::cluster address as an operand of mbarriers and commits: 32 bits.
  Value shared_address(const Arg& arg);

  Truth truth_of(const Value& predicate, uint32_t lanes);
  // The lanes of `active` in which a step's guard holds; unknown ones are in the Truth.
  Truth guard_of(const Step& step);
  // The word that one lane holds, as a value that every lane may see.
  Value of_lane(const Value& value, unsigned lane, unsigned width);
  Value unknown(uint64_t site, unsigned part, Uniformity uniformity, unsigned width);

private:
  friend class Execution;

  const Program& program_;
  Terms& terms_;
  uint32_t rank_;
  uint32_t warp_;
  uint32_t existing_ = kAllLanes;
  std::vector<const SharedWrites*> others_;  // what the other warps of the CTA write to shared memory
  std::vector<Value> specials_;              // by Module::special_registers
  // How often a result depended on more than registers: on a fact, or on an unknown made for it. A straight run during
  // which this did not change may be replayed.
  uint64_t beyond_registers_ = 0;
  std::vector<Value> from_, to_;  // scratch of `run`
};

// The width of a register that an operand names, 32 where it names none.
unsigned width_of(const Arg& arg);

}  // namespace tmemlint::warp
