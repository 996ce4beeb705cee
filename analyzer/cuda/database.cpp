#include "analyzer/cuda/database.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

namespace tmemlint::cuda {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

fs::path resolved(const CompileCommand& command) {
  fs::path path(command.file);
  if (path.is_relative()) path = fs::path(command.directory) / path;
  std::error_code ignored;
  return fs::weakly_canonical(path, ignored);
}

CompileCommand read_entry(const Json& entry) {
  CompileCommand out;
  out.directory = entry.value("directory", "");
  out.file = entry.value("file", "");
  if (entry.contains("arguments")) {
    for (const Json& word : entry["arguments"]) out.arguments.push_back(word.get<std::string>());
  } else {
    out.arguments = split_command(entry.value("command", ""));
  }
  if (!out.arguments.empty()) {
    out.compiler = out.arguments.front();
    out.arguments.erase(out.arguments.begin());
  }
  return out;
}

}  // namespace

std::vector<CompileCommand> read_database(const std::string& path, std::string& problem) {
  std::vector<CompileCommand> out;
  std::error_code ignored;
  const fs::path file = fs::is_directory(path, ignored) ? fs::path(path) / "compile_commands.json" : fs::path(path);
  std::ifstream in(file, std::ios::binary);
  if (!in) {
    problem = "there is no compilation database " + file.string() +
              " (CMake writes one with -DCMAKE_EXPORT_COMPILE_COMMANDS=ON)";
    return out;
  }
  const Json json = Json::parse(in, nullptr, false);
  if (!json.is_array()) {
    problem = file.string() + " is not a compilation database";
    return out;
  }
  try {
    for (const Json& entry : json) {
      out.push_back(read_entry(entry));
      if (out.back().directory.empty()) out.back().directory = fs::absolute(file).parent_path().string();
    }
  } catch (const Json::exception& error) {
    problem = file.string() + " is not a compilation database: " + error.what();
  }
  return out;
}

bool compiles_cuda(const CompileCommand& command) {
  if (is_nvcc(command.compiler)) return true;
  const std::string ending = fs::path(command.file).extension().string();
  if (ending == ".cu") return true;
  for (size_t i = 0; i + 1 < command.arguments.size(); ++i) {
    if (command.arguments[i] == "-x" && (command.arguments[i + 1] == "cu" || command.arguments[i + 1] == "cuda"))
      return true;
  }
  return false;
}

const CompileCommand* command_for(const std::vector<CompileCommand>& commands, const std::string& file) {
  std::error_code ignored;
  const fs::path wanted = fs::weakly_canonical(file, ignored);
  const auto found =
      std::find_if(commands.begin(), commands.end(), [&](const CompileCommand& c) { return resolved(c) == wanted; });
  return found == commands.end() ? nullptr : &*found;
}

std::string clang_database(const std::vector<CompileCommand>& commands, const Toolkit& toolkit, std::string& problem) {
  Json out = Json::array();
  for (const CompileCommand& command : commands) {
    std::vector<std::string> words;
    if (is_nvcc(command.compiler)) {
      AdaptedCommand adapted = adapt(command, toolkit);
      if (!adapted.problem.empty()) problem = adapted.problem;
      words.emplace_back("clang++");
      words.insert(words.end(), adapted.clang.begin(), adapted.clang.end());
      words.insert(words.end(), {"-c", command.file});
    } else {
      words.push_back(command.compiler);
      words.insert(words.end(), command.arguments.begin(), command.arguments.end());
    }
    out.push_back({{"directory", command.directory}, {"file", command.file}, {"arguments", words}});
  }
  return out.dump(1) + "\n";
}

}  // namespace tmemlint::cuda
