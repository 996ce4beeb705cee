// Files for tests: their text, a folder that is gone when its test has ended, and what a command of the shell printed.
#pragma once

#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <system_error>

namespace tmemlint::test {

// Empty where there is no such file.
inline std::string read_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

struct Ran {
  int code = -1;  // of the command's exit; -1 when a signal ended it
  std::string out, err;
};

class ScratchFolder {
public:
  ScratchFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "tmemlint-test-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no folder can be made for the test: " + name);
    path_ = std::filesystem::canonical(name);
    std::filesystem::create_directory(path_ / "logs");
  }
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

  void write(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories((path_ / name).parent_path());
    std::ofstream(path_ / name, std::ios::binary) << text;
  }
  std::string read(const std::string& name) const { return read_file(path_ / name); }

  // By the shell, in the folder `from` below this one. The output is kept in its folder `logs`, as `out` and `err`.
  Ran run(const std::string& command, const std::string& from = ".") const {
    const std::string logs = (path_ / "logs").string();
    const std::string whole = "cd '" + (path_ / from).string() + "' && { " + command + "; } >'" + logs + "/out' 2>'" +
                              logs + "/err' </dev/null";
    const int status = std::system(whole.c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, read("logs/out"), read("logs/err")};
  }

private:
  std::filesystem::path path_;
};

}  // namespace tmemlint::test
