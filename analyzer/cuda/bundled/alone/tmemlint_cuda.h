// What a kernel needs of CUDA when no toolkit is installed: attributes, built-in variables and the everyday device
// functions. Not a replacement of the toolkit's headers; sources that use CUDA's libraries need those.
#pragma once
#pragma clang system_header

#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define __host__ __attribute__((host))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __managed__ __attribute__((managed))
#define __forceinline__ __inline__ __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
#define __cluster_dims__(...) __attribute__((cluster_dims(__VA_ARGS__)))
#define __maxnreg__(...)
#define __grid_constant__ __attribute__((grid_constant))
#define __align__(n) __attribute__((aligned(n)))
#define __builtin_align__(n) __attribute__((aligned(n)))
#define __CUDACC__ 1

#include <__clang_cuda_builtin_vars.h>

typedef decltype(sizeof(0)) tmemlint_size_t;
#define TMEMLINT_DEVICE static __device__ __forceinline__

struct char2 {
  signed char x, y;
};
struct uchar2 {
  unsigned char x, y;
};
struct char4 {
  signed char x, y, z, w;
};
struct uchar4 {
  unsigned char x, y, z, w;
};
struct short2 {
  short x, y;
};
struct ushort2 {
  unsigned short x, y;
};
struct short4 {
  short x, y, z, w;
};
struct ushort4 {
  unsigned short x, y, z, w;
};
struct int1 {
  int x;
};
struct uint1 {
  unsigned x;
};
struct __align__(8) int2 {
  int x, y;
};
struct __align__(8) uint2 {
  unsigned x, y;
};
struct int3 {
  int x, y, z;
};
struct uint3 {
  unsigned x, y, z;
};
struct __align__(16) int4 {
  int x, y, z, w;
};
struct __align__(16) uint4 {
  unsigned x, y, z, w;
};
struct __align__(16) longlong2 {
  long long x, y;
};
struct __align__(16) ulonglong2 {
  unsigned long long x, y;
};
struct float1 {
  float x;
};
struct __align__(8) float2 {
  float x, y;
};
struct float3 {
  float x, y, z;
};
struct __align__(16) float4 {
  float x, y, z, w;
};
struct __align__(16) double2 {
  double x, y;
};
struct dim3 {
  unsigned x, y, z;
  __host__ __device__ constexpr dim3(unsigned a = 1, unsigned b = 1, unsigned c = 1) : x(a), y(b), z(c) {}
  __host__ __device__ constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
  __host__ __device__ constexpr operator uint3() const { return uint3{x, y, z}; }
};

#define TMEMLINT_MAKE2(type, part)                                              \
  static __host__ __device__ __forceinline__ type make_##type(part x, part y) { \
    return type{x, y};                                                          \
  }
#define TMEMLINT_MAKE4(type, part)                                                              \
  static __host__ __device__ __forceinline__ type make_##type(part x, part y, part z, part w) { \
    return type{x, y, z, w};                                                                    \
  }
TMEMLINT_MAKE2(int2, int)
TMEMLINT_MAKE2(uint2, unsigned)
TMEMLINT_MAKE2(float2, float)
TMEMLINT_MAKE4(int4, int)
TMEMLINT_MAKE4(uint4, unsigned)
TMEMLINT_MAKE4(float4, float)
#undef TMEMLINT_MAKE2
#undef TMEMLINT_MAKE4

TMEMLINT_DEVICE tmemlint_size_t __cvta_generic_to_shared(const void* p) {
  return (tmemlint_size_t)(__attribute__((address_space(3))) const void*)p;
}
TMEMLINT_DEVICE tmemlint_size_t __cvta_generic_to_global(const void* p) {
  return (tmemlint_size_t)(__attribute__((address_space(1))) const void*)p;
}
TMEMLINT_DEVICE void* __cvta_shared_to_generic(tmemlint_size_t p) {
  return (void*)(__attribute__((address_space(3))) void*)p;
}

TMEMLINT_DEVICE void __syncwarp(unsigned mask = 0xffffffffu) {
  __nvvm_bar_warp_sync(mask);
}
TMEMLINT_DEVICE void __threadfence() {
  __nvvm_membar_gl();
}
TMEMLINT_DEVICE void __threadfence_block() {
  __nvvm_membar_cta();
}
TMEMLINT_DEVICE void __threadfence_system() {
  __nvvm_membar_sys();
}
TMEMLINT_DEVICE void __trap() {
  asm volatile("trap;");
}
TMEMLINT_DEVICE void __nanosleep(unsigned ns) {
  asm volatile("nanosleep.u32 %0;" ::"r"(ns));
}

#define TMEMLINT_SHUFFLE(name, builtin, clamp)                                               \
  TMEMLINT_DEVICE int name(unsigned mask, int value, int lane, int width = 32) {             \
    return __nvvm_shfl_sync_##builtin##_i32(mask, value, lane, ((32 - width) << 8) | clamp); \
  }                                                                                          \
  TMEMLINT_DEVICE unsigned name(unsigned mask, unsigned value, int lane, int width = 32) {   \
    return (unsigned)name(mask, (int)value, lane, width);                                    \
  }                                                                                          \
  TMEMLINT_DEVICE float name(unsigned mask, float value, int lane, int width = 32) {         \
    return __nvvm_shfl_sync_##builtin##_f32(mask, value, lane, ((32 - width) << 8) | clamp); \
  }
