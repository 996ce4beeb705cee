// Loads, stores and atomics of a joint run: the words of shared and global memory that the protocol depends on.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "analyzer/cluster/scene.h"

namespace tmemlint::cluster {

class MemoryOperations : public warp::CommonMemory {
public:
  explicit MemoryOperations(Scene& scene) : scene_(scene), state_(scene.state) {}

  // The warp whose steps ask for memory from now on.
  void set_current(WarpState& w) { current_ = &w; }

  // A load that polls a word goes on once; when it comes back to the same place and nobody wrote anything meanwhile, or
  // the word is changed by atomics, the warp waits: as long as another one can go on.
  Outcome poll(Execution& e);
  // An atomic on a word of shared or global memory. It is a read and a write that nothing comes between: each of those
  // that change a word by turns sees what the one before left there.
  Outcome atomic(Execution& e);
  // What a warp did to global memory that orders it with others, at the end of the block that did it. Which word that
  // is is not followed: who acquires one learns of every release before, and waits with it as long as others can go on,
  // as a poll does. That may take warps to be joined that are not, but never the other way round.
  Outcome order_globally(WarpState& w, const GlobalOrder& order);

  // CommonMemory
  value::Value load_shared(uint64_t generic, unsigned bytes, bool polls) override;
  void store_shared(uint64_t generic, unsigned bytes, const value::Value* value, uint32_t lanes) override;
  void store_data(const value::Value& where, uint32_t lanes, unsigned bytes) override;
  value::Value load_global(const value::Value& address, unsigned index, unsigned width) override;

private:
  uint32_t here() const { return scene_.instruction_of(current_->step); }
  WarpEvent tick_access();
  WarpEvent tick_store();
  void note_slot_read(SharedWord& word);
  uint32_t note_slot_write(uint32_t address, unsigned bytes);
  value::Value unknown_word(uint32_t address, unsigned bytes, bool partly_known);
  value::Value of_lanes(const value::Value& value, uint32_t lanes) const;
  std::optional<value::Value> change_shared(Execution& e, uint32_t address, unsigned operand, bool reads, bool certain);
  std::optional<value::Value> change_global(Execution& e, const value::Value& address, unsigned operand, bool certain);
  std::optional<value::Value> change(Execution& e, unsigned operand, value::Value& word);
  void note_unfollowed(const WarpState& w);

  Scene& scene_;
  RunState& state_;
  WarpState* current_ = nullptr;
  std::shared_ptr<const Knowledge> step_knowledge_;  // what the running step hands on, when something asked for it
};

// What an atomic makes of a word in the lanes that execute it, one after the other in their order; nothing, and the
// word unchanged, where that is not followed. Gives what the lanes read.
class AtomicChange {
public:
  // `operand`: the index of the first operand behind the address.
  AtomicChange(Scene& scene, Execution& e, unsigned operand) : scene_(scene), e_(e), operand_index_(operand) {}
  std::optional<value::Value> apply(value::Value& word);

private:
  std::optional<value::Value> add(value::Value& word);
  std::optional<value::Value> count(value::Value& word);
  std::optional<value::Value> compare_swap(value::Value& word);
  std::optional<value::Value> combine(value::Value& word, value::Op op, bool is_signed);
  std::optional<value::Value> read_by_lanes(const value::Value& old, const value::Value& word);

  Scene& scene_;
  Execution& e_;
  unsigned operand_index_;
  value::Value operand_;
  value::Value old_;
};

}  // namespace tmemlint::cluster
