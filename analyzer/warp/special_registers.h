// What the special registers (%tid, %ctaid, %laneid, …) hold in the lanes of one warp.
#pragma once

#include <cstdint>
#include <string_view>

#include "analyzer/kernel/launch.h"
#include "analyzer/program/special.h"
#include "analyzer/value/value.h"

namespace tmemlint::warp {

// `rank`: of the CTA in its cluster; `warp`: in the CTA. `name`: as the kernel writes it; it names what is not known.
value::Value special_register(value::Terms& terms, const kernel::Launch& launch, uint32_t rank, uint32_t warp,
                              const program::SpecialRegister& which, std::string_view name);

}  // namespace tmemlint::warp