TMEMLINT_SHUFFLE(__shfl_sync, idx, 0x1f)
TMEMLINT_SHUFFLE(__shfl_up_sync, up, 0)
TMEMLINT_SHUFFLE(__shfl_down_sync, down, 0x1f)
TMEMLINT_SHUFFLE(__shfl_xor_sync, bfly, 0x1f)
#undef TMEMLINT_SHUFFLE
TMEMLINT_DEVICE int __any_sync(unsigned mask, int predicate) {
  return __nvvm_vote_any_sync(mask, predicate != 0);
}
TMEMLINT_DEVICE int __all_sync(unsigned mask, int predicate) {
  return __nvvm_vote_all_sync(mask, predicate != 0);
}
TMEMLINT_DEVICE unsigned __ballot_sync(unsigned mask, int predicate) {
  return __nvvm_vote_ballot_sync(mask, predicate != 0);
}
TMEMLINT_DEVICE unsigned __activemask() {
  unsigned mask;
  asm volatile("activemask.b32 %0;" : "=r"(mask));
  return mask;
}

TMEMLINT_DEVICE int __popc(unsigned x) {
  return __builtin_popcount(x);
}
TMEMLINT_DEVICE int __clz(int x) {
  return x == 0 ? 32 : __builtin_clz((unsigned)x);
}
TMEMLINT_DEVICE int __ffs(int x) {
  return __builtin_ffs(x);
}
TMEMLINT_DEVICE unsigned __brev(unsigned x) {
  return __builtin_bitreverse32(x);
}
TMEMLINT_DEVICE unsigned __byte_perm(unsigned x, unsigned y, unsigned s) {
  return __nvvm_prmt(x, y, s & 0x7777);  // the fourth bit of a selector means something to prmt only
}
TMEMLINT_DEVICE int __popcll(unsigned long long x) {
  return __builtin_popcountll(x);
}
TMEMLINT_DEVICE int __clzll(long long x) {
  return x == 0 ? 64 : __builtin_clzll((unsigned long long)x);
}
TMEMLINT_DEVICE int __ffsll(long long x) {
  return __builtin_ffsll(x);
}
TMEMLINT_DEVICE unsigned long long __brevll(unsigned long long x) {
  return __builtin_bitreverse64(x);
}
TMEMLINT_DEVICE int __mulhi(int x, int y) {
  return (int)(((long long)x * y) >> 32);
}
TMEMLINT_DEVICE unsigned __umulhi(unsigned x, unsigned y) {
  return (unsigned)(((unsigned long long)x * y) >> 32);
}
TMEMLINT_DEVICE long long __mul64hi(long long x, long long y) {
  return (long long)(((__int128)x * y) >> 64);
}
TMEMLINT_DEVICE unsigned long long __umul64hi(unsigned long long x, unsigned long long y) {
  return (unsigned long long)(((unsigned __int128)x * y) >> 64);
}
TMEMLINT_DEVICE float __int_as_float(int x) {
  return __builtin_bit_cast(float, x);
}
TMEMLINT_DEVICE float __uint_as_float(unsigned x) {
  return __builtin_bit_cast(float, x);
}
TMEMLINT_DEVICE int __float_as_int(float x) {
  return __builtin_bit_cast(int, x);
}
TMEMLINT_DEVICE unsigned __float_as_uint(float x) {
  return __builtin_bit_cast(unsigned, x);
}
TMEMLINT_DEVICE float __fadd_rn(float a, float b) {
  return a + b;
}
TMEMLINT_DEVICE float __fmul_rn(float a, float b) {
  return a * b;
}
TMEMLINT_DEVICE float __fmaf_rn(float a, float b, float c) {
  return a * b + c;
}
TMEMLINT_DEVICE long long clock64() {
  return __nvvm_read_ptx_sreg_clock64();
}
template <typename T>
TMEMLINT_DEVICE T __ldg(const T* p) {
  return *p;
}
template <typename T>
static __host__ __device__ __forceinline__ constexpr T min(T a, T b) {
  return b < a ? b : a;
}
template <typename T>
static __host__ __device__ __forceinline__ constexpr T max(T a, T b) {
  return a < b ? b : a;
}
TMEMLINT_DEVICE int atomicAdd(int* p, int v) {
  return __nvvm_atom_add_gen_i(p, v);
}
TMEMLINT_DEVICE unsigned atomicAdd(unsigned* p, unsigned v) {
  return (unsigned)__nvvm_atom_add_gen_i((int*)p, (int)v);
}
TMEMLINT_DEVICE float atomicAdd(float* p, float v) {
  return __nvvm_atom_add_gen_f(p, v);
}

extern "C" __device__ int vprintf(const char*, const char*);
extern "C" __host__ __device__ int printf(const char*, ...);

typedef struct CUstream_st* cudaStream_t;
typedef int cudaError_t;
enum { cudaSuccess = 0 };
extern "C" __host__ unsigned __cudaPushCallConfiguration(dim3, dim3, tmemlint_size_t = 0, void* = 0);
extern "C" cudaError_t cudaLaunchKernel(const void*, dim3, dim3, void**, tmemlint_size_t, cudaStream_t);
