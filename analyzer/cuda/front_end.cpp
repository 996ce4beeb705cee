#include "analyzer/cuda/front_end.h"

#include <dlfcn.h>

#include <filesystem>

namespace tmemlint::cuda {

TranslateFunction* clang_front_end(std::string& problem) {
  static constexpr const char* kModule = "tmemlint_clang.so";
  static std::string why;
  static TranslateFunction* const function = []() -> TranslateFunction* {
    std::error_code error;
    const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
    const std::filesystem::path folder = program.parent_path();
    for (const std::filesystem::path& path : {folder / kModule, folder / "../lib/tmemlint" / kModule}) {
      if (!std::filesystem::exists(path, error)) continue;
      void* module = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
      if (module == nullptr) {
        why = std::string("the Clang front end cannot be loaded: ") + ::dlerror();
        return nullptr;
      }
      if (auto* found = reinterpret_cast<TranslateFunction*>(::dlsym(module, "tmemlint_translate"))) return found;
      why = "the Clang front end is not of this version of tmemlint";
      return nullptr;
    }
    why = std::string("the Clang front end is missing: ") + kModule + " is neither in " + folder.string() + " nor in " +
          (folder.parent_path() / "lib/tmemlint").string() +
          "; keep it beside the program, or, if it was built without it, install libclang-22-dev, llvm-22-dev and "
          "clang-22 (Debian) and build again (scripts/tmemlint does both)";
    return nullptr;
  }();
  if (function == nullptr) problem = why;
  return function;
}

}  // namespace tmemlint::cuda
