#include "analyzer/report/sources.h"

#include "analyzer/assumptions/assumptions.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#ifdef __linux__
#include <linux/magic.h>
#include <sys/vfs.h>
#endif

#include <algorithm>
#include <cerrno>

namespace tmemlint::report {
namespace {

namespace fs = std::filesystem;

constexpr uintmax_t kLargestSource = assumptions::kBytesOfASource;

// Files that no disk holds: the kernel writes them while they are read, and what it writes is about the machine.
bool is_made_by_kernel([[maybe_unused]] int fd) {
#ifdef __linux__
  struct statfs info {};
  if (::fstatfs(fd, &info) != 0) return true;
  constexpr unsigned long kKinds[] = {PROC_SUPER_MAGIC,   SYSFS_MAGIC,         DEBUGFS_MAGIC, TRACEFS_MAGIC,
                                      SECURITYFS_MAGIC,   SELINUX_MAGIC,       SMACK_MAGIC,   DEVPTS_SUPER_MAGIC,
                                      CGROUP_SUPER_MAGIC, CGROUP2_SUPER_MAGIC, BPF_FS_MAGIC,  PSTOREFS_MAGIC,
                                      EFIVARFS_MAGIC,     0x62656570 /* configfs */};
  const auto kind = static_cast<unsigned long>(info.f_type) & 0xffffffffu;
  return std::find(std::begin(kKinds), std::end(kKinds), kind) != std::end(kKinds);
#else
  return false;
#endif
}

std::optional<std::string> read_opened(int fd) {
  struct stat info {};
  if (::fstat(fd, &info) != 0 || !S_ISREG(info.st_mode) || is_made_by_kernel(fd)) return std::nullopt;
  if (info.st_size < 0 || static_cast<uintmax_t>(info.st_size) > kLargestSource) return std::nullopt;
  std::string text(static_cast<size_t>(info.st_size), '\0');
  size_t size = 0;
  while (size < text.size()) {
    const ssize_t got = ::read(fd, text.data() + size, text.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return std::nullopt;
    if (got == 0) break;
    size += static_cast<size_t>(got);
  }
  text.resize(size);
  return text;
}

bool is_below(const fs::path& path, const fs::path& folder) {
  return std::mismatch(folder.begin(), folder.end(), path.begin(), path.end()).first == folder.end();
}

// Empty when there is no such file.
fs::path resolved(const fs::path& path) {
  std::error_code error;
  fs::path out = fs::canonical(path, error);
  return error ? fs::path() : out;
}

}  // namespace

std::optional<std::string> read_regular_file(const std::string& path) {
  // Opening alone can have an effect on a device, so the name is looked at first; what counts is what was opened.
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return std::nullopt;
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) return std::nullopt;
  auto text = read_opened(fd);
  ::close(fd);
  return text;
}

void SourceRoots::add_input(const std::string& name) {
  std::error_code ignored;
  fs::path folder = name;
  if (name != "-" && fs::is_regular_file(folder, ignored)) {
    if (const fs::path file = resolved(folder); !file.empty()) files_.insert(file);
    // The folder of the name, not of what a link of that name leads to.
    folder = folder.has_parent_path() ? folder.parent_path() : fs::path(".");
  } else if (name == "-" || !fs::is_directory(folder, ignored)) {
    folder = ".";
  }
  folder = resolved(folder);
  if (folder != folder.root_path()) folders_.push_back(std::move(folder));
}

void SourceRoots::add_repository_of(const std::string& name) {
  std::error_code ignored;
  for (fs::path folder = resolved(name); folder != folder.root_path(); folder = folder.parent_path()) {
    if (!fs::exists(folder / ".git", ignored)) continue;
    folders_.push_back(std::move(folder));
    return;
  }
}

bool SourceRoots::add_folder(const std::string& name) {
  std::error_code ignored;
  fs::path folder = resolved(name);
  if (!fs::is_directory(folder, ignored)) return false;
  folders_.push_back(std::move(folder));
  return true;
}

bool SourceRoots::contains(const fs::path& resolved) const {
  return files_.count(resolved) != 0 || std::any_of(folders_.begin(), folders_.end(),
                                                    [&](const fs::path& folder) { return is_below(resolved, folder); });
}

SourceFiles::File& SourceFiles::file(const std::string& name) {
  const auto [found, added] = files_.try_emplace(name);
  File& file = found->second;
  if (!added) return file;
  const fs::path path = resolved(name);
  std::error_code error;
  if (path.empty() || !fs::is_regular_file(path, error)) return file;
  file.resolved = path.string();
  file.access = roots_.contains(path) ? Access::kAllowed : Access::kOutside;
  return file;
}

std::optional<std::string_view> SourceFiles::line(const SourcePosition& position) {
  File& source = file(position.file);
  if (source.access != Access::kAllowed) return std::nullopt;
  if (!source.text) {
    source.text.emplace(position.file, read_regular_file(source.resolved).value_or(std::string()));
  }
  const std::string_view line = source.text->line(position.line);
  if (line.find_first_not_of(" \t") == std::string_view::npos) return std::nullopt;
  return line;
}

bool SourceFiles::is_outside(const std::string& name) {
  return file(name).access == Access::kOutside;
}

bool SourceFiles::shows(const ptx::SourceText& text) {
  return !text.is_named_by_input() || file(text.path()).access == Access::kAllowed;
}

std::string SourceFiles::notice(const Results& results) {
  std::set<std::string> outside;
  std::string first;
  auto look = [&](const std::string& name) {
    if (!is_outside(name)) return;
    if (outside.empty()) first = name;
    outside.insert(name);
  };
  auto look_at = [&](const Place& place) {
    if (has_source_line(place)) look(place.source.file);
    if (place.text && place.text->is_named_by_input()) look(place.text->path());
  };
  for (const Finding& finding : results.findings) {
    look_at(finding.place);
    for (const Related& related : finding.related) look_at(related.place);
    for (const Related& step : finding.path) look_at(step.place);
    for (const Fix& fix : finding.fixes) look_at(fix.place);
  }
  for (const InputError& error : results.errors) {
    if (error.text && error.text->is_named_by_input()) look(error.text->path());
  }
  if (outside.empty()) return {};
  std::string names = first;
  if (outside.size() > 1) names += " and " + std::to_string(outside.size() - 1) + " more";
  return "source not shown: outside the folders of the inputs and the repository, use --source-root DIR (" + names +
         ")";
}

}  // namespace tmemlint::report
