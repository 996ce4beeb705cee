#include "analyzer/cuda/compile_command.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>

#include "analyzer/assumptions/assumptions.h"
#include "analyzer/cuda/nvcc_options.h"

namespace tmemlint::cuda {
namespace {

namespace fs = std::filesystem;
using std::string;
using std::string_view;

constexpr string_view kBundled = "/tmemlint-bundled/alone";

// A target as nvcc and Clang name it, taken apart.
struct Architecture {
  unsigned number = 0;  // 100
  char variant = '\0';  // 'a', 'f' or none
};

// All that a value of -arch, -gencode or -code names: "arch=compute_100a,code=[sm_100a,compute_100a]".
void collect_architectures(string_view value, std::vector<Architecture>& out) {
  for (string_view prefix : {string_view("compute_"), string_view("sm_"), string_view("lto_")}) {
    for (size_t at = value.find(prefix); at != string_view::npos; at = value.find(prefix, at + 1)) {
      size_t i = at + prefix.size();
      Architecture found;
      for (; i < value.size() && value[i] >= '0' && value[i] <= '9'; ++i)
        found.number = found.number * 10 + static_cast<unsigned>(value[i] - '0');
      if (i < value.size() && (value[i] == 'a' || value[i] == 'f')) found.variant = value[i];
      if (found.number != 0) out.push_back(found);
    }
  }
}

// The one to analyse: one that has Tensor Memory before others, and of these the one that promises most.
Architecture choose(const std::vector<Architecture>& named) {
  Architecture best{100, 'a'};
  int best_score = -1;
  for (const Architecture& a : named) {
    const bool has_tmem = a.number >= 100 && a.number < 120;
    const int score = (has_tmem ? 100000 : 0) + static_cast<int>(a.number) * 4 +
                      (a.variant == 'a'   ? 2
                       : a.variant == 'f' ? 1
                                          : 0);
    if (score <= best_score) continue;
    best_score = score;
    best = a;
  }
  return best;
}

string name_of(const Architecture& a) {
  string out = "sm_" + std::to_string(a.number);
  if (a.variant != '\0') out += a.variant;
  return out;
}

// Clang 22 has no family targets; the architecture-specific one has all of theirs.
string clang_name_of(Architecture a) {
  if (a.variant == 'f') a.variant = 'a';
  return name_of(a);
}

std::vector<string> split_list(string_view value) {
  std::vector<string> out;
  while (!value.empty()) {
    const size_t comma = std::min(value.find(','), value.size());
    if (comma != 0) out.emplace_back(value.substr(0, comma));
    value.remove_prefix(std::min(comma + 1, value.size()));
  }
  return out;
}

bool is_source(string_view word) {
  static constexpr std::array<string_view, 6> kEndings = {".cu", ".cuh", ".cpp", ".cc", ".cxx", ".c"};
  return std::ranges::any_of(
      kEndings, [word](string_view ending) { return word.size() > ending.size() && word.ends_with(ending); });
}

// One option of an nvcc command: its kind, its value, and how many words it took.
struct Option {
  const NvccKind* kind = nullptr;
  string value;
  size_t words = 1;
};

Option read_option(const std::vector<string>& words, size_t at) {
  const string& word = words[at];
  const size_t dashes = word.starts_with("--") ? 2 : 1;
  const string_view body = string_view(word).substr(dashes);
  Option out;
  out.kind = nvcc_option(body);
  if (out.kind != nullptr) {
    if (takes_value(*out.kind) && at + 1 < words.size()) {
      out.value = words[at + 1];
      out.words = 2;
    }
    return out;
  }
  const size_t equals = body.find('=');
  if (equals != string_view::npos) out.kind = nvcc_option(body.substr(0, equals));
  if (out.kind != nullptr) {
    out.value = body.substr(equals + 1);
    return out;
  }
  if (dashes == 2) return out;
  // Short names with the value attached: -Ifolder, -DX=1, -O3, -isystemfolder.
  for (string_view name : {"isystem", "include", "I", "D", "U", "L", "l", "O", "o", "t", "x"}) {
    if (!body.starts_with(name)) continue;
    out.kind = nvcc_option(name);
    out.value = body.substr(name.size());
    return out;
  }
  return out;
}

bool is_host_option_for_parsing(string_view option) {
  static constexpr std::array<string_view, 8> kStarts = {"-D", "-I", "-U", "-f", "-W", "-pthread", "-std", "-isystem"};
  return std::ranges::any_of(kStarts, [option](string_view start) { return option.starts_with(start); });
}

class NvccAdapter {
public:
  NvccAdapter(const CompileCommand& command, AdaptedCommand& out)
      : command_(command), out_(out), words_(command.arguments) {}

