// Functions of libdevice, which is not linked in: what they compute is known where it matters, and calls of the others
// are told apart.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/cuda_run.h"

namespace tmemlint::cuda {
namespace {

using namespace test;
using ::testing::IsEmpty;

// What of libdevice the sources below use; Clang's headers declare it only where there is a toolkit. `hidden` is a
// number that the analysis knows and Clang does not; `given` is one that Clang knows, too.
constexpr const char* kLibdevice = R"(
extern "C" {
__device__ int __nv_abs(int), __nv_min(int, int), __nv_max(int, int), __nv_popc(int), __nv_clz(int), __nv_ffs(int),
    __nv_brev(int), __nv_mulhi(int, int), __nv_mul24(int, int), __nv_sad(int, int, int), __nv_hadd(int, int),
    __nv_rhadd(int, int), __nv_byte_perm(int, int, int), __nv_popcll(long long), __nv_clzll(long long),
    __nv_ffsll(long long), __nv_double2loint(double), __nv_double2hiint(double), __nv_float_as_int(float),
    __nv_float2int_rz(float), __nv_float2int_rd(float), __nv_float2int_ru(float), __nv_isnanf(float),
    __nv_isinff(float), __nv_finitef(float), __nv_signbitf(float);
__device__ unsigned __nv_umin(unsigned, unsigned), __nv_umax(unsigned, unsigned), __nv_umulhi(unsigned, unsigned),
    __nv_umul24(unsigned, unsigned), __nv_usad(unsigned, unsigned, unsigned), __nv_uhadd(unsigned, unsigned),
    __nv_urhadd(unsigned, unsigned), __nv_float_as_uint(float), __nv_double2uint_rn(double);
__device__ long long __nv_llabs(long long), __nv_llmin(long long, long long), __nv_llmax(long long, long long),
    __nv_brevll(long long), __nv_mul64hi(long long, long long), __nv_double_as_longlong(double);
__device__ unsigned long long __nv_ullmin(unsigned long long, unsigned long long),
    __nv_ullmax(unsigned long long, unsigned long long), __nv_umul64hi(unsigned long long, unsigned long long);
__device__ float __nv_int_as_float(int), __nv_uint_as_float(unsigned), __nv_half2float(unsigned short), __nv_ceilf(float),
    __nv_floorf(float), __nv_fmaxf(float, float), __nv_int2float_rn(int), __nv_fadd_rn(float, float), __nv_sinf(float),
    __nv_cosf(float), __nv_powf(float, float), __nv_frexpf(float, int*), __nv_normf(int, const float*);
__device__ double __nv_hiloint2double(int, int), __nv_longlong_as_double(long long);
__device__ unsigned short __nv_float2half_rn(float);
__device__ void __nv_sincosf(float, float*, float*);
}
template <typename T> __device__ T hidden(T x) {
  if constexpr (sizeof(T) == 4) { asm("mov.b32 %0, %1;" : "=r"(x) : "r"(x)); } else { asm("mov.b64 %0, %1;" : "=l"(x) : "l"(x)); }
  return x;
}
template <typename T> __device__ T given(T x) { return x; }
__device__ int same(float a, float b) { return __nv_float_as_int(a) == __nv_float_as_int(b); }
)";

class Libdevice : public CudaSource {
protected:
  // A kernel for each condition, on a line of its own, that allocates a wrong number of columns where it does not hold.
  // The number of the kernels in which that is found.
  size_t refuted(const std::vector<std::string>& conditions) {
    std::string text = kLibdevice;
    text += R"(
#define KERNEL(name, holds)                                                                                        \
  __global__ void __launch_bounds__(32) name(unsigned* out, float x, float y, int i) {                              \
    __shared__ unsigned slot;                                                                                       \
    unsigned address = (unsigned)__cvta_generic_to_shared(&slot), columns = 64;                                     \
    if (!(holds)) columns = 96;                                                                                     \
    asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], %1;" ::"r"(address), "r"(columns) : "memory"); \
    out[threadIdx.x] = slot;                                                                                        \
    asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, %1;" ::"r"(slot), "r"(columns));                \
  }
)";
    for (size_t i = 0; i < conditions.size(); ++i)
      text += "KERNEL(k" + std::to_string(i) + ", (" + conditions[i] + "))\n";
    const report::Results results = check(text);
    EXPECT_THAT(results.errors, IsEmpty());
    EXPECT_EQ(results.summary.tcgen05, 2 * conditions.size());
    for (const report::Incomplete& i : results.incomplete) ADD_FAILURE() << i.kernel << ": " << i.reason;
    std::set<std::string> kernels;
    for (const report::Finding& f : results.findings) {
      if (f.rule == "tmem-alloc-size") kernels.insert(f.kernel);
    }
    refuted_ = testing::PrintToString(kernels);
    return kernels.size();
  }

  void expect_values(const std::vector<std::pair<std::string, std::string>>& values, const std::string& number) {
    std::vector<std::string> right, wrong;
    for (const auto& [call, value] : values) {
      std::string expression = call;
      for (size_t at = 0; (at = expression.find('#', at)) != std::string::npos;) expression.replace(at, 1, number);
      right.push_back(expression + " == (decltype(" + expression + "))" + value);
      wrong.push_back(expression + " != (decltype(" + expression + "))" + value);
    }
    EXPECT_EQ(refuted(right), 0u) << refuted_;
    EXPECT_EQ(refuted(wrong), wrong.size()) << refuted_;
  }

  std::string refuted_;  // the kernels of the last call
};

