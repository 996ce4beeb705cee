// Runs the tool on CUDA sources, through the Clang front end. For tests; those that need the front end begin with
// NEEDS_FRONT_END() and are skipped where it was not built.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <ostream>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "analyzer/cuda/front_end.h"
#include "analyzer/cuda/lint.h"
#include "analyzer/cuda/nvcc.h"

namespace tmemlint::test {

inline bool have_front_end() {
  std::string problem;
  return cuda::clang_front_end(problem) != nullptr;
}

#define NEEDS_FRONT_END() \
  if (!have_front_end()) GTEST_SKIP() << "the Clang front end was not built"

inline report::Results run(const std::string& file, const std::vector<std::string>& flags,
                           cuda::SourceOptions options) {
  cuda::CompileCommand command;
  command.file = file;
  command.arguments = flags;
  report::Results results;
  cuda::lint_source(command, options, Options{}, results);
  report::finish(results);
  return results;
}

inline report::Results run_clang(const std::string& file, const std::vector<std::string>& flags = {}) {
  cuda::SourceOptions options;
  options.via = cuda::Via::kClang;
  return run(file, flags, options);
}

// A finding of error or warning level.
struct Said {
  std::string rule;
  std::string file;
  uint32_t line;
  bool operator<(const Said& o) const { return std::tie(rule, file, line) < std::tie(o.rule, o.file, o.line); }
  bool operator==(const Said& o) const { return !(*this < o) && !(o < *this); }
};

inline void PrintTo(const Said& said, std::ostream* out) {
  *out << said.rule << " at " << said.file << ":" << said.line;
}

inline std::set<Said> loud(const report::Results& results) {
  std::set<Said> out;
  for (const report::Finding& f : results.findings) {
    if (f.level == report::Level::kNote) continue;
    out.insert({f.rule, std::filesystem::path(f.place.text->path()).filename().string(),
                f.place.text->position(f.place.span.begin).line});
  }
  return out;
}

// Tests whose source is written into a folder of their own.
class CudaSource : public testing::Test {
protected:
  void SetUp() override {
    NEEDS_FRONT_END();
    folder_ = std::filesystem::path(testing::TempDir()) /
              ("tmemlint_cuda_" + std::string(testing::UnitTest::GetInstance()->current_test_info()->name()));
    std::filesystem::create_directories(folder_);
  }

  std::string write(const std::string& text, const std::string& name = "k.cu") {
    const std::filesystem::path path = folder_ / name;
    std::ofstream(path) << text;
    return path.string();
  }

  report::Results check(const std::string& text, const std::vector<std::string>& flags = {}) {
    return run_clang(write(text), flags);
  }

  // What Clang makes of a file.
  static cuda::Translation translate(const std::string& file, const cuda::Toolkit& toolkit = {}) {
    cuda::Request request;
    request.file = file;
    request.arguments = cuda::adapt({}, toolkit).clang;
    request.cuda_path = toolkit.path;
    std::string problem;
    cuda::Translation out;
    cuda::clang_front_end(problem)(request, out);
    return out;
  }

  std::filesystem::path folder_;
};

// For kernels to call: allocates 64 columns and frees them.
inline constexpr const char* kAllocateAndFree = R"(
__device__ void use(unsigned* out) {
  __shared__ unsigned slot;
  unsigned address = (unsigned)__cvta_generic_to_shared(&slot);
  asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], 64;" ::"r"(address) : "memory");
  out[threadIdx.x] = slot;
  asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, 64;" ::"r"(slot));
}
)";

}  // namespace tmemlint::test
