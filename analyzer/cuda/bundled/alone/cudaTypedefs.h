#pragma once
#pragma clang system_header
#include <cuda.h>
