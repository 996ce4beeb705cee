// CUDA sources, through the Clang front end: the labelled samples, the agreement with nvcc, and what is tolerated.
// Skipped where the front end was not built.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "analyzer/cuda/front_end.h"
#include "analyzer/cuda/lint.h"
#include "analyzer/cuda/nvcc.h"
#include "rules/rule.h"
#include "tests/expectations.h"

namespace tmemlint::cuda {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

const std::string kFolder = std::string(TMEMLINT_SOURCE_DIR) + "/fixtures/cuda/";

bool have_front_end() {
  std::string problem;
  return clang_front_end(problem) != nullptr;
}

#define NEEDS_FRONT_END() \
  if (!have_front_end()) GTEST_SKIP() << "the Clang front end was not built"

const std::map<std::string, test::Expectations>& samples() {
  static const std::map<std::string, test::Expectations> all = test::labelled_kernels(kFolder, ".cu");
  return all;
}

report::Results run(const std::string& file, const std::vector<std::string>& flags, SourceOptions options) {
  CompileCommand command;
  command.file = file;
  command.arguments = flags;
  report::Results results;
  lint_source(command, options, Options{}, results);
  report::finish(results);
  return results;
}

report::Results run_clang(const std::string& file, const std::vector<std::string>& flags = {}) {
  SourceOptions options;
  options.via = Via::kClang;
  return run(file, flags, options);
}

struct Said {
  std::string rule;
  std::string file;
  uint32_t line;
  bool operator<(const Said& o) const { return std::tie(rule, file, line) < std::tie(o.rule, o.file, o.line); }
  bool operator==(const Said& o) const { return !(*this < o) && !(o < *this); }
};

void PrintTo(const Said& said, std::ostream* out) {
  *out << said.rule << " at " << said.file << ":" << said.line;
}

std::set<Said> loud(const report::Results& results) {
  std::set<Said> out;
  for (const report::Finding& f : results.findings) {
    if (f.level == report::Level::kNote) continue;
    out.insert(
        {f.rule, fs::path(f.place.text->path()).filename().string(), f.place.text->position(f.place.span.begin).line});
  }
  return out;
}

class CudaSample : public testing::TestWithParam<std::string> {};

TEST_P(CudaSample, SaysWhatItsCommentsAskFor) {
  NEEDS_FRONT_END();
  const std::string name = GetParam();
  const test::Expectations& asked = samples().at(name);
  const report::Results results = run_clang(kFolder + name, asked.texts(test::Asked::kFlags));
  EXPECT_TRUE(results.errors.empty()) << results.errors.front().message;
  EXPECT_GT(results.summary.tcgen05, 0u);
  EXPECT_THAT(test::disagreements(asked, results, kFolder + name), IsEmpty());
}

// Without the front end too: the comments are well-formed.
TEST(CudaSamples, HaveCommentsThatAreUnderstood) {
  for (const auto& [name, asked] : samples()) EXPECT_THAT(asked.problems, IsEmpty()) << name;
}

std::vector<std::string> sample_names() {
  std::vector<std::string> out;
  for (const auto& [name, asked] : samples()) out.push_back(name);
  return out;
}

std::string test_name(const testing::TestParamInfo<std::string>& info) {
  std::string out = info.param;
  std::replace_if(
      out.begin(), out.end(), [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '_');
  return out;
}

INSTANTIATE_TEST_SUITE_P(Cases, CudaSample, testing::ValuesIn(sample_names()), test_name);

TEST(CudaSamples, EachRuleHasABadOneAndItsGoodTwin) {
  for (const rules::Rule* rule : rules::registry()) {
    const bool twin = test::covered(samples(), rule->id).twin;
    EXPECT_TRUE(twin) << rule->id << " has no bad CUDA sample with a good twin";
  }
}

// --- the same from Clang's PTX and from nvcc's

// Only the source shows these, and how nvcc ordered reads it does not say.
bool source_only(const Said& said) {
  const rules::Rule* rule = rules::find(said.rule);
  return rule != nullptr && rule->source_only;
}

// Differences that are there for a reason: a sample's file name and the rule.
const std::map<std::pair<std::string, std::string>, std::string>& explained() {
  static const std::map<std::pair<std::string, std::string>, std::string> all = {
      {{"read-before-wait-bad.cu", "tmem-missing-wait-ld"},
       "a warning only where the author's order is known; a note in PTX"},
      {{"mbarrier-count-bad.cu", "tmem-mbarrier-count"},
       "the wrong count is found in both; that it ends in a hang is seen only where nvcc has unrolled the stages"},
      {{"asm-volatile-bad.cu", "tmem-missing-wait-ld"}, "nvcc moves the load that is not volatile behind its wait"},
  };
  return all;
}

void compare(const std::string& file, const std::vector<std::string>& flags, const Toolkit& toolkit) {
  SourceOptions options;
  options.toolkit = toolkit;
  options.via = Via::kClang;
  const report::Results by_clang = run(file, flags, options);
  options.via = Via::kNvcc;
  const report::Results by_nvcc = run(file, flags, options);
  ASSERT_TRUE(by_clang.errors.empty()) << file << ": " << by_clang.errors.front().message;
  ASSERT_TRUE(by_nvcc.errors.empty()) << file << ": " << by_nvcc.errors.front().message;
  EXPECT_EQ(by_clang.summary.kernels, by_nvcc.summary.kernels) << file;
  auto comparable = [&](const report::Results& results) {
    std::set<Said> out;
    for (const Said& said : loud(results)) {
      if (!source_only(said) && explained().count({fs::path(file).filename().string(), said.rule}) == 0)
        out.insert(said);
    }
    return out;
  };
  EXPECT_EQ(comparable(by_clang), comparable(by_nvcc)) << file;
}

// More sources to compare, of projects that are not part of this one: paths separated by ':', and their flags.
std::vector<std::string> more_sources() {
  std::vector<std::string> out;
  const char* list = std::getenv("TMEMLINT_COMPARE");
  std::istringstream in(list != nullptr ? list : "");
  for (std::string path; std::getline(in, path, ':');) out.push_back(path);
  return out;
}

TEST(CudaAgreement, WithNvcc) {
  NEEDS_FRONT_END();
  std::string problem;
  const Toolkit toolkit = find_toolkit("", problem);
  if (find_nvcc({}, toolkit).empty()) GTEST_SKIP() << "there is no nvcc on this machine";
  for (const auto& [name, asked] : samples()) compare(kFolder + name, asked.texts(test::Asked::kFlags), toolkit);
  const char* flags = std::getenv("TMEMLINT_COMPARE_FLAGS");
  for (const std::string& file : more_sources()) compare(file, split_command(flags != nullptr ? flags : ""), toolkit);
}

// --- what the front end has to get right by itself

class CudaSource : public testing::Test {
protected:
  void SetUp() override {
    NEEDS_FRONT_END();
    folder_ = fs::path(testing::TempDir()) /
              ("tmemlint_cuda_" + std::string(testing::UnitTest::GetInstance()->current_test_info()->name()));
    fs::create_directories(folder_);
  }

  std::string write(const std::string& text, const std::string& name = "k.cu") {
    const fs::path path = folder_ / name;
    std::ofstream(path) << text;
    return path.string();
  }

  report::Results check(const std::string& text, const std::vector<std::string>& flags = {}) {
    return run_clang(write(text), flags);
  }

  // What Clang makes of a file.
  static Translation translate(const std::string& file, const Toolkit& toolkit = {}) {
    Request request;
    request.file = file;
    request.arguments = adapt({}, toolkit).clang;
    request.cuda_path = toolkit.path;
    std::string problem;
    Translation out;
    clang_front_end(problem)(request, out);
    return out;
  }

  fs::path folder_;
};

constexpr const char* kAllocateAndFree = R"(
__device__ void use(unsigned* out) {
  __shared__ unsigned slot;
  unsigned address = (unsigned)__cvta_generic_to_shared(&slot);
  asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], 64;" ::"r"(address) : "memory");
  out[threadIdx.x] = slot;
  asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, 64;" ::"r"(slot));
}
)";

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

// --- libdevice, which is not linked in

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
