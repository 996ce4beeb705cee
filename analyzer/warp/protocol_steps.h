// What the steps of a path do to the protocol's state: each becomes an event with the state before it, and changes the
// state by what it issues, waits for, allocates or frees.
#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/warp/evaluate.h"
#include "analyzer/warp/events.h"
#include "analyzer/warp/machine.h"

namespace tmemlint::warp {

class ProtocolSteps {
public:
  // Operands, states and the steps that are reached go into `graph`.
  ProtocolSteps(const Setting& setting, Machine& machine, WarpGraph& graph);

  // Of the path that is being followed.
  Protocol state;
  uint32_t node = kNone;
  uint32_t block = 0;

  // Executes the step with a number: an event of the protocol, or what the machine does by itself.
  void run(uint32_t number);
  // Lanes leave the kernel at an instruction.
  void leave(uint32_t instruction, uint32_t lanes);

  // The events of a block, of the last time that it ran.
  std::vector<Event>& events(uint32_t of_block) { return events_[of_block]; }
  // All of them, by block.
  std::vector<Event> take_events();

private:
  Event& event(Event::Kind kind, uint32_t step, uint32_t lanes);
  // A step that stands for what the instruction does to registers of pending loads.
  void mark_registers(uint32_t n, const Step& step);
  void protocol_instruction(uint32_t n, const Step& step, const Meaning& m, Event::Kind kind);
  void mbarrier(uint32_t n, const Step& step, const Meaning& m, uint32_t lanes);
  void tcgen05(uint32_t n, const Step& step, const Meaning& m, uint32_t lanes);
  void issue_load(uint32_t n, const Step& step, const Value& address, uint32_t lanes);
  void alloc(uint32_t n, const Value& slot, const Value& columns, bool exclusive, uint32_t lanes);
  void dealloc(const Value& address);
  Value narrowed(const Value& value);
  // Changes what the warp holds.
  template <typename Change>
  void change_holdings(Change&& change) {
    Holdings holdings = graph_.protocols.holdings(state);
    change(holdings);
    state.holdings = graph_.protocols.number_of(holdings);
  }

  const Setting& setting_;
  const Program& program_;
  Terms& terms_;
  Machine& machine_;
  WarpGraph& graph_;
  std::vector<std::vector<Event>> events_;  // by block
};

}  // namespace tmemlint::warp
