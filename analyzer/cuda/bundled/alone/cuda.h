// The little of the driver interface that kernels name in their parameters, when no toolkit is installed.
#pragma once
#pragma clang system_header
struct alignas(64) CUtensorMap {
  unsigned long long opaque[16];
};
typedef struct CUtensorMap CUtensorMap;
typedef int CUresult;
