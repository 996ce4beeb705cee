// tmem-asm-volatile: seen in CUDA sources only, by analyzer/cuda/source_checks.cpp.
#include "rules/context.h"

namespace tmemlint::rules {

namespace {

void nothing_in_ptx_shows_asm_volatile(Context&) {}

}  // namespace

extern const Rule kAsmVolatile;
const Rule kAsmVolatile = {
    "tmem-asm-volatile",
    report::Level::kWarning,
    "A tcgen05 asm statement is not volatile: the compiler may remove it, merge it with another or move it.",
    "Write asm volatile.",
    nothing_in_ptx_shows_asm_volatile,
    /*source_only=*/true,
};

}  // namespace tmemlint::rules
