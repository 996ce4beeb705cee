// Loading the Clang module.
#pragma once

#include <string>

#include "analyzer/cuda/translation.h"

namespace tmemlint::cuda {

// The module's function, loaded on the first call; null when there is no module that can be loaded here, and `problem`
// says why and what to install.
TranslateFunction* clang_front_end(std::string& problem);

}  // namespace tmemlint::cuda
