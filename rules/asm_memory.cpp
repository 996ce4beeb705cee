// tmem-asm-memory: seen in CUDA sources only, by analyzer/cuda/source_checks.cpp.
#include "rules/context.h"

namespace tmemlint::rules {

namespace {

void nothing_in_ptx_shows_asm_memory(Context&) {}

}  // namespace

extern const Rule kAsmMemory;
const Rule kAsmMemory = {
    "tmem-asm-memory",
    report::Level::kWarning,
    "A tcgen05 asm statement touches memory behind the compiler's back, and nothing keeps ordinary accesses in order "
    "with it.",
    "Add \"memory\" to the clobbers of the asm statement.",
    nothing_in_ptx_shows_asm_memory,
    /*source_only=*/true,
};

}  // namespace tmemlint::rules
