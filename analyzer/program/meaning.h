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
  kGeneric,  // not modelled: an unknown that depends on the operands alone
  kFresh,    // not modelled: another unknown each time
  // Events of the protocol.
  kTcgen05,
  kMbarrier,
  kBarrier,  // bar, barrier: a named barrier of the CTA, or of the lanes of a warp
  kClusterBarrier,
  kProxyFence,
  kAsyncCopy,  // cp.async.bulk…, st.async, red.async: complete on an mbarrier
  kGridDependency,
  kReleaseFence,  // fence.mbarrier_init, and fences that release to the cluster or beyond
};

enum class MemorySpace : uint8_t { kGeneric, kShared, kLocal, kParam, kConst, kGlobal };

enum class MbarrierAction : uint8_t {
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
enum class BarrierAction : uint8_t { kSync, kArrive, kReduce, kWarp };
enum class ClusterBarrier : uint8_t { kArrive, kWait };

// What atom and red make of the word that they change.
enum class Atomic : uint8_t {
  kNone,  // no atomic at all
  kAdd,
  kExchange,
  kAnd,
  kOr,
  kXor,
  kMin,
  kMax,
  kCompareSwap,
  kIncrement,
  kDecrement,
  kOther,  // a change that is not followed: of floating-point numbers, of packed ones, of 128 bits
};

// Of kAsyncCopy: what of its spelling says how it completes.
struct Copy {
  bool on_mbarrier = false;     // completes on an mbarrier; else in a bulk group
  bool multicast = false;       // to several CTAs of the cluster
  bool to_all = false;          // a multicast to every CTA of the cluster, without a mask
  bool launch_control = false;  // clusterlaunchcontrol.try_cancel, which writes its answer
  uint8_t bytes = 0;            // that it writes; 0 where the spelling does not say
  bool sized = false;           // the operand behind its two addresses says how many
  // cp.async that is no bulk copy: completes in groups of its thread.
  enum class Group : uint8_t { kNone, kMember, kCommit, kWait, kWaitAll } group = Group::kNone;
};

// A field means something only for the actions that are named beside it.
struct Meaning {
  Action action = Action::kGeneric;
  uint8_t destinations = 1;   // how many leading top-level operands are written
  bool is_move_like = false;  // passes loaded data on without using it: mov, packing, integer cvt, shl/or

  // Arithmetic.
  Operation operation;  // kPure, kCompare, kMulAdd, kMove, kConvert, kReduce, kGeneric
  bool invert = false;  // kCompare: the result is the negation
  bool swap = false;    // kCompare: the operands are exchanged (gt, le)
  enum class Combine : uint8_t { kNone, kAnd, kOr, kXor } combine = Combine::kNone;  // kCompare: with a third operand
  enum class Half : uint8_t { kLow, kHigh, kWide } half = Half::kLow;                // kMulAdd: of the product
  bool adds = false;                                                                 // kMulAdd: mad
  uint8_t from_width = 32;                                                           // kConvert: bits of the source
  bool from_signed = false;
  bool commutative = false;     // kGeneric: its two sources may change places
  bool uniform_result = false;  // kFresh: the same in all lanes
  enum class Shuffle : uint8_t { kIdx, kUp, kDown, kBfly } shuffle = Shuffle::kIdx;
  enum class Vote : uint8_t { kAny, kAll, kUni, kBallot } vote = Vote::kAny;

  // Memory: kLoad, kStore, atomics, kMapRank.
  MemorySpace space = MemorySpace::kGeneric;
  uint8_t access_width = 32;  // bits of one element; of an atomic: of the word that it changes
  bool access_signed = false;
  uint8_t address_lanes = 0;  // stmatrix: how many lanes name a row of 16 bytes, the first ones (ISA 9.7.14.5.16)
  bool fresh = false;         // kLoad: volatile, acquire, relaxed: another value each time
  Atomic atomic = Atomic::kNone;

  // Order between threads (memory consistency model of the ISA). Reads are ld and atom, writes are st, red and atom; a
  // read that acquires and a write that releases say so themselves. A strong one (atom, red, relaxed, volatile) does
  // the same together with a memory fence beside it.
  bool reads_memory = false;
  bool writes_memory = false;
  bool strong = false;
  bool acquires = false;
  bool releases = false;
  bool memory_fence = false;
  bool of_own_inits = false;   // kReleaseFence: of the mbarriers that its thread initialised alone
  bool fences_shared = false;  // kProxyFence: covers shared memory

  // The protocol.
  ptx::Form form;  // kTcgen05
  MbarrierAction mbarrier = MbarrierAction::kInit;
  BarrierAction barrier = BarrierAction::kSync;
  ClusterBarrier cluster_barrier = ClusterBarrier::kArrive;
  Copy copy;
  bool relaxed = false;        // kMbarrier, kBarrier, kClusterBarrier: orders nothing by itself
  bool remote = false;         // kMbarrier: may be one of another CTA (shared::cluster)
  bool cluster_scope = false;  // kMbarrier: the scope that is written is the cluster
  bool no_increment = false;   // MbarrierAction::kAsyncArrive: the pending count is not raised for it (.noinc)
  bool aligned = false;        // all lanes of a warp execute it together
  bool joins_lanes = false;    // all lanes that execute it wait for each other: .sync, .aligned
  bool may_leave_cta = false;  // may name another CTA of the cluster, or be about all of them

  // A tcgen05.ld or ld.red, whose registers are written some time later.
  bool is_tensor_load() const { return action == Action::kTcgen05 && form.is_load(); }
};

// What warps do to Tensor Memory and to the barriers that order it.
bool is_protocol(Action action);
// Registers from registers, and from nothing else.
bool computes_registers(Action action);
// What is followed for its own sake, whether or not anything depends on its result.
bool is_event(const Meaning& m);

Meaning decode_meaning(const ptx::Opcode& opcode, uint32_t opcode_number);

}  // namespace tmemlint::program
