// What an opcode spelling does to registers and memory, decoded once per spelling.
//
// Everything that addresses, predicates, phases and joins are made of in real kernels is exact; any other opcode is
// kGeneric: its results are unknowns that depend on its operands (equal operands, equal results) and on nothing else,
// or kFresh where they depend on memory, time or other threads.
#pragma once

#include <cstdint>

#include "analyzer/ptx/module.h"
#include "analyzer/ptx/tcgen05.h"
#include "analyzer/value/value.h"

namespace tmemlint::program {

using value::Operation;

enum class Action : uint8_t {
  kNothing,  // no effect that matters (nanosleep, prefetch, …)
  kPure,     // destination = operation(sources); `invert` for the complement of a comparison
  kCompare,  // setp: one or two predicates, optionally combined with a third operand
  kMulAdd,   // mul/mad: lo, hi, wide
  kMove,     // mov, with vector operands it packs or unpacks
  kConvert,
  kToShared,    // cvta.to.shared
  kFromShared,  // cvta.shared
  kMapRank,     // mapa
  kShuffle,
  kVote,
  kElect,
  kReduce,  // redux: operation over the lanes
  kActiveMask,
  kLoad,
  kStore,
  kGeneric,
  kFresh,
  // Events of the protocol.
  kTcgen05,
  kMbarrier,
  kBarrier,
  kClusterBarrier,
  kProxyFence,
  kAsyncCopy,  // cp.async.bulk…, st.async, red.async: complete on an mbarrier
  kGridDependency,
};

enum class MemorySpace : uint8_t { kGeneric, kShared, kLocal, kParam, kConst, kGlobal };

enum class Mbarrier : uint8_t {
  kInit,
  kInvalidate,
  kArrive,
  kArriveDrop,
  kExpectTx,
  kArriveExpectTx,
  kCompleteTx,
  kTestWait,
  kTryWait,
  kPendingCount,
  kAsyncArrive,  // cp.async.mbarrier.arrive
};
enum class Barrier : uint8_t { kSync, kArrive, kReduce, kWarp };
enum class ClusterBarrier : uint8_t { kArrive, kWait };

struct Meaning {
  Action action = Action::kGeneric;
  Operation operation;
  bool invert = false;      // kPure/kCompare: result is the negation
  bool swap = false;        // comparison operands exchanged (gt, le)
  uint8_t from_width = 32;  // kConvert: source bits
  bool from_signed = false;
  enum class Combine : uint8_t { kNone, kAnd, kOr, kXor } combine = Combine::kNone;
  enum class Half : uint8_t { kLow, kHigh, kWide } half = Half::kLow;
  bool adds = false;  // kMulAdd: mad
  MemorySpace space = MemorySpace::kGeneric;
  uint8_t access_width = 32;  // bits of one element
  bool access_signed = false;
  // Of stmatrix: how many lanes name a row of 16 bytes, the first ones (ISA 9.7.14.5.16).
  uint8_t address_lanes = 0;
  bool fresh = false;  // kLoad: volatile, acquire, relaxed: another value each time
  enum class Shuffle : uint8_t { kIdx, kUp, kDown, kBfly } shuffle = Shuffle::kIdx;
  enum class Vote : uint8_t { kAny, kAll, kUni, kBallot } vote = Vote::kAny;
  Mbarrier mbarrier = Mbarrier::kInit;
  Barrier barrier = Barrier::kSync;
  ClusterBarrier cluster_barrier = ClusterBarrier::kArrive;
  bool relaxed = false;  // .relaxed arrive or wait
  bool remote = false;   // shared::cluster state space
  bool cluster_scope = false;
  ptx::Form form;               // kTcgen05
  uint8_t destinations = 1;     // how many leading top-level operands are written
  bool is_move_like = false;    // passes loaded data on without using it: mov, packing, integer cvt, shl/or
  bool atomic = false;          // atom, red: changes a word of memory
  bool uniform_result = false;  // kFresh: the same in all lanes
  bool commutative = false;     // kGeneric: its two sources may change places
};

// What warps do to Tensor Memory and to the barriers that order it.
inline bool is_protocol(Action action) {
  switch (action) {
    case Action::kTcgen05:
    case Action::kMbarrier:
    case Action::kBarrier:
    case Action::kClusterBarrier:
    case Action::kAsyncCopy:
      return true;
    default:
      return false;
  }
}

Meaning decode_meaning(const ptx::Opcode& opcode, uint32_t opcode_number);

}  // namespace tmemlint::program
