#include "analyzer/cuda/nvcc.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>
#include <vector>

namespace tmemlint::cuda {
namespace {

namespace fs = std::filesystem;

// A folder of our own that is gone afterwards.
class TemporaryFolder {
public:
  TemporaryFolder() {
    const char* base = std::getenv("TMPDIR");
    std::string name = std::string(base != nullptr && *base != '\0' ? base : "/tmp") + "/tmemlint-XXXXXX";
    if (::mkdtemp(name.data()) != nullptr) path_ = name;
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }
  const fs::path& path() const { return path_; }

private:
  fs::path path_;
};

std::string read(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

// Runs a program with both outputs in a file. The exit status, or -1.
int run(const std::vector<std::string>& words, const std::string& directory, const fs::path& log) {
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  ::posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  if (!directory.empty()) ::posix_spawn_file_actions_addchdir_np(&actions, directory.c_str());
  pid_t child = 0;
  const int error = ::posix_spawnp(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return -1;
  int status = 0;
  while (::waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return -1;
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// The first line that says what is wrong.
std::string first_error(const std::string& log) {
  std::string_view rest = log;
  std::string_view first;
  while (!rest.empty()) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = rest.substr(0, end);
    if (line.find("error") != std::string_view::npos) return std::string(line);
    if (first.empty()) first = line;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return std::string(first);
}

}  // namespace

std::string find_nvcc(const CompileCommand& command, const Toolkit& toolkit) {
  if (is_nvcc(command.compiler) && command.compiler.find('/') != std::string::npos &&
      ::access(command.compiler.c_str(), X_OK) == 0) {
    return command.compiler;
  }
  const std::string beside = toolkit.path + "/bin/nvcc";
  return toolkit.found() && ::access(beside.c_str(), X_OK) == 0 ? beside : std::string();
}

std::shared_ptr<const ptx::SourceText> compile_with_nvcc(const CompileCommand& command, const AdaptedCommand& adapted,
                                                         const Toolkit& toolkit, std::string& problem) {
  const std::string nvcc = find_nvcc(command, toolkit);
  if (nvcc.empty()) {
    problem = "there is no nvcc (give --cuda-path)";
    return nullptr;
  }
  const TemporaryFolder folder;
  if (folder.path().empty()) {
    problem = std::string("no temporary folder can be made: ") + std::strerror(errno);
    return nullptr;
  }
  const fs::path ptx = folder.path() / "out.ptx";
  const fs::path log = folder.path() / "log";
  std::vector<std::string> words{nvcc, "-ptx", "-lineinfo", "-w"};
  words.insert(words.end(), adapted.nvcc.begin(), adapted.nvcc.end());
  words.insert(words.end(), {"-o", ptx.string(), fs::absolute(command.file).string()});
  // nvcc hands the PTX to ptxas for a check; what ptxas refuses is there nevertheless, and is what we are here for.
  if (run(words, command.directory, log) != 0 && !fs::exists(ptx)) {
    problem = "nvcc refuses it: " + first_error(read(log));
    return nullptr;
  }
  return std::make_shared<const ptx::SourceText>(command.file + " (PTX of nvcc)", read(ptx));
}

}  // namespace tmemlint::cuda