  void run() {
    for (size_t i = 0; i < words_.size();) i += take(i);
    if (!has_standard_) both("-std=c++17");
  }
  const std::vector<Architecture>& architectures() const { return architectures_; }

private:
  void both(const string& word) {
    out_.clang.push_back(word);
    out_.nvcc.push_back(word);
  }
  void ignore(size_t at, size_t words) {
    for (size_t i = at; i < at + words && i < words_.size(); ++i) out_.ignored.push_back(words_[i]);
  }

  size_t take(size_t at) {
    const string word = words_[at];
    if (word.empty() || word[0] != '-' || word == "-") {
      if (!is_source(word)) ignore(at, 1);
      return 1;
    }
    const Option option = read_option(words_, at);
    if (option.kind == nullptr) {
      // Not nvcc's: a host compiler's option, passed on with -forward-unknown-to-host-compiler, or Clang's own.
      const bool keep =
          word.starts_with("-f") || word.starts_with("-W") || word.starts_with("-m") || word.starts_with("-pthread");
      if (keep) {
        out_.clang.push_back(word);
      } else {
        ignore(at, 1);
      }
      return 1;
    }
    apply(*option.kind, option, at);
    return option.words;
  }

  void apply(NvccKind kind, const Option& option, size_t at) {
    switch (kind) {
      case NvccKind::kInclude:
        for (const string& folder : split_list(option.value)) both("-I" + folder);
        break;
      case NvccKind::kSystemInclude:
        for (const string& folder : split_list(option.value)) {
          both("-isystem");
          both(folder);
        }
        break;
      case NvccKind::kPreInclude:
        for (const string& file : split_list(option.value)) {
          both("-include");
          both(file);
        }
        break;
      case NvccKind::kDefine:
        both("-D" + option.value);  // not a list: a macro's value may hold commas
        break;
      case NvccKind::kUndefine:
        for (const string& name : split_list(option.value)) both("-U" + name);
        break;
      case NvccKind::kStandard:
        has_standard_ = true;
        both("-std=" + option.value);
        break;
      case NvccKind::kArchitecture:
        collect_architectures(option.value, architectures_);
        break;
      case NvccKind::kHostOptions:
        for (const string& host : split_list(option.value)) {
          if (is_host_option_for_parsing(host)) {
            out_.clang.push_back(host);
          } else {
            out_.ignored.push_back(host);
          }
        }
        out_.nvcc.insert(out_.nvcc.end(), {"-Xcompiler", option.value});
        break;
      case NvccKind::kHostCompiler:
        out_.nvcc.insert(out_.nvcc.end(), {"-ccbin", option.value});
        break;
      case NvccKind::kOptionsFile:
        for (const string& file : split_list(option.value)) expand(file, at + option.words);
        break;
      case NvccKind::kFastMath:
        // Not -ffast-math: it would change the code that is looked at.
        out_.clang.emplace_back("-D__USE_FAST_MATH__=1");
        out_.nvcc.emplace_back("-use_fast_math");
        break;
      case NvccKind::kRelocatable:
        if (option.value == "true") {
          out_.clang.emplace_back("-fgpu-rdc");
          out_.nvcc.emplace_back("-rdc=true");
        }
        break;
      case NvccKind::kNvccSwitch:
        // Clang does what these ask for in any case; code may ask whether they are on.
        out_.clang.emplace_back(words_[at].find("lambda") != string::npos ? "-D__CUDACC_EXTENDED_LAMBDA__=1"
                                                                          : "-D__CUDACC_RELAXED_CONSTEXPR__=1");
        out_.nvcc.push_back(words_[at]);
        break;
      case NvccKind::kDefaultStream:
        if (option.value == "per-thread") both("-DCUDA_API_PER_THREAD_DEFAULT_STREAM=1");
        break;
      case NvccKind::kDrop:
      case NvccKind::kDropValue:
        ignore(at, option.words);
        break;
    }
  }

