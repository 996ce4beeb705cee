#include "rules/rule.h"

namespace tmemlint::rules {

extern const Rule kAllocAfterRelinquish;
extern const Rule kAllocCapacity;
extern const Rule kAllocGrowing;
extern const Rule kAllocSize;
extern const Rule kAsmMemory;
extern const Rule kAsmVolatile;
extern const Rule kAsyncOverlap;
extern const Rule kClusterExit;
extern const Rule kColumnBounds;
extern const Rule kCommitUnwaited;
extern const Rule kCtaGroup;
extern const Rule kDeallocMismatch;
extern const Rule kDeallocRace;
extern const Rule kDescriptor;
extern const Rule kDoubleDealloc;
extern const Rule kExitInFlight;
extern const Rule kForeignDealloc;
extern const Rule kHandoffRace;
extern const Rule kInstructionForm;
extern const Rule kLaneWindow;
extern const Rule kMbarrierBytes;
extern const Rule kMbarrierCount;
extern const Rule kMbarrierLifetime;
extern const Rule kMbarrierPhase;
extern const Rule kMissingDealloc;
extern const Rule kMissingFence;
extern const Rule kMissingRelinquish;
extern const Rule kMissingWaitLd;
extern const Rule kMissingWaitSt;
extern const Rule kMmaCompletion;
extern const Rule kOneWarp;
extern const Rule kOperandRace;
extern const Rule kPairAlloc;
extern const Rule kPairAllocJoin;
extern const Rule kPairCluster;
extern const Rule kPairDeallocJoin;
extern const Rule kPairLeader;
extern const Rule kPairMask;
extern const Rule kProxyFence;
extern const Rule kRemoteArriveScope;
extern const Rule kSingleThread;
extern const Rule kSlotRace;
extern const Rule kTarget;
extern const Rule kUninitialized;
extern const Rule kUseAfterDealloc;
extern const Rule kUseUnallocated;
extern const Rule kWarpCollective;

const std::vector<const Rule*>& registry() {
  static const std::vector<const Rule*> rules = {
      &kAllocAfterRelinquish,
      &kAllocCapacity,
      &kAllocGrowing,
      &kAllocSize,
      &kAsmMemory,
      &kAsmVolatile,
      &kAsyncOverlap,
      &kClusterExit,
      &kColumnBounds,
      &kCommitUnwaited,
      &kCtaGroup,
      &kDeallocMismatch,
      &kDeallocRace,
      &kDescriptor,
      &kDoubleDealloc,
      &kExitInFlight,
      &kForeignDealloc,
      &kHandoffRace,
      &kInstructionForm,
      &kLaneWindow,
      &kMbarrierBytes,
      &kMbarrierCount,
      &kMbarrierLifetime,
      &kMbarrierPhase,
      &kMissingDealloc,
      &kMissingFence,
      &kMissingRelinquish,
      &kMissingWaitLd,
      &kMissingWaitSt,
      &kMmaCompletion,
      &kOneWarp,
      &kOperandRace,
      &kPairAlloc,
      &kPairAllocJoin,
      &kPairCluster,
      &kPairDeallocJoin,
      &kPairLeader,
      &kPairMask,
      &kProxyFence,
      &kRemoteArriveScope,
      &kSingleThread,
      &kSlotRace,
      &kTarget,
      &kUninitialized,
      &kUseAfterDealloc,
      &kUseUnallocated,
      &kWarpCollective,
  };
  return rules;
}

const Rule* find(std::string_view id) {
  for (const Rule* rule : registry()) {
    if (rule->id == id) return rule;
  }
  return nullptr;
}

}  // namespace tmemlint::rules
