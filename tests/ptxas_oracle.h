// What ptxas says about lines of PTX, and how that compares with what the checks say. For tests.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "tests/tcgen05_judge.h"

namespace tmemlint::test {

inline std::string header(const std::string& target, const std::string& version) {
  return ".version " + version + "\n.target " + target +
         "\n.address_size 64\n.visible .entry k()\n{\n"
         ".reg .b32 %r<200>;\n.reg .b64 %rd<8>;\n.reg .f32 %f<8>;\n.reg .b16 %h<8>;\n.reg .pred %p<8>;\n"
         ".shared .align 8 .b64 mbar;\n.shared .align 4 .b32 slot;\n";
}
inline constexpr unsigned kFirstLine = 13;  // of the instructions

inline std::string kernel(const std::vector<std::string>& lines, const std::string& target,
                          const std::string& version) {
  std::string text = header(target, version);
  for (const std::string& line : lines) text += line + "\n";
  return text + "ret;\n}\n";
}

inline std::string run(const std::string& command) {
  std::string out;
  FILE* pipe = popen(command.c_str(), "r");
  if (!pipe) return out;
  char buffer[4096];
  for (size_t n; (n = fread(buffer, 1, sizeof buffer, pipe)) > 0;) out.append(buffer, n);
  pclose(pipe);
  return out;
}

// TMEMLINT_PTXAS, or the one that the shell or the toolkit's variable finds; empty when there is none.
inline const std::string& ptxas_path() {
  static const std::string path = [] {
    if (const char* set = std::getenv("TMEMLINT_PTXAS")) return std::string(set);
    std::string found = run("command -v ptxas || ls \"${CUDA_HOME:-/usr/local/cuda}/bin/ptxas\" 2>/dev/null");
    found.resize(std::min(found.size(), found.find('\n')));
    return found;
  }();
  return path;
}

// Why the comparison cannot be made; empty when it can. The list of differences is for the ptxas of CUDA 13.0; it is
// the first that takes .version 9.0.
inline std::string no_ptxas() {
  if (ptxas_path().empty()) return "ptxas is not installed";
  const std::string version = run("'" + ptxas_path() + "' --version");
  const size_t at = version.find("release ");
  if (at == std::string::npos) return ptxas_path() + " does not say its version";
  const std::string release = version.substr(at + 8, version.find(',', at) - at - 8);
  if (release == "13.0") return {};
  return "the differences from ptxas are written down for release 13.0; this is " + release;
}

// Which of the lines ptxas rejects, each with what it says. All lines go into one kernel, behind a line that is wrong
// for certain: then ptxas stops before it generates code, and before it looks at the kernel as a whole.
inline std::map<size_t, std::string> ptxas_rejects(const std::vector<std::string>& lines, const std::string& target) {
  std::map<size_t, std::string> out;
  const auto file = std::filesystem::temp_directory_path() / ("tmemlint-" + std::to_string(getpid()) + ".ptx");
  size_t begin = 0;
  while (begin < lines.size()) {
    std::vector<std::string> rest(lines.begin() + static_cast<ptrdiff_t>(begin), lines.end());
    rest.insert(rest.begin(), "tcgen05.wait::ld.sync.aligned.x1;");
    std::ofstream(file) << kernel(rest, target, "9.0");
    std::istringstream answer(
        run("'" + ptxas_path() + "' -arch=" + target + " " + file.string() + " -o /dev/null 2>&1"));
    size_t next = lines.size();
    bool sentinel = false;
    for (std::string text; std::getline(answer, text);) {
      const size_t at = text.find(", line ");
      if (at == std::string::npos) continue;
      const size_t line = std::stoul(text.substr(at + 7));
      if (line == kFirstLine) sentinel = true;
      if (line <= kFirstLine || line - kFirstLine - 1 >= lines.size() - begin) continue;
      const size_t index = begin + line - kFirstLine - 1;
      out[index] += text.substr(text.find(';', at) + 1);
      // A syntax error ends the file: go on behind it.
      if (text.find("; fatal") != std::string::npos) next = index + 1;
    }
    EXPECT_TRUE(sentinel) << "ptxas did not answer as expected";
    if (!sentinel) break;
    begin = next;
  }
  std::filesystem::remove(file);
  return out;
}

struct Change {
  std::string line;
  std::string what;  // "drop .aligned"
  std::string instruction;
};

class Differences {
public:
  explicit Differences(const std::string& about) {
    for (const auto& row :
         read_table(std::filesystem::path(TMEMLINT_SOURCE_DIR) / "fixtures" / "ptxas-probes" / "differences.tsv")) {
      if (row.at(0) == about) rows_.push_back({row.at(1), row.at(2), row.at(3)});
    }
    used_.assign(rows_.size(), false);
  }
  bool covers(const Change& change, bool ours_rejects) {
    for (size_t i = 0; i < rows_.size(); ++i) {
      if (rows_[i][0] != change.what || (rows_[i][1] != "*" && rows_[i][1] != change.instruction)) continue;
      if ((rows_[i][2] == "reject") != ours_rejects) continue;
      used_[i] = true;
      return true;
    }
    return false;
  }
  std::string unused() const {
    std::string out;
    for (size_t i = 0; i < rows_.size(); ++i) {
      if (!used_[i]) out += rows_[i][0] + " of " + rows_[i][1] + "\n";
    }
    return out;
  }

private:
  std::vector<std::vector<std::string>> rows_;
  std::vector<bool> used_;
};

// Compares line by line and says how many differ although no row allows it.
inline void compare(const std::vector<Change>& changes, const std::string& target, Differences& differences) {
  std::vector<std::string> lines;
  for (const Change& change : changes) lines.push_back(change.line);
  const auto theirs = ptxas_rejects(lines, target);
  const Judged ours = judge(kernel(lines, target, "9.0"));
  const std::set<unsigned> rejected = ours.lines();
  std::map<std::pair<std::string, std::string>, size_t> failures;  // by change and instruction
  for (size_t i = 0; i < changes.size(); ++i) {
    const bool here = rejected.contains(static_cast<unsigned>(kFirstLine + i));
    const bool there = theirs.contains(i);
    if (here == there || differences.covers(changes[i], here)) continue;
    if (++failures[{changes[i].what, changes[i].instruction}] > 1) continue;  // one example of each
    ADD_FAILURE() << target << ": " << changes[i].what << ": " << changes[i].line
                  << "\nptxas: " << (there ? theirs.at(i) : "accepts")
                  << "\nhere: " << (here ? ours.about(static_cast<unsigned>(kFirstLine + i)) : "accepted");
  }
  for (const auto& [what, count] : failures) {
    if (count > 1) ADD_FAILURE() << what.first << " of " << what.second << ": " << count << " lines differ";
  }
}

}  // namespace tmemlint::test