  // The words of an options file stand where the option stood.
  void expand(const string& name, size_t before) {
    fs::path path(name);
    if (path.is_relative() && !command_.directory.empty()) path = fs::path(command_.directory) / path;
    std::ifstream in(path, std::ios::binary);
    constexpr unsigned kMostFiles = assumptions::kOptionsFiles;  // a file that names itself has no end
    if (!in || ++expanded_ > kMostFiles) {
      out_.problem = "the options file " + path.string() + " cannot be read";
      return;
    }
    const string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
    const std::vector<string> words = split_command(text);
    words_.insert(words_.begin() + static_cast<std::ptrdiff_t>(std::min(before, words_.size())), words.begin(),
                  words.end());
  }

  const CompileCommand& command_;
  AdaptedCommand& out_;
  std::vector<string> words_;
  std::vector<Architecture> architectures_;
  bool has_standard_ = false;
  unsigned expanded_ = 0;
};

// Clang's own command: kept, without what would make it write something.
void adapt_clang(const CompileCommand& command, AdaptedCommand& out, std::vector<Architecture>& architectures) {
  static constexpr std::array<string_view, 9> kOutputs = {
      "-o", "-MF", "-MT", "-MQ", "-MJ", "--serialize-diagnostics", "-dumpdir", "-Xcuda-ptxas", "-Xcuda-fatbinary"};
  static constexpr std::array<string_view, 14> kDropped = {"-c",
                                                           "-S",
                                                           "-E",
                                                           "-MD",
                                                           "-MMD",
                                                           "-MP",
                                                           "-M",
                                                           "-MM",
                                                           "-emit-llvm",
                                                           "-save-temps",
                                                           "-fsyntax-only",
                                                           "--cuda-host-only",
                                                           "--cuda-device-only",
                                                           "-emit-ast"};
  for (size_t i = 0; i < command.arguments.size(); ++i) {
    const string& word = command.arguments[i];
    if (std::find(kOutputs.begin(), kOutputs.end(), word) != kOutputs.end()) {
      ++i;
      continue;
    }
    if (std::find(kDropped.begin(), kDropped.end(), word) != kDropped.end() || word == command.file) continue;
    if (word.starts_with("--cuda-gpu-arch=") || word.starts_with("--offload-arch=")) {
      collect_architectures(word, architectures);
      continue;
    }
    if (word == "--offload-arch" && i + 1 < command.arguments.size()) {
      collect_architectures(command.arguments[++i], architectures);
      continue;
    }
    if (word.starts_with("--cuda-path=") || word.starts_with("-O") || word.starts_with("-g")) continue;
    if (word == "-x") {
      ++i;
      continue;
    }
    if (!word.empty() && word[0] != '-' && is_source(word) &&
        fs::path(word).filename() == fs::path(command.file).filename())
      continue;
    out.clang.push_back(word);
    if (word.starts_with("-D") || word.starts_with("-I") || word.starts_with("-std=")) out.nvcc.push_back(word);
    if ((word == "-isystem" || word == "-include" || word == "-I" || word == "-D") &&
        i + 1 < command.arguments.size()) {
      out.nvcc.push_back(word);
      out.nvcc.push_back(command.arguments[i + 1]);
      out.clang.push_back(command.arguments[++i]);
    }
  }
}

// Words that nvcc does not know and that only Clang would be given.
bool speaks_clang(const std::vector<string>& arguments) {
  return std::any_of(arguments.begin(), arguments.end(), [](const string& word) {
    return word.starts_with("--cuda-gpu-arch") || word.starts_with("--offload-arch") ||
           word.starts_with("--cuda-path=") || word == "--cuda-device-only" || word == "-Xclang" ||
           word.starts_with("-nocuda") || word == "-fsyntax-only";
  });
}

void add_common(const Architecture& a, const Toolkit& toolkit, std::vector<string>& out) {
  std::vector<string> first{"-x", "cuda", "--cuda-device-only", "--cuda-gpu-arch=" + clang_name_of(a), "-nocudalib"};
  // Else Clang takes the PTX version from a toolkit that it finds somewhere, or a very old one.
  first.insert(first.end(), {"-Xclang", "-target-feature", "-Xclang", "+ptx90"});
  // Without libdevice the driver leaves out which CUDA this is, and Clang then wants the launch functions of CUDA 9.
  const string version = toolkit.found() && toolkit.major != 0
                             ? std::to_string(toolkit.major) + "." + std::to_string(toolkit.minor)
                             : "13.0";
  first.insert(first.end(), {"-Xclang", "-target-sdk-version=" + version});
  first.insert(first.end(), {"-ferror-limit=0", "-w", "-Wno-unknown-cuda-version", "-Wno-unknown-warning-option",
                             "-Wno-unused-command-line-argument"});
  // CUTLASS turns its SM100 code off for Clang unless told otherwise.
  first.insert(first.end(), {"-DCUTLASS_ARCH_MMA_SM100_SUPPORTED=1", "-DCUTLASS_ARCH_MMA_SM100_ENABLED=1"});
  // The same in CUDA's cooperative groups: this_cluster() and its kind are there for nvcc only.
  if (a.number >= 90) first.emplace_back("-D_CG_CLUSTER_INTRINSICS_AVAILABLE=1");
  const string family = std::to_string(a.number * 10);
  if (a.variant == 'a') {
    first.push_back("-D__CUDA_ARCH_SPECIFIC__=" + family);
    first.push_back("-D__CUDA_ARCH_FAMILY_SPECIFIC__=" + family);
    first.push_back("-DCUTLASS_ARCH_MMA_SM" + std::to_string(a.number) + "A_ENABLED=1");
  } else if (a.variant == 'f') {
    first.push_back("-U__CUDA_ARCH_FEAT_SM" + std::to_string(a.number) + "_ALL");
    first.push_back("-D__CUDA_ARCH_FAMILY_SPECIFIC__=" + family);
    first.push_back("-DCUTLASS_ARCH_MMA_SM" + std::to_string(a.number) + "F_ENABLED=1");
  }
  if (toolkit.found()) {
    first.push_back("--cuda-path=" + toolkit.path);
    first.push_back("-D__CUDACC_VER_MAJOR__=" + std::to_string(toolkit.major));
    first.push_back("-D__CUDACC_VER_MINOR__=" + std::to_string(toolkit.minor));
    first.emplace_back("-D__CUDACC_VER_BUILD__=0");
  } else {
    first.insert(first.end(),
                 {"-nocudainc", "-D__CUDACC_VER_MAJOR__=13", "-D__CUDACC_VER_MINOR__=0", "-D__CUDACC_VER_BUILD__=0",
                  "-isystem", string(kBundled), "-include", string(kBundled) + "/tmemlint_cuda.h"});
  }
  out.insert(out.begin(), first.begin(), first.end());
  if (toolkit.found()) out.insert(out.end(), {"-isystem", toolkit.path + "/include/cccl"});  // nvcc adds it by itself
}

bool is_executable(const fs::path& path) {
  return ::access(path.c_str(), X_OK) == 0 && !fs::is_directory(path);
}

void read_version(Toolkit& toolkit) {
  std::ifstream in(toolkit.path + "/include/cuda.h");
  for (string line; std::getline(in, line);) {
    constexpr string_view kDefine = "#define CUDA_VERSION ";
    if (!line.starts_with(kDefine)) continue;
    const unsigned long number = std::strtoul(line.c_str() + kDefine.size(), nullptr, 10);
    toolkit.major = static_cast<unsigned>(number / 1000);
    toolkit.minor = static_cast<unsigned>(number % 1000 / 10);
    return;
  }
}

bool has_headers(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path / "include" / "cuda_runtime.h", ignored);
}

}  // namespace

