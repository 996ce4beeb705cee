// CUDA sources, through the Clang front end: what is taken, what is tolerated, and the places in the source.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <set>

#include "tests/cuda_run.h"

namespace tmemlint::cuda {
namespace {

using namespace test;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

TEST_F(CudaSource, ClusterSizeOfTheAttributeReachesThePtx) {
  const Translation t = translate(write(std::string(kAllocateAndFree) + R"(
template <int Size>
__global__ void __cluster_dims__(2 * Size, 1, 1) __launch_bounds__(32) sized(unsigned* out) { use(out); }
template __global__ void sized<2>(unsigned*);
__global__ void __cluster_dims__(3, 1, 1) __launch_bounds__(32) odd(unsigned* out) { use(out); }
__global__ void __launch_bounds__(32) none(unsigned* out) { use(out); }
)"));
  ASSERT_EQ(t.failure, "");
  ASSERT_EQ(t.ptx.size(), 1u);
  const ptx::Module module = ptx::parse(std::make_shared<const ptx::SourceText>("k.ptx", t.ptx[0]));
  std::map<std::string, uint32_t> clusters;
  for (const ptx::Function& f : module.functions) {
    if (f.is_entry) clusters[std::string(f.name)] = f.reqnctapercluster.x;
  }
  EXPECT_EQ(clusters, (std::map<std::string, uint32_t>{{"_Z5sizedILi2EEvPj", 4}, {"_Z3oddPj", 3}, {"_Z4nonePj", 0}}));
}

TEST_F(CudaSource, BlockSizeOfTheAttributeReachesThePtx) {
  const Translation t = translate(write(std::string(kAllocateAndFree) + R"(
template <int Warps>
__global__ void __block_size__((32 * Warps, 1, 1)) sized(unsigned* out) { use(out); }
template __global__ void sized<5>(unsigned*);
__global__ void __block_size__((64, 2, 1), (4, 1, 1)) both(unsigned* out) { use(out); }
)"));
  ASSERT_EQ(t.failure, "");
  ASSERT_EQ(t.ptx.size(), 1u);
  const ptx::Module module = ptx::parse(std::make_shared<const ptx::SourceText>("k.ptx", t.ptx[0]));
  std::map<std::string, std::array<uint32_t, 3>> sizes;
  for (const ptx::Function& f : module.functions) {
    if (f.is_entry) sizes[std::string(f.name)] = {f.reqntid.x, f.reqntid.y, f.reqnctapercluster.x};
  }
  EXPECT_EQ(sizes, (std::map<std::string, std::array<uint32_t, 3>>{{"_Z5sizedILi5EEvPj", {160, 1, 0}},
                                                                   {"_Z4bothPj", {64, 2, 4}}}));
}

TEST_F(CudaSource, LineInsideAnAsmString) {
  const report::Results results = check(R"(
__global__ void __launch_bounds__(32) k(unsigned a) {
  asm volatile(
      "{\n\t"
      ".reg .b32 n;  mov.b32 n, 96;\n\t"
      "tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, n;\n\t"
      "}" ::"r"(a));
}
)");
  EXPECT_TRUE(loud(results).count({"tmem-alloc-size", "k.cu", 6}) != 0);
}

TEST_F(CudaSource, RawStringsAndMacros) {
  const report::Results results = check(R"(
#define FREE(address, count) asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, " #count ";" ::"r"(address))
__global__ void __launch_bounds__(32) k(unsigned a) {
  FREE(a, 33);
  asm volatile(R"x(
      // a comment; with a semicolon
      tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, 65;
  )x" ::"r"(a));
}
)");
  const std::set<Said> said = loud(results);
  EXPECT_TRUE(said.count({"tmem-alloc-size", "k.cu", 4}) != 0);
  EXPECT_TRUE(said.count({"tmem-alloc-size", "k.cu", 7}) != 0);
}

TEST_F(CudaSource, WhatNvccTakesIsTaken) {
  const report::Results results = check(std::string("#include <not_there/library.h>\n") + kAllocateAndFree + R"(
template <typename T>
__device__ void never_used(T x) { asm volatile("mov.b32 %0, %3;" ::"r"(x)); }
__device__ unsigned cluster_and_sum(unsigned a, unsigned b) {
  unsigned id, sum;
  asm volatile("{ .reg .b32 %x; mov.u32 %x, %clusterid.x; mov.u32 %0, %x; }" : "=r"(id) : "r"(a));
  asm volatile("add.u32 %0, %1, %2;" : "=r"(sum) : "r"(a)  "r"(b));
  return id + sum;
}
__global__ void __launch_bounds__(32) k(unsigned* out, unsigned a) { use(out); out[40] = cluster_and_sum(a, 2); }
)");
  EXPECT_THAT(results.errors, IsEmpty());
  EXPECT_THAT(loud(results), IsEmpty());
  EXPECT_TRUE(results.incomplete.empty()) << results.incomplete.front().reason;
  EXPECT_EQ(results.summary.tcgen05, 2u);
}

TEST_F(CudaSource, MissingCommasAreAddedOnlyWhereTheyAreMissing) {
  const report::Results results = check(R"cu(
#define OUT(i) "=r"(d[i])
#define OUT2(i) \
  "=r"(d[i]), "=r"(d[i + 1])
#define FIRST(i) "=r"(d[i]),
__device__ void say(const char* a, int b);
__global__ void __launch_bounds__(32) k(unsigned a, unsigned* out) {
  unsigned d[4], x = 1'000;
  asm volatile("tcgen05.ld.sync.aligned.32x32b.x4.b32 {%0,%1,%2,%3}, [%4];" : FIRST(0) "=r"(d[1]), OUT2(2) : "r"(a));
  asm volatile("tcgen05.ld.sync.aligned.32x32b.x2.b32 {%0,%1}, [%2];" : OUT(0), OUT(1) : "r"(a));
  asm volatile("tcgen05.wait::ld.sync.aligned;");
  asm volatile(R"x(add.u32 %0, %1, %2; // )" : "r"(a) "r"(2)
)x" : "=r"(x) : "r"((a + 1)) /* ) "r"(3) */
    "r"(3));
  out[threadIdx.x] = d[0] + d[1] + x;
  asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, 96;" ::"r"(a));
}
)cu");
  EXPECT_THAT(results.errors, IsEmpty());
  for (const report::Incomplete& i : results.incomplete) EXPECT_THAT(i.reason, Not(HasSubstr("left out")));
  EXPECT_EQ(results.summary.tcgen05, 4u);
  // The comma took the place of no newline.
  EXPECT_TRUE(loud(results).count({"tmem-alloc-size", "k.cu", 16}) != 0);
}

TEST_F(CudaSource, ALostCalleeIsSaid) {
  const report::Results results = check(std::string(kAllocateAndFree) + R"(
__device__ void broken(unsigned* out) { out[1] = not_declared(3); }
__global__ void __launch_bounds__(32) k(unsigned* out) { use(out); broken(out); }
__global__ void __launch_bounds__(32) plain(unsigned* out) { broken(out); }
__global__ void __launch_bounds__(32) gone(unsigned* out) { use(out); out[2] = not_declared_either; }
__global__ void __launch_bounds__(32) good(unsigned* out) { use(out); }
)");
  std::map<std::string, std::string> reasons;
  for (const report::Incomplete& i : results.incomplete) reasons[i.kernel] = i.reason;
  EXPECT_THAT(reasons["k"], HasSubstr("not_declared"));
  EXPECT_THAT(reasons["plain"], HasSubstr("not_declared"));
  EXPECT_THAT(reasons["gone"], HasSubstr("not_declared_either"));
  EXPECT_EQ(reasons.count("good"), 0u);
}

TEST_F(CudaSource, WhatClangCrashesOnTakesNothingElseWithIt) {
  // A generic lambda that Clang 22 does not capture the asm operand of.
  const report::Results results = check(std::string(kAllocateAndFree) + R"(
template <typename F> __device__ void call(F f) { f(1u); }
__global__ void __launch_bounds__(32) trouble(unsigned s) {
  call([=](auto v) { if constexpr (sizeof(v) == 4) { asm volatile("tcgen05.wait::ld.sync.aligned; // %0" ::"r"(s)); } });
}
__global__ void __launch_bounds__(32) fine(unsigned* out) { use(out); }
)");
  EXPECT_GE(results.summary.tcgen05, 2u);
  for (const report::Incomplete& i : results.incomplete) EXPECT_NE(i.kernel, "fine");
}

TEST_F(CudaSource, TemplatesThatNothingInstantiates) {
  const std::string file = write(std::string(kAllocateAndFree) + R"(
template <int N, typename T>
__global__ void __launch_bounds__(32) generic(T* out) { use(out); if (N > 2) use(out); }
)");
  const report::Results results = run_clang(file);
  ASSERT_EQ(results.incomplete.size(), 1u);
  EXPECT_THAT(results.incomplete[0].reason, HasSubstr("--instantiate"));
  SourceOptions options;
  options.via = Via::kClang;
  options.instantiate = {"generic<3, unsigned>"};
  const report::Results instantiated = run(file, {}, options);
  EXPECT_TRUE(instantiated.incomplete.empty());
  EXPECT_EQ(instantiated.summary.tcgen05, 4u);
}

TEST_F(CudaSource, InstancesThatCannotBeHadAreErrors) {
  const std::string file = write(std::string(kAllocateAndFree) + R"(
template <int N> __global__ void __launch_bounds__(32) generic(unsigned* out) { use(out); out[1] = N; }
template <int N> __global__ void __launch_bounds__(32) picky(unsigned* out) { static_assert(N > 4, "too small"); use(out); }
)");
  SourceOptions options;
  options.via = Via::kClang;
  auto errors_with = [&](std::vector<std::string> instances) {
    options.instantiate = std::move(instances);
    return run(file, {}, options).errors;
  };
  EXPECT_THAT(errors_with({"generic<3>", "picky<5>"}), IsEmpty());
  for (const char* wrong : {"generik<3>", "generic<3, 4>", "generic<int>", "nothing<1>", "picky<3>"}) {
    const std::vector<report::InputError> errors = errors_with({"generic<3>", wrong});
    ASSERT_FALSE(errors.empty()) << wrong;
    for (const report::InputError& error : errors)
      EXPECT_THAT(error.message, HasSubstr("--instantiate '" + std::string(wrong) + "'"));
  }
}

TEST_F(CudaSource, WhatIsNoSourceIsAnInputError) {
  for (const char* text :
       {"__global__ void k( {\n int x = ;\n", "__global__ void k(int* o) {\n  *o = ;\n}\n", "\1\2\377("}) {
    const report::Results results = check(text);
    ASSERT_FALSE(results.errors.empty()) << text;
    EXPECT_NE(results.errors[0].text, nullptr);
  }
  EXPECT_EQ(check("__global__ void k(int* o) {\n  *o = ;\n}\n").errors.size(), 1u);
  // A library that is not there is no fault of the source.
  EXPECT_THAT(check("#include <not_there.h>\n__global__ void k(int* o) { library::go(o); }\n").errors, IsEmpty());
}

TEST_F(CudaSource, ATargetThatClangDoesNotKnow) {
  const report::Results results = check(kAllocateAndFree, {"-arch=sm_999"});
  ASSERT_EQ(results.errors.size(), 1u);
  EXPECT_THAT(results.errors[0].message, HasSubstr("sm_999"));
}

TEST_F(CudaSource, WhatNvccRefusesTooIsAnInputError) {
  std::string problem;
  SourceOptions options;
  options.toolkit = find_toolkit("", problem);
  if (find_nvcc({}, options.toolkit).empty()) GTEST_SKIP() << "there is no nvcc on this machine";
  const std::string file = write(std::string(kAllocateAndFree) + R"(
__global__ void __launch_bounds__(32) wrong(unsigned* out) { use(out); out[2] = not_declared; }
__global__ void __launch_bounds__(32) good(unsigned* out) { use(out); }
)");
  const report::Results by_both = run(file, {}, options);
  ASSERT_EQ(by_both.errors.size(), 1u);
  EXPECT_THAT(by_both.errors[0].message, HasSubstr("not_declared"));
  EXPECT_EQ(by_both.summary.tcgen05, 2u);  // what could be taken was looked at
  options.via = Via::kClang;
  EXPECT_THAT(run(file, {}, options).errors, IsEmpty());
}

TEST_F(CudaSource, NothingSeenIsSaid) {
  const report::Results results =
      check(std::string(kAllocateAndFree) + "__global__ void k(unsigned* out) { out[0] = 1; }\n");
  EXPECT_EQ(results.summary.tcgen05, 0u);
  ASSERT_EQ(results.assumptions.size(), 1u);
  EXPECT_THAT(results.assumptions[0], HasSubstr("no kernel of this file calls"));
}

TEST_F(CudaSource, NolintSilences) {
  const std::string text = R"(
__global__ void __launch_bounds__(32) k(unsigned a) {
  asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, 96;" ::"r"(a));  // NOLINT(tmem-alloc-size, tmem-dealloc-mismatch, tmem-use-unallocated)
}
)";
  EXPECT_EQ(loud(check(text)).count({"tmem-alloc-size", "k.cu", 3}), 0u);
}

TEST_F(CudaSource, NolintAtACallSilencesTheHelper) {
  const std::string text = R"(
__device__ void free_columns(unsigned a) {
  asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, 96;" ::"r"(a));
}
__global__ void __launch_bounds__(32) k(unsigned a) {
  free_columns(a);  // NOLINT(tmem-*)
}
)";
  EXPECT_TRUE(loud(check(text)).empty());
  // Another caller is still told.
  EXPECT_EQ(loud(check(text + "__global__ void __launch_bounds__(32) other(unsigned a) {\n  free_columns(a);\n}\n"))
                .count({"tmem-alloc-size", "k.cu", 3}),
            1u);
}

TEST_F(CudaSource, WrappersOfTheToolkitAreTheirCallersDoing) {
  std::string problem;
  SourceOptions options;
  options.via = Via::kClang;
  options.toolkit = find_toolkit("", problem);
  if (!options.toolkit.found()) GTEST_SKIP() << "there is no CUDA toolkit on this machine";
  const std::string file = write(R"(#include <cuda/ptx>
__global__ void __launch_bounds__(32) k(unsigned a) {
  cuda::ptx::tcgen05_dealloc(cuda::ptx::cta_group_1, a, 96);
}
)");
  EXPECT_TRUE(loud(run(file, {}, options)).count({"tmem-alloc-size", "k.cu", 3}) != 0);
}

TEST_F(CudaSource, LaunchesAreTaken) {
  const std::string file = write(std::string("#include <cuda_runtime.h>\n") + kAllocateAndFree + R"(
template <int N> __global__ void __launch_bounds__(32) k(unsigned* out) { use(out); out[1] = N; }
void go(unsigned* out) { k<3><<<1, 32>>>(out); k<4><<<dim3(1, 2), 32, 64, nullptr>>>(out); }
)");
  std::string problem;
  for (const char* toolkit : {"none", ""}) {
    const Translation t = translate(file, find_toolkit(toolkit, problem));
    EXPECT_EQ(t.errors, 0u) << t.first_error;
    EXPECT_EQ(t.kernels.size(), 2u);
  }
}

TEST_F(CudaSource, CooperativeGroupsOfAClusterAreTaken) {
  std::string problem;
  SourceOptions options;
  options.via = Via::kClang;
  options.toolkit = find_toolkit("", problem);
  if (!options.toolkit.found()) GTEST_SKIP() << "there is no CUDA toolkit on this machine";
  const std::string file = write(std::string("#include <cooperative_groups.h>\n") + kAllocateAndFree + R"(
__global__ void __cluster_dims__(2) __launch_bounds__(32) k(unsigned* out) {
  use(out);
  cooperative_groups::this_cluster().sync();
  out[1] = cooperative_groups::this_cluster().block_rank();
}
)");
  const report::Results results = run(file, {}, options);
  EXPECT_THAT(results.errors, IsEmpty());
  EXPECT_TRUE(results.incomplete.empty()) << results.incomplete.front().reason;
  EXPECT_EQ(results.summary.tcgen05, 2u);
}

// --- places

TEST_F(CudaSource, StepsOfAPathNameLinesOfTheSource) {
  const report::Results results = check(R"(
__device__ void say(unsigned* out) { out[1] = 7; }
__global__ void __launch_bounds__(32) k(unsigned* out, int f) {
  __shared__ unsigned slot;
  unsigned address = (unsigned)__cvta_generic_to_shared(&slot);
  asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], 64;" ::"r"(address) : "memory");
  unsigned columns = slot;
  if (f > 3) {
    say(out);
    return;
  }
  asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, 64;" ::"r"(columns));
}
)");
  std::vector<std::string> steps;
  for (const report::Finding& f : results.findings) {
    if (f.rule != "tmem-missing-dealloc") continue;
    for (const report::Related& step : f.path) {
      const uint32_t line = step.place.text->position(step.place.span.begin).line;
      steps.push_back(std::to_string(line) + ": " + step.message);
    }
  }
  EXPECT_THAT(steps, ElementsAre("8: the path goes from here to line 9"));
}

TEST_F(CudaSource, FixesMakeThePlaceWhereTheyGo) {
  const report::Results results = check(R"(
__global__ void __launch_bounds__(32) k(unsigned a, unsigned* out) {
  unsigned v;
  asm("tcgen05.ld.sync.aligned.32x32b.x1.b32 {%0}, [%1];" : "=r"(v) : "r"(a));
  asm volatile("tcgen05.wait::ld.sync.aligned;");
  out[threadIdx.x] = v;
}
)");
  for (const report::Finding& f : results.findings) {
    if (f.rule != "tmem-asm-volatile") continue;
    ASSERT_EQ(f.fixes.size(), 1u);
    EXPECT_EQ(f.fixes[0].text, " volatile");
    const ptx::LineColumn at = f.fixes[0].place.text->position(f.fixes[0].place.span.begin);
    EXPECT_EQ(at.line, 4u);
    EXPECT_EQ(at.column, 6u);
    return;
  }
  ADD_FAILURE() << "no finding of tmem-asm-volatile";
}

}  // namespace
}  // namespace tmemlint::cuda
