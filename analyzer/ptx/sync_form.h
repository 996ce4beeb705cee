// The spellings of the barriers around tcgen05: mbarrier, bar and barrier, barrier.cluster, elect, setmaxnreg, fences
// and bulk copies, as far as the protocol reads them. Of the mbarriers, the barriers and the fences of the protocol the
// whole grammar is held; of the others only what is known to be wrong, and a spelling that is not known is legal.
#pragma once

#include <vector>

#include "analyzer/ptx/tcgen05.h"

namespace tmemlint::ptx {

// Whether there is anything to say about instructions with this opcode.
bool has_sync_form(const Opcode& opcode);

std::vector<FormProblem> check_sync_form(const Module& module, const Function& function,
                                         const Instruction& instruction);

}  // namespace tmemlint::ptx