bool is_nvcc(const string& compiler) {
  const string name = fs::path(compiler).stem().string();
  return name == "nvcc" || name.starts_with("nvcc-") || name.starts_with("nvcc_");
}

Toolkit find_toolkit(const string& path, string& problem) {
  Toolkit out;
  if (path == "none") return out;
  if (!path.empty()) {
    if (!has_headers(path)) {
      problem = "there is no include/cuda_runtime.h in " + path;
      return out;
    }
    out.path = path;
  } else {
    std::vector<fs::path> places;
    for (const char* variable : {"CUDA_HOME", "CUDA_PATH"}) {
      if (const char* value = std::getenv(variable); value != nullptr && *value != '\0') places.emplace_back(value);
    }
    const char* search = std::getenv("PATH");
    for (string_view rest = search != nullptr ? search : ""; !rest.empty();) {
      const size_t colon = std::min(rest.find(':'), rest.size());
      const fs::path folder(rest.substr(0, colon));
      if (is_executable(folder / "nvcc"))
        places.push_back(fs::weakly_canonical(folder / "nvcc").parent_path().parent_path());
      rest.remove_prefix(std::min(colon + 1, rest.size()));
    }
    places.emplace_back("/usr/local/cuda");  // where NVIDIA's installers put it
    const auto found =
        std::find_if(places.begin(), places.end(), [](const fs::path& place) { return has_headers(place); });
    if (found == places.end()) return out;
    out.path = found->string();
  }
  while (out.path.size() > 1 && out.path.back() == '/') out.path.pop_back();
  read_version(out);
  return out;
}

