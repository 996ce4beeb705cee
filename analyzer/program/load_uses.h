// Which pending tcgen05.ld an instruction touches: a load writes its registers some time later, so that until
// tcgen05.wait::ld nothing may use them or write them.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "analyzer/program/operands.h"

namespace tmemlint::program {

class LoadUses {
public:
  // Numbers the loads of the graph in `program.loads`, in the order of blocks and instructions.
  LoadUses(const Operands& operands, Program& program);

  bool any() const { return any_; }
  // Whether a load may be pending at the begin of a block: issued on some path to it, and not waited for since. Where
  // none is, who uses or writes a register decides nothing.
  bool pending_at(uint32_t block) const { return pending_[block]; }
  bool pending_after(uint32_t instruction, bool before) const;
  // Whether an instruction uses what a load delivers, or writes a register that a load writes.
  bool touches(uint32_t frame, uint32_t instruction) const;
  // The registers of an instruction that may hold what a load delivered. A move only passes them on, uses nothing.
  void used_by(uint32_t frame, uint32_t instruction, std::vector<uint32_t>& out) const;
  // The registers of other loads than `self` that an instruction writes.
  void overwritten_by(uint32_t frame, uint32_t instruction, uint32_t self, std::vector<uint32_t>& out) const;

  // By register: the loads whose results it may hold, moved there or not; the loads that write it.
  const std::vector<std::vector<uint32_t>>& held() const { return held_; }
  const std::vector<std::vector<uint32_t>>& written() const { return written_; }

private:
  void find_pending();
  bool pass_on(uint32_t frame, uint32_t instruction);

  const Operands& operands_;
  bool any_ = false;
  std::vector<std::vector<uint32_t>> held_, written_;
  std::vector<bool> pending_;  // by block
};

// The steps that say so: Step::Kind::kUse and kOverwrite.
class LoadMarkers {
public:
  LoadMarkers(const Operands& operands, const LoadUses& uses, Program& program)
      : operands_(operands), uses_(uses), program_(program) {}

  // Behind a load, or in another block, a marker means something new.
  void begin_stretch() { ++stretch_; }
  // Appends the markers of an instruction. `self`: the load that it is, or kNone. `guard`: the register that a marker
  // is guarded by.
  void emit(uint32_t frame, uint32_t instruction, uint32_t self, uint32_t guard);

private:
  struct Marked {
    uint32_t stretch = 0;
    uint32_t guard = kNone;
    bool guard_negated = false;
    bool operator==(const Marked&) const = default;
  };
  struct Kind {
    Step::Kind step;
    std::map<std::vector<uint32_t>, uint32_t> set_of;  // Program::load_sets, by registers
    std::vector<Marked> last;                          // by set: its last marker
  };
  void mark(Kind& kind, uint32_t instruction, uint32_t guard, const std::vector<uint32_t>& registers,
            const std::vector<std::vector<uint32_t>>& loads_of);
  uint32_t set_of(Kind& kind, const std::vector<uint32_t>& registers,
                  const std::vector<std::vector<uint32_t>>& loads_of);

  const Operands& operands_;
  const LoadUses& uses_;
  Program& program_;
  uint32_t stretch_ = 0;  // of code of one block, between loads
  Kind use_{Step::Kind::kUse, {}, {}};
  Kind overwrite_{Step::Kind::kOverwrite, {}, {}};
  std::map<std::vector<uint32_t>, uint32_t> numbers_;  // Program::load_sets, by loads
  std::vector<uint32_t> registers_;
};

}  // namespace tmemlint::program
