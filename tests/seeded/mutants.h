// Breaks one protocol step of a correct kernel, at every place where that applies.
//
// A mutant is the original text with a few edits that never add or remove a line: what goes is blanked, what comes is
// written into an existing line. So every line number means the same instruction in the kernel and in its mutants.
#pragma once

#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/ptx/module.h"

namespace tmemlint::seeded {

enum class Kind : uint8_t {
  kDropWaitLd,
  kDropWaitSt,
  kDropBarrier,
  kDropMbarrierWait,
  kDropClusterBarrier,
  kDropDealloc,
  kDropCommit,
  kDropArrive,
  kEarlyRelease,
  kAllocNotPower,
  kDeallocOtherSize,
  kAllocTooSmall,
  kOtherCtaGroup,
  kOtherLane,
  kOtherColumn,
  kLaneGuard,
  kEveryWarp,
  kFreeEarly,
  kAllocAfterRelinquish,
  kDoubleDealloc,
  kEveryLane,
  kDropProxyFence,
  kOtherCount,
  kGrowingAlloc,
  kIllegalShape,
  kOtherShape,
  kNoFirstWrite,
  kPairCluster,
  kPairMask,
  kPairLeader,
  kDropFence,
};

struct KindInfo {
  Kind kind;
  std::string_view name;
  std::string_view what;                   // what is broken
  std::vector<std::string_view> accepted;  // rules that a person would accept; the first is the one of the kind
  std::string_view why;                    // why the others are accepted too
};
const std::vector<KindInfo>& kinds();
const KindInfo& info(Kind kind);

// Why a mutant is not seeded.
enum class Verdict : uint8_t {
  kSeeded,
  kAllowed,  // the ISA allows what the mutant does
  kOutside,  // a fault, but of something that no rule speaks of (rules.md): plain shared memory, mbarrier set-up, hangs
  kNotMade,  // the change cannot be made by machine here
};

struct Edit {
  ptx::Span span;
  std::string text;
};

struct Mutant {
  Kind kind;
  Verdict verdict = Verdict::kSeeded;
  std::string reason;  // of a verdict other than kSeeded
  std::string kernel;
  uint32_t line = 0;                  // of the instruction that was changed
  std::string what;                   // "line 72: tcgen05.wait::ld dropped"
  std::vector<Edit> edits;            // in source order, not overlapping
  std::vector<std::string> accepted;  // empty: those of the kind
  std::set<uint32_t> lines;           // the changed lines
  std::set<uint32_t> ends;            // the other ends: lines of what the changed instruction worked on or with
};

// All mutants of all kernels of the module, those that are not seeded too.
std::vector<Mutant> mutants(const ptx::Module& module);

std::string mutated(std::string_view text, const Mutant& mutant);
std::vector<std::string> accepted_rules(const Mutant& mutant);
std::string_view verdict_name(Verdict verdict);

}  // namespace tmemlint::seeded
