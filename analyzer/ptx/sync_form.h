// The spellings of the barriers around tcgen05: mbarrier, bar and barrier, barrier.cluster, elect, setmaxnreg, fences
// and bulk copies, as far as the protocol reads them. Unlike the tcgen05 table this one only says what is wrong: a
// spelling that it does not know is legal.
#pragma once

#include <vector>

#include "analyzer/ptx/tcgen05.h"

namespace tmemlint::ptx {

std::vector<FormProblem> check_sync_form(const Module& module, const Function& function,
                                         const Instruction& instruction);

}  // namespace tmemlint::ptx
