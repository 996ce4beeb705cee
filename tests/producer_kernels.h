// Kernels with a producer and its consumers, for the tests that need more than the pieces of small_kernel.h: an mma
// with its commit, the loads of all warps, a ring of stages.
#pragma once

#include <string>

#include "tests/small_kernel.h"

namespace tmemlint::test {

// Warp 0 lets one thread issue an mma and commit it to `full`.
inline std::string produce(const std::string& barrier = "full") {
  return where("%w0", elected(mma("%ta", "%no", " // @mma") + commit(barrier, " // @commit")));
}
// All warps read the accumulator.
const std::string kConsume = load("%tw", " // @load") + kWaitLoads;

// A cluster of two CTAs.
inline Setting pair() {
  Setting s;
  s.cluster = 2;
  return s;
}

// A ring of two stages of 128 columns each, %n rounds: warp 4 fills them, warps 0 to 3 load from them. `wait_empty` is
// how warp 4 waits for a stage to be free, `arrive` how each of the others says that it is, and `count` the arrivals
// that this takes. %r31 is the mbarrier of the stage that is free, %r23 the parity that warp 4 has to wait for.
inline std::string ring(const std::string& wait_empty, const std::string& arrive, unsigned count = 4) {
  const std::string stage =
      "and.b32 %r21, %r20, 1;\nbfe.u32 %r22, %r20, 1, 1;\nxor.b32 %r23, %r22, 1;\nmov.u32 %r30, ring;\nmad.lo.u32 "
      "%r30, %r21, 8, %r30;\n"
      "add.u32 %r31, %r30, 16;\nmad.lo.u32 %r32, %r21, 128, %ta;\nmad.lo.u32 %r33, %r21, 128, %tw;\n";
  const std::string next = "add.u32 %r20, %r20, 1;\n";
  Setting s;
  s.threads = 160;
  const std::string inits =
      init("ring", 1) + init("ring+8", 1) + init("ring+16", count, " // @init") + init("ring+24", count);
  return ptx_kernel(
      begin(256, inits) + "mov.b32 %r20, 0;\n@%w4 bra FILL;\nEMPTY:\nsetp.ge.u32 %p1, %r20, %n;\n@%p1 bra OUT;\n" +
          stage + wait("%r30", "%r22", " // @full") + load("%r33", " // @load") + kWaitLoads +
          "tcgen05.fence::before_thread_sync;\n" + elected(arrive) + next +
          "bra EMPTY;\nFILL:\nelect.sync _|%elected, 0xffffffff;\n@!%elected bra OUT;\nMORE:\nsetp.ge.u32 "
          "%p1, %r20, %n;\n@%p1 bra OUT;\n" +
          stage + wait_empty + mma("%r32", "%no", " // @mma") + commit("%r30") + next +
          "bra MORE;\nOUT:\nbar.warp.sync 0xffffffff;\n" + end(256),
      s);
}

// An arrive for `ring`, one thread for its warp.
const std::string kArrive = "mbarrier.arrive.shared::cta.b64 _, [%r31];\n";

}  // namespace tmemlint::test
