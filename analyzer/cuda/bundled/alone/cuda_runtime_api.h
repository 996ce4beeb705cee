// The toolkit's header of this name, when none is installed: tmemlint_cuda.h is already there.
#pragma once
#pragma clang system_header