TEST_F(Libdevice, IntegerFunctionsComputeWhatTheyDo) {
  const std::vector<std::pair<std::string, std::string>> values = {
      {"__nv_abs(#(-5))", "5"},
      {"__nv_llabs(#(-5ll))", "5"},
      {"__nv_min(#(-3), 2)", "-3"},
      {"__nv_umin(#(0xfffffffdu), 2)", "2"},
      {"__nv_llmin(#(-3ll), 2)", "-3"},
      {"__nv_ullmin(#(~2ull), 2)", "2"},
      {"__nv_max(#(-3), 2)", "2"},
      {"__nv_umax(#(0xfffffffdu), 2)", "0xfffffffdu"},
      {"__nv_llmax(#(-3ll), 2)", "2"},
      {"__nv_ullmax(#(~2ull), 2)", "~2ull"},
      {"__nv_popc(#(0xf0))", "4"},
      {"__nv_popcll(#(0xf0f0f0f0f0ll))", "20"},
      {"__nv_clz(#(1))", "31"},
      {"__nv_clz(#(0))", "32"},
      {"__nv_clzll(#(1ll))", "63"},
      {"__nv_ffs(#(0))", "0"},
      {"__nv_ffs(#(8))", "4"},
      {"__nv_ffsll(#(1ll << 40))", "41"},
      {"__nv_ffsll(#(0ll))", "0"},
      {"__nv_brev(#(1))", "0x80000000"},
      {"__nv_brevll(#(1ll))", "0x8000000000000000ull"},
      {"__nv_mulhi(#(-2), 1 << 30)", "-1"},
      {"__nv_umulhi(#(0xffffffffu), 4)", "3"},
      {"__nv_mul64hi(#(-1ll), 5)", "-1"},
      {"__nv_umul64hi(#(~0ull), 5)", "4"},
      {"__nv_mul24(#(0x1ffffff), 2)", "-2"},
      {"__nv_umul24(#(0x1ffffffu), 2)", "0x1fffffe"},
      {"__nv_sad(#(-3), 2, 10)", "15"},
      {"__nv_sad(#(2), -3, 10)", "15"},
      {"__nv_usad(#(7u), 2, 10)", "15"},
      {"__nv_hadd(#(-3), 2)", "-1"},
      {"__nv_uhadd(#(0xffffffffu), 1)", "0x80000000u"},
      {"__nv_rhadd(#(-3), 2)", "0"},
      {"__nv_urhadd(#(2u), 3)", "3"},
      {"__nv_byte_perm(#(0x33221100), 0x77665544, 0x7531)", "0x77553311"},
      {"__nv_byte_perm(#(0x33221100), 0x77665544, #(0xffff))", "0x77777777"},
      {"__nv_float_as_int(__nv_int_as_float(#(17)))", "17"},
      {"__nv_float_as_uint(__nv_uint_as_float(#(17u)))", "17"},
      {"__nv_double_as_longlong(__nv_longlong_as_double(#(99ll)))", "99"},
      {"__nv_double2hiint(__nv_hiloint2double(#(3), 4))", "3"},
      {"__nv_double2loint(__nv_hiloint2double(#(3), 4))", "4"},
      {"__nv_signbitf(__nv_int_as_float(#(-1)))", "1"},
  };
  expect_values(values, "hidden");
  expect_values(values, "given");
}

TEST_F(Libdevice, ConversionsAndRoundingOfKnownNumbers) {
  expect_values(
      {
          {"__nv_float_as_int(1.0f)", "0x3f800000"},
          {"__nv_float_as_int(__nv_half2float(0x3c00))", "0x3f800000"},
          {"__nv_float2half_rn(2.0f)", "0x4000"},
          {"__nv_float2int_rz(2.7f)", "2"},
          {"__nv_float2int_ru(2.1f)", "3"},
          {"__nv_float2int_rd(-2.1f)", "-3"},
          {"__nv_double2uint_rn(2.6)", "3"},
          {"__nv_float2int_rz(__nv_ceilf(100.0f / 32.0f))", "4"},
          {"__nv_float2int_rz(__nv_floorf(100.0f / 32.0f))", "3"},
          {"__nv_float2int_rz(__nv_fmaxf(3.0f, 7.0f))", "7"},
          {"__nv_float2int_rz(__nv_fadd_rn(__nv_int2float_rn(3), 7.0f))", "10"},
          {"__nv_isnanf(0.0f)", "0"},
          {"__nv_isinff(1e38f * 1e38f)", "1"},
          {"__nv_finitef(1e38f * 1e38f)", "0"},
      },
      "");
}

