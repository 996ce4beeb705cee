// What the kinds of mutants ask about a kernel: which barriers join the same warps, what an arrival hands over, and
// who reads an allocation's slot.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/seeded/kernel.h"

namespace tmemlint::seeded {

bool contains(const std::vector<uint32_t>& list, uint32_t i);

// Whether `i` joins the warps that `barrier` joins, or more.
bool joins_like(const Kernel& k, uint32_t i, uint32_t barrier);
// An arrive that lets other warps use columns: an ld or st of this warp comes before it with no other hand-off
// between.
bool releases(const Kernel& k, uint32_t arrive);
// The loads and stores that it lets go.
std::vector<uint32_t> released_by(const Kernel& k, uint32_t arrive);
// Whether a load from shared memory reads the address that `alloc` wrote.
bool is_slot_read(const Kernel& k, uint32_t load, uint32_t alloc);
// Whether a store or another alloc may write where `alloc` wrote its address.
bool overwrites_slot(const Kernel& k, uint32_t store, uint32_t alloc);
// Executed once, and with parity 1 on a barrier that is in its first phase: it returns at once.
bool passes_at_once(const Kernel& k, uint32_t wait);
// An arrival that says "free": the other side waits for it only before it uses the resource again. Behind the loop
// that does so, nobody waits for it. It is told by its waits: in their first round they return at once (parity 1, or
// a parity that starts there), or are skipped.
bool is_last_release(const Kernel& k, uint32_t i);
// The registers that an instruction and its guard read.
std::vector<uint32_t> needs(const Kernel& k, uint32_t i, const Kernel::Guard& guard);

}  // namespace tmemlint::seeded
