#include "analyzer/cli/output.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace tmemlint::cli {
namespace {

// Zero on success, else errno.
int write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    text.remove_prefix(static_cast<size_t>(written));
  }
  return 0;
}

}  // namespace

std::string write_report(std::string_view text, const std::string& file) {
  if (file.empty()) {
    const int error = write_all(STDOUT_FILENO, text);
    return error == 0 || error == EPIPE ? "" : "cannot write to standard output: " + std::string(std::strerror(error));
  }
  const int fd = ::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  int error = fd < 0 ? errno : write_all(fd, text);
  // Some file systems report a full disk only here.
  if (fd >= 0 && ::close(fd) != 0 && error == 0) error = errno;
  return error == 0 ? "" : "cannot write " + file + ": " + std::strerror(error);
}

bool wants_color(int fd) {
  const char* no_color = std::getenv("NO_COLOR");
  if (no_color != nullptr && *no_color != '\0') return false;
  const char* term = std::getenv("TERM");
  if (term == nullptr || std::strcmp(term, "dumb") == 0) return false;
  return ::isatty(fd) == 1;
}

}  // namespace tmemlint::cli
