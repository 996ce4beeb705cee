// The kinds of unknowns: what makes a number unknown, and how an unknown is named.
//
// An unknown is a term of its own (TermKind::kOpaque, kJoin or kAllocation), and two unknowns are the same one exactly
// when they are of the same TermKind, width, site and part. The site says of which kind the unknown is, and which one
// of that kind; the part tells apart the several unknowns of one site, such as the results of one step in several
// warps. Sites are only made here, by site_of, so that no two kinds can share one.
#pragma once

#include <cstdint>

namespace tmemlint::value {

enum class UnknownKind : uint8_t {
  // --- opaque terms: one number that nothing tells ---
  kStep,           // what a step gives: a loaded word, an atomic's result. Number: the step (so a step is its own site)
  kParameter,      // a word of the kernel's parameters. Part: its offset and bytes
  kLaunch,         // where a CTA stands in the grid, and other special registers. Part: a hash of the register's name
  kLaunchSize,     // how many CTAs or clusters the grid has, of which there is at least one. Part: as of kLaunch
  kClock,          // a clock or another counter of the machine: not the same twice
  kUnwrittenWord,  // a word of shared memory that no thread is known to write. Number: the step that loads it
  kOneLane,        // what one lane holds of an unknown per lane. Number: the term; part: the lane
  kPendingAddress,  // where a tcgen05.ld or st of an earlier round of a loop went to. Number: the step
  kNeverWritten,    // a register that nothing writes. Number: the register; part: the warp and the CTA's rank
  kMixedRegister,   // a register that some lanes wrote and others did not. Number: the step and the warp
  kMixedWord,       // a word of memory that some lanes wrote and others did not. Number: the step
  // --- opaque terms of a joint run of all warps, which counts them: each execution of a step gives a new one ---
  kRunStep,       // what a step gives. Part: the count
  kRunPartial,    // a word of shared memory of which not all bytes are known. Part: the count, and the bytes
  kRunUnwritten,  // a word of shared memory that nothing has written yet in this run. Part: its address and bytes
  kRunCopied,   // a word of shared memory that an asynchronous copy wrote. Part: the copy, the offset in it, the bytes
  kRunGlobal,   // a word of global memory. Part: the count
  kRunReduced,  // what a barrier.red gives. Part: the barrier and its generation, the count
  kRunMixed,    // a register or word that some lanes wrote and others did not. Number: the count
  // --- allocations: the address that a tcgen05.alloc writes. Number: the step ---
  kAllocated,     // on the paths of one warp. Part: the warp and the CTA's rank
  kRunAllocated,  // in a joint run. Part: the count and the warp
  // --- joins: one of several numbers, which may be listed ---
  kMetPaths,     // a register or word where paths of one warp meet. Number: a hash of the block and the kind of path
  kMetCounters,  // the same of what counts up in a loop and stays small
  kRounds,       // how often a loop has been gone round. Number: the block at its head
  kNarrowed,     // what the facts of one path leave of another join. Number: the node of the warp graph
  kWrittenWord,  // a word of shared memory that one of several warps wrote. Number: the step that loads it
  kTableWord,    // a word of a table of constants. Number: the term of its address; part: a hash of what it may be
  kElement,      // an element of a small array at an index that is not known. Number: the step that loads it
};

// Bits of a site that are its number.
constexpr unsigned kSiteNumberBits = 56;
constexpr uint64_t kSiteNumbers = (uint64_t{1} << kSiteNumberBits) - 1;

// The site of an unknown. Of a number that does not fit, such as a hash, only the lower bits count.
constexpr uint64_t site_of(UnknownKind kind, uint64_t number = 0) {
  return (static_cast<uint64_t>(kind) << kSiteNumberBits) | (number & kSiteNumbers);
}
constexpr UnknownKind kind_of(uint64_t site) {
  return static_cast<UnknownKind>(site >> kSiteNumberBits);
}
constexpr uint64_t number_of(uint64_t site) {
  return site & kSiteNumbers;
}

}  // namespace tmemlint::value
