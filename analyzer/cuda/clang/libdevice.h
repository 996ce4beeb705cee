// NVIDIA's libdevice: the functions behind min, __popc, __byte_perm, sinf and the like in Clang's CUDA headers. Its
// bitcode comes with a toolkit only and is not linked in; here its functions are given bodies.
#pragma once

namespace llvm {
class Module;
}

namespace tmemlint::cuda {

// What LLVM can say exactly is said: integers, bits, conversions, rounding. What is left computes a number from numbers
// that nobody can foresee: each of these becomes an unknown function of its arguments, another one for each name.
// Declarations that fit no function of libdevice are left as they are.
void define_libdevice(llvm::Module& module);

}  // namespace tmemlint::cuda
