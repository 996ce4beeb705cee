#include "analyzer/cluster/operand_order.h"

#include <algorithm>
#include <string>

#include "analyzer/assumptions/assumptions.h"

namespace tmemlint::cluster {

namespace {

// One operation that reads operands, as the thread that issues it sees their writers.
class Reader {
public:
  Reader(Scene& scene, const Execution& e) : scene_(scene), state_(scene.state), e_(e) {}

  // What brought the first bytes, and where ordinary stores did, the other rows.
  void read(uint32_t address, const ptx::MatrixRows& rows) {
    const LastStore* first = state_.stored.find(address);
    if (first == nullptr || state_.stored.beyond_descriptors()) return;
    scene_.terms.uses().count(assumptions::Id::kFirstBytesOfAMatrix);
    if (first->is_copy) {
      read_copied(*first);
      return;
    }
    LastStore seen = *first;
    if (!read_stored(address, *first, rows.pitch)) return;
    for (uint32_t n = 0; n < rows.count; ++n) {
      const uint32_t row = in_rank(rows.begin_of(n), rank_of(address));
      const LastStore* last = state_.stored.find(row);
      if (last == nullptr || last->is_copy || (last->warp == seen.warp && last->event == seen.event)) continue;
      seen = *last;
      if (!read_stored(row, *last, rows.pitch)) return;
    }
  }

private:
  void read_copied(const LastStore& last) {
    const OperandCopy& copy = state_.copies[last.copy()];
    if (!copy.traced) return;
    scene_.log.count_decided();
    const bool seen = std::any_of(copy.observers.begin(), copy.observers.end(),
                                  [&](const WarpEvent& o) { return e_.warp.knowledge.knows(o.warp, o.event); });
    if (seen) return;
    OperandRace race;
    race.kind = OperandRace::Kind::kCopyUnseen;
    race.read = e_.site();
    race.write = copy.site;
    scene_.log.add(race);
  }

  // False where something is wrong, and was said. `pitch`: of the rows of the matrix.
  bool read_stored(uint32_t address, const LastStore& last, uint32_t pitch) {
    scene_.log.count_decided();
    OperandRace race;
    race.kind = OperandRace::Kind::kStoreUnseen;
    race.read = e_.site();
    race.write = {last.instruction, scene_.warp(last.warp).id};
    const bool ordered = e_.warp.knowledge.knows(last.warp, last.event);
    const LaneOrder::Apart* apart = ordered ? scene_.warp(last.warp).knowledge.lanes().apart(last.event) : nullptr;
    const bool held = apart == nullptr || stands_for(*apart, last.warp);
    if (ordered && held && is_fenced(last)) return true;
    const WarpEvent store{last.warp, last.event};
    // A copy writes rows as a whole: the operands that begin within one, at a later K, are of the copy at its begin.
    const uint32_t row = pitch == 0 ? address : address / pitch * pitch;
    if (state_.copies.any_unsized(row, address, store)) return false;
    if (state_.copies.any_unsized(in_rank(0, rank_of(address)), address, store)) {
      scene_.terms.uses().count(assumptions::Id::kBytesOfATensorCopy);
      scene_.log.add_uncertain(e_.instruction(),
                               "whether a copy whose size is in a tensor map wrote over the stores of what this reads");
      return false;
    }
    if (!held) {
      race.kind = OperandRace::Kind::kStoreNotHeld;
      race.release = apart->missed_by;
    }
    if (!ordered || !held) {
      scene_.log.add(race);
    } else if (!is_fence_forgotten(last)) {
      scene_.log.add(UnfencedOperand{e_.site(), race.write});
    }
    return false;
  }

  // Whether what this thread knows of a warp stands for stores that some of its lanes made apart from the others.
  bool stands_for(const LaneOrder::Apart& apart, uint32_t warp) const {
    if (warp == e_.warp.index && (apart.lanes & e_.lanes) != 0) return true;
    if (apart.covered != 0) return e_.warp.knowledge.knows(warp, apart.covered);
    // Nothing that it arrived at missed them: the thread has its knowledge from something else.
    return apart.missed_by == kNone && warp != e_.warp.index;
  }

  // Whether a proxy fence that this thread knows of came after a store.
  bool is_fenced(const LastStore& last) const {
    return std::any_of(state_.warps.begin(), state_.warps.end(), [&](const WarpState& u) {
      return std::any_of(u.proxy_fences.begin(), u.proxy_fences.end(), [&](const ProxyFence& f) {
        return e_.warp.knowledge.knows(u.index, f.event) && f.covers(u.index, last.warp, last.event, last.lanes);
      });
    });
  }

  // A fence that is not remembered any more knew no more than the first one that is.
  bool is_fence_forgotten(const LastStore& last) const {
    const bool forgotten = std::any_of(state_.warps.begin(), state_.warps.end(), [&](const WarpState& u) {
      return u.forgotten_fence != 0 && e_.warp.knowledge.knows(u.index, u.forgotten_fence) &&
             u.proxy_fences.front().covers(u.index, last.warp, last.event, last.lanes);
    });
    if (!forgotten) return false;
    scene_.terms.uses().count(assumptions::Id::kProxyFences);
    scene_.log.add_uncertain(e_.instruction(),
                             "whether a proxy fence lies behind the stores of what this reads: only the last " +
                                 std::to_string(assumptions::kProxyFences) + " of each warp are remembered");
    return true;
  }

  Scene& scene_;
  RunState& state_;
  const Execution& e_;
};

}  // namespace

void overwrite_operands(Scene& scene, const OperandWriter& writer, uint32_t begin, uint32_t end) {
  RunState& state = scene.state;
  if (!state.operand_reads.any_in(begin, end)) return;
  const Clock& known = writer.warp.knowledge.any();
  state.operand_reads.overwrite(begin, end, [&](const OperandReads::Read& read) {
    const Operation& operation = state.tensor_memory.operation(read.operation);
    scene.log.count_decided();
    if (operation.complete(known)) return;
    OperandRace race;
    race.read = {operation.instruction, operation.id};
    race.write = {writer.instruction, writer.warp.id};
    race.ordered = operation.warp == writer.warp.index || operation.issued(known);
    // Where nothing was before, this is what the operation should have waited for.
    if (!race.ordered && !read.saw_a_write)
      race.kind = writer.is_copy ? OperandRace::Kind::kCopyUnseen : OperandRace::Kind::kStoreUnseen;
    scene.log.add(race);
  });
}

void read_operand(Scene& scene, const Execution& e, uint32_t operation, uint32_t address, const ptx::MatrixRows& rows) {
  Reader(scene, e).read(address, rows);
  const TensorMemory& memory = scene.state.tensor_memory;
  const bool saw_a_write = scene.state.stored.find(address) != nullptr;
  scene.state.operand_reads.add(address, {operation, saw_a_write}, [&](uint32_t n) {
    const Operation& before = memory.operations()[n];
    return before.warp == e.warp.index && before.lane == memory.operations()[operation].lane;
  });
}

}  // namespace tmemlint::cluster
