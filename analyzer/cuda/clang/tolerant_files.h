// A view of the file system in which nvcc's tolerance is repaired away before Clang reads a file.
#pragma once

#include <llvm/Support/VirtualFileSystem.h>

namespace tmemlint::cuda {

// nvcc takes asm operands without the comma between them: `: "r"(a)  "l"(b)`. Where a blank stands between them,
// it becomes the comma, so that no position changes. Files below `untouched` (the toolkit) are left alone.
llvm::IntrusiveRefCntPtr<llvm::vfs::FileSystem> tolerant(llvm::IntrusiveRefCntPtr<llvm::vfs::FileSystem> files,
                                                         std::string untouched);

}  // namespace tmemlint::cuda
