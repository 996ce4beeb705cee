// What nvcc knows by itself and Clang 22 does not. Included in front of every source.
#pragma once
#pragma clang system_header

#if defined(__CUDA__)

// An attribute that Clang does not have: the block, and the cluster where one is given, each in parentheses.
#undef __block_size__
#define TMEMLINT_UNPACKED(...) __VA_ARGS__
#define __block_size__(block, ...)                                          \
  __attribute__((annotate("tmemlint.block_size", TMEMLINT_UNPACKED block))) \
  __VA_OPT__(__attribute__((annotate("tmemlint.cluster_size", TMEMLINT_UNPACKED __VA_ARGS__))))

#ifndef __NV_ATOMIC_RELAXED
#define __NV_ATOMIC_RELAXED 0
#define __NV_ATOMIC_CONSUME 1
#define __NV_ATOMIC_ACQUIRE 2
#define __NV_ATOMIC_RELEASE 3
#define __NV_ATOMIC_ACQ_REL 4
#define __NV_ATOMIC_SEQ_CST 5
#endif
#ifndef __NV_THREAD_SCOPE_THREAD
#define __NV_THREAD_SCOPE_THREAD 0
#define __NV_THREAD_SCOPE_BLOCK 1
#define __NV_THREAD_SCOPE_CLUSTER 2
#define __NV_THREAD_SCOPE_DEVICE 3
#define __NV_THREAD_SCOPE_SYSTEM 4
#endif

// Two floats at once (sm_100).
#define TMEMLINT_PAIRWISE(name, expression)                                                                  \
  static __inline__ __attribute__((always_inline)) __attribute__((device)) float2 name(float2 a, float2 b) { \
    float2 r;                                                                                                \
    r.x = expression(a.x, b.x);                                                                              \
    r.y = expression(a.y, b.y);                                                                              \
    return r;                                                                                                \
  }
#define TMEMLINT_ADD(a, b) ((a) + (b))
#define TMEMLINT_MUL(a, b) ((a) * (b))
TMEMLINT_PAIRWISE(__fadd2_rn, TMEMLINT_ADD)
TMEMLINT_PAIRWISE(__fadd2_rz, TMEMLINT_ADD)
TMEMLINT_PAIRWISE(__fadd2_ru, TMEMLINT_ADD)
TMEMLINT_PAIRWISE(__fadd2_rd, TMEMLINT_ADD)
TMEMLINT_PAIRWISE(__fmul2_rn, TMEMLINT_MUL)
TMEMLINT_PAIRWISE(__fmul2_rz, TMEMLINT_MUL)
TMEMLINT_PAIRWISE(__fmul2_ru, TMEMLINT_MUL)
TMEMLINT_PAIRWISE(__fmul2_rd, TMEMLINT_MUL)
#define TMEMLINT_FMA2(name)                                                                                            \
  static __inline__ __attribute__((always_inline)) __attribute__((device)) float2 name(float2 a, float2 b, float2 c) { \
    float2 r;                                                                                                          \
    r.x = a.x * b.x + c.x;                                                                                             \
    r.y = a.y * b.y + c.y;                                                                                             \
    return r;                                                                                                          \
  }
TMEMLINT_FMA2(__ffma2_rn)
TMEMLINT_FMA2(__ffma2_rz)
TMEMLINT_FMA2(__ffma2_ru)
TMEMLINT_FMA2(__ffma2_rd)
#undef TMEMLINT_FMA2
#undef TMEMLINT_MUL
#undef TMEMLINT_ADD
#undef TMEMLINT_PAIRWISE

#endif
