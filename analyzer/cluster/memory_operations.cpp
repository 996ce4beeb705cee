#include "analyzer/cluster/memory_operations.h"

#include <algorithm>
#include <bit>

#include "analyzer/assumptions/assumptions.h"
#include "analyzer/cluster/operand_order.h"
#include "analyzer/kernel/layout.h"
#include "analyzer/value/unknowns.h"

namespace tmemlint::cluster {

using program::Arg;
using value::Uniformity;
using value::UnknownKind;
using value::Value;

namespace {

// A loop that acquires words of global memory as often as this is none that waits for something.
constexpr unsigned kMostWaitsForGlobal = assumptions::kWaitsForGlobalMemory;
constexpr unsigned kMostBytesOfValue = assumptions::kBytesOfAValue;

bool is_shared(const Value& address) {
  return address.constant() && kernel::window_of(address.number) == kernel::kSharedWindow;
}

}  // namespace

// Memory accesses of one step are one event.
WarpEvent MemoryOperations::tick_access() {
  WarpState& w = *current_;
  if (w.ticked_step != state_.steps + 1) {
    w.ticked_step = state_.steps + 1;
    step_knowledge_ = nullptr;
    w.knowledge.tick();
  }
  return {w.index, w.knowledge.now()};
}

// Lanes that run apart from others of their warp store for themselves.
WarpEvent MemoryOperations::tick_store() {
  const WarpEvent event = tick_access();
  WarpState& w = *current_;
  if (w.groups.size() > 1) w.knowledge.lanes().store_apart(event.event, w.groups.front().at.lanes);
  return event;
}

// A read of a word that holds, or held, the address that an alloc returned.
void MemoryOperations::note_slot_read(SharedWord& word) {
  const WarpEvent event = tick_access();
  const WarpState& w = *current_;
  scene_.log.count_decided();
  if (!w.knowledge.knows(word.writer.warp, word.writer.event)) {
    const WarpId writer = scene_.warp(word.writer.warp).id;
    SlotRace race;
    if (word.overwrote != kNoAllocation) {
      race.kind = SlotRace::Kind::kWriteBesideRead;
      race.use = {word.instruction, writer};
      race.alloc = state_.tensor_memory.allocation(word.overwrote).alloc.instruction;
      race.other = w.id;
      race.read = here();
    } else {
      race.use = {here(), w.id};
      race.alloc = word.instruction;
      race.other = writer;
    }
    scene_.log.add(race);
  }
  word.readers.push_back(event);
}

Value MemoryOperations::load_shared(uint64_t generic, unsigned bytes, bool polls) {
  const auto address = static_cast<uint32_t>(generic);
  std::vector<warp::Cell> cells;
  bool any = false;
  state_.words.each(address, bytes, [&](uint32_t at, SharedWord& word) {
    any = true;
    // A release and an acquire of one word order what lies around them (memory consistency model of the ISA).
    if (polls && word.knowledge != nullptr) current_->knowledge.learn(*word.knowledge);
    if (word.allocation != kNoAllocation || word.overwrote != kNoAllocation) note_slot_read(word);
    if (word.known) cells.push_back({at, static_cast<uint8_t>(word.bytes), word.value});
  });
  if (!cells.empty() && bytes <= kMostBytesOfValue) {
    warp::Memory memory;
    memory.replace(std::move(cells));
    if (std::optional<Value> v = memory.load(scene_.terms, address, bytes)) return *v;
  }
  return unknown_word(address, bytes, any);
}

Value MemoryOperations::unknown_word(uint32_t address, unsigned bytes, bool partly_known) {
  value::Terms& terms = scene_.terms;
  const unsigned width = std::min(64u, bytes * 8);
  if (partly_known) {
    return terms.opaque(value::site_of(UnknownKind::kRunPartial), (++state_.serial << 8) | bytes, Uniformity::kWarp, 0,
                        width);
  }
  if (const SharedWords::Copied copied = state_.words.copied(address, bytes); copied.serial != 0) {
    const uint64_t part = (copied.serial << 24) | (uint64_t{address - copied.begin} << 8) | bytes;
    return terms.opaque(value::site_of(UnknownKind::kRunCopied), part, Uniformity::kCta, 0, width);
  }
  state_.words.note_early_read(address, {{current_->index, current_->knowledge.now()}, {here(), current_->id}});
  return terms.opaque(value::site_of(UnknownKind::kRunUnwritten), (uint64_t{address} << 8) | bytes, Uniformity::kCta, 0,
                      width);
}

// A write over the addresses of live allocations, which warps that have not read them yet cannot read any more. Gives
// the last one of these allocations.
uint32_t MemoryOperations::note_slot_write(uint32_t address, unsigned bytes) {
  const WarpState& w = *current_;
  uint32_t overwrote = kNoAllocation;
  state_.words.each(address, bytes, [&](uint32_t, const SharedWord& word) {
    const uint32_t of = word.allocation != kNoAllocation ? word.allocation : word.overwrote;
    if (of == kNoAllocation || !state_.tensor_memory.allocation(of).live) return;
    overwrote = of;
    SlotRace race;
    race.use = {here(), w.id};
    race.alloc = state_.tensor_memory.allocation(of).alloc.instruction;
    if (word.allocation != kNoAllocation && !w.knowledge.knows(word.writer.warp, word.writer.event)) {
      race.kind = SlotRace::Kind::kWriteBesideAlloc;
      race.other = scene_.warp(word.writer.warp).id;
      scene_.log.add(race);
      return;
    }
    const auto reader = std::find_if(word.readers.begin(), word.readers.end(),
                                     [&](const WarpEvent& r) { return !w.knowledge.knows(r.warp, r.event); });
    if (reader == word.readers.end()) return;
    race.kind = SlotRace::Kind::kWriteBesideRead;
    race.other = scene_.warp(reader->warp).id;
    scene_.log.add(race);
  });
  return overwrote;
}

void MemoryOperations::store_shared(uint64_t generic, unsigned bytes, const Value* value, uint32_t lanes) {
  const auto address = static_cast<uint32_t>(generic);
  SharedWord word;
  word.bytes = bytes;
  word.writer = tick_store();
  word.instruction = here();
  state_.changes.word = true;
  ++state_.writes;
  word.overwrote = note_slot_write(address, bytes);
  if (value != nullptr && bytes <= kMostBytesOfValue) {
    word.known = true;
    word.value = *value;
    if (value->constant()) word.value.number = value::truncate(value->number, bytes * 8);
  }
  const WarpEvent event = word.writer;
  // A value that is not known need not be kept, unless it overwrites a word: a read of a place where nothing is kept
  // gives an unknown too.
  if (word.known || state_.words.any_near(address, address + bytes)) {
    if (step_knowledge_ == nullptr) step_knowledge_ = std::make_shared<Knowledge>(current_->knowledge.hand_on());
    word.knowledge = step_knowledge_;
    state_.words.put(address, std::move(word));
  }
  state_.stored.set(address, bytes, LastStore::by_lanes(event, here(), lanes));
  overwrite_operands(scene_, {*current_, here()}, address, address + bytes);
}

// Each lane stores another unknown at another place: data. Mostly no word is near that it might overwrite.
void MemoryOperations::store_data(const Value& where, uint32_t lanes, unsigned bytes) {
  const auto span = scene_.terms.span_of(where, lanes);
  const auto low = static_cast<uint32_t>(span.first);
  const auto high = static_cast<uint32_t>(span.second);
  const value::Lanes& offsets = scene_.terms.offsets(where);
  if (state_.words.any_near(low, high + bytes)) {
    for (uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
      const uint64_t address = where.number + offsets[static_cast<size_t>(std::countr_zero(rest))];
      store_shared(static_cast<uint32_t>(address), bytes, nullptr, rest & (~rest + 1));
    }
    return;
  }
  const WarpEvent event = tick_store();
  state_.changes.word = true;
  ++state_.writes;
  constexpr uint32_t kBytes = LastStores::kBytes;
  const auto number = static_cast<uint32_t>(where.number);
  const LastStore store = LastStore::by_lanes(event, here(), lanes);
  const std::span<const uint32_t> blocks =
      scene_.facts.store_blocks.of(offsets, where.table, lanes, number % kBytes, bytes);
  for (uint32_t block : blocks) state_.stored.set_block(number / kBytes + block, store);
  if (!state_.operand_reads.any_in(low, high + bytes)) return;
  for (uint32_t block : blocks) {
    const uint32_t begin = (number / kBytes + block) * kBytes;
    overwrite_operands(scene_, {*current_, here()}, begin, begin + kBytes);
  }
}

Value MemoryOperations::load_global(const Value& address, unsigned index, unsigned width) {
  Value at = address;
  at.number += uint64_t{index} * width / 8;
  return state_.globals.read(scene_.terms, state_.decisions.model, at, width, current_->index, state_.serial);
}

// --- polls and atomics ---

// What a value is in lanes that all have the same; itself where they do not.
Value MemoryOperations::of_lanes(const Value& value, uint32_t lanes) const {
  if (value.constant() || !scene_.terms.uniform(value, lanes)) return value;
  return scene_.terms.lane(value, static_cast<unsigned>(std::countr_zero(lanes)));
}

Outcome MemoryOperations::poll(Execution& e) {
  const uint32_t at = scene_.addresses_of(e.step).second;
  if (at == kNone) return Done{};
  WarpState& w = e.warp;
  const Value address = of_lanes(e.machine.generic_address(*scene_.arg(e.step, at), e.meaning.space), e.machine.active);
  if (!is_shared(address)) {
    w.reached_global = true;
    return Done{};
  }
  const SharedWord* word = state_.words.find(static_cast<uint32_t>(address.number));
  const bool again = w.polled == std::pair{e.number, state_.writes};
  if ((again || (word != nullptr && word->atomic)) && !w.poll_released) return WaitForWord{};
  w.poll_released = false;
  w.polled = {e.number, state_.writes};
  return Done{};
}

Outcome MemoryOperations::atomic(Execution& e) {
  const warp::Truth guard = e.machine.guard_of(e.step);
  e.lanes = guard.yes | guard.unknown;
  if (e.lanes == 0) return Done{};
  const bool certain = guard.unknown == 0;
  const uint32_t at = scene_.addresses_of(e.step).first;
  if (at == kNone) {
    e.machine.execute(e.step, e.number);
    return Done{};
  }
  WarpState& w = e.warp;
  const bool reads = at != 0 && scene_.arg(e.step, 0)->kind == Arg::Kind::kRegister;
  const Value address = of_lanes(e.machine.generic_address(*scene_.arg(e.step, at), e.meaning.space), e.lanes);
  std::optional<Value> result;
  if (is_shared(address)) {
    // An atomic in a loop waits as a load that polls does: it goes on once, and again when somebody wrote meanwhile.
    if (reads && w.polled == std::pair{e.number, state_.writes} && !w.poll_released) return WaitForWord{};
    w.poll_released = false;
    result = change_shared(e, static_cast<uint32_t>(address.number), at + 1, reads, certain);
  } else {
    w.reached_global = true;
    result = change_global(e, address, at + 1, certain);
  }
  e.machine.execute(e.step, e.number);
  if (!reads) return Done{};
  if (result) e.machine.write(*scene_.arg(e.step, 0), *result, e.lanes, e.number);
  if (!result || !result->known()) note_unfollowed(w);
  return Done{};
}

// An atomic gave a result that is not known. Two warps get different results from one word, but two unknowns do not say
// so: what a second warp does with such a result may contradict what the first one does.
void MemoryOperations::note_unfollowed(const WarpState& w) {
  state_.unfollowed.insert(w.index);
  if (state_.unfollowed.size() < 2) return;
  state_.guesses_contradict = true;
  scene_.log.set_doubtful();
}

std::optional<Value> MemoryOperations::change_shared(Execution& e, uint32_t address, unsigned operand, bool reads,
                                                     bool certain) {
  WarpState& w = e.warp;
  const WarpEvent event = tick_access();
  SharedWord& word = state_.words[address];
  if (reads && word.knowledge != nullptr) w.knowledge.learn(*word.knowledge);
  const bool plain = word.known && word.bytes * 8 == e.meaning.access_width && word.allocation == kNoAllocation;
  const Value before = word.value;
  std::optional<Value> result;
  if (plain && certain) result = change(e, operand, word.value);
  // A word that is not known may be another one each time that it is polled: the result is a new unknown.
  if (!word.value.known()) result.reset();
  auto joined = std::make_shared<Knowledge>(w.knowledge.hand_on());
  if (word.knowledge != nullptr) joined->join(*word.knowledge);
  word.knowledge = std::move(joined);
  word.known = result.has_value();
  word.atomic = !word.known;
  word.writer = event;
  if (!word.known || word.value != before) {
    ++state_.writes;
    state_.changes.word = true;
  }
  w.polled = {e.number, state_.writes};
  return result;
}

std::optional<Value> MemoryOperations::change_global(Execution& e, const Value& address, unsigned operand,
                                                     bool certain) {
  const unsigned width = e.meaning.access_width;
  if (!certain || address.base == 0 || !scene_.terms.uniform(address, e.lanes) || width > 64) return std::nullopt;
  Value& word = state_.globals.read(scene_.terms, state_.decisions.model, address, width, e.warp.index, state_.serial);
  std::optional<Value> result = change(e, operand, word);
  if (!result) word = e.machine.unknown(e.number, 0, Uniformity::kCta, width);
  return result;
}

std::optional<Value> MemoryOperations::change(Execution& e, unsigned operand, Value& word) {
  return AtomicChange(scene_, e, operand).apply(word);
}

Outcome MemoryOperations::order_globally(WarpState& w, const GlobalOrder& order) {
  const bool acquires = order.acquires || w.reached_global;
  if (!order.releases && !acquires) return Done{};
  if (!state_.released_globally) state_.released_globally = Knowledge(state_.warps.size());
  if (order.releases) state_.released_globally->join(w.knowledge.hand_on());
  // Lanes that branched apart do not wait: the others of their warp go on to where all meet. What they would have
  // learned by waiting is not known then.
  const bool alone = w.groups.size() == 1;
  if (acquires && !alone) {
    state_.guesses_contradict = true;
    scene_.log.set_doubtful();
  }
  if (acquires && alone && !w.poll_released) {
    if (state_.polls_released < kMostWaitsForGlobal) return WaitForWord{};
    scene_.terms.uses().count(assumptions::Id::kWaitsForGlobalMemory);
  }
  w.poll_released = false;
  w.reached_global = false;
  if (acquires) {
    scene_.terms.uses().count(assumptions::Id::kReleaseOfAnyGlobalWord);
    w.knowledge.learn(*state_.released_globally);
  }
  return Done{};
}

}  // namespace tmemlint::cluster
