// tmemlint_seed: breaks correct kernels by machine and counts which breaks tmemlint finds. See docs/seeded-faults.md.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>

#include "tests/seeded/mutants.h"

namespace tmemlint::seeded {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

struct Finding {
  std::string rule, level, message, kernel;
  uint32_t line = 0;
  std::set<uint32_t> others;  // lines of related places and of the path
  std::string key() const { return rule + "@" + kernel + ":" + std::to_string(line); }
};

struct Score {
  size_t seeded = 0, at_place = 0, at_end = 0, elsewhere = 0;
  size_t found() const { return at_place + at_end; }
};

struct Settings {
  std::string tool;
  std::vector<std::string> files;
  std::string keep;            // folder that keeps the mutants
  std::set<std::string> only;  // kinds
  bool list_misses = true, list_left_out = false, dry = false;
};

std::string read(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream out;
  out << in.rdbuf();
  return out.str();
}

// What tmemlint reports for files, by their names; nothing for a file it could not read.
std::map<std::string, std::vector<Finding>> run(const std::string& tool, const std::vector<fs::path>& files,
                                                const fs::path& folder, std::map<std::string, std::string>& errors) {
  std::map<std::string, std::vector<Finding>> out;
  const fs::path answer = folder / "answer.json";
  std::string command = "'" + tool + "' --format json --output '" + answer.string() + "'";
  for (const fs::path& file : files) command += " '" + file.string() + "'";
  command += " >'" + (folder / "log").string() + "' 2>&1";
  const int status = std::system(command.c_str());
  const json parsed = json::parse(read(answer), nullptr, false);
  fs::remove(answer);
  if (parsed.is_discarded()) {
    if (files.size() == 1) {
      errors[files[0].filename().string()] = "the tool ended with status " + std::to_string(status) + " and no answer";
      return out;
    }
    // One of them brought the tool down: each by itself.
    for (const fs::path& file : files) out.merge(run(tool, {file}, folder, errors));
    return out;
  }
  for (const json& e : parsed["errors"]) {
    errors[fs::path(e.value("file", "")).filename().string()] = e.value("message", "");
  }
  for (const json& f : parsed["findings"]) {
    if (f["level"] == "note") continue;
    Finding finding{f["rule"], f["level"], f["message"], f.value("kernel", ""), f["line"], {}};
    for (const char* list : {"related", "path"}) {
      if (!f.contains(list)) continue;
      for (const json& place : f[list]) finding.others.insert(place.value("line", 0u));
    }
    out[fs::path(f["file"].get<std::string>()).filename().string()].push_back(std::move(finding));
  }
  return out;
}

enum class Where { kPlace, kEnd, kElsewhere, kNone };

// Where the best of the accepted findings stands. Findings of the unbroken kernel do not count.
Where judge(const Mutant& mutant, const std::vector<Finding>& findings, const std::set<std::string>& baseline) {
  const std::vector<std::string> accepted = accepted_rules(mutant);
  Where best = Where::kNone;
  for (const Finding& f : findings) {
    if (baseline.count(f.key()) != 0) continue;
    if (std::find(accepted.begin(), accepted.end(), f.rule) == accepted.end()) continue;
    const auto any = [](const std::set<uint32_t>& a, const std::set<uint32_t>& b) {
      return std::any_of(a.begin(), a.end(), [&](uint32_t line) { return b.count(line) != 0; });
    };
    Where here = Where::kElsewhere;
    if (mutant.lines.count(f.line) != 0 || any(f.others, mutant.lines)) {
      here = Where::kPlace;
    } else if (mutant.ends.count(f.line) != 0) {
      here = Where::kEnd;
    }
    best = std::min(best, here);
  }
  return best;
}

void print(const char* title, const std::map<std::string, Score>& scores) {
  std::printf("\n%-26s %7s %7s %6s   %s\n", title, "found", "seeded", "",
              "at the place + at its other end; right rule elsewhere");
  Score all;
  for (const auto& [name, s] : scores) {
    all.seeded += s.seeded;
    all.at_place += s.at_place;
    all.at_end += s.at_end;
    all.elsewhere += s.elsewhere;
    std::printf("%-26s %7zu %7zu %5.1f%%   %zu + %zu; %zu\n", name.c_str(), s.found(), s.seeded,
                s.seeded == 0 ? 0.0 : 100.0 * static_cast<double>(s.found()) / static_cast<double>(s.seeded),
                s.at_place, s.at_end, s.elsewhere);
  }
  double mean = 0;
  for (const auto& [name, s] : scores) mean += static_cast<double>(s.found()) / static_cast<double>(s.seeded);
  std::printf("%-26s %7s %7s %5.1f%%\n", "mean of these", "", "",
              scores.empty() ? 0.0 : 100.0 * mean / static_cast<double>(scores.size()));
  std::printf("%-26s %7zu %7zu %5.1f%%   %zu + %zu; %zu\n", "all", all.found(), all.seeded,
              all.seeded == 0 ? 0.0 : 100.0 * static_cast<double>(all.found()) / static_cast<double>(all.seeded),
              all.at_place, all.at_end, all.elsewhere);
}

struct Tally {
  std::map<std::string, Score> by_kind, by_rule, by_file;
  std::map<std::string, std::map<std::string, size_t>> left_out;  // verdict: kind and reason: count
  std::vector<std::string> misses, left_out_list, broken;
};

std::string kind_of(const Mutant& m) {
  return std::string(info(m.kind).name);
}

// The mutants that are seeded; counts the others.
std::vector<Mutant> seeded_of(const ptx::Module& module, const std::string& stem, const Settings& settings,
                              Tally& tally) {
  std::vector<Mutant> out;
  for (Mutant& m : mutants(module)) {
    if (!settings.only.empty() && settings.only.count(kind_of(m)) == 0) continue;
    if (m.verdict == Verdict::kSeeded) {
      out.push_back(std::move(m));
      continue;
    }
    ++tally.left_out[std::string(verdict_name(m.verdict))][kind_of(m) + ": " + m.reason];
    tally.left_out_list.push_back(stem + ":" + std::to_string(m.line) + ": " + kind_of(m) + ": " + m.what + ": " +
                                  std::string(verdict_name(m.verdict)) + ": " + m.reason);
  }
  return out;
}

// Counts what was found of one mutant.
void count(const Mutant& m, const std::string& stem, const std::vector<Finding>& findings,
           const std::set<std::string>& baseline, Tally& tally) {
  const Where where = judge(m, findings, baseline);
  for (Score* s : {&tally.by_kind[kind_of(m)], &tally.by_rule[accepted_rules(m)[0]], &tally.by_file[stem]}) {
    ++s->seeded;
    if (where == Where::kPlace) ++s->at_place;
    if (where == Where::kEnd) ++s->at_end;
    if (where == Where::kElsewhere) ++s->elsewhere;
  }
  if (where == Where::kPlace || where == Where::kEnd) return;
  std::string said;
  std::set<std::string> keys;
  for (const Finding& f : findings) {
    if (baseline.count(f.key()) == 0) keys.insert(f.rule + " in line " + std::to_string(f.line));
  }
  for (const std::string& key : keys) said += (said.empty() ? "" : ", ") + key;
  tally.misses.push_back(stem + ":" + std::to_string(m.line) + ": " + kind_of(m) + ": " + m.what + ": " +
                         (said.empty() ? "nothing reported" : "reported: " + said));
}

// Lets the tool judge the mutants of a file.
void try_all(const std::vector<Mutant>& seeded, const std::string& name, const std::string& text,
             const Settings& settings, const fs::path& folder, Tally& tally) {
  const std::string stem = fs::path(name).stem().string();
  std::map<std::string, std::string> errors;
  std::set<std::string> baseline;
  for (const auto& [file, findings] : run(settings.tool, {name}, folder, errors)) {
    for (const Finding& f : findings) baseline.insert(f.key());
  }
  if (!baseline.empty())
    std::printf("%s: the unbroken kernel has %zu findings, which are not counted\n", stem.c_str(), baseline.size());

  constexpr size_t kBatch = 100;
  for (size_t first = 0; first < seeded.size(); first += kBatch) {
    const size_t last = std::min(seeded.size(), first + kBatch);
    std::vector<fs::path> files;
    for (size_t n = first; n < last; ++n) {
      files.push_back(folder / (stem + "." + std::to_string(n) + ".ptx"));
      std::ofstream(files.back(), std::ios::binary) << mutated(text, seeded[n]);
    }
    const auto answers = run(settings.tool, files, folder, errors);
    for (size_t n = first; n < last; ++n) {
      const Mutant& m = seeded[n];
      const std::string file = files[n - first].filename().string();
      if (errors.count(file) != 0) {
        tally.broken.push_back(stem + ":" + std::to_string(m.line) + ": " + kind_of(m) + ": " + m.what + ": " +
                               errors[file]);
      }
      const auto found = answers.find(file);
      count(m, stem, found == answers.end() ? std::vector<Finding>() : found->second, baseline, tally);
    }
    if (settings.keep.empty()) {
      for (const fs::path& file : files) fs::remove(file);
    }
  }
  std::fflush(stdout);
}

void print_all(const Settings& settings, const Tally& tally) {
  if (settings.list_misses && !tally.misses.empty()) {
    std::printf("\nMisses\n");
    for (const std::string& miss : tally.misses) std::printf("  %s\n", miss.c_str());
  }
  if (settings.list_left_out) {
    std::printf("\nLeft out\n");
    for (const std::string& one : tally.left_out_list) std::printf("  %s\n", one.c_str());
  }
  for (const std::string& one : tally.broken) std::printf("not a PTX file any more: %s\n", one.c_str());
  if (!settings.dry) {
    print("file", tally.by_file);
    print("rule", tally.by_rule);
  }
  print("mutation", tally.by_kind);
  for (const auto& [verdict, reasons] : tally.left_out) {
    size_t count = 0;
    for (const auto& [reason, n] : reasons) count += n;
    std::printf("\nNot seeded, %s: %zu\n", verdict.c_str(), count);
    for (const auto& [reason, n] : reasons) std::printf("  %6zu  %s\n", n, reason.c_str());
  }
}

int main_of(const Settings& settings) {
  const fs::path folder = settings.keep.empty()
                              ? fs::temp_directory_path() / ("tmemlint_seed." + std::to_string(std::random_device{}()))
                              : fs::path(settings.keep);
  fs::create_directories(folder);
  Tally tally;
  for (const std::string& name : settings.files) {
    const std::string text = read(name);
    const auto source = std::make_shared<const ptx::SourceText>(name, text);
    const ptx::Module module = ptx::parse(source);
    const std::string stem = fs::path(name).stem().string();
    if (text.empty() || !module.errors.empty()) {
      std::fprintf(stderr, "%s: cannot be read or parsed\n", name.c_str());
      return 2;
    }
    const std::vector<Mutant> seeded = seeded_of(module, stem, settings, tally);
    if (!settings.dry) {
      try_all(seeded, name, text, settings, folder, tally);
      continue;
    }
    for (const Mutant& m : seeded) {
      ++tally.by_kind[kind_of(m)].seeded;
      std::printf("%s:%u: %s: %s\n", stem.c_str(), m.line, kind_of(m).c_str(), m.what.c_str());
    }
  }
  if (settings.keep.empty()) fs::remove_all(folder);
  print_all(settings, tally);
  return tally.broken.empty() ? 0 : 2;
}

}  // namespace
}  // namespace tmemlint::seeded