TEST_F(Libdevice, UnknownFunctionsAreToldApart) {
  const std::string copy = "__nv_int_as_float(hidden(__nv_float_as_int(x)))";  // Clang does not know it to be x
  const std::vector<std::string> equal = {
      "same(__nv_sinf(x), __nv_sinf(" + copy + "))",
      "same(__nv_powf(x, y), __nv_powf(" + copy + ", y))",
      "[&] { float s, c; __nv_sincosf(x, &s, &c); float s2, c2; __nv_sincosf(" + copy +
          ", &s2, &c2); return same(s, s2) && same(c, c2); }()",
  };
  EXPECT_EQ(refuted(equal), 0u) << refuted_;
  const std::vector<std::string> different = {
      "same(__nv_sinf(x), __nv_cosf(x))",
      "same(__nv_sinf(x), __nv_sinf(y))",
      "same(__nv_powf(x, y), __nv_powf(y, x))",
      "same(__nv_powf(x, y), __nv_powf(x, x))",
      "[&] { float s, c; __nv_sincosf(x, &s, &c); return same(s, c); }()",
      "[&] { int e; float m = __nv_frexpf(x, &e); return __nv_float_as_int(m) == e; }()",
      "__nv_float2int_rd(x) == __nv_float2int_ru(x)",
      "same(__nv_floorf(x), __nv_ceilf(x))",
      "__nv_min(i, 7) == __nv_max(i, 7)",
      "__nv_popc(i) == __nv_clz(i)",
      "[&] { float v[2] = {x, y}; float n = __nv_normf(2, v); v[1] = x; return same(n, __nv_normf(2, v)); }()",
  };
  EXPECT_EQ(refuted(different), different.size()) << refuted_;
}

TEST_F(Libdevice, AFunctionOfAnotherShapeIsNotIt) {
  const report::Results results = check(std::string(kAllocateAndFree) + R"(
extern "C" __device__ void __nv_store(unsigned* out, int x);
extern "C" __device__ float __nv_min(float a, float b);
__global__ void __launch_bounds__(32) stores(unsigned* out) { __nv_store(out, 1); use(out); }
__global__ void __launch_bounds__(32) compares(unsigned* out, float a) { out[1] = __nv_min(a, 1.0f); use(out); }
)");
  EXPECT_THAT(results.errors, IsEmpty());
  ASSERT_EQ(results.incomplete.size(), 1u);
  EXPECT_EQ(results.incomplete[0].kernel, "stores");
}

// Through the toolkit's and Clang's headers, by the names that sources use.
TEST_F(CudaSource, FunctionsOfTheToolkitMeanWhatTheyMeanWithout) {
  std::string problem;
  const std::string file = write(R"(
__device__ void warps(unsigned* out, unsigned warp, bool first, unsigned columns) {
  __shared__ unsigned slot;
  unsigned address = (unsigned)__cvta_generic_to_shared(&slot), v = 0;
  if (first) asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], %1;" ::"r"(address), "r"(columns) : "memory");
  __syncthreads();
  unsigned tmem = slot;
  asm volatile("tcgen05.st.sync.aligned.32x32b.x1.b32 [%0], {%1};" ::"r"(tmem + (warp << 21)), "r"(v));
  asm volatile("tcgen05.wait::st.sync.aligned;");
  __syncthreads();
  if (first) asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, %1;" ::"r"(tmem), "r"(columns));
}
#define KERNEL(name, warp, first, columns)                                     \
  __global__ void __launch_bounds__(128) name(unsigned* out, int a, int b) {   \
    const unsigned w = warp;                                                    \
    warps(out, w, first, columns);                                              \
  }
KERNEL(of_min, min(threadIdx.x / 32, 3u), w == 0, 32)
KERNEL(of_max, max((int)threadIdx.x / 32, 0), w == 0, 32)
KERNEL(of_umulhi, __umulhi(threadIdx.x, 1u << 27), w == 0, 32)
KERNEL(of_popc, threadIdx.x / 32, __popc(w) == 0, 32)
KERNEL(of_ffs, threadIdx.x >> (__ffs(32) - 1), w == 0, 32)
KERNEL(of_clz, threadIdx.x >> (31 - __clz(32)), w == 0, max(32, 16))
KERNEL(wrong_columns, threadIdx.x / 32, w == 0, max(48, 16))
KERNEL(wrong_warp, max(threadIdx.x / 32, 1u), threadIdx.x < 32, 32)
)");
  SourceOptions options;
  options.via = Via::kClang;
  for (const char* toolkit : {"none", ""}) {
    options.toolkit = find_toolkit(toolkit, problem);
    const report::Results results = run(file, {}, options);
    EXPECT_THAT(results.errors, IsEmpty());
    EXPECT_THAT(results.incomplete, IsEmpty());
    std::set<std::pair<std::string, std::string>> said;
    for (const report::Finding& f : results.findings) {
      if (f.level != report::Level::kNote) said.emplace(f.rule, f.kernel);
    }
    EXPECT_EQ(said, (std::set<std::pair<std::string, std::string>>{{"tmem-alloc-size", "wrong_columns"},
                                                                   {"tmem-lane-window", "wrong_warp"}}));
  }
}

}  // namespace
}  // namespace tmemlint::cuda