AdaptedCommand adapt(const CompileCommand& command, const Toolkit& toolkit) {
  AdaptedCommand out;
  std::vector<Architecture> architectures;
  const bool clang = command.compiler.empty() ? speaks_clang(command.arguments) : !is_nvcc(command.compiler);
  if (clang) {
    adapt_clang(command, out, architectures);
  } else {
    NvccAdapter adapter(command, out);
    adapter.run();
    architectures = adapter.architectures();
  }
  const Architecture chosen = choose(architectures);
  out.target = name_of(chosen);
  out.nvcc.push_back("-arch=" + out.target);
  add_common(chosen, toolkit, out.clang);
  return out;
}

std::vector<string> split_command(const string& text) {
  std::vector<string> out;
  string word;
  bool in_word = false;
  char quote = '\0';
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote == '\0' && (c == ' ' || c == '\t' || c == '\n' || c == '\r')) {
      if (in_word) out.push_back(std::move(word));
      word.clear();
      in_word = false;
      continue;
    }
    in_word = true;
    if (quote == '\0' && (c == '"' || c == '\'')) {
      quote = c;
    } else if (c == quote && quote != '\0') {
      quote = '\0';
    } else if (c == '\\' && quote != '\'' && i + 1 < text.size()) {
      word += text[++i];
    } else {
      word += c;
    }
  }
  if (in_word) out.push_back(std::move(word));
  return out;
}

}  // namespace tmemlint::cuda