int main(int argc, char** argv) {
  tmemlint::seeded::Settings settings;
  bool bad = false;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    const auto value = [&]() -> std::string {
      if (i + 1 < argc) return argv[++i];
      bad = true;
      return "";
    };
    if (argument == "--tool") {
      settings.tool = value();
    } else if (argument == "--keep") {
      settings.keep = value();
    } else if (argument == "--only") {
      settings.only.insert(value());
    } else if (argument == "--no-misses") {
      settings.list_misses = false;
    } else if (argument == "--left-out") {
      settings.list_left_out = true;
    } else if (argument == "--dry-run") {
      settings.dry = true;
    } else if (argument.rfind("--", 0) == 0) {
      bad = true;
    } else if (std::filesystem::is_directory(argument)) {
      for (const auto& entry : std::filesystem::directory_iterator(argument)) {
        if (entry.path().extension() == ".ptx") settings.files.push_back(entry.path().string());
      }
    } else {
      settings.files.push_back(argument);
    }
  }
  std::sort(settings.files.begin(), settings.files.end());
  if (bad || settings.files.empty() || (settings.tool.empty() && !settings.dry)) {
    std::cerr
        << "usage: tmemlint_seed --tool TMEMLINT [--only KIND]… [--no-misses] [--left-out] [--dry-run] [--keep FOLDER] "
           "FILE.ptx|FOLDER…\n";
    return 2;
  }
  return tmemlint::seeded::main_of(settings);
}
