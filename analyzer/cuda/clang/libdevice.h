// NVIDIA's libdevice: the functions behind min, __popc, __byte_perm, sinf and the like in Clang's CUDA headers. Its
// bitcode comes with a toolkit only and is not linked in; here its functions are given bodies.
#pragma once

namespace llvm {
class Module;
}

namespace tmemlint::cuda {

// Functions on integers and bits, conversions and rounding get an exact body. Others, such as sinf, are taken for
// unknown functions of their arguments, a different one for each name: two results are known to be equal if name and
// arguments are. A declaration whose name or types fit no function of libdevice is left without a body.
void define_libdevice(llvm::Module& module);

}  // namespace tmemlint::cuda
