#include "analyzer/cli/inputs.h"

#include "analyzer/assumptions/assumptions.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <set>
#include <utility>

namespace tmemlint::cli {
namespace {

namespace fs = std::filesystem;

// Offsets into a text are 32 bits wide; this leaves them room and is far more than any compiler emits.
constexpr size_t kLargestInput = assumptions::kBytesOfAnInput;

report::InputError cannot(const std::string& file, const std::string& what) {
  return {file, nullptr, {}, what};
}

// The .ptx files below a folder. Links to folders are not followed, so there are no cycles.
std::vector<std::string> ptx_files_below(const std::string& folder, std::vector<report::InputError>& errors) {
  std::vector<std::string> files;
  std::vector<fs::path> folders{folder};
  while (!folders.empty()) {
    const fs::path current = std::move(folders.back());
    folders.pop_back();
    std::error_code error;
    fs::directory_iterator entries(current, error);
    for (; !error && entries != fs::directory_iterator(); entries.increment(error)) {
      std::error_code ignored;
      if (entries->is_directory(ignored) && !entries->is_symlink(ignored)) {
        folders.push_back(entries->path());
      } else if (entries->path().extension() == ".ptx" && !entries->is_directory(ignored)) {
        files.push_back(entries->path().string());
      }
    }
    if (error) errors.push_back(cannot(current.string(), "cannot list this folder: " + error.message()));
  }
  std::sort(files.begin(), files.end());
  return files;
}

// A file descriptor that is closed on every way out.
class Descriptor {
public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd_ > STDIN_FILENO) ::close(fd_);
  }
  int get() const { return fd_; }

private:
  int fd_;
};

// Empty on success, else what went wrong.
std::string read_all(int fd, std::string& text) {
  size_t expected = size_t{1} << 16;
  struct stat info {};
  if (::fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_size > 0) {
    expected = std::min(static_cast<size_t>(info.st_size), kLargestInput) + 1;  // one more, to see the end
  }
  size_t size = 0;
  for (;;) {
    if (size == text.size()) text.resize(std::max(expected, 2 * size));
    const ssize_t got = ::read(fd, text.data() + size, text.size() - size);
    if (got < 0 && errno != EINTR) return std::strerror(errno);
    if (got == 0) break;
    size += static_cast<size_t>(std::max<ssize_t>(got, 0));
    if (size > kLargestInput) return "it is larger than 1 GiB";
  }
  text.resize(size);
  if (text.capacity() > size + size / 8) text.shrink_to_fit();
  return {};
}

// What to say about a file that is plainly something else than PTX; empty when it may be PTX.
std::string_view not_ptx(std::string_view text) {
  if (text.starts_with("\x7f"
                       "ELF")) {
    return "this is a binary, not PTX; get its PTX with cuobjdump -ptx";
  }
  const std::string_view ptx = ptx::without_trailing_nuls(text);
  const bool only_nuls = ptx.empty() && !text.empty();
  if (only_nuls || ptx.find('\0') != std::string_view::npos) return "this is a binary file, not PTX";
  return {};
}

}  // namespace

bool same_file(const std::string& a, const std::string& b) {
  struct stat first {
  }, second{};
  return ::stat(a.c_str(), &first) == 0 && ::stat(b.c_str(), &second) == 0 && first.st_dev == second.st_dev &&
         first.st_ino == second.st_ino;
}

std::vector<std::string> expand_inputs(const std::vector<std::string>& names, std::vector<report::InputError>& errors) {
  std::vector<std::string> found;
  std::set<std::string> seen_names;  // for what has no identity: standard input, missing files
  std::set<std::pair<dev_t, ino_t>> seen_files;
  auto add = [&](const std::string& name) {
    struct stat info {};
    const bool exists = name != "-" && ::stat(name.c_str(), &info) == 0;
    const bool is_new = exists ? seen_files.emplace(info.st_dev, info.st_ino).second : seen_names.insert(name).second;
    if (is_new) found.push_back(name);
  };
  for (const std::string& name : names) {
    std::error_code ignored;
    if (name == "-" || !fs::is_directory(name, ignored)) {
      add(name);
      continue;
    }
    const size_t errors_before = errors.size();
    const std::vector<std::string> below = ptx_files_below(name, errors);
    if (below.empty() && errors.size() == errors_before) {
      errors.push_back(cannot(name, "there is no .ptx file in this folder or below it"));
    }
    for (const std::string& file : below) add(file);
  }
  return found;
}

std::shared_ptr<const ptx::SourceText> read_input(const std::string& name, std::vector<report::InputError>& errors) {
  const bool standard_input = name == "-";
  const std::string shown = standard_input ? "<stdin>" : name;
  const Descriptor fd(standard_input ? STDIN_FILENO : ::open(name.c_str(), O_RDONLY | O_CLOEXEC));
  std::string text;
  std::string problem = fd.get() < 0 ? std::strerror(errno) : read_all(fd.get(), text);
  if (!problem.empty()) {
    errors.push_back(cannot(shown, "cannot read this file: " + problem));
    return nullptr;
  }
  if (const std::string_view what = not_ptx(text); !what.empty()) {
    errors.push_back(cannot(shown, std::string(what)));
    return nullptr;
  }
  text.resize(ptx::without_trailing_nuls(text).size());
  return std::make_shared<const ptx::SourceText>(shown, std::move(text));
}

}  // namespace tmemlint::cli
